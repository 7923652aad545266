//! The write-ahead log: one sequence of segments for all regions, appended in memory, written and synced in groups.
//!
//! [`Wal::append`] copies a record into a buffer and gives back the position behind it. Whoever waits for a position
//! ([`Wal::sync_to`]) takes the `io` lock, and with it the whole buffer: one write and one sync serve everybody whose
//! records were in it, and they find their position reached when their turn comes. So a lone writer pays no thread
//! switch, and many writers share each sync. Tasks, which must not block, are served by the log's own thread.
//!
//! Lock order: a region's commit lock, then `stored_nonces`, then `io`, then `buffer`.
//!
//! A failed sync, and a write that failed for another reason than want of room, is final: nothing is tried again, every later call
//! fails, and the next opening shows what survived. A group that found no room, or no file descriptor for
//! its segment, *stalls* the log: the group goes back to the front of the
//! buffer, whoever waits for it is told, new writes are refused, and it is written again, the same bytes in the same place, until there is
//! room. What it holds is applied and not visible, so nothing has to be taken back whether it gets to the disk or not.

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

mod cut;
mod format;
mod inspect;
mod names;
mod nonces;
mod recovery;
mod rewrite;
mod segment;
#[cfg(test)]
mod tests;

pub use cut::LogCut;
pub use format::Nonce;
pub(crate) use inspect::{inspect, inspect_foreign, inspect_nonces};
pub(crate) use names::DIRECTORY;
pub(crate) use recovery::{Recovered, RecoveryOptions, recover};

use format::{Mark, RecordFormat, SegmentHeader};
use names::{segment_path, temporary_path};
use nonces::{NONCES_MAX, StoredNonces};

/// How much is reserved behind a segment's end at a time.
const RESERVE_BYTES_MIN: u64 = 4 << 10;
const RESERVE_BYTES_MAX: u64 = 4 << 20;
/// How long the log's own thread waits before it tries again to write where there was no room.
const STALL_PAUSE: Duration = Duration::from_secs(1);

/// What the log is told once.
#[derive(Clone, Debug)]
pub(crate) struct WalOptions {
    /// Whether an ordinary write waits for the disk (`fdatasync`) or only for the operating system.
    pub(crate) fsync: bool,
    /// A segment of this size is closed and the next one begun.
    pub(crate) segment_bytes: u64,
    /// Bytes in the buffer at which an appender writes them out itself.
    pub(crate) buffer_bytes_max: usize,
    /// How long nonces are kept after the segments they are in, in milliseconds.
    pub(crate) nonce_ms: u64,
}

/// How far the log must be before a write is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Written a moment later; nobody waits.
    Async,
    /// Handed to the operating system.
    Flush,
    /// On the disk.
    Fsync,
}

/// The log of a store.
pub(crate) struct Wal {
    env: Env,
    options: WalOptions,
    store_id: [u8; 16],
    lock: Arc<StoreLock>,
    disk: Arc<DiskRoom>,
    buffer: Mutex<Buffer>,
    /// Wakes the log's own thread; goes with `buffer`.
    work: Condvar,
    io: Mutex<Io>,
    /// The files of nonces, oldest first; held while segments are removed, and taken before `io`.
    stored_nonces: Mutex<VecDeque<StoredNonces>>,
    /// Position up to which everything has been written.
    written: AtomicU64,
    /// Position up to which everything has been synced.
    synced: AtomicU64,
    /// Bytes written to segments since the store was opened.
    bytes_written: AtomicU64,
    /// Bytes of the closed segments; changed under `io`.
    closed_bytes: AtomicU64,
    figures: Figures,
    failure: OnceLock<Error>,
    stall: Stall,
    /// Why segments that nobody needs any more stay, if they do.
    removal_failure: Mutex<Option<Error>>,
}

/// Whether a group waits for room on the disk, and why its last try failed.
#[derive(Default)]
struct Stall {
    is_on: AtomicBool,
    error: Mutex<Option<Error>>,
}

impl Stall {
    /// The error, while it lasts.
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

/// What is counted since the store was opened.
#[derive(Default)]
struct Figures {
    appends: AtomicU64,
    rolls: AtomicU64,
    stalls: AtomicU64,
    panics: AtomicU64,
    write_us: Histogram,
    sync_us: Histogram,
}

/// What the log has done since the store was opened, and what there is of it.
#[derive(Clone, Copy, Debug)]
pub struct LogFigures<'a> {
    /// Segments that are still there, the one being written among them.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Writes appended.
    pub appends: u64,
    /// Segments closed.
    pub rolls: u64,
    /// How often a group of writes has found no room on the disk and waited for it.
    pub stalls: u64,
    /// Handing groups of writes to the operating system, in microseconds.
    pub write_us: &'a Histogram,
    /// Waiting for the disk, in microseconds.
    pub sync_us: &'a Histogram,
}

