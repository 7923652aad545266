//! Detector of clients that send or receive too slowly. Such a client holds memory that other
//! clients need.

use std::time::Duration;

use crate::outside::Instant;

/// Minimum bytes of the waiting data that must move within the limit, and the minimum fraction
/// (1/n).
const MIN_MOVED_BYTES: usize = 64 << 10;
const MIN_MOVED_DIVISOR: usize = 64;

/// Progress of one direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct StallDetector {
    /// Bytes moved since the start of the span.
    moved: usize,
    /// Start of the span, and the bytes that must move before the limit. A span starts when data
    /// begins to wait, or when enough of it has moved.
    span: Option<(Instant, usize)>,
}

impl StallDetector {
    /// Records that bytes have moved.
    pub(crate) fn record_progress(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(bytes);
    }

    /// Returns `true` if for longer than `limit` too little has moved of the waiting data, now
    /// `waiting` bytes. Called periodically.
    pub(crate) fn is_stalled(&mut self, waiting: usize, now: Instant, limit: Duration) -> bool {
        match self.span {
            Some((since, needed)) if waiting > 0 && self.moved < needed => {
                now.saturating_duration_since(since) > limit
            }
            _ => {
                self.moved = 0;
                self.span = (waiting > 0).then(|| {
                    (now, (waiting / MIN_MOVED_DIVISOR).max(MIN_MOVED_BYTES).min(waiting))
                });
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    /// Returns `true` if a client that moves `per_second` bytes of `waiting` is detected as stalled
    /// within ten minutes.
    fn stalls(mut waiting: usize, per_second: usize) -> bool {
        let (mut pace, start) = (StallDetector::default(), Instant::now());
        (0..600).any(|second| {
            let moved = per_second.min(waiting);
            pace.record_progress(moved);
            waiting -= moved;
            second % 15 == 0 && pace.is_stalled(waiting, start + Duration::from_secs(second), LIMIT)
        })
    }

    #[test]
    fn occasional_bytes_count_as_stalled() {
        assert!(stalls(1000, 0));
        assert!(stalls(1000, 1));
        assert!(stalls(1 << 20, 500));
        assert!(stalls(256 << 20, 10 << 10), "a part of what waits");
        assert!(!stalls(1 << 20, 2 << 10));
        assert!(!stalls(256 << 20, 80 << 10));
        assert!(!stalls(100, 2));
    }

    #[test]
    fn new_transfer_has_full_timeout() {
        let (mut pace, start) = (StallDetector::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!pace.is_stalled(100, at(0), LIMIT));
        // All bytes were moved; the next bytes have waited since some time after that.
        pace.record_progress(100);
        assert!(!pace.is_stalled(100, at(61), LIMIT));
        assert!(!pace.is_stalled(100, at(121), LIMIT));
        assert!(pace.is_stalled(100, at(122), LIMIT));
        assert!(!pace.is_stalled(0, at(123), LIMIT));
        assert!(!pace.is_stalled(100, at(500), LIMIT));
    }
}
