//! Names of types, hash functions and durations, read and written.

use super::cursor::Cursor;
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use crate::schema::HashFunction;
use crate::value::{Decimal, FieldType, TimeUnit};

/// Types by their names, our own in front of those that other databases have for the same.
const NAMES: &[(&str, FieldType)] = &[
    ("BOOL", FieldType::Bool),
    ("U8", FieldType::U8),
    ("U16", FieldType::U16),
    ("U32", FieldType::U32),
    ("U64", FieldType::U64),
    ("I8", FieldType::I8),
    ("I16", FieldType::I16),
    ("I32", FieldType::I32),
    ("I64", FieldType::I64),
    ("F32", FieldType::F32),
    ("F64", FieldType::F64),
    ("DECIMAL", FieldType::Decimal),
    ("STRING", FieldType::String),
    ("BYTES", FieldType::Bytes),
    ("CHAR", FieldType::Char(1)),
    ("UUID", FieldType::Uuid),
    ("IPV4", FieldType::Ipv4),
    ("IPV6", FieldType::Ipv6),
    ("TIMESTAMP", FieldType::Timestamp(TimeUnit::Millis)),
    ("DATE", FieldType::Date),
    ("BOOLEAN", FieldType::Bool),
    ("UNSIGNED_TINYINT", FieldType::U8),
    ("UNSIGNED_SMALLINT", FieldType::U16),
    ("UNSIGNED_INT", FieldType::U32),
    ("UNSIGNED_LONG", FieldType::U64),
    ("TINYINT", FieldType::I8),
    ("SMALLINT", FieldType::I16),
    ("INT", FieldType::I32),
    ("INTEGER", FieldType::I32),
    ("BIGINT", FieldType::I64),
    ("LONG", FieldType::I64),
    ("FLOAT", FieldType::F32),
    ("REAL", FieldType::F32),
    ("DOUBLE", FieldType::F64),
    ("NUMERIC", FieldType::Decimal),
    ("VARCHAR", FieldType::String),
    ("TEXT", FieldType::String),
    ("VARBINARY", FieldType::Bytes),
    ("BLOB", FieldType::Bytes),
    ("BINARY", FieldType::Fixed(1)),
    ("DATETIME", FieldType::Timestamp(TimeUnit::Millis)),
];

/// A type, if the next word is followed by what only a type is, or is the name of one.
///
/// The limit of `VARCHAR(n)`, which changes no byte, is dropped; so are the digits of `DECIMAL(p,
/// s)`, which [`sized_type`] returns.
///
/// # Errors
/// A name that is no type's, a width that is none.
pub(super) fn field_type(cursor: &mut Cursor<'_>) -> Result<(FieldType, Span), LanguageError> {
    sized_type(cursor).map(|(ty, _, span)| (ty, span))
}

/// Returns a type as [`field_type`] does, with the digits of a `DECIMAL(p, s)`.
///
/// # Errors
/// As [`field_type`].
pub(super) fn sized_type(
    cursor: &mut Cursor<'_>,
) -> Result<(FieldType, Option<DecimalDigits>, Span), LanguageError> {
    let span = cursor.span();
    let TokenKind::Word(word) = *cursor.kind() else { return Err(cursor.unexpected(&["a type"])) };
    let Some((_, ty)) = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) else {
        let error = LanguageError::new(span, format!("there is no type {word}"));
        return Err(error.near(word, NAMES.iter().map(|(name, _)| *name)));
    };
    cursor.advance();
    let (ty, digits) = if cursor.is_sign('(') { with_arguments(cursor, *ty)? } else { (*ty, None) };
    Ok((ty, digits, span.to(cursor.last_span())))
}

/// Digits of a `DECIMAL(p, s)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecimalDigits {
    pub(super) precision: u8,
    pub(super) scale: u8,
}

