//! Whether digits were drawn by chance, as those of random numbers and of digests are.

use std::collections::HashSet;

/// Values with so few digits to look at show nothing.
const DIGITS_MIN: usize = 64;
/// The most frequent digit of drawn ones is at most so many times as frequent as the mean one, and by chance some more.
const MOST_TIMES: usize = 2;
const MOST_MORE: usize = 8;

/// Whether the digits of `values` to the base `of`, at most 64, in some places are as even as drawn ones: everywhere different
/// ones, and none much more frequent than others. `digit` gives that of a value in a place.
pub(super) fn is_drawn<V>(values: &[V], places: impl IntoIterator<Item = usize>, of: usize, digit: impl Fn(&V, usize) -> Option<u8>) -> bool {
    let mut all = vec![0_usize; of];
    for place in places {
        let mut here = HashSet::new();
        for value in values {
            let Some(digit) = digit(value, place).map(usize::from).filter(|digit| *digit < of) else { return false };
            all[digit] += 1;
            here.insert(digit);
        }
        if here.len() < (values.len() / 3).min(of / 2) {
            return false;
        }
    }
    let digits: usize = all.iter().sum();
    let most = all.iter().max().copied().unwrap_or(0);
    digits >= DIGITS_MIN && most <= digits * MOST_TIMES / of + MOST_MORE && all.iter().filter(|count| **count > 0).count() * 8 >= of * 7
}
