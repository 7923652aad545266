//! Region: the rows of a table between two keys, with one store per family. Its modules:
//!
//! ```text
//! write.rs          batches of operations; groups of puts and deletes
//! write_checks.rs   checks of operations that need no lock
//! prepared_write.rs the cells of one commit, checked, stamped and divided by family
//! markers.rs        delete markers
//! read_modify_write.rs  operations that read their row first
//! condition.rs      conditions of check-and-mutate operations
//! new_value.rs      values of counters and appended columns
//! write_rows.rs     atomic operations on several rows
//! row_lock.rs       row locks
//! commit.rs         log and memstores of the commit pipeline
//! commit_timestamp.rs  timestamp of a group of writes
//! recent_stamps.rs  rows and columns with recent timestamps
//! read.rs           gets and scans as of a snapshot
//! snapshot.rs       state that a reader holds
//! selection.rs      validation and store selection of reads
//! bulk_load.rs      store files created elsewhere
//! flush.rs          memstores to store files
//! flush_policy.rs   the families that a flush writes
//! in_memory_compaction.rs  in-memory compaction of memstores
//! split_policy.rs   size at which a region is split, and the split point
//! in_memory_compaction_rule.rs  when the memstore of a family is compacted
//! maintenance.rs    conditions of compaction, split and merge; their steps in one region
//! directories.rs    missing directories at open; names that become durable with a file
//! counters.rs       counters since the region was opened
//! heat.rs           sampled operations for the heat map; no_heat.rs without the feature
//! call_log.rs       sampled operations for the log
//! metrics.rs        metrics as HBase reports them
//! ```
//!
//! The state that readers see is one immutable [`snapshot::RegionSnapshot`], swapped whole. A
//! reader takes the snapshot first and the read point after it. Every cell at or below the read
//! point that was applied before the snapshot is then in it. The contents of a snapshot stay,
//! because flush and compaction only ever build the next one.

mod bulk_load;
#[cfg(feature = "heat")]
mod call_log;
mod commit;
mod commit_timestamp;
mod condition;
mod counters;
mod directories;
mod flush;
mod flush_policy;
#[cfg(feature = "heat")]
mod heat;
#[cfg(not(feature = "heat"))]
#[path = "no_heat.rs"]
mod heat;
mod in_memory_compaction;
mod in_memory_compaction_rule;
mod maintenance;
mod markers;
mod merged_checks;
mod metrics;
mod new_value;
mod prepared_write;
mod read;
mod read_modify_write;
mod recent_stamps;
mod row_lock;
mod selection;
mod snapshot;
mod split_policy;
mod write;
mod write_checks;
mod write_rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor};

use crate::catalog::RegionEntry;
use crate::commit::CommitPipeline;
use crate::compaction::{CompactionClaims, CompactionProgress, Exclusion};
use crate::ranked_lock::{LockRank, RankedGuard, RankedMutex};
use crate::shared::EngineInner;
use crate::store::{OpenedFile, StoreSnapshot};

pub(crate) use bulk_load::{BulkLoadFile, claim_room, verify};
use counters::Counters;
pub(crate) use flush_policy::FlushPolicy;
pub(crate) use heat::RegionHeat;
pub use read::empty_range_hint;
pub(crate) use recent_stamps::RecentStamps;
use row_lock::RowLocks;
pub(crate) use selection::{UserRead, check_scan, filter_state, selected_stores};
pub(crate) use snapshot::{Family, RegionSnapshot, TableRules};
pub(crate) use split_policy::SplitPolicy;
pub use split_policy::split_policy_classes;
pub use write::BatchResult;

/// Open region.
pub struct Region {
    pub(crate) shared: Arc<EngineInner>,
    info: Arc<RegionInfo>,
    /// Number of the region in the log and the manifest.
    pub(crate) number: u64,
    state: ArcSwap<RegionSnapshot>,
    commits: CommitPipeline,
    row_locks: RowLocks,
    /// Held by the thread that flushes, splits or alters the region, one at a time.
    maintenance: RankedMutex<()>,
    /// Files that are being compacted. Claims and exclusions are made before `maintenance` is
    /// acquired.
    pub(crate) claims: CompactionClaims,
    /// `true` if reads are no longer served.
    not_serving: AtomicBool,
    /// `true` if there was no write for a while.
    idle: AtomicBool,
    /// `true` if a flush has been requested and has not begun.
    pub(crate) flush_requested: AtomicBool,
    /// Sequence id up to which the log waits for the region's cells to be flushed; 0 if it does
    /// not.
    pub(crate) awaited_flush_sequence: AtomicU64,
    /// As `flush_requested`, for in-memory compaction.
    pub(crate) in_memory_compaction_requested: AtomicBool,
    /// Memory of the memstores in bytes as last reported to the background scheduler.
    pub(crate) recorded_memstore_bytes: AtomicU64,
    pub(crate) counters: Counters,
    pub(crate) heat: RegionHeat,
    /// Sequence id of the first write after the open.
    open_sequence: AtomicU64,
    /// Sequence id up to which all cells are in store files, as recorded in the manifest.
    flushed: AtomicU64,
    /// Sequence id up to which writes may have displaced cells that no longer exist. A reader as of
    /// an earlier id may miss them.
    displaced: AtomicU64,
    /// Requested and running compactions.
    pub(crate) compactions: CompactionProgress,
}

