//! Conditions for compactions, splits and merges of the region, and the steps of splits and merges
//! that concern one region.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use halite_types::{Error, Result};

use super::snapshot::Family;
use super::{Region, SplitPolicy};
use crate::block_cache::BlockReadOptions;
use crate::catalog::{FileOrigin, layout};
use crate::compaction::{StripeSplit, file_stats, oldest_first};
use crate::store::StoreSnapshot;

impl Region {
    /// Returns `true` if the policy selects a compaction in any store.
    pub(crate) fn needs_compaction(&self) -> bool {
        let snapshot = self.snapshot_ref();
        snapshot.descriptor.compaction_enabled()
            && (0..snapshot.families.len()).any(|index| self.compaction_plan(index).is_some())
    }

    /// Returns `true` if the table's split policy asks for a split and there is room for another
    /// region. A split would cancel running compactions, so their end asks again. The engine's own
    /// table has one region, whatever settings clients have changed.
    pub(crate) fn should_split(&self) -> bool {
        let snapshot = self.snapshot_ref();
        let may = self.shared.scheduler.switches.splits_enabled()
            && snapshot.descriptor.split_enabled()
            && !layout::is_hidden(&self.info.table);
        let sizes =
            snapshot.stores.iter().map(|store| store.files.iter().map(|file| file.bytes()).sum());
        may && snapshot.split_policy().should_split(sizes, self.regions_of_table())
            && !self.claims.any()
            && self.shared.disk.check().is_ok()
            && !self.has_references()
            && self.check_files().is_ok()
            && self.middle_row().is_ok_and(|row| row.is_some())
    }

    /// Returns `true` if the region's files are to be compacted, split or read into the cache.
    pub(crate) fn needs_file_check(&self) -> bool {
        self.needs_compaction() || self.should_split() || self.needs_prefetch()
    }

    /// Returns `true` if files are to be read into the cache: their index and Bloom filters, or all
    /// blocks of a family with `PREFETCH_BLOCKS_ON_OPEN`.
    pub(crate) fn needs_prefetch(&self) -> bool {
        let snapshot = self.snapshot_ref();
        snapshot.families.iter().zip(&snapshot.stores).any(|(family, store)| {
            let cache = &family.cache;
            (cache.on_open && store.files.iter().any(|file| file.needs_prefetch()))
                || (cache.on_read && store.files.iter().any(|file| file.needs_index_prefetch()))
        })
    }

    /// Reads files into the cache, newest first, and their index and Bloom filters before data.
    pub(crate) fn prefetch(&self) {
        let go_on = || self.check_open().is_ok() && !self.shared.scheduler.is_closing();
        self.prefetch_indexes(go_on);
        let snapshot = self.snapshot();
        let stores = snapshot.families.iter().zip(&snapshot.stores);
        for (family, store) in stores.filter(|(family, _)| family.cache.on_open) {
            for file in store.files.iter().filter(|file| file.needs_prefetch()) {
                file.prefetch(family.cache.in_memory, go_on);
            }
        }
    }

    /// Reads index and Bloom filters of large files into the cache, newest file first, while
    /// `go_on` returns `true`. Without them the first get in each part of a file would read 64 to
    /// 128 KB of each of them.
    pub(crate) fn prefetch_indexes(&self, go_on: impl Fn() -> bool) {
        let snapshot = self.snapshot();
        let stores = snapshot.families.iter().zip(&snapshot.stores);
        for (family, store) in stores.filter(|(family, _)| family.cache.on_read) {
            for file in store.files.iter().filter(|file| file.needs_index_prefetch()) {
                file.prefetch_index(family.cache.in_memory, &go_on);
            }
        }
    }

    /// Returns the split policy of the table.
    pub(crate) fn split_policy(&self) -> SplitPolicy {
        self.snapshot_ref().split_policy().clone()
    }

    /// Returns the number of regions of the table.
    fn regions_of_table(&self) -> u64 {
        let catalog = self.shared.manifest.current();
        catalog.tables.get(&self.info.table).map_or(0, |table| table.regions.len() as u64)
    }

    /// Returns `true` if the region can be merged now. It is open, none of its files is damaged,
    /// and none is a part of another region's file, which the first compaction after a split
    /// resolves (HBase's `isMergeable`).
    pub fn is_mergeable(&self) -> bool {
        self.check_open().is_ok() && !self.has_references() && self.check_files().is_ok()
    }

    /// Returns `true` if the region can be split now: it can be merged, and its table's split
    /// policy allows splits (HBase's `isSplittable`).
    pub fn is_splittable(&self) -> bool {
        self.is_mergeable() && self.allows_splits()
    }

