//! All the limits of one holder: of a user, a table, a namespace, the server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_wire::exception::{Exception, Throttled};
use halite_wire::proto as pb;

use super::rate::Rate;

/// What a call is thought to use, or has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) writes: i64,
    pub(super) reads: i64,
    /// Bytes.
    pub(super) write_size: i64,
    pub(super) read_size: i64,
    /// It reads and writes as one; those have limits of their own beside the others.
    pub(super) is_atomic: bool,
    /// How long a thread is at it, in milliseconds.
    pub(super) time_ms: i64,
}

/// Bytes of one capacity unit (`hbase.quota.read.capacity.unit`, `hbase.quota.write.capacity.unit`).
const CAPACITY_UNIT_BYTES: i64 = 1024;

impl Use {
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

/// The limits of one holder, by [`Throttled`].
#[derive(Debug)]
pub(super) struct Limiter(Mutex<Rates>);

type Rates = [Option<Rate>; Throttled::ALL.len()];

impl Limiter {
    /// `None` if nothing is limited.
    pub(super) fn new(throttle: &pb::Throttle) -> Option<Self> {
        let rates = rates(throttle);
        rates.iter().any(Option::is_some).then(|| Self(Mutex::new(rates)))
    }

    fn lock(&self) -> MutexGuard<'_, Rates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the limits of another; what was used stays used.
    pub(super) fn change(&self, other: &Self) {
        let new = other.lock().clone();
        for (rate, new) in self.lock().iter_mut().zip(new) {
            match (rate.as_mut(), new) {
                (Some(rate), Some(new)) => rate.change(&new),
                (_, new) => *rate = new,
            }
        }
    }

    /// Whether so much may be used now (HBase: `TimeBasedLimiter.checkQuota`). More than a limit itself is never asked for.
    ///
    /// # Errors
    /// `RpcThrottlingException` of the first limit that does not allow it, with how long to wait.
    pub(super) fn check(&self, wanted: &Use, now_ms: u64) -> Result<(), Exception> {
        let mut rates = self.lock();
        let limit = |what: Throttled| rates[what as usize].as_ref().map_or(i64::MAX, Rate::limit);
        let capped = Use {
            reads: wanted.reads.min(limit(Throttled::NumberOfRequests)).min(limit(Throttled::NumberOfReads)),
            writes: wanted.writes.min(limit(Throttled::NumberOfRequests)).min(limit(Throttled::NumberOfWrites)),
            read_size: wanted.read_size.min(limit(Throttled::RequestSize)).min(limit(Throttled::ReadSize)),
            write_size: wanted.write_size.min(limit(Throttled::RequestSize)).min(limit(Throttled::WriteSize)),
            ..*wanted
        };
        for (what, amount) in asked(wanted, &capped) {
            if let Some(wait_ms) = rates[what as usize].as_mut().and_then(|rate| rate.wait_ms(amount, now_ms)) {
                return Err(Exception::throttled(what, wait_ms));
            }
        }
        Ok(())
    }

    /// Counts what is used; what is negative is given back.
    pub(super) fn take(&self, used: &Use) {
        let mut rates = self.lock();
        for (what, amount) in counted(used) {
            if let Some(rate) = &mut rates[what as usize] {
                rate.take(amount);
            }
        }
    }

    /// Bytes that may be read now, and the bytes that may ever be read at once.
    pub(super) fn read_bytes(&self) -> (i64, i64) {
        let rates = self.lock();
        let of = |what: Throttled, amount: fn(&Rate) -> i64| rates[what as usize].as_ref().map_or(i64::MAX, amount);
        (of(Throttled::ReadSize, Rate::left), of(Throttled::ReadSize, Rate::limit).min(of(Throttled::RequestSize, Rate::limit)))
    }
}

fn rates(throttle: &pb::Throttle) -> Rates {
    Throttled::ALL.map(|what| {
        let quota = match what {
            Throttled::NumberOfRequests => &throttle.req_num,
            Throttled::RequestSize => &throttle.req_size,
            Throttled::NumberOfReads => &throttle.read_num,
            Throttled::NumberOfWrites => &throttle.write_num,
            Throttled::WriteSize => &throttle.write_size,
            Throttled::ReadSize => &throttle.read_size,
            Throttled::RequestCapacityUnits => &throttle.req_capacity_unit,
            Throttled::ReadCapacityUnits => &throttle.read_capacity_unit,
            Throttled::WriteCapacityUnits => &throttle.write_capacity_unit,
            Throttled::NumberOfAtomicRequests => &throttle.atomic_req_num,
            Throttled::AtomicReadSize => &throttle.atomic_read_size,
            Throttled::AtomicWriteSize => &throttle.atomic_write_size,
            Throttled::RequestHandlerUsage => &throttle.req_handler_usage_ms,
        };
        quota.as_ref().and_then(Rate::new)
    })
}

/// What is asked of which limit, in HBase's order. Of the bytes of what is atomic HBase asks only whether there is one left.
fn asked(wanted: &Use, capped: &Use) -> impl Iterator<Item = (Throttled, i64)> {
    let (writes, reads) = (capped.write_size > 0, capped.read_size > 0);
    let (write_units, read_units) = (wanted.write_units(), wanted.read_units());
    let both = capped.writes + capped.reads;
    let all = [
        (true, Throttled::NumberOfRequests, both),
        (true, Throttled::RequestSize, capped.write_size.saturating_add(capped.read_size)),
        (true, Throttled::RequestCapacityUnits, write_units + read_units),
        (wanted.is_atomic, Throttled::NumberOfAtomicRequests, both),
        (writes, Throttled::NumberOfWrites, capped.writes),
        (writes, Throttled::WriteSize, capped.write_size),
        (writes, Throttled::WriteCapacityUnits, write_units),
        (writes && wanted.is_atomic, Throttled::AtomicWriteSize, capped.writes),
        (reads, Throttled::NumberOfReads, capped.reads),
        (reads, Throttled::ReadSize, capped.read_size),
        (reads, Throttled::ReadCapacityUnits, read_units),
        (reads && wanted.is_atomic, Throttled::AtomicReadSize, both),
        (true, Throttled::RequestHandlerUsage, wanted.time_ms),
    ];
    all.into_iter().filter(|(applies, ..)| *applies).map(|(_, what, amount)| (what, amount))
}

/// What is counted against which limit.
fn counted(used: &Use) -> impl Iterator<Item = (Throttled, i64)> {
    let (write_units, read_units) = (used.write_units(), used.read_units());
    let atomic = |amount: i64| if used.is_atomic { amount } else { 0 };
    let all = [
        (Throttled::NumberOfRequests, used.writes + used.reads),
        (Throttled::RequestSize, used.write_size + used.read_size),
        (Throttled::RequestCapacityUnits, write_units + read_units),
        (Throttled::NumberOfWrites, used.writes),
        (Throttled::WriteSize, used.write_size),
        (Throttled::WriteCapacityUnits, write_units),
        (Throttled::NumberOfReads, used.reads),
        (Throttled::ReadSize, used.read_size),
        (Throttled::ReadCapacityUnits, read_units),
        (Throttled::NumberOfAtomicRequests, atomic(used.writes + used.reads)),
        (Throttled::AtomicWriteSize, atomic(used.write_size)),
        (Throttled::AtomicReadSize, atomic(used.read_size)),
        (Throttled::RequestHandlerUsage, used.time_ms),
    ];
    all.into_iter().filter(|(_, amount)| *amount != 0)
}

#[cfg(test)]
mod tests {
    use pb::TimeUnit;

