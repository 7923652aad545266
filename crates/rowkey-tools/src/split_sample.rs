//! Split keys from a sample of keys: boundaries between equal parts of it.

use bytes::Bytes;
use halite_rowkey::split::{MAX_REGIONS, SplitError, SplitNote, Splits, region_shares};

/// Returns the splits of `SPLIT FROM SAMPLE`: regions with equal numbers of these keys, as far as
/// possible; the shares are exactly those of the sample.
///
/// # Errors
/// No keys; fewer than two regions or more than [`MAX_REGIONS`].
pub fn split_sample(mut keys: Vec<Bytes>, regions: u32) -> Result<Splits, SplitError> {
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

#[cfg(test)]
mod tests {
    use halite_types::key::to_string_binary;

    use super::*;

    #[test]
    fn sample_is_split_equally_by_shortest_keys() {
        let keys: Vec<_> = (0..1000).map(|row| Bytes::from(format!("user_{row:04}_x"))).collect();
        let splits = split_sample(keys.clone(), 4).expect("splits");
        let printed: Vec<_> = splits.keys.iter().map(|key| to_string_binary(key)).collect();
        assert_eq!(printed, ["user_025", "user_05", "user_075"]);
        assert_eq!(splits.shares, Some(vec![0.25; 4]));
        for regions in [2, 3, 7, 16, 999, 1000, 5000] {
            let splits = split_sample(keys.clone(), regions).expect("splits");
            assert!(
                splits.keys.is_sorted_by(|a, b| a < b)
                    && splits.keys.iter().all(|key| !key.is_empty())
            );
            assert_eq!(splits.shares.as_deref(), Some(&region_shares(&keys, &splits.keys)[..]));
            assert!(
                splits
                    .spread()
                    .is_some_and(|spread| spread.empty == 0 && spread.max_over_mean < 2.0),
                "{regions}: {:?}",
                splits.spread()
            );
        }
        let few = split_sample(vec![Bytes::from_static(b"a"); 50], 4).expect("splits");
        assert_eq!((few.keys.len(), few.notes.len()), (0, 1));
        assert_eq!(split_sample(Vec::new(), 4), Err(SplitError::NoSample));
    }
}
