//! Histogram of durations or sizes, in buckets whose width grows with the values. All counts are
//! atomic and can be read at any time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Number of buckets per doubling: the relative error of a value is at most one eighth.
const STEPS: usize = 8;
const BUCKETS: usize = STEPS * 40;

/// Histogram of durations in microseconds, or of sizes in bytes.
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), sum: AtomicU64::new(0) }
    }
}

impl Histogram {
    /// Records a duration.
    pub fn record(&self, duration: Duration) {
        self.record_value(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    /// Records a size.
    pub fn record_value(&self, value: u64) {
        self.buckets[bucket_of(value)].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum()
    }

    /// Returns the sum of the recorded values.
    pub fn sum(&self) -> u64 {
        self.sum.load(Relaxed)
    }

    /// Returns the non-empty buckets as upper bound and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self
            .buckets
            .iter()
            .enumerate()
            .map(|(at, bucket)| (bound_of(at), bucket.load(Relaxed)));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Returns the upper bound of the bucket at quantile `share`, from 0.0 to 1.0; 0 if the
    /// histogram is empty.
    pub fn quantile(&self, share: f64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count"
        )]
        let rank = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bound, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return bound;
            }
        }
        0
    }
}

/// Returns the bucket of a value. Values below [`STEPS`] have a bucket each; above, each doubling
/// has [`STEPS`] buckets.
fn bucket_of(us: u64) -> usize {
    let doubling = (us / STEPS as u64).checked_ilog2().map_or(0, |log| log as usize + 1);
    if doubling == 0 {
        return usize::try_from(us).unwrap_or(0);
    }
    let step = usize::try_from(us >> (doubling - 1)).map_or(0, |step| step % STEPS);
    (doubling * STEPS + step).min(BUCKETS - 1)
}

/// Returns the largest value of a bucket.
fn bound_of(bucket: usize) -> u64 {
    let (doubling, step) = (bucket / STEPS, (bucket % STEPS) as u64);
    if doubling == 0 { step } else { ((STEPS as u64 + step + 1) << (doubling - 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_counted_in_its_tightest_bucket() {
        for us in (0..5000).chain([1 << 20, (1 << 20) + 1, 60_000_000]) {
            let bucket = bucket_of(us);
            assert!(us <= bound_of(bucket), "{us} in bucket {bucket}");
            assert!(bucket == 0 || us > bound_of(bucket - 1), "{us} in bucket {bucket}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_estimated_from_bucket_counts() {
        let histogram = Histogram::default();
        (1..=100).for_each(|ms| histogram.record(Duration::from_millis(ms)));
        let p50 = histogram.quantile(0.5);
        assert!((50_000..57_000).contains(&p50), "{p50}");
        assert_eq!((histogram.count(), histogram.sum()), (100, 5_050_000));
    }
}
