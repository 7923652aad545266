//! What precedes the key of a cell.

use super::previous_cell::PreviousCell;
use crate::hfile::cell_span;

/// Bytes of the lengths before a key in a plain block.
pub(super) const LENGTHS_BYTES: usize = cell_span::LENGTHS_BYTES as usize;

/// Flag and lengths of a cell.
#[derive(Clone, Copy)]
pub(super) struct CellHead {
    pub(super) flag: u8,
    pub(super) key_bytes: usize,
    pub(super) value_bytes: usize,
    /// Bytes at the start of the key that are those of the previous key.
    pub(super) common: usize,
}

impl CellHead {
    /// Returns `true` if neither its key nor the previous one is shorter than what they have in
    /// common.
    #[inline(always)]
    pub(super) fn fits(&self, previous: PreviousCell) -> bool {
        self.common <= previous.key_bytes && self.common <= self.key_bytes
    }

    /// Returns the bytes of lengths, key and value in a plain block. The lengths are of 32 bits.
    #[inline(always)]
    pub(super) fn plain_bytes(&self) -> usize {
        LENGTHS_BYTES.wrapping_add(self.key_bytes).wrapping_add(self.value_bytes)
    }
}