impl Region {
    /// Opens a region of the manifest with its store files.
    pub(crate) fn open(
        shared: &Arc<EngineInner>,
        descriptor: Arc<TableDescriptor>,
        entry: &RegionEntry,
    ) -> Result<Arc<Self>> {
        let mut stores = Vec::new();
        for family in descriptor.families() {
            let files = entry.families.get(family.name()).map(Vec::as_slice).unwrap_or_default();
            let (mut sound, mut damaged) = (Vec::new(), Vec::new());
            for file in files {
                match shared.files.open_if_sound(&entry.info, family.name(), file.clone())? {
                    OpenedFile::Sound(file) => sound.push(file),
                    OpenedFile::Damaged(file) => damaged.push(file),
                }
            }
            StoreSnapshot::sort_files(&mut sound);
            let flushed = entry.flushed_sequence_of(family.name());
            let store = StoreSnapshot::new(shared.new_memtable(), sound, flushed);
            stores.push(StoreSnapshot { damaged, ..store });
        }
        directories::restore(&shared.env, &shared.lock, &entry.info, &descriptor)?;
        // The id of a damaged file is covered by the region's flushed one, or is in its entry.
        let sound = stores.iter().flat_map(|store| &store.files).map(|file| file.max_sequence());
        let damaged = stores.iter().flat_map(|store| &store.damaged);
        let newest = sound.chain(damaged.filter_map(|file| file.entry.loaded_sequence)).max();
        let newest = newest.unwrap_or(0);
        let rules = TableRules::new(&descriptor, &shared.options);
        let snapshot = RegionSnapshot::new(descriptor, rules, stores);
        let newest = entry.newest_flushed_sequence().max(newest);
        let counters = Counters::default();
        let log = &shared.operation_log;
        let heat = RegionHeat::new(&shared.options, log, &entry.info, entry.number);
        heat.begin(&counters);
        Ok(Arc::new(Self {
            shared: Arc::clone(shared),
            info: Arc::clone(&entry.info),
            number: entry.number,
            state: ArcSwap::from_pointee(snapshot),
            commits: CommitPipeline::new(newest),
            row_locks: RowLocks::default(),
            maintenance: RankedMutex::new(LockRank::Maintenance, ()),
            claims: CompactionClaims::default(),
            not_serving: AtomicBool::new(false),
            idle: AtomicBool::new(false),
            flush_requested: AtomicBool::new(false),
            awaited_flush_sequence: AtomicU64::new(0),
            in_memory_compaction_requested: AtomicBool::new(false),
            recorded_memstore_bytes: AtomicU64::new(0),
            counters,
            heat,
            open_sequence: AtomicU64::new(newest + 1),
            flushed: AtomicU64::new(entry.flushed_sequence),
            // No record exists of the cells that earlier processes dropped.
            displaced: AtomicU64::new(newest),
            compactions: CompactionProgress::default(),
        }))
    }

    /// Records that only `kept` of `held` cells remain in the state about to be published. Writes
    /// up to `sequence` displaced the others.
    pub(crate) fn record_displaced(&self, held: u64, kept: u64, sequence: u64) {
        if kept < held {
            self.displaced.fetch_max(sequence, Ordering::AcqRel);
        }
    }

    /// Returns `true` if the snapshot taken before still contains everything that a reader as of
    /// `sequence` may see.
    pub(super) fn is_whole_at(&self, sequence: u64) -> bool {
        sequence >= self.displaced.load(Ordering::Acquire)
    }

    /// Completes the recovery of the log: writes continue from here.
    pub(crate) fn finish_recovery(&self) {
        self.open_sequence.store(self.commits.mvcc().applied() + 1, Ordering::Release);
    }

    /// Returns the table and row range of the region.
    pub fn info(&self) -> &Arc<RegionInfo> {
        &self.info
    }

    /// Returns the table's descriptor as the region applies it.
    pub fn descriptor(&self) -> Arc<TableDescriptor> {
        Arc::clone(&self.state.load().descriptor)
    }

    pub(crate) fn snapshot(&self) -> Arc<RegionSnapshot> {
        self.state.load_full()
    }

