//! Constants of a statement as values of a type, if the type can hold them exactly.

use std::borrow::Cow;

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _};
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int32Type, Int64Type, TimeUnit as ArrowUnit, TimestampMillisecondType,
};
use datafusion::scalar::ScalarValue;
use halite_rowkey::value::{Decimal, FieldType, TimeUnit, Value};

/// Returns a constant as a value of a type; `None` for null and for constants that are no value of
/// it. Integers outside of an integer type are returned: no row has them.
pub(crate) fn value_of(ty: FieldType, scalar: &ScalarValue) -> Option<Value<'_>> {
    match (ty, scalar) {
        (FieldType::Bool, ScalarValue::Boolean(Some(value))) => Some(Value::Bool(*value)),
        (FieldType::F32, ScalarValue::Float32(Some(value))) => Some(Value::F32(*value)),
        (FieldType::F64, ScalarValue::Float64(Some(value))) => Some(Value::F64(*value)),
        (FieldType::Decimal, ScalarValue::Decimal128(Some(digits), _, scale)) => {
            Decimal::new(*digits, -i32::from(*scale)).map(Value::Decimal)
        }
        (FieldType::String | FieldType::Char(_), _) => {
            Some(Value::Text(Cow::Borrowed(text_of(scalar)?)))
        }
        (FieldType::Bytes | FieldType::Fixed(_), _) => {
            Some(Value::Bytes(Cow::Borrowed(bytes_of(scalar)?)))
        }
        (FieldType::Uuid, _) => Some(Value::Uuid(bytes_of(scalar)?.try_into().ok()?)),
        (FieldType::Ipv4, _) => {
            Some(Value::Ipv4(<[u8; 4]>::try_from(bytes_of(scalar)?).ok()?.into()))
        }
        (FieldType::Ipv6, _) => {
            Some(Value::Ipv6(<[u8; 16]>::try_from(bytes_of(scalar)?).ok()?.into()))
        }
        (FieldType::Date, ScalarValue::Date32(Some(days))) => Some(Value::Signed(i64::from(*days))),
        (FieldType::Timestamp(unit), _) => {
            let (of, number) = timestamp_of(scalar)?;
            (of == unit).then_some(Value::Signed(number))
        }
        (FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64, _) => {
            number(integer_of(scalar)?, false)
        }
        (FieldType::I8 | FieldType::I16 | FieldType::I32 | FieldType::I64, _) => {
            number(integer_of(scalar)?, true)
        }
        _ => None,
    }
}

/// Returns the value at a place of an array whose type is that of `ty`, or whose integers are in its
/// range; `None` for null and for what has to be converted or checked first.
pub(crate) fn value_at(ty: FieldType, array: &ArrayRef, at: usize) -> Option<Value<'_>> {
    if array.is_null(at) {
        return None;
    }
    match (ty, array.data_type()) {
        (FieldType::String, DataType::Utf8View) => {
            Some(Value::Text(Cow::Borrowed(array.as_string_view().value(at))))
        }
        (FieldType::Bytes, DataType::BinaryView) => {
            Some(Value::Bytes(Cow::Borrowed(array.as_binary_view().value(at))))
        }
        (FieldType::F64, DataType::Float64) => {
            Some(Value::F64(array.as_primitive::<Float64Type>().value(at)))
        }
        (
            FieldType::Timestamp(TimeUnit::Millis),
            DataType::Timestamp(ArrowUnit::Millisecond, _),
        ) => Some(Value::Signed(array.as_primitive::<TimestampMillisecondType>().value(at))),
        (_, DataType::Int64 | DataType::Int32) if !ty.is_time() => {
            let (least, most) = ty.integer_range()?;
            let integer = match array.data_type() {
                DataType::Int64 => array.as_primitive::<Int64Type>().value(at),
                _ => i64::from(array.as_primitive::<Int32Type>().value(at)),
            };
            let integer = i128::from(integer);
            if (least..=most).contains(&integer) { number(integer, least < 0) } else { None }
        }
        _ => None,
    }
}

/// Returns an integer as a value, signed if it is negative or of a signed type.
fn number(number: i128, signed: bool) -> Option<Value<'static>> {
    match i64::try_from(number) {
        Ok(number) if signed || number < 0 => Some(Value::Signed(number)),
        _ => u64::try_from(number).ok().map(Value::Unsigned),
    }
}