/// Records that have not been written. Positions count bytes appended since the store was opened.
struct Buffer {
    bytes: Vec<u8>,
    end: u64,
    /// Nonces in them.
    nonces: u64,
    wants_fsync: bool,
    /// Read points to move when the records are as safe as was asked for.
    completions: Vec<Completion>,
    /// Tasks waiting for a position.
    waiters: Vec<Waiter>,
    /// Whether the log's own thread has something to do.
    nudged: bool,
    thread: Thread,
}

/// The log's own thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    /// There is none: whoever waits does the work.
    None,
    Running,
    /// It does what is left and ends.
    Ending,
}

/// Records that were taken from the buffer to be written, and what goes with them.
struct Group {
    bytes: Vec<u8>,
    completions: Vec<Completion>,
    nonces: u64,
    fsync: bool,
}

/// Everything of a region up to a sequence id.
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

/// The segments; holding it is the right to write.
struct Io {
    /// `None` until the first write, so that opening and closing a store leaves no segment behind.
    segment: Option<OpenSegment>,
    next_number: u64,
    previous_bytes: u64,
    /// Closed segments, oldest first.
    closed: VecDeque<Segment>,
    /// How many segments have been removed, and how many of them for good.
    removals: u64,
    durable_removals: u64,
    /// Sequence id up to which each region's cells are in store files.
    flushed: BTreeMap<u64, u64>,
    /// The buffer that is not in use, and its completions.
    spare: Vec<u8>,
    spare_completions: Vec<Completion>,
}

struct OpenSegment {
    file: Box<dyn FileWriter>,
    /// Checksum of the header, which those of the records continue.
    seed: u32,
    bytes: u64,
    /// At how many it is closed.
    bytes_max: u64,
    /// Up to where room is reserved.
    reserved_bytes: u64,
    /// How much is written before room is asked for again where there was none.
    reserve_at: u64,
    durable_bytes: u64,
    /// How long the file is at least.
    length: u64,
    /// How long it was at least when it was synced. Marks state it: a file that is cut below that must get an end
    /// ([`Wal::close_segment`]), or the next opening takes it for damaged.
    durable_length: u64,
    segment: Segment,
}

/// A segment and the newest sequence id of each region in it.
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// Its size, once it is closed.
    pub(crate) bytes: u64,
    pub(crate) regions: BTreeMap<u64, u64>,
    /// Nonces in it.
    pub(crate) nonces: u64,
    /// When it was closed, in milliseconds since 1970.
    pub(crate) closed_ms: i64,
}

