//! Write-ahead log: one sequence of segments for all regions, appended in memory, written and
//! synced in groups.
//!
//! [`Wal::append`] copies a record into a buffer and returns the position after it. A caller that
//! waits for a position ([`Wal::sync_to`]) acquires the `segment_writer` lock and takes the whole
//! buffer. One write and one sync complete all records in the buffer. The other waiting callers
//! find their position already reached when they acquire the lock. A single writer therefore pays
//! no thread switch, and concurrent writers share each sync. The log thread serves tasks, which
//! must not block.
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

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::task::{Poll, Waker};
use std::time::Duration;

use halite_types::{Error, ErrorKind, Result};

use crate::commit::Mvcc;
use crate::disk_room::DiskRoom;
use crate::env::{Env, FileWriter};
use crate::heal::{Healed, healed_try};
use crate::histogram::Histogram;
use crate::store_lock::StoreLock;

mod format;
mod inspect;
mod names;
mod nonces;
mod recovery;
mod rewrite;
mod segment;
#[cfg(test)]
mod tests;
mod truncation;

pub use format::Nonce;
pub(crate) use inspect::{inspect, inspect_foreign, inspect_nonces};
pub(crate) use names::DIRECTORY;
pub(crate) use recovery::{Recovered, RecoveryOptions, recover};
pub use truncation::WalTruncation;

use format::{RecordFormat, SegmentHeader, SyncMarker};
use names::{segment_path, temporary_path};
use nonces::{MAX_NONCES, StoredNonces};

/// Bounds of the number of bytes preallocated past the end of a segment in one step.
const MIN_PREALLOCATE_BYTES: u64 = 4 << 10;
const MAX_PREALLOCATE_BYTES: u64 = 4 << 20;
/// Delay before the log thread retries a write that found no disk space.
const STALL_PAUSE: Duration = Duration::from_secs(1);

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
    buffer: Mutex<Buffer>,
    /// Wakes the log thread; used with `buffer`.
    work: Condvar,
    segment_writer: Mutex<SegmentWriter>,
    /// Nonce files, oldest first. Held while segments are removed, and acquired before
    /// `segment_writer`.
    stored_nonces: Mutex<VecDeque<StoredNonces>>,
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

/// State of a stalled log: `true` while a group waits for disk space, and the error of its last
/// attempt.
#[derive(Default)]
struct Stall {
    is_on: AtomicBool,
    error: Mutex<Option<Error>>,
}

impl Stall {
    /// Returns the error while the log is stalled.
    fn error(&self) -> Option<Error> {
        if !self.is_on.load(Ordering::Acquire) {
            return None;
        }
        self.error.lock().healed().clone()
    }

    fn set(&self, error: Option<Error>) {
        let is_on = error.is_some();
        *self.error.lock().healed() = error;
        self.is_on.store(is_on, Ordering::Release);
    }
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

/// Records that have not been written. Positions count bytes appended since the store was opened.
struct Buffer {
    bytes: Vec<u8>,
    end: u64,
    /// Number of nonces in the records.
    nonces: u64,
    needs_fsync: bool,
    /// Read points to advance once the records are as durable as the caller wants.
    completions: Vec<Completion>,
    /// Tasks that wait for a position.
    waiters: Vec<Waiter>,
    /// `true` if the log thread has work.
    has_work: bool,
    thread: ThreadState,
}

/// State of the log thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    /// No thread; the waiting caller does the work.
    None,
    Running,
    /// The thread finishes the remaining work and ends.
    Ending,
}

/// Records taken from the buffer to be written, with their completions.
struct WriteGroup {
    bytes: Vec<u8>,
    completions: Vec<Completion>,
    nonces: u64,
    fsync: bool,
}

/// All writes of a region up to a sequence id.
struct Completion {
    region: u64,
    mvcc: Arc<Mvcc>,
    sequence: u64,
}

struct Waiter {
    position: u64,
    fsync: bool,
    waker: Waker,
}

/// Segments of the log. The holder of this lock may write.
struct SegmentWriter {
    /// `None` until the first write, so that opening and closing a store leaves no segment.
    segment: Option<OpenSegment>,
    next_number: u64,
    previous_bytes: u64,
    /// Closed segments, oldest first.
    closed: VecDeque<Segment>,
    /// Number of removed segments, and how many of the removals are durable.
    removals: u64,
    durable_removals: u64,
    /// Sequence id up to which each region's cells are in store files.
    flushed: BTreeMap<u64, u64>,
    /// Spare buffer and spare list of completions, for reuse.
    spare: Vec<u8>,
    spare_completions: Vec<Completion>,
}

struct OpenSegment {
    file: Box<dyn FileWriter>,
    /// Checksum of the header, which seeds the checksums of the records.
    seed: u32,
    bytes: u64,
    /// Size in bytes at which the segment is closed.
    max_bytes: u64,
    /// Offset up to which disk space is preallocated.
    preallocated_bytes: u64,
    /// Segment size at which preallocation is retried after a failure.
    preallocate_at: u64,
    durable_bytes: u64,
    /// Lower bound of the file length.
    length: u64,
    /// Lower bound of the file length at the last sync. Sync markers contain it. A file cut below
    /// this length must have an end record ([`Wal::close_segment`]), or the next open treats it as
    /// damaged.
    durable_length: u64,
    segment: Segment,
}

