//! Errors of values and bytes of cells.

use std::fmt;

use halite_types::key::to_hex;

use super::{CellCodec, CellEncoding};
use crate::value::{FieldType, Value};

/// Maximum bytes of a cell that a message contains.
const MAX_SHOWN_BYTES: usize = 32;

/// Error of a value or of the bytes of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellError {
    kind: CellErrorKind,
    message: String,
}

/// Kind of a [`CellError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellErrorKind {
    /// Null, which is a missing cell.
    Null,
    /// A value of another type.
    WrongType,
    /// A value that the type or the encoding cannot hold.
    DoesNotFit,
    /// Bytes that are no value of the type.
    BadBytes,
}

impl CellError {
    /// Returns the kind.
    pub fn kind(&self) -> CellErrorKind {
        self.kind
    }

    pub(super) fn null(codec: &CellCodec) -> Self {
        let message = format!("NULL has no bytes as {}: leave the cell out", codec.ty);
        Self { kind: CellErrorKind::Null, message }
    }

    pub(super) fn wrong_type(codec: &CellCodec, value: &Value<'_>) -> Self {
        let is_number = match value {
            Value::Unsigned(_) => codec.ty.integer_range().is_some_and(|(least, _)| least == 0),
            Value::Signed(_) => codec.ty.integer_range().is_some_and(|(least, _)| least < 0),
            _ => false,
        };
        if let Some((least, most)) = codec.ty.integer_range().filter(|_| is_number) {
            return Self::unfit(codec, value, &format!("it goes from {least} to {most}"));
        }
        let message = match (codec.ty, value) {
            (FieldType::Char(width), Value::Text(text)) => {
                format!("text of {} bytes is no CHAR({width}); declare STRING", text.len())
            }
            (FieldType::Fixed(width), Value::Bytes(bytes)) => {
                format!("{} bytes are no BYTES({width}); declare BYTES", bytes.len())
            }
            (ty, value) => format!("{} is no {ty}", value.kind_name()),
        };
        Self { kind: CellErrorKind::WrongType, message }
    }

    pub(super) fn unfit(codec: &CellCodec, value: &Value<'_>, why: &str) -> Self {
        let message =
            format!("{} does not fit into {codec}: {why}", shortened(&codec.ty.print(value)));
        Self { kind: CellErrorKind::DoesNotFit, message }
    }

    pub(super) fn bytes(codec: &CellCodec, bytes: &[u8], why: &str) -> Self {
        let message =
            format!("{} is no {codec}: {why}; {}", shown(bytes), other_declaration(codec, bytes));
        Self { kind: CellErrorKind::BadBytes, message }
    }
}

impl fmt::Display for CellCodec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.digits {
            Some((precision, scale)) => write!(out, "DECIMAL({precision}, {scale})")?,
            None => self.ty.fmt(out)?,
        }
        write!(out, " in ENCODING {}", self.encoding)
    }
}

impl fmt::Display for CellError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for CellError {}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_BYTES) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn shown(bytes: &[u8]) -> String {
    match bytes.get(..MAX_SHOWN_BYTES) {
        Some(first) if bytes.len() > MAX_SHOWN_BYTES => {
            format!("x'{}...' ({} bytes)", to_hex(first), bytes.len())
        }
        _ => format!("x'{}'", to_hex(bytes)),
    }
}

/// Returns the fix: another declaration that reads the bytes.
fn other_declaration(codec: &CellCodec, bytes: &[u8]) -> String {
    let reads = |ty: FieldType, encoding: CellEncoding| {
        (ty, encoding) != (codec.ty, codec.encoding)
            && CellCodec::new(ty, encoding).is_ok_and(|other| other.decode_any(bytes).is_ok())
    };
    if codec.digits.is_some() && codec.decode_any(bytes).is_ok() {
        return "declare more digits".to_owned();
    }
    let same_type =
        [CellEncoding::Text, CellEncoding::Java, CellEncoding::Ordered, CellEncoding::Phoenix]
            .into_iter()
            .find(|&encoding| reads(codec.ty, encoding));
    if let Some(encoding) = same_type {
        return format!("ENCODING {encoding} reads it");
    }
    let is_float = matches!(codec.ty, FieldType::F32 | FieldType::F64);
    let numbers: &[FieldType] = match codec.ty {
        _ if is_float => &[FieldType::F32, FieldType::F64],
        ty if ty.integer_range().is_some() => {
            &[FieldType::I8, FieldType::I16, FieldType::I32, FieldType::I64]
        }
        _ => &[],
    };
    match numbers.iter().find(|&&ty| reads(ty, codec.encoding)) {
        Some(ty) => format!("the type {ty} has as many bytes"),
        None => "declare BYTES to read it as it is".to_owned(),
    }
}