impl Wal {
    /// A log that has not looked at the segments there are; [`Wal::resume`] tells it before the first write.
    pub(crate) fn new(env: Env, options: WalOptions, store_id: [u8; 16], lock: Arc<StoreLock>, disk: Arc<DiskRoom>) -> Self {
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
                wants_fsync: false,
                completions: Vec::new(),
                waiters: Vec::new(),
                nudged: false,
                thread: Thread::None,
            }),
            work: Condvar::new(),
            io: Mutex::new(Io {
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
            figures: Figures::default(),
            failure: OnceLock::new(),
            stall: Stall::default(),
            removal_failure: Mutex::default(),
        }
    }

    /// Goes on behind the segments that were read back.
    pub(crate) fn resume(&self, recovered: Recovered) {
        *self.stored_nonces() = recovered.stored_nonces;
        let mut io = self.io();
        io.next_number = recovered.next_number;
        io.previous_bytes = recovered.last_bytes;
        io.closed = recovered.segments.into();
        self.closed_bytes.store(io.closed.iter().map(|segment| segment.bytes).sum(), Ordering::Relaxed);
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().healed()
    }

    fn io(&self) -> MutexGuard<'_, Io> {
        self.io.lock().healed()
    }

    fn stored_nonces(&self) -> MutexGuard<'_, VecDeque<StoredNonces>> {
        self.stored_nonces.lock().healed()
    }

    /// The level at which an ordinary write is complete.
    pub(crate) fn default_level(&self) -> Level {
        if self.options.fsync { Level::Fsync } else { Level::Flush }
    }

    /// Bytes written to segments since the store was opened.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.bytes_written.load(Ordering::Relaxed)
    }

    /// What the log has done.
    pub(crate) fn figures(&self) -> LogFigures<'_> {
        let io = self.io();
        let closed = io.closed.iter().map(|segment| segment.bytes);
        let (segments, bytes) = closed.chain(io.segment.iter().map(|open| open.bytes)).fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes));
        drop(io);
        let Figures { appends, rolls, stalls, write_us, sync_us, .. } = &self.figures;
        let [appends, rolls, stalls] = [appends, rolls, stalls].map(|count| count.load(Ordering::Relaxed));
        LogFigures { segments, bytes, appends, rolls, stalls, write_us, sync_us }
    }

    /// Does something with the disk and counts how long it takes.
    fn timed<T>(&self, histogram: &Histogram, work: impl FnOnce() -> T) -> T {
        let start = self.env.clock.monotonic_ns();
        let done = work();
        histogram.record(Duration::from_nanos(self.env.clock.monotonic_ns().saturating_sub(start)));
        done
    }

    /// Whether the log takes writes.
    ///
    /// # Errors
    /// The one that stopped it; `DiskFull` while it is stalled.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure()?;
        self.stall.error().map_or(Ok(()), |cause| Err(refusal(&cause)))
    }

    /// What those are told whose writes the log has and cannot write: not that nothing has been done.
    fn check_waiting(&self) -> Result<()> {
        self.failure()?;
        self.stall.error().map_or(Ok(()), |cause| Err(undecided(&cause)))
    }

    /// Why a group of writes waits for room on the disk, if one does.
    pub(crate) fn stall(&self) -> Option<Error> {
        self.stall.error()
    }

    /// The error that stopped the log for good, if one did; a lost lock is one.
    ///
    /// # Errors
    /// `Stopped`, or the first failure's own kind.
    pub(crate) fn failure(&self) -> Result<()> {
        self.failure.get().map_or_else(|| self.lock.failure(), |error| Err(error.clone()))
    }

    /// Lets a write in. A stalled log that has no thread of its own first tries again what it could not write.
    ///
    /// # Errors
    /// As [`Wal::check`]. Nothing has been done then.
    pub(crate) fn admit(&self) -> Result<()> {
        if self.stall.is_on.load(Ordering::Acquire)
            && self.failure().is_ok()
            && self.buffer().thread == Thread::None
            && let Some(mut io) = healed_try(self.io.try_lock())
        {
            // The error is told by the check.
            let _ = self.write_group(&mut io, false);
        }
        self.check()
    }

    /// Appends a write of `region` and returns the position behind it. The caller holds the region's commit lock, so
    /// the order of a region's sequence ids is the order of the log.
    pub(crate) fn append<'a>(
        &self,
        region: u64,
        mvcc: &Arc<Mvcc>,
        level: Level,
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
        buffer.wants_fsync |= level == Level::Fsync;
        buffer.complete_later(region, mvcc, sequence);
        let end = buffer.end;
        if level == Level::Async {
            self.nudge(&mut buffer);
        }
        let full = buffer.bytes.len() >= self.options.buffer_bytes_max;
        drop(buffer);
        self.figures.appends.fetch_add(1, Ordering::Relaxed);
        if full {
            // A failure is the ticket's to tell: the record is in the log's hands, and its sequence id is given out.
            let _ = self.sync_to(end, false);
        }
        Ok(end)
    }

    /// Lets `sequence`, which is not in the log, become visible after everything appended so far; returns the position
    /// to wait for. The caller holds the region's commit lock.
    pub(crate) fn follow(&self, region: u64, mvcc: &Arc<Mvcc>, sequence: u64) -> u64 {
        let mut buffer = self.buffer();
        // What is being written right now completes before anything in the buffer does.
        buffer.complete_later(region, mvcc, sequence);
        // A position of its own, so that waiting for it means waiting for the group that completes it.
        buffer.end += 1;
        self.nudge(&mut buffer);
        buffer.end
    }

    fn nudge(&self, buffer: &mut Buffer) {
        if !buffer.nudged {
            buffer.nudged = true;
            self.work.notify_one();
        }
    }

    /// The position behind everything appended so far.
    pub(crate) fn end(&self) -> u64 {
        self.buffer().end
    }

    pub(crate) fn is_reached(&self, position: u64, fsync: bool) -> bool {
        let mark = if fsync { &self.synced } else { &self.written };
        mark.load(Ordering::Acquire) >= position
    }

    /// Writes, and with `fsync` syncs, everything up to `position`, unless somebody else has.
    pub(crate) fn sync_to(&self, position: u64, fsync: bool) -> Result<()> {
        if self.is_reached(position, fsync) {
            return Ok(());
        }
        let mut io = self.io();
        if self.is_reached(position, fsync) {
            return Ok(());
        }
        self.failure()?;
        self.write_group(&mut io, fsync).map_err(undecided_if_stalled)
    }

    /// For tasks, before they wait: whether `position` has been written. If not, it is written here as long as that is one
    /// write to the operating system, nobody else is at it and nobody wants a sync; `None` if it is not.
    pub(crate) fn try_write(&self, position: u64) -> Option<Result<()>> {
        if self.is_reached(position, false) {
            return Some(Ok(()));
        }
        let mut io = healed_try(self.io.try_lock())?;
        if self.is_reached(position, false) {
            return Some(Ok(()));
        }
        if let Err(error) = self.check_waiting() {
            return Some(Err(error));
        }
        let has_room = io.segment.as_ref().is_some_and(|open| open.bytes < open.bytes_max);
        if !has_room || self.buffer().wants_fsync {
            return None;
        }
        Some(self.write_group(&mut io, false).map_err(undecided_if_stalled))
    }

    /// Writes out and syncs whatever there is, and completes it all.
    pub(crate) fn sync_all(&self) -> Result<()> {
        let mut io = self.io();
        self.failure()?;
        self.write_group(&mut io, true)
    }

    /// Says that a thread is in [`Wal::run`], or will be.
    pub(crate) fn set_threaded(&self) {
        self.buffer().thread = Thread::Running;
    }

    /// For tasks: whether `position` is reached; if not, `waker` is called when it is. Where the log has no thread of its
    /// own, in a simulation or after [`Wal::stop`], the task does the work.
    pub(crate) fn poll_sync(&self, position: u64, fsync: bool, waker: &Waker) -> Poll<Result<()>> {
        if self.is_reached(position, fsync) {
            return Poll::Ready(Ok(()));
        }
        let mut buffer = self.buffer();
        if buffer.thread == Thread::None {
            drop(buffer);
            return Poll::Ready(self.sync_to(position, fsync));
        }
        if let Err(error) = self.check_waiting() {
            return Poll::Ready(Err(error));
        }
        // A task that is polled again before its time is not noted again.
        let known = buffer.waiters.iter().any(|waiter| waiter.position == position && waiter.fsync == fsync && waiter.waker.will_wake(waker));
        if !known {
            buffer.waiters.push(Waiter { position, fsync, waker: waker.clone() });
        }
        self.nudge(&mut buffer);
        drop(buffer);
        // The position may have been reached between the look and the registration.
        if self.is_reached(position, fsync) {
            return Poll::Ready(Ok(()));
        }
        self.check_waiting().map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending)
    }

    /// Takes the buffer, writes it as one, syncs if anybody asked for that, and completes what was in it.
    fn write_group(&self, io: &mut Io, fsync: bool) -> Result<()> {
        let _fails = FailOnPanic(self);
        let (spare, spare_completions) = (std::mem::take(&mut io.spare), std::mem::take(&mut io.spare_completions));
        let (mut group, end, mut completions, nonces, fsync) = {
            let mut buffer = self.buffer();
            let bytes = std::mem::replace(&mut buffer.bytes, spare);
            let fsync = fsync || buffer.wants_fsync;
            buffer.wants_fsync = false;
            let nonces = std::mem::take(&mut buffer.nonces);
            (bytes, buffer.end, std::mem::replace(&mut buffer.completions, spare_completions), nonces, fsync)
        };
        let length = group.len();
        let result = self.write_bytes(io, &mut group, &completions, nonces, fsync);
        if let Err(error) = &result
            && may_be_tried_again(error)
        {
            group.truncate(length);
            self.put_back(io, Group { bytes: group, completions, nonces, fsync });
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
        // Before the marks: whoever finds his position reached may read what he wrote.
        for completion in &completions {
            completion.mvcc.complete(completion.sequence);
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

    /// Puts a group that was not written in front of what has come since.
    fn put_back(&self, io: &mut Io, group: Group) {
        let Group { mut bytes, mut completions, nonces, fsync } = group;
        let mut buffer = self.buffer();
        bytes.append(&mut buffer.bytes);
        completions.append(&mut buffer.completions);
        io.spare = std::mem::replace(&mut buffer.bytes, bytes);
        io.spare_completions = std::mem::replace(&mut buffer.completions, completions);
        buffer.nonces += nonces;
        buffer.wants_fsync |= fsync;
    }

    /// There was no room for a group: whoever waits is told, and so is whoever comes.
    fn begin_stall(&self, error: Error) {
        if !self.stall.is_on.load(Ordering::Acquire) {
            self.figures.stalls.fetch_add(1, Ordering::Relaxed);
        }
        self.stall.set(Some(error));
        self.wake_waiters();
        // The log's own thread tries again now and then.
        self.work.notify_one();
    }

    /// The log takes nothing any more, and whoever waits is told. The first failure is the one that is kept.
    fn fail(&self, error: Error) {
        let _ = self.failure.set(error);
        self.wake_waiters();
    }

    /// As [`Wal::fail`], unless everything is as before the error.
    fn fail_unless_stalled(&self, error: &Error) {
        if !may_be_tried_again(error) {
            self.fail(error.clone());
        }
    }

    /// How often a thread has panicked while it wrote the log.
    pub(crate) fn panics(&self) -> u64 {
        self.figures.panics.load(Ordering::Relaxed)
    }

    fn wake_waiters(&self) {
        let failed = self.check_waiting().is_err();
        let mut buffer = self.buffer();
        if buffer.waiters.is_empty() {
            return;
        }
        let (ready, waiting) = std::mem::take(&mut buffer.waiters).into_iter().partition(|w| failed || self.is_reached(w.position, w.fsync));
        buffer.waiters = waiting;
        drop(buffer);
        let ready: Vec<Waiter> = ready;
        for waiter in ready {
            waiter.waker.wake();
        }
    }

    /// Writes a group, and a mark at its end, to the current segment.
    fn write_bytes(&self, io: &mut Io, group: &mut Vec<u8>, completions: &[Completion], nonces: u64, fsync: bool) -> Result<()> {
        if !group.is_empty() && self.lock.check_if_due()? {
            self.check_segment(io)?;
        }
        // One group of many bytes may make a segment larger, with nothing before it; what is written again stays where it was.
        let is_again = self.stall.is_on.load(Ordering::Acquire);
        let would_be_too_large =
            |open: &OpenSegment| !is_again && !open.segment.regions.is_empty() && open.bytes + group.len() as u64 > open.bytes_max;
        let is_full = |open: &OpenSegment| open.bytes >= open.bytes_max || would_be_too_large(open);
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
            // Without syncs no length is durable; then the mark is about the time until the machine is restarted.
            let durable_length = if self.options.fsync { open.durable_length } else { open.length };
            format::write_mark(group, Mark { synced: open.durable_bytes, durable_length });
            format::chain(group, open.seed, open.bytes);
            open.reserve(group.len() as u64, &self.disk);
            self.timed(&self.figures.write_us, || open.write_all(group)).map_err(|error| unwritten(&format!("writing {}", name()), error))?;
            open.bytes += group.len() as u64;
            open.length = open.length.max(open.bytes);
            open.segment.nonces += nonces;
            self.bytes_written.fetch_add(group.len() as u64, Ordering::Relaxed);
            for completion in completions {
                open.segment.regions.insert(completion.region, completion.sequence);
            }
        }
        if fsync && open.durable_bytes < open.bytes {
            self.timed(&self.figures.sync_us, || open.file.sync()).map_err(|error| stopped(&format!("syncing {}", name()), error))?;
            (open.durable_bytes, open.durable_length) = (open.bytes, open.length);
        }
        Ok(())
    }

    /// Closes the current segment; the next write begins another.
    ///
    /// # Errors
    /// A failed write, after which the log takes nothing any more.
    pub(crate) fn roll(&self) -> Result<()> {
        self.sync_all()?;
        self.close_segment(&mut self.io()).inspect_err(|error| self.fail_unless_stalled(error))?;
        // A segment that stays is removed with the next one.
        self.try_to_remove_flushed();
        Ok(())
    }

    /// Looks whether the segment that is written still has its name. Where the log is being written at this moment it looks itself.
    pub(crate) fn look_at_segment(&self) {
        let Some(io) = healed_try(self.io.try_lock()) else { return };
        let checked = self.check_segment(&io);
        drop(io);
        if let Err(error) = checked {
            self.fail(error);
        }
    }

    /// Refuses to write on in a segment that no opening would find, or not whole: removed, replaced, or cut by somebody else.
    fn check_segment(&self, io: &Io) -> Result<()> {
        let Some(open) = &io.segment else { return Ok(()) };
        let path = segment_path(open.segment.number);
        // What cannot be looked at now is looked at again.
        let (Ok(named), Ok(own)) = (self.env.fs.identity(&path), open.file.identity()) else { return Ok(()) };
        let what = match (named, own) {
            (None, _) => "removed",
            (Some(named), Some(own)) if named.id != own.id => "replaced",
            (Some(named), _) if named.bytes < open.bytes => "cut",
            _ => return Ok(()),
        };
        // It may be the whole directory that is gone.
        self.lock.check()?;
        let text = format!(
            "log segment {}/{path} was {what} while it was written: what was written to it is in memory only; writing has stopped, reads go on; \
             copy what you need from this process before it ends, then run halite check",
            self.env.fs.root()
        );
        Err(Error::new(ErrorKind::Stopped, text))
    }

    /// Creates a segment under another name and gives it its own when header and room are durable: whoever finds a segment
    /// finds its header.
    fn begin_segment(&self, io: &mut Io) -> Result<()> {
        self.lock.check().map_err(|error| match error.kind() {
            ErrorKind::Io => Error::new(ErrorKind::Busy, error.message().to_owned()).with_source(error),
            _ => error,
        })?;
        let path = segment_path(io.next_number);
        self.disk.look();
        self.make_segment(io, &path).inspect_err(|_| {
            // Its room may be what others want.
            let _ = self.env.fs.remove_file(&temporary_path(&path));
        })
    }

    fn make_segment(&self, io: &mut Io, path: &str) -> Result<()> {
        let (env, number) = (&self.env, io.next_number);
        // Nothing is in the segment yet, so that it can be tried again from the start.
        let failed = |error| not_begun(&format!("beginning log segment {}/{path}", env.fs.root()), error);
        let temporary = temporary_path(path);
        if env.fs.exists(&temporary).map_err(failed)? {
            env.fs.remove_file(&temporary).map_err(failed)?;
        }
        let mut file = env.fs.create(&temporary).map_err(failed)?;
        let bytes_max = self.segment_bytes();
        let room = self.disk.part_of_free(reserve_bytes(bytes_max));
        let has_room = room >= RESERVE_BYTES_MIN && file.reserve(room).is_ok();
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
        let (_, RecordFormat::Chained(seed)) = SegmentHeader::decode(&encoded).expect("a header that was just made") else {
            unreachable!("headers are made in the newest version")
        };
        file.write_all(&encoded).map_err(failed)?;
        file.sync().map_err(failed)?;
        env.fs.rename(&temporary, path).map_err(failed)?;
        env.fs.sync_dir(DIRECTORY).map_err(failed)?;
        io.durable_removals = io.removals;
        io.next_number += 1;
        let segment = Segment { number, bytes: 0, regions: BTreeMap::new(), nonces: 0, closed_ms: 0 };
        let bytes = encoded.len() as u64;
        let length = bytes.max(header.durable_length);
        io.segment = Some(OpenSegment {
            file,
            seed,
            bytes,
            bytes_max,
            reserved_bytes: length,
            reserve_at: if has_room { 0 } else { bytes + reserve_bytes(bytes_max) / 4 },
            durable_bytes: bytes,
            length,
            durable_length: length,
            segment,
        });
        Ok(())
    }

    /// Ends the current segment, durably, and puts it with the closed ones.
    fn close_segment(&self, io: &mut Io) -> Result<()> {
        let Some(open) = io.segment.as_mut() else { return Ok(()) };
        let what = format!("closing log segment {}/{}", self.env.fs.root(), segment_path(open.segment.number));
        let failed = |error| stopped(&what, error);
        let mut end = Vec::new();
        let bytes = open.bytes + format::END_BYTES as u64;
        format::write_end(&mut end, bytes);
        format::chain(&mut end, open.seed, open.bytes);
        // Without room for its end it stays open.
        open.write_all(&end).map_err(|error| unwritten(&what, error))?;
        let Some(mut open) = io.segment.take() else { return Ok(()) };
        open.file.sync().map_err(failed)?;
        // After the sync: a file that is shorter than it was has its end.
        // A call for room that failed may have got a part of it.
        if open.length > bytes || open.reserve_at > 0 {
            open.file.truncate(bytes).map_err(failed)?;
        }
        io.previous_bytes = bytes;
        open.segment.bytes = bytes;
        open.segment.closed_ms = self.env.clock.now_ms();
        self.figures.rolls.fetch_add(1, Ordering::Relaxed);
        self.closed_bytes.fetch_add(open.segment.bytes, Ordering::Relaxed);
        io.closed.push_back(open.segment);
        // Those whose nonces must be stored first, or which must wait for a sync, are removed when the log is not held.
        if io.closed.front().is_some_and(|oldest| oldest.nonces == 0 && !io.needs(oldest)) && io.removals == io.durable_removals {
            let _ = self.remove_oldest(io);
        }
        Ok(())
    }

    /// Everything of `region` up to `sequence` is in store files: segments that nobody needs any more go.
    pub(crate) fn release(&self, region: u64, sequence: u64) {
        self.release_all(std::iter::once((region, sequence)));
    }

    /// As [`Wal::release`] for several regions.
    pub(crate) fn release_all(&self, regions: impl Iterator<Item = (u64, u64)>) {
        let mut io = self.io();
        for (region, sequence) in regions {
            let flushed = io.flushed.entry(region).or_default();
            *flushed = sequence.max(*flushed);
        }
        drop(io);
        // A segment that stays is removed with the next one.
        self.try_to_remove_flushed();
    }

    fn try_to_remove_flushed(&self) {
        *self.removal_failure.lock().healed() = self.remove_flushed().unwrap_or_else(Some);
    }

    /// Why segments that nobody needs any more stay, if they do.
    pub(crate) fn removal_failure(&self) -> Option<Error> {
        self.removal_failure.lock().healed().clone()
    }

    /// Removes the closed segments that no region needs, oldest first; their nonces are stored before. Each is gone for good before
    /// the next one goes: a number that is missing between two others is always damage then.
    ///
    /// The error is why a segment cannot be removed: it stays, with those after it, and is read again at the next opening.
    ///
    /// # Errors
    /// Nonces that could not be stored. Their segment stays in the same way.
    fn remove_flushed(&self) -> Result<Option<Error>> {
        self.lock.check()?;
        let mut stored = self.stored_nonces();
        loop {
            let io = self.io();
            let Some(oldest) = io.closed.front().filter(|oldest| !io.needs(oldest)) else { return Ok(None) };
            let (number, nonces, closed_ms) = (oldest.number, oldest.nonces, oldest.closed_ms);
            let (removals, durable) = (io.removals, io.durable_removals);
            drop(io);
            if removals > durable {
                if let Err(error) = names::sync_names(&self.env) {
                    return Ok(Some(error));
                }
                let mut io = self.io();
                io.durable_removals = io.durable_removals.max(removals);
                continue;
            }
            if nonces > 0 && self.options.nonce_ms > 0 {
                // A file of a segment that an earlier process could not remove is there already.
                stored.retain(|file| file.number != number);
                stored.push_back(nonces::store(&self.env, self.store_id, number, closed_ms)?);
                self.limit_nonces(&mut stored);
            }
            let mut io = self.io();
            if io.closed.front().is_some_and(|oldest| oldest.number == number)
                && io.removals == io.durable_removals
                && let Err(error) = self.remove_oldest(&mut io)
            {
                return Ok(Some(error));
            }
        }
    }

    fn remove_oldest(&self, io: &mut Io) -> Result<()> {
        let Some(oldest) = io.closed.front() else { return Ok(()) };
        self.lock.check()?;
        let path = segment_path(oldest.number);
        match self.env.fs.remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(format!("removing log segment {}/{path}", self.env.fs.root()), error));
            }
            _ => {}
        }
        let removed = io.closed.pop_front().map_or(0, |segment| segment.bytes);
        self.closed_bytes.fetch_sub(removed, Ordering::Relaxed);
        io.removals += 1;
        Ok(())
    }

    /// Removes the files of nonces that are too old, and the oldest of too many.
    fn limit_nonces(&self, stored: &mut VecDeque<StoredNonces>) {
        let now = self.env.clock.now_ms();
        let mut count: usize = stored.iter().map(|file| file.count).sum();
        while let Some(oldest) = stored.front().copied().filter(|file| {
            let newer = count.saturating_sub(file.count);
            file.is_expired(now, self.options.nonce_ms) || newer >= NONCES_MAX
        }) {
            let _ = self.env.fs.remove_file(&names::nonces_path(oldest.number));
            count -= oldest.count;
            stored.pop_front();
        }
    }

    /// The regions whose cells keep the oldest closed segment alive, where there are more of them than `segments` of full size, or more
    /// than `bytes` in them. Who does not wait for the log hears of none while it is being written to, and asks again.
    pub(crate) fn regions_to_flush(&self, segments: usize, bytes: u64, waits: bool) -> HashSet<u64> {
        // On a small disk it takes several to make one.
        let segments = segments.saturating_mul(usize::try_from(self.options.segment_bytes.div_ceil(self.segment_bytes())).unwrap_or(1));
        let io = if waits { Some(self.io()) } else { healed_try(self.io.try_lock()) };
        let Some(io) = io else { return HashSet::new() };
        if io.closed.len() <= segments && self.closed_bytes() <= bytes {
            return HashSet::new();
        }
        let Some(oldest) = io.closed.front() else { return HashSet::new() };
        let needed = |(region, sequence): (&u64, &u64)| io.flushed.get(region).is_none_or(|flushed| flushed < sequence).then_some(*region);
        oldest.regions.iter().filter_map(needed).collect()
    }

    /// Bytes of the segments that are closed and needed.
    pub(crate) fn closed_bytes(&self) -> u64 {
        self.closed_bytes.load(Ordering::Relaxed)
    }

    /// How large a segment becomes before it is closed, unless one write is larger.
    fn segment_bytes(&self) -> u64 {
        self.disk.segment_bytes(self.options.segment_bytes)
    }

    /// After everything has been flushed: takes all segments away.
    ///
    /// # Errors
    /// A failed write or sync, after which the log takes nothing any more and every later call has the same error.
    pub(crate) fn close(&self) -> Result<()> {
        self.sync_all()?;
        let _fails = FailOnPanic(self);
        // The log is let go of before segments are removed.
        let closed = self.close_segment(&mut self.io());
        closed.inspect_err(|error| self.fail_unless_stalled(error))?;
        self.remove_flushed()?;
        if !self.io().closed.is_empty() {
            return Ok(());
        }
        let synced = self.env.fs.sync_dir(DIRECTORY);
        let synced = synced.map_err(|error| stopped(&format!("syncing {}/{DIRECTORY}", self.env.fs.root()), error));
        synced.inspect_err(|error| self.fail(error.clone()))
    }

    /// The work of the log's own thread: writes what tasks and asynchronous writers left, until [`Wal::stop`] and the last
    /// of it.
    pub(crate) fn run(&self) {
        loop {
            let mut buffer = self.buffer();
            let mut is_retry = false;
            while !buffer.nudged && buffer.thread != Thread::Ending && !is_retry {
                if self.stall.is_on.load(Ordering::Acquire) && self.failure().is_ok() {
                    let (again, waited) = self.work.wait_timeout(buffer, STALL_PAUSE).healed();
                    (buffer, is_retry) = (again, waited.timed_out());
                } else {
                    buffer = self.work.wait(buffer).healed();
                }
            }
            drop(buffer);
            if !self.turn(is_retry) && self.buffer().thread == Thread::None {
                return;
            }
        }
    }

    /// One turn of the log's own thread, whoever is that; whether there was anything to do.
    pub(crate) fn step(&self) -> bool {
        self.turn(false)
    }

    fn turn(&self, is_retry: bool) -> bool {
        let mut buffer = self.buffer();
        if !buffer.nudged && !is_retry {
            if buffer.thread == Thread::Ending {
                buffer.thread = Thread::None;
            }
            return false;
        }
        buffer.nudged = false;
        let fsync = buffer.waiters.iter().any(|waiter| waiter.fsync);
        drop(buffer);
        let mut io = self.io();
        if self.failure().is_ok() {
            // An error or panic is kept as the log's failure, where everybody who waits finds it; the thread goes on.
            let _ = catch_unwind(AssertUnwindSafe(|| self.write_group(&mut io, fsync)));
        } else {
            // The lock may have been found lost elsewhere, where nobody knows who waits for the log.
            drop(io);
            self.wake_waiters();
        }
        true
    }

    /// Ends [`Wal::run`].
    pub(crate) fn stop(&self) {
        let mut buffer = self.buffer();
        if buffer.thread == Thread::Running {
            buffer.thread = Thread::Ending;
        }
        drop(buffer);
        self.work.notify_all();
    }
}