/// Segment and the newest sequence id of each region in it.
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// Size in bytes, set when the segment is closed.
    pub(crate) bytes: u64,
    pub(crate) regions: BTreeMap<u64, u64>,
    /// Number of nonces in the segment.
    pub(crate) nonces: u64,
    /// Time when the segment was closed, in milliseconds since 1970.
    pub(crate) closed_ms: i64,
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
            buffer: Mutex::new(Buffer {
                bytes: Vec::new(),
                end: 0,
                nonces: 0,
                needs_fsync: false,
                completions: Vec::new(),
                waiters: Vec::new(),
                has_work: false,
                thread: ThreadState::None,
            }),
            work: Condvar::new(),
            segment_writer: Mutex::new(SegmentWriter {
                segment: None,
                next_number: 1,
                previous_bytes: 0,
                closed: VecDeque::new(),
                removals: 0,
                durable_removals: 0,
                flushed: BTreeMap::new(),
                spare: Vec::new(),
                spare_completions: Vec::new(),
            }),
            stored_nonces: Mutex::default(),
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
        io.next_number = recovered.next_number;
        io.previous_bytes = recovered.last_bytes;
        io.closed = recovered.segments.into();
        self.closed_bytes
            .store(io.closed.iter().map(|segment| segment.bytes).sum(), Ordering::Relaxed);
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().healed()
    }

    fn segment_writer(&self) -> MutexGuard<'_, SegmentWriter> {
        self.segment_writer.lock().healed()
    }

    fn stored_nonces(&self) -> MutexGuard<'_, VecDeque<StoredNonces>> {
        self.stored_nonces.lock().healed()
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

    /// Admits a write. A stalled log without its own thread first retries the unwritten group.
    ///
    /// # Errors
    /// As [`Wal::check`]. Nothing has been done in that case.
    pub(crate) fn admit(&self) -> Result<()> {
        if self.stall.is_on.load(Ordering::Acquire)
            && self.failure().is_ok()
            && self.buffer().thread == ThreadState::None
            && let Some(mut io) = healed_try(self.segment_writer.try_lock())
        {
            // `check` reports the error.
            let _ = self.write_group(&mut io, false);
        }
        self.check()
    }

    /// Appends a write of `region` and returns the position after it. The caller holds the region's
    /// commit lock, so the log has the region's writes in the order of their sequence ids.
    pub(crate) fn append<'a>(
        &self,
        region: u64,
        mvcc: &Arc<Mvcc>,
        level: SyncLevel,
        nonce: Option<Nonce>,
        cells: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<u64> {
        self.check()?;
        check_body(cells.clone())?;
        let mut buffer = self.buffer();
        let sequence = mvcc.next();
        let before = buffer.bytes.len();
        format::write_cells(&mut buffer.bytes, region, sequence, nonce, cells);
        buffer.end += (buffer.bytes.len() - before) as u64;
        buffer.nonces += u64::from(nonce.is_some());
        buffer.needs_fsync |= level == SyncLevel::Fsync;
        buffer.complete_later(region, mvcc, sequence);
        let end = buffer.end;
        if level == SyncLevel::Async {
            self.wake_thread(&mut buffer);
        }
        let full = buffer.bytes.len() >= self.options.max_buffer_bytes;
        drop(buffer);
        self.counters.appends.fetch_add(1, Ordering::Relaxed);
        if full {
            // The write ticket reports a failure: the record is in the buffer and its sequence id
            // is assigned.
            let _ = self.sync_to(end, false);
        }
        Ok(end)
    }

    /// Makes `sequence`, which is not in the log, visible after everything appended so far. Returns
    /// the position to wait for. The caller holds the region's commit lock.
    pub(crate) fn enqueue_completion(&self, region: u64, mvcc: &Arc<Mvcc>, sequence: u64) -> u64 {
        let mut buffer = self.buffer();
        // A group in progress completes before anything in the buffer does.
        buffer.complete_later(region, mvcc, sequence);
        // A separate position: a wait for it is a wait for the group that completes it.
        buffer.end += 1;
        self.wake_thread(&mut buffer);
        buffer.end
    }

    fn wake_thread(&self, buffer: &mut Buffer) {
        if !buffer.has_work {
            buffer.has_work = true;
            self.work.notify_one();
        }
    }

    /// Returns the position after everything appended so far.
    pub(crate) fn end(&self) -> u64 {
        self.buffer().end
    }

    pub(crate) fn is_durable(&self, position: u64, fsync: bool) -> bool {
        let mark = if fsync { &self.synced } else { &self.written };
        mark.load(Ordering::Acquire) >= position
    }

    /// Writes, and with `fsync` syncs, everything up to `position`, unless another thread already
    /// has.
    pub(crate) fn sync_to(&self, position: u64, fsync: bool) -> Result<()> {
        if self.is_durable(position, fsync) {
            return Ok(());
        }
        let mut io = self.segment_writer();
        if self.is_durable(position, fsync) {
            return Ok(());
        }
        self.failure()?;
        self.write_group(&mut io, fsync).map_err(undecided_if_stalled)
    }

    /// For tasks, before they wait: returns `Some(Ok(()))` if `position` has been written.
    /// Otherwise writes it, if that takes one write to the operating system, no other thread is
    /// writing and no sync is requested. Returns `None` if it does not write.
    pub(crate) fn try_write(&self, position: u64) -> Option<Result<()>> {
        if self.is_durable(position, false) {
            return Some(Ok(()));
        }
        let mut io = healed_try(self.segment_writer.try_lock())?;
        if self.is_durable(position, false) {
            return Some(Ok(()));
        }
        if let Err(error) = self.check_waiting() {
            return Some(Err(error));
        }
        let has_room = io.segment.as_ref().is_some_and(|open| open.bytes < open.max_bytes);
        if !has_room || self.buffer().needs_fsync {
            return None;
        }
        Some(self.write_group(&mut io, false).map_err(undecided_if_stalled))
    }

    /// Writes and syncs all appended records and completes them.
    pub(crate) fn sync_all(&self) -> Result<()> {
        let mut io = self.segment_writer();
        self.failure()?;
        self.write_group(&mut io, true)
    }

    /// Records that a thread is in [`Wal::run`], or will be.
    pub(crate) fn set_threaded(&self) {
        self.buffer().thread = ThreadState::Running;
    }

    /// For tasks: returns `Ready` if `position` is reached; otherwise wakes `waker` when it is.
    /// Without a log thread, in a simulation or after [`Wal::stop`], the task does the work.
    pub(crate) fn poll_sync(&self, position: u64, fsync: bool, waker: &Waker) -> Poll<Result<()>> {
        if self.is_durable(position, fsync) {
            return Poll::Ready(Ok(()));
        }
        let mut buffer = self.buffer();
        if buffer.thread == ThreadState::None {
            drop(buffer);
            return Poll::Ready(self.sync_to(position, fsync));
        }
        if let Err(error) = self.check_waiting() {
            return Poll::Ready(Err(error));
        }
        // A task that is polled again early is not registered twice.
        let known = buffer.waiters.iter().any(|waiter| {
            waiter.position == position && waiter.fsync == fsync && waiter.waker.will_wake(waker)
        });
        if !known {
            buffer.waiters.push(Waiter { position, fsync, waker: waker.clone() });
        }
        self.wake_thread(&mut buffer);
        drop(buffer);
        // The position may have been reached between the check and the registration.
        if self.is_durable(position, fsync) {
            return Poll::Ready(Ok(()));
        }
        self.check_waiting().map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending)
    }

    /// Takes the buffer, writes it as one group, syncs if requested, and completes its records.
    fn write_group(&self, io: &mut SegmentWriter, fsync: bool) -> Result<()> {
        let _fails = FailOnPanic(self);
        let (spare, spare_completions) =
            (std::mem::take(&mut io.spare), std::mem::take(&mut io.spare_completions));
        let (mut group, end, mut completions, nonces, fsync) = {
            let mut buffer = self.buffer();
            let bytes = std::mem::replace(&mut buffer.bytes, spare);
            let fsync = fsync || buffer.needs_fsync;
            buffer.needs_fsync = false;
            let nonces = std::mem::take(&mut buffer.nonces);
            (
                bytes,
                buffer.end,
                std::mem::replace(&mut buffer.completions, spare_completions),
                nonces,
                fsync,
            )
        };
        let length = group.len();
        let result = self.write_bytes(io, &mut group, &completions, nonces, fsync);
        if let Err(error) = &result
            && may_be_tried_again(error)
        {
            group.truncate(length);
            self.put_back(io, WriteGroup { bytes: group, completions, nonces, fsync });
            self.begin_stall(error.clone());
            return result;
        }
        // Keep the memory for the group after next, but not that of a rare huge batch.
        group.clear();
        group.shrink_to(1 << 20);
        io.spare = group;
        if let Err(error) = result {
            self.fail(error.clone());
            return Err(error);
        }
        // Before `written` and `synced`: a caller whose position is reached may read its own
        // writes.
        for completion in &completions {
            completion.mvcc.advance(completion.sequence);
        }
        completions.clear();
        io.spare_completions = completions;
        self.written.store(end, Ordering::Release);
        if fsync {
            self.synced.store(end, Ordering::Release);
        }
        if self.stall.is_on.load(Ordering::Acquire) {
            self.stall.set(None);
        }
        self.wake_waiters();
        Ok(())
    }

    /// Returns an unwritten group to the buffer, before the records appended since.
    fn put_back(&self, io: &mut SegmentWriter, group: WriteGroup) {
        let WriteGroup { mut bytes, mut completions, nonces, fsync } = group;
        let mut buffer = self.buffer();
        bytes.append(&mut buffer.bytes);
        completions.append(&mut buffer.completions);
        io.spare = std::mem::replace(&mut buffer.bytes, bytes);
        io.spare_completions = std::mem::replace(&mut buffer.completions, completions);
        buffer.nonces += nonces;
        buffer.needs_fsync |= fsync;
    }

    /// Begins a stall because there was no disk space for a group. Waiting callers and later
    /// writers receive the error.
    fn begin_stall(&self, error: Error) {
        if !self.stall.is_on.load(Ordering::Acquire) {
            self.counters.stalls.fetch_add(1, Ordering::Relaxed);
        }
        self.stall.set(Some(error));
        self.wake_waiters();
        // The log thread retries every `STALL_PAUSE`.
        self.work.notify_one();
    }

    /// Stops the log: it rejects all further appends, and waiting callers receive the error. The
    /// log keeps the first failure.
    fn fail(&self, error: Error) {
        let _ = self.failure.set(error);
        self.wake_waiters();
    }

    /// As [`Wal::fail`], unless the state is as before the error.
    fn fail_unless_stalled(&self, error: &Error) {
        if !may_be_tried_again(error) {
            self.fail(error.clone());
        }
    }

    /// Returns the number of panics of threads that wrote the log.
    pub(crate) fn panics(&self) -> u64 {
        self.counters.panics.load(Ordering::Relaxed)
    }

    fn wake_waiters(&self) {
        let failed = self.check_waiting().is_err();
        let mut buffer = self.buffer();
        if buffer.waiters.is_empty() {
            return;
        }
        let (ready, waiting) = std::mem::take(&mut buffer.waiters)
            .into_iter()
            .partition(|w| failed || self.is_durable(w.position, w.fsync));
        buffer.waiters = waiting;
        drop(buffer);
        let ready: Vec<Waiter> = ready;
        for waiter in ready {
            waiter.waker.wake();
        }
    }

    /// Writes a group, followed by a sync marker, to the current segment.
    fn write_bytes(
        &self,
        io: &mut SegmentWriter,
        group: &mut Vec<u8>,
        completions: &[Completion],
        nonces: u64,
        fsync: bool,
    ) -> Result<()> {
        if !group.is_empty() && self.lock.check_if_due()? {
            self.check_segment(io)?;
        }
        // One large group may exceed the segment size if the segment contains nothing before it. A
        // retried group stays at its offset.
        let is_again = self.stall.is_on.load(Ordering::Acquire);
        let would_be_too_large = |open: &OpenSegment| {
            !is_again
                && !open.segment.regions.is_empty()
                && open.bytes + group.len() as u64 > open.max_bytes
        };
        let is_full = |open: &OpenSegment| open.bytes >= open.max_bytes || would_be_too_large(open);
        if io.segment.as_ref().is_some_and(is_full) {
            self.close_segment(io)?;
        }
        if !group.is_empty() && io.segment.is_none() {
            self.begin_segment(io)?;
        }
        let Some(open) = io.segment.as_mut() else { return Ok(()) };
        let number = open.segment.number;
        let name = || format!("log segment {}/{}", self.env.fs.root(), segment_path(number));
        if !group.is_empty() {
            // Without syncs no length is durable; the marker then covers the time until the next
            // reboot.
            let durable_length = if self.options.fsync { open.durable_length } else { open.length };
            format::write_sync_marker(
                group,
                SyncMarker { synced: open.durable_bytes, durable_length },
            );
            format::chain(group, open.seed, open.bytes);
            open.preallocate(group.len() as u64, &self.disk);
            self.timed(&self.counters.write_us, || open.write_all(group))
                .map_err(|error| unwritten(&format!("writing {}", name()), error))?;
            open.bytes += group.len() as u64;
            open.length = open.length.max(open.bytes);
            open.segment.nonces += nonces;
            self.bytes_written.fetch_add(group.len() as u64, Ordering::Relaxed);
            for completion in completions {
                open.segment.regions.insert(completion.region, completion.sequence);
            }
        }
        if fsync && open.durable_bytes < open.bytes {
            self.timed(&self.counters.sync_us, || open.file.sync())
                .map_err(|error| stopped(&format!("syncing {}", name()), error))?;
            (open.durable_bytes, open.durable_length) = (open.bytes, open.length);
        }
        Ok(())
    }

    /// Closes the current segment; the next write begins another.
    ///
    /// # Errors
    /// A failed write, after which the log rejects all further appends.
    pub(crate) fn roll(&self) -> Result<()> {
        self.sync_all()?;
        self.close_segment(&mut self.segment_writer())
            .inspect_err(|error| self.fail_unless_stalled(error))?;
        // A segment that cannot be removed now is removed with the next one.
        self.try_to_remove_flushed();
        Ok(())
    }

    /// Verifies that the current segment still has its name. A write in progress does this check
    /// itself.
    pub(crate) fn try_check_segment(&self) {
        let Some(io) = healed_try(self.segment_writer.try_lock()) else { return };
        let checked = self.check_segment(&io);
        drop(io);
        if let Err(error) = checked {
            self.fail(error);
        }
    }

    /// Rejects further writes to a segment that the next open would not find or not find whole: one
    /// that another process removed, replaced or cut.
    fn check_segment(&self, io: &SegmentWriter) -> Result<()> {
        let Some(open) = &io.segment else { return Ok(()) };
        let path = segment_path(open.segment.number);
        // If either identity cannot be read now, a later check reads it.
        let (Ok(named), Ok(own)) = (self.env.fs.identity(&path), open.file.identity()) else {
            return Ok(());
        };
        let what = match (named, own) {
            (None, _) => "removed",
            (Some(named), Some(own)) if named.id != own.id => "replaced",
            (Some(named), _) if named.bytes < open.bytes => "cut",
            _ => return Ok(()),
        };
        // The whole directory may be missing.
        self.lock.check()?;
        let text = format!(
            "log segment {}/{path} was {what} while it was written: what was written to it is in memory only; writing has stopped, reads go on; \
             copy what you need from this process before it ends, then run halite check",
            self.env.fs.root()
        );
        Err(Error::new(ErrorKind::Stopped, text))
    }

    /// Creates a segment under a temporary name and renames it once its header and its
    /// preallocation are durable. A segment that exists under its name therefore has a header.
    fn begin_segment(&self, io: &mut SegmentWriter) -> Result<()> {
        self.lock.check().map_err(|error| match error.kind() {
            ErrorKind::Io => {
                Error::new(ErrorKind::Busy, error.message().to_owned()).with_source(error)
            }
            _ => error,
        })?;
        let path = segment_path(io.next_number);
        self.disk.refresh();
        self.make_segment(io, &path).inspect_err(|_| {
            // Other writers may need its disk space.
            let _ = self.env.fs.remove_file(&temporary_path(&path));
        })
    }

    fn make_segment(&self, io: &mut SegmentWriter, path: &str) -> Result<()> {
        let (env, number) = (&self.env, io.next_number);
        // The segment contains nothing yet, so the attempt can be repeated from the start.
        let failed =
            |error| not_begun(&format!("beginning log segment {}/{path}", env.fs.root()), error);
        let temporary = temporary_path(path);
        if env.fs.exists(&temporary).map_err(failed)? {
            env.fs.remove_file(&temporary).map_err(failed)?;
        }
        let mut file = env.fs.create(&temporary).map_err(failed)?;
        let max_bytes = self.segment_bytes();
        let room = self.disk.part_of_free(preallocate_bytes(max_bytes));
        let has_room = room >= MIN_PREALLOCATE_BYTES && file.preallocate(room).is_ok();
        if !has_room {
            file.truncate(0).map_err(failed)?;
        }
        let header = SegmentHeader {
            store_id: self.store_id,
            number,
            previous_bytes: io.previous_bytes,
            fsync: self.options.fsync,
            is_sealed: false,
            durable_length: if has_room { room } else { 0 },
            boot_id: env.fs.boot_id(),
            salt: env.rng.next_u64(),
        };
        let encoded = header.encode();
        let (_, RecordFormat::Chained(seed)) =
            SegmentHeader::decode(&encoded).expect("a header that was just made")
        else {
            unreachable!("headers are made in the newest version")
        };
        file.write_all(&encoded).map_err(failed)?;
        file.sync().map_err(failed)?;
        env.fs.rename(&temporary, path).map_err(failed)?;
        env.fs.sync_dir(DIRECTORY).map_err(failed)?;
        io.durable_removals = io.removals;
        io.next_number += 1;
        let segment =
            Segment { number, bytes: 0, regions: BTreeMap::new(), nonces: 0, closed_ms: 0 };
        let bytes = encoded.len() as u64;
        let length = bytes.max(header.durable_length);
        io.segment = Some(OpenSegment {
            file,
            seed,
            bytes,
            max_bytes,
            preallocated_bytes: length,
            preallocate_at: if has_room { 0 } else { bytes + preallocate_bytes(max_bytes) / 4 },
            durable_bytes: bytes,
            length,
            durable_length: length,
            segment,
        });
        Ok(())
    }

    /// Writes the end record of the current segment, syncs it and adds the segment to the closed
    /// ones.
    fn close_segment(&self, io: &mut SegmentWriter) -> Result<()> {
        let Some(open) = io.segment.as_mut() else { return Ok(()) };
        let what = format!(
            "closing log segment {}/{}",
            self.env.fs.root(),
            segment_path(open.segment.number)
        );
        let failed = |error| stopped(&what, error);
        let mut end = Vec::new();
        let bytes = open.bytes + format::END_BYTES as u64;
        format::write_end(&mut end, bytes);
        format::chain(&mut end, open.seed, open.bytes);
        // Without disk space for its end record the segment stays open.
        open.write_all(&end).map_err(|error| unwritten(&what, error))?;
        let Some(mut open) = io.segment.take() else { return Ok(()) };
        open.file.sync().map_err(failed)?;
        // After the sync: a file that is shorter than before has its end record. A failed
        // preallocation may have reserved a part of the space.
        if open.length > bytes || open.preallocate_at > 0 {
            open.file.truncate(bytes).map_err(failed)?;
        }
        io.previous_bytes = bytes;
        open.segment.bytes = bytes;
        open.segment.closed_ms = self.env.clock.now_ms();
        self.counters.rolls.fetch_add(1, Ordering::Relaxed);
        self.closed_bytes.fetch_add(open.segment.bytes, Ordering::Relaxed);
        io.closed.push_back(open.segment);
        // Segments whose nonces must be stored first, or which must wait for a sync, are removed
        // when the log is not held.
        if io.closed.front().is_some_and(|oldest| oldest.nonces == 0 && !io.needs(oldest))
            && io.removals == io.durable_removals
        {
            let _ = self.remove_oldest(io);
        }
        Ok(())
    }

    /// Records that all cells of `region` up to `sequence` are in store files, and removes the
    /// segments that are no longer needed.
    pub(crate) fn mark_flushed(&self, region: u64, sequence: u64) {
        self.mark_all_flushed(std::iter::once((region, sequence)));
    }

    /// As [`Wal::mark_flushed`] for several regions.
    pub(crate) fn mark_all_flushed(&self, regions: impl Iterator<Item = (u64, u64)>) {
        let mut io = self.segment_writer();
        for (region, sequence) in regions {
            let flushed = io.flushed.entry(region).or_default();
            *flushed = sequence.max(*flushed);
        }
        drop(io);
        // A segment that cannot be removed now is removed with the next one.
        self.try_to_remove_flushed();
    }

    fn try_to_remove_flushed(&self) {
        *self.removal_failure.lock().healed() = self.remove_flushed().unwrap_or_else(Some);
    }

    /// Returns the reason that unneeded segments are not removed, if any.
    pub(crate) fn removal_failure(&self) -> Option<Error> {
        self.removal_failure.lock().healed().clone()
    }

    /// Removes the closed segments that no region needs, oldest first. The nonces of each are
    /// stored before. Each removal is durable before the next one, so a missing number between two
    /// others always means damage.
    ///
    /// Returns the reason that a segment cannot be removed. That segment stays, with those after
    /// it, and the next open reads it again.
    ///
    /// # Errors
    /// Nonces that could not be stored. Their segment also stays.
    fn remove_flushed(&self) -> Result<Option<Error>> {
        self.lock.check()?;
        let mut stored = self.stored_nonces();
        loop {
            let io = self.segment_writer();
            let Some(oldest) = io.closed.front().filter(|oldest| !io.needs(oldest)) else {
                return Ok(None);
            };
            let (number, nonces, closed_ms) = (oldest.number, oldest.nonces, oldest.closed_ms);
            let (removals, durable) = (io.removals, io.durable_removals);
            drop(io);
            if removals > durable {
                if let Err(error) = names::sync_names(&self.env) {
                    return Ok(Some(error));
                }
                let mut io = self.segment_writer();
                io.durable_removals = io.durable_removals.max(removals);
                continue;
            }
            if nonces > 0 && self.options.nonce_grace_period_ms > 0 {
                // The nonce file of a segment that an earlier process could not remove already
                // exists.
                stored.retain(|file| file.number != number);
                stored.push_back(nonces::store(&self.env, self.store_id, number, closed_ms)?);
                self.limit_nonces(&mut stored);
            }
            let mut io = self.segment_writer();
            if io.closed.front().is_some_and(|oldest| oldest.number == number)
                && io.removals == io.durable_removals
                && let Err(error) = self.remove_oldest(&mut io)
            {
                return Ok(Some(error));
            }
        }
    }

    fn remove_oldest(&self, io: &mut SegmentWriter) -> Result<()> {
        let Some(oldest) = io.closed.front() else { return Ok(()) };
        self.lock.check()?;
        let path = segment_path(oldest.number);
        match self.env.fs.remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(
                    format!("removing log segment {}/{path}", self.env.fs.root()),
                    error,
                ));
            }
            _ => {}
        }
        let removed = io.closed.pop_front().map_or(0, |segment| segment.bytes);
        self.closed_bytes.fetch_sub(removed, Ordering::Relaxed);
        io.removals += 1;
        Ok(())
    }

    /// Removes the nonce files that are expired, and the oldest beyond `MAX_NONCES`.
    fn limit_nonces(&self, stored: &mut VecDeque<StoredNonces>) {
        let now = self.env.clock.now_ms();
        let mut count: usize = stored.iter().map(|file| file.count).sum();
        while let Some(oldest) = stored.front().copied().filter(|file| {
            let newer = count.saturating_sub(file.count);
            file.is_expired(now, self.options.nonce_grace_period_ms) || newer >= MAX_NONCES
        }) {
            let _ = self.env.fs.remove_file(&names::nonces_path(oldest.number));
            count -= oldest.count;
            stored.pop_front();
        }
    }

    /// Returns the regions whose cells keep the oldest closed segment alive. Returns none unless
    /// there are more than `segments` closed segments of full size, or more than `bytes` in them.
    /// If `waits` is `false` and the log is being written, also returns none; the caller retries.
    pub(crate) fn regions_to_flush(
        &self,
        segments: usize,
        bytes: u64,
        waits: bool,
    ) -> HashSet<u64> {
        // On a small disk several segments count as one of full size.
        let segments = segments.saturating_mul(
            usize::try_from(self.options.segment_bytes.div_ceil(self.segment_bytes())).unwrap_or(1),
        );
        let io = if waits {
            Some(self.segment_writer())
        } else {
            healed_try(self.segment_writer.try_lock())
        };
        let Some(io) = io else { return HashSet::new() };
        if io.closed.len() <= segments && self.closed_bytes() <= bytes {
            return HashSet::new();
        }
        let Some(oldest) = io.closed.front() else { return HashSet::new() };
        let needed = |(region, sequence): (&u64, &u64)| {
            io.flushed.get(region).is_none_or(|flushed| flushed < sequence).then_some(*region)
        };
        oldest.regions.iter().filter_map(needed).collect()
    }

    /// Returns the total bytes of the closed segments that still exist.
    pub(crate) fn closed_bytes(&self) -> u64 {
        self.closed_bytes.load(Ordering::Relaxed)
    }

    /// Returns the size in bytes at which a segment is closed, unless one write is larger.
    fn segment_bytes(&self) -> u64 {
        self.disk.segment_bytes(self.options.segment_bytes)
    }

    /// Closes the current segment and removes all segments. The caller has flushed everything.
    ///
    /// # Errors
    /// A failed write or sync, after which the log rejects all further appends and every later call
    /// returns the same error.
    pub(crate) fn close(&self) -> Result<()> {
        self.sync_all()?;
        let _fails = FailOnPanic(self);
        // The lock on the log is released before segments are removed.
        let closed = self.close_segment(&mut self.segment_writer());
        closed.inspect_err(|error| self.fail_unless_stalled(error))?;
        self.remove_flushed()?;
        if !self.segment_writer().closed.is_empty() {
            return Ok(());
        }
        let synced = self.env.fs.sync_dir(DIRECTORY);
        let synced = synced.map_err(|error| {
            stopped(&format!("syncing {}/{DIRECTORY}", self.env.fs.root()), error)
        });
        synced.inspect_err(|error| self.fail(error.clone()))
    }

    /// Runs the log thread: writes the records of tasks and asynchronous writers, until
    /// [`Wal::stop`] is called and all work is done.
    pub(crate) fn run(&self) {
        loop {
            let mut buffer = self.buffer();
            let mut is_retry = false;
            while !buffer.has_work && buffer.thread != ThreadState::Ending && !is_retry {
                if self.stall.is_on.load(Ordering::Acquire) && self.failure().is_ok() {
                    let (again, waited) = self.work.wait_timeout(buffer, STALL_PAUSE).healed();
                    (buffer, is_retry) = (again, waited.timed_out());
                } else {
                    buffer = self.work.wait(buffer).healed();
                }
            }
            drop(buffer);
            if !self.turn(is_retry) && self.buffer().thread == ThreadState::None {
                return;
            }
        }
    }

    /// Runs one iteration of the log thread, on any thread. Returns `true` if there was work.
    pub(crate) fn step(&self) -> bool {
        self.turn(false)
    }

    fn turn(&self, is_retry: bool) -> bool {
        let mut buffer = self.buffer();
        if !buffer.has_work && !is_retry {
            if buffer.thread == ThreadState::Ending {
                buffer.thread = ThreadState::None;
            }
            return false;
        }
        buffer.has_work = false;
        let fsync = buffer.waiters.iter().any(|waiter| waiter.fsync);
        drop(buffer);
        let mut io = self.segment_writer();
        if self.failure().is_ok() {
            // An error or panic becomes the log's failure, which all waiting callers receive; the
            // thread continues.
            let _ = catch_unwind(AssertUnwindSafe(|| self.write_group(&mut io, fsync)));
        } else {
            // Another code path may have found the lock lost without access to the waiting tasks.
            drop(io);
            self.wake_waiters();
        }
        true
    }

    /// Ends [`Wal::run`].
    pub(crate) fn stop(&self) {
        let mut buffer = self.buffer();
        if buffer.thread == ThreadState::Running {
            buffer.thread = ThreadState::Ending;
        }
        drop(buffer);
        self.work.notify_all();
    }
}

