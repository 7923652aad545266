//! Words behind a table that the parser does not know: `VERSIONS n [BETWEEN a AND b]`, `AS OF ..`
//! and `WITH (BUCKETS)` in front of an alias. They become hints, which it reads behind the alias:
//! `t VERSIONS 5 AS a` is parsed as `t AS a WITH (versions(5))`.

use datafusion::sql::sqlparser::keywords::{Keyword, RESERVED_FOR_TABLE_ALIAS};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Result, SqlError, SqlState};

/// Hint of `VERSIONS`: the number, -1 for all, and the times of BETWEEN.
pub(crate) const VERSIONS_HINT: &str = "versions";
/// Hint of `AS OF`: the time.
pub(crate) const AS_OF_HINT: &str = "as_of";

/// Rewrites the words to hints.
///
/// # Errors
/// `Syntax` with the place, for what is not complete or at no table.
pub(super) fn hinted(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let mut input = Input { tokens, at: 0 };
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(input.tokens.len());
    while let Some(token) = input.peek().cloned() {
        if !input.begins_modifier() {
            input.at += 1;
            out.push(token);
            continue;
        }
        let hints = input.hints()?;
        let at = match table_end(&out) {
            TableEnd::Here => {
                out.extend(input.alias());
                out.len()
            }
            TableEnd::Before(at) => at,
            TableEnd::None => {
                return Err(wrong(&token, "VERSIONS and AS OF stand behind a table of FROM"));
            }
        };
        out.splice(at..at, with(hints, &token));
    }
    Ok(out)
}

/// Place behind the table that the words belong to.
enum TableEnd {
    /// The table is the last of what precedes.
    Here,
    /// They stand behind a SELECT of one table, whose name and alias end here.
    Before(usize),
    None,
}

/// Returns the end of the table in front of the end of `before`.
fn table_end(before: &[TokenWithSpan]) -> TableEnd {
    if let Some(name) = name_start(before)
        && name.checked_sub(1).is_some_and(|at| {
            is_keyword(&before[at], &[Keyword::FROM, Keyword::JOIN, Keyword::USING])
                || before[at].token == Token::Comma
        })
    {
        return TableEnd::Here;
    }
    let Some(from) = from_of(before) else { return TableEnd::None };
    let mut rest = Input { tokens: before.to_vec(), at: from + 1 };
    rest.skip_name();
    // A call, as in `cells(t)`.
    rest.parenthesized();
    let _ = rest.alias();
    let is_single = !rest.peek().is_some_and(|token| {
        token.token == Token::Comma
            || is_keyword(token, &[Keyword::JOIN, Keyword::INNER, Keyword::LEFT, Keyword::RIGHT])
            || is_keyword(token, &[Keyword::FULL, Keyword::CROSS, Keyword::NATURAL])
    });
    if is_single && rest.at > from + 1 { TableEnd::Before(rest.at) } else { TableEnd::None }
}

/// Returns the place where the name begins that is the end of the tokens: `t`, `s.t`, or a call.
fn name_start(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut end = tokens.len();
    if tokens.last()?.token == Token::RParen {
        let mut depth = 0usize;
        end = tokens.iter().rposition(|token| {
            match token.token {
                Token::RParen => depth += 1,
                Token::LParen => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
    }
    let mut at = end.checked_sub(1)?;
    let is_word = |at: usize| matches!(tokens[at].token, Token::Word(_));
    if !is_word(at) {
        return None;
    }
    while at >= 2 && tokens[at - 1].token == Token::Period && is_word(at - 2) {
        at -= 2;
    }
    Some(at)
}

/// Returns the place of the FROM of the innermost query that is open at the end of the tokens.
fn from_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.checked_sub(1)?,
            _ if depth == 0 && is_keyword(token, &[Keyword::FROM]) => return Some(at),
            _ => {}
        }
    }
    None
}

struct Input {
    tokens: Vec<TokenWithSpan>,
    at: usize,
}

