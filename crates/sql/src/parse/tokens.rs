//! Tokens of a statement, and the limits that hold before anything is planned: plans are trees that
//! are walked, cloned and dropped by recursion.

#[cfg(feature = "datafusion")]
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError};

use super::dialect::BoundedDialect;
use super::history::hinted;
#[cfg(feature = "datafusion")]
use super::refused::check_statement;
use super::table::selected;
use crate::error::{Result, SqlError, SqlState};

/// Bytes of a statement.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Tokens of a statement.
const MAX_TOKENS: usize = 100_000;
/// Depth of parentheses and brackets.
const MAX_NESTING: usize = 128;
/// Operators in a row, such as the ORs of one condition.
const MAX_CHAIN: usize = 1000;
/// Comparisons and other operators in a row, which a chain of as many ANDs or ORs may have.
const MAX_COMPARISONS: usize = 2 * MAX_CHAIN;
/// Comparisons of which each compares the result of the one before it.
const MAX_COMPARED: usize = 500;
/// Words between conditions.
const BETWEEN_CONDITIONS: [Keyword; 10] = [
    Keyword::AND,
    Keyword::OR,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::SELECT,
    Keyword::WHERE,
    Keyword::ON,
    Keyword::HAVING,
    Keyword::SET,
];
/// Depth of the parser, which enters several levels for one pair of parentheses.
const PARSER_DEPTH: usize = 1000;
/// ORs of comparisons of one column from which on they become IN.
const MIN_LIST: usize = 16;

/// Returns the tokens of a statement.
///
/// # Errors
/// `Syntax` with the place, `LimitExceeded` for text beyond a limit.
pub(crate) fn tokens_of(text: &str) -> Result<Vec<TokenWithSpan>> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(too_long(&format!("{} bytes", text.len()), "1 MiB"));
    }
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location();
    let tokens = tokens.map_err(|TokenizerError { message, location }| {
        SqlError::new(SqlState::Syntax, message).at(location.line, location.column)
    })?;
    let tokens: Vec<_> = tokens
        .into_iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
        .flat_map(signed)
        .collect();
    if tokens.len() > MAX_TOKENS {
        return Err(too_long(&format!("{} words and signs", tokens.len()), "100,000"));
    }
    let tokens = listed(&qualified(tokens));
    check_shape(&tokens)?;
    Ok(tokens)
}

/// Returns a comparison and the sign of the number after it, as in `n>-1`, which the tokenizer
/// takes for one operator. As in PostgreSQL, such an operator does not end in a sign.
fn signed(token: TokenWithSpan) -> impl Iterator<Item = TokenWithSpan> {
    let parts = match &token.token {
        Token::CustomBinaryOperator(text) => comparison_and_sign(text),
        _ => None,
    };
    let span = token.span;
    let (first, second) = match parts {
        Some((comparison, sign)) => {
            (TokenWithSpan::new(comparison, span), Some(TokenWithSpan::new(sign, span)))
        }
        None => (token, None),
    };
    std::iter::once(first).chain(second)
}

fn comparison_and_sign(text: &str) -> Option<(Token, Token)> {
    let (rest, sign) = match (text.strip_suffix('-'), text.strip_suffix('+')) {
        (Some(rest), _) => (rest, Token::Minus),
        (_, Some(rest)) => (rest, Token::Plus),
        _ => return None,
    };
    let comparison = match rest {
        "=" => Token::Eq,
        "<" => Token::Lt,
        "<=" => Token::LtEq,
        ">" => Token::Gt,
        ">=" => Token::GtEq,
        "<>" => Token::Neq,
        "*" => Token::Mul,
        "/" => Token::Div,
        "+" => Token::Plus,
        "-" => Token::Minus,
        _ => return None,
    };
    Some((comparison, sign))
}

/// Rewrites the words of this dialect that the parser does not know.
///
/// # Errors
/// `Syntax` with the place.
pub(crate) fn rewritten(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    hinted(selected(tokens))
}

