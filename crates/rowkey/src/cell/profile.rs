//! `ENCODING BIN`, `ORDERED` and `PHOENIX`: the bytes of keys.

use std::borrow::Cow;

use super::CellEncoding;
use super::java::utf8;
use crate::error::KeyErrorKind;
use crate::schema::KeySchema;
use crate::value::{FieldType, Value};

/// Header of text in `OrderedBytes`, which a zero byte ends.
const ORDERED_TEXT: u8 = 0x34;
/// Header of bytes as they are in `OrderedBytes` (`OrderedBlob`).
const ORDERED_BLOB: u8 = 0x38;

/// Returns the bytes of a value that the only field of `key` accepts.
///
/// Values without a fixed width may be longer than a key, so they are encoded here.
///
/// # Errors
/// Why the encoding cannot hold the value.
pub(super) fn encode(
    key: &KeySchema,
    encoding: CellEncoding,
    value: &Value<'_>,
) -> Result<Vec<u8>, String> {
    let bytes = match value {
        Value::Text(text) if key.fields()[0].ty == FieldType::String => text.as_bytes(),
        Value::Bytes(bytes) if key.fields()[0].ty == FieldType::Bytes => &bytes[..],
        _ => {
            let encoded =
                key.encode(&[value.borrowed()]).map_err(|error| error.kind.to_string())?;
            return Ok(encoded.to_vec());
        }
    };
    let is_text = matches!(value, Value::Text(_));
    match encoding {
        CellEncoding::Ordered if !is_text => Ok([&[ORDERED_BLOB], bytes].concat()),
        CellEncoding::Ordered if bytes.contains(&0) => {
            Err("OrderedBytes end text with a zero byte, so it contains none; declare BYTES".into())
        }
        CellEncoding::Ordered => Ok([&[ORDERED_TEXT], bytes, &[0]].concat()),
        CellEncoding::Phoenix if bytes.is_empty() => {
            Err("Phoenix reads an empty value as null; write NULL".into())
        }
        _ => Ok(bytes.to_vec()),
    }
}

/// Returns the value of the bytes.
///
/// # Errors
/// The requirement that they do not meet.
pub(super) fn decode<'b>(
    key: &KeySchema,
    encoding: CellEncoding,
    bytes: &'b [u8],
) -> Result<Value<'b>, String> {
    let ty = key.fields()[0].ty;
    let body = match (ty, encoding) {
        (FieldType::String, CellEncoding::Ordered) => match bytes {
            [ORDERED_TEXT, text @ .., 0] if !text.contains(&0) => text,
            _ => return Err("the header 34 and a zero byte at the end are wanted".into()),
        },
        (FieldType::Bytes, CellEncoding::Ordered) => match bytes {
            [ORDERED_BLOB, body @ ..] => body,
            _ => return Err("the header 38 is wanted".into()),
        },
        (FieldType::String | FieldType::Bytes, _) => bytes,
        _ => {
            let decoded = key.decode(bytes).map_err(|error| match error.kind {
                KeyErrorKind::Short => format!("its {} bytes are too few", bytes.len()),
                KeyErrorKind::Rest(rest) => {
                    format!("{rest} of its {} bytes are too many", bytes.len())
                }
                other => other.to_string(),
            });
            let value = decoded?.into_values().next();
            return value.ok_or_else(|| "it holds no value".to_owned());
        }
    };
    if encoding == CellEncoding::Phoenix && body.is_empty() {
        return Err("Phoenix writes null as an empty value".into());
    }
    Ok(match ty {
        FieldType::String => Value::Text(Cow::Borrowed(utf8(body)?)),
        _ => Value::Bytes(Cow::Borrowed(body)),
    })
}
