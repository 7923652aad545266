//! Flush: writes memstores to store files.
//!
//! 1. Under the commit lock, the active memstores of the chosen stores are frozen, and empty ones
//!    replace them.
//! 2. The log is written up to that point, so the files contain nothing that was not durable and
//!    visible before. All of it is synced before any file is written, in every mode.
//! 3. One file per store is written from its frozen memstores, without the cells that the versions
//!    and times of the family drop.
//! 4. One change of the manifest adds all files, and the sequence id that they reach to their
//!    families. This is the commit point of the flush.
//! 5. The snapshot replaces the frozen memstores by the files, and the log releases the region's
//!    older segments.
//!
//! A failed flush leaves the memstores frozen; the next one includes them.
//!
//! ## Flushes of some families
//!
//! A flush that a caller requests without a family, and each one before a close, split, merge,
//! alteration or bulk load, writes all families, as in HBase 2.6. Others choose:
//!
//! - a region or all memstores have grown too large: the table's policy (`flush_policy.rs`), which
//!   never chooses only empty stores;
//! - the log has too many segments: the families with cells in the oldest one (HBase:
//!   `SequenceIdAccounting.findLower`), but all with `FlushAllStoresPolicy`;
//! - a caller named families.
//!
//! The manifest has the flushed sequence id of every family. A store that was empty at the freeze
//! counts as flushed up to it, too. The lowest of a region's ids is the region's own:
//!
//! ```text
//!        log  | 1 a | 2 ab | 3 b | 4 a | 5 b | ...     writes to the families a and b
//!                                   ^ flush of a:  a is flushed to 4, b to 0, the region to 0
//! ```
//!
//! The log retains the segments with cells above the region's id. Replay skips the cells of a
//! family up to the id of that family: after a crash, `a` has writes 1, 2 and 4 from its file, and
//! `b` has 2, 3 and 5 from the log. Write 2 is whole, because its record was synced before the file
//! of `a` was written (step 2) and is not released before `b` is flushed. A write that skips the
//! log has no such record, so a crash may revert a part of it, as in HBase.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use halite_types::{ErrorKind, Result};

use super::flush_policy::StoreState;
use super::snapshot::RegionSnapshot;
use super::{Region, directories};
use crate::commit::CommitGuard;
use crate::compaction::{file_stats, oldest_first};
use crate::events::{EventKind, NewEvent};
use crate::options::WalSync;
use crate::scan::{CellSource, CellStream, Matcher, StoreLimits, StoreScanner};
use crate::store::{NewFile, StoreFile, StoreSnapshot, write_files};

/// Frozen memstores of a flush.
pub(super) struct FrozenMemstores {
    pub(super) snapshot: Arc<RegionSnapshot>,
    pub(super) sequence: u64,
    /// Position of the log at the freeze.
    position: u64,
    /// For each store: `true` if its frozen memstores are flushed.
    is_chosen: Vec<bool>,
    /// For each store: the sequence id up to which its cells are in files after the flush.
    flushed_sequences: Vec<u64>,
}

impl FrozenMemstores {
    /// Returns a store with `files` in place of the memstores that were flushed into them.
    fn replaced(
        &self,
        current: &StoreSnapshot,
        index: usize,
        files: Vec<Arc<StoreFile>>,
    ) -> StoreSnapshot {
        let mut store = current.clone();
        store.flushed_sequence = self.flushed_sequences[index];
        if self.is_chosen[index] {
            let flushed = &self.snapshot.stores[index].frozen;
            store
                .frozen
                .retain(|memstore| !flushed.iter().any(|known| Arc::ptr_eq(known, memstore)));
        }
        store.files.extend(files);
        StoreSnapshot::sort_files(&mut store.files);
        store
    }
}

/// File that was created elsewhere, with the index of its store.
pub(super) type LoadedFile = (usize, Arc<StoreFile>);

