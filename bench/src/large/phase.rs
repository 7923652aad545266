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
    /// Whether to measure after all flushes and compactions; verification needs no such wait.
    pub(super) settles: bool,
}

impl Phase<'_> {
    /// Starts the progress lines of `total` steps of `what`.
    pub(super) fn progress(&self, what: &str, total: u64) -> Progress {
        Progress::new(format!("{} {what}", self.label), total)
    }
}
