//! Positions of new keys among the existing ones: at the end, at a few ends, or anywhere.

use std::collections::BTreeMap;

use super::stats::median;

/// Maximum writes examined.
const MAX_WRITES: usize = 200_000;
/// Minimum number of keys for a result: among few keys every position is near an end.
const MIN_KEYS: usize = 200;

/// Positions of new keys.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InsertPattern {
    /// Writes examined, from the first on.
    pub writes: usize,
    /// New keys whose position was examined; if there are none, the other fields are not
    /// meaningful.
    pub new: usize,
    /// Ratio of new keys among the last hundredth of the existing keys.
    pub in_last_percent: f64,
    /// Ratio of new keys among the first hundredth: descending keys.
    pub in_first_percent: f64,
    /// Approximate number of positions at which keys grow: 1 is a single end, the number of salts
    /// is growth after each of them, and a number near that of the keys is random.
    pub insert_points: f64,
    /// Spearman's rank correlation of arrival and key: 1 is ascending, -1 descending, 0 neither.
    pub correlation: f64,
}

impl InsertPattern {
    /// Computes the pattern of the ranks of keys in the order in which they were written; equal
    /// keys have equal ranks.
    #[expect(clippy::cast_precision_loss, reason = "shares of a sample")]
    pub(super) fn from_ranks(ranks: &[u32]) -> Self {
        let ranks = &ranks[..ranks.len().min(MAX_WRITES)];
        let mut there: BTreeMap<u32, usize> = BTreeMap::new();
        let mut smaller =
            Counter::new(ranks.iter().copied().max().map_or(0, |most| most as usize + 1));
        let (mut new, mut last, mut first) = (0_usize, 0_usize, 0_usize);
        let mut ages = Vec::new();
        for &rank in ranks {
            let keys = there.len();
            let before = smaller.below(rank as usize);
            if there.contains_key(&rank) {
                continue;
            }
            if keys >= MIN_KEYS {
                new += 1;
                last += usize::from((keys - before) * 100 <= keys);
                first += usize::from(before * 100 <= keys);
                let neighbours = [there.range(..rank).next_back(), there.range(rank..).next()];
                ages.extend(
                    neighbours
                        .into_iter()
                        .flatten()
                        .map(|(_, written)| keys - written)
                        .min()
                        .map(|age| age as f64),
                );
            }
            there.insert(rank, keys);
            smaller.add(rank as usize);
        }
        let share = |count: usize| count as f64 / new.max(1) as f64;
        let middle = median(&ages);
        // Among streams that alternate randomly, some wait much longer than others.
        let usual: Vec<f64> = ages.into_iter().filter(|age| *age <= 10.0 * middle).collect();
        let insert_points = if usual.is_empty() { 0.0 } else { super::stats::mean(&usual) };
        Self {
            writes: ranks.len(),
            new,
            in_last_percent: share(last),
            in_first_percent: share(first),
            insert_points,
            correlation: correlation(ranks),
        }
    }
}

/// Counter of the numbers below others (Fenwick tree).
struct Counter(Vec<usize>);

impl Counter {
    fn new(numbers: usize) -> Self {
        Self(vec![0; numbers + 1])
    }

    fn add(&mut self, number: usize) {
        let mut at = number + 1;
        while at < self.0.len() {
            self.0[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    fn below(&self, number: usize) -> usize {
        let (mut at, mut count) = (number, 0);
        while at > 0 {
            count += self.0[at];
            at &= at - 1;
        }
        count
    }
}

/// Returns Spearman's coefficient as Pearson's of the ranks, which are dense and may be tied.
#[expect(clippy::cast_precision_loss, reason = "ranks of a sample")]
pub(crate) fn correlation(ranks: &[u32]) -> f64 {
    let count = ranks.len().max(1) as f64;
    let (mean_x, mean_y) =
        ((count - 1.0) / 2.0, ranks.iter().map(|&rank| f64::from(rank)).sum::<f64>() / count);
    let (mut both, mut squares_x, mut squares_y) = (0.0, 0.0, 0.0);
    for (at, &rank) in ranks.iter().enumerate() {
        let (x, y) = (at as f64 - mean_x, f64::from(rank) - mean_y);
        both += x * y;
        squares_x += x * x;
        squares_y += y * y;
    }
    if squares_x > 0.0 && squares_y > 0.0 { both / (squares_x * squares_y).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascending_keys_insert_at_one_end() {
        let rising: Vec<u32> = (0..5000).collect();
        let found = InsertPattern::from_ranks(&rising);
        assert!(
            (found.in_last_percent, found.insert_points, found.correlation) == (1.0, 1.0, 1.0),
            "{found:?}"
        );
        let falling: Vec<u32> = (0..5000).rev().collect();
        let found = InsertPattern::from_ranks(&falling);
        assert!((found.in_first_percent, found.correlation) == (1.0, -1.0), "{found:?}");
    }

    #[test]
    fn insert_points_match_salts_and_spread_for_random_keys() {
        let salted: Vec<u32> = (0..16_000).map(|at| at % 16 * 1000 + at / 16).collect();
        let found = InsertPattern::from_ranks(&salted);
        assert!(
            (found.insert_points - 16.0).abs() < 1.0 && found.in_last_percent < 0.1,
            "{found:?}"
        );
        let mut random: Vec<u32> = (0..16_000).collect();
        fastrand::Rng::with_seed(3).shuffle(&mut random);
        let found = InsertPattern::from_ranks(&random);
        assert!(found.insert_points > 500.0 && found.correlation.abs() < 0.05, "{found:?}");
    }

    #[test]
    fn few_keys_have_no_insert_pattern() {
        assert!(
            InsertPattern::from_ranks(&[]).insert_points.abs() < 1e-9
                && InsertPattern::from_ranks(&[0; 1000]).correlation.abs() < 1e-9
        );
        let few = InsertPattern::from_ranks(&(0..199).collect::<Vec<_>>());
        assert!(few.new == 0 && few.insert_points.is_sign_positive(), "{few:?}");
        assert_eq!(InsertPattern::from_ranks(&(0..300).collect::<Vec<_>>()).new, 100);
    }
}
