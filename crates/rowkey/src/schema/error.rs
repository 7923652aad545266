//! Reason why a list of segments is not a schema.

use std::fmt;

/// Reason why a list of segments is not a schema, with the segment and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Index of the segment; `None` for the key as a whole.
    pub segment: Option<usize>,
    /// Reason and fix.
    pub message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.segment {
            Some(segment) => {
                write!(out, "segment {} of the row key: {}", segment + 1, self.message)
            }
            None => write!(out, "row key: {}", self.message),
        }
    }
}

impl std::error::Error for SchemaError {}

impl From<SchemaError> for halite_types::Error {
    fn from(error: SchemaError) -> Self {
        Self::invalid(error.to_string())
    }
}
