//! Write-ahead log: one sequence of segments for all regions, appended in memory, written and
//! synced in groups. Its modules:
//!
//! ```text
//! append.rs        records into the buffer
//! buffer.rs        records that are not written yet, and what waits for them
//! sync.rs          the buffer to the disk as one group, for all waiting callers
//! turns.rs         which of them writes, and sleep of the others
//! open_segment.rs  the segment that is being written
//! roll.rs          begin, verification and end of segments
//! retention.rs     removal of segments and nonces that are not needed
//! log_thread.rs    the thread that writes for tasks
//! stall.rs         lack of disk space, and the errors of failed writes
//! format.rs        header and records of a segment
//! segment.rs       whole segments: their writes and their end
//! names.rs         names of the files
//! nonces.rs        nonces of removed segments
//! recovery.rs      reading after a crash; rewrite.rs, truncation.rs: its changes on the disk
//! inspect.rs       reading for checks, without changes
//! ```
//!
//! [`Wal::append`] copies a record into a buffer and returns the position after it. A caller that
//! waits for a position ([`Wal::sync_to`]) takes the whole buffer if no other caller is writing.
//! One write and one sync complete all records in the buffer. Other callers sleep meanwhile; then
//! one of those whose records came later takes the next turn, and the others are woken. A single
//! writer therefore pays no thread switch, and concurrent writers share each sync. The log thread
//! serves tasks, which must not block.
//!
//! Lock order: a region's commit lock, then `stored_nonces`, then `segment_writer`, then `buffer`.
//!
//! A failed sync is final, and so is a write that failed for a reason other than lack of disk
//! space. The log does not retry, every later call fails, and the next open recovers what survived.
//! A group that found no disk space, or no file descriptor for its segment, *stalls* the log. The
//! group returns to the front of the buffer, its waiting callers receive an error and new writes
//! are rejected. The log rewrites the same bytes at the same offset until there is space. The cells
//! of a stalled group are applied but not visible, so nothing has to be rolled back, whether or not
//! the group reaches the disk.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

use halite_types::{Error, Result};

use crate::disk_room::DiskRoom;
use crate::env::Env;
use crate::histogram::Histogram;
use crate::ranked_lock::{LockRank, RankedGuard, RankedMutex};
use crate::store_lock::StoreLock;

mod append;
mod buffer;
mod format;
mod inspect;
mod log_thread;
mod names;
mod nonces;
mod open_segment;
mod recovery;
mod retention;
mod rewrite;
mod roll;
mod segment;
mod stall;
mod sync;
#[cfg(test)]
mod tests;
mod truncation;
pub(crate) mod turns;

pub(crate) use append::LogWrite;
pub use format::Nonce;
pub(crate) use inspect::{inspect, inspect_foreign, inspect_nonces};
pub(crate) use names::DIRECTORY;
pub(crate) use recovery::{Recovered, RecoveryOptions, recover};
pub use truncation::WalTruncation;

use buffer::{Buffer, ThreadState};
use nonces::StoredNonces;
use open_segment::SegmentWriter;
use stall::{Stall, refusal, undecided};
use turns::Turns;

/// Immutable options of the log.
#[derive(Clone, Debug)]
pub(crate) struct WalOptions {
    /// `true` if an ordinary write waits for `fdatasync`, `false` if only for the operating
    /// system's write.
    pub(crate) fsync: bool,
    /// Segment size in bytes at which a segment is closed and the next one begins.
    pub(crate) segment_bytes: u64,
    /// Buffer size in bytes at which an appender writes the buffer itself.
    pub(crate) max_buffer_bytes: usize,
    /// Time in milliseconds that nonces are retained after their segments are removed.
    pub(crate) nonce_grace_period_ms: u64,
}

/// Progress that the log must make before a write is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SyncLevel {
    /// Written shortly afterwards; no caller waits.
    Async,
    /// Passed to the operating system.
    Flush,
    /// Synced to disk.
    Fsync,
}

/// Write-ahead log of a store.
pub(crate) struct Wal {
    env: Env,
    options: WalOptions,
    store_id: [u8; 16],
    lock: Arc<StoreLock>,
    disk: Arc<DiskRoom>,
    buffer: RankedMutex<Buffer>,
    /// Wakes the log thread; used with `buffer`.
    work: Condvar,
    segment_writer: RankedMutex<SegmentWriter>,
    /// Turns of the callers of [`Wal::sync_to`].
    turns: Turns,
    /// Nonce files, oldest first. Held while segments are removed, and acquired before
    /// `segment_writer`.
    stored_nonces: RankedMutex<VecDeque<StoredNonces>>,
    /// Position up to which all records are written.
    written: AtomicU64,
    /// Position up to which all records are synced.
    synced: AtomicU64,
    /// Bytes written to segments since the store was opened.
    bytes_written: AtomicU64,
    /// Bytes of the closed segments; changed under `segment_writer`.
    closed_bytes: AtomicU64,
    counters: WalCounters,
    failure: OnceLock<Error>,
    stall: Stall,
    /// Reason that unneeded segments are not removed, if any.
    removal_failure: Mutex<Option<Error>>,
}

/// Counters since the store was opened.
#[derive(Default)]
struct WalCounters {
    appends: AtomicU64,
    rolls: AtomicU64,
    stalls: AtomicU64,
    panics: AtomicU64,
    write_us: Histogram,
    sync_us: Histogram,
}

