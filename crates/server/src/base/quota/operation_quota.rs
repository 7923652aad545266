//! Quota charge of one call: first an estimate, at its end the actual usage.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use halite_wire::exception::Exception;

use super::quota_limiter::{QuotaLimiter, ResourceUsage};
use super::rpc_quotas::ApplicableQuotas;

use crate::outside::Instant;

/// Estimated bytes of a write.
const WRITE_BYTES: i64 = 100;
/// Maximum estimate for a scan, in percent of the bytes that may be read at once.
const MAX_SCAN_PERCENT: i64 = 90;

/// Estimated usage of a call in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EstimatedUsage {
    /// Numbers of mutations and gets; `is_atomic` if any of them reads and writes atomically.
    Batch { writes: usize, reads: usize, is_atomic: bool },
    /// A scan with the estimated number of bytes scanned.
    Scan { bytes: u64 },
}

/// Bytes scanned by the calls of one scanner, the basis of the next estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanEstimate {
    max: u64,
    last: u64,
    /// Increase of the bytes scanned from the call before the last to the last call.
    growth: i64,
}

impl ScanEstimate {
    /// Records the bytes that a call has scanned.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.growth = i64::try_from(bytes)
            .unwrap_or(i64::MAX)
            .saturating_sub(i64::try_from(self.last).unwrap_or(i64::MAX));
        (self.max, self.last) = (self.max.max(bytes), bytes);
    }

    /// Returns the estimate for the next call, with sequence number `call`. A scan whose calls scan
    /// increasingly more is expected to continue so, up to the maximum size of a response.
    pub(crate) fn next_usage(&self, call: u64, block_bytes: u64, max_bytes: u64) -> EstimatedUsage {
        let grows = self.growth > i64::try_from(block_bytes).unwrap_or(i64::MAX);
        EstimatedUsage::Scan {
            bytes: if grows { call.saturating_mul(self.max).min(max_bytes) } else { self.max },
        }
    }
}

/// Quota charge of a call. On drop, the estimate is corrected to the actual usage.
pub(crate) struct OperationQuota {
    limiters: Vec<Arc<QuotaLimiter>>,
    estimated: ResourceUsage,
    written: AtomicI64,
    read: AtomicI64,
    /// Bytes that the limits leave for a response.
    max_bytes: i64,
    began: Instant,
}

impl std::fmt::Debug for OperationQuota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Charge({:?})", self.estimated)
    }
}

impl OperationQuota {
    /// Charges a call if all limits allow it; `block_bytes` is the minimum that a read scans
    /// (HBase: `DefaultOperationQuota`, `ExceedOperationQuota`).
    ///
    /// # Errors
    /// `RpcThrottlingException` with the time to wait.
    pub(super) fn new(
        applying: ApplicableQuotas,
        demand: EstimatedUsage,
        block_bytes: i64,
        now_ms: u64,
    ) -> Result<Self, Exception> {
        let ApplicableQuotas { mut limiters, instead } = applying;
        let may_ever =
            limiters.iter().map(|limiter| limiter.read_bytes().1).min().unwrap_or(i64::MAX);
        let thought = estimate(demand, block_bytes, may_ever);
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
        Ok(Self {
            limiters,
            estimated: thought,
            written,
            read,
            max_bytes: left,
            began: Instant::now(),
        })
    }

    /// Returns the bytes that the limits allow for a response; at least 1.
    pub(crate) fn max_bytes(&self) -> usize {
        usize::try_from(self.max_bytes.max(1)).unwrap_or(usize::MAX)
    }

    /// Records the bytes of cells written.
    pub(crate) fn record_write(&self, bytes: usize) {
        self.written.fetch_add(signed(bytes), Relaxed);
    }

    /// Records the bytes of blocks scanned and of cells returned; the larger of them counts.
    pub(crate) fn record_read(&self, looked_through: u64, returned: usize) {
        let looked_through = i64::try_from(looked_through).unwrap_or(i64::MAX);
        self.read.fetch_add(looked_through.max(signed(returned)), Relaxed);
    }
}

