//! Rows for every engine: keys in random order, incompressible values.

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 16;
/// Size of the buffer that values are slices of: far above a processor's first-level cache, far
/// below its last-level cache.
const NOISE_BYTES: usize = 1 << 20;

/// Generator of keys and values from row numbers.
pub(crate) struct Rows {
    noise: Vec<u8>,
    value_bytes: usize,
}

impl Rows {
    /// Creates a generator of rows with values of `value_bytes` bytes.
    pub(crate) fn new(value_bytes: usize) -> Self {
        let words = (NOISE_BYTES + value_bytes) / 8 + 1;
        let noise = (0..words as u64).flat_map(|word| mix(word).to_le_bytes()).collect();
        Self { noise, value_bytes }
    }

    /// Returns the key of a row. Different rows have different keys: the first half is a bijection
    /// of the number.
    pub(crate) fn key(row: u64) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        let (left, right) = key.split_at_mut(8);
        left.copy_from_slice(&mix(row).to_be_bytes());
        right.copy_from_slice(&row.to_be_bytes());
        key
    }

    /// Returns the value of a row.
    pub(crate) fn value(&self, row: u64) -> &[u8] {
        let start = usize::try_from(mix(!row) % NOISE_BYTES as u64).unwrap_or_default();
        &self.noise[start..start + self.value_bytes]
    }

    /// Returns the logical size of one row in bytes.
    pub(crate) fn row_bytes(&self) -> u64 {
        (KEY_BYTES + self.value_bytes) as u64
    }
}

/// Returns the number of the row to read in turn `turn`, below `rows`.
pub(crate) fn pick(turn: u64, rows: u64) -> u64 {
    mix(turn ^ 0x5bd1_e995_0000_0000) % rows
}

/// Maps 64-bit numbers one to one, without visible pattern (the finalizer of `SplitMix64`).
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinct_and_unordered() {
        let keys: Vec<_> = (0..1000).map(Rows::key).collect();
        let sorted: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(sorted.len(), 1000);
        assert!(keys.windows(2).filter(|pair| pair[0] < pair[1]).count() < 600);
    }

    #[test]
    fn value_is_reproducible() {
        let rows = Rows::new(100);
        assert_eq!(rows.value(7), Rows::new(100).value(7));
        assert_ne!(rows.value(7), rows.value(8));
        assert_eq!(rows.value(7).len(), 100);
    }
}
