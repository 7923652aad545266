//! Notation of field values in conditions and on the command line.

use std::borrow::Cow;
use std::fmt;

use halite_types::key::{to_bytes_binary, to_string_binary};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

use crate::value::{Decimal, FieldType, TimeUnit, Value};

/// Maximum characters of a number, including signs and points; longer text is not a number of any
/// type.
const MAX_NUMBER_CHARS: usize = 64;

impl FieldType {
    /// Parses a value: `null` in any case is null; numbers are decimal; bytes are `x'0aff'` or text
    /// with `\xNN`, as HBase's shell prints them. Times are RFC 3339 (`2024-03-15T08:00:00Z`), a
    /// date and time of day without a zone (UTC), a date, or a number in the field's unit since
    /// 1970; dates are `2024-03-15` or days since 1970.
    ///
    /// # Errors
    /// The expected form, as the end of a sentence.
    pub fn parse(self, text: &str) -> Result<Value<'static>, String> {
        if text.eq_ignore_ascii_case("null") {
            return Ok(Value::Null);
        }
        let value = self.parse_some(text).ok_or_else(|| match self {
            Self::Timestamp(_) if is_leap_second(text) => {
                format!(
                    "{text:?} has a second 60, which times since 1970 do not count; write second \
                     59 or the next minute"
                )
            }
            _ => format!("{text:?} is no {self}; {}", self.example()),
        })?;
        if let Some(near) = rounded(text, &value) {
            return Err(format!("{text} is no {self}: the nearest number of that type is {near}"));
        }
        if self.accepts(&value) {
            return Ok(value);
        }
        Err(match (self, self.integer_range()) {
            (_, Some((least, most))) => {
                format!("{text} is outside of {self}, which goes from {least} to {most}")
            }
            (Self::Char(bytes) | Self::Fixed(bytes), _) => {
                format!("{text:?} has another length than the {bytes} bytes of {self}")
            }
            _ => format!("{text:?} is no {self}; {}", self.example()),
        })
    }

    /// Formats `value` as text that [`Self::parse`] parses.
    pub fn print(self, value: &Value<'_>) -> String {
        match value {
            Value::Text(text) => text.to_string(),
            other => LiteralDisplay(other, self).to_string(),
        }
    }

    fn parse_some(self, text: &str) -> Option<Value<'static>> {
        Some(match self {
            Self::Bool => Value::Bool(text.to_ascii_lowercase().parse().ok()?),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Value::Unsigned(text.parse().ok()?),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Value::Signed(text.parse().ok()?),
            Self::F32 => Value::F32(
                text.parse().ok().filter(|value: &f32| value.is_finite() || !has_digit(text))?,
            ),
            Self::F64 => Value::F64(
                text.parse().ok().filter(|value: &f64| value.is_finite() || !has_digit(text))?,
            ),
            Self::Decimal => Value::Decimal(decimal(text)?),
            Self::String | Self::Char(_) => Value::Text(Cow::Owned(text.to_owned())),
            Self::Bytes | Self::Fixed(_) => Value::Bytes(Cow::Owned(read_bytes(text).ok()?)),
            Self::Uuid => Value::Uuid(hexadecimal(&text.replace('-', ""))?.try_into().ok()?),
            Self::Ipv4 => Value::Ipv4(text.parse().ok()?),
            Self::Ipv6 => Value::Ipv6(text.parse().ok()?),
            Self::Timestamp(unit) => Value::Signed(time(text, unit)?),
            Self::Date => Value::Signed(date(text)?),
        })
    }

    fn example(self) -> &'static str {
        match self {
            Self::Bool => "true or false is wanted",
            Self::Timestamp(_) => "2024-03-15T08:00:00Z, 2024-03-15 or a number is wanted",
            Self::Date => "2024-03-15 or a number of days is wanted",
            Self::Uuid => "32 hexadecimal digits are wanted",
            Self::Ipv4 => "an address like 10.0.0.1 is wanted",
            Self::Ipv6 => "an address like 2001:db8::1 is wanted",
            Self::Bytes | Self::Fixed(_) => "x'0aff' or \\x0A\\xFF is wanted",
            _ => "a number is wanted",
        }
    }
}