impl Drop for OperationQuota {
    fn drop(&mut self) {
        let more = ResourceUsage {
            writes: 0,
            reads: 0,
            write_size: self.written.load(Relaxed) - self.estimated.write_size,
            read_size: self.read.load(Relaxed) - self.estimated.read_size,
            is_atomic: self.estimated.is_atomic,
            time_ms: i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
                - self.estimated.time_ms,
        };
        self.limiters.iter().for_each(|limiter| limiter.take(&more));
    }
}

fn estimate(demand: EstimatedUsage, block_bytes: i64, may_ever: i64) -> ResourceUsage {
    match demand {
        EstimatedUsage::Batch { writes, reads, is_atomic } => ResourceUsage {
            writes: signed(writes),
            reads: signed(reads),
            write_size: signed(writes).saturating_mul(WRITE_BYTES),
            read_size: if reads > 0 { block_bytes } else { 0 },
            is_atomic,
            time_ms: 1,
        },
        EstimatedUsage::Scan { bytes } => {
            let at_most = i64::try_from(i128::from(may_ever) * i128::from(MAX_SCAN_PERCENT) / 100)
                .unwrap_or(i64::MAX);
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX).max(block_bytes);
            ResourceUsage {
                reads: 1,
                read_size: bytes.min(at_most).max(1),
                time_ms: 1,
                ..ResourceUsage::default()
            }
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
        pb::TimedQuota {
            time_unit: TimeUnit::Hours.into(),
            soft_limit: Some(limit),
            ..Default::default()
        }
    }

    fn limiter(throttle: &pb::Throttle) -> Arc<QuotaLimiter> {
        Arc::new(QuotaLimiter::new(throttle).unwrap())
    }

    fn charge(
        limiters: &[&Arc<QuotaLimiter>],
        instead: Option<&Arc<QuotaLimiter>>,
        demand: EstimatedUsage,
    ) -> Result<OperationQuota, Exception> {
        let limiters = limiters.iter().map(|limiter| Arc::clone(limiter)).collect();
        OperationQuota::new(
            ApplicableQuotas { limiters, instead: instead.cloned() },
            demand,
            BLOCK,
            0,
        )
    }

    #[test]
    fn read_is_charged_estimate_and_then_actual_bytes() {
        let limits =
            limiter(&pb::Throttle { read_size: Some(hourly(100_000)), ..Default::default() });
        let get = EstimatedUsage::Batch { writes: 0, reads: 1, is_atomic: false };
        let under_way = charge(&[&limits], None, get).unwrap();
        assert_eq!((limits.read_bytes().0, under_way.max_bytes()), (100_000 - BLOCK, 100_000));
        assert!(charge(&[&limits], None, get).is_err());
        under_way.record_read(100, 300);
        drop(under_way);
        assert_eq!(limits.read_bytes().0, 99_700);
        // The estimate of a scan leaves a part of the limit.
        let scan = charge(&[&limits], None, EstimatedUsage::Scan { bytes: 1 << 40 }).unwrap();
        assert_eq!(limits.read_bytes().0, 9_700);
        drop(scan);
        assert_eq!(limits.read_bytes().0, 99_700);
    }

    #[test]
    fn throttled_operation_is_charged_to_no_limit() {
        let (wide, narrow) = (
            limiter(&pb::Throttle { write_num: Some(hourly(3)), ..Default::default() }),
            limiter(&pb::Throttle { write_num: Some(hourly(1)), ..Default::default() }),
        );
        let put = EstimatedUsage::Batch { writes: 1, reads: 0, is_atomic: false };
        charge(&[&wide, &narrow], None, put).unwrap();
        for _ in 0..5 {
            assert!(charge(&[&wide, &narrow], None, put).is_err());
        }
        charge(&[&wide], None, put).unwrap();
        charge(&[&wide], None, put).unwrap();
        assert!(charge(&[&wide], None, put).is_err());
    }

    #[test]
    fn quota_may_be_exceeded_while_server_has_capacity() {
        let (narrow, server) = (
            limiter(&pb::Throttle { write_num: Some(hourly(1)), ..Default::default() }),
            limiter(&pb::Throttle { write_num: Some(hourly(3)), ..Default::default() }),
        );
        let put = EstimatedUsage::Batch { writes: 1, reads: 0, is_atomic: false };
        for _ in 0..3 {
            charge(&[&narrow], Some(&server), put).unwrap();
        }
        assert!(charge(&[&narrow], Some(&server), put).is_err());
    }
}
