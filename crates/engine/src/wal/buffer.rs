//! Records that have been appended and not written, and what waits for them.

use std::sync::Arc;
use std::task::Waker;

use crate::commit::Mvcc;

/// Records that have not been written. Positions count bytes appended since the store was opened.
pub(super) struct Buffer {
    pub(super) bytes: Vec<u8>,
    pub(super) end: u64,
    /// Number of nonces in the records.
    pub(super) nonces: u64,
    pub(super) needs_fsync: bool,
    /// Read points to advance once the records are as durable as the caller wants.
    pub(super) completions: Vec<Completion>,
    /// Tasks that wait for a position.
    pub(super) waiters: Vec<Waiter>,
    /// `true` if the log thread has work.
    pub(super) has_work: bool,
    pub(super) thread: ThreadState,
}

/// State of the log thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadState {
    /// No thread; the waiting caller does the work.
    None,
    Running,
    /// The thread finishes the remaining work and ends.
    Ending,
}

/// Records taken from the buffer to be written, with their completions.
pub(super) struct WriteGroup {
    pub(super) bytes: Vec<u8>,
    pub(super) completions: Vec<Completion>,
    pub(super) nonces: u64,
    pub(super) fsync: bool,
}

/// All writes of a region up to a sequence id.
pub(super) struct Completion {
    pub(super) region: u64,
    pub(super) mvcc: Arc<Mvcc>,
    pub(super) sequence: u64,
}

pub(super) struct Waiter {
    pub(super) position: u64,
    pub(super) fsync: bool,
    pub(super) waker: Waker,
}

impl Buffer {
    /// Checks the sequence id of a region's next record, before the first byte of it is added.
    pub(super) fn check_order(&self, region: u64, sequence: u64) {
        let last = self.completions.last().filter(|last| last.region == region);
        assert!(last.is_none_or(|last| last.sequence < sequence), "sequence ids of a region rise");
    }

    /// Advances the region's read point to a sequence id, which [`Buffer::check_order`] has
    /// accepted, when the records so far are written.
    pub(super) fn complete_later(&mut self, region: u64, mvcc: &Arc<Mvcc>, sequence: u64) {
        match self.completions.last_mut() {
            // Sequence ids of a region ascend, so the newest completes those before it.
            Some(last) if last.region == region => last.sequence = sequence,
            _ => self.completions.push(Completion { region, mvcc: Arc::clone(mvcc), sequence }),
        }
    }
}
