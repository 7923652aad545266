//! Shares of reads and writes in a load.

use std::ops::Range;

use crate::random::Random;

/// Part of a recipe's operations from which one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them, in the shares of the recipe.
    All,
    /// Those that write, in their shares among themselves.
    Writes,
    /// Those that read, likewise.
    Reads,
}

impl Part {
    /// Returns the part of an operation of a load of which `writes` percent write, evenly spread;
    /// `None` for the shares of the recipe.
    pub(super) fn of(number: u64, writes: Option<u8>) -> Self {
        match writes {
            None => Self::All,
            // Every number below 100 once in a hundred operations, and neighbors far apart.
            Some(percent) if number % 100 * 61 % 100 < u64::from(percent) => Self::Writes,
            Some(_) => Self::Reads,
        }
    }

    /// Returns a random number below `shares` of this part; those in `reads` are of operations that
    /// read.
    pub(crate) fn draw(self, random: &mut Random, shares: u64, reads: Range<u64>) -> u64 {
        let count = reads.end - reads.start;
        match self {
            Self::All => random.below(shares),
            Self::Reads => reads.start + random.below(count),
            Self::Writes => {
                let share = random.below(shares - count);
                if share < reads.start { share } else { share + count }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentage_is_that_of_each_hundred() {
        for percent in [0, 1, 50, 96, 100] {
            let writes = |number: &u64| Part::of(*number, Some(percent)) == Part::Writes;
            assert_eq!((300..400).filter(writes).count(), usize::from(percent));
        }
        assert_eq!(Part::of(5, None), Part::All);
    }

    #[test]
    fn drawn_numbers_are_those_of_the_part() {
        let drawn = |part: Part| {
            let mut drawn: Vec<u64> =
                (0..1_000).map(|item| part.draw(&mut Random::new(1, 0, item), 10, 3..8)).collect();
            drawn.sort_unstable();
            drawn.dedup();
            drawn
        };
        assert_eq!(drawn(Part::All), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(drawn(Part::Reads), [3, 4, 5, 6, 7]);
        assert_eq!(drawn(Part::Writes), [0, 1, 2, 8, 9]);
    }
}
