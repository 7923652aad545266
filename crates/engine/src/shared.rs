//! State shared by all regions of an engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::{Error, ErrorKind, Result};

use crate::block_cache::BlockCache;
use crate::catalog::{FileOrigin, Manifest};
use crate::compaction::CompactionPace;
use crate::disk_room::DiskRoom;
use crate::env::Env;
use crate::events::{EventLog, NewEvent};
use crate::maintenance_stats::MaintenanceStats;
use crate::memstore::MemTable;
use crate::operation_log::OperationLog;
use crate::options::Options;
use crate::ranked_lock::RankedMutex;
use crate::region::{RecentStamps, Region, RegionSnapshot};
use crate::scheduler::JobScheduler;
use crate::store::{FileArchiver, StoreFiles};
use crate::store_lock::StoreLock;
use crate::wal::Wal;

/// Divisor of a region's flush size: with a full disk, smaller flushes are not requested.
const MIN_FLUSH_SIZE_DIVISOR: u64 = 64;

/// Components used by every region.
pub(crate) struct EngineInner {
    pub(crate) env: Env,
    pub(crate) options: Options,
    pub(crate) disk: Arc<DiskRoom>,
    pub(crate) wal: Arc<Wal>,
    pub(crate) manifest: Manifest,
    pub(crate) files: StoreFiles,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) scheduler: JobScheduler,
    /// Lock held while store files are moved or deleted.
    pub(crate) archiver: RankedMutex<FileArchiver>,
    /// Rows with timestamps that the clock has not passed yet.
    pub(crate) stamps: RecentStamps,
    /// Bytes written by flushes and by compactions.
    pub(crate) flushed_bytes: AtomicU64,
    pub(crate) compacted_bytes: AtomicU64,
    pub(crate) maintenance_stats: MaintenanceStats,
    /// Newest events, for the owner of the engine.
    pub(crate) events: EventLog,
    /// Rate limit of automatic compactions.
    pub(crate) compaction_pace: CompactionPace,
    /// Sampled operations.
    pub(crate) operation_log: Arc<OperationLog>,
    /// Lock of the directory: another process cannot open the directory while this exists. Every
    /// component that can still write to the directory holds it.
    pub(crate) lock: Arc<StoreLock>,
}

impl EngineInner {
    /// Records an event at the current time.
    pub(crate) fn record(&self, event: NewEvent<'_>) {
        self.events.add(&self.env, event);
    }

    /// Moves the files as the current manifest requires ([`FileArchiver::archive_or_delete`]). Must
    /// be called after the change of the manifest that releases the files, or after one that
    /// failed. Returns `true` if all moves are certain to be durable.
    pub(crate) fn archive_or_delete(&self, homes: impl IntoIterator<Item = FileOrigin>) -> bool {
        let homes: BTreeSet<FileOrigin> = homes.into_iter().collect();
        // The next open may find either of two manifests, so files that either of them may
        // reference stay.
        if self.manifest.sync_state().check().is_err() {
            return false;
        }
        if homes.is_empty() {
            return true;
        }
        if self.lock.check().is_err() {
            return false;
        }
        let mut archiver = self.archiver.lock();
        archiver.archive_or_delete(&self.env, &self.manifest.current(), &homes)
    }

    /// Returns an empty memstore.
    pub(crate) fn new_memtable(&self) -> Arc<MemTable> {
        Arc::new(MemTable::new(self.options.memstore_chunk_bytes))
    }

    /// Returns an empty memstore to replace `memtable`, sized for similar rows.
    pub(crate) fn new_memtable_like(&self, memtable: &MemTable) -> Arc<MemTable> {
        Arc::new(memtable.successor(self.options.memstore_chunk_bytes))
    }

    fn flush_bytes(&self, snapshot: &RegionSnapshot) -> u64 {
        snapshot.settings.memstore_flush_bytes.unwrap_or(self.options.memstore_flush_bytes)
    }

    /// Admits a write if the disk and its region have room. If the region has no room, waits for
    /// the flush or performs it.
    ///
    /// # Errors
    /// `Busy` if flushing failed; the text contains the reason. `DiskFull`; the log's failure.
    /// Nothing has been written in these cases.
    pub(crate) fn admit(&self, region: &Region, snapshot: &RegionSnapshot) -> Result<()> {
        self.disk.admit().inspect_err(|_| self.request_flushes_for_wal(false))?;
        self.wal.admit()?;
        let most =
            self.flush_bytes(snapshot).saturating_mul(self.options.memstore_block_multiplier);
        let is_region_full = || region.memstore_bytes() as u64 >= most;
        let is_all_full = || self.scheduler.total_memstore_bytes() >= self.max_memstore_bytes();
        if (snapshot.memstore_bytes() as u64) < most && !is_all_full() {
            return Ok(());
        }
        self.scheduler.wait_for_memory(region, is_region_full, is_all_full)
    }

