//! Deadlines of an operation and of its calls.

use std::time::Duration;

use tokio::time::Instant;

/// Deadline of an operation and the timeout of its calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    begun: Instant,
    end: Instant,
    rpc: Duration,
}

/// Deadline of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallDeadline {
    pub(crate) at: Instant,
    /// Milliseconds from the start of the call, for its header and for the error message.
    pub(crate) ms: u64,
}

impl Deadline {
    /// Creates a deadline `operation_ms` from now, with the timeout `rpc` for each call.
    pub(crate) fn new(operation_ms: u64, rpc: Duration) -> Self {
        let begun = Instant::now();
        // The limit of a year avoids overflow.
        let end = begun + Duration::from_millis(operation_ms).min(Duration::from_hours(24 * 365));
        Self { begun, end, rpc }
    }

    /// Returns the deadline of a call that starts now.
    pub(crate) fn call(&self) -> CallDeadline {
        self.call_within(self.rpc)
    }

    /// Returns an equal part of the remaining time.
    pub(crate) fn share(&self, parts: usize) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        left / u32::try_from(parts).unwrap_or(u32::MAX).max(1)
    }

    /// Returns the deadline of a call that starts now and may take at most `most`.
    pub(crate) fn call_within(&self, most: Duration) -> CallDeadline {
        let now = Instant::now();
        let at = self.end.min(now + self.rpc.min(most));
        let left = at.saturating_duration_since(now);
        CallDeadline { at, ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1) }
    }

    /// Returns `true` if the deadline has passed after this wait.
    pub(crate) fn is_over_after(&self, wait: Duration) -> bool {
        Instant::now() + wait >= self.end
    }

    /// Returns the milliseconds since the operation began.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
