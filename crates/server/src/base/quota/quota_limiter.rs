//! All limits of one subject: a user, a table, a namespace or the server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_wire::exception::{Exception, ThrottleType};
use halite_wire::proto as pb;

use super::rate_limiter::RateLimiter;

/// Estimated or actual usage of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceUsage {
    pub(super) writes: i64,
    pub(super) reads: i64,
    /// Bytes.
    pub(super) write_size: i64,
    pub(super) read_size: i64,
    /// `true` if the call reads and writes atomically; separate limits apply to such calls in
    /// addition.
    pub(super) is_atomic: bool,
    /// Time that a thread runs the call, in milliseconds.
    pub(super) time_ms: i64,
}

/// Bytes of one capacity unit (`hbase.quota.read.capacity.unit`,
/// `hbase.quota.write.capacity.unit`).
const CAPACITY_UNIT_BYTES: i64 = 1024;

impl ResourceUsage {
    fn write_units(&self) -> i64 {
        units(self.write_size)
    }

    fn read_units(&self) -> i64 {
        units(self.read_size)
    }
}

fn units(bytes: i64) -> i64 {
    bytes.div_euclid(CAPACITY_UNIT_BYTES) + i64::from(bytes.rem_euclid(CAPACITY_UNIT_BYTES) > 0)
}

/// Limits of one subject, by [`ThrottleType`].
#[derive(Debug)]
pub(super) struct QuotaLimiter(Mutex<RateLimiters>);

type RateLimiters = [Option<RateLimiter>; ThrottleType::ALL.len()];

impl QuotaLimiter {
    /// Returns the limiter of these settings; `None` if they contain no limit.
    pub(super) fn new(throttle: &pb::Throttle) -> Option<Self> {
        let rates = rate_limiters(throttle);
        rates.iter().any(Option::is_some).then(|| Self(Mutex::new(rates)))
    }

    fn lock(&self) -> MutexGuard<'_, RateLimiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the limits with those of `other`; usage so far stays counted.
    pub(super) fn change(&self, other: &Self) {
        let new = other.lock().clone();
        for (rate, new) in self.lock().iter_mut().zip(new) {
            match (rate.as_mut(), new) {
                (Some(rate), Some(new)) => rate.change(&new),
                (_, new) => *rate = new,
            }
        }
    }

    /// Checks that the limits allow this usage now (HBase: `TimeBasedLimiter.checkQuota`). The
    /// check is capped to the limit itself.
    ///
    /// # Errors
    /// `RpcThrottlingException` of the first limit that does not allow it, with the time to wait.
    pub(super) fn check(&self, usage: &ResourceUsage, now_ms: u64) -> Result<(), Exception> {
        let mut rates = self.lock();
        let limit =
            |what: ThrottleType| rates[what as usize].as_ref().map_or(i64::MAX, RateLimiter::limit);
        let capped = ResourceUsage {
            reads: usage
                .reads
                .min(limit(ThrottleType::NumberOfRequests))
                .min(limit(ThrottleType::NumberOfReads)),
            writes: usage
                .writes
                .min(limit(ThrottleType::NumberOfRequests))
                .min(limit(ThrottleType::NumberOfWrites)),
            read_size: usage
                .read_size
                .min(limit(ThrottleType::RequestSize))
                .min(limit(ThrottleType::ReadSize)),
            write_size: usage
                .write_size
                .min(limit(ThrottleType::RequestSize))
                .min(limit(ThrottleType::WriteSize)),
            ..*usage
        };
        for (throttle, amount) in requested(usage, &capped) {
            if let Some(wait_ms) =
                rates[throttle as usize].as_mut().and_then(|rate| rate.wait_ms(amount, now_ms))
            {
                return Err(Exception::throttled(throttle, wait_ms));
            }
        }
        Ok(())
    }

    /// Counts usage; negative usage is returned to the limits.
    pub(super) fn take(&self, used: &ResourceUsage) {
        let mut rates = self.lock();
        for (throttle, amount) in consumed(used) {
            if let Some(rate) = &mut rates[throttle as usize] {
                rate.take(amount);
            }
        }
    }

