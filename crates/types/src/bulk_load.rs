//! Bulk loading: store files made elsewhere that are to become part of a table.

use bytes::Bytes;

/// Store files (HFiles, version 3) to be loaded into a table. Those that belong to one region are loaded all or none. Their
/// cells count as written at the time of the load, whatever sequence ids they carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkLoad {
    /// Each with its family and its path, which is whole, from the machine's own root. Of one family there may be several.
    pub files: Vec<(Bytes, String)>,
    /// Whether the originals stay. If not, a file on the disk of the store is not copied: it gets another name, and whoever has it
    /// open, or knows it by a third name, can change what has been verified and loaded. So nobody else may write to it any more.
    pub copy: bool,
    /// Whether every byte is read and checked first, of a copy as it was copied. Without it only the ends of a file are looked at, as
    /// in HBase, and damage in its middle shows when somebody reads there.
    pub verify: bool,
}

impl Default for BulkLoad {
    fn default() -> Self {
        Self { files: Vec::new(), copy: false, verify: true }
    }
}

impl BulkLoad {
    /// No file yet. The cells will count as written at the time of the load; files move, and are verified.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file of a family by its whole path.
    #[must_use]
    pub fn file(mut self, family: impl Into<Bytes>, path: impl Into<String>) -> Self {
        self.files.push((family.into(), path.into()));
        self
    }

    /// The originals stay.
    #[must_use]
    pub fn copied(mut self) -> Self {
        self.copy = true;
        self
    }
}