impl OpenSegment {
    /// Sees to it that the next `bytes` bytes need no more room. Where they do, a good part of a segment's is reserved: a sync
    /// then finds the file as long as it was, and has no length to write into the file system's journal; and a disk that fills up has
    /// room for what is on its way to the log.
    fn reserve(&mut self, bytes: u64, disk: &DiskRoom) {
        // Early, so that a mark states the new length before the records reach it: a file that is cut then shows it.
        let step = reserve_bytes(self.bytes_max);
        if self.bytes + bytes + step / 2 <= self.reserved_bytes || self.bytes < self.reserve_at {
            return;
        }
        disk.look();
        // A call for more than there is might take all there is, and fail.
        let room = bytes.saturating_add(disk.part_of_free(step));
        match self.file.reserve(room) {
            Ok(()) => {
                self.reserved_bytes = self.bytes + room;
                self.length = self.length.max(self.reserved_bytes);
            }
            // Without room the bytes are written all the same, and if the disk is full that will say so.
            Err(error) => self.reserve_at = if is_full(&error) { self.bytes + bytes + step / 4 } else { u64::MAX },
        }
    }

    /// Writes behind what there is. What a failed call has written of them stays, to be written over by the same bytes.
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes).map_err(|error| match self.file.rewind(self.bytes) {
            Ok(()) => error,
            // It is not known where the next bytes would stand.
            Err(rewind) => std::io::Error::other(format!("{error}; going back to byte {}: {rewind}", self.bytes)),
        })
    }
}

