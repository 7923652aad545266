//! Logical values of key fields, their types, and their order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Unit of a timestamp, counted since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TimeUnit {
    /// Milliseconds, as HBase's timestamps.
    #[default]
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// Returns the number of units per second.
    pub fn per_second(self) -> i64 {
        match self {
            Self::Millis => 1_000,
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }
}

/// Type of a key field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// `false` sorts before `true`.
    Bool,
    /// One byte, unsigned.
    U8,
    /// Two bytes, unsigned.
    U16,
    /// Four bytes, unsigned.
    U32,
    /// Eight bytes, unsigned.
    U64,
    /// One byte, signed.
    I8,
    /// Two bytes, signed.
    I16,
    /// Four bytes, signed.
    I32,
    /// Eight bytes, signed.
    I64,
    /// Four bytes; NaN is the greatest.
    F32,
    /// Eight bytes; NaN is the greatest.
    F64,
    /// Decimal number of at most 31 digits.
    Decimal,
    /// Text, in the order of its UTF-8 bytes.
    String,
    /// Bytes of any length.
    Bytes,
    /// Text of exactly this many bytes.
    Char(u16),
    /// Exactly this many bytes.
    Fixed(u16),
    /// Sixteen bytes.
    Uuid,
    /// Four bytes.
    Ipv4,
    /// Sixteen bytes.
    Ipv6,
    /// Eight bytes, signed, since 1970.
    Timestamp(TimeUnit),
    /// Days since 1970-01-01, four bytes, signed.
    Date,
}

impl FieldType {
    /// Returns the number of bytes of the plain encoding, for types with a fixed size.
    pub fn fixed_bytes(self) -> Option<usize> {
        Some(match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::Ipv4 | Self::Date => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::Timestamp(_) => 8,
            Self::Uuid | Self::Ipv6 => 16,
            Self::Char(bytes) | Self::Fixed(bytes) => usize::from(bytes),
            Self::Decimal | Self::String | Self::Bytes => return None,
        })
    }

    /// Returns the least and the greatest value of an integer type, including timestamps and dates.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::U8 => (0, u8::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 | Self::Date => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 | Self::Timestamp(_) => (i64::MIN.into(), i64::MAX.into()),
            _ => return None,
        })
    }

    /// Returns `true` for the types of times: timestamps and dates.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Timestamp(_) | Self::Date)
    }

    /// Returns `true` if values are text: `String` and `Char`.
    pub fn is_text(self) -> bool {
        matches!(self, Self::String | Self::Char(_))
    }

    /// Returns `true` if `value` is of this type; null is of every type. Widths and ranges are
    /// checked too.
    pub fn accepts(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (_, Value::Null)
            | (Self::Bool, Value::Bool(_))
            | (Self::F32, Value::F32(_))
            | (Self::F64, Value::F64(_))
            | (Self::Decimal, Value::Decimal(_))
            | (Self::String, Value::Text(_))
            | (Self::Bytes, Value::Bytes(_))
            | (Self::Uuid, Value::Uuid(_))
            | (Self::Ipv4, Value::Ipv4(_))
            | (Self::Ipv6, Value::Ipv6(_)) => true,
            (Self::Char(bytes), Value::Text(text)) => text.len() == usize::from(bytes),
            (Self::Fixed(bytes), Value::Bytes(value)) => value.len() == usize::from(bytes),
            (Self::U8 | Self::U16 | Self::U32 | Self::U64, Value::Unsigned(value)) => {
                self.integer_range().is_some_and(|(_, max)| i128::from(*value) <= max)
            }
            (
                Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::Timestamp(_) | Self::Date,
                Value::Signed(value),
            ) => self
                .integer_range()
                .is_some_and(|(min, max)| (min..=max).contains(&i128::from(*value))),
            _ => false,
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bool => "BOOL",
            Self::U8 => "U8",
            Self::U16 => "U16",
            Self::U32 => "U32",
            Self::U64 => "U64",
            Self::I8 => "I8",
            Self::I16 => "I16",
            Self::I32 => "I32",
            Self::I64 => "I64",
            Self::F32 => "F32",
            Self::F64 => "F64",
            Self::Decimal => "DECIMAL",
            Self::String => "STRING",
            Self::Bytes => "BYTES",
            Self::Char(bytes) => return write!(out, "CHAR({bytes})"),
            Self::Fixed(bytes) => return write!(out, "BYTES({bytes})"),
            Self::Uuid => "UUID",
            Self::Ipv4 => "IPV4",
            Self::Ipv6 => "IPV6",
            Self::Timestamp(TimeUnit::Millis) => "TIMESTAMP",
            Self::Timestamp(TimeUnit::Micros) => "TIMESTAMP(us)",
            Self::Timestamp(TimeUnit::Nanos) => "TIMESTAMP(ns)",
            Self::Date => "DATE",
        };
        out.write_str(name)
    }
}

