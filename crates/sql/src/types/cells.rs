//! Cells of a column: the bytes that Java's `Bytes.toBytes` writes, and the value they stand for.

use halite_rowkey::cell::decode_java;
use halite_rowkey::value::{FieldType, Value};

use crate::catalog::shape::CellDeclaration;

/// Returns the value of a cell of a declared column.
///
/// # Errors
/// As [`read_cell`].
pub(crate) fn read_declared<'b>(
    ty: FieldType,
    declared: Option<&CellDeclaration>,
    bytes: &'b [u8],
) -> Result<Value<'b>, String> {
    match declared.filter(|declared| !declared.is_java()) {
        Some(declared) => declared.codec.decode(bytes).map_err(|error| error.to_string()),
        None => read_cell(ty, bytes),
    }
}

/// Returns the value of a cell.
///
/// # Errors
/// What the bytes are instead, as the end of a sentence.
pub(crate) fn read_cell(ty: FieldType, bytes: &[u8]) -> Result<Value<'_>, String> {
    let width = ty.fixed_bytes();
    if let Some(width) = width.filter(|width| *width != bytes.len()) {
        return Err(format!("{ty} has {width} bytes, and the cell has {}", bytes.len()));
    }
    decode_java(ty, bytes).map_err(|why| format!("{ty}: {why}"))
}

/// Returns the bytes of the cell of a value whose order and equality the bytes have, up to the sign
/// of numbers; `None` for types where different bytes may be equal values.
pub(crate) fn comparable_bytes(ty: FieldType, value: &Value<'_>) -> Option<Vec<u8>> {
    let width = ty.fixed_bytes();
    if !ty.accepts(value) && !ty.is_text() && !matches!(ty, FieldType::Fixed(_)) {
        return None;
    }
    match (ty, value) {
        (FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64, _) => match value {
            Value::Unsigned(number) => Some(number.to_be_bytes()[8 - width?..].to_vec()),
            _ => None,
        },
        (_, Value::Signed(number)) if is_signed(ty) => {
            Some(number.to_be_bytes()[8 - width?..].to_vec())
        }
        (FieldType::String | FieldType::Char(_), Value::Text(text)) => {
            Some(text.as_bytes().to_vec())
        }
        (FieldType::Bytes | FieldType::Fixed(_), Value::Bytes(bytes)) => Some(bytes.to_vec()),
        (FieldType::Uuid, Value::Uuid(bytes)) => Some(bytes.to_vec()),
        (FieldType::Ipv4, Value::Ipv4(address)) => Some(address.octets().to_vec()),
        (FieldType::Ipv6, Value::Ipv6(address)) => Some(address.octets().to_vec()),
        _ => None,
    }
}

/// Returns `true` for types whose cells are two's complement: in unsigned order of the bytes,
/// negative numbers are behind the others.
pub(crate) fn is_signed(ty: FieldType) -> bool {
    ty.integer_range().is_some_and(|(least, _)| least < 0)
}

#[cfg(test)]
mod tests {
    use halite_rowkey::value::{Decimal, TimeUnit};

    use super::*;

    #[test]
    fn cells_are_read_as_java_wrote_them() {
        let read = |ty, bytes: &'static [u8]| read_cell(ty, bytes).unwrap();
        assert_eq!(read(FieldType::Bool, &[0xff]), Value::Bool(true));
        assert_eq!(read(FieldType::Bool, &[0x00]), Value::Bool(false));
        assert_eq!(read(FieldType::Bool, &[0x07]), Value::Bool(true));
        assert_eq!(read(FieldType::I8, &[0x80]), Value::Signed(-128));
        assert_eq!(read(FieldType::I16, &[0xff, 0xfe]), Value::Signed(-2));
        assert_eq!(read(FieldType::I32, &[0, 0, 1, 0]), Value::Signed(256));
        assert_eq!(read(FieldType::I64, &[0x80, 0, 0, 0, 0, 0, 0, 0]), Value::Signed(i64::MIN));
        assert_eq!(read(FieldType::U64, &[0xff; 8]), Value::Unsigned(u64::MAX));
        assert_eq!(read(FieldType::F64, &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0]), Value::F64(1.5));
        assert_eq!(read(FieldType::F32, &[0xbf, 0xc0, 0, 0]), Value::F32(-1.5));
        let time = FieldType::Timestamp(TimeUnit::Millis);
        assert_eq!(read(time, &[0, 0, 0, 0, 0, 0, 0, 5]), Value::Signed(5));
        assert_eq!(read(FieldType::String, b""), "".into());
        // new BigDecimal("3.14") and new BigDecimal("-1000").
        assert_eq!(
            read(FieldType::Decimal, &[0, 0, 0, 2, 0x01, 0x3a]),
            Value::Decimal(Decimal::new(314, -2).unwrap())
        );
        assert_eq!(
            read(FieldType::Decimal, &[0, 0, 0, 0, 0xfc, 0x18]),
            Value::Decimal(Decimal::new(-1000, 0).unwrap())
        );
    }

    #[test]
    fn cells_of_other_types_are_refused() {
        let long: &[u8] = &[1; 40];
        for (ty, bytes) in [
            (FieldType::I32, &b"12"[..]),
            (FieldType::I64, b""),
            (FieldType::Bool, b"true"),
            (FieldType::String, &[0xff, 0xfe]),
            (FieldType::Decimal, &[0, 0, 0, 1]),
            (FieldType::Decimal, long),
            (FieldType::Decimal, &[0x80, 0, 0, 0, 1]),
            (FieldType::Uuid, b"550e8400"),
        ] {
            assert!(read_cell(ty, bytes).is_err(), "{ty} {bytes:?}");
        }
    }

    #[test]
    fn compared_bytes_are_those_of_the_cell() {
        for (ty, bytes) in [
            (FieldType::I16, &[0xff, 0xfe][..]),
            (FieldType::U32, &[1, 2, 3, 4]),
            (FieldType::Date, &[0, 0, 0x4d, 0x2a]),
            (FieldType::String, b"abc"),
            (FieldType::Ipv4, &[10, 0, 0, 1]),
        ] {
            let value = read_cell(ty, bytes).unwrap();
            assert_eq!(comparable_bytes(ty, &value).as_deref(), Some(bytes), "{ty}");
        }
        assert_eq!(comparable_bytes(FieldType::I8, &Value::Signed(300)), None);
        assert_eq!(comparable_bytes(FieldType::F64, &Value::F64(0.0)), None);
    }
}
