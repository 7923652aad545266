//! Benchmark data: row keys in the format of HBase's tools, and incompressible values.

use halite::Bytes;
use halite_types::rng::split_mix;

use super::rng::SeededRng;

/// Digits of a PerformanceEvaluation row key.
const DIGITS: usize = 26;
/// Size of the buffer that values are slices of.
const RANDOM_BUFFER_BYTES: usize = 1 << 20;

/// Returns the row key of PerformanceEvaluation: the number with leading zeros.
pub(crate) fn evaluation_key(row: u64) -> Bytes {
    Bytes::from(format!("{row:0DIGITS$}"))
}

/// Returns the row key of YCSB: `user` and the hash of the number, so that rows arrive in no order.
pub(crate) fn ycsb_key(row: u64) -> Bytes {
    Bytes::from(format!("user{}", fnv_1a(row)))
}

/// Computes YCSB's hash: FNV-1a over the eight bytes, lowest first.
fn fnv_1a(number: u64) -> u64 {
    number.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Buffer of random bytes. Values are slices of it, so creating a value adds no time to the
/// measurement.
pub(crate) struct RandomBytes {
    bytes: Vec<u8>,
    value_bytes: usize,
}

impl RandomBytes {
    /// Creates a buffer for values of `value_bytes` bytes.
    pub(crate) fn new(value_bytes: usize) -> Self {
        let words = (RANDOM_BUFFER_BYTES + value_bytes) / 8 + 1;
        let mut chance = SeededRng::new(0);
        Self { bytes: (0..words).flat_map(|_| chance.next().to_le_bytes()).collect(), value_bytes }
    }

    /// Returns a value; equal numbers give equal values.
    pub(crate) fn value(&self, number: u64) -> &[u8] {
        let start = (split_mix(number) % RANDOM_BUFFER_BYTES as u64) as usize;
        &self.bytes[start..start + self.value_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_match_format_of_hbase_tools() {
        assert_eq!(evaluation_key(42), "00000000000000000000000042");
        assert!(ycsb_key(1).starts_with(b"user"));
        assert_ne!(ycsb_key(1), ycsb_key(2));
    }

    #[test]
    fn value_is_deterministic_for_row_number() {
        let noise = RandomBytes::new(10);
        assert_eq!(noise.value(3), RandomBytes::new(10).value(3));
        assert_ne!(noise.value(3), noise.value(4));
        assert_eq!(noise.value(u64::MAX).len(), 10);
    }
}
