//! Health of a store: its write state and other conditions that an operator monitors.

use halite_types::Error;

use crate::env::DiskSpace;
use crate::part_failures::PartFailures;
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
