//! Counts of durations, from which quantiles of regions, tables and servers are computed.

/// Number of buckets.
pub const LATENCY_BUCKETS: usize = 96;

/// Binary logarithm of the durations in the first bucket, in nanoseconds: up to 1 us.
const FIRST_BITS: u32 = 10;
/// Buckets per doubling: a bucket's end is at most a quarter above its beginning.
const STEPS: u32 = 4;

/// Counts of durations in buckets that widen with the durations, from 1 us to 17 s. Only buckets
/// with counts take memory, about fifteen of them on a busy region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Number of a bucket and its count, in rising order; no count is 0.
    counts: Vec<(u8, u32)>,
}

/// Returns the bucket of a duration in nanoseconds; longer ones than the last bucket has are in it.
#[inline]
#[must_use]
pub fn latency_bucket(nanoseconds: u64) -> usize {
    let bits = nanoseconds.max(1).ilog2();
    if bits < FIRST_BITS {
        return 0;
    }
    // The two bits after the highest one divide a doubling.
    let step = (nanoseconds >> (bits - 2)) & u64::from(STEPS - 1);
    let bucket = 1 + u64::from((bits - FIRST_BITS) * STEPS) + step;
    usize::try_from(bucket).map_or(LATENCY_BUCKETS - 1, |at| at.min(LATENCY_BUCKETS - 1))
}

/// Returns the end of a bucket in nanoseconds.
fn end_of(bucket: u8) -> u64 {
    let Some(at) = u32::from(bucket).checked_sub(1) else { return 1 << FIRST_BITS };
    let start = 1_u64 << (FIRST_BITS + at / STEPS);
    start + start / u64::from(STEPS) * u64::from(at % STEPS + 1)
}

impl Latencies {
    /// Returns the counts of all buckets in their order.
    #[must_use]
    pub fn of_counts(counts: impl IntoIterator<Item = u32>) -> Self {
        let counts = (0..=u8::MAX).zip(counts).take(LATENCY_BUCKETS);
        Self { counts: counts.filter(|(_, count)| *count > 0).collect() }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        for &(bucket, count) in &other.counts {
            match self.counts.binary_search_by_key(&bucket, |(known, _)| *known) {
                Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(count),
                Err(at) => self.counts.insert(at, (bucket, count)),
            }
        }
    }

    /// Returns the number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Returns the duration in nanoseconds below which a share of the durations is, from 0 to 1:
    /// the end of its bucket, at most a quarter above it. `None` without durations.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is at most the count"
    )]
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let rank = (self.count() as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut before = 0;
        let found = self.counts.iter().find(|(_, count)| {
            before += u64::from(*count);
            before >= rank
        });
        found.map(|(bucket, _)| end_of(*bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(durations: impl IntoIterator<Item = u64>) -> Latencies {
        let mut counts = [0; LATENCY_BUCKETS];
        durations.into_iter().for_each(|duration| counts[latency_bucket(duration)] += 1);
        Latencies::of_counts(counts)
    }

    #[test]
    fn bucket_ends_are_quarter_above_durations() {
        let mut duration = 1_u64 << FIRST_BITS;
        while duration < 1 << 33 {
            let end = counted([duration]).quantile_ns(1.0).unwrap();
            assert!(end > duration && end - duration <= duration / 4, "{duration}: {end}");
            duration += duration / 7;
        }
        for absurd in [0, 1, 1023, u64::MAX] {
            assert!(counted([absurd]).quantile_ns(0.5).is_some());
        }
        assert!(latency_bucket(u64::MAX) < LATENCY_BUCKETS);
    }

    #[test]
    fn quantile_of_sum_is_that_of_all() {
        let (fast, slow) = (counted([10_000; 980]), counted([5_000_000; 20]));
        let mut all = fast.clone();
        all.add(&slow);
        assert_eq!(all.count(), 1000);
        assert_eq!(all.quantile_ns(0.5), fast.quantile_ns(0.5));
        assert_eq!(all.quantile_ns(0.99), slow.quantile_ns(0.5));
        assert_eq!(Latencies::default().quantile_ns(0.99), None);
    }
}
