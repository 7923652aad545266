//! Which operations are sampled.
//!
//! The number of an operation in its region decides, which the exact counter yields anyway: a
//! sample costs no counter of its own, no random number and no state of a thread. Multiplication by
//! the golden ratio spreads the chosen numbers evenly, and without a period that a client's
//! batches could have too.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

// 2^64 divided by the golden ratio.
use halite_types::rng::SPLIT_MIX_INCREMENT;

/// Operations per sampled operation of the sub-range counters, at least, in a busy region.
pub const SUB_RANGE_RATE: u64 = 8;
/// Operations per sampled operation of frequent rows and key samples, at least, in a busy region:
/// half of the sample of the sub-range counters.
pub const ROW_RATE: u64 = 2 * SUB_RANGE_RATE;
/// Sampled operations of the sub-range counters in a column, from which on fewer are sampled: 64
/// for each of 64 sub-ranges, so that an even load is seen as even.
const COLUMN_SAMPLES: u64 = 4096;

/// Returns the binary logarithm of the operations per sampled operation of the sub-range counters
/// in a busy region with this many operations in a column.
#[must_use]
pub(crate) fn shift_of(operations: u64) -> u32 {
    let least = SUB_RANGE_RATE.trailing_zeros();
    (operations / COLUMN_SAMPLES).checked_ilog2().map_or(least, |shift| shift.max(least))
}

/// Returns the position of an operation in the sample, from 0: an operation is in the sample of
/// every rate that is a power of two and at most `2^64 / position`.
#[inline]
#[must_use]
pub fn position(number: u64) -> u64 {
    number.wrapping_mul(SPLIT_MIX_INCREMENT)
}

/// Returns `true` if an operation at this position is one of the sampled ones. `rate` is a power of
/// two, and at least 2.
#[inline]
#[must_use]
pub fn is_sampled(position: u64, rate: u64) -> bool {
    debug_assert!(rate.is_power_of_two());
    is_sampled_of(position, rate.trailing_zeros())
}

/// As [`is_sampled`], with the binary logarithm of the rate, at least 1.
#[inline]
#[must_use]
pub(crate) fn is_sampled_of(position: u64, shift: u32) -> bool {
    debug_assert!(shift > 0);
    position >> (64 - shift) == 0
}

/// Tells from the number of an operation alone whether anything is recorded of it. Most operations
/// of a busy region are not recorded; they read nothing but this.
#[derive(Debug)]
pub struct Gate {
    /// Binary logarithm of the operations per one that passes; 0 if all do.
    shift: AtomicU32,
}

/// A gate that all operations pass.
impl Default for Gate {
    fn default() -> Self {
        Self { shift: AtomicU32::new(0) }
    }
}

impl Gate {
    /// Shift of a gate that no operation but the first passes.
    const SHUT: u32 = 63;

    /// Returns `true` if something may be recorded of the operation with this number.
    #[inline]
    #[must_use]
    pub fn passes(&self, number: u64) -> bool {
        let shift = self.shift.load(Relaxed);
        shift == 0 || is_sampled_of(position(number), shift)
    }

    /// Returns which of `count` operations from number `first` on pass, as distances from it. All are
    /// judged by the rate at the begin.
    #[inline]
    pub fn passing(&self, first: u64, count: usize) -> impl Iterator<Item = usize> {
        let shift = self.shift.load(Relaxed);
        let mut next = position(first);
        (0..count).filter(move |_| {
            let position = next;
            next = next.wrapping_add(SPLIT_MIX_INCREMENT);
            shift == 0 || is_sampled_of(position, shift)
        })
    }

    /// Lets one operation of `2^shift` pass.
    pub fn set(&self, shift: u32) {
        self.shift.store(shift.min(Self::SHUT), Relaxed);
    }

    /// Lets no operation but the first pass.
    pub fn shut(&self) {
        self.set(Self::SHUT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_has_its_rate_in_every_stretch() {
        for rate in [SUB_RANGE_RATE, ROW_RATE, 1024] {
            for start in [0, 1, 1_000_003, u64::MAX / 3] {
                let of = 64 * rate;
                let chosen = (start..start + of)
                    .filter(|&number| is_sampled(position(number), rate))
                    .count() as u64;
                assert!((60..=68).contains(&chosen), "{chosen} of {of} from {start}");
            }
        }
    }

    #[test]
    fn sample_of_lower_rate_is_part_of_higher() {
        for number in 0..100_000 {
            let position = position(number);
            assert!(!is_sampled(position, ROW_RATE) || is_sampled(position, SUB_RANGE_RATE));
            assert!(!is_sampled(position, 1024) || is_sampled(position, ROW_RATE));
        }
    }

    #[test]
    fn busier_regions_sample_as_many_operations() {
        for operations in [1024_u64, 20_000, 30_000, 100_000, 250_000, 10_000_000, u64::MAX / 2] {
            let shift = shift_of(operations);
            assert!(shift >= 3, "{operations}: {shift}");
            let samples = operations >> shift;
            assert!(samples < 2 * COLUMN_SAMPLES, "{operations}: {samples}");
            assert!(samples >= COLUMN_SAMPLES || shift == 3, "{operations}: {samples}");
        }
    }

    #[test]
    fn gate_passes_all_a_part_or_the_first() {
        let gate = Gate::default();
        let passed = |gate: &Gate| (0..8192).filter(|number| gate.passes(*number)).count();
        assert_eq!(passed(&gate), 8192);
        gate.set(5);
        assert!((250..=262).contains(&passed(&gate)), "{}", passed(&gate));
        assert!((0..8192).all(|number| gate.passes(number) == is_sampled(position(number), 32)));
        gate.shut();
        assert_eq!(passed(&gate), 1);
    }

    /// A client that sends its rows in the same order again and again has each of them sampled.
    #[test]
    fn sample_has_every_place_of_periodic_traffic() {
        for period in [2_u64, 3, 8, 10, 16, 64, 100, 128] {
            let mut counts = vec![0_u64; usize::try_from(period).unwrap()];
            for number in 0..period * SUB_RANGE_RATE * 100 {
                if is_sampled(position(number), SUB_RANGE_RATE) {
                    counts[usize::try_from(number % period).unwrap()] += 1;
                }
            }
            assert!(counts.iter().all(|count| (75..=125).contains(count)), "{period}: {counts:?}");
        }
    }
    #[test]
    fn gate_lets_the_same_numbers_pass_one_by_one_and_together() {
        let gate = Gate::default();
        for shift in [0, 3, 7, 63] {
            gate.set(shift);
            for first in [0, 1_000_003, u64::MAX - 500] {
                let single: Vec<usize> =
                    (0..1000).filter(|&at| gate.passes(first.wrapping_add(at as u64))).collect();
                assert_eq!(gate.passing(first, 1000).collect::<Vec<_>>(), single);
            }
        }
    }
}
