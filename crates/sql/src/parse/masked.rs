//! Text of a statement without its values, for those who may not see them.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// What replaces a value.
const VALUE: &str = "?";
/// What replaces the rest of a text that cannot be read, or was cut.
const REST: &str = "..";

/// Returns a statement in one line, with `?` in place of its numbers and texts, and without its
/// comments. What follows a mistake, such as text without an end, is left out.
pub(crate) fn without_values(text: &str) -> String {
    let mut tokens = Vec::new();
    // The tokens in front of a mistake have been collected.
    let read =
        Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location_into_buf(&mut tokens);
    let mut shown = String::with_capacity(text.len());
    for token in &tokens {
        match &token.token {
            // Comments may contain anything.
            Token::Whitespace(_) => {
                if !shown.is_empty() && !shown.ends_with(' ') {
                    shown.push(' ');
                }
            }
            Token::EOF => {}
            token if is_value(token) => shown.push_str(VALUE),
            token => shown.push_str(&token.to_string()),
        }
    }
    if read.is_err() {
        shown.push_str(REST);
    }
    shown.truncate(shown.trim_end().len());
    shown
}

fn is_value(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::TripleSingleQuotedString(_)
            | Token::TripleDoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::DoubleQuotedByteStringLiteral(_)
            | Token::SingleQuotedRawStringLiteral(_)
            | Token::DoubleQuotedRawStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::HexStringLiteral(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_out() {
        for (text, expected) in [
            ("SELECT 'secret', 1.5e3 FROM \"T 1\"", "SELECT ?, ? FROM \"T 1\""),
            ("SELECT $1\n  /* secret */, x'5ec7' -- secret\n", "SELECT $1 , ?"),
            ("SELECT E'se\\'cret', $$secret$$, N'x', U&'x'", "SELECT ?, ?, ?, ?"),
            ("SELECT v FROM t WHERE k = 'secret", "SELECT v FROM t WHERE k = .."),
            ("", ""),
        ] {
            assert_eq!(without_values(text), expected);
        }
    }
}
