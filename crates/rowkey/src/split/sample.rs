//! Splits and shares from keys that somebody has: quantiles, and how many keys lie in each region.

use halite_types::Bytes;

use super::{REGIONS_MAX, SplitError, SplitNote, Splits};

/// How evenly rows lie in regions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The greatest share over the mean one: 1 is even, the number of regions is all in one.
    pub max_over_mean: f64,
    /// Regions without rows.
    pub empty: usize,
}

impl Spread {
    /// Of shares that add up to 1, one for each region.
    #[expect(clippy::cast_precision_loss, reason = "numbers of regions are small")]
    pub fn of(shares: &[f64]) -> Self {
        let max = shares.iter().copied().fold(0.0, f64::max);
        Self { max_over_mean: max * shares.len() as f64, empty: shares.iter().filter(|share| **share <= 0.0).count() }
    }
}

/// The region a key falls into, counted from 0: a split is the first key of its region.
#[inline]
pub fn region_of(key: &[u8], splits: &[Bytes]) -> usize {
    splits.partition_point(|split| split[..] <= *key)
}

/// The share of `keys` that lies in each region between `splits`, one more than these; zeros if there are no keys.
#[expect(clippy::cast_precision_loss, reason = "shares of a sample")]
pub fn shares_of<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>, splits: &[Bytes]) -> Vec<f64> {
    let mut counts = vec![0_u64; splits.len() + 1];
    let mut all = 0_u64;
    for key in keys {
        counts[region_of(key.as_ref(), splits)] += 1;
        all += 1;
    }
    counts.into_iter().map(|count| count as f64 / all.max(1) as f64).collect()
}

/// Splits between `regions` equal parts of the sorted keys.
pub(super) fn quantiles(mut keys: Vec<Bytes>, regions: u32) -> Result<Splits, SplitError> {
    if !(2..=REGIONS_MAX).contains(&regions) {
        return Err(SplitError::Regions { regions });
    }
    if keys.is_empty() {
        return Err(SplitError::NoSample);
    }
    keys.sort_unstable();
    let parts = regions as usize;
    let mut splits: Vec<Bytes> = Vec::with_capacity(parts - 1);
    for part in 1..parts {
        // Multiplied wide: a sample may have billions of keys.
        let at = usize::try_from(part as u128 * keys.len() as u128 / parts as u128).unwrap_or(usize::MAX);
        // A border before all keys would make a region of nothing.
        let Some(before) = at.checked_sub(1).map(|before| &keys[before]) else { continue };
        let Some(first) = keys[at..].iter().find(|key| *key > before) else { continue };
        let split = shortest_between(before, first);
        if splits.last().is_none_or(|last| *last < split) {
            splits.push(split);
        }
    }
    let notes = if splits.len() + 1 < parts { vec![SplitNote::FewerRegions { asked: regions, made: splits.len() + 1 }] } else { Vec::new() };
    let shares = Some(shares_of(&keys, &splits));
    Ok(Splits { keys: splits, shares, notes })
}

/// The shortest beginning of `key` that is greater than `before`, which is less than `key`: keys that nobody has seen lie on
/// the right side of it just as well.
fn shortest_between(before: &[u8], key: &Bytes) -> Bytes {
    let common = before.iter().zip(&key[..]).take_while(|(a, b)| a == b).count();
    key.slice(..(common + 1).min(key.len()))
}
