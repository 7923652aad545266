//! Errors of tasks: texts for the person at the terminal.

/// Result of a task: nothing, or a human-readable error.
pub(crate) type Result<T, E = String> = std::result::Result<T, E>;