    /// Returns `false` if the table's split policy is `DisabledRegionSplitPolicy`, with which a
    /// split that a client requests is refused.
    pub fn allows_splits(&self) -> bool {
        self.snapshot_ref().split_policy().can_split()
    }

    /// Checks that all files of the region are open.
    ///
    /// # Errors
    /// The damage of the first one that is not.
    pub(crate) fn check_files(&self) -> Result<()> {
        self.snapshot_ref().stores.iter().try_for_each(StoreSnapshot::check_files)
    }

    /// Returns the errors of the reads that damaged files prevent, one for each file.
    pub(crate) fn damaged_files(&self) -> Vec<Error> {
        let snapshot = self.snapshot_ref();
        let files = snapshot.stores.iter().flat_map(|store| &store.damaged);
        files.map(|file| file.error.clone()).collect()
    }

    /// Returns `true` if a store still has files that are parts of another region's.
    pub(crate) fn has_references(&self) -> bool {
        self.snapshot_ref()
            .stores
            .iter()
            .flat_map(|store| &store.files)
            .any(|file| file.is_reference())
    }

    /// Returns the split point of the region: the middle row of the largest file of the largest
    /// store that has one, or the border of two of its stripes, shortened as the table's split
    /// policy says. `None` if each is the region's first row or no file has cells.
    ///
    /// # Errors
    /// Damage or a failed read of an index.
    pub fn middle_row(&self) -> Result<Option<Bytes>> {
        let snapshot = self.snapshot();
        let bytes =
            |store: &StoreSnapshot| store.files.iter().map(|file| file.bytes()).sum::<u64>();
        let mut stores: Vec<_> = snapshot.stores.iter().zip(snapshot.families.iter()).collect();
        stores.sort_by_key(|(store, _)| std::cmp::Reverse(bytes(store)));
        for (store, family) in stores {
            if let Some(row) = self.middle_row_of(store, family)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Returns the row at which a split at `row` would divide the region by the table's split policy,
    /// which may keep rows together that begin alike; `None` if it is not inside of the region.
    pub fn split_point(&self, row: &Bytes) -> Option<Bytes> {
        let most = layout::max_region_start_bytes(&self.info.table);
        let row = self.split_policy().split_point(row);
        let is_inside = *row > *self.info.start && self.info.contains(&row);
        (row.len() <= most && is_inside).then_some(row)
    }

    fn middle_row_of(&self, store: &StoreSnapshot, family: &Family) -> Result<Option<Bytes>> {
        let files = oldest_first(store);
        let row = match family.store_policy.split(&file_stats(&files, &[])) {
            StripeSplit::Border(row) => Some(row),
            StripeSplit::Files(places) => {
                let files = places.iter().filter_map(|at| files.get(*at));
                // Of equal files the oldest.
                let Some(file) = files.rev().max_by_key(|file| file.bytes()) else {
                    return Ok(None);
                };
                let blocks = BlockReadOptions::for_maintenance(&self.shared.cache);
                file.reader().split_row(&blocks.for_file(file.physical.id))?.map(Bytes::from)
            }
        };
        let most = layout::max_region_start_bytes(&self.info.table);
        Ok(row
            .map(|row| self.split_policy().split_point(&row))
            .filter(|row| row.len() <= most && *row > self.info.start && self.info.contains(row)))
    }

    /// Returns the sequence id up to which all cells are in store files, as recorded in the
    /// manifest.
    pub(crate) fn flushed_sequence(&self) -> u64 {
        self.flushed.load(Ordering::Acquire)
    }

    /// Returns `true` if the files of some families reach further than those of others.
    pub(crate) fn is_partly_flushed(&self) -> bool {
        let snapshot = self.snapshot_ref();
        let mut flushed = snapshot.stores.iter().map(|store| store.flushed_sequence);
        flushed.next().is_some_and(|first| flushed.any(|other| other != first))
    }

    /// Reopens the region after a failed split or merge.
    pub(crate) fn reopen(&self) {
        self.commits.lock().set_closed(false);
    }

    /// Returns the origins of all its store files.
    pub(crate) fn origins(&self) -> Vec<FileOrigin> {
        let snapshot = self.snapshot_ref();
        let sound = snapshot.stores.iter().flat_map(|store| &store.files);
        let damaged = snapshot.stores.iter().flat_map(|store| &store.damaged);
        let sound = sound.flat_map(|file| file.origins());
        sound.chain(damaged.flat_map(|file| file.origins())).collect()
    }
}