impl Region {
    /// Writes all memstores to files, and requests a compaction if there are now enough files.
    /// Returns `true` if there was anything to write.
    ///
    /// # Errors
    /// A full disk or a failed write. Nothing is lost, and the flush can be retried.
    pub fn flush(self: &Arc<Self>) -> Result<bool> {
        let flushed = self.flush_memstores()?;
        if flushed {
            self.request_needed_compaction();
        }
        Ok(flushed)
    }

    /// As [`Region::flush`], for these families only.
    ///
    /// # Errors
    /// `NoSuchFamily`; as [`Region::flush`].
    pub fn flush_families(self: &Arc<Self>, families: &[Bytes]) -> Result<bool> {
        let _maintenance = self.lock_maintenance();
        let snapshot = self.snapshot();
        let mut is_chosen = vec![false; snapshot.stores.len()];
        for family in families {
            is_chosen[snapshot.family_index(family)?] = true;
        }
        let flushed = self.flush_stores(|_| is_chosen)?;
        if flushed {
            self.request_needed_compaction();
        }
        Ok(flushed)
    }

    /// As [`Region::flush`], but requests no compaction.
    pub(crate) fn flush_memstores(&self) -> Result<bool> {
        let _maintenance = self.lock_maintenance();
        self.flush_maintained()
    }

    /// Flushes the families that the log waits for, otherwise those that the table's policy
    /// chooses, and requests a compaction if there are now enough files.
    pub(crate) fn flush_by_policy(self: &Arc<Self>) -> Result<()> {
        self.flush_chosen()?;
        self.request_needed_compaction();
        Ok(())
    }

    /// As [`Region::flush_by_policy`], but requests no compaction.
    pub(crate) fn flush_chosen(&self) -> Result<()> {
        let _maintenance = self.lock_maintenance();
        let awaited = self.awaited_flush_sequence.swap(0, Ordering::AcqRel);
        self.flush_stores(|snapshot| self.choose_stores(snapshot, awaited)).map(drop).inspect_err(
            |_| {
                self.awaited_flush_sequence.fetch_max(awaited, Ordering::AcqRel);
            },
        )
    }

    /// Returns `true` for each store that a flush writes for the log, which waits for the cells up
    /// to `awaited`, or else to free memory.
    fn choose_stores(&self, snapshot: &RegionSnapshot, awaited: u64) -> Vec<bool> {
        let policy = snapshot.flush_policy();
        let is_awaited = |store: &StoreSnapshot| {
            store.has_cells() && store.flushed_sequence < awaited && !policy.flushes_all()
        };
        let for_log: Vec<bool> = snapshot.stores.iter().map(is_awaited).collect();
        if for_log.contains(&true) {
            return for_log;
        }
        let applied = self.commits.mvcc().applied();
        let state = |store: &StoreSnapshot| StoreState {
            bytes: store.memstore_bytes() as u64,
            unflushed_writes: if store.has_cells() {
                applied.saturating_sub(store.flushed_sequence)
            } else {
                0
            },
            is_frozen: !store.frozen.is_empty(),
        };
        let states: Vec<StoreState> = snapshot.stores.iter().map(state).collect();
        policy.choose(&states)
    }

    /// Requests a check of the region's files if there is something to do for it. Without it,
    /// repeated flushes would accumulate files without limit.
    pub(crate) fn request_needed_compaction(self: &Arc<Self>) {
        if self.needs_file_check() {
            self.shared.scheduler.request_compaction(self);
        }
    }

    /// As [`Region::flush`]; the caller holds the maintenance lock.
    pub(crate) fn flush_maintained(&self) -> Result<bool> {
        self.flush_stores(|snapshot| vec![true; snapshot.stores.len()])
    }

