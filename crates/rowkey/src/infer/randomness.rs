//! Test of digits for randomness, as in random numbers and digests.

use std::collections::HashSet;

/// Values with so few digits to look at show nothing.
const MIN_DIGITS: usize = 64;
/// The most frequent digit of drawn ones is at most so many times as frequent as the mean one, and
/// randomly some more.
const MAX_OVER_MEAN: usize = 2;
const MAX_OVER_MEAN_SLACK: usize = 8;

/// Returns `true` if the digits of `values` to the base `for_schema`, at most 64, in some places
/// are as even as drawn ones: everywhere different ones, and none much more frequent than others.
/// `digit` gives that of a value in a place.
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
