//! Bytes that two keys have in common at their start.

use super::flat_key::STAMP_BYTES;
use super::key_before::KeyBefore;

/// Returns the number of equal bytes at the start of `a` and `b`.
#[inline]
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let shorter = a.len().min(b.len());
    let (Some(a), Some(b)) = (a.get(..shorter), b.get(..shorter)) else { return 0 };
    let ((words_a, tail_a), (words_b, tail_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut common = 0_usize;
    for (a, b) in words_a.iter().zip(words_b) {
        match equal_bytes(*a, *b) {
            8 => common = common.wrapping_add(8),
            equal => return common.wrapping_add(equal),
        }
    }
    if tail_a.is_empty() {
        return common;
    }
    // The last eight bytes overlap the words before them, which are equal.
    match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a), Some(b)) => shorter.wrapping_sub(8).wrapping_add(equal_bytes(*a, *b)),
        _ => tail_a.iter().zip(tail_b).take_while(|(a, b)| a == b).count(),
    }
}

#[inline]
fn equal_bytes(a: [u8; 8], b: [u8; 8]) -> usize {
    let differences = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
    (differences.trailing_zeros() >> 3) as usize
}

/// Returns how many bytes two keys have in common before timestamp and type. HBase compares the
/// lengths of the rows, then the rows, then the qualifiers: the same for keys of one family.
#[inline]
pub(super) fn common_front(previous_key: &[u8], key: &[u8]) -> usize {
    let front = |key: &[u8]| key.len().saturating_sub(STAMP_BYTES);
    let (previous, key) = (previous_key.get(..front(previous_key)), key.get(..front(key)));
    previous.zip(key).map_or(0, |(previous, key)| common_prefix(previous, key))
}

/// Returns how many bytes two keys have in common. Timestamp and type count only if everything
/// before them is equal.
#[inline]
pub(super) fn common_key(before: KeyBefore<'_>, key: &[u8]) -> usize {
    let KeyBefore { key: previous_key, common } = before;
    let is_whole = common.wrapping_add(STAMP_BYTES) == key.len();
    if is_whole && previous_key.len() == key.len() {
        common_prefix(previous_key, key)
    } else {
        common
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefix_ends_at_the_first_difference() {
        let bytes: Vec<u8> = (0..40).collect();
        for length in 0..40 {
            let a = &bytes[..length];
            assert_eq!(common_prefix(a, &bytes), length);
            assert_eq!(common_prefix(&bytes, a), length);
            for differs in 0..length {
                let mut b = a.to_vec();
                b[differs] ^= 0x80;
                b[length - 1] ^= 1;
                assert_eq!(common_prefix(a, &b), differs, "{length}");
            }
        }
    }
}
