//! Store file that cannot be opened because its load-on-open blocks are damaged.
//!
//! Its region is open without it. Reads of the family fail, because they would miss its cells, and
//! nothing replaces the file: it is neither compacted nor referenced by a split or merge. HBase
//! does not open such a region at all, and its master retries indefinitely.

use halite_types::key::to_string_binary;
use halite_types::{Error, RegionInfo};

use crate::catalog::{FileEntry, FileOrigin};

/// Damaged file of a store, and what its reads return.
#[derive(Debug)]
pub(crate) struct DamagedFile {
    pub(crate) entry: FileEntry,
    /// Error of every read of the store: the region, the family, the file, the position of the
    /// damage and the repair.
    pub(crate) error: Error,
    /// As those of [`StoreFile`](super::StoreFile).
    origins: [FileOrigin; 2],
}

impl DamagedFile {
    /// `damage` is the error of the attempt to open the file.
    pub(super) fn new(
        entry: FileEntry,
        region: &RegionInfo,
        origins: [FileOrigin; 2],
        damage: &Error,
    ) -> Self {
        let text = format!(
            "region {}, family {} cannot be read or compacted: {damage}; once it is restored, \
             disable and enable the table, or reopen the store",
            region.display_name(),
            to_string_binary(&origins[0].family),
        );
        Self { entry, error: Error::new(damage.kind(), text), origins }
    }

    /// Returns the files that may be deleted once the region no longer exists.
    pub(crate) fn origins(&self) -> impl Iterator<Item = FileOrigin> {
        self.origins.iter().cloned()
    }
}
