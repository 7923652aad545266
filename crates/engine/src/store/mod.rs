//! One family of a region: its memstores and store files, as one immutable snapshot.

mod archiver;
mod cache_settings;
mod damaged_file;
mod divided_files;
mod division;
pub(crate) mod external_file;
mod file;
mod file_label;
mod stripe_bounds;
mod write;

use std::sync::Arc;

pub(crate) use archiver::{FileArchiver, remove_region_directory};
pub(crate) use cache_settings::{BlockClasses, CacheSettings};
pub(crate) use damaged_file::DamagedFile;
pub(crate) use divided_files::write_files;
pub(crate) use division::{Division, StripeFile};
pub use file::BloomFailures;
pub(crate) use file::{Clip, OpenedFile, StoreFile, StoreFiles};
pub(crate) use file_label::{STORE_ID_KEY, check_name, generation_of, name_of, region_number_of};
pub(crate) use stripe_bounds::StripeBounds;
pub(crate) use write::{NewFile, write_file, writer_options};

use crate::memstore::MemTable;
use halite_types::Result;

/// All sources of a store's cells at one moment. Readers hold it; a write to the active memstore
/// appears in it, under a newer sequence id.
#[derive(Clone)]
pub(crate) struct StoreSnapshot {
    pub(crate) active: Arc<MemTable>,
    /// Bytes of the active memstore after its last in-memory compaction; 0 if there was none.
    pub(crate) in_memory_compacted_bytes: usize,
    /// Memstores being flushed, oldest first.
    pub(crate) frozen: Vec<Arc<MemTable>>,
    /// Sequence id up to which all cells of the family are in store files.
    pub(crate) flushed_sequence: u64,
    /// Store files, the one with the highest sequence ids first.
    pub(crate) files: Vec<Arc<StoreFile>>,
    /// Files that cannot be opened; the store is not read while there are any.
    pub(crate) damaged: Vec<Arc<DamagedFile>>,
}

impl StoreSnapshot {
    /// Returns a store without frozen memstores, whose cells are in files up to
    /// `flushed_sequence`.
    pub(crate) fn new(
        active: Arc<MemTable>,
        files: Vec<Arc<StoreFile>>,
        flushed_sequence: u64,
    ) -> Self {
        Self {
            active,
            in_memory_compacted_bytes: 0,
            frozen: Vec::new(),
            flushed_sequence,
            files,
            damaged: Vec::new(),
        }
    }

    /// Checks that all files are open, so that a read finds every cell.
    ///
    /// # Errors
    /// The damage of the first file that is not.
    #[inline]
    pub(crate) fn check_files(&self) -> Result<()> {
        self.damaged.first().map_or(Ok(()), |file| Err(file.error.clone()))
    }

    /// Returns `true` if the active memstore has grown to `bytes_min` bytes and half of its cells
    /// are hidden. `versions` cells of a column hide all older ones. Columns are assumed to be
    /// written equally often.
    pub(crate) fn is_mostly_overwritten(&self, versions: u32, bytes_min: usize) -> bool {
        // The cells retained last time may be retained again, so the memstore has to double first.
        let bytes_min = bytes_min.max(self.in_memory_compacted_bytes.saturating_mul(2));
        if !self.frozen.is_empty() || self.active.bytes() < bytes_min {
            return false;
        }
        // Each column has twice as many cells as are visible: all but one of them were inserted
        // next to another.
        let held = u64::from(versions) * 2;
        self.active.overwrites() as u64 * held >= self.active.len() as u64 * (held - 1)
    }

    /// Returns the memory in bytes of the cells that are not in a file.
    pub(crate) fn memstore_bytes(&self) -> usize {
        self.active.bytes() + self.frozen.iter().map(|table| table.bytes()).sum::<usize>()
    }

    /// Returns the nonempty memstores.
    pub(crate) fn memstores(&self) -> impl Iterator<Item = &Arc<MemTable>> {
        std::iter::once(&self.active).chain(&self.frozen).filter(|table| !table.is_empty())
    }

    /// Returns `true` if there are cells that are not in a file.
    pub(crate) fn has_cells(&self) -> bool {
        self.memstores().next().is_some()
    }

    /// Returns `true` if the files are newest first, the memstores being flushed are read-only, and
    /// the active one is not.
    pub(crate) fn is_in_order(&self) -> bool {
        self.files.is_sorted_by(|a, b| a.max_sequence() >= b.max_sequence())
            && self.frozen.iter().all(|memstore| memstore.is_read_only())
            && !self.active.is_read_only()
    }

    /// Sorts files newest first. Files of one compaction are in the order of their timestamps, so
    /// that those of one window of time are adjacent.
    pub(crate) fn sort_files(files: &mut [Arc<StoreFile>]) {
        let newest = |file: &StoreFile| file.reader().time_range().map(|times| *times.end());
        files.sort_by(|a, b| {
            b.max_sequence()
                .cmp(&a.max_sequence())
                .then_with(|| newest(b).cmp(&newest(a)))
                .then_with(|| a.entry.name.cmp(&b.entry.name))
        });
    }
}