    /// Returns the state and a read point all of whose writes it contains.
    ///
    /// A write that arrives after a flush has begun goes into memstores that the earlier state does
    /// not contain. This may apply to only some of its families. A reader with the earlier state
    /// and a later point would then see a part of that write. If the state is the same after the
    /// point was taken, every write up to the point went into it.
    pub(super) fn snapshot_at(&self, mut point: impl FnMut() -> u64) -> (Arc<RegionSnapshot>, u64) {
        let mut snapshot = self.snapshot();
        loop {
            let at = point();
            let now = self.snapshot_ref();
            debug_assert!(at <= self.commits.mvcc().applied(), "a reader sees applied writes only");
            if Arc::ptr_eq(&snapshot, &now) {
                return (snapshot, at);
            }
            snapshot = Arc::clone(&now);
        }
    }

    pub(crate) fn snapshot_ref(&self) -> arc_swap::Guard<Arc<RegionSnapshot>> {
        self.state.load()
    }

    pub(crate) fn lock_maintenance(&self) -> RankedGuard<'_, ()> {
        self.maintenance.lock_of(&self.info)
    }

    /// Waits until no compaction of the region is running, and prevents new ones.
    pub(crate) fn lock_compaction(&self) -> Exclusion<'_> {
        self.claims.exclude(&self.info, false)
    }

    /// As [`Region::lock_compaction`], but cancels running compactions, which may take hours.
    pub(crate) fn stop_compaction(&self) -> Exclusion<'_> {
        self.claims.exclude(&self.info, true)
    }

    /// Returns `true` if there was no write for a while, so that there is time for compactions.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed)
    }

    pub(crate) fn set_idle(&self, is_idle: bool) {
        self.idle.store(is_idle, Ordering::Relaxed);
    }

    /// Replaces the snapshot by the result of `next`. The commit lock keeps writers from using the
    /// old one concurrently.
    pub(crate) fn swap(&self, next: impl FnOnce(&RegionSnapshot) -> RegionSnapshot) {
        let commit = self.commits.lock();
        let snapshot = next(&self.state.load());
        self.state.store(Arc::new(snapshot));
        drop(commit);
    }

    /// Applies another descriptor. New families get an empty store, and dropped families lose
    /// theirs.
    pub(crate) fn alter(&self, descriptor: &Arc<TableDescriptor>) {
        let rules = TableRules::new(descriptor, &self.shared.options);
        // The log has no cells of a new family; those of a dropped one of that name were flushed.
        let applied = self.commits.mvcc().applied();
        self.swap(|old| {
            let store = |family: &halite_types::FamilyDescriptor| {
                old.index_of(family.name()).map_or_else(
                    || StoreSnapshot::new(self.shared.new_memtable(), Vec::new(), applied),
                    |index| old.stores[index].clone(),
                )
            };
            RegionSnapshot::new(
                Arc::clone(descriptor),
                Arc::clone(&rules),
                descriptor.families().map(store).collect(),
            )
        });
    }

    /// Rejects writes from now on. Reads continue, because nothing changes.
    pub(crate) fn close(&self) {
        self.commits.lock().set_closed(true);
    }

    /// Rejects reads too: another region serves the rows, or none does. Reads in progress finish.
    pub(crate) fn stop_serving(&self) {
        self.not_serving.store(true, Ordering::Release);
    }

    /// Verifies that reads are served, which ends once the region is split, merged, disabled or
    /// closed.
    ///
    /// # Errors
    /// `NoSuchRegion` if they are not served.
    pub fn check_open(&self) -> Result<()> {
        if self.not_serving.load(Ordering::Acquire) {
            Err(self.not_serving_error())
        } else {
            Ok(())
        }
    }

    fn not_serving_error(&self) -> Error {
        Error::new(
            ErrorKind::NoSuchRegion,
            format!(
                "region {} is not served here any more; look up the region of the row again",
                self.info.display_name()
            ),
        )
    }

    /// Verifies that `row` belongs to this region.
    fn check_row(&self, row: &[u8]) -> Result<()> {
        if self.info.contains(row) {
            return Ok(());
        }
        let text = format!(
            "row {} lies outside region {}; look up the region of the row again",
            halite_types::key::to_string_binary(row),
            self.info.display_name()
        );
        Err(Error::new(ErrorKind::WrongRegion, text))
    }

    /// Returns `true` if all cells are in files.
    pub(crate) fn is_in_files(&self) -> bool {
        !self.state.load().stores.iter().any(StoreSnapshot::has_cells)
    }

    /// Returns the memory in bytes of the cells that are not in a file.
    pub(crate) fn memstore_bytes(&self) -> usize {
        self.state.load().memstore_bytes()
    }
}
