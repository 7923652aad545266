//! Distribution of known keys over regions.

use halite_types::Bytes;

/// Distribution of rows over regions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Greatest share divided by the mean one: 1 is even, the number of regions means that all rows
    /// are in one.
    pub max_over_mean: f64,
    /// Regions without rows.
    pub empty: usize,
}

impl Spread {
    /// Returns the distribution of shares with the sum 1, one for each region.
    #[expect(clippy::cast_precision_loss, reason = "numbers of regions are small")]
    pub fn from_shares(shares: &[f64]) -> Self {
        let max = shares.iter().copied().fold(0.0, f64::max);
        Self {
            max_over_mean: max * shares.len() as f64,
            empty: shares.iter().filter(|share| **share <= 0.0).count(),
        }
    }
}

/// Returns the index of the region of a key: a split is the first key of its region.
#[inline]
pub fn region_for_key(key: &[u8], splits: &[Bytes]) -> usize {
    splits.partition_point(|split| split[..] <= *key)
}

/// Returns the share of `keys` in each region between `splits`, one more than these; zeros if there
/// are no keys.
#[expect(clippy::cast_precision_loss, reason = "shares of a sample")]
pub fn region_shares<K: AsRef<[u8]>>(
    keys: impl IntoIterator<Item = K>,
    splits: &[Bytes],
) -> Vec<f64> {
    let mut counts = vec![0_u64; splits.len() + 1];
    let mut all = 0_u64;
    for key in keys {
        counts[region_for_key(key.as_ref(), splits)] += 1;
        all += 1;
    }
    counts.into_iter().map(|count| count as f64 / all.max(1) as f64).collect()
}
