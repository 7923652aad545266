//! In-memory compaction: rewrites memstores in which later cells hide most cells. Repeated
//! overwrites of the same rows then take the memory of the rows only, and reads do not step over
//! invisible cells. HBase calls it in-memory compaction (`EAGER`).
//!
//! 1. Under the commit lock the store's active memstore is frozen, and an empty one replaces it.
//! 2. The log is written up to that point: the cell that hides another is durable and visible
//!    before the hidden cell is dropped.
//! 3. The cells that a flush would write are copied to another memstore.
//! 4. Cells written in the meantime are frozen in the same way and added, until few remain.
//! 5. Under the commit lock the remaining cells are added, and that memstore becomes the active
//!    one.
//!
//! Nothing changes on disk, and the log retains everything until a flush. If a step fails, the
//! memstores stay frozen, and the next flush includes them.

use std::sync::Arc;

use halite_types::Result;

use super::Region;
use super::snapshot::{Family, RegionSnapshot};
use crate::commit::{CommitGuard, Refusal};
use crate::memstore::MemTable;
use crate::store::StoreSnapshot;

/// Maximum number of cells copied while writers wait: a millisecond or two.
const MAX_CELLS_UNDER_LOCK: usize = 4096;
/// Maximum number of times that concurrent writes are frozen. Each round has fewer cells, unless
/// writers are faster than copying.
const MAX_ROUNDS: usize = 8;

/// In-memory compaction in progress.
struct InMemoryCompaction {
    index: usize,
    /// Frozen memstores whose cells are in `compacted`.
    aside: Vec<Arc<MemTable>>,
    compacted: Arc<MemTable>,
    /// Size of `compacted` in bytes when it contained only the retained cells of the first
    /// memstore.
    compacted_bytes: usize,
}

impl Region {
    /// Compacts the memstores that are mostly overwritten. Returns `true` if there were any.
    ///
    /// # Errors
    /// A log that cannot be written up to the freeze. Nothing is lost.
    pub(crate) fn compact_memstores(&self) -> Result<bool> {
        let _maintenance = self.lock_maintenance();
        let mut any = false;
        for index in 0..self.snapshot_ref().stores.len() {
            any |= self.compact_memstore(index)?;
        }
        self.shared.scheduler.record_memstore_bytes(self);
        Ok(any)
    }

    /// Returns `true` if a memstore of the region is mostly overwritten.
    pub(crate) fn needs_in_memory_compaction(&self, snapshot: &RegionSnapshot) -> bool {
        snapshot
            .families
            .iter()
            .zip(&snapshot.stores)
            .any(|(family, store)| self.should_compact_memstore(family, store))
    }

    fn should_compact_memstore(&self, family: &Family, store: &StoreSnapshot) -> bool {
        let bytes = self.shared.options.in_memory_compaction_bytes;
        family.in_memory_compaction.min_bytes(bytes).is_some_and(|bytes_min| {
            family
                .versions_that_hide()
                .is_some_and(|versions| store.is_mostly_overwritten(versions, bytes_min))
        })
    }

    fn compact_memstore(&self, index: usize) -> Result<bool> {
        let Some(mut condensing) = self.begin_in_memory_compaction(index)? else {
            return Ok(false);
        };
        let commit = self.catch_up(&mut condensing)?;
        self.finish_in_memory_compaction(&condensing, commit);
        Ok(true)
    }

    /// Freezes the memstore and copies its retained cells to another one.
    fn begin_in_memory_compaction(&self, index: usize) -> Result<Option<InMemoryCompaction>> {
        let commit = self.commits.lock();
        let current = self.snapshot();
        if commit.refusal() == Some(Refusal::Closed)
            || !self.should_compact_memstore(&current.families[index], &current.stores[index])
        {
            return Ok(None);
        }
        let frozen = self.freeze(commit, |store| store == index)?;
        let aside = frozen.snapshot.stores[index].frozen.clone();
        let condensed = self.shared.new_memtable_like(&current.stores[index].active);
        let mut writer = condensed.writer();
        self.retained_cells(&frozen, index)?.compact(|cell| {
            writer.insert(cell);
            Ok(())
        })?;
        drop(writer);
        let (held, kept) =
            (aside.iter().map(|memstore| memstore.len()).sum::<usize>(), condensed.len());
        assert!(kept <= held, "an in-memory compaction adds no cells");
        self.record_displaced(held as u64, kept as u64, frozen.sequence);
        let condensed_bytes = condensed.bytes();
        Ok(Some(InMemoryCompaction {
            index,
            aside,
            compacted: condensed,
            compacted_bytes: condensed_bytes,
        }))
    }

