//! What precedes the key of a cell.

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