/// Returns the rounded value of an integer that does not fit exactly in its float type.
fn rounded(text: &str, value: &Value<'_>) -> Option<f64> {
    let near = match *value {
        Value::F32(value) => f64::from(value),
        Value::F64(value) => value,
        _ => return None,
    };
    // Up to this limit a float that is an integer is printed with all its digits.
    let exact: i128 = text.parse().ok()?;
    (format!("{near:.0}").parse() != Ok(exact)).then_some(near)
}

/// Returns `true` for a number other than `inf` or `NaN`: a number that is too large for its type
/// is not infinite.
fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Parses bytes in the form `x'0aff'` (`X'0AFF'`), or else as the shell prints them, with `\xNN`
/// for a byte. Values, and keys on the command line, in files and in traces, have this form.
///
/// # Errors
/// Text that begins with `x'` and does not consist of pairs of hexadecimal digits up to a closing
/// quote.
pub fn read_bytes(text: &str) -> Result<Vec<u8>, String> {
    let Some(rest) = text.strip_prefix(['x', 'X']).and_then(|rest| rest.strip_prefix('\'')) else {
        return Ok(to_bytes_binary(text));
    };
    let wrong = || {
        format!(
            "{text}: pairs of hexadecimal digits are wanted between x' and ', as in x'0aff'; for \
             the sign x itself write \\x78"
        )
    };
    rest.strip_suffix('\'').and_then(hexadecimal).ok_or_else(wrong)
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let digits = digits
        .chars()
        .map(|char| char.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<Vec<u8>>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Parses `-12.50`, `3E-7`.
fn decimal(text: &str) -> Option<Decimal> {
    if text.len() > MAX_NUMBER_CHARS {
        return None;
    }
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let places = i32::try_from(part.len()).ok()?;
    if part.starts_with(['+', '-']) {
        return None;
    }
    Decimal::new(format!("{whole}{part}").parse().ok()?, exponent.checked_sub(places)?)
}

fn time(text: &str, unit: TimeUnit) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    if is_leap_second(text) {
        return None;
    }
    let since_1970 = match text.parse::<Timestamp>() {
        Ok(time) => time,
        // A zone without an offset would be dropped silently.
        Err(_) if text.contains('[') => return None,
        Err(_) => {
            text.parse::<DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp()
        }
    };
    let per = i128::from(1_000_000_000 / unit.per_second());
    // A fraction finer than the unit would be lost silently.
    let nanoseconds = since_1970.as_nanosecond();
    (nanoseconds % per == 0).then(|| i64::try_from(nanoseconds / per).ok())?
}

/// Returns `true` if the time of day has a second 60, which counts since 1970 omit: it would
/// silently become second 59.
fn is_leap_second(text: &str) -> bool {
    let Some((_, time_of_day)) = text.split_once(['T', 't', ' ']) else { return false };
    let digits: Vec<u8> = time_of_day
        .trim_start()
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b':')
        .filter(|byte| *byte != b':')
        .collect();
    digits.get(4..6) == Some(&b"60"[..])
}

fn date(text: &str) -> Option<i64> {
    if let Ok(days) = text.parse() {
        return Some(days);
    }
    // A time of day with an offset may be on the previous or next day.
    if !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+')) {
        return None;
    }
    let since = text.parse::<Date>().ok()?.since(Date::constant(1970, 1, 1)).ok()?;
    Some(since.get_days().into())
}

/// Value of a type in the notation of conditions: text and bytes in quotes with `\xNN`, times and
/// dates in calendar form if the calendar contains them.
#[derive(Clone, Copy, Debug)]
pub struct LiteralDisplay<'v>(pub &'v Value<'v>, pub FieldType);

