//! Why a value cannot become part of a key, and why bytes are no key of a schema.

use std::fmt;

/// What is wrong with a value or with the bytes of a key; small, because scans meet it row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// The segment of the schema where it is wrong, counted from 0.
    pub segment: usize,
    /// The byte of the key where that segment begins; for encoding, how many bytes were written before it.
    pub at: usize,
    /// What is wrong there.
    pub cause: Cause,
}

/// What can be wrong with one segment of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Encoding: as many values as the schema has fields are wanted.
    WrongCount {
        /// Fields of the schema.
        fields: usize,
        /// Values that were given.
        values: usize,
    },
    /// Encoding: the value is not of the field's type, or outside its range or width.
    WrongType {
        /// The type, as it is declared.
        wanted: String,
        /// What was given.
        given: &'static str,
    },
    /// Encoding: null for a field that is not nullable.
    Null,
    /// Encoding: text that contains what ends it in this profile.
    Delimiter(String),
    /// Encoding: more digits than the width that was declared.
    TooWide {
        /// Digits or bytes that were declared.
        width: usize,
        /// What the value has.
        found: usize,
    },
    /// Text that does not match what is declared for its field.
    Pattern {
        /// The field.
        field: String,
        /// What is declared.
        pattern: String,
    },
    /// Encoding: a value that a dictionary does not have.
    NotInDictionary,
    /// Encoding: what this profile cannot write, in words.
    Unsupported(&'static str),
    /// Encoding: the key would be longer than HBase's rows, or empty.
    Length(usize),
    /// Decoding: the key ends inside the segment.
    Short,
    /// Decoding: bytes follow the last segment.
    Rest(usize),
    /// Decoding: bytes that the encoding of this type never makes, in words.
    Malformed(&'static str),
    /// Decoding: a salt, hash, bucket or constant is not the one that belongs to the fields.
    Derived,
    /// Decoding: bytes that are to be text are not UTF-8.
    NotUtf8,
    /// Decoding: the schema does not say where the segment ends.
    Ambiguous,
}

impl KeyError {
    /// An error at a segment.
    pub fn new(segment: usize, at: usize, cause: Cause) -> Self {
        Self { segment, at, cause }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "segment {} of the row key, at byte {}: ", self.segment + 1, self.at)?;
        match &self.cause {
            Cause::WrongCount { fields, values } => write!(out, "the key has {fields} fields, and {values} values were given"),
            Cause::WrongType { wanted, given } => write!(out, "a value of type {wanted} is wanted, and {given} was given"),
            Cause::Null => out.write_str("the value is null, and the field is not NULLABLE"),
            Cause::Delimiter(delimiter) => {
                write!(out, "the text contains {delimiter:?}, which ends the field in this key; choose another delimiter, or a profile that escapes")
            }
            Cause::TooWide { width, found } => write!(out, "the value takes {found} places, and the key has {width} for it"),
            Cause::Pattern { field, pattern } => write!(out, "the text does not match '{pattern}', as {field} is declared to"),
            Cause::NotInDictionary => out.write_str("the dictionary has no such value"),
            Cause::Unsupported(what) | Cause::Malformed(what) => out.write_str(what),
            Cause::Length(0) => out.write_str("the key would be empty"),
            Cause::Length(bytes) => write!(out, "the key would have {bytes} bytes, and a row key has at most 32767"),
            Cause::Short => out.write_str("the key ends inside it"),
            Cause::Rest(bytes) => write!(out, "{bytes} bytes follow the last segment"),
            Cause::Derived => out.write_str("the bytes are not those that belong to the fields of this key"),
            Cause::NotUtf8 => out.write_str("the bytes are not UTF-8"),
            Cause::Ambiguous => out.write_str("the schema does not say where it ends: give it a fixed width, or a delimiter behind it"),
        }
    }
}

impl std::error::Error for KeyError {}

impl From<KeyError> for halite_types::Error {
    fn from(error: KeyError) -> Self {
        Self::invalid(error.to_string())
    }
}