/// Decimal number: `coefficient * 10^exponent`, without trailing zeros in the coefficient, so that
/// equal numbers are equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    coefficient: i128,
    exponent: i32,
}

impl Decimal {
    /// Maximum digits of a decimal, as in HBase's `OrderedBytes.MAX_PRECISION`.
    pub const MAX_DIGITS: u32 = 31;

    /// Creates `coefficient * 10^exponent`; returns `None` if it has more than [`Self::MAX_DIGITS`]
    /// digits.
    pub fn new(mut coefficient: i128, mut exponent: i32) -> Option<Self> {
        if coefficient == 0 {
            return Some(Self { coefficient: 0, exponent: 0 });
        }
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent = exponent.checked_add(1)?;
        }
        (coefficient.unsigned_abs().ilog10() < Self::MAX_DIGITS)
            .then_some(Self { coefficient, exponent })
    }

    /// Returns the digits as one signed number.
    pub fn coefficient(self) -> i128 {
        self.coefficient
    }

    /// Returns the power of ten that multiplies the coefficient.
    pub fn exponent(self) -> i32 {
        self.exponent
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.coefficient.signum().cmp(&other.coefficient.signum());
        if sign != Ordering::Equal || self.coefficient == 0 {
            return sign;
        }
        let magnitude = |number: &Self| {
            i64::from(number.exponent) + i64::from(number.coefficient.unsigned_abs().ilog10())
        };
        let by_size = magnitude(self).cmp(&magnitude(other)).then_with(|| {
            // Two numbers of the same magnitude differ by at most 31 digits: scale both to as many
            // as an integer holds.
            let scaled = |number: &Self| {
                let digits = number.coefficient.unsigned_abs();
                digits * 10u128.pow(Self::MAX_DIGITS - 1 - digits.ilog10())
            };
            scaled(self).cmp(&scaled(other))
        });
        if self.coefficient < 0 { by_size.reverse() } else { by_size }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.coefficient.unsigned_abs().to_string();
        let sign = if self.coefficient < 0 { "-" } else { "" };
        let places = self.exponent.unsigned_abs() as usize;
        match self.exponent {
            0 => write!(out, "{sign}{digits}"),
            1..=40 => write!(out, "{sign}{digits}{}", "0".repeat(places)),
            -40..=-1 if digits.len() > places => {
                let (whole, part) = digits.split_at(digits.len() - places);
                write!(out, "{sign}{whole}.{part}")
            }
            -40..=-1 => write!(out, "{sign}0.{digits:0>places$}"),
            exponent => write!(out, "{sign}{digits}E{exponent}"),
        }
    }
}

