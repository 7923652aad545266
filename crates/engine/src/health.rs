//! Whether a store takes writes, and what else a person who watches it wants to know.

use halite_types::Error;

use crate::env::DiskSpace;
use crate::shared::Shared;

/// What a store does with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// It reads and writes.
    Open,
    /// It reads, and refuses writes until there is room on the disk, or whatever else it has too little of; then it goes on by itself.
    Refusing,
    /// It reads, and refuses writes until it is closed and opened again: a sync or a write of the log or the manifest has failed, or
    /// the lock of the directory is lost.
    Stopped,
}

/// A store's state, and why.
#[derive(Clone, Debug)]
pub struct Health {
    pub state: StoreState,
    /// Why writes are refused, if they are.
    pub reason: Option<Error>,
    /// Room on the disk; `None` where it cannot be known.
    pub disk: Option<DiskSpace>,
    /// Bytes of it that are kept free for flushes and the log.
    pub disk_reserve_bytes: u64,
    /// Why segments of the log that nobody needs stay; `None` when they go.
    pub log_removal_failure: Option<Error>,
    /// Why the last flush in the background failed; `None` when it did not.
    pub flush_failure: Option<Error>,
    /// Why the last compaction in the background failed; `None` when it did not.
    pub compaction_failure: Option<Error>,
    /// How often a panic has ended work of the store's own threads, the writing of the log or the change of a region.
    pub panics: u64,
    /// What the last of them ended and what follows, unless it was the writing of the log: that is the reason of the state then.
    pub last_panic: Option<Error>,
}

impl Health {
    /// Looks at the disk and the lock, and asks everything that may have failed.
    pub(crate) fn of(shared: &Shared) -> Self {
        let disk = shared.disk.look();
        // A lock that is lost is told by what stops then; one that cannot be examined is examined again.
        let _ = shared.lock.check();
        shared.wal.look_at_segment();
        if shared.disk.is_low() {
            shared.request_flushes_for_the_log(false);
        }
        let (state, reason) = match shared.write_failure() {
            Err(error) => (StoreState::Stopped, Some(error)),
            Ok(()) => match shared.wal.stall().or_else(|| shared.disk.check().err()) {
                Some(error) => (StoreState::Refusing, Some(error)),
                None => (StoreState::Open, None),
            },
        };
        let (panics, last_panic) = shared.background.panics();
        Self {
            state,
            reason,
            disk,
            disk_reserve_bytes: shared.disk.reserve_bytes(),
            log_removal_failure: shared.wal.removal_failure(),
            flush_failure: shared.background.failure(),
            compaction_failure: shared.background.compaction_failure(),
            panics: panics + shared.wal.panics(),
            last_panic,
        }
    }
}
