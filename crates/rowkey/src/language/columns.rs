//! Parser and printer of value columns.
//!
//! ```text
//! column    := [family "."] name kind {attribute}
//! kind      := type | I64 COUNTER | SERIES(type) | MAP(type, type)
//! attribute := FAMILY family | QUALIFIER qualifier | ALIAS 'name' | VERSIONS n | ENCODING encoding
//!            | DEFAULT literal | NOT NULL | NULL | PRIMARY KEY
//!            | OFFSET OF column                                       -- of a SERIES
//!            | PREFIX qualifier                                       -- of a MAP
//! qualifier := name | 'text' | x'800b'
//! encoding  := JAVA | TEXT | BIN | ORDERED | PHOENIX | RAW
//! ```
//!
//! `QUALIFIER` is the short name in the store of a column with a long one; `ALIAS` is the long name
//! of a column with a short one. Both have the same meaning, which is printed as `QUALIFIER`. A
//! `MAP` has a cell for each of its keys: the qualifier is the `PREFIX` followed by the key.

use std::fmt;

use halite_types::Bytes;

use super::cursor::{Cursor, Name};
use super::declaration::{Column, ColumnType};
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use super::literals::{default_value, print_default};
use super::print::{constant, name};
use super::types::{field_type, sized_type};
use crate::cell::{CellCodec, CellEncoding};
use crate::value::{FieldType, Value};

/// Attributes of a column, as messages list them.
pub(super) const ATTRIBUTES: &[&str] =
    &["FAMILY", "QUALIFIER", "ALIAS", "VERSIONS", "ENCODING", "DEFAULT", "NOT NULL"];

/// Column as written.
pub(super) struct RawColumn {
    pub(super) name: Name,
    pub(super) ty: ColumnType,
    pub(super) family: Option<Name>,
    pub(super) qualifier: Option<Bytes>,
    pub(super) versions: Option<(u32, Span)>,
    encoding: Option<(CellEncoding, Span)>,
    default: Option<(Value<'static>, Span)>,
    /// `true` for `NOT NULL`, `false` for `NULL`.
    not_null: Option<bool>,
    /// Position of `PRIMARY KEY` if the column is the whole key.
    pub(super) primary: Option<Span>,
}

impl RawColumn {
    /// Returns the column, in `family` if it names none.
    pub(super) fn in_family(self, family: &str) -> Column {
        let family = self.family.map_or_else(|| family.to_owned(), |family| family.text);
        let own_name = match self.ty {
            ColumnType::Map { .. } => Bytes::new(),
            _ => Bytes::copy_from_slice(self.name.text.as_bytes()),
        };
        Column {
            name: self.name.text,
            ty: self.ty,
            family,
            qualifier: self.qualifier.unwrap_or(own_name),
            encoding: self.encoding.map(|(encoding, _)| encoding).unwrap_or_default(),
            not_null: self.not_null.unwrap_or_default(),
            default: self.default.map(|(value, _)| value),
        }
    }

    /// Returns its type, for the key, if its cells hold single values.
    pub(super) fn field_type(&self) -> Option<FieldType> {
        self.ty.value_type()
    }

