//! Which operations are sampled.
//!
//! The number of an operation in its region decides, which the exact counter yields anyway: a
//! sample costs no counter of its own, no random number and no state of a thread. Multiplication by
//! the golden ratio spreads the chosen numbers evenly, and without a period that a client's
//! batches could have too.

// 2^64 divided by the golden ratio.
use halite_types::rng::SPLIT_MIX_INCREMENT;

/// Operations per sampled operation of the sub-range counters, at least, in a busy region.
pub const SUB_RANGE_RATE: u64 = 8;
/// Operations per sampled operation of frequent rows and key samples, at least, in a busy region:
/// half of the sample of the sub-range counters.
pub const ROW_RATE: u64 = 2 * SUB_RANGE_RATE;
/// Sampled operations of the sub-range counters in a column, from which on fewer are sampled: 16
/// for each of 64 sub-ranges.
const COLUMN_SAMPLES: u64 = 1024;

/// Returns the binary logarithm of the operations per sampled operation of the sub-range counters
/// in a busy region with so many operations in a column.
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
}
