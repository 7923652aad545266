//! Errors of this program: texts for the person at the terminal.

/// Result with a human-readable error.
pub(crate) type Result<T, E = String> = std::result::Result<T, E>;