    /// Returns the attribute that only a cell has, if there is one: the fields of a key have the
    /// bytes of the key.
    pub(super) fn cell_attribute(&self) -> Option<(&'static str, Span)> {
        let encoding = self.encoding.map(|(_, span)| ("ENCODING", span));
        let default = self.default.as_ref().map(|(_, span)| ("DEFAULT", *span));
        let counter = (self.ty == ColumnType::Counter).then_some(("COUNTER", self.name.span));
        encoding.or(default).or(counter)
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
    let mut column = RawColumn {
        name,
        ty,
        family,
        qualifier: None,
        versions: None,
        encoding: None,
        default: None,
        not_null: None,
        primary: None,
    };
    while attribute(cursor, &mut column)? {}
    check_encoding(&column)?;
    Ok(column)
}

fn column_type(cursor: &mut Cursor<'_>) -> Result<ColumnType, LanguageError> {
    if cursor.is_word("SERIES") {
        return series(cursor);
    }
    if cursor.is_word("MAP") && cursor.is_sign_ahead(1, '(') {
        return map(cursor);
    }
    let (ty, digits, span) = sized_type(cursor)?;
    if cursor.is_word("COUNTER") {
        let span = span.to(cursor.span());
        cursor.advance();
        return if ty == FieldType::I64 {
            Ok(ColumnType::Counter)
        } else {
            Err(LanguageError::new(span, format!("Increment adds to eight bytes, not to {ty}"))
                .suggest("write I64 COUNTER"))
        };
    }
    Ok(match digits {
        Some(digits) => ColumnType::Decimal { precision: digits.precision, scale: digits.scale },
        None => ColumnType::Value(ty),
    })
}

fn series(cursor: &mut Cursor<'_>) -> Result<ColumnType, LanguageError> {
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

fn map(cursor: &mut Cursor<'_>) -> Result<ColumnType, LanguageError> {
    cursor.advance();
    cursor.expect_sign('(')?;
    let key = type_in_map(cursor)?;
    cursor.expect_sign(',')?;
    let value = type_in_map(cursor)?;
    cursor.expect_sign(')')?;
    Ok(ColumnType::Map { key, value })
}

fn type_in_map(cursor: &mut Cursor<'_>) -> Result<FieldType, LanguageError> {
    match sized_type(cursor)? {
        (ty, None, _) => Ok(ty),
        (_, Some(_), span) => {
            Err(LanguageError::new(span, "the decimals of a MAP have any number of digits")
                .suggest("write DECIMAL"))
        }
    }
}

/// Parses one attribute, if there is one.
fn attribute(cursor: &mut Cursor<'_>, column: &mut RawColumn) -> Result<bool, LanguageError> {
    let span = cursor.span();
    let is_map = matches!(column.ty, ColumnType::Map { .. });
    let twice = if cursor.eat_word("FAMILY") {
        column.family.replace(cursor.expect_name("a family")?).is_some()
    } else if cursor.is_word("QUALIFIER") || cursor.is_word("PREFIX") {
        qualifier(cursor, column, is_map)?
    } else if cursor.eat_word("ALIAS") {
        if is_map {
            return Err(LanguageError::new(span, "a MAP has many qualifiers")
                .suggest("write PREFIX for what all of them begin with"));
        }
        let long = name_or_text(cursor, "the column's name in statements")?;
        let short = std::mem::replace(&mut column.name.text, long);
        column.qualifier.replace(short.into()).is_some()
    } else if cursor.eat_word("VERSIONS") {
        let at = cursor.span();
        let versions =
            u32::try_from(cursor.expect_number("how many versions are kept", 0x7fff_ffff)?)
                .unwrap_or(1);
        column.versions.replace((versions, at)).is_some()
    } else if cursor.eat_word("ENCODING") {
        let encoding = encoding(cursor)?;
        column.encoding.replace((encoding, span.to(cursor.last_span()))).is_some()
    } else if cursor.eat_word("DEFAULT") {
        let value = default_value(cursor, &column.ty)?;
        let at = span.to(cursor.last_span());
        value.is_some_and(|value| column.default.replace((value, at)).is_some())
    } else if cursor.eat_words(&["OFFSET", "OF"]) {
        let field = cursor.expect_name("a column of the key")?;
        let ColumnType::Series { offset_of, .. } = &mut column.ty else {
            return Err(LanguageError::new(span, "only a SERIES has an OFFSET")
                .suggest("write SERIES(DOUBLE) .. OFFSET OF ts"));
        };
        offset_of.replace(field.text).is_some()
    } else if cursor.eat_words(&["PRIMARY", "KEY"]) {
        column.primary.replace(span.to(cursor.last_span())).is_some()
    } else if cursor.eat_words(&["NOT", "NULL"]) {
        not_null(column, span.to(cursor.last_span()))?
    } else if cursor.eat_word("NULL") {
        column.not_null.replace(false).is_some()
    } else {
        return Ok(false);
    };
    if twice {
        Err(LanguageError::new(span, "this was said already").suggest("leave one of the two out"))
    } else {
        Ok(true)
    }
}

/// Parses `QUALIFIER ..`, or the `PREFIX ..` of a MAP. Returns `true` if there was one.
fn qualifier(
    cursor: &mut Cursor<'_>,
    column: &mut RawColumn,
    is_map: bool,
) -> Result<bool, LanguageError> {
    let span = cursor.span();
    if cursor.is_word("QUALIFIER") == is_map {
        let (message, fix) = if is_map {
            ("a MAP has many qualifiers", "write PREFIX for what all of them begin with")
        } else {
            ("only a MAP has a PREFIX", "write QUALIFIER")
        };
        return Err(LanguageError::new(span, message).suggest(fix));
    }
    cursor.advance();
    let bytes: Bytes = match cursor.kind() {
        TokenKind::Hex(bytes) => {
            let bytes = bytes.clone().into();
            cursor.advance();
            bytes
        }
        _ => name_or_text(cursor, "the column's name in the store")?.into(),
    };
    Ok(column.qualifier.replace(bytes).is_some())
}

/// Sets `NOT NULL`. Returns `true` if it, or NULL, was said.
fn not_null(column: &mut RawColumn, span: Span) -> Result<bool, LanguageError> {
    let reason = match column.ty {
        ColumnType::Counter => "a counter without a cell is 0, never NULL",
        ColumnType::Series { .. } => "a SERIES without points is empty, never NULL",
        ColumnType::Map { .. } => "a MAP without cells is empty, never NULL",
        ColumnType::Value(_) | ColumnType::Decimal { .. } => {
            return Ok(column.not_null.replace(true).is_some());
        }
    };
    Err(LanguageError::new(span, reason).suggest("leave NOT NULL out"))
}

fn encoding(cursor: &mut Cursor<'_>) -> Result<CellEncoding, LanguageError> {
    let found = cursor.expect_name("an encoding")?;
    let known = CellEncoding::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&found.text));
    known.map(|(_, encoding)| *encoding).ok_or_else(|| {
        let names: Vec<&str> = CellEncoding::NAMES.iter().map(|(name, _)| *name).collect();
        let message =
            format!("there is no encoding {}; there are {}", found.text, names.join(", "));
        LanguageError::new(found.span, message).near(&found.text, names)
    })
}

/// Checks that the encoding has the type, and that the default fits.
fn check_encoding(column: &RawColumn) -> Result<(), LanguageError> {
    let encoding = column.encoding.map(|(encoding, _)| encoding).unwrap_or_default();
    let span = column.encoding.map_or(column.name.span, |(_, span)| span);
    let wrong = |message: String| LanguageError::new(span, message);
    let codec = |ty| CellCodec::new(ty, encoding).map_err(wrong);
    let codec = match column.ty {
        ColumnType::Value(ty) => codec(ty)?,
        ColumnType::Decimal { precision, scale } => {
            CellCodec::decimal(precision, scale, encoding).map_err(wrong)?
        }
        ColumnType::Map { key, value } => return codec(key).and(codec(value)).map(drop),
        ColumnType::Counter | ColumnType::Series { .. } if encoding != CellEncoding::Java => {
            return Err(wrong("counters and SERIES have the bytes of Bytes.toBytes".to_owned())
                .suggest("leave ENCODING out"));
        }
        ColumnType::Counter | ColumnType::Series { .. } => return Ok(()),
    };
    match &column.default {
        Some((value, at)) => codec
            .encode(value)
            .map(drop)
            .map_err(|error| LanguageError::new(*at, error.to_string())),
        None => Ok(()),
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

impl Column {
    /// Returns the codec of its values; of a `MAP`, that of its cells.
    ///
    /// # Errors
    /// Why there is none: a `SERIES`, whose cells hold points, or a type that the encoding has not.
    pub fn codec(&self) -> Result<CellCodec, String> {
        match self.ty {
            ColumnType::Value(ty) | ColumnType::Map { value: ty, .. } => {
                CellCodec::new(ty, self.encoding)
            }
            ColumnType::Decimal { precision, scale } => {
                CellCodec::decimal(precision, scale, self.encoding)
            }
            ColumnType::Counter => CellCodec::new(FieldType::I64, self.encoding),
            ColumnType::Series { .. } => Err(format!(
                "column {} is a SERIES, whose cells hold points; use halite series",
                self.name
            )),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} FAMILY {}", name(&self.name), self.ty, name(&self.family))?;
        let own_name = match self.ty {
            ColumnType::Map { .. } => &b""[..],
            _ => self.name.as_bytes(),
        };
        if self.qualifier != own_name {
            let word = if own_name.is_empty() { "PREFIX" } else { "QUALIFIER" };
            write!(out, " {word} {}", printed_qualifier(&self.qualifier))?;
        }
        if let ColumnType::Series { offset_of: Some(field), .. } = &self.ty {
            write!(out, " OFFSET OF {}", name(field))?;
        }
        if self.encoding != CellEncoding::default() {
            write!(out, " ENCODING {}", self.encoding)?;
        }
        if let (Some(value), Some(ty)) = (&self.default, self.ty.value_type()) {
            write!(out, " DEFAULT {}", print_default(value, ty))?;
        }
        if self.not_null { out.write_str(" NOT NULL") } else { Ok(()) }
    }
}

/// Formats a qualifier as text if all of it is printable; one without bytes has no text.
pub(super) fn printed_qualifier(qualifier: &[u8]) -> String {
    if qualifier.is_empty() { "x''".to_owned() } else { constant(qualifier) }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(ty) => ty.fmt(out),
            Self::Decimal { precision, scale } => write!(out, "DECIMAL({precision}, {scale})"),
            Self::Counter => out.write_str("I64 COUNTER"),
            Self::Map { key, value } => write!(out, "MAP({key}, {value})"),
            Self::Series { of, .. } => write!(out, "SERIES({of})"),
        }
    }
}
