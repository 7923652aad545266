//! State that all phases of a part share.

use std::path::Path;

use super::progress::Progress;
use super::rows::LargeRows;
use crate::engine::Engine;

/// Open store of a part, with its rows.
pub(super) struct Phase<'a> {
    pub(super) store: &'a dyn Engine,
    pub(super) rows: &'a LargeRows,
    pub(super) folder: &'a Path,
    /// Start of the lines on the standard error output.
    pub(super) label: String,
    /// Time in seconds without work after which flushes and compactions count as finished.
    pub(super) idle_seconds: u32,
}

impl Phase<'_> {
    /// Starts the progress lines of `total` steps of `what`.
    pub(super) fn progress(&self, what: &str, total: u64) -> Progress {
        Progress::new(format!("{} {what}", self.label), total)
    }
}
