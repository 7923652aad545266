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
        write!(
            out,
            "segment {} of the row key, at byte {}: {}",
            self.segment + 1,
            self.offset,
            self.kind
        )
    }
}

impl fmt::Display for KeyErrorKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongCount { fields, values } => {
                write!(out, "the key has {fields} fields, and {values} values were given")
            }
            Self::WrongType { expected, given } => {
                write!(out, "a value of type {expected} is wanted, and {given} was given")
            }
            Self::Null => out.write_str("the value is null, and the field is not NULLABLE"),
            Self::Delimiter(delimiter) => {
                write!(
                    out,
                    "the text contains {delimiter:?}, which ends the field in this key; choose \
                     another delimiter, or a profile that escapes"
                )
            }
            Self::TooWide { width, found } => {
                write!(out, "the value takes {found} places, and the key has {width} for it")
            }
            Self::Pattern { field, pattern } => {
                write!(out, "the text does not match '{pattern}', as {field} is declared to")
            }
            Self::NotInDictionary => out.write_str("the dictionary has no such value"),
            Self::Unsupported(reason) | Self::Malformed(reason) => out.write_str(reason),
            Self::Length(0) => out.write_str("the key would be empty"),
            Self::Length(bytes) => {
                write!(out, "the key would have {bytes} bytes, and a row key has at most 32767")
            }
            Self::Short => out.write_str("the key ends inside it"),
            Self::Rest(bytes) => write!(out, "{bytes} bytes follow the last segment"),
            Self::Derived => {
                out.write_str("the bytes are not those that belong to the fields of this key")
            }
            Self::NotUtf8 => out.write_str("the bytes are not UTF-8"),
            Self::Ambiguous => out.write_str(
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
