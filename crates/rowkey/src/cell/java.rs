//! `ENCODING JAVA` and `RAW`: the bytes of HBase's `Bytes.toBytes`.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::value::{Decimal, FieldType, Value};

/// Bytes of the scale of a `BigDecimal`.
const SCALE_BYTES: usize = 4;
/// Powers of ten below this are exact in 128 bits, with a number of 31 digits or fewer.
const MAX_SHIFT: u32 = 38;

/// Returns the bytes of a value that is of the type `ty`; a decimal is written with `scale` digits
/// after the point, or as many as it has.
pub(super) fn encode(value: &Value<'_>, ty: FieldType, scale: Option<u8>) -> Vec<u8> {
    match value {
        Value::Null => Vec::new(),
        Value::Bool(value) => vec![if *value { 0xff } else { 0 }],
        Value::Unsigned(value) => last_bytes(value.to_be_bytes(), ty),
        Value::Signed(value) => last_bytes(value.to_be_bytes(), ty),
        Value::F32(value) => value.to_bits().to_be_bytes().to_vec(),
        Value::F64(value) => value.to_bits().to_be_bytes().to_vec(),
        Value::Decimal(number) => {
            let (unscaled, scale) = scaled(*number, scale);
            [&scale.to_be_bytes(), minimal(&unscaled.to_be_bytes())].concat()
        }
        Value::Text(text) => text.as_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Uuid(bytes) => bytes.to_vec(),
        Value::Ipv4(address) => address.octets().to_vec(),
        Value::Ipv6(address) => address.octets().to_vec(),
    }
}

/// Returns the bytes of a number of `ty`, which accepts it: the first ones repeat the sign.
fn last_bytes(bytes: [u8; 8], ty: FieldType) -> Vec<u8> {
    let width = ty.fixed_bytes().unwrap_or(bytes.len()).min(bytes.len());
    bytes[bytes.len() - width..].to_vec()
}

/// Returns the number as an unscaled one and the digits after its point. Whole numbers that have
/// more digits than fit keep a negative scale.
pub(super) fn scaled(number: Decimal, scale: Option<u8>) -> (i128, i32) {
    let (coefficient, exponent) = (number.coefficient(), number.exponent());
    let scale = scale.map_or(exponent.min(0).saturating_neg(), i32::from);
    let shifted = exponent
        .checked_add(scale)
        .and_then(|shift| u32::try_from(shift).ok())
        .filter(|&shift| shift <= MAX_SHIFT)
        .and_then(|shift| coefficient.checked_mul(10i128.pow(shift)));
    match shifted {
        Some(unscaled) => (unscaled, scale),
        None => (coefficient, exponent.saturating_neg()),
    }
}

/// Returns a number in two's complement without the leading bytes that repeat the sign, as
/// `BigInteger.toByteArray`.
fn minimal(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes;
    while let [first, second, ..] = bytes {
        let repeats = matches!((first, second & 0x80), (0, 0) | (0xff, 0x80));
        if !repeats {
            break;
        }
        bytes = &bytes[1..];
    }
    bytes
}

/// Returns the value of the bytes of a cell that `Bytes.toBytes` wrote. Unlike
/// [`CellCodec::decode`](super::CellCodec::decode) it does not say which bytes were wrong, for callers
/// that do.
///
/// # Errors
/// The requirement that they do not meet.
pub fn decode(ty: FieldType, bytes: &[u8]) -> Result<Value<'_>, String> {
    Ok(match ty {
        FieldType::Bool => Value::Bool(exact::<1>(bytes)? != [0]),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            Value::Unsigned(u64::from_be_bytes(widened(ty, bytes, 0)?))
        }
        FieldType::I8
        | FieldType::I16
        | FieldType::I32
        | FieldType::I64
        | FieldType::Timestamp(_)
        | FieldType::Date => {
            let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
            Value::Signed(i64::from_be_bytes(widened(ty, bytes, sign)?))
        }
        FieldType::F32 => Value::F32(f32::from_be_bytes(exact(bytes)?)),
        FieldType::F64 => Value::F64(f64::from_be_bytes(exact(bytes)?)),
        FieldType::Decimal => Value::Decimal(decimal(bytes)?),
        FieldType::String => Value::Text(Cow::Borrowed(utf8(bytes)?)),
        FieldType::Char(width) => {
            check_width(usize::from(width), bytes)?;
            Value::Text(Cow::Borrowed(utf8(bytes)?))
        }
        FieldType::Bytes => Value::Bytes(Cow::Borrowed(bytes)),
        FieldType::Fixed(width) => {
            check_width(usize::from(width), bytes)?;
            Value::Bytes(Cow::Borrowed(bytes))
        }
        FieldType::Uuid => Value::Uuid(exact(bytes)?),
        FieldType::Ipv4 => Value::Ipv4(Ipv4Addr::from(exact::<4>(bytes)?)),
        FieldType::Ipv6 => Value::Ipv6(Ipv6Addr::from(exact::<16>(bytes)?)),
    })
}

fn check_width(width: usize, bytes: &[u8]) -> Result<(), String> {
    if bytes.len() == width {
        Ok(())
    } else {
        Err(format!("it has {} bytes, not {width}", bytes.len()))
    }
}

fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N], String> {
    check_width(N, bytes)?;
    bytes.try_into().map_err(|_| format!("{N} bytes are wanted"))
}

/// Returns a number of the type's width in eight bytes, filled with `sign`.
fn widened(ty: FieldType, bytes: &[u8], sign: u8) -> Result<[u8; 8], String> {
    check_width(ty.fixed_bytes().unwrap_or(8), bytes)?;
    let mut wide = [sign; 8];
    let start = wide.len().saturating_sub(bytes.len());
    wide[start..].copy_from_slice(bytes);
    Ok(wide)
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not of UTF-8 text", error.valid_up_to()))
}

fn decimal(bytes: &[u8]) -> Result<Decimal, String> {
    let too_large = || format!("it has more than {} digits", Decimal::MAX_DIGITS);
    let (scale, unscaled) = match bytes.split_at_checked(SCALE_BYTES) {
        Some((scale, unscaled)) if !unscaled.is_empty() => (exact::<4>(scale)?, unscaled),
        _ => return Err("a scale in four bytes and a number in one or more are wanted".into()),
    };
    let digits = minimal(unscaled);
    let sign = if digits[0] & 0x80 != 0 { 0xff } else { 0 };
    let mut wide = [sign; 16];
    let start = wide.len().checked_sub(digits.len()).ok_or_else(too_large)?;
    wide[start..].copy_from_slice(digits);
    i32::from_be_bytes(scale)
        .checked_neg()
        .and_then(|exponent| Decimal::new(i128::from_be_bytes(wide), exponent))
        .ok_or_else(too_large)
}
