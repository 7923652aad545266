//! What all parts share: the programs under test, the report, and directories for stores.

use std::path::PathBuf;

use crate::report::Report;

/// Context shared by all parts.
pub(crate) struct Context {
    /// Path of the `halite` command.
    pub(crate) program: PathBuf,
    /// Library that makes disk calls fail.
    pub(crate) preload: Option<PathBuf>,
    /// Directory below which stores are created.
    pub(crate) work: PathBuf,
    pub(crate) report: Report,
}

impl Context {
    /// Creates a directory in memory, where supported, for stores that are copied thousands of
    /// times.
    pub(crate) fn memory_folder(&self, part: &str) -> tempfile::TempDir {
        tempfile::Builder::new()
            .prefix("halite-torture-")
            .tempdir_in("/dev/shm")
            .unwrap_or_else(|_| self.folder(part))
    }

    /// Creates a directory that is deleted when dropped.
    pub(crate) fn folder(&self, part: &str) -> tempfile::TempDir {
        tempfile::Builder::new()
            .prefix(part)
            .tempdir_in(&self.work)
            .expect("the parent directory is writable")
    }
}