    /// Flushes the stores for which `choose` returns `true`. Returns `false` if they have no cells.
    /// The caller holds the maintenance lock.
    fn flush_stores(&self, choose: impl FnOnce(&RegionSnapshot) -> Vec<bool>) -> Result<bool> {
        let commit = self.commits.lock();
        let current = self.snapshot();
        let is_chosen = choose(&current);
        let mut stores = current.stores.iter().zip(&is_chosen);
        let is_written = stores.any(|(store, is_chosen)| *is_chosen && store.has_cells());
        // An in-memory compaction may have dropped all cells of a family, after which nothing else
        // tells that the log does not need them.
        let is_behind = || {
            current.stores.iter().all(|store| !store.has_cells())
                && self.flushed_sequence() < self.commits.mvcc().applied()
        };
        if !is_written && !is_behind() {
            return Ok(false);
        }
        let frozen = self.freeze(commit, |index| is_chosen[index])?;
        self.write_down(&frozen, |_| Ok(Vec::new()))?;
        if is_written {
            self.counters.add_flush();
        }
        Ok(is_written)
    }

    /// Flushes and adds files that were created elsewhere, as of a sequence id that is above all
    /// earlier writes and below all later ones. `place` prepares the files for it. The caller holds
    /// the maintenance lock.
    pub(super) fn flush_and_add(
        &self,
        place: impl FnOnce(u64) -> Result<Vec<LoadedFile>>,
    ) -> Result<()> {
        let mut commit = self.commits.lock();
        self.check_committing(&commit)?;
        let sequence = commit.allocate(|sequence| {
            self.complete_after_log(sequence);
        });
        let frozen = self.freeze(commit, |_| true)?;
        assert_eq!(frozen.sequence, sequence, "files are loaded at a sequence id of their own");
        self.write_down(&frozen, place)
    }

    /// Writes the frozen memstores to files, and makes them and the added files live.
    fn write_down(
        &self,
        frozen: &FrozenMemstores,
        place: impl FnOnce(u64) -> Result<Vec<LoadedFile>>,
    ) -> Result<()> {
        let freed: usize = frozen
            .snapshot
            .stores
            .iter()
            .zip(&frozen.is_chosen)
            .filter(|(_, is_chosen)| **is_chosen)
            .flat_map(|(store, _)| &store.frozen)
            .map(|memstore| memstore.payload_bytes())
            .sum();
        let disk = &self.shared.disk;
        // A file that turns out not to fit would take the remaining disk space from the log in the
        // meantime, and again at each attempt.
        disk.check_flush(freed as u64, || format!("flushing region {}", self.info.display_name()))?;
        let free = disk.flushable_bytes();
        let done = self.write_files(frozen, freed as u64, place);
        if done.as_ref().map_or_else(|error| error.kind() == ErrorKind::DiskFull, |()| true) {
            disk.record_flush(freed as u64, done.is_err().then_some(free));
        }
        done
    }

    fn write_files(
        &self,
        frozen: &FrozenMemstores,
        freed: u64,
        place: impl FnOnce(u64) -> Result<Vec<LoadedFile>>,
    ) -> Result<()> {
        let began = self.shared.env.clock.monotonic_ns();
        // If ordinary writes are not synced, the files would otherwise outlive the log, and with it
        // the nonces of their cells.
        self.shared.wal.sync_to(frozen.position, true)?;
        let mut files: Vec<Vec<Arc<StoreFile>>> = Vec::new();
        let give_up = |files: &[Vec<Arc<StoreFile>>]| {
            self.shared.archive_or_delete(files.iter().flatten().flat_map(|file| file.origins()));
        };
        for index in 0..frozen.snapshot.stores.len() {
            files.push(self.write_frozen(frozen, index).inspect_err(|_| give_up(&files))?);
        }
        let written = files.iter().flatten().map(|file| file.bytes()).sum();
        let added = place(frozen.sequence).inspect_err(|_| give_up(&files))?;
        added.into_iter().for_each(|(index, file)| files[index].push(file));
        let lowest = self.add_files(&files, frozen).inspect_err(|_| give_up(&files))?;
        let flushed_before = self.flushed.swap(lowest, Ordering::AcqRel);
        assert!(flushed_before <= lowest, "flushes are in the order of sequence ids");
        self.shared.add_flushed(written);
        let took = self.shared.env.clock.monotonic_ns().saturating_sub(began);
        self.shared.maintenance_stats.add_flush(took, freed, written);
        let text = format!("flush of region {}", self.info.encoded_name);
        let event = NewEvent::of_region(EventKind::Flush, &self.info, text);
        self.shared.record(event.took(took).wrote(written));
        self.swap(|current| {
            let stores = current.stores.iter().zip(files).enumerate();
            current.with_stores(
                stores
                    .map(|(index, (store, files))| frozen.replaced(store, index, files))
                    .collect(),
            )
        });
        self.shared.wal.mark_flushed(self.number, lowest);
        self.shared.scheduler.record_memstore_bytes(self);
        self.shared.request_flushes_for_wal(true);
        Ok(())
    }

