//! From memstores to store files.
//!
//! 1. Under the commit lock, every active memstore is set aside (frozen) and an empty one takes its place.
//! 2. The log is brought up to that point, so the files will hold nothing that was not durable and visible before.
//!    Before any file is written all of that is synced, in every mode.
//! 3. One file a store is written from its frozen memstores; what the versions and times of the family drop is dropped.
//! 4. One change of the manifest names all files and the sequence id they reach. This is the moment of truth.
//! 5. The snapshot swaps the frozen memstores for the files, and the log lets go of the region's older segments.
//!
//! A flush that fails leaves the memstores frozen; the next one takes them along.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use halite_types::{ErrorKind, Result};

use super::Region;
use super::commit::CommitState;
use super::snapshot::RegionSnapshot;
use crate::memstore::MemTable;
use crate::options::WalSync;
use crate::scan::{Matcher, Merge, Source, StoreLimits, StoreScanner};
use crate::store::{NewFile, StoreFile, StoreSnapshot, write_file};

/// What was set aside.
pub(super) struct Frozen {
    pub(super) snapshot: Arc<RegionSnapshot>,
    pub(super) sequence: u64,
    /// Where the log was then.
    position: u64,
}

/// A file that was made elsewhere, with the place of its store.
pub(super) type LoadedFile = (usize, Arc<StoreFile>);

impl Region {
    /// Writes the memstores to files, and asks for the compaction that these are enough for. Whether there was anything to write.
    ///
    /// # Errors
    /// A full disk or a failed write; nothing is lost, and the flush can be tried again.
    pub fn flush(self: &Arc<Self>) -> Result<bool> {
        let flushed = self.flush_memstores()?;
        if flushed {
            self.request_wanted_compaction();
        }
        Ok(flushed)
    }

    /// As [`Region::flush`], and asks for nothing.
    pub(crate) fn flush_memstores(&self) -> Result<bool> {
        let _maintenance = self.lock_maintenance();
        self.flush_maintained()
    }

    /// Asks for the compaction that the region's files are enough for, if they are: whoever flushes again and again would collect
    /// files without end.
    pub(crate) fn request_wanted_compaction(self: &Arc<Self>) {
        if self.wants_compaction() {
            self.shared.background.request_compaction(self);
        }
    }

    /// As [`Region::flush`]; the caller holds the maintenance lock.
    pub(crate) fn flush_maintained(&self) -> Result<bool> {
        let commit = self.lock_commit();
        if self.snapshot_ref().stores.iter().all(|store| store.memstores().next().is_none()) {
            return Ok(false);
        }
        let frozen = self.freeze(commit, |_| true)?;
        self.write_down(&frozen, |_| Ok(Vec::new()))?;
        self.counters.add_flush();
        Ok(true)
    }

    /// Flushes, and adds files that were made elsewhere, as of a sequence id that is above all that was written before
    /// and below all that comes. `place` makes them ready for it. The caller holds the maintenance lock.
    pub(super) fn flush_and_add(&self, place: impl FnOnce(u64) -> Result<Vec<LoadedFile>>) -> Result<()> {
        let commit = self.lock_commit();
        self.check_committing(&commit)?;
        self.take_mark();
        let frozen = self.freeze(commit, |_| true)?;
        self.write_down(&frozen, place)
    }

    /// Writes the frozen memstores to files, and makes them and the added files live.
    fn write_down(&self, frozen: &Frozen, place: impl FnOnce(u64) -> Result<Vec<LoadedFile>>) -> Result<()> {
        let freed: usize = frozen.snapshot.stores.iter().flat_map(|store| &store.frozen).map(|memstore| memstore.payload_bytes()).sum();
        let disk = &self.shared.disk;
        // A file that turns out not to fit would take what is left from the log meanwhile, and again at each try.
        disk.check_flush(freed as u64, || format!("flushing region {}", self.info.display_name()))?;
        let free = disk.flushable_bytes();
        let done = self.write_files(frozen, freed as u64, place);
        if done.as_ref().map_or_else(|error| error.kind() == ErrorKind::DiskFull, |()| true) {
            disk.note_flush(freed as u64, done.is_err().then_some(free));
        }
        done
    }

    fn write_files(&self, frozen: &Frozen, freed: u64, place: impl FnOnce(u64) -> Result<Vec<LoadedFile>>) -> Result<()> {
        let began = self.shared.env.clock.monotonic_ns();
        // Where ordinary writes are not synced the files would outlive the log, and with it the nonces of what is in them.
        self.shared.wal.sync_to(frozen.position, true)?;
        let mut files: Vec<Vec<Arc<StoreFile>>> = Vec::new();
        let give_up = |files: &[Vec<Arc<StoreFile>>]| {
            self.shared.settle(files.iter().flatten().flat_map(|file| file.homes()));
        };
        for index in 0..frozen.snapshot.stores.len() {
            files.push(self.write_frozen(frozen, index).inspect_err(|_| give_up(&files))?.into_iter().collect());
        }
        let flushed = files.iter().flatten().map(|file| file.bytes()).sum();
        let added = place(frozen.sequence).inspect_err(|_| give_up(&files))?;
        added.into_iter().for_each(|(index, file)| files[index].push(file));
        self.add_files(&files, frozen.sequence).inspect_err(|_| give_up(&files))?;
        self.flushed.store(frozen.sequence, Ordering::Release);
        self.shared.add_flushed(flushed);
        let took = self.shared.env.clock.monotonic_ns().saturating_sub(began);
        self.shared.upkeep.add_flush(took, freed, flushed);
        self.swap(|current| current.with_stores(current.stores.iter().zip(&frozen.snapshot.stores).zip(files).map(thawed).collect()));
        self.shared.wal.release(self.number, frozen.sequence);
        self.shared.background.note_memstore(self);
        self.shared.request_flushes_for_the_log(true);
        Ok(())
    }

