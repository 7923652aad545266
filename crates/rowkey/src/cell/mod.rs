//! Values of cells: the bytes of one value of a column in each `ENCODING`.
//!
//! - `JAVA`: as `Bytes.toBytes` of HBase. Numbers are big-endian, `BOOL` is `ff` or `00`, `DECIMAL`
//!   the scale in four bytes and the unscaled number, text UTF-8.
//! - `RAW`: as HBase's `RawByte` to `RawBytes`, which are the same, for the types that they hold.
//! - `TEXT`: as typed into HBase's shell: `20`, `1.5`, `true`, `2024-03-15T00:00:00Z`.
//! - `BIN`, `ORDERED`, `PHOENIX`: as the last field of a key in that profile, ascending.
//!
//! A null is a missing cell and has no bytes. Empty text is a cell without bytes.

mod encoding;
mod error;
mod java;
mod profile;
#[cfg(test)]
mod tests;
mod text;

pub use encoding::CellEncoding;
pub use error::{CellError, CellErrorKind};
pub use java::decode as decode_java;

use crate::schema::{Field, KeySchema, Segment, SegmentKind};
use crate::value::{Decimal, FieldType, Value};

/// Encoder and decoder of one type in one encoding.
#[derive(Clone, Debug)]
pub struct CellCodec {
    ty: FieldType,
    encoding: CellEncoding,
    /// Precision and scale of a `DECIMAL(p, s)`.
    digits: Option<(u8, u8)>,
    /// Key of one field, for the encodings of keys.
    key: Option<Box<KeySchema>>,
}

impl CellCodec {
    /// Returns the codec of a type.
    ///
    /// # Errors
    /// Why the encoding has no such type, with the fix.
    pub fn new(ty: FieldType, encoding: CellEncoding) -> Result<Self, String> {
        let key = match encoding.profile() {
            None => None,
            Some(profile) => {
                let field = Field { name: "value".to_owned(), ty, pattern: None };
                let segment = Segment::new(SegmentKind::Plain(0));
                let key = KeySchema::new(profile, vec![field], vec![segment])
                    .map_err(|error| error.message)?;
                Some(Box::new(key))
            }
        };
        if encoding == CellEncoding::Raw && !is_raw(ty) {
            return Err(format!(
                "HBase has no Raw type for {ty}; leave ENCODING out for the bytes of Bytes.toBytes"
            ));
        }
        Ok(Self { ty, encoding, digits: None, key })
    }

    /// Returns the codec of `DECIMAL(precision, scale)`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn decimal(precision: u8, scale: u8, encoding: CellEncoding) -> Result<Self, String> {
        let bare = Self::new(FieldType::Decimal, encoding)?;
        Ok(Self { digits: Some((precision, scale)), ..bare })
    }

    /// Returns the type of the values.
    pub fn ty(&self) -> FieldType {
        self.ty
    }

    /// Returns the bytes of a value.
    ///
    /// # Errors
    /// A null, a value of another type, and one that does not fit.
    pub fn encode(&self, value: &Value<'_>) -> Result<Vec<u8>, CellError> {
        if value.is_null() {
            return Err(CellError::null(self));
        }
        if !self.ty.accepts(value) {
            return Err(CellError::wrong_type(self, value));
        }
        if let Value::Decimal(number) = value {
            self.check_digits(*number).map_err(|why| CellError::unfit(self, value, &why))?;
        }
        match (self.encoding, &self.key) {
            (CellEncoding::Text, _) => Ok(text::encode(self, value)),
            (_, None) => Ok(java::encode(value, self.ty, self.scale())),
            (encoding, Some(key)) => profile::encode(key, encoding, value)
                .map_err(|why| CellError::unfit(self, value, &why)),
        }
    }

    /// Returns the value of the bytes of a cell, borrowing text and bytes from them.
    ///
    /// # Errors
    /// Bytes that are no value of the type in this encoding, with the declaration that would read
    /// them.
    pub fn decode<'b>(&self, bytes: &'b [u8]) -> Result<Value<'b>, CellError> {
        let value = self.decode_any(bytes).map_err(|why| CellError::bytes(self, bytes, &why))?;
        if let Value::Decimal(number) = &value {
            self.check_digits(*number).map_err(|why| CellError::bytes(self, bytes, &why))?;
        }
        Ok(value)
    }

    fn decode_any<'b>(&self, bytes: &'b [u8]) -> Result<Value<'b>, String> {
        match (self.encoding, &self.key) {
            (CellEncoding::Text, _) => text::decode(self.ty, bytes),
            (_, None) => java::decode(self.ty, bytes),
            (encoding, Some(key)) => profile::decode(key, encoding, bytes),
        }
    }

    /// Returns the digits after the point that are written; `None` for as many as a number has.
    fn scale(&self) -> Option<u8> {
        self.digits.map(|(_, scale)| scale)
    }

    fn check_digits(&self, number: Decimal) -> Result<(), String> {
        let Some((precision, scale)) = self.digits else { return Ok(()) };
        if number.coefficient() == 0 {
            return Ok(());
        }
        let digits = i64::from(number.coefficient().unsigned_abs().ilog10()) + 1;
        let after = -i64::from(number.exponent());
        if after > i64::from(scale) {
            return Err(format!("it has {after} digits after the point, and {scale} are declared"));
        }
        let (before, most) = ((digits - after).max(0), i64::from(precision - scale.min(precision)));
        if before > most {
            return Err(format!(
                "it has {before} digits before the point, and {most} are declared"
            ));
        }
        Ok(())
    }
}

/// Returns `true` for the types that HBase's `RawByte`, `RawShort`, `RawInteger`, `RawLong`,
/// `RawFloat`, `RawDouble`, `RawString` and `RawBytes` can hold.
fn is_raw(ty: FieldType) -> bool {
    !matches!(ty, FieldType::Bool | FieldType::Decimal)
}
