//! What the region wants done or can have done, and the small steps of splitting and merging that concern one region.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use halite_types::Result;

use super::Region;
use crate::cache::ReadBlocks;
use crate::catalog::{Home, layout};

impl Region {
    /// Whether the policy finds a store worth compacting.
    pub(crate) fn wants_compaction(&self) -> bool {
        let snapshot = self.snapshot_ref();
        snapshot.descriptor.compaction_enabled() && (0..snapshot.families.len()).any(|index| self.compaction_plan(index).is_some())
    }

    /// Whether the largest store has grown past what a region should hold, and there is room for another. The engine's own table has one
    /// region, whatever clients have set of it.
    pub(crate) fn wants_split(&self) -> bool {
        let snapshot = self.snapshot_ref();
        let most = snapshot.descriptor.max_file_size_bytes().unwrap_or(self.shared.options.region_file_bytes_max);
        let largest = snapshot.stores.iter().map(|store| store.files.iter().map(|file| file.bytes()).sum::<u64>()).max().unwrap_or(0);
        let may = self.shared.background.permits.splits() && snapshot.descriptor.split_enabled() && !layout::is_hidden(&self.info.table);
        may && self.shared.disk.check().is_ok() && largest > most && !self.has_references() && self.middle_row().is_ok_and(|row| row.is_some())
    }

    /// Whether the region can be split or merged now: it is open and none of its files is a part of another region's,
    /// which the first compaction after a split mends (HBase's `isSplittable` and `isMergeable`).
    pub fn is_splittable(&self) -> bool {
        self.check_open().is_ok() && !self.has_references()
    }

    /// Whether a store still has files that are parts of another region's.
    pub(crate) fn has_references(&self) -> bool {
        self.snapshot_ref().stores.iter().flat_map(|store| &store.files).any(|file| file.is_reference())
    }

    /// The row in the middle of the largest file of the largest store, where the region would be split; `None` if that is
    /// the region's first row, or nothing is in a file.
    ///
    /// # Errors
    /// Damage or a failed read of an index.
    pub fn middle_row(&self) -> Result<Option<Bytes>> {
        let snapshot = self.snapshot();
        let bytes = |store: &&crate::store::StoreSnapshot| store.files.iter().map(|file| file.bytes()).sum::<u64>();
        let Some(store) = snapshot.stores.iter().max_by_key(bytes) else { return Ok(None) };
        let Some(file) = store.files.iter().max_by_key(|file| file.bytes()) else { return Ok(None) };
        let blocks = ReadBlocks::for_maintenance(&self.shared.cache);
        let row = file.reader().split_row(&blocks.of(file))?;
        let most = layout::region_start_bytes_max(&self.info.table);
        Ok(row.map(Bytes::from).filter(|row| row.len() <= most && *row > self.info.start && self.info.contains(row)))
    }

    /// Everything up to this sequence id is in store files, as the manifest says.
    pub(crate) fn flushed_sequence(&self) -> u64 {
        self.flushed.load(Ordering::Acquire)
    }

    /// A split or merge did not come about: the region is served again.
    pub(crate) fn reopen(&self) {
        self.lock_commit().closed = false;
    }

    /// Everything its store files are and stand for.
    pub(crate) fn homes(&self) -> Vec<Home> {
        self.snapshot_ref().stores.iter().flat_map(|store| &store.files).flat_map(|file| file.homes()).collect()
    }
}