    /// Names files, given store by store, in the manifest: everything up to a sequence id is in files now.
    fn add_files(&self, files: &[Vec<Arc<StoreFile>>], flushed: u64) -> Result<()> {
        let families = Arc::clone(&self.snapshot_ref().families);
        self.shared.manifest.change(|catalog| {
            let region = catalog.region_mut(&self.info.table, self.number)?;
            region.flushed_sequence = flushed;
            for (family, files) in families.iter().zip(files).filter(|(_, files)| !files.is_empty()) {
                region.families.entry(family.name.clone()).or_default().extend(files.iter().map(|file| file.entry.clone()));
            }
            Ok(())
        })
    }

    /// Sets the active memstores of some stores aside, those that hold anything, and waits until what is in them is durable
    /// and visible.
    pub(super) fn freeze(&self, commit: MutexGuard<'_, CommitState>, is_wanted: impl Fn(usize) -> bool) -> Result<Frozen> {
        let current = self.snapshot();
        let freeze = |(index, store): (usize, &StoreSnapshot)| {
            let mut store = store.clone();
            if is_wanted(index) && !store.active.is_empty() {
                let next = self.shared.successor_of(&store.active);
                store.frozen.push(std::mem::replace(&mut store.active, next));
                store.condensed_bytes = 0;
            }
            store
        };
        let snapshot = Arc::new(current.with_stores(current.stores.iter().enumerate().map(freeze).collect()));
        self.state.store(Arc::clone(&snapshot));
        let sequence = self.mvcc.applied();
        let position = self.shared.wal.end();
        drop(commit);
        self.shared.wal.sync_to(position, self.shared.options.wal_sync == WalSync::Fsync)?;
        Ok(Frozen { snapshot, sequence, position })
    }

    /// Gives out a sequence id that no cell of a memstore has, visible as soon as all before it are. The caller holds the
    /// commit lock.
    fn take_mark(&self) {
        let settled = self.mvcc.is_settled();
        let sequence = self.mvcc.next();
        self.mvcc.apply(sequence);
        if settled {
            self.mvcc.complete(sequence);
        } else {
            self.shared.wal.follow(self.number, &self.mvcc, sequence);
        }
    }

    /// What a store's frozen memstores are left with when versions and times of the family have dropped what they drop.
    pub(super) fn survivors(&self, frozen: &Frozen, index: usize) -> Result<StoreScanner> {
        let (family, store) = (&frozen.snapshot.families[index], &frozen.snapshot.stores[index]);
        let sources = store.frozen.iter().rev().map(|memstore| Source::memstore(memstore, frozen.sequence)).collect();
        let retention = family.retention(self.shared.env.clock.now_ms());
        let mut scanner = StoreScanner::new(Merge::new(sources), Matcher::for_minor_compaction(retention), StoreLimits::default(), false);
        scanner.seek(&halite_types::cell::first_on_row(b""))?;
        Ok(scanner)
    }

    fn write_frozen(&self, frozen: &Frozen, index: usize) -> Result<Option<Arc<StoreFile>>> {
        let (family, store) = (&frozen.snapshot.families[index], &frozen.snapshot.stores[index]);
        if store.frozen.is_empty() {
            return Ok(None);
        }
        let mut scanner = self.survivors(frozen, index)?;
        let new = NewFile {
            region: &self.info,
            number: self.number,
            family,
            tags: store.frozen.iter().any(|memstore| memstore.has_tags()),
            max_sequence: frozen.sequence,
            major: false,
            compacted_from: Vec::new(),
        };
        let file = write_file(&self.shared, &new, |each| scanner.compact(each))?;
        let held = store.frozen.iter().map(|memstore| memstore.len() as u64).sum();
        self.note_displaced(held, file.as_ref().map_or(0, |file| file.reader().entry_count()), frozen.sequence);
        Ok(file)
    }
}

/// A store whose frozen memstores are in `files` now.
fn thawed(((current, frozen), files): ((&StoreSnapshot, &StoreSnapshot), Vec<Arc<StoreFile>>)) -> StoreSnapshot {
    let mut store = current.clone();
    let is_flushed = |memstore: &Arc<MemTable>| frozen.frozen.iter().any(|flushed| Arc::ptr_eq(flushed, memstore));
    store.frozen.retain(|memstore| !is_flushed(memstore));
    store.files.extend(files);
    StoreSnapshot::sort_files(&mut store.files);
    store
}