impl Input {
    fn peek(&self) -> Option<&TokenWithSpan> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| is_word(token, word))
    }

    fn begins_modifier(&self) -> bool {
        let counts = |token: &TokenWithSpan| {
            matches!(token.token, Token::Number(..) | Token::Placeholder(_))
                || is_keyword(token, &[Keyword::ALL])
        };
        self.is_word(0, "VERSIONS") && self.tokens.get(self.at + 1).is_some_and(counts)
            || self.is_word(0, "AS") && self.is_word(1, "OF")
            || self.is_word(0, "FOR") && self.is_word(1, "SYSTEM_TIME")
            || self.is_buckets() && !self.tokens[..self.at].is_empty()
    }

    fn is_buckets(&self) -> bool {
        self.is_word(0, "WITH")
            && self.tokens.get(self.at + 1).is_some_and(|token| token.token == Token::LParen)
            && self.is_word(2, "BUCKETS")
            && self.tokens.get(self.at + 3).is_some_and(|token| token.token == Token::RParen)
    }

    /// Reads all words from here on, and returns the hints without commas between them.
    fn hints(&mut self) -> Result<Vec<Vec<TokenWithSpan>>> {
        let mut hints = Vec::new();
        while self.begins_modifier() {
            hints.push(self.hint()?);
        }
        Ok(hints)
    }

    fn hint(&mut self) -> Result<Vec<TokenWithSpan>> {
        let first = self.tokens[self.at].clone();
        if self.is_buckets() {
            let word = self.tokens[self.at + 2].clone();
            self.at += 4;
            return Ok(vec![word]);
        }
        if self.is_word(0, "VERSIONS") {
            let count = &self.tokens[self.at + 1];
            let is_all = is_keyword(count, &[Keyword::ALL]);
            let all = || TokenWithSpan::new(Token::Number("-1".to_owned(), false), count.span);
            let mut arguments = vec![if is_all { all() } else { count.clone() }];
            self.at += 2;
            if self.is_word(0, "BETWEEN") {
                self.at += 1;
                arguments.push(sign(Token::Comma, &first));
                arguments.extend(self.value(&first)?);
                if !self.is_word(0, "AND") {
                    return Err(wrong(&first, "VERSIONS n BETWEEN time AND time"));
                }
                self.at += 1;
                arguments.push(sign(Token::Comma, &first));
                arguments.extend(self.value(&first)?);
            }
            return Ok(call(VERSIONS_HINT, arguments, &first));
        }
        for word in ["FOR", "SYSTEM_TIME", "AS", "OF", "SYSTEM", "TIME", "TIMESTAMP"] {
            if self.is_word(0, word) {
                self.at += 1;
            }
        }
        let value = self.value(&first)?;
        Ok(call(AS_OF_HINT, value, &first))
    }

    /// Reads a time: everything up to the next word that can follow a table.
    fn value(&mut self, first: &TokenWithSpan) -> Result<Vec<TokenWithSpan>> {
        let from = self.at;
        let mut depth = 0usize;
        while let Some(token) = self.peek() {
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen | Token::Comma | Token::SemiColon if depth == 0 => break,
                Token::RParen => depth -= 1,
                Token::Word(word) if depth == 0 && word.quote_style.is_none() => {
                    let ends = RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword)
                        || matches!(word.keyword, Keyword::AND | Keyword::AS | Keyword::FOR);
                    if ends || word.value.eq_ignore_ascii_case("VERSIONS") {
                        break;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        if self.at == from {
            return Err(wrong(first, "a time is expected, as in AS OF TIMESTAMP '2024-03-15'"));
        }
        Ok(self.tokens[from..self.at].to_vec())
    }

    /// Reads the alias of a table, with its columns.
    fn alias(&mut self) -> Vec<TokenWithSpan> {
        let from = self.at;
        let has_as = self.is_word(0, "AS") && !self.is_word(1, "OF");
        self.at += usize::from(has_as);
        let is_name = self.peek().is_some_and(|token| match &token.token {
            Token::Word(word) => {
                word.quote_style.is_some() || !RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword)
            }
            _ => false,
        });
        if !is_name || self.begins_modifier() {
            self.at = from;
            return Vec::new();
        }
        self.at += 1;
        self.parenthesized();
        self.tokens[from..self.at].to_vec()
    }

    fn skip_name(&mut self) {
        while self.peek().is_some_and(|token| matches!(token.token, Token::Word(_))) {
            self.at += 1;
            if self.peek().is_none_or(|token| token.token != Token::Period) {
                return;
            }
            self.at += 1;
        }
    }

    /// Passes what is in parentheses here, if anything.
    fn parenthesized(&mut self) {
        let mut depth = 0usize;
        while let Some(token) = self.peek() {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth > 0 => depth -= 1,
                _ if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

fn is_word(token: &TokenWithSpan, text: &str) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text),
        _ => false,
    }
}

