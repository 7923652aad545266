//! Parts of flat keys that are stored apart.

use crate::hfile::vint::ByteReader;

/// Bytes of timestamp and type at the end of a key.
pub(super) const STAMP_BYTES: usize = 9;

/// Timestamp and type of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) timestamp: i64,
    pub(super) kind: u8,
}

/// Returns row, family and qualifier of a key with their lengths, and its stamp; `None` if it is
/// shorter than a stamp.
#[inline]
pub(super) fn split_stamp(key: &[u8]) -> Option<(&[u8], Stamp)> {
    let (front, stamp) = key.split_last_chunk::<STAMP_BYTES>()?;
    let [timestamp @ .., kind] = *stamp;
    Some((front, Stamp { timestamp: i64::from_be_bytes(timestamp), kind }))
}

/// Returns the end of a key's row; `None` if the key does not begin with a length.
#[inline]
pub(super) fn row_end(key: &[u8]) -> Option<usize> {
    usize::from(ByteReader::new(key).u16()?).checked_add(2)
}

/// Returns the end of a key's family; `None` if the key ends before its family's length.
#[inline]
pub(super) fn family_end(key: &[u8]) -> Option<usize> {
    let start = row_end(key)?;
    start.checked_add(1)?.checked_add(usize::from(*key.get(start)?))
}