    /// Adds the cells written in the meantime, except for a few, while writers continue. Returns
    /// the commit lock, which then blocks writers.
    fn catch_up(&self, condensing: &mut InMemoryCompaction) -> Result<CommitGuard<'_>> {
        for _ in 0..MAX_ROUNDS {
            let commit = self.commits.lock();
            if self.snapshot_ref().stores[condensing.index].active.len() <= MAX_CELLS_UNDER_LOCK {
                return Ok(commit);
            }
            let frozen = self.freeze(commit, |store| store == condensing.index)?;
            for memstore in &frozen.snapshot.stores[condensing.index].frozen {
                if !condensing.aside.iter().any(|known| Arc::ptr_eq(known, memstore)) {
                    add_cells(&condensing.compacted, memstore);
                    condensing.aside.push(Arc::clone(memstore));
                }
            }
        }
        Ok(self.commits.lock())
    }

    /// Adds the remaining cells, and replaces the frozen memstores by the compacted one.
    fn finish_in_memory_compaction(
        &self,
        condensing: &InMemoryCompaction,
        commit: CommitGuard<'_>,
    ) {
        let InMemoryCompaction {
            index,
            aside,
            compacted: condensed,
            compacted_bytes: condensed_bytes,
        } = condensing;
        let current = self.snapshot();
        let mut stores = current.stores.clone();
        let store = &mut stores[*index];
        add_cells(condensed, &store.active);
        assert!(
            condensed.max_sequence() >= store.active.max_sequence(),
            "the compacted memstore has the newest cells"
        );
        store.active.set_read_only();
        store.frozen.retain(|memstore| !aside.iter().any(|known| Arc::ptr_eq(known, memstore)));
        (store.active, store.in_memory_compacted_bytes) = (Arc::clone(condensed), *condensed_bytes);
        self.state.store(Arc::new(current.with_stores(stores)));
        drop(commit);
        self.counters.add_in_memory_compaction();
    }
}

/// Copies the cells of a memstore.
fn add_cells(to: &MemTable, from: &Arc<MemTable>) {
    let mut cursor = from.cursor();
    cursor.seek_to_first();
    let mut writer = to.writer();
    let mut last: Option<(Vec<u8>, u64)> = None;
    while let Some(cell) = cursor.peek() {
        // Of two cells with one key and sequence id the first is the valid one.
        let is_same = last
            .as_ref()
            .is_some_and(|(key, sequence)| *sequence == cell.sequence_id() && key == cell.key());
        if !is_same {
            writer.insert(cell);
            last = Some((cell.key().to_vec(), cell.sequence_id()));
        }
        cursor.next();
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Get, Put, ReadTier, RowOp, TableDescriptor, TableName};

    use super::*;
    use crate::env::sim::SimEnv;
    use crate::{Engine, Options};

    /// Writers wait for the work done under the commit lock.
    #[test]
    fn concurrent_writes_are_added_mostly_without_commit_lock() {
        let options = Options { in_memory_compaction_bytes: 16 << 10, ..Options::default() };
        let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
        let name: TableName = "t".parse().unwrap();
        engine
            .create_table(
                TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")),
                Vec::new(),
            )
            .unwrap();
        let table = engine.table(&name).unwrap();
        let region = table.region_for_row(b"").unwrap();
        let write = |rows: std::ops::Range<usize>, value: &str| {
            let puts = rows
                .map(|row| RowOp::Put(Put::new(format!("{row:06}")).add("f", "q", value)))
                .collect();
            table.batch(puts).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
        };
        (0..300).for_each(|round| write(0..5, &format!("v{round}")));
        let mut condensing = region.begin_in_memory_compaction(0).unwrap().unwrap();
        write(3..4 * MAX_CELLS_UNDER_LOCK, "meanwhile");
        let commit = region.catch_up(&mut condensing).unwrap();
        let left = region.snapshot_ref().stores[0].active.len();
        assert!(left <= MAX_CELLS_UNDER_LOCK, "{left} cells are left for the lock");
        drop(commit);
        write(4..10, "last");
        region.finish_in_memory_compaction(&condensing, region.commits.lock());
        let snapshot = region.snapshot();
        assert_eq!(
            (snapshot.stores[0].frozen.len(), snapshot.stores[0].active.len()),
            (0, 5 + 4 * MAX_CELLS_UNDER_LOCK - 3 + 6)
        );
        let value = |row: usize| {
            let row = table.get(&Get::new(format!("{row:06}")), ReadTier::Disk).unwrap();
            row.value("f", "q").map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let found = [0, 3, 4, 9, 10, 4 * MAX_CELLS_UNDER_LOCK - 1].map(|row| value(row).unwrap());
        assert_eq!(found, ["v299", "meanwhile", "last", "last", "meanwhile", "meanwhile"]);
    }
}
