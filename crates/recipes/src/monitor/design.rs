//! Interface of a design of monitoring: what the generator writes and what the check reads.

use std::ops::Range;

use anyhow::Result;
use monitor::{Found, Monitor, Sample};

use crate::recipe::Site;

/// Design of monitoring.
pub trait Design: Send + Sync {
    /// Writes samples; of two of a host and a metric with one time the later one counts.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn write(&self, samples: &[Sample]) -> Result<()>;

    /// Returns the samples of a host between two times, by metric, each newest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn host(&self, host: &str, at_ms: Range<i64>) -> Result<Found>;

    /// Returns the samples of a metric of a host between two times, newest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn host_metric(&self, host: &str, metric: &str, at_ms: Range<i64>) -> Result<Found>;

    /// Returns the samples of a metric of all hosts between two times, newest first, those of one
    /// time by host, from the table for it.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn metric(&self, metric: &str, at_ms: Range<i64>) -> Result<Found>;

    /// Returns what [`Self::metric`] returns, from the table with the host first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn metric_by_host(&self, metric: &str, at_ms: Range<i64>) -> Result<Found>;

    /// Completes interrupted writes. Returns the number of completed samples.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self) -> Result<u64>;
}

/// Opens the design of `examples/monitor`.
pub(super) fn monitor(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Monitor::open(&site.cluster, &site.namespace)?))
}

impl Design for Monitor {
    fn write(&self, samples: &[Sample]) -> Result<()> {
        Ok(Self::write(self, samples)?)
    }

    fn host(&self, host: &str, at_ms: Range<i64>) -> Result<Found> {
        Ok(Self::host(self, host, at_ms)?)
    }

    fn host_metric(&self, host: &str, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        Ok(Self::host_metric(self, host, metric, at_ms)?)
    }

    fn metric(&self, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        Ok(Self::metric(self, metric, at_ms)?)
    }

    fn metric_by_host(&self, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        Ok(Self::metric_by_host(self, metric, at_ms)?)
    }

    fn repair(&self) -> Result<u64> {
        Ok(Self::repair(self, 0..i64::MAX)?)
    }
}