    /// Adds files, listed per store, to the manifest: everything up to a sequence id is now in
    /// files, for each family. Returns the lowest of these ids.
    fn add_files(&self, files: &[Vec<Arc<StoreFile>>], frozen: &FrozenMemstores) -> Result<u64> {
        let families = Arc::clone(&self.snapshot_ref().families);
        let names = families.iter().map(|family| family.name.clone());
        let flushed: BTreeMap<Bytes, u64> =
            names.zip(frozen.flushed_sequences.iter().copied()).collect();
        self.shared.manifest.change(|catalog| {
            let region = catalog.region_mut(&self.info.table, self.number)?;
            let lowest = region.set_flushed_sequences(flushed);
            for (family, files) in families.iter().zip(files).filter(|(_, files)| !files.is_empty())
            {
                region
                    .families
                    .entry(family.name.clone())
                    .or_default()
                    .extend(files.iter().map(|file| file.entry.clone()));
            }
            Ok(lowest)
        })
    }

    /// Freezes the nonempty active memstores of some stores, and waits until their cells are
    /// durable and visible.
    pub(super) fn freeze(
        &self,
        commit: CommitGuard<'_>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<FrozenMemstores> {
        let current = self.snapshot();
        let freeze = |(index, store): (usize, &StoreSnapshot)| {
            let mut store = store.clone();
            if is_wanted(index) && !store.active.is_empty() {
                let next = self.shared.new_memtable_like(&store.active);
                store.active.set_read_only();
                store.frozen.push(std::mem::replace(&mut store.active, next));
                store.in_memory_compacted_bytes = 0;
            }
            store
        };
        let snapshot =
            Arc::new(current.with_stores(current.stores.iter().enumerate().map(freeze).collect()));
        self.state.store(Arc::clone(&snapshot));
        let sequence = self.commits.mvcc().applied();
        let position = self.shared.wal.end();
        let is_chosen: Vec<bool> = (0..snapshot.stores.len()).map(is_wanted).collect();
        // A store without cells is flushed up to here as well: later cells have higher ids.
        let flushed = |(store, is_chosen): (&StoreSnapshot, &bool)| {
            if *is_chosen || !store.has_cells() { sequence } else { store.flushed_sequence }
        };
        let flushed_sequences = snapshot.stores.iter().zip(&is_chosen).map(flushed).collect();
        let frozen = || snapshot.stores.iter().flat_map(|store| &store.frozen);
        // An interrupted change may have left cells, which the scanner of the flush skips.
        assert!(
            commit.is_interrupted() || frozen().all(|memstore| memstore.max_sequence() <= sequence),
            "a flush writes applied cells only"
        );
        drop(commit);
        self.shared.wal.sync_to(position, self.shared.options.wal_sync == WalSync::Fsync)?;
        Ok(FrozenMemstores { snapshot, sequence, position, is_chosen, flushed_sequences })
    }

    /// Returns a scanner over the cells of a store's frozen memstores that the versions and times
    /// of the family retain.
    pub(super) fn retained_cells(
        &self,
        frozen: &FrozenMemstores,
        index: usize,
    ) -> Result<StoreScanner> {
        let (family, store) = (&frozen.snapshot.families[index], &frozen.snapshot.stores[index]);
        let sources = store
            .frozen
            .iter()
            .rev()
            .map(|memstore| CellSource::memstore(memstore, frozen.sequence))
            .collect();
        let retention = family.retention(self.shared.env.clock.now_ms());
        let mut scanner = StoreScanner::new(
            CellStream::new(sources, retention.merge_rule()),
            Matcher::for_minor_compaction(retention),
            StoreLimits::default(),
            false,
        );
        scanner.seek(&halite_types::cell::first_on_row(b""))?;
        Ok(scanner)
    }