/// Returns a constant of an integer type, or a decimal without a fraction, as a number.
pub(crate) fn integer_of(scalar: &ScalarValue) -> Option<i128> {
    Some(match scalar {
        ScalarValue::Int8(Some(value)) => i128::from(*value),
        ScalarValue::Int16(Some(value)) => i128::from(*value),
        ScalarValue::Int32(Some(value)) => i128::from(*value),
        ScalarValue::Int64(Some(value)) => i128::from(*value),
        ScalarValue::UInt8(Some(value)) => i128::from(*value),
        ScalarValue::UInt16(Some(value)) => i128::from(*value),
        ScalarValue::UInt32(Some(value)) => i128::from(*value),
        ScalarValue::UInt64(Some(value)) => i128::from(*value),
        ScalarValue::Decimal128(Some(digits), _, 0) => *digits,
        _ => return None,
    })
}

/// Returns a constant of a timestamp type, in its unit.
pub(crate) fn timestamp_of(scalar: &ScalarValue) -> Option<(TimeUnit, i64)> {
    match scalar {
        ScalarValue::TimestampMillisecond(Some(value), _) => Some((TimeUnit::Millis, *value)),
        ScalarValue::TimestampMicrosecond(Some(value), _) => Some((TimeUnit::Micros, *value)),
        ScalarValue::TimestampNanosecond(Some(value), _) => Some((TimeUnit::Nanos, *value)),
        _ => None,
    }
}

/// Returns a constant of a text type.
pub(crate) fn text_of(scalar: &ScalarValue) -> Option<&str> {
    match scalar {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Some(text),
        _ => None,
    }
}

fn bytes_of(scalar: &ScalarValue) -> Option<&[u8]> {
    match scalar {
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::FixedSizeBinary(_, Some(bytes)) => Some(bytes),
        _ => None,
    }
}

/// Returns text, as written in a statement, as a constant of a type whose Arrow type is bytes:
/// UUIDs and addresses.
///
/// # Errors
/// The expected form.
pub(crate) fn parsed(ty: FieldType, text: &str) -> Result<ScalarValue, String> {
    let (width, bytes) = match ty.parse(text)? {
        Value::Uuid(bytes) => (16, bytes.to_vec()),
        Value::Ipv4(address) => (4, address.octets().to_vec()),
        Value::Ipv6(address) => (16, address.octets().to_vec()),
        _ => return Err(format!("{text:?} is no {ty}")),
    };
    Ok(ScalarValue::FixedSizeBinary(width, Some(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_keep_their_value_or_are_none() {
        let milli = FieldType::Timestamp(TimeUnit::Millis);
        let time = ScalarValue::TimestampMillisecond(Some(5), None);
        assert_eq!(value_of(milli, &time), Some(Value::Signed(5)));
        assert_eq!(value_of(FieldType::Timestamp(TimeUnit::Micros), &time), None);
        let big = ScalarValue::UInt64(Some(u64::MAX));
        assert_eq!(value_of(FieldType::U64, &big), Some(Value::Unsigned(u64::MAX)));
        assert_eq!(value_of(FieldType::I64, &big), Some(Value::Unsigned(u64::MAX)));
        let minus = ScalarValue::Int64(Some(-1));
        assert_eq!(value_of(FieldType::U8, &minus), Some(Value::Signed(-1)));
        assert_eq!(value_of(FieldType::I8, &ScalarValue::Int64(None)), None);
        assert_eq!(value_of(FieldType::I8, &ScalarValue::Float64(Some(1.0))), None);
        let decimal = ScalarValue::Decimal128(Some(150), 38, 2);
        assert_eq!(
            value_of(FieldType::Decimal, &decimal),
            Some(Value::Decimal(Decimal::new(15, -1).unwrap()))
        );
    }

    #[test]
    fn uuids_and_addresses_are_parsed() {
        let uuid = parsed(FieldType::Uuid, "550e8400-e29b-41d4-a716-446655440000").unwrap();
        assert!(matches!(&uuid, ScalarValue::FixedSizeBinary(16, Some(bytes)) if bytes[0] == 0x55));
        assert!(parsed(FieldType::Ipv4, "10.0.0.256").is_err());
        assert!(parsed(FieldType::Ipv4, "null").is_err());
    }
}