/// Statistics of the log since the store was opened, and its current size.
#[derive(Clone, Copy, Debug)]
pub struct WalStats<'a> {
    /// Segments that exist, including the current one.
    pub segments: u64,
    /// Bytes of these segments.
    pub bytes: u64,
    /// Appended writes.
    pub appends: u64,
    /// Closed segments.
    pub rolls: u64,
    /// Number of times a group of writes found no disk space and began to wait.
    pub stalls: u64,
    /// Time to pass a group of writes to the operating system, in microseconds.
    pub write_us: &'a Histogram,
    /// Time of a sync, in microseconds.
    pub sync_us: &'a Histogram,
}

impl Wal {
    /// Returns a log that has not read the existing segments. [`Wal::resume`] must pass them before
    /// the first write.
    pub(crate) fn new(
        env: Env,
        options: WalOptions,
        store_id: [u8; 16],
        lock: Arc<StoreLock>,
        disk: Arc<DiskRoom>,
    ) -> Self {
        Self {
            env,
            options,
            store_id,
            lock,
            disk,
            buffer: RankedMutex::new(
                LockRank::WalBuffer,
                Buffer {
                    bytes: Vec::new(),
                    end: 0,
                    nonces: 0,
                    needs_fsync: false,
                    completions: Vec::new(),
                    waiters: Vec::new(),
                    has_work: false,
                    thread: ThreadState::None,
                },
            ),
            work: Condvar::new(),
            segment_writer: RankedMutex::new(
                LockRank::SegmentWriter,
                SegmentWriter {
                    segment: None,
                    next_number: 1,
                    previous_bytes: 0,
                    closed: VecDeque::new(),
                    removals: 0,
                    durable_removals: 0,
                    flushed: BTreeMap::new(),
                    spare: Vec::new(),
                    spare_completions: Vec::new(),
                },
            ),
            turns: Turns::default(),
            stored_nonces: RankedMutex::new(LockRank::StoredNonces, VecDeque::new()),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            closed_bytes: AtomicU64::new(0),
            counters: WalCounters::default(),
            failure: OnceLock::new(),
            stall: Stall::default(),
            removal_failure: Mutex::default(),
        }
    }

    /// Continues after the recovered segments.
    pub(crate) fn resume(&self, recovered: Recovered) {
        *self.stored_nonces() = recovered.stored_nonces;
        let mut io = self.segment_writer();
        assert!(
            io.segment.is_none() && io.closed.is_empty(),
            "existing segments are passed before the first write"
        );
        io.next_number = recovered.next_number;
        io.previous_bytes = recovered.last_bytes;
        io.closed = recovered.segments.into();
        self.closed_bytes
            .store(io.closed.iter().map(|segment| segment.bytes).sum(), Ordering::Relaxed);
    }

    fn buffer(&self) -> RankedGuard<'_, Buffer> {
        self.buffer.lock()
    }

    fn segment_writer(&self) -> RankedGuard<'_, SegmentWriter> {
        self.segment_writer.lock()
    }

    fn stored_nonces(&self) -> RankedGuard<'_, VecDeque<StoredNonces>> {
        self.stored_nonces.lock()
    }

    /// Returns the level at which an ordinary write is complete.
    pub(crate) fn default_sync_level(&self) -> SyncLevel {
        if self.options.fsync { SyncLevel::Fsync } else { SyncLevel::Flush }
    }

    /// Returns the bytes written to segments since the store was opened.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.bytes_written.load(Ordering::Relaxed)
    }

    /// Returns the statistics of the log.
    pub(crate) fn stats(&self) -> WalStats<'_> {
        let io = self.segment_writer();
        let closed = io.closed.iter().map(|segment| segment.bytes);
        let (segments, bytes) = closed
            .chain(io.segment.iter().map(|open| open.bytes))
            .fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes));
        drop(io);
        let WalCounters { appends, rolls, stalls, write_us, sync_us, .. } = &self.counters;
        let [appends, rolls, stalls] =
            [appends, rolls, stalls].map(|count| count.load(Ordering::Relaxed));
        WalStats { segments, bytes, appends, rolls, stalls, write_us, sync_us }
    }

    /// Runs `work` and records its duration in `histogram`.
    fn timed<T>(&self, histogram: &Histogram, work: impl FnOnce() -> T) -> T {
        let start = self.env.clock.monotonic_ns();
        let done = work();
        histogram.record(Duration::from_nanos(self.env.clock.monotonic_ns().saturating_sub(start)));
        done
    }

    /// Verifies that the log accepts writes.
    ///
    /// # Errors
    /// The error that stopped the log; while it is stalled, the error of the stall (`DiskFull` or
    /// `Busy`).
    pub(crate) fn check(&self) -> Result<()> {
        self.failure()?;
        self.stall.error().map_or(Ok(()), |cause| Err(refusal(&cause)))
    }

    /// Verifies that the log can write what it has accepted. While the log is stalled, the error
    /// states that the outcome is undecided, not that nothing was done.
    fn check_waiting(&self) -> Result<()> {
        self.failure()?;
        self.stall.error().map_or(Ok(()), |cause| Err(undecided(&cause)))
    }

    /// Returns the reason that a group of writes waits for disk space, if one does.
    pub(crate) fn stall(&self) -> Option<Error> {
        self.stall.error()
    }

    /// Verifies that no error has stopped the log permanently. A lost lock counts as such an error.
    ///
    /// # Errors
    /// `Stopped`, or the first failure's own kind.
    pub(crate) fn failure(&self) -> Result<()> {
        self.failure.get().map_or_else(|| self.lock.failure(), |error| Err(error.clone()))
    }

    /// Returns the number of panics of threads that wrote the log.
    pub(crate) fn panics(&self) -> u64 {
        self.counters.panics.load(Ordering::Relaxed)
    }
}
