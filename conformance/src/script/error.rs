//! Errors of reading a case file.

use std::fmt;

use halite_types::Error;

/// Line that is neither a command nor a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// Reason why it is invalid.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}; conformance/README.md has the format", self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

/// Reason why a line is not a valid command.
#[derive(Debug)]
pub(super) enum CommandError {
    /// It is not in the format.
    Malformed(String),
    /// It is in the format, but the types reject its value.
    Rejected(Error),
}

impl CommandError {
    pub(super) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed(reason.into())
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}