    /// Checks that the store accepts writes without being reopened.
    ///
    /// # Errors
    /// The failure of the log or the manifest.
    pub(crate) fn write_failure(&self) -> Result<()> {
        self.wal.failure().and_then(|()| self.manifest.sync_state().check())
    }

    /// Checks that a write would be admitted without waiting; if not, requests a flush.
    ///
    /// # Errors
    /// `Busy`, `DiskFull`: retry later. The log's failure.
    pub(crate) fn try_admit(&self, region: &Region) -> Result<()> {
        self.disk.admit().inspect_err(|_| self.request_flushes_for_wal(false))?;
        self.wal.admit()?;
        let snapshot = region.snapshot_ref();
        let most =
            self.flush_bytes(&snapshot).saturating_mul(self.options.memstore_block_multiplier);
        let (bytes, all) =
            (snapshot.memstore_bytes() as u64, self.scheduler.total_memstore_bytes());
        if bytes >= most {
            self.scheduler.request_flush(region);
            return Err(Error::new(
                ErrorKind::Busy,
                format!(
                    "its memstores hold {bytes} bytes, and {most} are the most; a flush is in \
                     progress"
                ),
            ));
        }
        let all_most = self.max_memstore_bytes();
        if all >= all_most {
            self.scheduler.request_largest_flush();
            return Err(Error::new(
                ErrorKind::Busy,
                format!(
                    "all memstores hold {all} bytes, and {all_most} are the most; a flush is in \
                     progress"
                ),
            ));
        }
        Ok(())
    }

    /// Requests a flush or an in-memory compaction if memstores or the log have grown enough.
    pub(crate) fn record_write(&self, region: &Region) {
        self.scheduler.record_memstore_bytes(region);
        let snapshot = region.snapshot_ref();
        let disk_most = self.max_unflushed_bytes();
        // Cells that are already being flushed do not trigger another flush.
        if snapshot.active_bytes() as u64 >= self.flush_bytes(&snapshot) {
            self.scheduler.request_flush(region);
        } else if self.scheduler.total_memstore_bytes()
            >= self.options.global_memstore_bytes.min(disk_most)
        {
            self.scheduler.request_largest_flush();
        } else if self.wal.closed_bytes() > disk_most {
            self.request_flushes_for_wal(false);
        } else if region.needs_in_memory_compaction(&snapshot) {
            self.scheduler.request_in_memory_compaction(region);
        }
    }

    /// Returns the minimum size of a flush that is triggered by low disk space: tiny files would
    /// not help.
    fn min_flush_bytes(&self) -> u64 {
        self.options.memstore_flush_bytes / MIN_FLUSH_SIZE_DIVISOR
    }

    /// Returns the bytes in memstores, and in closed log segments, above which flushes are
    /// requested. Memory contents must still fit on the disk when it is full, otherwise the log's
    /// space cannot be reclaimed. The result is half of that, because other writes run concurrently
    /// and the disk was checked some time ago.
    fn max_unflushed_bytes(&self) -> u64 {
        (self.disk.flushable_bytes() / 2).max(self.min_flush_bytes())
    }

    /// Returns the total memstore size at which writers wait. Without a reserve, memstores may fill
    /// the disk.
    fn max_memstore_bytes(&self) -> u64 {
        let of_options = self.options.global_memstore_bytes / 2 * 3;
        if self.disk.reserve_bytes() == 0 {
            of_options
        } else {
            of_options.min(self.disk.flushable_bytes().max(self.min_flush_bytes()))
        }
    }

    /// Requests flushes of the regions whose writes retain too much of the log: more segments than
    /// allowed, or more bytes than the disk has room for. A region that never reaches the flush
    /// size would otherwise retain the whole log. `waits` is false for callers that must not wait
    /// for a log write; the next request then covers it.
    pub(crate) fn request_flushes_for_wal(&self, waits: bool) {
        let most =
            if self.disk.is_low() { self.min_flush_bytes() } else { self.max_unflushed_bytes() };
        let regions = self.wal.regions_to_flush(self.options.max_wal_segments, most, waits);
        if !regions.is_empty() {
            self.scheduler.request_flushes_of(&regions);
        }
    }

    pub(crate) fn add_flushed(&self, bytes: u64) {
        self.flushed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_compacted(&self, bytes: u64) {
        self.compacted_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