impl OpenSegment {
    /// Ensures that the next `bytes` bytes need no new disk space. If they do, reserves a step of
    /// the segment size. A sync then finds the file length unchanged and need not write it to the
    /// file system's journal. A disk that fills up still has space for records on their way to the
    /// log.
    fn preallocate(&mut self, bytes: u64, disk: &DiskRoom) {
        // Early, so that a sync marker contains the new length before the records reach it. A cut
        // file is then detected.
        let step = preallocate_bytes(self.max_bytes);
        if self.bytes + bytes + step / 2 <= self.preallocated_bytes
            || self.bytes < self.preallocate_at
        {
            return;
        }
        disk.refresh();
        // A call for more than the free space might take all of it, and fail.
        let room = bytes.saturating_add(disk.part_of_free(step));
        match self.file.preallocate(room) {
            Ok(()) => {
                self.preallocated_bytes = self.bytes + room;
                self.length = self.length.max(self.preallocated_bytes);
            }
            // Without space the bytes are written all the same; if the disk is full, that write
            // fails.
            Err(error) => {
                self.preallocate_at =
                    if is_full(&error) { self.bytes + bytes + step / 4 } else { u64::MAX }
            }
        }
    }

    /// Writes at the end of the segment. Bytes that a failed call has written stay and are
    /// overwritten by the same bytes.
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes).map_err(|error| match self.file.rewind(self.bytes) {
            Ok(()) => error,
            // The offset of the next bytes is unknown.
            Err(rewind) => std::io::Error::other(format!(
                "{error}; going back to byte {}: {rewind}",
                self.bytes
            )),
        })
    }
}