/// Parses a query.
///
/// # Errors
/// `Syntax` with the place; what is refused before it is planned.
#[cfg(feature = "datafusion")]
pub(crate) fn parse_query(tokens: Vec<TokenWithSpan>) -> Result<Statement> {
    let dialect = BoundedDialect::new(tokens.len());
    let end = tokens.last().map(|token| token.span.end);
    let mut parser = DFParserBuilder::new(rewritten(tokens)?)
        .with_dialect(&dialect)
        .with_recursion_limit(PARSER_DEPTH)
        .build()?;
    // The parser gives no place where the text ends too soon.
    let mut statements = parser.parse_statements().map_err(|error| {
        let error = SqlError::from(error);
        match (error.position, end) {
            (None, Some(end)) => error.at(end.line, end.column),
            _ => error,
        }
    })?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) => {
            check_statement(&statement)?;
            Ok(statement)
        }
        _ => Err(SqlError::new(SqlState::Syntax, "one statement is expected here")),
    }
}

fn too_long(has: &str, limit: &str) -> SqlError {
    SqlError::new(
        SqlState::LimitExceeded,
        format!("the statement has {has}, and the limit is {limit}; split it, or use a table"),
    )
}

/// Operators since the last comma of an open parenthesis.
#[derive(Default)]
struct Chain {
    operators: usize,
    comparisons: usize,
    /// Signs of comparison since the beginning of a condition: each compares what is before it.
    compared: usize,
}

impl Chain {
    /// Counts a token. Returns an error's text beyond a limit.
    fn add(&mut self, token: &Token) -> Option<&'static str> {
        if is_keyword(token, &BETWEEN_CONDITIONS) {
            self.compared = 0;
        }
        if is_chained(token) {
            self.operators += 1;
            return (self.operators > MAX_CHAIN).then_some(
                "over 1,000 operators in a row; compare one column with many values by IN (..), or \
                 join with a table of them",
            );
        }
        if is_comparison(token) {
            self.comparisons += 1;
            self.compared += usize::from(!matches!(token, Token::Word(_)));
            if self.compared > MAX_COMPARED {
                return Some(
                    "over 500 comparisons of the result of another; compare in several columns",
                );
            }
            return (self.comparisons > MAX_COMPARISONS).then_some(
                "over 2,000 comparisons in a row; compare one column with many values by IN (..), \
                 or join with a table of them",
            );
        }
        None
    }
}

/// Checks the depth of parentheses and the length of chains of operators.
fn check_shape(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut chains = vec![Chain::default()];
    for token in tokens {
        let at = token.span.start;
        let exceeded =
            |text: &str| Err(SqlError::new(SqlState::LimitExceeded, text).at(at.line, at.column));
        if let Some(text) = chains.last_mut().and_then(|chain| chain.add(&token.token)) {
            return exceeded(text);
        }
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                chains.push(Chain::default());
                if chains.len() > MAX_NESTING {
                    return exceeded("parentheses are nested over 128 deep; compute parts in WITH");
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace if chains.len() > 1 => {
                chains.pop();
            }
            Token::Comma => chains.last_mut().map_or((), |chain| *chain = Chain::default()),
            _ => {}
        }
    }
    Ok(())
}

/// Returns `true` for operators whose operands nest one in the other, and of which a condition may
/// have many.
fn is_chained(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::UNION
                | Keyword::INTERSECT
                | Keyword::EXCEPT
                | Keyword::JOIN
        ),
        Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::DoubleColon
        | Token::Arrow
        | Token::LongArrow
        | Token::Pipe
        | Token::Ampersand
        | Token::Caret => true,
        _ => false,
    }
}

/// Returns `true` for all other operators: comparisons, those after an operand, subscripts. What
/// is neither a word, a value nor a separator is one.
fn is_comparison(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::SIMILAR
                | Keyword::REGEXP
                | Keyword::RLIKE
                | Keyword::BETWEEN
                | Keyword::COLLATE
                | Keyword::AT
                | Keyword::NOTNULL
                | Keyword::OVERLAPS
                | Keyword::OPERATOR
                | Keyword::DIV
                | Keyword::XOR
                | Keyword::MATCH
                | Keyword::MEMBER
        ),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::DollarQuotedString(_)
        | Token::SingleQuotedByteStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::Placeholder(_)
        | Token::LParen
        | Token::RParen
        | Token::RBracket
        | Token::LBrace
        | Token::RBrace
        | Token::Comma
        | Token::Period
        | Token::Colon
        | Token::SemiColon
        | Token::Whitespace(_)
        | Token::EOF => false,
        _ => true,
    }
}

