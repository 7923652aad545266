//! Health of a store: its write state and other conditions that an operator monitors.

use halite_types::Error;

use crate::env::DiskSpace;
use crate::part_failures::PartFailures;
use crate::shared::EngineInner;
use crate::store::BloomFailures;

/// Request handling state of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// Accepts reads and writes.
    Open,
    /// Accepts reads and rejects writes until disk space or another exhausted resource is
    /// available; recovers automatically.
    Refusing,
    /// Accepts reads and rejects writes until the store is reopened: a sync or a write of the log
    /// or the manifest has failed, or the directory lock is lost.
    Stopped,
}

/// State of a store and its reason.
#[derive(Clone, Debug)]
pub struct Health {
    pub state: StoreState,
    /// Reason that writes are rejected, if they are.
    pub reason: Option<Error>,
    /// Disk space; `None` if it is unknown.
    pub disk: Option<DiskSpace>,
    /// Disk bytes kept free for flushes and the log.
    pub disk_reserve_bytes: u64,
    /// Error that prevents the removal of unneeded log segments; `None` if there is none.
    pub wal_removal_failure: Option<Error>,
    /// Error of the last background flush; `None` if it succeeded.
    pub flush_failure: Option<Error>,
    /// Error of the last background compaction; `None` if it succeeded.
    pub compaction_failure: Option<Error>,
    /// Number of panics in the store's own threads, in log writes or in region changes.
    pub panics: u64,
    /// Operation that the last panic ended, and the consequence. A panic in a log write is the
    /// reason of the state instead.
    pub last_panic: Option<Error>,
    /// Store files whose damage prevents reads: the error of these reads, one for each file.
    pub damaged_files: Vec<Error>,
    /// Bloom filters that could not be read.
    pub bloom_failures: BloomFailures,
    /// Damaged parts of data blocks, in place of which the whole blocks are read.
    pub part_failures: PartFailures,
}

impl Health {
    /// Checks the disk and the lock, and collects all recorded failures, but not the damaged files
    /// of regions.
    pub(crate) fn from_engine(shared: &EngineInner) -> Self {
        let disk = shared.disk.refresh();
        // A lost lock is reported by the write failure below. A lock that cannot be examined is
        // examined again later.
        let _ = shared.lock.check();
        shared.wal.try_check_segment();
        if shared.disk.is_low() {
            shared.request_flushes_for_wal(false);
        }
        let (state, reason) = match shared.write_failure() {
            Err(error) => (StoreState::Stopped, Some(error)),
            Ok(()) => match shared.wal.stall().or_else(|| shared.disk.check().err()) {
                Some(error) => (StoreState::Refusing, Some(error)),
                None => (StoreState::Open, None),
            },
        };
        let (panics, last_panic) = shared.scheduler.panics();
        Self {
            state,
            reason,
            disk,
            disk_reserve_bytes: shared.disk.reserve_bytes(),
            wal_removal_failure: shared.wal.removal_failure(),
            flush_failure: shared.scheduler.flush_failure(),
            compaction_failure: shared.scheduler.compaction_failure(),
            panics: panics + shared.wal.panics(),
            last_panic,
            damaged_files: Vec::new(),
            bloom_failures: shared.files.bloom_failures(),
            part_failures: shared.cache.part_failures(),
        }
    }
}