    /// Writes the frozen memstores of a store: one file, or one for each stripe.
    fn write_frozen(&self, frozen: &FrozenMemstores, index: usize) -> Result<Vec<Arc<StoreFile>>> {
        let (family, store) = (&frozen.snapshot.families[index], &frozen.snapshot.stores[index]);
        if store.frozen.is_empty() || !frozen.is_chosen[index] {
            return Ok(Vec::new());
        }
        let mut scanner = self.retained_cells(frozen, index)?;
        let held = store.frozen.iter().map(|memstore| memstore.len() as u64).sum();
        let stripes = || file_stats(&oldest_first(&self.snapshot_ref().stores[index]), &[]);
        let division = family.store_policy.flush_division(stripes, held, frozen.sequence);
        let new = NewFile {
            region: &self.info,
            number: self.number,
            family,
            tags: store.frozen.iter().any(|memstore| memstore.has_tags()),
            max_sequence: frozen.sequence,
            major: false,
            compacted_from: Vec::new(),
            compacted_bytes: 0,
        };
        let files = write_files(&self.shared, &new, &division, |each| scanner.compact(each))?;
        if store.files.is_empty() {
            directories::sync_names(&self.shared.env, &self.info)?;
        }
        let kept = files.iter().map(|file| file.reader().entry_count()).sum();
        assert!(kept <= held, "a flush adds no cells");
        self.record_displaced(held, kept, frozen.sequence);
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use halite_types::cell::make_key;
    use halite_types::{CellRef, Get, Put, ReadTier};

    use super::*;
    use crate::commit::CommitEnv;
    use crate::region::write::tests::{apply, region};
    use crate::wal::SyncLevel;

    /// Write that panics after its first cell is in the memstore.
    struct InterruptedWrite<'a>(&'a Region);

    impl CommitEnv for InterruptedWrite<'_> {
        fn append(&self, _: u64, _: SyncLevel) -> Result<u64> {
            Ok(0)
        }

        fn insert(&self, sequence: u64) {
            let key = make_key(b"half", b"f", b"q", 5, 4);
            self.0.snapshot().stores[0].active.insert(CellRef::new(&key, b"v", b"", sequence));
            panic!("between two cells");
        }

        fn complete_after_log(&self, _: u64) -> u64 {
            0
        }
    }

    /// Leaves a part of a write in the memstore.
    fn interrupt_write(region: &Region) {
        let interrupted = catch_unwind(AssertUnwindSafe(|| {
            drop(region.commits.lock().commit(&InterruptedWrite(region), None));
        }));
        assert!(interrupted.is_err());
    }

    #[test]
    fn closed_region_with_interrupted_write_is_flushed() {
        let (_engine, region) = region();
        interrupt_write(&region);
        region.close();
        assert!(region.flush_memstores().unwrap());
        assert!(region.is_in_files() && region.snapshot().stores[0].files.is_empty());
    }

    #[test]
    fn region_with_interrupted_write_is_flushed_without_it() {
        let (engine, region) = region();
        apply(&region, Put::new("whole").add("f", "q", "v"));
        interrupt_write(&region);
        region.flush().unwrap();
        let files = &region.snapshot().stores[0].files;
        assert_eq!(files.iter().map(|file| file.reader().entry_count()).sum::<u64>(), 1);
        let read = |row: &str| {
            let stats = Arc::default();
            region.get(&Get::new(row.to_owned()), ReadTier::Disk, &stats).unwrap().len()
        };
        assert_eq!((read("whole"), read("half")), (1, 0));
        engine.close().unwrap();
    }
}
