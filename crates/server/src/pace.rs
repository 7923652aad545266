//! How fast a client moves what is waited for. One that stands still, or all but, holds memory that others need.

use std::time::Duration;

use crate::outside::Instant;

/// Of what waits, so many bytes at least must move within the limit, and at least this part of it.
const BYTES_MIN: usize = 64 << 10;
const PART_MIN: usize = 64;

/// The pace of one direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Bytes that have moved since the span began.
    moved: usize,
    /// Since when something waits or enough of it has moved last, and what has to move until the limit.
    span: Option<(Instant, usize)>,
}

impl Pace {
    /// Bytes have moved.
    pub(crate) fn moved(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(bytes);
    }

    /// Whether too little of what waits, `waiting` bytes now, has moved for longer than `limit`. Looked at every now and then.
    pub(crate) fn is_stalled(&mut self, waiting: usize, now: Instant, limit: Duration) -> bool {
        match self.span {
            Some((since, needed)) if waiting > 0 && self.moved < needed => now.saturating_duration_since(since) > limit,
            _ => {
                self.moved = 0;
                self.span = (waiting > 0).then(|| (now, (waiting / PART_MIN).max(BYTES_MIN).min(waiting)));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    /// Whether a client that moves so many bytes a second, of so many that wait, is found to stand still within ten minutes.
    fn stalls(mut waiting: usize, per_second: usize) -> bool {
        let (mut pace, start) = (Pace::default(), Instant::now());
        (0..600).any(|second| {
            let moved = per_second.min(waiting);
            pace.moved(moved);
            waiting -= moved;
            second % 15 == 0 && pace.is_stalled(waiting, start + Duration::from_secs(second), LIMIT)
        })
    }

    #[test]
    fn a_byte_now_and_then_is_standing_still() {
        assert!(stalls(1000, 0));
        assert!(stalls(1000, 1));
        assert!(stalls(1 << 20, 500));
        assert!(stalls(256 << 20, 10 << 10), "a part of what waits");
        assert!(!stalls(1 << 20, 2 << 10));
        assert!(!stalls(256 << 20, 80 << 10));
        assert!(!stalls(100, 2));
    }

    #[test]
    fn what_begins_anew_has_the_whole_time() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!pace.is_stalled(100, at(0), LIMIT));
        // Everything went, and the next waits since some time after that.
        pace.moved(100);
        assert!(!pace.is_stalled(100, at(61), LIMIT));
        assert!(!pace.is_stalled(100, at(121), LIMIT));
        assert!(pace.is_stalled(100, at(122), LIMIT));
        assert!(!pace.is_stalled(0, at(123), LIMIT));
        assert!(!pace.is_stalled(100, at(500), LIMIT));
    }
}