fn is_keyword(token: &TokenWithSpan, keywords: &[Keyword]) -> bool {
    matches!(&token.token, Token::Word(word) if keywords.contains(&word.keyword))
}

fn sign(token: Token, near: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan::new(token, near.span)
}

fn call(name: &str, arguments: Vec<TokenWithSpan>, near: &TokenWithSpan) -> Vec<TokenWithSpan> {
    let mut call = vec![sign(Token::make_word(name, None), near), sign(Token::LParen, near)];
    call.extend(arguments);
    call.push(sign(Token::RParen, near));
    call
}

/// Returns `WITH (hint, ..)`.
fn with(hints: Vec<Vec<TokenWithSpan>>, near: &TokenWithSpan) -> Vec<TokenWithSpan> {
    let mut list = vec![sign(Token::make_keyword("WITH"), near), sign(Token::LParen, near)];
    for (at, hint) in hints.into_iter().enumerate() {
        if at > 0 {
            list.push(sign(Token::Comma, near));
        }
        list.extend(hint);
    }
    list.push(sign(Token::RParen, near));
    list
}

fn wrong(near: &TokenWithSpan, text: &str) -> SqlError {
    SqlError::new(SqlState::Syntax, text).at(near.span.start.line, near.span.start.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tokens_of;

    fn rewritten(text: &str) -> String {
        let tokens = hinted(tokens_of(text).unwrap()).unwrap();
        let words: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
        words.join(" ")
    }

    #[test]
    fn words_behind_table_become_hints_behind_alias() {
        let cases = [
            ("SELECT a FROM t VERSIONS 5", "SELECT a FROM t WITH ( versions ( 5 ) )"),
            (
                "SELECT a FROM s.t VERSIONS ALL x WHERE b = 1",
                "SELECT a FROM s . t x WITH ( versions ( -1 ) ) WHERE b = 1",
            ),
            (
                "SELECT a FROM t VERSIONS 2 BETWEEN 1 AND now() - interval '1 h' AS x, u",
                "SELECT a FROM t AS x WITH ( versions ( 2 , 1 , now ( ) - interval '1 h' ) ) , u",
            ),
            (
                "SELECT 1 FROM t FOR SYSTEM_TIME AS OF '2024-01-01' AS x JOIN u AS OF TIMESTAMP 7",
                "SELECT 1 FROM t AS x WITH ( as_of ( '2024-01-01' ) ) JOIN u WITH ( as_of ( 7 ) )",
            ),
            (
                "SELECT a FROM t x WHERE b = 1 ORDER BY a VERSIONS 3",
                "SELECT a FROM t x WITH ( versions ( 3 ) ) WHERE b = 1 ORDER BY a",
            ),
            (
                "SELECT a FROM t VERSIONS 3 AS OF SYSTEM TIME 9 LIMIT 1",
                "SELECT a FROM t WITH ( versions ( 3 ) , as_of ( 9 ) ) LIMIT 1",
            ),
            (
                "SELECT * FROM cells(t) VERSIONS ALL c",
                "SELECT * FROM cells ( t ) c WITH ( versions ( -1 ) )",
            ),
            ("SELECT p FROM t WITH (BUCKETS) x", "SELECT p FROM t x WITH ( BUCKETS )"),
            ("SELECT versions FROM t AS v", "SELECT versions FROM t AS v"),
        ];
        for (text, expected) in cases {
            assert_eq!(rewritten(text), expected, "{text}");
        }
    }

    #[test]
    fn incomplete_words_are_refused_with_their_place() {
        for text in [
            "SELECT 1 VERSIONS 5",
            "SELECT a FROM t AS OF",
            "SELECT a FROM t VERSIONS 5 BETWEEN 1",
            "SELECT a FROM t, u WHERE a = b VERSIONS 5",
        ] {
            let error = hinted(tokens_of(text).unwrap()).unwrap_err();
            assert!(error.to_string().contains("line 1"), "{text}: {error}");
        }
    }
}
