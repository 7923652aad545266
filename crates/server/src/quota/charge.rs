//! What a call is charged: first what it is thought to use, and at its end what it has used.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use halite_wire::exception::Exception;

use super::limiter::{Limiter, Use};
use super::rules::Applying;

use crate::outside::Instant;

/// Bytes that a write is thought to have.
const WRITE_BYTES: i64 = 100;
/// A scan is not thought to read more than this part of what may be read at once, in percent.
const SCAN_PERCENT_MAX: i64 = 90;

/// What a call is about to do in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// So many mutations and gets; whether any of them reads and writes as one.
    Batch { writes: usize, reads: usize, is_atomic: bool },
    /// A scan that is thought to look through so many bytes.
    Scan { bytes: u64 },
}

/// What the calls of one scanner have looked through, from which the next is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanEstimate {
    most: u64,
    last: u64,
    /// By how much the last call has looked through more than the one before.
    growth: i64,
}

impl ScanEstimate {
    /// A call has looked through so many bytes.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.growth = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_sub(i64::try_from(self.last).unwrap_or(i64::MAX));
        (self.most, self.last) = (self.most.max(bytes), bytes);
    }

    /// What the next call is about to do, the number of the call being this: a scan that reads more and more is thought to go
    /// on so, up to what an answer may have.
    pub(crate) fn demand(&self, call: u64, block_bytes: u64, bytes_max: u64) -> Demand {
        let grows = self.growth > i64::try_from(block_bytes).unwrap_or(i64::MAX);
        Demand::Scan { bytes: if grows { call.saturating_mul(self.most).min(bytes_max) } else { self.most } }
    }
}

/// A call under limits. When it ends, what it was charged is set right.
pub(crate) struct Charge {
    limiters: Vec<Arc<Limiter>>,
    thought: Use,
    written: AtomicI64,
    read: AtomicI64,
    /// Bytes that the limits leave for an answer.
    bytes_max: i64,
    began: Instant,
}

impl std::fmt::Debug for Charge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Charge({:?})", self.thought)
    }
}

impl Charge {
    /// Charges a call if all limits allow it; `block_bytes` is what any read looks through (HBase:
    /// `DefaultOperationQuota`, `ExceedOperationQuota`).
    ///
    /// # Errors
    /// `RpcThrottlingException` with how long to wait.
    pub(super) fn new(applying: Applying, demand: Demand, block_bytes: i64, now_ms: u64) -> Result<Self, Exception> {
        let Applying { mut limiters, instead } = applying;
        let may_ever = limiters.iter().map(|limiter| limiter.read_bytes().1).min().unwrap_or(i64::MAX);
        let thought = thought(demand, block_bytes, may_ever);
        if let Some(server) = &instead {
            server.check(&thought, now_ms)?;
        }
        let mut left = i64::MAX;
        for limiter in &limiters {
            let checked = limiter.check(&thought, now_ms);
            if instead.is_none() {
                checked?;
            }
            left = left.min(limiter.read_bytes().0);
        }
        if let Some(server) = instead {
            left = left.max(server.read_bytes().0);
            limiters.push(server);
        }
        limiters.iter().for_each(|limiter| limiter.take(&thought));
        let (written, read) = (AtomicI64::new(0), AtomicI64::new(0));
        Ok(Self { limiters, thought, written, read, bytes_max: left, began: Instant::now() })
    }

    /// Bytes that an answer may have as far as the limits go; at least 1.
    pub(crate) fn bytes_max(&self) -> usize {
        usize::try_from(self.bytes_max.max(1)).unwrap_or(usize::MAX)
    }

    /// So many bytes of cells were written.
    pub(crate) fn wrote(&self, bytes: usize) {
        self.written.fetch_add(signed(bytes), Relaxed);
    }

    /// So many bytes of blocks were looked through, and so many of cells are returned: whichever is more counts.
    pub(crate) fn read(&self, looked_through: u64, returned: usize) {
        let looked_through = i64::try_from(looked_through).unwrap_or(i64::MAX);
        self.read.fetch_add(looked_through.max(signed(returned)), Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let more = Use {
            writes: 0,
            reads: 0,
            write_size: self.written.load(Relaxed) - self.thought.write_size,
            read_size: self.read.load(Relaxed) - self.thought.read_size,
            is_atomic: self.thought.is_atomic,
            time_ms: i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX) - self.thought.time_ms,
        };
        self.limiters.iter().for_each(|limiter| limiter.take(&more));
    }
}

