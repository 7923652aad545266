//! Until when an operation must be done, and each of its calls.

use std::time::Duration;

use tokio::time::Instant;

/// The end of an operation and the time a call of it may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    begun: Instant,
    end: Instant,
    rpc: Duration,
}

/// Until when one call must be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallDeadline {
    pub(crate) at: Instant,
    /// Milliseconds from the call on, for its header and for the text of the failure.
    pub(crate) ms: u64,
}

impl Deadline {
    /// `operation_ms` from now, and `rpc` for each call.
    pub(crate) fn new(operation_ms: u64, rpc: Duration) -> Self {
        let begun = Instant::now();
        // A year is as good as for ever, and no sum overflows.
        let end = begun + Duration::from_millis(operation_ms).min(Duration::from_hours(24 * 365));
        Self { begun, end, rpc }
    }

    /// For a call that is made now.
    pub(crate) fn call(&self) -> CallDeadline {
        self.call_within(self.rpc)
    }

    /// An equal part of the time that is left.
    pub(crate) fn share(&self, parts: usize) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        left / u32::try_from(parts).unwrap_or(u32::MAX).max(1)
    }

    /// For a call that is made now and may take no longer than `most`.
    pub(crate) fn call_within(&self, most: Duration) -> CallDeadline {
        let now = Instant::now();
        let at = self.end.min(now + self.rpc.min(most));
        let left = at.saturating_duration_since(now);
        CallDeadline { at, ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1) }
    }

    /// Whether nothing can be done any more after so long a wait.
    pub(crate) fn is_over_after(&self, wait: Duration) -> bool {
        Instant::now() + wait >= self.end
    }

    /// Milliseconds since the operation began.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
