//! Counters of parts of a region.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::metric::{Load, METRICS};

/// Maximum number of sub-ranges of a region.
pub const MAX_SUB_RANGES: usize = 64;

/// Bytes in which boundaries differ. Later bytes of a boundary are left out.
const WORD_BYTES: usize = 8;

/// Counters of consecutive sub-ranges of a region. The first one begins where the region does.
#[derive(Debug)]
pub(crate) struct SubRanges {
    /// Bytes that all boundaries begin with.
    common: Box<[u8]>,
    /// The bytes after them, filled up with zeros, in rising order.
    words: Box<[u64]>,
    counters: Box<[[AtomicU64; METRICS]]>,
}

impl SubRanges {
    /// Returns the sub-ranges of a region without boundaries: one.
    pub(crate) fn whole() -> Self {
        Self::between(Box::default(), Box::default())
    }

    /// Returns at most `most` sub-ranges that divide rising keys evenly, as far as the keys differ in
    /// the eight bytes after the prefix that they share.
    pub(crate) fn dividing(keys: &[Vec<u8>], most: usize) -> Self {
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Self::whole() };
        let shared = first.iter().zip(last).take_while(|(one, other)| one == other).count();
        let common = &first[..shared];
        let quantile = |at: usize| &keys[at * keys.len() / most];
        let mut words: Vec<u64> =
            (1..most).map(|at| word(quantile(at).get(shared..).unwrap_or(&[]))).collect();
        words.dedup();
        Self::between(common.into(), words.into())
    }

    fn between(common: Box<[u8]>, words: Box<[u64]>) -> Self {
        let counters = std::iter::repeat_with(Default::default).take(words.len() + 1).collect();
        Self { common, words, counters }
    }

    /// Returns the number of sub-ranges.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.counters.len()
    }

    /// Returns the boundaries: the first row of each sub-range but the first.
    pub(crate) fn boundaries(&self) -> impl Iterator<Item = Box<[u8]>> {
        self.words.iter().map(|word| {
            let bytes = word.to_be_bytes();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            [&self.common, &bytes[..used]].concat().into()
        })
    }

    /// Returns the sub-range of a row.
    pub(crate) fn find(&self, row: &[u8]) -> usize {
        let common = &*self.common;
        match row.get(..common.len()) {
            Some(start) if start == common => {
                let word = word(&row[common.len()..]);
                self.words.partition_point(|boundary| *boundary <= word)
            }
            _ if row < common => 0,
            _ => self.words.len(),
        }
    }

    /// Adds to the counters of a sub-range.
    pub(crate) fn add(&self, range: usize, load: &Load) {
        for (counter, amount) in self.counters[range].iter().zip(load.amounts()) {
            if amount > 0 {
                counter.fetch_add(amount, Relaxed);
            }
        }
    }

    /// Returns the counters and sets them to zero.
    pub(crate) fn take(&self) -> Vec<Load> {
        let take = |counters: &[AtomicU64; METRICS]| {
            Load::new(std::array::from_fn(|at| counters[at].swap(0, Relaxed)))
        };
        self.counters.iter().map(take).collect()
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; WORD_BYTES];
    let used = bytes.len().min(WORD_BYTES);
    word[..used].copy_from_slice(&bytes[..used]);
    u64::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::Metric;

    fn keys(count: u32) -> Vec<Vec<u8>> {
        (0..count).map(|number| format!("user_{number:06}").into_bytes()).collect()
    }

    #[test]
    fn sub_ranges_divide_keys_evenly() {
        let keys = keys(6400);
        let ranges = SubRanges::dividing(&keys, MAX_SUB_RANGES);
        assert_eq!(ranges.len(), MAX_SUB_RANGES);
        for key in &keys {
            ranges.add(ranges.find(key), &Load::new([1, 0, 0, 0, 0, 5]));
        }
        let loads = ranges.take();
        assert!(loads.iter().all(|load| load.get(Metric::Reads) == 100), "{loads:?}");
        assert_eq!(ranges.take(), [Load::default(); MAX_SUB_RANGES]);
    }

    #[test]
    fn keys_that_differ_late_are_one_sub_range() {
        let long = |tail: &str| format!("{}{tail}", "\u{1}".repeat(9)).into_bytes();
        let keys = [b"a".to_vec(), long("x"), long("y")];
        let mut sorted = keys.to_vec();
        sorted.sort();
        assert_eq!(SubRanges::dividing(&sorted, MAX_SUB_RANGES).len(), 3);
        assert_eq!(SubRanges::dividing(&[], 64).len(), 1);
        assert_eq!(SubRanges::dividing(&[b"one".to_vec()], 64).find(b""), 0);
    }

    proptest! {
        /// A row belongs to the sub-range whose boundaries enclose it.
        #[test]
        fn row_is_between_boundaries_of_its_sub_range(
            mut keys in proptest::collection::vec(proptest::collection::vec(0_u8..3, 0..12), 0..80),
            rows in proptest::collection::vec(proptest::collection::vec(0_u8..3, 0..14), 1..40),
        ) {
            keys.sort();
            let ranges = SubRanges::dividing(&keys, MAX_SUB_RANGES);
            let boundaries: Vec<Box<[u8]>> = ranges.boundaries().collect();
            prop_assert!(boundaries.is_sorted_by(|one, next| one < next), "{:?}", boundaries);
            for row in rows {
                let expected = boundaries.partition_point(|boundary| **boundary <= *row);
                prop_assert_eq!(ranges.find(&row), expected, "{:?} of {:?}", row, boundaries);
            }
        }
    }
}
