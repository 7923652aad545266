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
use crate::region::{RecentDeletes, Region, RegionSnapshot};
use crate::store::{Placing, StoreFiles};
use crate::store_lock::StoreLock;
use crate::upkeep::UpkeepFigures;
use crate::wal::Wal;

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
    /// Rows that the clock has just deleted.
    pub(crate) deletes: RecentDeletes,
    /// Bytes written by flushes and by compactions.
    pub(crate) flushed_bytes: AtomicU64,
    pub(crate) compacted_bytes: AtomicU64,
    pub(crate) upkeep: UpkeepFigures,
    /// Another process cannot open the directory while this lives: whoever can still write to it holds it.
    pub(crate) _lock: Arc<StoreLock>,
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
        self.disk.admit()?;
        self.wal.admit()?;
        let most = self.flush_bytes(snapshot).saturating_mul(self.options.memstore_block_multiplier);
        let is_region_full = || region.memstore_bytes() as u64 >= most;
        let is_all_full = || self.background.total_memstore_bytes() >= self.options.memstore_total_bytes / 2 * 3;
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
        self.disk.admit()?;
        self.wal.admit()?;
        let snapshot = region.snapshot_ref();
        let most = self.flush_bytes(&snapshot).saturating_mul(self.options.memstore_block_multiplier);
        let (bytes, all) = (snapshot.memstore_bytes() as u64, self.background.total_memstore_bytes());
        if bytes >= most {
            self.background.request_flush(region);
            return Err(Error::new(ErrorKind::Busy, format!("its memstores hold {bytes} bytes, and {most} are the most; a flush is under way")));
        }
        let all_most = self.options.memstore_total_bytes / 2 * 3;
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
        // What is being flushed already does not ask for another flush.
        if snapshot.active_bytes() as u64 >= self.flush_bytes(&snapshot) {
            self.background.request_flush(region);
        } else if self.background.total_memstore_bytes() >= self.options.memstore_total_bytes {
            self.background.request_largest_flush();
        } else if region.wants_condensing(&snapshot) {
            self.background.request_condensing(region);
        }
    }

    pub(crate) fn add_flushed(&self, bytes: u64) {
        self.flushed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_compacted(&self, bytes: u64) {
        self.compacted_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
