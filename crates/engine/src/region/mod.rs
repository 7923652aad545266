//! A region: the rows of a table between two keys, in one store a family. Its parts:
//!
//! ```text
//! write.rs      puts, deletes and what reads before it writes          row_lock.rs  who may change a row
//! commit.rs     sequence id, log, memstore: one short step under a lock
//! recent_deletes.rs  rows deleted in this millisecond
//! read.rs       gets and scans as of a snapshot                        snapshot.rs  what a reader holds
//! selection.rs  what a read asks of the stores
//! load.rs       store files that were made elsewhere
//! flush.rs      memstores to store files                               counters.rs  what it counts
//! maintain.rs   what the region wants done                             figures.rs   what it tells about itself
//! ```
//!
//! The state readers see is one immutable [`snapshot::RegionSnapshot`], swapped whole. A reader takes the snapshot first
//! and the read point after it: then every cell at or below the read point that was applied before the snapshot is in
//! it, and whatever the snapshot holds stays, because flush and compaction only ever build the next one.

mod commit;
mod condense;
mod counters;
mod figures;
mod flush;
mod load;
mod maintain;
mod read;
mod recent_stamps;
mod row_lock;
mod selection;
mod snapshot;
mod write;
mod write_rows;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor};

use crate::catalog::RegionEntry;
use crate::commit::Mvcc;
use crate::compaction::UnderWay;
use crate::heal::Healed;
use crate::shared::Shared;
use crate::store::{StoreFile, StoreSnapshot};

use commit::CommitState;
use counters::Counters;
pub(crate) use load::{Part, verify};
pub use read::explain_empty;
pub(crate) use recent_stamps::RecentStamps;
use row_lock::RowLocks;
pub(crate) use selection::{UserRead, check_scan, filter_state, wanted_stores};
pub(crate) use snapshot::{Family, RegionSnapshot};
pub use write::Applied;

/// A region that is open.
pub struct Region {
    pub(crate) shared: Arc<Shared>,
    info: Arc<RegionInfo>,
    /// Its number in the log and the manifest.
    pub(crate) number: u64,
    state: ArcSwap<RegionSnapshot>,
    commit: Mutex<CommitState>,
    mvcc: Arc<Mvcc>,
    row_locks: RowLocks,
    /// Held by whoever flushes, splits or alters the region, one at a time.
    maintenance: Mutex<()>,
    /// Held by whoever compacts the region, or must not have it compacted; taken before `maintenance`.
    compaction: Mutex<()>,
    /// Held by whoever waits for a compaction to give way; those that come behind wait here.
    turn: Mutex<()>,
    /// The compaction that runs is to give way.
    gives_way: AtomicBool,
    /// Reads are not served any more.
    gone: AtomicBool,
    /// A flush has been asked for and has not begun.
    pub(crate) flush_requested: AtomicBool,
    /// As for a flush, for memstores that are to be written anew.
    pub(crate) condense_requested: AtomicBool,
    /// Memory of the memstores as last told to the background.
    pub(crate) noted_bytes: AtomicU64,
    pub(crate) counters: Counters,
    /// The sequence id of the first write after the opening.
    open_sequence: AtomicU64,
    /// Everything up to this sequence id is in store files, as the manifest says.
    flushed: AtomicU64,
    /// Cells may be gone that writes up to this sequence id have displaced: who reads as of an earlier one may miss them.
    displaced: AtomicU64,
    /// Compactions asked for or running.
    pub(crate) compactions: UnderWay,
}

impl Region {
    /// Opens a region of the manifest with its store files.
    pub(crate) fn open(shared: &Arc<Shared>, descriptor: Arc<TableDescriptor>, entry: &RegionEntry) -> Result<Arc<Self>> {
        let mut stores = Vec::new();
        for family in descriptor.families() {
            let files = entry.families.get(family.name()).map(Vec::as_slice).unwrap_or_default();
            let open = |file: &crate::catalog::FileEntry| shared.files.open(&entry.info, family.name(), file.clone());
            let mut files = files.iter().map(open).collect::<Result<Vec<Arc<StoreFile>>>>()?;
            StoreSnapshot::sort_files(&mut files);
            stores.push(StoreSnapshot::new(shared.new_memtable(), files));
        }
        let newest = stores.iter().flat_map(|store| &store.files).map(|file| file.max_sequence()).max().unwrap_or(0);
        let row_check = shared.options.row_check(&descriptor);
        let snapshot = RegionSnapshot::new(descriptor, row_check, stores);
        let newest = entry.flushed_sequence.max(newest);
        Ok(Arc::new(Self {
            shared: Arc::clone(shared),
            info: Arc::clone(&entry.info),
            number: entry.number,
            state: ArcSwap::from_pointee(snapshot),
            commit: Mutex::new(CommitState::default()),
            mvcc: Arc::new(Mvcc::new(newest)),
            row_locks: RowLocks::default(),
            maintenance: Mutex::new(()),
            compaction: Mutex::new(()),
            turn: Mutex::new(()),
            gives_way: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            flush_requested: AtomicBool::new(false),
            condense_requested: AtomicBool::new(false),
            noted_bytes: AtomicU64::new(0),
            counters: Counters::default(),
            open_sequence: AtomicU64::new(newest + 1),
            flushed: AtomicU64::new(entry.flushed_sequence),
            // What earlier processes dropped nobody has noted.
            displaced: AtomicU64::new(newest),
            compactions: UnderWay::default(),
        }))
    }

