//! Values of parameters.

use std::sync::Arc;

use bytes::Bytes;
use halite_sql::TYPE_KEY;
use halite_sql::datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Field, IntervalMonthDayNano, TimeUnit,
};
use halite_sql::datafusion::common::ScalarValue;

use super::types::{self, Oid};
use super::{list, numeric, text};
use crate::error::{
    INVALID_VALUE, NOT_IN_ENCODING, NOT_SUPPORTED, OUT_OF_RANGE, PROTOCOL_VIOLATION, PgError,
    Result,
};
use crate::wire::cursor::Cursor;

/// Digits behind the point.
const MAX_SCALE: i32 = 38;

/// Reads the value of a parameter: its type as the client sends it, and the field that the
/// statement has for it.
///
/// # Errors
/// Text or bytes that are no value of the type.
pub(crate) fn value(
    value: Option<&Bytes>,
    is_binary: bool,
    oid: Oid,
    field: &Field,
) -> Result<ScalarValue> {
    value_of_column(value, is_binary, oid, field).map_err(|error| {
        let message = format!("parameter {}: {}", field.name(), error.message);
        PgError::new(error.code, message)
    })
}

/// Reads a value, as [`value`] does; its errors name no parameter.
///
/// # Errors
/// Text or bytes that are no value of the type.
pub(crate) fn value_of_column(
    value: Option<&Bytes>,
    is_binary: bool,
    oid: Oid,
    field: &Field,
) -> Result<ScalarValue> {
    let Some(bytes) = value else { return Ok(ScalarValue::try_from(field.data_type())?) };
    match (list::items_of(field), is_binary) {
        (Some(of), true) => list::from_binary(bytes, of),
        (Some(of), false) => list::from_text(utf8(bytes)?, of),
        (None, true) => binary(bytes, oid, field),
        (None, false) => from_text(utf8(bytes)?, oid, field),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    let wrong = |what: &str| PgError::new(NOT_IN_ENCODING, format!("the text of a value {what}"));
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("is not UTF-8"))?;
    if text.contains('\0') {
        return Err(wrong("has the letter U+0000; send it as bytes"));
    }
    Ok(text)
}

fn no_value(oid: Oid, text: &str) -> PgError {
    let name = types::by_oid(oid).map_or("this type", |ty| ty.name);
    let shown: String = text.chars().take(50).collect();
    PgError::new(INVALID_VALUE, format!("{shown:?} is no value of {name}"))
}

fn from_text(value: &str, oid: Oid, field: &Field) -> Result<ScalarValue> {
    let wrong = || no_value(oid, value);
    // What the column tells comes before what the client calls text.
    if let Some(fixed) = fixed(value, field) {
        return fixed;
    }
    match oid {
        types::BOOL => boolean(value).map(ScalarValue::from).ok_or_else(wrong),
        types::BYTEA => {
            let bytes = if value.contains('\\') {
                text::read_bytea(value).ok_or_else(wrong)?
            } else {
                value.as_bytes().to_vec()
            };
            Ok(ScalarValue::BinaryView(Some(bytes)))
        }
        types::NUMERIC => decimal(value.trim()).ok_or_else(wrong),
        _ => {
            let ty = match types::arrow_of(oid).unwrap_or_else(|| field.data_type().clone()) {
                DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
                    DataType::Timestamp(TimeUnit::Nanosecond, zone)
                }
                // As fine as the client's types; it is compared as the column's where it fits.
                DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone),
                other => other,
            };
            match ty {
                DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8 => Ok(string(value)),
                ty => {
                    ScalarValue::try_from_string(value.trim().to_owned(), &ty).map_err(|_| wrong())
                }
            }
        }
    }
}

/// Reads the text of a UUID or an address, if the field is one.
fn fixed(value: &str, field: &Field) -> Option<Result<ScalarValue>> {
    let DataType::FixedSizeBinary(length) = field.data_type() else { return None };
    let (oid, bytes) = match field.metadata().get(TYPE_KEY).map(String::as_str) {
        Some("UUID") => (types::UUID, text::read_uuid(value)),
        Some("IPV4") => {
            let address = value.parse::<std::net::Ipv4Addr>();
            (types::INET, address.ok().map(|address| address.octets().to_vec()))
        }
        Some("IPV6") => {
            let address = value.parse::<std::net::Ipv6Addr>();
            (types::INET, address.ok().map(|address| address.octets().to_vec()))
        }
        _ => return None,
    };
    let value = bytes.map(|bytes| ScalarValue::FixedSizeBinary(*length, Some(bytes)));
    Some(value.ok_or_else(|| no_value(oid, "the text")))
}

