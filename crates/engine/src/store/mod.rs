//! One family of a region: its memstores and store files, as one immutable snapshot.

mod file;
mod settle;
mod write;

use std::sync::Arc;

pub(crate) use file::{Clip, StoreFile, StoreFiles};
pub(crate) use settle::{Placing, remove_region_directory};
pub(crate) use write::{NewFile, STORE_ID_KEY, check_name, generation_of, name_of, region_number_of, write_file, writer_options};

use crate::memstore::MemTable;

/// Everything that holds cells of a store at one moment. Readers keep it; a write to the active memstore shows in it,
/// under a newer sequence id.
#[derive(Clone)]
pub(crate) struct StoreSnapshot {
    pub(crate) active: Arc<MemTable>,
    /// Bytes of the active memstore when it was last written anew; 0 if it has not been.
    pub(crate) condensed_bytes: usize,
    /// Memstores being flushed, oldest first.
    pub(crate) frozen: Vec<Arc<MemTable>>,
    /// Store files, the one with the highest sequence ids first.
    pub(crate) files: Vec<Arc<StoreFile>>,
}

impl StoreSnapshot {
    /// A store without memstores' cells.
    pub(crate) fn new(active: Arc<MemTable>, files: Vec<Arc<StoreFile>>) -> Self {
        Self { active, condensed_bytes: 0, frozen: Vec::new(), files }
    }

    /// Whether the active memstore has grown to `bytes_min` bytes and half of its cells are hidden, where `versions` of a
    /// column hide what is older. Columns are taken to be written equally often.
    pub(crate) fn is_mostly_overwritten(&self, versions: u32, bytes_min: usize) -> bool {
        // What was left last time may be left again, so it has to double first.
        let bytes_min = bytes_min.max(self.condensed_bytes.saturating_mul(2));
        if !self.frozen.is_empty() || self.active.bytes() < bytes_min {
            return false;
        }
        // Each column holds twice as many as are seen: all but one of them came to stand beside another.
        let held = u64::from(versions) * 2;
        self.active.overwrites() as u64 * held >= self.active.len() as u64 * (held - 1)
    }

    /// Memory of the cells that are not in a file.
    pub(crate) fn memstore_bytes(&self) -> usize {
        self.active.bytes() + self.frozen.iter().map(|table| table.bytes()).sum::<usize>()
    }

    /// The memstores that hold anything.
    pub(crate) fn memstores(&self) -> impl Iterator<Item = &Arc<MemTable>> {
        std::iter::once(&self.active).chain(&self.frozen).filter(|table| !table.is_empty())
    }

    /// Sorts files newest first.
    pub(crate) fn sort_files(files: &mut [Arc<StoreFile>]) {
        files.sort_by(|a, b| b.max_sequence().cmp(&a.max_sequence()).then_with(|| a.entry.name.cmp(&b.entry.name)));
    }
}
