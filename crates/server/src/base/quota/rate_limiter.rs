//! Rate limit, and the time to wait for more.

use halite_wire::proto as pb;
use pb::TimeUnit;

/// Amount that may be used per time unit. It refills evenly, like HBase's
/// `AverageIntervalRateLimiter`, and may be overdrawn by usage larger than its estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RateLimiter {
    limit: i64,
    unit_ms: i64,
    left: i64,
    /// Time of the last refill, in milliseconds; `None` before the first check.
    filled_ms: Option<u64>,
}

impl RateLimiter {
    /// Returns a full limiter. Returns `None` for a limit without a number, or in a unit that HBase
    /// does not support for limits.
    pub(super) fn new(quota: &pb::TimedQuota) -> Option<Self> {
        let unit_ms = match quota.time_unit() {
            TimeUnit::Nanoseconds | TimeUnit::Microseconds => return None,
            TimeUnit::Milliseconds => 1,
            TimeUnit::Seconds => 1_000,
            TimeUnit::Minutes => 60_000,
            TimeUnit::Hours => 3_600_000,
            TimeUnit::Days => 86_400_000,
        };
        let limit = i64::try_from(quota.soft_limit?).unwrap_or(i64::MAX);
        (limit > 0).then_some(Self { limit, unit_ms, left: limit, filled_ms: None })
    }

    /// Replaces the limit; usage so far stays counted.
    pub(super) fn change(&mut self, other: &Self) {
        if self.limit < other.limit {
            self.left = self.left.saturating_add(other.limit - self.limit).min(other.limit);
        }
        (self.limit, self.unit_ms) = (other.limit, other.unit_ms);
    }

    pub(super) fn limit(&self) -> i64 {
        self.limit
    }

    pub(super) fn left(&self) -> i64 {
        self.left
    }

    /// Returns the time until `amount` is available, in milliseconds; `None` if it is available.
    pub(super) fn wait_ms(&mut self, amount: i64, now_ms: u64) -> Option<u64> {
        let filled = self.fill(now_ms);
        self.left = self.left.saturating_add(filled).min(self.limit);
        if self.left >= amount {
            return None;
        }
        let wait =
            i128::from(amount - self.left) * i128::from(self.unit_ms) / i128::from(self.limit);
        // A call that would wait less than a millisecond continues.
        u64::try_from(wait).ok().filter(|wait| *wait > 0)
    }

    fn fill(&mut self, now_ms: u64) -> i64 {
        let Some(before) = self.filled_ms else {
            self.filled_ms = Some(now_ms);
            return self.limit;
        };
        let passed = i64::try_from(now_ms.saturating_sub(before)).unwrap_or(i64::MAX);
        let filled = match passed {
            passed if passed >= self.unit_ms => self.limit,
            passed => i64::try_from(
                i128::from(self.limit) * i128::from(passed) / i128::from(self.unit_ms),
            )
            .unwrap_or(self.limit),
        };
        if filled > 0 {
            self.filled_ms = Some(now_ms);
        }
        filled
    }

    /// Takes `amount`, or returns it if it is negative.
    pub(super) fn take(&mut self, amount: i64) {
        self.left = self.left.saturating_sub(amount).min(self.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(limit: u64, unit: TimeUnit) -> RateLimiter {
        RateLimiter::new(&pb::TimedQuota {
            time_unit: unit.into(),
            soft_limit: Some(limit),
            ..Default::default()
        })
        .unwrap()
    }

    #[test]
    fn used_quota_refills_evenly() {
        let mut rate = rate(10, TimeUnit::Seconds);
        for _ in 0..10 {
            assert_eq!(rate.wait_ms(1, 0), None);
            rate.take(1);
        }
        assert_eq!(rate.wait_ms(1, 0), Some(100));
        assert_eq!(rate.wait_ms(3, 50), Some(300));
        assert_eq!(rate.wait_ms(1, 100), None);
        rate.take(1);
        assert_eq!((rate.wait_ms(11, 5_000), rate.left()), (Some(100), 10));
    }

    #[test]
    fn underestimated_usage_extends_wait() {
        let mut rate = rate(100, TimeUnit::Minutes);
        assert_eq!(rate.wait_ms(100, 0), None);
        rate.take(400);
        assert_eq!(rate.wait_ms(1, 0), Some(180_600));
        rate.take(-350);
        assert_eq!(rate.left(), 50);
        rate.take(-350);
        assert_eq!(rate.left(), 100);
    }

    #[test]
    fn changed_limit_keeps_used_amount() {
        let mut small = rate(10, TimeUnit::Hours);
        assert_eq!(small.wait_ms(8, 0), None);
        small.take(8);
        small.change(&rate(20, TimeUnit::Hours));
        assert_eq!((small.left(), small.limit()), (12, 20));
        small.change(&rate(5, TimeUnit::Hours));
        assert_eq!((small.wait_ms(5, 0), small.left()), (None, 5));
    }

    #[test]
    fn limit_without_number_or_in_nanoseconds_is_ignored() {
        let quota = |unit: TimeUnit, soft_limit| pb::TimedQuota {
            time_unit: unit.into(),
            soft_limit,
            ..Default::default()
        };
        assert_eq!(RateLimiter::new(&quota(TimeUnit::Seconds, None)), None);
        assert_eq!(RateLimiter::new(&quota(TimeUnit::Seconds, Some(0))), None);
        assert_eq!(RateLimiter::new(&quota(TimeUnit::Nanoseconds, Some(1))), None);
    }
}
