//! Bulk loading of existing store files into a table.

use bytes::Bytes;

/// Store files (HFiles, version 3) to load into a table. The files of one region are loaded
/// atomically. Their cells count as written at load time, regardless of their sequence ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkLoad {
    /// Family and absolute path of each file. A family may have several files.
    pub files: Vec<(Bytes, String)>,
    /// `true` if the original files are kept. Otherwise a file on the store's disk is not copied
    /// but renamed. A process that has the file open, or knows a third name of it, can then change
    /// verified and loaded data, so no other process may write to it.
    pub copy: bool,
    /// `true` if every byte is read and verified first; of a copy, the copied bytes. Otherwise only
    /// the ends of a file are read, as in HBase, and damage in the middle is detected by a later
    /// read.
    pub verify: bool,
}

impl Default for BulkLoad {
    fn default() -> Self {
        Self { files: Vec::new(), copy: false, verify: true }
    }
}

impl BulkLoad {
    /// Creates a bulk load without files. Its cells count as written at load time; files are moved
    /// and verified.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file of a family by its absolute path.
    #[must_use]
    pub fn file(mut self, family: impl Into<Bytes>, path: impl Into<String>) -> Self {
        self.files.push((family.into(), path.into()));
        self
    }

    /// Keeps the original files.
    #[must_use]
    pub fn copied(mut self) -> Self {
        self.copy = true;
        self
    }
}