fn boolean(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn string(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

/// Reads a number of as many digits behind the point as its text has, after its exponent.
fn decimal(value: &str) -> Option<ScalarValue> {
    let (number, exponent) = match value.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (value, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut digits: i128 = format!("{whole}{part}").parse().ok()?;
    let mut scale = i32::try_from(part.len()).ok()?.checked_sub(exponent)?;
    if digits == 0 {
        scale = scale.clamp(0, MAX_SCALE);
    }
    // Zeros in front of the point that the text leaves out.
    if scale < 0 {
        digits = digits.checked_mul(10i128.checked_pow(scale.unsigned_abs())?)?;
        scale = 0;
    }
    if digits.unsigned_abs() >= 10u128.pow(38) {
        return None;
    }
    let scale = i8::try_from(scale).ok().filter(|scale| i32::from(*scale) <= MAX_SCALE)?;
    Some(ScalarValue::Decimal128(Some(digits), DECIMAL128_MAX_PRECISION, scale))
}

fn binary(bytes: &Bytes, oid: Oid, field: &Field) -> Result<ScalarValue> {
    let mut cursor = Cursor::new(bytes.clone());
    let value = match oid {
        types::BOOL => ScalarValue::from(cursor.u8()? != 0),
        types::INT2 => ScalarValue::from(cursor.i16()?),
        types::INT4 => ScalarValue::from(cursor.i32()?),
        types::INT8 => ScalarValue::from(i64(&mut cursor)?),
        types::OID => ScalarValue::from(i64::from(cursor.u32()?)),
        types::FLOAT4 => ScalarValue::from(f32::from_bits(cursor.u32()?)),
        types::FLOAT8 => ScalarValue::from(f64::from_bits(i64(&mut cursor)?.cast_unsigned())),
        types::DATE => {
            let days = cursor.i32()?.checked_add(text::EPOCH_DAYS).ok_or_else(beyond)?;
            ScalarValue::Date32(Some(days))
        }
        types::TIME => ScalarValue::Time64Microsecond(Some(i64(&mut cursor)?)),
        types::TIMESTAMP | types::TIMESTAMPTZ => {
            let micros = i64(&mut cursor)?.checked_add(text::EPOCH_MICROS).ok_or_else(beyond)?;
            let zone = (oid == types::TIMESTAMPTZ).then(|| Arc::from("+00:00"));
            ScalarValue::TimestampMicrosecond(Some(micros), zone)
        }
        types::INTERVAL => {
            let micros = i64(&mut cursor)?;
            let (days, months) = (cursor.i32()?, cursor.i32()?);
            let nanos = micros.checked_mul(1000).ok_or_else(beyond)?;
            let interval = IntervalMonthDayNano::new(months, days, nanos);
            ScalarValue::IntervalMonthDayNano(Some(interval))
        }
        types::NUMERIC => {
            let text = numeric::read(rest(&mut cursor)?)?;
            decimal(&text).ok_or_else(|| no_value(oid, &text))?
        }
        types::BYTEA => ScalarValue::BinaryView(Some(rest(&mut cursor)?.to_vec())),
        types::UUID => ScalarValue::FixedSizeBinary(16, Some(cursor.bytes(16)?.to_vec())),
        types::INET => {
            // Family, bits, whether it is a network.
            let _ = (cursor.u8()?, cursor.u8()?, cursor.u8()?);
            let length = usize::from(cursor.u8()?);
            let address = cursor.bytes(length)?.to_vec();
            ScalarValue::FixedSizeBinary(i32::try_from(length).unwrap_or(0), Some(address))
        }
        types::TEXT
        | types::VARCHAR
        | types::BPCHAR
        | types::NAME
        | types::UNKNOWN
        | types::CHAR
        | types::JSON => {
            let text = rest(&mut cursor)?;
            return from_text(utf8(&text)?, oid, field);
        }
        other => {
            let name =
                types::by_oid(other).map_or_else(|| other.to_string(), |ty| ty.name.to_owned());
            let what = format!("the binary form of type {name} is not read; send it as text");
            return Err(PgError::new(NOT_SUPPORTED, what));
        }
    };
    if cursor.remaining() > 0 {
        let what = "a value has more bytes than its type";
        return Err(PgError::new(PROTOCOL_VIOLATION, what));
    }
    Ok(value)
}

fn i64(cursor: &mut Cursor) -> Result<i64> {
    let bytes: [u8; 8] = cursor.bytes(8)?.as_ref().try_into().unwrap_or_default();
    Ok(i64::from_be_bytes(bytes))
}

fn rest(cursor: &mut Cursor) -> Result<Bytes> {
    Ok(cursor.bytes(cursor.remaining())?)
}

fn beyond() -> PgError {
    PgError::new(OUT_OF_RANGE, "a time is beyond those of the column's type")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn field(data_type: DataType, declared: &str) -> Field {
        let metadata = HashMap::from([(TYPE_KEY.to_owned(), declared.to_owned())]);
        Field::new("$1", data_type, true).with_metadata(metadata)
    }

    fn text(value: &str, oid: Oid, field: &Field) -> Result<ScalarValue> {
        super::value(Some(&Bytes::copy_from_slice(value.as_bytes())), false, oid, field)
    }

    #[test]
    fn text_is_read_as_its_type() {
        let number = field(DataType::Int64, "I64");
        assert_eq!(text(" 5 ", types::INT8, &number), Ok(ScalarValue::from(5i64)));
        assert_eq!(text("x", types::INT8, &number).unwrap_err().code, INVALID_VALUE);
        assert_eq!(text("9", types::TEXT, &number), Ok(ScalarValue::from(9i64)));
        let decimal = ScalarValue::Decimal128(Some(-150), 38, 2);
        assert_eq!(text("-1.50", types::NUMERIC, &number), Ok(decimal));
        for (value, digits, scale) in [
            ("1E+5", 100_000, 0),
            ("-1.5e-3", -15, 4),
            ("1.25e1", 125, 1),
            ("12e0", 12, 0),
            ("1e37", 10i128.pow(37), 0),
            ("1e-38", 1, 38),
            ("0e99", 0, 0),
            ("0e-99", 0, 38),
        ] {
            let expected = ScalarValue::Decimal128(Some(digits), 38, scale);
            assert_eq!(text(value, types::NUMERIC, &number), Ok(expected), "{value}");
        }
        for value in ["1.-5", "1e", "e5", "1e5.0", "1e38", "1e-39", "1e2147483648", "1e2e3", "NaN"]
        {
            let error = text(value, types::NUMERIC, &number).unwrap_err();
            assert_eq!(error.code, INVALID_VALUE, "{value}");
        }
        assert!(text("1e-2147483648", types::NUMERIC, &number).is_err());
        let bytes = field(DataType::BinaryView, "BYTES");
        assert_eq!(
            text("\\x00ff", types::BYTEA, &bytes),
            Ok(ScalarValue::BinaryView(Some(vec![0, 255])))
        );
        let uuid = field(DataType::FixedSizeBinary(16), "UUID");
        let zero = "00000000-0000-0000-0000-000000000000";
        let read = ScalarValue::FixedSizeBinary(16, Some(vec![0; 16]));
        assert_eq!(text(zero, types::VARCHAR, &uuid), Ok(read));
        assert!(text("0", types::UUID, &uuid).unwrap_err().message.contains("parameter $1"));
        let time = field(DataType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into())), "");
        for value in ["2024-03-15 10:00:00+00", "2024-03-15T10:00:00Z", "2024-03-15 11:00:00+01"] {
            let read = text(value, types::TIMESTAMPTZ, &time);
            let micros = 1_710_496_800_000_000;
            let expected = ScalarValue::TimestampMicrosecond(Some(micros), Some("+00:00".into()));
            assert_eq!(read, Ok(expected), "{value}");
        }
    }

    #[test]
    fn binary_form_is_read_as_its_type() {
        let number = field(DataType::Int64, "I64");
        let read =
            |bytes: &'static [u8], oid| value(Some(&Bytes::from_static(bytes)), true, oid, &number);
        assert_eq!(read(&[0, 0, 0, 5], types::INT4), Ok(ScalarValue::from(5i32)));
        assert_eq!(read(&[0, 0, 0], types::INT4).unwrap_err().code, PROTOCOL_VIOLATION);
        assert_eq!(read(&[0; 5], types::INT4).unwrap_err().code, PROTOCOL_VIOLATION);
        assert_eq!(read(&[0; 4], types::DATE), Ok(ScalarValue::Date32(Some(10_957))));
        assert_eq!(read(b"7", types::TEXT), Ok(ScalarValue::from(7i64)));
        assert_eq!(read(&[0xff], types::TEXT).unwrap_err().code, NOT_IN_ENCODING);
        assert_eq!(read(&[0; 8], 600).unwrap_err().code, NOT_SUPPORTED);
        let null = value(None, true, types::INT8, &number);
        assert_eq!(null, Ok(ScalarValue::Int64(None)));
    }
}
