//! Seeded random numbers and YCSB's row distributions.

use halite_types::rng::{SplitMix64, split_mix};

/// Distribution of the chosen rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Distribution {
    /// All rows equally often
    Uniform,
    /// A few rows very often, spread over the table
    Zipfian,
    /// The newest rows most often
    Latest,
}

/// Random number generator with a seed.
pub(crate) struct SeededRng(SplitMix64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `limit`, which must be above 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // The high half of the product; the bias is below 2^-32 for any table that fits on a disk.
        let product = u128::from(self.next()) * u128::from(limit);
        (product >> 64) as u64
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive).
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Zipfian distribution over ranks from 0, with YCSB's exponent, by the method of Gray and others
/// ("Quickly generating billion-record synthetic databases", 1994).
#[derive(Clone, Debug)]
pub(crate) struct Zipfian {
    ranks: u64,
    alpha: f64,
    zeta: f64,
    eta: f64,
    half_power: f64,
}

impl Zipfian {
    /// YCSB's Zipfian constant.
    const THETA: f64 = 0.99;

    /// Creates the distribution over ranks below `ranks`, which must be above 0. Takes time in
    /// proportion to `ranks`.
    pub(crate) fn new(ranks: u64) -> Self {
        let zeta =
            |count: u64| (1..=count).map(|rank| (rank as f64).powf(-Self::THETA)).sum::<f64>();
        let all = zeta(ranks);
        let eta = (1.0 - (2.0 / ranks as f64).powf(1.0 - Self::THETA)) / (1.0 - zeta(2) / all);
        Self {
            ranks,
            alpha: 1.0 / (1.0 - Self::THETA),
            zeta: all,
            eta,
            half_power: 0.5_f64.powf(Self::THETA),
        }
    }

    /// Returns the next rank; 0 is the most frequent.
    pub(crate) fn next(&self, chance: &mut SeededRng) -> u64 {
        let fraction = chance.fraction();
        let share = fraction * self.zeta;
        if share < 1.0 {
            return 0;
        }
        if share < 1.0 + self.half_power {
            return 1.min(self.ranks - 1);
        }
        let rank = self.ranks as f64 * (self.eta * fraction - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.ranks - 1)
    }
}

/// Row chooser for a table that may grow.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    distribution: Distribution,
    zipfian: Zipfian,
}

impl Chooser {
    /// Creates a chooser for a table that starts with `rows` rows, which must be above 0.
    pub(crate) fn new(distribution: Distribution, rows: u64) -> Self {
        Self { distribution, zipfian: Zipfian::new(rows) }
    }

    /// Returns a row below `rows`, the current number of rows.
    pub(crate) fn next(&self, chance: &mut SeededRng, rows: u64) -> u64 {
        match self.distribution {
            Distribution::Uniform => chance.below(rows),
            // Frequent ranks are spread over the table, so that they do not share blocks.
            Distribution::Zipfian => split_mix(self.zipfian.next(chance)) % rows,
            Distribution::Latest => rows - 1 - self.zipfian.next(chance).min(rows - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: u64 = 1000;
    const DRAWS: usize = 100_000;

    fn counts(distribution: Distribution) -> Vec<usize> {
        let chooser = Chooser::new(distribution, ROWS);
        let mut chance = SeededRng::new(7);
        let mut counts = vec![0; ROWS as usize];
        for _ in 0..DRAWS {
            counts[chooser.next(&mut chance, ROWS) as usize] += 1;
        }
        counts
    }

    #[test]
    fn most_frequent_rank_has_zipfian_share() {
        let zipfian = Zipfian::new(ROWS);
        let mut chance = SeededRng::new(1);
        let zeros = (0..DRAWS).filter(|_| zipfian.next(&mut chance) == 0).count();
        let expected = DRAWS as f64 / zipfian.zeta;
        assert!((zeros as f64 - expected).abs() < expected * 0.05, "{zeros} against {expected}");
    }

    #[test]
    fn uniform_distribution_favors_no_row() {
        let counts = counts(Distribution::Uniform);
        assert!(counts.iter().all(|count| (40..200).contains(count)), "{counts:?}");
    }

    #[test]
    fn zipfian_favors_few_scattered_rows() {
        let counts = counts(Distribution::Zipfian);
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|row| std::cmp::Reverse(counts[*row]));
        let hottest: usize = order[..10].iter().map(|row| counts[*row]).sum();
        assert!(hottest > DRAWS / 4, "{hottest}");
        assert!(order[0].abs_diff(order[1]) > 1);
    }

    #[test]
    fn latest_favors_newest_row_while_rows_are_added() {
        let counts = counts(Distribution::Latest);
        assert!(
            counts[999] > counts[998] && counts[998] > counts[900],
            "{} {} {}",
            counts[999],
            counts[998],
            counts[900]
        );
        let chooser = Chooser::new(Distribution::Latest, ROWS);
        let mut chance = SeededRng::new(3);
        assert!((0..1000).any(|_| chooser.next(&mut chance, ROWS + 500) == ROWS + 499));
    }

    #[test]
    fn single_row_is_always_chosen() {
        for distribution in [Distribution::Uniform, Distribution::Zipfian, Distribution::Latest] {
            let chooser = Chooser::new(distribution, 1);
            let mut chance = SeededRng::new(2);
            assert!((0..100).all(|_| chooser.next(&mut chance, 1) == 0));
        }
    }
}
