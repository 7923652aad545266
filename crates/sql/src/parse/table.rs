//! `TABLE t`, which is `SELECT * FROM t`: the parser reads three words after it, whatever they are.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::words::is_word;

/// Operators between queries.
const SET_OPERATORS: [&str; 3] = ["UNION", "INTERSECT", "EXCEPT"];
/// Words that follow a column of that name, as in `(table IS NULL)`.
const BEHIND_A_COLUMN: [&str; 15] = [
    "IS", "IN", "LIKE", "ILIKE", "SIMILAR", "BETWEEN", "NOT", "AND", "OR", "FROM", "ORDER", "AS",
    "ASC", "DESC", "COLLATE",
];

/// Returns the tokens of a statement with `SELECT * FROM` for each `TABLE` that begins a query.
pub(super) fn selected(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(&token.token, "TABLE")) {
        return tokens;
    }
    let instead = Tokenizer::new(&PostgreSqlDialect {}, "SELECT * FROM").tokenize();
    let instead = instead.unwrap_or_default();
    let words = instead.iter().filter(|token| !matches!(token, Token::Whitespace(_)));
    let words: Vec<&Token> = words.collect();
    let mut out = Vec::with_capacity(tokens.len() + words.len());
    for (at, token) in tokens.iter().enumerate() {
        if begins_query(&tokens, at) {
            let span = token.span;
            out.extend(words.iter().map(|word| TokenWithSpan::new((*word).clone(), span)));
        } else {
            out.push(token.clone());
        }
    }
    out
}

fn begins_query(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(Token::Word(_)) = tokens.get(at + 1).map(|next| &next.token) else { return false };
    let is_any = |at: usize, of: &[&str]| of.iter().any(|word| is_word(&tokens[at].token, word));
    if !is_word(&tokens[at].token, "TABLE") || is_any(at + 1, &BEHIND_A_COLUMN) {
        return false;
    }
    let Some(before) = at.checked_sub(1) else { return true };
    match &tokens[before].token {
        Token::LParen | Token::RParen => true,
        _ if is_any(before, &SET_OPERATORS) => true,
        _ if is_any(before, &["ALL", "DISTINCT"]) => {
            before > 0 && is_any(before - 1, &SET_OPERATORS)
        }
        _ => is_target(tokens, before),
    }
}

/// Returns `true` for the end of the name in `INSERT INTO name`.
fn is_target(tokens: &[TokenWithSpan], mut at: usize) -> bool {
    while matches!(tokens[at].token, Token::Word(_)) && at > 0 {
        if is_word(&tokens[at - 1].token, "INTO") {
            return true;
        }
        if tokens[at - 1].token != Token::Period || at < 2 {
            return false;
        }
        at -= 2;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tokens_of;

    fn text(sql: &str) -> String {
        let tokens = selected(tokens_of(sql).unwrap());
        tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn table_begins_a_query() {
        for (given, wanted) in [
            ("TABLE t", "SELECT * FROM t"),
            ("table ns.t ORDER BY a", "SELECT * FROM ns . t ORDER BY a"),
            ("TABLE t UNION ALL TABLE u", "SELECT * FROM t UNION ALL SELECT * FROM u"),
            ("SELECT * FROM (TABLE t) x", "SELECT * FROM ( SELECT * FROM t ) x"),
            ("INSERT INTO ns.t TABLE u", "INSERT INTO ns . t SELECT * FROM u"),
            ("INSERT INTO t (a) TABLE u", "INSERT INTO t ( a ) SELECT * FROM u"),
        ] {
            assert_eq!(text(given), wanted);
        }
    }

    #[test]
    fn columns_of_that_name_stay() {
        for same in [
            "SELECT table FROM u",
            "SELECT DISTINCT table FROM u",
            "SELECT * FROM u WHERE ( table IS NULL )",
            "SELECT count ( DISTINCT table ) FROM u",
        ] {
            assert_eq!(text(same), same);
        }
    }
}