fn thought(demand: Demand, block_bytes: i64, may_ever: i64) -> Use {
    match demand {
        Demand::Batch { writes, reads, is_atomic } => Use {
            writes: signed(writes),
            reads: signed(reads),
            write_size: signed(writes).saturating_mul(WRITE_BYTES),
            read_size: if reads > 0 { block_bytes } else { 0 },
            is_atomic,
            time_ms: 1,
        },
        Demand::Scan { bytes } => {
            let at_most = i64::try_from(i128::from(may_ever) * i128::from(SCAN_PERCENT_MAX) / 100).unwrap_or(i64::MAX);
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX).max(block_bytes);
            Use { reads: 1, read_size: bytes.min(at_most).max(1), time_ms: 1, ..Use::default() }
        }
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use halite_wire::proto as pb;
    use pb::TimeUnit;

    use super::*;

    const BLOCK: i64 = 65_536;

    fn hourly(limit: u64) -> pb::TimedQuota {
        pb::TimedQuota { time_unit: TimeUnit::Hours.into(), soft_limit: Some(limit), ..Default::default() }
    }

    fn limiter(throttle: &pb::Throttle) -> Arc<Limiter> {
        Arc::new(Limiter::new(throttle).unwrap())
    }

    fn charge(limiters: &[&Arc<Limiter>], instead: Option<&Arc<Limiter>>, demand: Demand) -> Result<Charge, Exception> {
        let limiters = limiters.iter().map(|limiter| Arc::clone(limiter)).collect();
        Charge::new(Applying { limiters, instead: instead.cloned() }, demand, BLOCK, 0)
    }

    #[test]
    fn a_read_is_charged_a_block_and_in_the_end_what_it_has_read() {
        let limits = limiter(&pb::Throttle { read_size: Some(hourly(100_000)), ..Default::default() });
        let get = Demand::Batch { writes: 0, reads: 1, is_atomic: false };
        let under_way = charge(&[&limits], None, get).unwrap();
        assert_eq!((limits.read_bytes().0, under_way.bytes_max()), (100_000 - BLOCK, 100_000));
        assert!(charge(&[&limits], None, get).is_err());
        under_way.read(100, 300);
        drop(under_way);
        assert_eq!(limits.read_bytes().0, 99_700);
        // A scan is not thought to need all there is.
        let scan = charge(&[&limits], None, Demand::Scan { bytes: 1 << 40 }).unwrap();
        assert_eq!(limits.read_bytes().0, 9_700);
        drop(scan);
        assert_eq!(limits.read_bytes().0, 99_700);
    }

    #[test]
    fn who_is_refused_by_one_limit_is_charged_by_none() {
        let (wide, narrow) = (
            limiter(&pb::Throttle { write_num: Some(hourly(3)), ..Default::default() }),
            limiter(&pb::Throttle { write_num: Some(hourly(1)), ..Default::default() }),
        );
        let put = Demand::Batch { writes: 1, reads: 0, is_atomic: false };
        charge(&[&wide, &narrow], None, put).unwrap();
        for _ in 0..5 {
            assert!(charge(&[&wide, &narrow], None, put).is_err());
        }
        charge(&[&wide], None, put).unwrap();
        charge(&[&wide], None, put).unwrap();
        assert!(charge(&[&wide], None, put).is_err());
    }

    #[test]
    fn others_are_exceeded_while_the_server_has_room() {
        let (narrow, server) = (
            limiter(&pb::Throttle { write_num: Some(hourly(1)), ..Default::default() }),
            limiter(&pb::Throttle { write_num: Some(hourly(3)), ..Default::default() }),
        );
        let put = Demand::Batch { writes: 1, reads: 0, is_atomic: false };
        for _ in 0..3 {
            charge(&[&narrow], Some(&server), put).unwrap();
        }
        assert!(charge(&[&narrow], Some(&server), put).is_err());
    }
}
