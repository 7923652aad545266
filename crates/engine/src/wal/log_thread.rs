//! Log thread: writes the records of tasks and of asynchronous writers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Wal;
use super::buffer::ThreadState;

/// Delay before the log thread retries a write that found no disk space.
const STALL_PAUSE: Duration = Duration::from_secs(1);

impl Wal {
    /// Records that a thread is in [`Wal::run`], or will be.
    pub(crate) fn set_threaded(&self) {
        self.buffer().thread = ThreadState::Running;
    }

    /// Runs the log thread: writes the records of tasks and asynchronous writers, until
    /// [`Wal::stop`] is called and all work is done.
    pub(crate) fn run(&self) {
        loop {
            let mut buffer = self.buffer();
            let mut is_retry = false;
            while !buffer.has_work && buffer.thread != ThreadState::Ending && !is_retry {
                if self.stall.is_on.load(Ordering::Acquire) && self.failure().is_ok() {
                    (buffer, is_retry) = buffer.wait_timeout(&self.work, STALL_PAUSE);
                } else {
                    buffer = buffer.wait(&self.work);
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

    pub(super) fn turn(&self, is_retry: bool) -> bool {
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
