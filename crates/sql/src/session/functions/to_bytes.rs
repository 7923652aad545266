//! `text::bytea`: bytes as PostgreSQL writes them.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray as _, BinaryBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::{SqlError, SqlState};

/// Name of the function.
pub(crate) const TO_BYTES: &str = "to_bytea";

pub(super) fn to_bytes() -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(ToBytes { signature })
}

/// Reads `\x0aff`, or text in which `\\` is a backslash and `\012` a byte by its octal number.
///
/// # Errors
/// What is wrong with the text, and the form that is expected.
pub(crate) fn read_bytes(text: &str) -> std::result::Result<Vec<u8>, String> {
    match text.strip_prefix("\\x") {
        Some(digits) => read_hex(digits),
        None => read_escaped(text),
    }
}

fn read_hex(digits: &str) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut high = None;
    for letter in digits.chars().filter(|letter| !letter.is_ascii_whitespace()) {
        let digit = letter.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let digit = digit.ok_or_else(|| {
            format!("{letter:?} is no hexadecimal digit; bytes are written as '\\x00ff'")
        })?;
        match high.take() {
            None => high = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(bytes),
        Some(_) => Err("bytes have two hexadecimal digits each, as in '\\x00ff'; one is \
                        missing"
            .to_owned()),
    }
}

fn read_escaped(text: &str) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (b'\\', [b'\\', after @ ..]) => {
                bytes.push(b'\\');
                after
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            (b'\\', _) => {
                return Err("a backslash in bytes is written \\\\, and a byte \\012 by its octal \
                            number or '\\x0a' at the beginning"
                    .to_owned());
            }
            (byte, after) => {
                bytes.push(*byte);
                after
            }
        };
    }
    Ok(bytes)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToBytes {
    signature: Signature,
}

impl ScalarUDFImpl for ToBytes {
    fn name(&self) -> &'static str {
        TO_BYTES
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(array) = arrays.first() else {
            return datafusion::common::internal_err!("a cast has one value");
        };
        if matches!(array.data_type(), DataType::FixedSizeBinary(_)) {
            return Ok(ColumnarValue::Array(cast(array, &DataType::Binary)?));
        }
        if !matches!(array.data_type(), DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8) {
            return Ok(ColumnarValue::Array(cast(array, &DataType::Binary)?));
        }
        let texts = cast(array, &DataType::Utf8View)?;
        let mut builder = BinaryBuilder::new();
        for text in texts.as_string_view() {
            let bytes = text.map(read_bytes).transpose();
            builder
                .append_option(bytes.map_err(|what| SqlError::new(SqlState::InvalidValue, what))?);
        }
        Ok(ColumnarValue::Array(Arc::new(builder.finish())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_postgresql_writes_them() {
        assert_eq!(read_bytes("\\xDeadBEEF").unwrap(), [0xde, 0xad, 0xbe, 0xef]);
        assert!(read_bytes("\\x").unwrap().is_empty());
        assert_eq!(read_bytes("\\x de ad ").unwrap(), [0xde, 0xad]);
        assert_eq!(read_bytes("a\\\\b\\000\\377").unwrap(), [b'a', b'\\', b'b', 0, 255]);
        assert_eq!(read_bytes("\u{e9}").unwrap(), "\u{e9}".as_bytes());
        for wrong in ["\\xd", "\\xzz", "\\", "\\400", "\\12"] {
            assert!(read_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