/// Parses `p` and `s` between the parentheses.
fn decimal_digits(cursor: &mut Cursor<'_>) -> Result<DecimalDigits, LanguageError> {
    let span = cursor.span();
    let most = u64::from(Decimal::MAX_DIGITS);
    let precision = cursor.expect_number("the digits of a decimal", most)?;
    let scale = if cursor.eat_sign(',') {
        cursor.expect_number("the digits after the point", most)?
    } else {
        0
    };
    if precision == 0 || scale > precision {
        let message = format!("a decimal has 1 to {most} digits, and no more after the point");
        return Err(LanguageError::new(span.to(cursor.last_span()), message)
            .suggest("write DECIMAL(10, 2), or DECIMAL"));
    }
    let small = |digits: u64| u8::try_from(digits).unwrap_or(u8::MAX);
    Ok(DecimalDigits { precision: small(precision), scale: small(scale) })
}

/// Returns `true` if the next word is the name of a type.
pub(super) fn is_type(cursor: &Cursor<'_>) -> bool {
    matches!(*cursor.kind(), TokenKind::Word(word) if NAMES.iter().any(|(name, _)| name.eq_ignore_ascii_case(word)))
}

fn with_arguments(
    cursor: &mut Cursor<'_>,
    ty: FieldType,
) -> Result<(FieldType, Option<DecimalDigits>), LanguageError> {
    let span = cursor.span();
    let mut digits = None;
    cursor.advance();
    let ty = match ty {
        FieldType::Char(_) => FieldType::Char(width(cursor)?),
        FieldType::Bytes | FieldType::Fixed(_) => FieldType::Fixed(width(cursor)?),
        FieldType::Timestamp(_) => FieldType::Timestamp(time_unit(cursor)?),
        FieldType::String => width(cursor).map(|_| ty)?,
        FieldType::Decimal => {
            digits = Some(decimal_digits(cursor)?);
            ty
        }
        _ => return Err(LanguageError::new(span, format!("{ty} takes nothing in parentheses"))),
    };
    cursor.expect_sign(')')?;
    Ok((ty, digits))
}

fn width(cursor: &mut Cursor<'_>) -> Result<u16, LanguageError> {
    let span = cursor.span();
    let bytes = cursor.expect_number("how many bytes it has", 32_767)?;
    match u16::try_from(bytes) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(LanguageError::new(span, "a width is 1 to 32767 bytes")),
    }
}

/// Parses `ms`, `us` and `ns`, and SQL's digits of a second for them.
fn time_unit(cursor: &mut Cursor<'_>) -> Result<TimeUnit, LanguageError> {
    let unit = match *cursor.kind() {
        TokenKind::Word(word) if word.eq_ignore_ascii_case("ms") => TimeUnit::Millis,
        TokenKind::Word(word) if word.eq_ignore_ascii_case("us") => TimeUnit::Micros,
        TokenKind::Word(word) if word.eq_ignore_ascii_case("ns") => TimeUnit::Nanos,
        TokenKind::Number("3") => TimeUnit::Millis,
        TokenKind::Number("6") => TimeUnit::Micros,
        TokenKind::Number("9") => TimeUnit::Nanos,
        _ => return Err(cursor.unexpected(&["ms", "us", "ns"])),
    };
    cursor.advance();
    Ok(unit)
}

/// Returns a hash function by its name.
pub(super) fn hash_function(cursor: &mut Cursor<'_>) -> Result<HashFunction, LanguageError> {
    let name = cursor.expect_name("a hash function")?;
    let found =
        HashFunction::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name.text));
    found.map(|(_, function)| *function).ok_or_else(|| {
        let names: Vec<&str> = HashFunction::NAMES.iter().map(|(known, _)| *known).collect();
        let error = LanguageError::new(
            name.span,
            format!("there is no hash function {}; there are {}", name.text, names.join(", ")),
        );
        error.near(&name.text, names)
    })
}

/// Width of a bucket, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// In the unit of the column.
    Units(u64),
    /// A duration in nanoseconds.
    Nanos(u128),
}