impl fmt::Display for LiteralDisplay<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Value::Null, _) => out.write_str("NULL"),
            (Value::Bool(value), _) => write!(out, "{value}"),
            (Value::Unsigned(value), _) => write!(out, "{value}"),
            (Value::Signed(value), ty) => match calendar(*value, ty) {
                Some(shown) => out.write_str(&shown),
                None => write!(out, "{value}"),
            },
            (Value::F32(value), _) => write!(out, "{value}"),
            (Value::F64(value), _) => write!(out, "{value}"),
            (Value::Decimal(value), _) => write!(out, "{value}"),
            (Value::Text(text), _) => write!(out, "'{}'", printable(text)),
            (Value::Bytes(value), _) => write!(out, "x'{}'", halite_types::key::to_hex(value)),
            (Value::Uuid(value), _) => {
                let digits = halite_types::key::to_hex(value);
                let parts =
                    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
                out.write_str(&parts.join("-"))
            }
            (Value::Ipv4(value), _) => write!(out, "{value}"),
            (Value::Ipv6(value), _) => write!(out, "{value}"),
        }
    }
}

/// Returns text with `\xNN` for the characters that a terminal would not print: control characters,
/// bidirectional controls, and the backslash; a quote is doubled.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\x5C"),
            '\'' => out.push_str("''"),
            _ if char.is_control()
                || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}') =>
            {
                out.push_str(&to_string_binary(char.encode_utf8(&mut [0; 4]).as_bytes()));
            }
            _ => out.push(char),
        }
    }
    out
}

