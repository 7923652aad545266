//! What the decoding of a cell needs of the cell before it.

use super::cell_head::LENGTHS_BYTES;
use super::flat_key::{STAMP_BYTES, Stamp, split_stamp};

/// Lengths and parts of the cell before the current one.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreviousCell {
    /// Bytes of the cell; 0 at the start of a block.
    pub(super) bytes: usize,
    /// Bytes of its key; 0 at the start of a block.
    pub(super) key_bytes: usize,
    pub(super) parts: KeyParts,
    /// 0 at the start of a block.
    pub(super) value_bytes: usize,
}

/// Parts of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyParts {
    /// End of the row in the key; above all lengths at the start of a block.
    pub(super) row_end: usize,
    /// End of the family in the key.
    pub(super) family_end: usize,
    pub(super) stamp: Stamp,
}

impl PreviousCell {
    /// No cell: the current one is the first of its block.
    pub(super) const NONE: Self = Self {
        bytes: 0,
        key_bytes: 0,
        parts: KeyParts {
            row_end: usize::MAX,
            family_end: usize::MAX,
            stamp: Stamp { timestamp: 0, kind: 0 },
        },
        value_bytes: 0,
    };

    /// Returns a cell of which key and length of the value are known; `None` for an invalid key.
    pub(super) fn of_key(key: &[u8], value_bytes: usize) -> Option<Self> {
        let parts = KeyParts::of(key)?;
        let bytes = key.len().checked_add(LENGTHS_BYTES)?;
        Some(Self { bytes, key_bytes: key.len(), parts, value_bytes })
    }
}

impl KeyParts {
    /// Returns the parts of a key of which nothing is known; `None` if it is invalid.
    pub(super) fn of(key: &[u8]) -> Option<Self> {
        let (_, stamp) = split_stamp(key)?;
        Some(Self { stamp, ..Self::of_bytes(key.len(), |at| key.get(at).copied())? })
    }

    /// As [`KeyParts::of`], without timestamp and type, for a key whose bytes are not in one place.
    #[inline(always)]
    pub(super) fn of_bytes(key_bytes: usize, byte: impl Fn(usize) -> Option<u8>) -> Option<Self> {
        let row_end = usize::from(u16::from_be_bytes([byte(0)?, byte(1)?])).wrapping_add(2);
        let family_end = usize::from(byte(row_end)?).wrapping_add(row_end).wrapping_add(1);
        // An empty row is no row of a table.
        let fits = row_end > 2 && family_end.wrapping_add(STAMP_BYTES) <= key_bytes;
        let stamp = Stamp { timestamp: 0, kind: 0 };
        fits.then_some(Self { row_end, family_end, stamp })
    }

    /// Returns `true` if row and family of a key of `key_bytes` are certain to be these, because it
    /// begins with the same `common` bytes.
    #[inline(always)]
    pub(super) fn are_in_common(&self, common: usize, key_bytes: usize) -> bool {
        common >= self.family_end && key_bytes >= self.family_end.saturating_add(STAMP_BYTES)
    }
}
