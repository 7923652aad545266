//! Memstores that are mostly cells which later ones hide are written anew, in memory: overwriting the same rows over and over
//! takes the memory of the rows, and reads do not step over what nobody can see. HBase calls it in-memory compaction (`EAGER`).
//!
//! 1. Under the commit lock the store's active memstore is set aside, and an empty one takes its place.
//! 2. The log is brought up to that point: what hides a cell is durable and visible before the cell goes.
//! 3. What a flush would write of it goes into another memstore.
//! 4. What was written meanwhile is set aside in the same way and added, until it is little.
//! 5. Under the commit lock that little is added, and that memstore becomes the active one.
//!
//! Nothing changes on disk, and the log keeps everything until a flush. Where it fails on the way the memstores stay set aside,
//! and the next flush takes them along.

use std::sync::{Arc, MutexGuard};

use halite_types::Result;

use super::Region;
use super::commit::CommitState;
use super::snapshot::{Family, RegionSnapshot};
use crate::memstore::MemTable;
use crate::store::StoreSnapshot;

/// Cells that are copied while writers wait: a millisecond or two.
const CELLS_UNDER_LOCK_MAX: usize = 4096;
/// How often what was written meanwhile is set aside. Each time it is less, unless writers are quicker than copying.
const ROUNDS_MAX: usize = 8;

/// A memstore being written anew.
struct Condensing {
    index: usize,
    /// What was set aside and is in `condensed` now.
    aside: Vec<Arc<MemTable>>,
    condensed: Arc<MemTable>,
    /// Bytes of it when it held nothing but what was left of the first.
    condensed_bytes: usize,
}

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
        let Some(mut condensing) = self.begin_condensing(index)? else { return Ok(false) };
        let commit = self.catch_up(&mut condensing)?;
        self.end_condensing(&condensing, commit);
        Ok(true)
    }

    /// Sets the memstore aside and writes what is left of it into another one.
    fn begin_condensing(&self, index: usize) -> Result<Option<Condensing>> {
        let commit = self.lock_commit();
        let current = self.snapshot();
        if commit.closed || !self.is_worth_it(&current.families[index], &current.stores[index]) {
            return Ok(None);
        }
        let frozen = self.freeze(commit, |store| store == index)?;
        let aside = frozen.snapshot.stores[index].frozen.clone();
        let condensed = self.shared.successor_of(&current.stores[index].active);
        let mut writer = condensed.writer();
        self.survivors(&frozen, index)?.compact(|cell| {
            writer.insert(cell);
            Ok(())
        })?;
        drop(writer);
        self.note_displaced(aside.iter().map(|memstore| memstore.len() as u64).sum(), condensed.len() as u64, frozen.sequence);
        let condensed_bytes = condensed.bytes();
        Ok(Some(Condensing { index, aside, condensed, condensed_bytes }))
    }

    /// Adds what has been written meanwhile, but for a little, while writers go on; then keeps them waiting.
    fn catch_up(&self, condensing: &mut Condensing) -> Result<MutexGuard<'_, CommitState>> {
        for _ in 0..ROUNDS_MAX {
            let commit = self.lock_commit();
            if self.snapshot_ref().stores[condensing.index].active.len() <= CELLS_UNDER_LOCK_MAX {
                return Ok(commit);
            }
            let frozen = self.freeze(commit, |store| store == condensing.index)?;
            for memstore in &frozen.snapshot.stores[condensing.index].frozen {
                if !condensing.aside.iter().any(|known| Arc::ptr_eq(known, memstore)) {
                    add_cells(&condensing.condensed, memstore);
                    condensing.aside.push(Arc::clone(memstore));
                }
            }
        }
        Ok(self.lock_commit())
    }

    /// Adds the rest, and puts the memstore in the place of those that were set aside.
    fn end_condensing(&self, condensing: &Condensing, commit: MutexGuard<'_, CommitState>) {
        let Condensing { index, aside, condensed, condensed_bytes } = condensing;
        let current = self.snapshot();
        let mut stores = current.stores.clone();
        let store = &mut stores[*index];
        add_cells(condensed, &store.active);
        store.frozen.retain(|memstore| !aside.iter().any(|known| Arc::ptr_eq(known, memstore)));
        (store.active, store.condensed_bytes) = (Arc::clone(condensed), *condensed_bytes);
        self.state.store(Arc::new(current.with_stores(stores)));
        drop(commit);
        self.counters.add_condensation();
    }
}

/// Copies the cells of a memstore.
fn add_cells(to: &MemTable, from: &Arc<MemTable>) {
    let mut cursor = from.cursor();
    cursor.seek_to_first();
    let mut writer = to.writer();
    let mut last: Option<(Vec<u8>, u64)> = None;
    while let Some(cell) = cursor.peek() {
        // Of two cells with one key and sequence id the first is the one that counts.
        let is_same = last.as_ref().is_some_and(|(key, sequence)| *sequence == cell.sequence() && key == cell.key());
        if !is_same {
            writer.insert(cell);
            last = Some((cell.key().to_vec(), cell.sequence()));
        }
        cursor.next();
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Get, Put, RowOp, TableDescriptor, TableName, Tier};

    use super::*;
    use crate::env::sim::SimEnv;
    use crate::{Engine, Options};

    /// Writers wait for what is done under the commit lock.
    #[test]
    fn what_is_written_beside_a_condensation_is_added_but_for_a_little_while_writers_go_on() {
        let options = Options { memstore_condense_bytes: 16 << 10, ..Options::default() };
        let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
        let name: TableName = "t".parse().unwrap();
        engine.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")), Vec::new()).unwrap();
        let table = engine.table(&name).unwrap();
        let region = table.region_of(b"").unwrap();
        let write = |rows: std::ops::Range<usize>, value: &str| {
            let puts = rows.map(|row| RowOp::Put(Put::new(format!("{row:06}")).add("f", "q", value))).collect();
            table.apply(puts).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
        };
        (0..300).for_each(|round| write(0..5, &format!("v{round}")));
        let mut condensing = region.begin_condensing(0).unwrap().unwrap();
        write(3..4 * CELLS_UNDER_LOCK_MAX, "meanwhile");
        let commit = region.catch_up(&mut condensing).unwrap();
        let left = region.snapshot_ref().stores[0].active.len();
        assert!(left <= CELLS_UNDER_LOCK_MAX, "{left} cells are left for the lock");
        drop(commit);
        write(4..10, "last");
        region.end_condensing(&condensing, region.lock_commit());
        let snapshot = region.snapshot();
        assert_eq!((snapshot.stores[0].frozen.len(), snapshot.stores[0].active.len()), (0, 5 + 4 * CELLS_UNDER_LOCK_MAX - 3 + 6));
        let value = |row: usize| {
            let row = table.get(&Get::new(format!("{row:06}")), Tier::Disk).unwrap();
            row.value("f", "q").map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let found = [0, 3, 4, 9, 10, 4 * CELLS_UNDER_LOCK_MAX - 1].map(|row| value(row).unwrap());
        assert_eq!(found, ["v299", "meanwhile", "last", "last", "meanwhile", "meanwhile"]);
    }
}