/// Value of one key field. Text and bytes borrow from the key they were decoded from if the key
/// contains them unchanged.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value, for nullable fields only. It sorts before every other value, and after them in
    /// descending order.
    Null,
    /// Of type `BOOL`.
    Bool(bool),
    /// Of types `U8` to `U64`.
    Unsigned(u64),
    /// Of types `I8` to `I64`, `TIMESTAMP` in its unit, and `DATE` in days.
    Signed(i64),
    /// Of type `F32`.
    F32(f32),
    /// Of type `F64`.
    F64(f64),
    /// Of type `DECIMAL`.
    Decimal(Decimal),
    /// Of types `STRING` and `CHAR(n)`.
    Text(Cow<'a, str>),
    /// Of types `BYTES` and `BYTES(n)`.
    Bytes(Cow<'a, [u8]>),
    /// Of type `UUID`.
    Uuid([u8; 16]),
    /// Of type `IPV4`.
    Ipv4(Ipv4Addr),
    /// Of type `IPV6`.
    Ipv6(Ipv6Addr),
}

impl Value<'_> {
    /// Returns the same value, owning what it borrowed.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Unsigned(value) => Value::Unsigned(value),
            Self::Signed(value) => Value::Signed(value),
            Self::F32(value) => Value::F32(value),
            Self::F64(value) => Value::F64(value),
            Self::Decimal(value) => Value::Decimal(value),
            Self::Uuid(value) => Value::Uuid(value),
            Self::Ipv4(value) => Value::Ipv4(value),
            Self::Ipv6(value) => Value::Ipv6(value),
        }
    }

    /// Returns the same value, borrowing from this one.
    #[inline]
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Unsigned(value) => Value::Unsigned(*value),
            Self::Signed(value) => Value::Signed(*value),
            Self::F32(value) => Value::F32(*value),
            Self::F64(value) => Value::F64(*value),
            Self::Decimal(value) => Value::Decimal(*value),
            Self::Uuid(value) => Value::Uuid(*value),
            Self::Ipv4(value) => Value::Ipv4(*value),
            Self::Ipv6(value) => Value::Ipv6(*value),
        }
    }

    /// Returns `true` if it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Compares two values of one type in ascending order: null first, `-0` before `+0`, all NaN
    /// equal and last. Values of different types are ordered by their kind, without further
    /// meaning.
    pub fn compare(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Self::Unsigned(a), Value::Unsigned(b)) => a.cmp(b),
            (Self::Signed(a), Value::Signed(b)) => a.cmp(b),
            (Self::F32(a), Value::F32(b)) => compare_floats(f64::from(*a), f64::from(*b)),
            (Self::F64(a), Value::F64(b)) => compare_floats(*a, *b),
            (Self::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Self::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Self::Uuid(a), Value::Uuid(b)) => a.cmp(b),
            (Self::Ipv4(a), Value::Ipv4(b)) => a.cmp(b),
            (Self::Ipv6(a), Value::Ipv6(b)) => a.cmp(b),
            _ => self.kind().cmp(&other.kind()),
        }
    }

    /// Returns the name of the kind in messages.
    pub fn kind_name(&self) -> &'static str {
        [
            "null",
            "a boolean",
            "an unsigned number",
            "a signed number",
            "a float",
            "a double",
            "a decimal",
            "text",
            "bytes",
            "a UUID",
            "an IPv4 address",
            "an IPv6 address",
        ][usize::from(self.kind())]
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Unsigned(_) => 2,
            Self::Signed(_) => 3,
            Self::F32(_) => 4,
            Self::F64(_) => 5,
            Self::Decimal(_) => 6,
            Self::Text(_) => 7,
            Self::Bytes(_) => 8,
            Self::Uuid(_) => 9,
            Self::Ipv4(_) => 10,
            Self::Ipv6(_) => 11,
        }
    }
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => a.total_cmp(&b),
        (a, b) => a.cmp(&b),
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(coefficient: i128, exponent: i32) -> Decimal {
        Decimal::new(coefficient, exponent).expect("few digits")
    }

    #[test]
    fn decimals_are_equal_and_ordered_as_numbers() {
        assert_eq!(decimal(1000, -3), decimal(1, 0));
        assert_eq!(decimal(0, 7), decimal(0, -7));
        let ordered = [
            decimal(-1, 30),
            decimal(-11, 0),
            decimal(-1, 1),
            decimal(-1, -3),
            decimal(0, 0),
            decimal(1, -3),
            decimal(99, -1),
            decimal(1, 1),
            decimal(101, -1),
            decimal(1, 2),
        ];
        assert!(ordered.is_sorted_by(|a, b| a < b), "{ordered:?}");
        assert_eq!(
            Decimal::new(10i128.pow(31) - 1, 0).map(Decimal::coefficient),
            Some(10i128.pow(31) - 1)
        );
        assert_eq!(Decimal::new(10i128.pow(31) + 1, 0), None);
    }

    #[test]
    fn decimals_are_printed_in_plain_or_exponent_notation() {
        let printed: Vec<_> =
            [decimal(314, -2), decimal(-1, -3), decimal(-1, 3), decimal(0, 0), decimal(1, 60)]
                .iter()
                .map(ToString::to_string)
                .collect();
        assert_eq!(printed, ["3.14", "-0.001", "-1000", "0", "1E60"]);
    }

    #[test]
    fn floats_sort_with_every_nan_last() {
        let values =
            [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN].map(Value::F64);
        assert!(values.is_sorted_by(|a, b| a.compare(b) == Ordering::Less));
        assert_eq!(Value::F64(f64::NAN).compare(&Value::F64(-f64::NAN)), Ordering::Equal);
    }

    #[test]
    fn types_accept_values_that_fit_and_null() {
        assert!(
            FieldType::U8.accepts(&Value::Unsigned(255))
                && !FieldType::U8.accepts(&Value::Unsigned(256))
        );
        assert!(
            FieldType::I8.accepts(&Value::Signed(-128))
                && !FieldType::I8.accepts(&Value::Signed(128))
        );
        assert!(
            FieldType::Char(2).accepts(&"ab".into()) && !FieldType::Char(2).accepts(&"a".into())
        );
        assert!(
            !FieldType::U64.accepts(&Value::Signed(1)) && FieldType::Uuid.accepts(&Value::Null)
        );
    }
}