/// Returns a time or a date within the years of the calendar.
fn calendar(value: i64, ty: FieldType) -> Option<String> {
    match ty {
        FieldType::Timestamp(unit) => {
            let nanoseconds = i128::from(value) * i128::from(1_000_000_000 / unit.per_second());
            Timestamp::from_nanosecond(nanoseconds).ok().map(|time| time.to_string())
        }
        FieldType::Date => {
            let days = jiff::Span::new().try_days(value).ok()?;
            Date::constant(1970, 1, 1).checked_add(days).ok().map(|date| date.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_parse_to_the_intended_values() {
        let millis = FieldType::Timestamp(TimeUnit::Millis);
        let good = [
            (FieldType::Bool, "TRUE", Value::Bool(true)),
            (FieldType::U8, "255", Value::Unsigned(255)),
            (FieldType::I64, "-9223372036854775808", Value::Signed(i64::MIN)),
            (FieldType::F64, "-inf", Value::F64(f64::NEG_INFINITY)),
            (FieldType::Decimal, "-12.50", Value::Decimal(Decimal::new(-125, -1).unwrap())),
            (FieldType::Decimal, "-0.5", Value::Decimal(Decimal::new(-5, -1).unwrap())),
            (FieldType::Decimal, "3E-7", Value::Decimal(Decimal::new(3, -7).unwrap())),
            (FieldType::String, "it's", "it's".into()),
            (FieldType::Bytes, "x'0aFF'", (&[10u8, 255][..]).into()),
            (FieldType::Bytes, "X'0aFF'", (&[10u8, 255][..]).into()),
            (FieldType::Bytes, "\\x78'", (&b"x'"[..]).into()),
            (FieldType::Fixed(2), "a\\x00", (&b"a\0"[..]).into()),
            (FieldType::Ipv4, "10.0.0.1", Value::Ipv4([10, 0, 0, 1].into())),
            (millis, "2024-03-15T00:00:00Z", Value::Signed(1_710_460_800_000)),
            (millis, "2024-03-15T08:00:00.250+08:00", Value::Signed(1_710_460_800_250)),
            (millis, "2024-03-15", Value::Signed(1_710_460_800_000)),
            (millis, "2024-03-15 00:00:01", Value::Signed(1_710_460_801_000)),
            (millis, "-5", Value::Signed(-5)),
            (
                FieldType::Timestamp(TimeUnit::Nanos),
                "1970-01-01T00:00:00.000000001Z",
                Value::Signed(1),
            ),
            (FieldType::Date, "2024-03-15", Value::Signed(19_797)),
            (FieldType::Date, "1969-12-31", Value::Signed(-1)),
            (FieldType::F32, "16777216", Value::F32(16_777_216.0)),
            (FieldType::F32, "0.1", Value::F32(0.1)),
            (FieldType::F64, "-9007199254740992", Value::F64(-9_007_199_254_740_992.0)),
            (millis, "2024-03-15T08:00:00+01:00[Europe/Paris]", Value::Signed(1_710_486_000_000)),
            (FieldType::U16, "NULL", Value::Null),
        ];
        for (ty, text, value) in good {
            assert_eq!(ty.parse(text), Ok(value), "{ty} {text}");
        }
        assert!(
            matches!(FieldType::Uuid.parse("00112233-4455-6677-8899-aabbccddeeff"), Ok(Value::Uuid(bytes)) if bytes[15] == 0xff)
        );
    }

    #[test]
    fn times_and_dates_print_as_calendar_dates_or_numbers() {
        let shown =
            |value: i64, ty: FieldType| LiteralDisplay(&Value::Signed(value), ty).to_string();
        let millis = FieldType::Timestamp(TimeUnit::Millis);
        assert_eq!(shown(1_710_460_800_250, millis), "2024-03-15T00:00:00.25Z");
        assert_eq!(shown(-1, millis), "1969-12-31T23:59:59.999Z");
        assert_eq!(shown(i64::MAX, millis), i64::MAX.to_string());
        assert_eq!(shown(19_797, FieldType::Date), "2024-03-15");
        assert_eq!(shown(i64::from(i32::MIN), FieldType::Date), i32::MIN.to_string());
    }

    #[test]
    fn invalid_literal_errors_state_a_valid_form() {
        let bad = [
            (FieldType::U8, "256", "from 0 to 255"),
            (FieldType::U8, "-1", "a number is wanted"),
            (FieldType::F64, "1e400", "is no F64"),
            (FieldType::F32, "-1e39", "is no F32"),
            (FieldType::Decimal, "1.-5", "is no DECIMAL"),
            (FieldType::Decimal, "1e99999999999", "is no DECIMAL"),
            (FieldType::Decimal, "1234567890123456789012345678901234", "is no DECIMAL"),
            (FieldType::Char(3), "ab", "3 bytes"),
            (FieldType::Bytes, "x'abc'", "x'0aff'"),
            (FieldType::Bytes, "x'ab", "x'0aff'"),
            (FieldType::Bytes, "X'+a'", "x'0aff'"),
            (FieldType::Date, "2024-02-30", "2024-03-15 or"),
            (FieldType::Date, "2024-03-15T23:30:00-05:00", "2024-03-15 or"),
            (FieldType::Date, "2024-03-15 23:30", "2024-03-15 or"),
            (
                FieldType::Timestamp(TimeUnit::Millis),
                "2024-03-15 08:00:00[Europe/Paris]",
                "is no TIMESTAMP",
            ),
            (FieldType::Timestamp(TimeUnit::Millis), "2016-12-31T23:59:60Z", "a second 60"),
            (FieldType::Timestamp(TimeUnit::Millis), "2016-12-31 235960", "a second 60"),
            (FieldType::F32, "16777217", "the nearest number of that type is 16777216"),
            (
                FieldType::F64,
                "9007199254740993",
                "the nearest number of that type is 9007199254740992",
            ),
            (
                FieldType::Timestamp(TimeUnit::Millis),
                "2024-03-15T00:00:00.0001Z",
                "is no TIMESTAMP",
            ),
            (FieldType::Ipv4, "10.0.0.256", "10.0.0.1"),
        ];
        for (ty, text, expected) in bad {
            let said = ty.parse(text).unwrap_err();
            assert!(said.contains(expected), "{ty} {text}: {said}");
        }
    }

    #[test]
    fn printed_text_uses_literal_escapes() {
        let shown = |text: &str| LiteralDisplay(&text.into(), FieldType::String).to_string();
        assert_eq!(shown("\u{5f20}\u{4e09} caf\u{e9}"), "'\u{5f20}\u{4e09} caf\u{e9}'");
        assert_eq!(shown("it's\n\u{202e}\\"), "'it''s\\x0A\\xE2\\x80\\xAE\\x5C'");
    }
}
