//! What all regions of an engine share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use halite_types::{Error, ErrorKind, Result};

use crate::background::Background;
use crate::cache::BlockCache;
use crate::catalog::Manifest;
use crate::disk_room::DiskRoom;
use crate::env::Env;
use crate::memstore::MemTable;
use crate::options::Options;
use crate::region::{RecentStamps, Region, RegionSnapshot};
use crate::store::{Placing, StoreFiles};
use crate::store_lock::StoreLock;
use crate::upkeep::UpkeepFigures;
use crate::wal::Wal;

/// A full disk does not ask for flushes of less than this part of a region's flush size.
const FLUSH_PART_MIN: u64 = 64;

/// The parts every region uses.
pub(crate) struct Shared {
    pub(crate) env: Env,
    pub(crate) options: Options,
    pub(crate) disk: Arc<DiskRoom>,
    pub(crate) wal: Arc<Wal>,
    pub(crate) manifest: Manifest,
    pub(crate) files: StoreFiles,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) background: Background,
    /// Held by whoever moves store files or takes them away.
    pub(crate) placing: Mutex<Placing>,
    /// Rows whose timestamps the clock has not passed yet.
    pub(crate) stamps: RecentStamps,
    /// Bytes written by flushes and by compactions.
    pub(crate) flushed_bytes: AtomicU64,
    pub(crate) compacted_bytes: AtomicU64,
    pub(crate) upkeep: UpkeepFigures,
    /// Another process cannot open the directory while this lives: whoever can still write to it holds it.
    pub(crate) lock: Arc<StoreLock>,
}

impl Shared {
    /// An empty memstore.
    pub(crate) fn new_memtable(&self) -> Arc<MemTable> {
        Arc::new(MemTable::new(self.options.memstore_chunk_bytes))
    }

    /// An empty memstore in place of one that held rows like those to come.
    pub(crate) fn successor_of(&self, memtable: &MemTable) -> Arc<MemTable> {
        Arc::new(memtable.successor(self.options.memstore_chunk_bytes))
    }

    fn flush_bytes(&self, snapshot: &RegionSnapshot) -> u64 {
        snapshot.settings.memstore_flush_bytes.unwrap_or(self.options.memstore_flush_bytes)
    }

    /// Lets a write in when the disk and its region have room; waits for the flush, or does it, when the region has not.
    ///
    /// # Errors
    /// `Busy` when flushing failed: the text says why. `DiskFull`; the log's failure. Nothing has been done then.
    pub(crate) fn admit(&self, region: &Region, snapshot: &RegionSnapshot) -> Result<()> {
        self.disk.admit().inspect_err(|_| self.request_flushes_for_the_log(false))?;
        self.wal.admit()?;
        let most = self.flush_bytes(snapshot).saturating_mul(self.options.memstore_block_multiplier);
        let is_region_full = || region.memstore_bytes() as u64 >= most;
        let is_all_full = || self.background.total_memstore_bytes() >= self.memstores_max();
        if (snapshot.memstore_bytes() as u64) < most && !is_all_full() {
            return Ok(());
        }
        self.background.wait_for_room(region, is_region_full, is_all_full)
    }

    /// Why nothing can be written until the store is opened again.
    ///
    /// # Errors
    /// The failure.
    pub(crate) fn write_failure(&self) -> Result<()> {
        self.wal.failure().and_then(|()| self.manifest.fate().check())
    }

    /// Whether a write would be let in without waiting; if not, a flush is asked for.
    ///
    /// # Errors
    /// `Busy`, `DiskFull`: try again later. The log's failure.
    pub(crate) fn try_admit(&self, region: &Region) -> Result<()> {
        self.disk.admit().inspect_err(|_| self.request_flushes_for_the_log(false))?;
        self.wal.admit()?;
        let snapshot = region.snapshot_ref();
        let most = self.flush_bytes(&snapshot).saturating_mul(self.options.memstore_block_multiplier);
        let (bytes, all) = (snapshot.memstore_bytes() as u64, self.background.total_memstore_bytes());
        if bytes >= most {
            self.background.request_flush(region);
            return Err(Error::new(ErrorKind::Busy, format!("its memstores hold {bytes} bytes, and {most} are the most; a flush is under way")));
        }
        let all_most = self.memstores_max();
        if all >= all_most {
            self.background.request_largest_flush();
            return Err(Error::new(ErrorKind::Busy, format!("all memstores hold {all} bytes, and {all_most} are the most; a flush is under way")));
        }
        Ok(())
    }

    /// Asks for a flush of the region if its memstores have grown enough.
    pub(crate) fn note_write(&self, region: &Region) {
        self.background.note_memstore(region);
        let snapshot = region.snapshot_ref();
        let disk_most = self.kept_in_memory_max();
        // What is being flushed already does not ask for another flush.
        if snapshot.active_bytes() as u64 >= self.flush_bytes(&snapshot) {
            self.background.request_flush(region);
        } else if self.background.total_memstore_bytes() >= self.options.memstore_total_bytes.min(disk_most) {
            self.background.request_largest_flush();
        } else if self.wal.closed_bytes() > disk_most {
            self.request_flushes_for_the_log(false);
        } else if region.wants_condensing(&snapshot) {
            self.background.request_condensing(region);
        }
    }

    /// The least that is flushed for want of room on the disk: files of next to nothing would not help.
    fn flush_bytes_min(&self) -> u64 {
        self.options.memstore_flush_bytes / FLUSH_PART_MIN
    }

    /// Bytes that may be in memstores, and in closed segments of the log, before flushes are asked for: what is in memory when the disk
    /// is full must still fit on it, or there is no way to give the log's room back. Half of that, since others write meanwhile, and
    /// the look at the disk is a while ago.
    fn kept_in_memory_max(&self) -> u64 {
        (self.disk.flushable_bytes() / 2).max(self.flush_bytes_min())
    }

    /// Bytes in all memstores at which writers wait. Without a reserve they fill the disk if they like.
    fn memstores_max(&self) -> u64 {
        let of_options = self.options.memstore_total_bytes / 2 * 3;
        if self.disk.reserve_bytes() == 0 { of_options } else { of_options.min(self.disk.flushable_bytes().max(self.flush_bytes_min())) }
    }

    /// Asks for flushes of the regions whose writes keep too much of the log: more segments than there are to be, or more bytes than the
    /// disk has room for. A region that never grows enough to be flushed would keep all of it. Whoever may not wait for a write of the log
    /// says so; the next to ask sees to it then.
    pub(crate) fn request_flushes_for_the_log(&self, waits: bool) {
        let most = if self.disk.is_low() { self.flush_bytes_min() } else { self.kept_in_memory_max() };
        let regions = self.wal.regions_to_flush(self.options.wal_segments_max, most, waits);
        if !regions.is_empty() {
            self.background.request_flushes_of(&regions);
        }
    }

    pub(crate) fn add_flushed(&self, bytes: u64) {
        self.flushed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_compacted(&self, bytes: u64) {
        self.compacted_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