    /// Returns the bytes that may be read now, and the maximum that may be read at once.
    pub(super) fn read_bytes(&self) -> (i64, i64) {
        let rates = self.lock();
        let of = |what: ThrottleType, amount: fn(&RateLimiter) -> i64| {
            rates[what as usize].as_ref().map_or(i64::MAX, amount)
        };
        (
            of(ThrottleType::ReadSize, RateLimiter::left),
            of(ThrottleType::ReadSize, RateLimiter::limit)
                .min(of(ThrottleType::RequestSize, RateLimiter::limit)),
        )
    }
}

fn rate_limiters(throttle: &pb::Throttle) -> RateLimiters {
    ThrottleType::ALL.map(|what| {
        let quota = match what {
            ThrottleType::NumberOfRequests => &throttle.req_num,
            ThrottleType::RequestSize => &throttle.req_size,
            ThrottleType::NumberOfReads => &throttle.read_num,
            ThrottleType::NumberOfWrites => &throttle.write_num,
            ThrottleType::WriteSize => &throttle.write_size,
            ThrottleType::ReadSize => &throttle.read_size,
            ThrottleType::RequestCapacityUnits => &throttle.req_capacity_unit,
            ThrottleType::ReadCapacityUnits => &throttle.read_capacity_unit,
            ThrottleType::WriteCapacityUnits => &throttle.write_capacity_unit,
            ThrottleType::NumberOfAtomicRequests => &throttle.atomic_req_num,
            ThrottleType::AtomicReadSize => &throttle.atomic_read_size,
            ThrottleType::AtomicWriteSize => &throttle.atomic_write_size,
            ThrottleType::RequestHandlerUsage => &throttle.req_handler_usage_ms,
        };
        quota.as_ref().and_then(RateLimiter::new)
    })
}

/// Returns the limits to check and their amounts, in HBase's order. For the sizes of atomic
/// operations HBase checks only the number of operations against the bytes left.
fn requested(
    usage: &ResourceUsage,
    capped: &ResourceUsage,
) -> impl Iterator<Item = (ThrottleType, i64)> {
    let (writes, reads) = (capped.write_size > 0, capped.read_size > 0);
    let (write_units, read_units) = (usage.write_units(), usage.read_units());
    let both = capped.writes + capped.reads;
    let all = [
        (true, ThrottleType::NumberOfRequests, both),
        (true, ThrottleType::RequestSize, capped.write_size.saturating_add(capped.read_size)),
        (true, ThrottleType::RequestCapacityUnits, write_units + read_units),
        (usage.is_atomic, ThrottleType::NumberOfAtomicRequests, both),
        (writes, ThrottleType::NumberOfWrites, capped.writes),
        (writes, ThrottleType::WriteSize, capped.write_size),
        (writes, ThrottleType::WriteCapacityUnits, write_units),
        (writes && usage.is_atomic, ThrottleType::AtomicWriteSize, capped.writes),
        (reads, ThrottleType::NumberOfReads, capped.reads),
        (reads, ThrottleType::ReadSize, capped.read_size),
        (reads, ThrottleType::ReadCapacityUnits, read_units),
        (reads && usage.is_atomic, ThrottleType::AtomicReadSize, both),
        (true, ThrottleType::RequestHandlerUsage, usage.time_ms),
    ];
    all.into_iter().filter(|(applies, ..)| *applies).map(|(_, what, amount)| (what, amount))
}

/// Returns the limits to count usage against and their amounts.
fn consumed(used: &ResourceUsage) -> impl Iterator<Item = (ThrottleType, i64)> {
    let (write_units, read_units) = (used.write_units(), used.read_units());
    let atomic = |amount: i64| if used.is_atomic { amount } else { 0 };
    let all = [
        (ThrottleType::NumberOfRequests, used.writes + used.reads),
        (ThrottleType::RequestSize, used.write_size + used.read_size),
        (ThrottleType::RequestCapacityUnits, write_units + read_units),
        (ThrottleType::NumberOfWrites, used.writes),
        (ThrottleType::WriteSize, used.write_size),
        (ThrottleType::WriteCapacityUnits, write_units),
        (ThrottleType::NumberOfReads, used.reads),
        (ThrottleType::ReadSize, used.read_size),
        (ThrottleType::ReadCapacityUnits, read_units),
        (ThrottleType::NumberOfAtomicRequests, atomic(used.writes + used.reads)),
        (ThrottleType::AtomicWriteSize, atomic(used.write_size)),
        (ThrottleType::AtomicReadSize, atomic(used.read_size)),
        (ThrottleType::RequestHandlerUsage, used.time_ms),
    ];
    all.into_iter().filter(|(_, amount)| *amount != 0)
}