/// Whether a call failed for want of room, so that it may be done when there is some.
fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// How much room is reserved at a time.
fn reserve_bytes(segment_bytes: u64) -> u64 {
    (segment_bytes / 16).clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX)
}

impl Io {
    /// Whether cells of the segment are in no store file yet.
    fn needs(&self, segment: &Segment) -> bool {
        segment.regions.iter().any(|(region, sequence)| self.flushed.get(region).is_none_or(|flushed| flushed < sequence))
    }
}

impl Buffer {
    fn complete_later(&mut self, region: u64, mvcc: &Arc<Mvcc>, sequence: u64) {
        match self.completions.last_mut() {
            // A region's ids rise, so the newest completes those before it.
            Some(last) if last.region == region => last.sequence = sequence,
            _ => self.completions.push(Completion { region, mvcc: Arc::clone(mvcc), sequence }),
        }
    }
}

/// Refuses a write that no record can hold, before anything of it is in the buffer.
fn check_body<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Result<()> {
    let bytes = cells.map(<[u8]>::len).fold(0, usize::saturating_add);
    if bytes <= format::MAX_BODY_BYTES - format::BODY_HEADER_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!("a write of {bytes} bytes is over the log's limit of {} for a record; write it in parts", format::MAX_BODY_BYTES)))
}

