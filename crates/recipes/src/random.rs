//! Random numbers of one item: its number and the seed determine them, so that items can be made in
//! any order and again.

use halite::rng::{SplitMix64, split_mix};

/// Random numbers of one item.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// Creates the numbers of an item. `purpose` distinguishes several sequences of one item.
    pub fn new(seed: u64, purpose: u64, item: u64) -> Self {
        Self(SplitMix64::new(split_mix(split_mix(split_mix(seed) ^ purpose) ^ item)))
    }

    /// Returns a number below `limit`, which must be above 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        let product = u128::from(self.0.next_u64()) * u128::from(limit);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// Returns `true` once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive).
    pub fn fraction(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let fraction = (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }

    /// Returns a rank below `ranks`, which must be above 0, by Zipf's law with exponent 1: the
    /// logarithm of rank + 1 is uniform, so rank 0 is the most frequent.
    pub fn zipf(&mut self, ranks: u64) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "numbers of users are below 2^53")]
        let power = (ranks as f64 + 1.0).powf(self.fraction());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the power is at least 1 and at most ranks + 1"
        )]
        let rank = power as u64 - 1;
        rank.min(ranks - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_determines_its_numbers() {
        let numbers = |item| {
            let mut random = Random::new(7, 1, item);
            (random.below(1000), random.below(1000), random.one_in(2))
        };
        assert_eq!(numbers(5), numbers(5));
        assert!((0..10).any(|item| numbers(item) != numbers(item + 1)));
    }

    #[test]
    fn rank_zero_has_its_share_by_zipf() {
        let zeros = (0..100_000).filter(|&item| Random::new(1, 2, item).zipf(1000) == 0).count();
        // ln 2 / ln 1001 of them.
        assert!((9_500..10_600).contains(&zeros), "{zeros}");
        assert!((0..1000).all(|item| Random::new(3, 0, item).zipf(1) == 0));
    }
}
