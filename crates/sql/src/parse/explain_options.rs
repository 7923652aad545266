//! Options of EXPLAIN: words after it, or PostgreSQL's list in parentheses.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use halite_types::suggest::misspelled;

use super::kind::word;
use crate::error::{Result, SqlError, SqlState};

/// Names of the options.
const NAMES: [&str; 3] = ["ANALYZE", "FORMAT", "VERBOSE"];
/// Options of PostgreSQL that clients send, and that change nothing here: what is measured is
/// shown.
const WITHOUT_EFFECT: [&str; 7] =
    ["BUFFERS", "COSTS", "MEMORY", "SETTINGS", "SUMMARY", "TIMING", "WAL"];
/// Words that begin a query in parentheses.
const QUERIES: [&str; 4] = ["SELECT", "TABLE", "VALUES", "WITH"];

/// How a statement is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExplainOptions {
    /// `true` to run the statement.
    pub(crate) analyze: bool,
    /// `true` to append DataFusion's plans.
    pub(crate) verbose: bool,
    /// Form of the answer.
    pub(crate) format: ExplainFormat,
}

/// Form in which a statement is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExplainFormat {
    /// Lines.
    #[default]
    Text,
    /// One object.
    Json,
}

impl ExplainOptions {
    /// Reads the options after EXPLAIN, the first of `tokens`. Returns them and where the
    /// statement begins.
    ///
    /// # Errors
    /// `Syntax` for options that there are not, `NotSupported` for other formats.
    pub(super) fn read(tokens: &[TokenWithSpan]) -> Result<(Self, usize)> {
        let mut options = Self::default();
        let begins_list = tokens.get(1).is_some_and(|token| token.token == Token::LParen)
            && tokens.get(2).is_some_and(|token| {
                matches!(token.token, Token::Word(_)) && !QUERIES.contains(&word(token).as_str())
            });
        if begins_list {
            let end = options.read_list(tokens)?;
            return Ok((options, end));
        }
        let mut at = 1;
        while let Some(token) = tokens.get(at) {
            match word(token).as_str() {
                "ANALYZE" | "ANALYSE" => options.analyze = true,
                "VERBOSE" => options.verbose = true,
                _ => break,
            }
            at += 1;
        }
        Ok((options, at))
    }

    /// Reads `(name [value], ..)`; returns the place after it.
    fn read_list(&mut self, tokens: &[TokenWithSpan]) -> Result<usize> {
        let mut at = 2;
        loop {
            let name = tokens.get(at).ok_or_else(|| unclosed(tokens))?;
            at += 1;
            let value = tokens.get(at).filter(|token| !is_end(&token.token));
            at += usize::from(value.is_some());
            self.set(name, value)?;
            let next = tokens.get(at).ok_or_else(|| unclosed(tokens))?;
            at += 1;
            match next.token {
                Token::RParen => return Ok(at),
                Token::Comma => {}
                _ => {
                    let text = "options of EXPLAIN are separated by commas: (ANALYZE, FORMAT json)";
                    return Err(placed(SqlError::new(SqlState::Syntax, text), next));
                }
            }
        }
    }

    fn set(&mut self, name: &TokenWithSpan, value: Option<&TokenWithSpan>) -> Result<()> {
        match word(name).as_str() {
            "ANALYZE" | "ANALYSE" => self.analyze = is_on(value)?,
            "VERBOSE" => self.verbose = is_on(value)?,
            "FORMAT" => self.format = format(name, value)?,
            other if WITHOUT_EFFECT.contains(&other) => {
                is_on(value)?;
            }
            other => {
                let near = misspelled(other, NAMES.iter().copied())
                    .map_or_else(String::new, |near| format!("; did you mean {near}?"));
                let text = format!("EXPLAIN has no option {}{near}", name.token);
                return Err(placed(SqlError::new(SqlState::Syntax, text), name));
            }
        }
        Ok(())
    }
}

fn is_end(token: &Token) -> bool {
    matches!(token, Token::Comma | Token::RParen)
}

