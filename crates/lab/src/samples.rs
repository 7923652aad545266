//! Sample data shared by pages: fixed times, reversed times, phone numbers, Zipf's law, and the
//! region of a key.

use bytes::Bytes;
pub(crate) use halite::rowkey::split::region_for_key;

/// 2024-03-15T00:00:00Z in milliseconds. Pages count from this time, so that every run gives the
/// same output.
pub const T0: i64 = 1_710_460_800_000;
/// Milliseconds per second.
pub const SECOND: i64 = 1_000;
/// Milliseconds per minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Milliseconds per hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Milliseconds per day.
pub const DAY: i64 = 24 * HOUR;

/// Returns a time as part of a text key, newest first: `Long.MAX_VALUE - time` in decimal digits.
pub fn reversed(time: i64) -> String {
    (i64::MAX - time).to_string()
}

/// Returns the size of a cell in bytes as HBase computes it (`KeyValue.getLength`): two lengths,
/// the key with row, column, timestamp and type, the value.
pub fn key_value_bytes(cell: &halite::cell::CellRef<'_>) -> usize {
    8 + cell.key().len() + cell.value().len()
}

/// Returns the bytes of a cell of this size as a Java object of class `KeyValue` (`heapSize` of
/// HBase 2.6, 64-bit JVM with compressed references): the object, and its array, which begins with
/// a header and is rounded up to eight bytes.
pub(crate) fn java_heap_bytes(cell: usize) -> usize {
    const OBJECT: usize = 32;
    const ARRAY_HEAD: usize = 16;
    OBJECT + (ARRAY_HEAD + cell).div_ceil(8) * 8
}

/// Returns the split keys at each decimal digit but the first: ten regions for keys that begin with
/// a decimal digit.
pub fn digit_boundaries() -> Vec<Bytes> {
    (1..10).map(|digit: u8| Bytes::from(digit.to_string())).collect()
}

/// Returns a Chinese mobile number: one of five carrier prefixes, and eight uniformly distributed
/// digits.
pub fn phone(chance: &mut fastrand::Rng) -> String {
    let carrier = ["138", "139", "152", "185", "186"][chance.usize(..5)];
    format!("{carrier}{:08}", chance.u32(..100_000_000))
}

/// Zipf distribution over a few items, the first of which is the most frequent: item `n`, counted
/// from 1, has weight `1 / n^exponent`.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Cumulative share of each item and the items before it; the last is 1.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// Creates a distribution over `things` items, at least one.
    pub fn new(things: u32, exponent: f64) -> Self {
        let weights: Vec<f64> =
            (1..=things.max(1)).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        let mut up_to = 0.0;
        Self {
            cumulative: weights
                .iter()
                .map(|weight| {
                    up_to += weight / sum;
                    up_to
                })
                .collect(),
        }
    }

    /// Returns the index of a random item, counted from 0.
    pub fn sample(&self, chance: &mut fastrand::Rng) -> usize {
        let at = chance.f64();
        self.cumulative.partition_point(|up_to| *up_to <= at).min(self.cumulative.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_key_is_first_key_of_its_region() {
        let boundaries = digit_boundaries();
        assert_eq!(
            [&b"0zz"[..], b"1", b"99", b"~"].map(|key| region_for_key(key, &boundaries)),
            [0, 1, 9, 9]
        );
    }

    #[test]
    fn weighted_draw_matches_weight_of_first_item() {
        let (zipf, mut chance) = (Zipf::new(10, 1.0), fastrand::Rng::with_seed(1));
        let drawn: Vec<usize> = (0..10_000).map(|_| zipf.sample(&mut chance)).collect();
        let first = drawn.iter().filter(|thing| **thing == 0).count();
        assert!((3_200..3_650).contains(&first), "1 of 2.929 is 3,414 of 10,000: {first}");
        assert!(drawn.iter().all(|thing| *thing < 10));
    }
}
