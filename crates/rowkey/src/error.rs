//! Errors of encoding and decoding keys.

use std::fmt;

/// Error in a value or in the bytes of a key; small, because scans may create one per row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// Index of the invalid segment in the schema.
    pub segment: usize,
    /// Offset at which that segment begins; for encoding, the number of bytes written before it.
    pub offset: usize,
    /// Kind of the error.
    pub kind: KeyErrorKind,
}

/// Kind of an error in one segment of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyErrorKind {
    /// Encoding: the number of values differs from the number of fields.
    WrongCount {
        /// Fields of the schema.
        fields: usize,
        /// Number of values.
        values: usize,
    },
    /// Encoding: the value is not of the field's type, or outside its range or width.
    WrongType {
        /// Type, as declared.
        expected: String,
        /// Kind of the value.
        given: &'static str,
    },
    /// Encoding: null for a field that is not nullable.
    Null,
    /// Encoding: text that contains its delimiter in this profile.
    Delimiter(String),
    /// Encoding: more digits than the declared width.
    TooWide {
        /// Declared digits or bytes.
        width: usize,
        /// Digits or bytes of the value.
        found: usize,
    },
    /// Text that does not match the declared pattern of its field.
    Pattern {
        /// Name of the field.
        field: String,
        /// Declared pattern.
        pattern: String,
    },
    /// Encoding: a value that is not in the dictionary.
    NotInDictionary,
    /// Encoding: a feature that this profile does not support, in words.
    Unsupported(&'static str),
    /// Encoding: the key would be empty or longer than HBase's limit.
    Length(usize),
    /// Decoding: the key ends inside the segment.
    Short,
    /// Decoding: bytes follow the last segment.
    Rest(usize),
    /// Decoding: bytes that the encoding of this type never produces, in words.
    Malformed(&'static str),
    /// Decoding: a salt, hash, bucket or constant does not match the fields.
    Derived,
    /// Decoding: bytes of text are not UTF-8.
    NotUtf8,
    /// Decoding: the schema does not determine the end of the segment.
    Ambiguous,
}

impl KeyError {
    /// Creates an error at a segment.
    pub fn new(segment: usize, offset: usize, kind: KeyErrorKind) -> Self {
        Self { segment, offset, kind }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "segment {} of the row key, at byte {}: ", self.segment + 1, self.offset)?;
        match &self.kind {
            KeyErrorKind::WrongCount { fields, values } => {
                write!(out, "the key has {fields} fields, and {values} values were given")
            }
            KeyErrorKind::WrongType { expected, given } => {
                write!(out, "a value of type {expected} is wanted, and {given} was given")
            }
            KeyErrorKind::Null => out.write_str("the value is null, and the field is not NULLABLE"),
            KeyErrorKind::Delimiter(delimiter) => {
                write!(
                    out,
                    "the text contains {delimiter:?}, which ends the field in this key; choose \
                     another delimiter, or a profile that escapes"
                )
            }
            KeyErrorKind::TooWide { width, found } => {
                write!(out, "the value takes {found} places, and the key has {width} for it")
            }
            KeyErrorKind::Pattern { field, pattern } => {
                write!(out, "the text does not match '{pattern}', as {field} is declared to")
            }
            KeyErrorKind::NotInDictionary => out.write_str("the dictionary has no such value"),
            KeyErrorKind::Unsupported(reason) | KeyErrorKind::Malformed(reason) => {
                out.write_str(reason)
            }
            KeyErrorKind::Length(0) => out.write_str("the key would be empty"),
            KeyErrorKind::Length(bytes) => {
                write!(out, "the key would have {bytes} bytes, and a row key has at most 32767")
            }
            KeyErrorKind::Short => out.write_str("the key ends inside it"),
            KeyErrorKind::Rest(bytes) => write!(out, "{bytes} bytes follow the last segment"),
            KeyErrorKind::Derived => {
                out.write_str("the bytes are not those that belong to the fields of this key")
            }
            KeyErrorKind::NotUtf8 => out.write_str("the bytes are not UTF-8"),
            KeyErrorKind::Ambiguous => out.write_str(
                "the schema does not say where it ends: give it a fixed width, or a delimiter \
                 after it",
            ),
        }
    }
}

impl std::error::Error for KeyError {}

impl From<KeyError> for halite_types::Error {
    fn from(error: KeyError) -> Self {
        Self::invalid(error.to_string())
    }
}
