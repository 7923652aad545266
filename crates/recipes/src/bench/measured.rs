//! Measurements of one kind of operation.

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;

use super::metered_cluster::Reads;

/// Significant digits of a latency in the histogram.
const DIGITS: u8 = 3;

/// Measurements of one kind of operation.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Latencies in nanoseconds since the operation was due.
    pub(crate) latencies: Histogram<u64>,
    pub(crate) returned: u64,
    /// Operations that failed.
    pub(crate) errors: u64,
    /// Gets and scans, and the rows that tables returned for them.
    pub(crate) reads: Reads,
}

impl Measured {
    pub(crate) fn new() -> Result<Self> {
        let latencies = Histogram::new(DIGITS)?;
        Ok(Self { latencies, returned: 0, errors: 0, reads: Reads::default() })
    }

    pub(crate) fn record(&mut self, returned: u64, reads: Reads, since_due: Duration) {
        self.returned += returned;
        self.reads += reads;
        self.record_latency(since_due);
    }

    pub(crate) fn record_latency(&mut self, since_due: Duration) {
        // Cannot fail: the histogram grows.
        let _ = self.latencies.record(u64::try_from(since_due.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn add(&mut self, other: &Self) -> Result<()> {
        self.returned += other.returned;
        self.errors += other.errors;
        self.reads += other.reads;
        Ok(self.latencies.add(&other.latencies)?)
    }

    /// Returns a latency in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "it is rounded to two decimals")]
    pub(crate) fn milliseconds(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1e6
    }
}
