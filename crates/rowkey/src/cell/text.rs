//! `ENCODING TEXT`: values as typed into HBase's shell.

use super::CellCodec;
use super::java::{scaled, utf8};
use crate::value::{FieldType, Value};

/// Characters above which a float is written with an exponent.
const MAX_PLAIN_CHARS: usize = 24;

/// Returns the text of a value; bytes remain as they are, as the shell stores them.
pub(super) fn encode(codec: &CellCodec, value: &Value<'_>) -> Vec<u8> {
    let text = match value {
        Value::Bytes(bytes) => return bytes.to_vec(),
        Value::F32(number) => shorter(number.to_string(), || format!("{number:e}")),
        Value::F64(number) => shorter(number.to_string(), || format!("{number:e}")),
        Value::Decimal(number) => match codec.scale() {
            Some(scale) if scale > 0 => with_point(scaled(*number, Some(scale)).0, scale),
            _ => number.to_string(),
        },
        value => codec.ty().print(value),
    };
    text.into_bytes()
}

fn shorter(plain: String, exponent: impl FnOnce() -> String) -> String {
    if plain.len() > MAX_PLAIN_CHARS { exponent() } else { plain }
}

fn with_point(unscaled: i128, scale: u8) -> String {
    let places = usize::from(scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{part}")
}

/// Returns the value of the text.
///
/// # Errors
/// The expected form.
pub(super) fn decode(ty: FieldType, bytes: &[u8]) -> Result<Value<'_>, String> {
    if matches!(ty, FieldType::Bytes | FieldType::Fixed(_) | FieldType::String | FieldType::Char(_))
    {
        return super::java::decode(ty, bytes);
    }
    let text = utf8(bytes)?;
    let value = ty.parse(text)?;
    if value.is_null() || !ty.accepts(&value) {
        return Err(format!("{text:?} is no {ty}"));
    }
    Ok(value)
}
