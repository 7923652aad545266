//! Hash functions of HBase's bloom filters.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::hash::murmur3;

/// Hash function of a bloom filter. The numbers are HBase's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashKind {
    /// Bob Jenkins' lookup3.
    Jenkins,
    /// `MurmurHash2` in HBase's variant, its default.
    #[default]
    Murmur,
    /// `MurmurHash3`, x86, 32 bits.
    Murmur3,
}

impl HashKind {
    pub(super) fn from_code(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::Jenkins,
            1 => Self::Murmur,
            2 => Self::Murmur3,
            _ => return None,
        })
    }

    pub(super) fn code(self) -> u32 {
        self as u32
    }

    /// Returns the 32-bit hash of `bytes`.
    pub(super) fn hash(self, bytes: &[u8], seed: u32) -> u32 {
        match self {
            Self::Jenkins => jenkins(bytes, seed),
            Self::Murmur => murmur(bytes, seed),
            Self::Murmur3 => murmur3(bytes, seed),
        }
    }
}

/// Returns the length as the hash functions mix it in: keys are far below 4 GiB.
fn length_of(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Returns up to four bytes as a little-endian number.
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| (word << 8) | u32::from(byte))
}

/// Returns HBase's `MurmurHash2`, which treats the one to three bytes at the end as signed numbers.
fn murmur(bytes: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = seed ^ length_of(bytes);
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        let mut k = little_endian(word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        for (shift, &byte) in [0_u32, 8, 16].into_iter().zip(tail) {
            hash ^= i32::from(byte.cast_signed()).cast_unsigned() << shift;
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

fn jenkins(bytes: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(length_of(bytes)).wrapping_add(seed);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = bytes;
    while rest.len() > 12 {
        let (block, behind) = rest.split_at_checked(12).unwrap_or((rest, &[]));
        (a, b, c) = jenkins_add(block, a, b, c);
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = behind;
    }
    if rest.is_empty() {
        return c;
    }
    (a, b, c) = jenkins_add(rest, a, b, c);
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// Adds up to twelve bytes, as three little-endian words.
fn jenkins_add(bytes: &[u8], a: u32, b: u32, c: u32) -> (u32, u32, u32) {
    let mut words = bytes.chunks(4).map(little_endian);
    let mut next = || words.next().unwrap_or(0);
    (a.wrapping_add(next()), b.wrapping_add(next()), c.wrapping_add(next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur_hash_equals_hbases() {
        let column = b"\x00\x04row1\x00q\x7f\xff\xff\xff\xff\xff\xff\xff\xff";
        for (bytes, first, second) in [
            (&b""[..], 0_u32, 0_u32),
            (b"a", 0x9268_5f5e, 0x5b2b_9c66),
            (b"abc", 0x1357_7c9b, 0xf369_e600),
            (b"abcd", 0x2687_3021, 0xe0ba_3fa1),
            (b"row-1", 0x8a0e_ffc4, 0x6d73_6fde),
            (b"\xff\x80\x01", 0x534d_87e0, 0x1205_3e35),
            (b"user\xe9", 0x83df_b32d, 0x1763_e33b),
            (b"0123456789abcdef", 0xcf9a_f71a, 0x00ac_09b0),
            (column, 0x6653_8d88, 0xa082_2c2a),
        ] {
            assert_eq!(murmur(bytes, 0), first, "{}", bytes.escape_ascii());
            assert_eq!(murmur(bytes, first), second, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn jenkins_and_murmur3_equal_published_vectors() {
        assert_eq!(jenkins(b"Four score and seven years ago", 0), 0x1777_0551);
        assert_eq!(jenkins(b"Four score and seven years ago", 1), 0xcd62_8161);
        assert_eq!(jenkins(b"", 0), 0xdead_beef);
        assert_eq!(murmur3(b"", 1), 0x514e_28b7);
        assert_eq!(murmur3(b"\x21\x43\x65\x87", 0), 0xf55b_516b);
        assert_eq!(murmur3(b"\x21\x43\x65", 0), 0x7e4a_8634);
    }
}