    /// Of `held` cells only `kept` are left in what is about to be published, all displaced by writes up to `sequence`.
    pub(crate) fn note_displaced(&self, held: u64, kept: u64, sequence: u64) {
        if kept < held {
            self.displaced.fetch_max(sequence, Ordering::AcqRel);
        }
    }

    /// Whether everything is left that a reader as of `sequence` may see of the snapshot that was taken before.
    pub(super) fn is_whole_at(&self, sequence: u64) -> bool {
        sequence >= self.displaced.load(Ordering::Acquire)
    }

    /// The log has been read back: writes go on from here.
    pub(crate) fn replayed(&self) {
        self.open_sequence.store(self.mvcc.applied() + 1, Ordering::Release);
    }

    /// Which rows of which table.
    pub fn info(&self) -> &Arc<RegionInfo> {
        &self.info
    }

    /// The table's descriptor as the region applies it.
    pub fn descriptor(&self) -> Arc<TableDescriptor> {
        Arc::clone(&self.state.load().descriptor)
    }

    pub(crate) fn snapshot(&self) -> Arc<RegionSnapshot> {
        self.state.load_full()
    }

    /// The state, and a read point all of whose writes it holds.
    ///
    /// A write that comes after a flush has begun goes into memstores that the state before does not have, and of its families
    /// perhaps only into some: of that write a reader with the old state and a later point would see a part. Where the state is
    /// the same after the point was taken, every write up to the point went into it.
    pub(super) fn snapshot_at(&self, mut point: impl FnMut() -> u64) -> (Arc<RegionSnapshot>, u64) {
        let mut snapshot = self.snapshot();
        loop {
            let at = point();
            let now = self.snapshot_ref();
            if Arc::ptr_eq(&snapshot, &now) {
                return (snapshot, at);
            }
            snapshot = Arc::clone(&now);
        }
    }

    pub(crate) fn snapshot_ref(&self) -> arc_swap::Guard<Arc<RegionSnapshot>> {
        self.state.load()
    }

    fn lock_commit(&self) -> MutexGuard<'_, CommitState> {
        self.commit.lock().healed()
    }

    pub(crate) fn lock_maintenance(&self) -> MutexGuard<'_, ()> {
        self.maintenance.lock().healed()
    }

    pub(crate) fn lock_compaction(&self) -> MutexGuard<'_, ()> {
        drop(self.turn.lock().healed());
        self.compaction.lock().healed()
    }

    /// As [`Region::lock_compaction`], and a compaction that runs does not come to its end first: it may take hours, and gives way.
    pub(crate) fn stop_compaction(&self) -> MutexGuard<'_, ()> {
        let turn = self.turn.lock().healed();
        self.gives_way.store(true, Ordering::Release);
        let compaction = self.compaction.lock().healed();
        self.gives_way.store(false, Ordering::Release);
        drop(turn);
        compaction
    }

    /// Whether the compaction that runs is to end without a result.
    pub(crate) fn compaction_gives_way(&self) -> bool {
        self.gives_way.load(Ordering::Acquire)
    }

    /// Replaces the snapshot by what `next` makes of it. The commit lock keeps writers from using the old one meanwhile.
    pub(crate) fn swap(&self, next: impl FnOnce(&RegionSnapshot) -> RegionSnapshot) {
        let commit = self.lock_commit();
        let snapshot = next(&self.state.load());
        self.state.store(Arc::new(snapshot));
        drop(commit);
    }

    /// Puts another descriptor in force; families that are new get an empty store, those that are gone lose theirs.
    pub(crate) fn alter(&self, descriptor: &Arc<TableDescriptor>) {
        let row_check = self.shared.options.row_check(descriptor);
        self.swap(|old| {
            let store = |family: &halite_types::FamilyDescriptor| {
                old.index_of(family.name())
                    .map_or_else(|| StoreSnapshot::new(self.shared.new_memtable(), Vec::new()), |index| old.stores[index].clone())
            };
            RegionSnapshot::new(Arc::clone(descriptor), row_check.clone(), descriptor.families().map(store).collect())
        });
    }

    /// Refuses writes from here on. Reads go on: nothing changes any more.
    pub(crate) fn close(&self) {
        self.lock_commit().closed = true;
    }

    /// Refuses reads too: the rows are served elsewhere, or not at all. Reads that run finish.
    pub(crate) fn leave(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Whether reads are served: not any more once the region is split, merged, disabled or closed.
    ///
    /// # Errors
    /// `NoSuchRegion` if they are not.
    pub fn check_open(&self) -> Result<()> {
        if self.gone.load(Ordering::Acquire) { Err(self.gone()) } else { Ok(()) }
    }

    fn gone(&self) -> Error {
        Error::new(
            ErrorKind::NoSuchRegion,
            format!("region {} is not served here any more; look up the region of the row again", self.info.display_name()),
        )
    }

    /// The error for a row of another region, if it is one.
    fn check_row(&self, row: &[u8]) -> Result<()> {
        if self.info.contains(row) {
            return Ok(());
        }
        let text = format!(
            "row {} lies outside region {}; look up the region of the row again",
            halite_types::key::print_bytes(row),
            self.info.display_name()
        );
        Err(Error::new(ErrorKind::WrongRegion, text))
    }

    /// Memory of the cells that are not in a file.
    pub(crate) fn memstore_bytes(&self) -> usize {
        self.state.load().memstore_bytes()
    }
}
