//! Parser and printer of value columns.
//!
//! ```text
//! column := [family "."] name ( type | SERIES(type) [OFFSET OF column] )
//!           { FAMILY family | QUALIFIER name | ALIAS 'name' | VERSIONS n | NOT NULL | NULL | PRIMARY KEY }
//! ```
//!
//! `QUALIFIER` is the short name in the store of a column with a long one; `ALIAS` is the long name
//! of a column with a short one. Both have the same meaning, which is printed as `QUALIFIER`.

use std::fmt;

use super::cursor::{Cursor, Name};
use super::declaration::{Column, ColumnType};
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use super::print::{name, quoted};
use super::types::field_type;
use crate::value::FieldType;

/// Column as written.
pub(super) struct RawColumn {
    pub(super) name: Name,
    pub(super) ty: ColumnType,
    pub(super) family: Option<Name>,
    pub(super) qualifier: Option<String>,
    pub(super) versions: Option<(u32, Span)>,
    /// Position of `PRIMARY KEY` if the column is the whole key.
    pub(super) primary: Option<Span>,
}

impl RawColumn {
    /// Returns the column, in `family` if it names none.
    pub(super) fn in_family(self, family: &str) -> Column {
        let family = self.family.map_or_else(|| family.to_owned(), |family| family.text);
        let qualifier = self.qualifier.unwrap_or_else(|| self.name.text.clone());
        Column { name: self.name.text, ty: self.ty, family, qualifier }
    }

    /// Returns its type, for the key, if its cells hold single values.
    pub(super) fn field_type(&self) -> Option<FieldType> {
        match self.ty {
            ColumnType::Value(ty) => Some(ty),
            ColumnType::Series { .. } => None,
        }
    }
}

/// Parses one column.
pub(super) fn column(cursor: &mut Cursor<'_>) -> Result<RawColumn, LanguageError> {
    let mut name = cursor.expect_name("a column, ROW KEY or PRIMARY KEY")?;
    let mut family = None;
    if cursor.eat_sign('.') {
        family = Some(std::mem::replace(&mut name, cursor.expect_name("a column")?));
    }
    let ty = column_type(cursor)?;
    let mut column = RawColumn { name, ty, family, qualifier: None, versions: None, primary: None };
    while attribute(cursor, &mut column)? {}
    Ok(column)
}

fn column_type(cursor: &mut Cursor<'_>) -> Result<ColumnType, LanguageError> {
    if !cursor.is_word("SERIES") {
        return Ok(ColumnType::Value(field_type(cursor)?.0));
    }
    cursor.advance();
    cursor.expect_sign('(')?;
    let (of, span) = field_type(cursor)?;
    if of.integer_range().is_none() && !matches!(of, FieldType::F32 | FieldType::F64) {
        return Err(LanguageError::new(
            span,
            format!("the points of a SERIES are numbers, and {of} is none"),
        )
        .suggest("write SERIES(DOUBLE)"));
    }
    cursor.expect_sign(')')?;
    Ok(ColumnType::Series { of, offset_of: None })
}

/// Parses one attribute, if there is one.
fn attribute(cursor: &mut Cursor<'_>, column: &mut RawColumn) -> Result<bool, LanguageError> {
    let span = cursor.span();
    let twice = if cursor.eat_word("FAMILY") {
        column.family.replace(cursor.expect_name("a family")?).is_some()
    } else if cursor.eat_word("QUALIFIER") {
        column.qualifier.replace(name_or_text(cursor, "the column's name in the store")?).is_some()
    } else if cursor.eat_word("ALIAS") {
        let long = name_or_text(cursor, "the column's name in statements")?;
        column.qualifier.replace(std::mem::replace(&mut column.name.text, long)).is_some()
    } else if cursor.eat_word("VERSIONS") {
        let at = cursor.span();
        let versions =
            u32::try_from(cursor.expect_number("how many versions are kept", 0x7fff_ffff)?)
                .unwrap_or(1);
        column.versions.replace((versions, at)).is_some()
    } else if cursor.eat_words(&["OFFSET", "OF"]) {
        let field = cursor.expect_name("a column of the key")?;
        let ColumnType::Series { offset_of, .. } = &mut column.ty else {
            return Err(LanguageError::new(span, "only a SERIES has an OFFSET")
                .suggest("write SERIES(DOUBLE) .. OFFSET OF ts"));
        };
        offset_of.replace(field.text).is_some()
    } else if cursor.eat_words(&["PRIMARY", "KEY"]) {
        column.primary.replace(span.to(cursor.last_span())).is_some()
    } else {
        return Ok(cursor.eat_words(&["NOT", "NULL"]) || cursor.eat_word("NULL"));
    };
    if twice {
        Err(LanguageError::new(span, "this was said already").suggest("leave one of the two out"))
    } else {
        Ok(true)
    }
}

fn name_or_text(cursor: &mut Cursor<'_>, expected: &str) -> Result<String, LanguageError> {
    match cursor.kind() {
        TokenKind::Text(text) if !text.is_empty() => {
            cursor.expect_text(expected).map(|(text, _)| text)
        }
        _ => cursor.expect_name(expected).map(|name| name.text),
    }
}

impl fmt::Display for Column {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} FAMILY {}", name(&self.name), self.ty, name(&self.family))?;
        if self.qualifier != self.name {
            write!(out, " QUALIFIER {}", quoted(&self.qualifier))?;
        }
        match &self.ty {
            ColumnType::Series { offset_of: Some(field), .. } => {
                write!(out, " OFFSET OF {}", name(field))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(ty) => ty.fmt(out),
            Self::Series { of, .. } => write!(out, "SERIES({of})"),
        }
    }
}
