//! Memstores that are mostly cells which later ones hide are written anew, in memory: overwriting the same rows over and over
//! takes the memory of the rows, and reads do not step over what nobody can see. HBase calls it in-memory compaction (`EAGER`).
//!
//! 1. Under the commit lock the store's active memstore is set aside, and an empty one takes its place.
//! 2. The log is brought up to that point: what hides a cell is durable and visible before the cell goes.
//! 3. What a flush would write of it goes into another memstore.
//! 4. Under the commit lock, what was written meanwhile is added, and that memstore becomes the active one.
//!
//! Nothing changes on disk, and the log keeps everything until a flush. Where it fails on the way the memstore stays set aside,
//! and the next flush takes it along.

use std::sync::Arc;

use halite_types::Result;

use super::Region;
use super::snapshot::{Family, RegionSnapshot};
use crate::memstore::MemTable;
use crate::store::StoreSnapshot;

impl Region {
    /// Writes those memstores anew that are mostly overwritten. Whether there were any.
    ///
    /// # Errors
    /// A log that cannot be brought up to date; nothing is lost.
    pub(crate) fn condense(&self) -> Result<bool> {
        let _maintenance = self.lock_maintenance();
        let mut any = false;
        for index in 0..self.snapshot_ref().stores.len() {
            any |= self.condense_store(index)?;
        }
        self.shared.background.note_memstore(self);
        Ok(any)
    }

    /// Whether a memstore of the region is mostly overwritten.
    pub(crate) fn wants_condensing(&self, snapshot: &RegionSnapshot) -> bool {
        snapshot.families.iter().zip(&snapshot.stores).any(|(family, store)| self.is_worth_it(family, store))
    }

    fn is_worth_it(&self, family: &Family, store: &StoreSnapshot) -> bool {
        let bytes_min = self.shared.options.memstore_condense_bytes;
        bytes_min > 0 && family.versions_that_hide().is_some_and(|versions| store.is_mostly_overwritten(versions, bytes_min))
    }

    fn condense_store(&self, index: usize) -> Result<bool> {
        let commit = self.lock_commit();
        let current = self.snapshot();
        if commit.closed || !self.is_worth_it(&current.families[index], &current.stores[index]) {
            return Ok(false);
        }
        let frozen = self.freeze(commit, |store| store == index)?;
        let (old, meanwhile) = (&frozen.snapshot.stores[index].frozen, &frozen.snapshot.stores[index].active);
        let condensed = self.shared.successor_of(&current.stores[index].active);
        let mut writer = condensed.writer();
        self.survivors(&frozen, index)?.compact(|cell| {
            writer.insert(cell);
            Ok(())
        })?;
        drop(writer);
        self.note_displaced(old.iter().map(|memstore| memstore.len() as u64).sum(), condensed.len() as u64, frozen.sequence);
        let condensed_bytes = condensed.bytes();
        // Most of what was written meanwhile while writers still go on.
        let copied = self.mvcc.applied();
        add_cells(&condensed, meanwhile, |sequence| sequence <= copied);
        self.swap(|current| {
            add_cells(&condensed, meanwhile, |sequence| sequence > copied);
            let mut stores = current.stores.clone();
            let store = &mut stores[index];
            store.frozen.retain(|memstore| !old.iter().any(|old| Arc::ptr_eq(old, memstore)));
            (store.active, store.condensed_bytes) = (Arc::clone(&condensed), condensed_bytes);
            current.with_stores(stores)
        });
        self.counters.add_condensation();
        Ok(true)
    }
}

/// Copies the cells with these sequence ids.
fn add_cells(to: &MemTable, from: &Arc<MemTable>, is_wanted: impl Fn(u64) -> bool) {
    let mut cursor = from.cursor();
    cursor.seek_to_first();
    let mut writer = to.writer();
    let mut last: Option<(Vec<u8>, u64)> = None;
    while let Some(cell) = cursor.peek() {
        // Of two cells with one key and sequence id the first is the one that counts.
        let is_same = last.as_ref().is_some_and(|(key, sequence)| *sequence == cell.sequence() && key == cell.key());
        if is_wanted(cell.sequence()) && !is_same {
            writer.insert(cell);
            last = Some((cell.key().to_vec(), cell.sequence()));
        }
        cursor.next();
    }
}