    use super::*;

    fn hourly(limit: u64) -> pb::TimedQuota {
        pb::TimedQuota { time_unit: TimeUnit::Hours.into(), soft_limit: Some(limit), ..Default::default() }
    }

    fn limiter(throttle: &pb::Throttle) -> Limiter {
        Limiter::new(throttle).unwrap()
    }

    const PUT: Use = Use { writes: 1, reads: 0, write_size: 100, read_size: 0, is_atomic: false, time_ms: 0 };
    const GET: Use = Use { writes: 0, reads: 1, write_size: 0, read_size: 65_536, is_atomic: false, time_ms: 0 };

    #[test]
    fn reads_and_writes_have_limits_of_their_own_and_one_together() {
        let writes = limiter(&pb::Throttle { write_num: Some(hourly(1)), ..Default::default() });
        writes.check(&PUT, 0).unwrap();
        writes.take(&PUT);
        let refused = writes.check(&PUT, 0).unwrap_err();
        assert_eq!((refused.message(), refused.wait_ms()), ("number of write requests exceeded - wait 1hr, 0ms", Some(3_600_000)));
        writes.check(&GET, 0).unwrap();
        let both = limiter(&pb::Throttle { req_num: Some(hourly(2)), ..Default::default() });
        both.take(&PUT);
        both.take(&GET);
        assert!(both.check(&GET, 0).is_ok(), "the first look fills it up");
        both.take(&PUT);
        both.take(&GET);
        assert!(both.check(&GET, 0).unwrap_err().message().starts_with("number of requests exceeded - wait "));
    }

    #[test]
    fn a_call_that_is_larger_than_a_limit_may_go_when_nothing_is_used() {
        let reads = limiter(&pb::Throttle { read_size: Some(hourly(1000)), ..Default::default() });
        reads.check(&GET, 0).unwrap();
        reads.take(&GET);
        assert!(reads.check(&GET, 0).unwrap_err().message().starts_with("read size limit exceeded"));
        // It has read less than was thought.
        reads.take(&Use { read_size: 10 - 65_536, ..Use::default() });
        assert_eq!(reads.read_bytes(), (990, 1000));
    }

    #[test]
    fn bytes_are_rounded_up_to_capacity_units_and_what_is_atomic_is_counted_beside() {
        let units = limiter(&pb::Throttle { req_capacity_unit: Some(hourly(66)), ..Default::default() });
        units.check(&GET, 0).unwrap();
        units.take(&Use { read_size: 1025, ..GET });
        assert!(units.check(&GET, 0).is_ok());
        units.take(&GET);
        assert!(units.check(&PUT, 0).unwrap_err().message().starts_with("request capacity unit exceeded"));
        let atomic = limiter(&pb::Throttle { atomic_req_num: Some(hourly(2)), ..Default::default() });
        let swap = Use { writes: 1, reads: 1, is_atomic: true, ..PUT };
        for _ in 0..2 {
            atomic.check(&PUT, 0).unwrap();
            atomic.take(&PUT);
        }
        atomic.check(&swap, 0).unwrap();
        atomic.take(&swap);
        assert!(atomic.check(&swap, 0).unwrap_err().message().starts_with("atomic request number exceeded"));
    }

    #[test]
    fn nothing_limited_is_no_limiter() {
        assert!(Limiter::new(&pb::Throttle::default()).is_none());
    }
}
