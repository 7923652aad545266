//! COMMENT ON.

use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::is_word;
use crate::error::{Result, SqlError, SqlState};

/// Comment on a table, or on one of its columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comment {
    /// Parts of the name of the table.
    pub(crate) table: Vec<Ident>,
    pub(crate) column: Option<Ident>,
    /// Text; `None` to remove it.
    pub(crate) text: Option<String>,
}

/// Reads `COMMENT ON {TABLE | COLUMN} name IS {'text' | NULL}`.
pub(super) fn comment(tokens: &[TokenWithSpan]) -> Result<Comment> {
    let wrong = |text: &str, at: usize| {
        let error = SqlError::new(SqlState::Syntax, text);
        match tokens.get(at).or(tokens.last()) {
            Some(token) => error.at(token.span.start.line, token.span.start.column),
            None => error,
        }
    };
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|one| is_word(&one.token, word));
    if !is(1, "ON") {
        return Err(wrong("COMMENT is followed by ON TABLE or ON COLUMN", 1));
    }
    let of_column = is(2, "COLUMN");
    if !of_column && !is(2, "TABLE") {
        let what = tokens.get(2).map_or_else(String::new, |token| token.token.to_string());
        let text = format!("COMMENT ON {what}: comments are kept of tables and columns");
        let at = tokens.get(2).unwrap_or(&tokens[0]).span.start;
        return Err(SqlError::unsupported(text).at(at.line, at.column));
    }
    let mut table = Vec::new();
    let mut at = 3;
    loop {
        match tokens.get(at) {
            Some(TokenWithSpan { token: Token::Word(word), span }) => {
                table.push(word.clone().into_ident(*span));
            }
            _ => return Err(wrong("a name is expected", at)),
        }
        at += 1;
        if tokens.get(at).is_none_or(|token| token.token != Token::Period) {
            break;
        }
        at += 1;
    }
    let column = if of_column { table.pop() } else { None };
    if table.is_empty() {
        return Err(wrong("a column is named with its table: COMMENT ON COLUMN t.c IS 'text'", 3));
    }
    let text = match tokens.get(at + 1).map(|token| &token.token) {
        Some(
            Token::SingleQuotedString(text)
            | Token::EscapedStringLiteral(text)
            | Token::UnicodeStringLiteral(text),
        ) => Some(text.clone()),
        Some(Token::DollarQuotedString(text)) => Some(text.value.clone()),
        Some(word) if is_word(word, "NULL") => None,
        _ => return Err(wrong("IS 'text' or IS NULL is expected", at + 1)),
    };
    if !is(at, "IS") || tokens.len() > at + 2 {
        return Err(wrong("IS 'text' or IS NULL ends the statement", at));
    }
    if text.as_ref().is_some_and(|text| text.contains('\0')) {
        let text = "a comment has no letter U+0000";
        return Err(SqlError::new(SqlState::NotInEncoding, text));
    }
    Ok(Comment { table, column, text })
}
