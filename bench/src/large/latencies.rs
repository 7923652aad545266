//! Latencies of single operations.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Result;
use crate::output::figure;

/// Longest latency that is distinguished, in nanoseconds: ten minutes.
const MAX_NANOSECONDS: u64 = 600_000_000_000;
/// Significant decimal digits of a latency.
const DIGITS: u8 = 3;

/// Percentiles that are printed, and their names.
const QUANTILES: [(f64, &str); 4] =
    [(0.5, "p50 us"), (0.99, "p99 us"), (0.999, "p99.9 us"), (1.0, "max us")];

/// Histogram of latencies.
pub(crate) struct Latencies(Histogram<u64>);

impl Latencies {
    /// Creates an empty histogram.
    pub(crate) fn new() -> Result<Self> {
        let histogram = Histogram::new_with_bounds(1, MAX_NANOSECONDS, DIGITS);
        histogram.map(Self).map_err(|error| format!("histogram: {error}"))
    }

    /// Adds a latency.
    pub(crate) fn record(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanoseconds);
    }

    /// Returns the number of latencies.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Prints the rate over `seconds` and the percentiles.
    pub(crate) fn print(&self, name: &str, seconds: f64) {
        figure(name, "ops/s", self.count() as f64 / seconds);
        for (quantile, unit) in QUANTILES {
            figure(name, unit, self.microseconds(quantile));
        }
    }

    fn microseconds(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_in_microseconds() {
        let mut latencies = Latencies::new().unwrap();
        (1..=1000).for_each(|us| latencies.record(Duration::from_micros(us)));
        let near = |quantile, us: f64| (latencies.microseconds(quantile) - us).abs() < us / 100.0;
        assert_eq!(latencies.count(), 1000);
        assert!(near(0.5, 500.0) && near(0.99, 990.0) && near(1.0, 1000.0));
    }

    #[test]
    fn latency_beyond_bound_counts_as_longest() {
        let mut latencies = Latencies::new().unwrap();
        latencies.record(Duration::from_hours(1));
        assert!((latencies.microseconds(1.0) - 600e6).abs() < 6e6);
    }
}
