//! Parser and printer of the literals of `DEFAULT`.
//!
//! ```text
//! literal := 'text' | x'00ff' | [-] number | TRUE | FALSE | NULL
//! ```
//!
//! Text in quotes is a value of any type, in the notation of conditions: `'2024-03-15'`, `'NaN'`.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::declaration::ColumnType;
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use super::print::{hexadecimal, quoted};
use crate::value::{FieldType, Value};

/// Parses the literal of a column of this type; `None` is NULL.
pub(super) fn default_value(
    cursor: &mut Cursor<'_>,
    ty: &ColumnType,
) -> Result<Option<Value<'static>>, LanguageError> {
    let span = cursor.span();
    let ty = match ty {
        ColumnType::Value(ty) => *ty,
        ColumnType::Decimal { .. } => FieldType::Decimal,
        other => {
            return Err(LanguageError::new(span, format!("{other} has no DEFAULT"))
                .suggest("leave it out; without cells it is 0 or empty"));
        }
    };
    let value = literal(cursor, ty)?;
    let span = span.to(cursor.last_span());
    match value {
        Value::Null => Ok(None),
        value if ty.accepts(&value) => Ok(Some(value)),
        value => {
            let message = format!("{} is no {ty}", ty.print(&value));
            Err(LanguageError::new(span, message).suggest("give a value of the column's type"))
        }
    }
}

fn literal(cursor: &mut Cursor<'_>, ty: FieldType) -> Result<Value<'static>, LanguageError> {
    let span = cursor.span();
    let negative = cursor.eat_sign('-');
    let value = match cursor.kind() {
        TokenKind::Number(digits) if negative => parsed(ty, &format!("-{digits}"), span)?,
        TokenKind::Number(digits) => parsed(ty, digits, span)?,
        _ if negative => return Err(cursor.unexpected(&["a number"])),
        TokenKind::Text(text) if ty.is_text() => Value::Text(Cow::Owned(text.clone())),
        TokenKind::Text(text) if text.eq_ignore_ascii_case("null") => {
            return Err(LanguageError::new(span, format!("'{text}' is no {ty}"))
                .suggest("write NULL without quotes, or leave DEFAULT out"));
        }
        TokenKind::Text(text) => parsed(ty, text, span)?,
        TokenKind::Hex(bytes) => bytes_literal(ty, bytes, span)?,
        TokenKind::Word(word) if word.eq_ignore_ascii_case("NULL") => Value::Null,
        TokenKind::Word(word) if ty == FieldType::Bool => parsed(ty, word, span)?,
        _ => {
            return Err(cursor.unexpected(&["a literal like 5, 'text', x'00ff' or TRUE"]));
        }
    };
    cursor.advance();
    Ok(value)
}

fn parsed(ty: FieldType, text: &str, span: Span) -> Result<Value<'static>, LanguageError> {
    if ty.is_text() {
        return Err(LanguageError::new(span, format!("{text} is no {ty}"))
            .suggest(format!("write {}", quoted(text))));
    }
    ty.parse(text).map_err(|message| LanguageError::new(span, message))
}

fn bytes_literal(ty: FieldType, bytes: &[u8], span: Span) -> Result<Value<'static>, LanguageError> {
    match ty {
        FieldType::Bytes | FieldType::Fixed(_) => Ok(Value::Bytes(Cow::Owned(bytes.to_vec()))),
        _ => Err(LanguageError::new(span, format!("bytes are no {ty}"))
            .suggest("write the value itself, or make the column BYTES")),
    }
}

/// Formats a value of a column as [`default_value`] parses it.
pub(super) fn print_default(value: &Value<'_>, ty: FieldType) -> String {
    match value {
        Value::Bytes(bytes) => hexadecimal(bytes),
        Value::Bool(true) => "TRUE".to_owned(),
        Value::Bool(false) => "FALSE".to_owned(),
        value => {
            let text = ty.print(value);
            let digits = text.strip_prefix('-').unwrap_or(&text);
            let is_number = !ty.is_text()
                && digits.starts_with(|c: char| c.is_ascii_digit())
                && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let is_address = matches!(ty, FieldType::Ipv4 | FieldType::Ipv6);
            if is_number && !is_address { text } else { quoted(&text) }
        }
    }
}
