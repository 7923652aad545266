//! Splits and shares from known keys: quantiles, and the number of keys in each region.

use halite_types::Bytes;

use super::{MAX_REGIONS, SplitError, SplitNote, Splits};

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

/// Returns the splits between `regions` equal parts of the sorted keys.
pub(super) fn quantiles(mut keys: Vec<Bytes>, regions: u32) -> Result<Splits, SplitError> {
    if !(2..=MAX_REGIONS).contains(&regions) {
        return Err(SplitError::Regions { regions });
    }
    if keys.is_empty() {
        return Err(SplitError::NoSample);
    }
    keys.sort_unstable();
    let parts = regions as usize;
    let mut splits: Vec<Bytes> = Vec::with_capacity(parts - 1);
    for part in 1..parts {
        // Multiplied with a wider type: a sample may have billions of keys.
        let at = usize::try_from(part as u128 * keys.len() as u128 / parts as u128)
            .unwrap_or(usize::MAX);
        // A boundary before all keys would create an empty region.
        let Some(before) = at.checked_sub(1).map(|before| &keys[before]) else { continue };
        let Some(first) = keys[at..].iter().find(|key| *key > before) else { continue };
        let split = shortest_between(before, first);
        if splits.last().is_none_or(|last| *last < split) {
            splits.push(split);
        }
    }
    let notes = if splits.len() + 1 < parts {
        vec![SplitNote::FewerRegions { requested: regions, created: splits.len() + 1 }]
    } else {
        Vec::new()
    };
    let shares = Some(region_shares(&keys, &splits));
    Ok(Splits { keys: splits, shares, notes })
}

/// Returns the shortest prefix of `key` that is greater than `before`, which is less than `key`.
/// Unknown keys are then also on the correct side of it.
fn shortest_between(before: &[u8], key: &Bytes) -> Bytes {
    let common = before.iter().zip(&key[..]).take_while(|(a, b)| a == b).count();
    key.slice(..(common + 1).min(key.len()))
}
