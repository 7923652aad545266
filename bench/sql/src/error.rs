//! Errors of the benchmark.

/// Result of a part of the benchmark.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