/// Returns `true` if a call failed for lack of disk space and may be retried once there is some.
fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// Returns the number of bytes to reserve in one step.
fn preallocate_bytes(segment_bytes: u64) -> u64 {
    (segment_bytes / 16).clamp(MIN_PREALLOCATE_BYTES, MAX_PREALLOCATE_BYTES)
}

impl SegmentWriter {
    /// Returns `true` if the segment contains cells that are in no store file yet.
    fn needs(&self, segment: &Segment) -> bool {
        segment.regions.iter().any(|(region, sequence)| {
            self.flushed.get(region).is_none_or(|flushed| flushed < sequence)
        })
    }
}

impl Buffer {
    fn complete_later(&mut self, region: u64, mvcc: &Arc<Mvcc>, sequence: u64) {
        match self.completions.last_mut() {
            // Sequence ids of a region ascend, so the newest completes those before it.
            Some(last) if last.region == region => last.sequence = sequence,
            _ => self.completions.push(Completion { region, mvcc: Arc::clone(mvcc), sequence }),
        }
    }
}

/// Rejects a write that no record can hold, before any of it is in the buffer.
fn check_body<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Result<()> {
    let bytes = cells.map(<[u8]>::len).fold(0, usize::saturating_add);
    if bytes <= format::MAX_BODY_BYTES - format::BODY_HEADER_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a write of {bytes} bytes is over the log's limit of {} for a record; write it in parts",
        format::MAX_BODY_BYTES
    )))
}