#[cfg(test)]
mod tests {
    use pb::TimeUnit;

    use super::*;

    fn hourly(limit: u64) -> pb::TimedQuota {
        pb::TimedQuota {
            time_unit: TimeUnit::Hours.into(),
            soft_limit: Some(limit),
            ..Default::default()
        }
    }

    fn limiter(throttle: &pb::Throttle) -> QuotaLimiter {
        QuotaLimiter::new(throttle).unwrap()
    }

    const PUT: ResourceUsage = ResourceUsage {
        writes: 1,
        reads: 0,
        write_size: 100,
        read_size: 0,
        is_atomic: false,
        time_ms: 0,
    };
    const GET: ResourceUsage = ResourceUsage {
        writes: 0,
        reads: 1,
        write_size: 0,
        read_size: 65_536,
        is_atomic: false,
        time_ms: 0,
    };

    #[test]
    fn read_write_and_request_limits_apply_independently() {
        let writes = limiter(&pb::Throttle { write_num: Some(hourly(1)), ..Default::default() });
        writes.check(&PUT, 0).unwrap();
        writes.take(&PUT);
        let refused = writes.check(&PUT, 0).unwrap_err();
        assert_eq!(
            (refused.message(), refused.wait_ms()),
            ("number of write requests exceeded - wait 1hr, 0ms", Some(3_600_000))
        );
        writes.check(&GET, 0).unwrap();
        let both = limiter(&pb::Throttle { req_num: Some(hourly(2)), ..Default::default() });
        both.take(&PUT);
        both.take(&GET);
        assert!(both.check(&GET, 0).is_ok(), "the first look fills it up");
        both.take(&PUT);
        both.take(&GET);
        assert!(
            both.check(&GET, 0)
                .unwrap_err()
                .message()
                .starts_with("number of requests exceeded - wait ")
        );
    }

    #[test]
    fn oversized_call_is_admitted_when_quota_is_unused() {
        let reads = limiter(&pb::Throttle { read_size: Some(hourly(1000)), ..Default::default() });
        reads.check(&GET, 0).unwrap();
        reads.take(&GET);
        assert!(
            reads.check(&GET, 0).unwrap_err().message().starts_with("read size limit exceeded")
        );
        // The call has read less than estimated.
        reads.take(&ResourceUsage { read_size: 10 - 65_536, ..ResourceUsage::default() });
        assert_eq!(reads.read_bytes(), (990, 1000));
    }

    #[test]
    fn capacity_units_round_up_and_atomic_requests_count_separately() {
        let units =
            limiter(&pb::Throttle { req_capacity_unit: Some(hourly(66)), ..Default::default() });
        units.check(&GET, 0).unwrap();
        units.take(&ResourceUsage { read_size: 1025, ..GET });
        assert!(units.check(&GET, 0).is_ok());
        units.take(&GET);
        assert!(
            units
                .check(&PUT, 0)
                .unwrap_err()
                .message()
                .starts_with("request capacity unit exceeded")
        );
        let atomic =
            limiter(&pb::Throttle { atomic_req_num: Some(hourly(2)), ..Default::default() });
        let swap = ResourceUsage { writes: 1, reads: 1, is_atomic: true, ..PUT };
        for _ in 0..2 {
            atomic.check(&PUT, 0).unwrap();
            atomic.take(&PUT);
        }
        atomic.check(&swap, 0).unwrap();
        atomic.take(&swap);
        assert!(
            atomic
                .check(&swap, 0)
                .unwrap_err()
                .message()
                .starts_with("atomic request number exceeded")
        );
    }

    #[test]
    fn empty_throttle_creates_no_limiter() {
        assert!(QuotaLimiter::new(&pb::Throttle::default()).is_none());
    }
}