/// Reads `namespace:table` as `namespace.table`.
fn qualified(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut brackets = 0usize;
    for at in 0..tokens.len() {
        match &tokens[at].token {
            Token::LBracket => brackets += 1,
            Token::RBracket => brackets = brackets.saturating_sub(1),
            // Inside of brackets it is a slice of a list.
            Token::Colon if brackets == 0 && at > 0 && at + 1 < tokens.len() => {
                let is_word = |token: &TokenWithSpan| matches!(token.token, Token::Word(_));
                if is_word(&tokens[at - 1])
                    && is_word(&tokens[at + 1])
                    && tokens[at - 1].span.end == tokens[at].span.start
                    && tokens[at].span.end == tokens[at + 1].span.start
                {
                    tokens[at].token = Token::Period;
                }
            }
            _ => {}
        }
    }
    tokens
}

/// Reads long chains of `c = 1 OR c = 2 OR ..` as `c IN (1, 2, ..)`.
fn listed(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        match run_of_equals(tokens, at) {
            Some(run) if run.values.len() >= MIN_LIST => {
                let like =
                    |token: Token, of: &TokenWithSpan| TokenWithSpan { token, span: of.span };
                out.extend_from_slice(&tokens[at..at + run.name]);
                out.push(like(Token::make_keyword("IN"), &tokens[at]));
                out.push(like(Token::LParen, &tokens[at]));
                for (count, value) in run.values.iter().enumerate() {
                    if count > 0 {
                        out.push(like(Token::Comma, &tokens[*value]));
                    }
                    out.push(tokens[*value].clone());
                }
                out.push(like(Token::RParen, &tokens[at]));
                at = run.end;
            }
            _ => {
                out.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    out
}

/// `name = value OR name = value ..`
struct EqualsRun {
    /// Tokens of the name.
    name: usize,
    /// Positions of the values.
    values: Vec<usize>,
    /// First token after it.
    end: usize,
}

fn run_of_equals(tokens: &[TokenWithSpan], start: usize) -> Option<EqualsRun> {
    if start > 0 && !may_precede(&tokens[start - 1].token) {
        return None;
    }
    let name = name_tokens(&tokens[start..])?;
    let is_name = |at: usize| {
        tokens.get(at..at + name).is_some_and(|other| {
            other.iter().zip(&tokens[start..]).all(|(one, other)| one.token == other.token)
        })
    };
    let (mut values, mut at) = (Vec::new(), start);
    loop {
        let is_term = is_name(at)
            && tokens.get(at + name).is_some_and(|token| token.token == Token::Eq)
            && tokens.get(at + name + 1).is_some_and(|token| is_constant(&token.token));
        if !is_term || !tokens.get(at + name + 2).is_none_or(|next| may_follow(&next.token)) {
            break;
        }
        values.push(at + name + 1);
        at += name + 2;
        match tokens.get(at) {
            Some(next) if is_keyword(&next.token, &[Keyword::OR]) => at += 1,
            _ => return Some(EqualsRun { name, values, end: at }),
        }
    }
    // The last OR belongs to what follows.
    (!values.is_empty()).then(|| EqualsRun { name, values, end: at - 1 })
}

/// Returns the number of tokens of a name such as `t.c`.
fn name_tokens(tokens: &[TokenWithSpan]) -> Option<usize> {
    let is_word = |at: usize| matches!(tokens.get(at)?.token, Token::Word(_)).then_some(());
    is_word(0)?;
    let mut length = 1;
    while tokens.get(length).is_some_and(|token| token.token == Token::Period) {
        is_word(length + 1)?;
        length += 2;
    }
    Some(length)
}

fn is_constant(token: &Token) -> bool {
    matches!(token, Token::Number(..) | Token::SingleQuotedString(_))
}

fn is_keyword(token: &Token, keywords: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if keywords.contains(&word.keyword))
}

fn may_precede(token: &Token) -> bool {
    let keywords = [Keyword::WHERE, Keyword::ON, Keyword::HAVING, Keyword::OR];
    matches!(token, Token::LParen) || is_keyword(token, &keywords)
}

fn may_follow(token: &Token) -> bool {
    let keywords = [
        Keyword::OR,
        Keyword::GROUP,
        Keyword::ORDER,
        Keyword::LIMIT,
        Keyword::OFFSET,
        Keyword::HAVING,
        Keyword::UNION,
    ];
    matches!(token, Token::RParen | Token::SemiColon) || is_keyword(token, &keywords)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str) -> String {
        let tokens = tokens_of(sql).expect("tokens");
        tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn chain(terms: usize, term: impl Fn(usize) -> String) -> String {
        (0..terms).map(term).collect::<Vec<_>>().join(" OR ")
    }

    #[test]
    fn long_lists_of_equals_become_in() {
        let sql = format!("SELECT 1 FROM t WHERE {}", chain(5000, |at| format!("t.k = {at}")));
        let rewritten = text(&sql);
        assert!(rewritten.contains("t . k IN ( 0 , 1 , 2"), "{}", &rewritten[..60]);
        assert!(!rewritten.contains("OR"));
    }

    #[test]
    fn lists_that_bind_otherwise_stay() {
        let of = |before: &str, after: &str| {
            text(&format!("SELECT 1 WHERE {before}{}{after}", chain(20, |at| format!("k = {at}"))))
        };
        assert!(of("", "").contains("k IN (") && of("", " OR x").ends_with(") OR x"));
        assert!(of("y OR ", "").contains("y OR k IN ("));
        assert!(of("(", ")").contains("( k IN ("));
        // AND binds its neighbour.
        let and = of("", " AND x");
        assert!(and.contains("18 ) OR k = 19 AND x"), "{and}");
        assert!(!of("y AND ", "").contains("y AND k IN"));
        assert!(!of("NOT ", "").contains("NOT k IN"));
        assert!(of("", " + 1").ends_with("18 ) OR k = 19 + 1"));
        assert!(!text(&chain(20, |at| format!("k{at} = 1"))).contains("IN"));
    }

    #[test]
    fn chains_and_nesting_have_limits() {
        let refused = |sql: &str| tokens_of(sql).unwrap_err();
        let ors = refused(&format!("SELECT {}", chain(5000, |at| format!("a{at} < 1"))));
        assert_eq!(ors.state, SqlState::LimitExceeded);
        assert!(ors.position.is_some_and(|(line, column)| line == 1 && column > 1000), "{ors}");
        let sums = format!("SELECT 1{}", " + 1".repeat(1001));
        assert_eq!(refused(&sums).state, SqlState::LimitExceeded);
        for of in [
            " IS NULL",
            " = 1",
            " <> 1",
            " COLLATE c",
            " AT TIME ZONE 'UTC'",
            " ~ 'a'",
            " @> '{}'",
            " NOTNULL",
            " LIKE 'a'",
            " BETWEEN 1 AND 2",
            " IN (1)",
            "[1]",
        ] {
            let error = refused(&format!("SELECT x{}", of.repeat(2001)));
            assert_eq!(error.state, SqlState::LimitExceeded, "{of}");
        }
        let ands = vec!["a IS NULL"; 1001].join(" AND ");
        assert!(tokens_of(&format!("SELECT 1 WHERE {ands}")).is_ok());
        let values = vec!["(1, '\\x00', $1, ARRAY[1])"; 5000].join(", ");
        assert!(tokens_of(&format!("VALUES {values}")).is_ok());
        let deep = format!("SELECT {}1{}", "(".repeat(200), ")".repeat(200));
        assert!(refused(&deep).message.contains("128"));
        assert!(refused(&"x ".repeat(100_001)).message.contains("100001"));
        assert!(refused(&" ".repeat(MAX_TEXT_BYTES + 1)).message.contains("1 MiB"));
        assert!(tokens_of(&format!("SELECT {}", vec!["1 + 1"; 2000].join(", "))).is_ok());
        assert_eq!(refused("SELECT 'open").state, SqlState::Syntax);
    }

    #[test]
    fn namespaces_may_be_separated_by_a_colon() {
        assert_eq!(text("SELECT * FROM ns:t"), "SELECT * FROM ns . t");
        assert_eq!(text("SELECT a[1:2], b::int"), "SELECT a [ 1 : 2 ] , b :: int");
        assert_eq!(text("SELECT a[b:c]"), "SELECT a [ b : c ]");
    }
}
