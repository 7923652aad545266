//! Random numbers from a seed, so that a seed always determines the same program.

use halite_types::rng::SplitMix64;

/// Seeded generator.
#[derive(Clone, Debug)]
pub(super) struct SeededRng(SplitMix64);

impl SeededRng {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `end`, which must not be 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("the value is below a usize")
    }

    /// Returns a number from `first` to `last`, both inclusive.
    pub(super) fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    /// Returns `true` with probability `1 / times`.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