/// Ends the log if its holder panics, so that everybody who waits for it is told.
struct FailOnPanic<'a>(&'a Wal);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.figures.panics.fetch_add(1, Ordering::Relaxed);
            self.0.fail(Error::new(
                ErrorKind::Stopped,
                "a panic while the log was written; writing has stopped, reads go on; close the store, open it again and report this",
            ));
        }
    }
}

/// The error of a log that cannot go on.
fn stopped(what: &str, error: std::io::Error) -> Error {
    let error = Error::io(what, error);
    let text = format!("{}; writing has stopped, reads go on; close the store, mend the cause and open it again", error.message());
    Error::new(ErrorKind::Stopped, text).with_source(error)
}

/// The error of a log that goes on when there is room, if that was what it wanted.
fn unwritten(what: &str, error: std::io::Error) -> Error {
    if !is_full(&error) {
        return stopped(what, error);
    }
    Error::new(ErrorKind::DiskFull, format!("{what}: {error}; make room on the disk")).with_source(error)
}

/// As [`unwritten`], before anything of a segment is in use: then what the process has too little of may come back, too.
fn not_begun(what: &str, error: std::io::Error) -> Error {
    use rustix::io::Errno;
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
            Error::new(ErrorKind::Busy, format!("{what}: {error}; close connections, or give the process more (ulimit -n)")).with_source(error)
        }
        _ => unwritten(what, error),
    }
}

/// Whether a group of writes can be written again after this error.
fn may_be_tried_again(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::DiskFull | ErrorKind::Busy)
}

/// What those are told who come while the log is stalled.
fn refusal(cause: &Error) -> Error {
    let text = format!("writes are refused, reads go on, and writes go on by themselves when the log can be written: {}", cause.message());
    Error::new(cause.kind(), text).with_source(cause.clone())
}

/// The error of a write that the log has taken and cannot write at the moment. Its kind is that of a failed file: whoever repeats the
/// write may do it twice.
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