/// Returns the value of an option that is on or off; on without one.
fn is_on(value: Option<&TokenWithSpan>) -> Result<bool> {
    let Some(value) = value else { return Ok(true) };
    match shown(value).as_str() {
        "TRUE" | "ON" | "1" => Ok(true),
        "FALSE" | "OFF" | "0" => Ok(false),
        other => {
            let text = format!("{other} is neither on nor off");
            Err(placed(SqlError::new(SqlState::Syntax, text), value))
        }
    }
}

fn format(name: &TokenWithSpan, value: Option<&TokenWithSpan>) -> Result<ExplainFormat> {
    let value = value.unwrap_or(name);
    match shown(value).as_str() {
        "TEXT" => Ok(ExplainFormat::Text),
        "JSON" => Ok(ExplainFormat::Json),
        other => {
            let text = format!("EXPLAIN has no format {other}: FORMAT text, FORMAT json");
            Err(placed(SqlError::unsupported(text), value))
        }
    }
}

/// Returns a word, number or text in upper case.
fn shown(value: &TokenWithSpan) -> String {
    match &value.token {
        Token::SingleQuotedString(text) => text.to_ascii_uppercase(),
        other => other.to_string().to_ascii_uppercase(),
    }
}

fn unclosed(tokens: &[TokenWithSpan]) -> SqlError {
    let error = SqlError::new(SqlState::Syntax, "the options of EXPLAIN have no end: )");
    tokens.last().map_or(error.clone(), |last| placed(error, last))
}

fn placed(error: SqlError, at: &TokenWithSpan) -> SqlError {
    error.at(at.span.start.line, at.span.start.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tokens_of;

    fn read(text: &str) -> Result<(ExplainOptions, usize)> {
        ExplainOptions::read(&tokens_of(text)?)
    }

    #[test]
    fn options_are_words_or_a_list() {
        let on = |analyze, verbose, format| ExplainOptions { analyze, verbose, format };
        let (text, json) = (ExplainFormat::Text, ExplainFormat::Json);
        for (sql, options, at) in [
            ("EXPLAIN SELECT 1", on(false, false, text), 1),
            ("explain analyze verbose select 1", on(true, true, text), 3),
            ("EXPLAIN (FORMAT json) SELECT 1", on(false, false, json), 5),
            ("EXPLAIN (FORMAT 'JSON', ANALYZE) SELECT 1", on(true, false, json), 7),
            ("EXPLAIN (ANALYZE off, COSTS OFF, VERBOSE true) SELECT 1", on(false, true, text), 11),
            ("EXPLAIN (SELECT 1)", on(false, false, text), 1),
            ("EXPLAIN ((SELECT 1))", on(false, false, text), 1),
        ] {
            assert_eq!(read(sql), Ok((options, at)), "{sql}");
        }
    }

    #[test]
    fn other_options_are_refused_with_their_place() {
        for (sql, state, column) in [
            ("EXPLAIN (ANALIZE) SELECT 1", SqlState::Syntax, 10),
            ("EXPLAIN (FORMAT xml) SELECT 1", SqlState::NotSupported, 17),
            ("EXPLAIN (FORMAT) SELECT 1", SqlState::NotSupported, 10),
            ("EXPLAIN (ANALYZE maybe) SELECT 1", SqlState::Syntax, 18),
            ("EXPLAIN (ANALYZE VERBOSE) SELECT 1", SqlState::Syntax, 18),
            ("EXPLAIN (ANALYZE", SqlState::Syntax, 10),
            ("EXPLAIN (ANALYZE true false) SELECT 1", SqlState::Syntax, 23),
        ] {
            let error = read(sql).expect_err(sql);
            assert_eq!((error.state, error.position), (state, Some((1, column))), "{sql}: {error}");
        }
        assert!(read("EXPLAIN (ANALIZE) SELECT 1").is_err_and(|e| e.message.contains("ANALYZE")));
    }
}
