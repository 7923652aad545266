//! `MurmurHash3`, used by the bloom filters of store files and the salts of row keys.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

/// Returns the `MurmurHash3` for 32-bit processors (`MurmurHash3_x86_32`) of `bytes`. HBase names
/// this function `murmur3`; Iceberg's bucket transform uses it with seed 0.
#[must_use]
pub fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let scramble = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = seed;
    let (words, tail) = bytes.as_chunks::<4>();
    for word in words {
        hash = (hash ^ scramble(u32::from_le_bytes(*word)))
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let word = tail.iter().rev().fold(0, |word, &byte| (word << 8) | u32::from(byte));
        hash ^= scramble(word);
    }
    // The length is mixed in as 32 bits; inputs are far below 4 GiB.
    hash ^= u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur3_matches_published_and_iceberg_values() {
        assert_eq!(murmur3(b"", 1), 0x514e_28b7);
        assert_eq!(murmur3(b"\x21\x43\x65\x87", 0), 0xf55b_516b);
        assert_eq!(murmur3(b"\x21\x43\x65", 0), 0x7e4a_8634);
        assert_eq!(murmur3(b"iceberg", 0), 1_210_000_089);
        assert_eq!(murmur3(&34_u64.to_le_bytes(), 0), 2_017_239_379);
    }
}