/// Guard that stops the log if its holder panics, so that all waiting callers receive the error.
struct FailOnPanic<'a>(&'a Wal);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.counters.panics.fetch_add(1, Ordering::Relaxed);
            self.0.fail(Error::new(
                ErrorKind::Stopped,
                "a panic while the log was written; writing has stopped, reads go on; close the store, open it again and report this",
            ));
        }
    }
}

/// Returns the error of a log that cannot continue.
fn stopped(what: &str, error: std::io::Error) -> Error {
    let error = Error::io(what, error);
    let text = format!(
        "{}; writing has stopped, reads go on; close the store, mend the cause and open it again",
        error.message()
    );
    Error::new(ErrorKind::Stopped, text).with_source(error)
}

/// Returns the error of a failed write: `DiskFull` for lack of disk space, after which the log
/// continues, else `Stopped`.
fn unwritten(what: &str, error: std::io::Error) -> Error {
    if !is_full(&error) {
        return stopped(what, error);
    }
    Error::new(ErrorKind::DiskFull, format!("{what}: {error}; make room on the disk"))
        .with_source(error)
}

/// As [`unwritten`], for a segment that contains nothing yet. A shortage of descriptors or memory
/// is also temporary in this case.
fn not_begun(what: &str, error: std::io::Error) -> Error {
    use rustix::io::Errno;
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Error::new(
            ErrorKind::Busy,
            format!("{what}: {error}; close connections, or give the process more (ulimit -n)"),
        )
        .with_source(error),
        _ => unwritten(what, error),
    }
}

/// Returns `true` if a group of writes can be retried after this error.
fn may_be_tried_again(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::DiskFull | ErrorKind::Busy)
}

/// Returns the error for writes that arrive while the log is stalled.
fn refusal(cause: &Error) -> Error {
    let text = format!(
        "writes are refused, reads go on, and writes go on by themselves when the log can be written: {}",
        cause.message()
    );
    Error::new(cause.kind(), text).with_source(cause.clone())
}

/// Returns the error of a write that the log has accepted and cannot write yet. Its kind is that of
/// a failed file, because a caller that repeats the write may apply it twice.
fn undecided(cause: &Error) -> Error {
    let text = format!(
        "{}; whether this write takes effect is not known yet: the log writes it as soon as it can, if the process lives until then",
        cause.message()
    );
    Error::new(ErrorKind::Io, text).with_source(cause.clone())
}

fn undecided_if_stalled(error: Error) -> Error {
    if may_be_tried_again(&error) { undecided(&error) } else { error }
}