const NANOS_PER_DAY: u128 = 86_400_000_000_000;
/// Units of durations and their nanoseconds, longest first.
const UNITS: &[(&str, u128)] = &[
    ("d", NANOS_PER_DAY),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

const MILLIS: FieldType = FieldType::Timestamp(TimeUnit::Millis);

/// Returns the width of a bucket: `'15m'`, `15m` or a number.
pub(super) fn bucket_width(cursor: &mut Cursor<'_>) -> Result<(Width, Span), LanguageError> {
    let span = cursor.span();
    let text = match cursor.kind() {
        TokenKind::Text(text) => text.clone(),
        TokenKind::Number(number) => (*number).to_owned(),
        _ => return Err(cursor.unexpected(&["a duration like '1h'", "a number"])),
    };
    let Some(width) = parse_width(&text) else {
        let message = format!(
            "'{}' is no duration; write a whole number and one of d, h, m, s, ms, us, ns",
            super::cursor::shortened(&text)
        );
        return Err(LanguageError::new(span, message));
    };
    cursor.advance();
    Ok((width, span))
}

fn parse_width(text: &str) -> Option<Width> {
    let text = text.trim();
    let (digits, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = digits.parse().ok()?;
    if unit.is_empty() {
        return Some(Width::Units(number));
    }
    let (_, nanos) = UNITS.iter().find(|(name, _)| *name == unit.trim_start())?;
    Some(Width::Nanos(u128::from(number) * nanos))
}

/// Returns a duration like `'1d'` in milliseconds, above 0.
pub(super) fn duration_ms(cursor: &mut Cursor<'_>) -> Result<u64, LanguageError> {
    let (width, span) = bucket_width(cursor)?;
    let ms = match width {
        Width::Units(_) => Err("a duration has a unit, like '1d'".to_owned()),
        Width::Nanos(_) => width.in_unit_of(MILLIS),
    };
    match ms {
        Ok(0) => Err(LanguageError::new(span, "the duration is nothing; give one like '1d'")),
        Ok(ms) => Ok(ms),
        Err(message) => Err(LanguageError::new(span, message)),
    }
}

/// Formats a duration as [`duration_ms`] parses it, without quotes.
pub(super) fn print_duration_ms(ms: u64) -> String {
    print_width(ms, MILLIS)
}

impl Width {
    /// Returns the width in the unit of a column.
    ///
    /// # Errors
    /// The reason, if the column has no unit of time or a coarser one.
    pub(super) fn in_unit_of(self, ty: FieldType) -> Result<u64, String> {
        let nanos = match self {
            Self::Units(units) => return Ok(units),
            Self::Nanos(nanos) => nanos,
        };
        let Some(unit) = nanos_of_unit(ty) else {
            return Err(format!(
                "a duration is for TIMESTAMP and DATE columns, and this one is {ty}; give a number"
            ));
        };
        if nanos % unit != 0 {
            return Err(format!("the duration is no multiple of the unit of {ty}"));
        }
        u64::try_from(nanos / unit).map_err(|_| "the duration is too long".to_owned())
    }
}

fn nanos_of_unit(ty: FieldType) -> Option<u128> {
    match ty {
        FieldType::Timestamp(unit) => {
            Some(1_000_000_000 / u128::from(unit.per_second().unsigned_abs()))
        }
        FieldType::Date => Some(NANOS_PER_DAY),
        _ => None,
    }
}

/// Formats the width of a bucket: a duration in the longest unit that divides it, or a number.
pub(crate) fn print_width(width: u64, ty: FieldType) -> String {
    let duration =
        nanos_of_unit(ty).map(|unit| u128::from(width) * unit).filter(|nanos| *nanos > 0);
    let printed = duration.and_then(|nanos| {
        let (name, unit) = UNITS.iter().find(|(_, unit)| nanos % unit == 0)?;
        // A duration that would overflow during parsing is printed in the column's unit.
        u64::try_from(nanos / unit).ok().map(|count| format!("{count}{name}"))
    });
    printed.unwrap_or_else(|| width.to_string())
}
