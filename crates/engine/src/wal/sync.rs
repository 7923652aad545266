//! Waits for a position, which one of the waiting callers satisfies for all: it writes the buffer
//! as one group.

use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};

use halite_types::{Error, ErrorKind, Result};

use super::Wal;
use super::buffer::{Completion, ThreadState, Waiter, WriteGroup};
use super::format::{self, SyncMarker};
use super::names::segment_path;
use super::open_segment::{OpenSegment, SegmentWriter};
use super::stall::{may_be_tried_again, stopped, undecided_if_stalled, unwritten};

impl Wal {
    /// Admits a write. A stalled log without its own thread first retries the unwritten group.
    ///
    /// # Errors
    /// As [`Wal::check`]. Nothing has been done in that case.
    pub(crate) fn admit(&self) -> Result<()> {
        if self.stall.is_on.load(Ordering::Acquire)
            && self.failure().is_ok()
            && self.buffer().thread == ThreadState::None
            && let Some(mut io) = self.segment_writer.try_lock()
        {
            // `check` reports the error.
            let _ = self.write_group(&mut io, false);
        }
        self.check()
    }

    pub(crate) fn is_durable(&self, position: u64, fsync: bool) -> bool {
        let mark = if fsync { &self.synced } else { &self.written };
        mark.load(Ordering::Acquire) >= position
    }

    /// Writes, and with `fsync` syncs, everything up to `position`, unless another thread already
    /// has.
    pub(crate) fn sync_to(&self, position: u64, fsync: bool) -> Result<()> {
        let is_settled =
            |position, fsync| self.is_durable(position, fsync) || self.check_waiting().is_err();
        while !self.is_durable(position, fsync) {
            if let Some(_turn) = self.turns.wait(position, fsync, is_settled) {
                let mut io = self.segment_writer();
                if self.is_durable(position, fsync) {
                    return Ok(());
                }
                self.failure()?;
                return self.write_group(&mut io, fsync).map_err(undecided_if_stalled);
            }
            if !self.is_durable(position, fsync) {
                // A stall that has ended since then is no error.
                self.check_waiting()?;
            }
        }
        Ok(())
    }

    /// For tasks, before they wait: returns `Some(Ok(()))` if `position` has been written.
    /// Otherwise writes it, if that takes one write to the operating system, no other thread is
    /// writing and no sync is requested. Returns `None` if it does not write.
    pub(crate) fn try_write(&self, position: u64) -> Option<Result<()>> {
        if self.is_durable(position, false) {
            return Some(Ok(()));
        }
        let mut io = self.segment_writer.try_lock()?;
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
    pub(super) fn write_group(&self, io: &mut SegmentWriter, fsync: bool) -> Result<()> {
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
        debug_assert!(
            length == 0 || !completions.is_empty(),
            "the records of a group make writes visible"
        );
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
        let written = self.written.swap(end, Ordering::AcqRel);
        debug_assert!(written <= end, "the written position rises");
        debug_assert!(self.synced.load(Ordering::Acquire) <= end, "synced bytes are written");
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
    pub(super) fn put_back(&self, io: &mut SegmentWriter, group: WriteGroup) {
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
    pub(super) fn begin_stall(&self, error: Error) {
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
    pub(super) fn fail(&self, error: Error) {
        let _ = self.failure.set(error);
        self.wake_waiters();
    }

    /// As [`Wal::fail`], unless the state is as before the error.
    pub(super) fn fail_unless_stalled(&self, error: &Error) {
        if !may_be_tried_again(error) {
            self.fail(error.clone());
        }
    }

    pub(super) fn wake_waiters(&self) {
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
    pub(super) fn write_bytes(
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
                let before = open.segment.regions.insert(completion.region, completion.sequence);
                debug_assert!(
                    before.is_none_or(|before| before < completion.sequence),
                    "sequence ids of a region rise within a segment"
                );
            }
        }
        if fsync && open.durable_bytes < open.bytes {
            self.timed(&self.counters.sync_us, || open.file.sync())
                .map_err(|error| stopped(&format!("syncing {}", name()), error))?;
            (open.durable_bytes, open.durable_length) = (open.bytes, open.length);
        } else {
            open.begin_writeback();
        }
        debug_assert!(
            open.durable_bytes <= open.bytes && open.bytes <= open.length,
            "synced bytes are written, and written bytes are in the file"
        );
        debug_assert!(open.durable_length <= open.length, "a synced length is one of the file");
        Ok(())
    }
}

/// Guard that stops the log if its holder panics, so that all waiting callers receive the error.
pub(super) struct FailOnPanic<'a>(pub(super) &'a Wal);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.counters.panics.fetch_add(1, Ordering::Relaxed);
            self.0.fail(Error::new(
                ErrorKind::Stopped,
                "a panic while the log was written; writing has stopped, reads go on; close the \
                 store, open it again and report this",
            ));
        }
    }
}
