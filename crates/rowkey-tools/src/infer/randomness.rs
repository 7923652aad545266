//! Test of digits for randomness, as in random numbers and digests.

use std::collections::HashSet;

/// Minimum number of digits examined; fewer are inconclusive.
const MIN_DIGITS: usize = 64;
/// Maximum ratio of the most frequent digit's count to the mean count of random digits;
/// `MAX_OVER_MEAN_SLACK` is added to it.
const MAX_OVER_MEAN: usize = 2;
const MAX_OVER_MEAN_SLACK: usize = 8;

/// Returns `true` if the digits of `values` to the base `of`, at most 64, at `places` are as even
/// as random ones: they differ at every position, and none is much more frequent than others.
/// `digit` returns the digit of a value at a position.
pub(super) fn looks_random<V>(
    values: &[V],
    places: impl IntoIterator<Item = usize>,
    of: usize,
    digit: impl Fn(&V, usize) -> Option<u8>,
) -> bool {
    let mut all = vec![0_usize; of];
    for place in places {
        let mut here = HashSet::new();
        for value in values {
            let Some(digit) = digit(value, place).map(usize::from).filter(|digit| *digit < of)
            else {
                return false;
            };
            all[digit] += 1;
            here.insert(digit);
        }
        if here.len() < (values.len() / 3).min(of / 2) {
            return false;
        }
    }
    let digits: usize = all.iter().sum();
    let most = all.iter().max().copied().unwrap_or(0);
    digits >= MIN_DIGITS
        && most <= digits * MAX_OVER_MEAN / of + MAX_OVER_MEAN_SLACK
        && all.iter().filter(|count| **count > 0).count() * 8 >= of * 7
}
