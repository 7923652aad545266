//! What precedes the key of a cell.

/// Bytes of the lengths before a key in a plain block.
pub(super) const LENGTHS_BYTES: usize = 8;

/// Flag and lengths of a cell.
#[derive(Clone, Copy)]
pub(super) struct CellHead {
    pub(super) flag: u8,
    pub(super) key_bytes: usize,
    pub(super) value_bytes: usize,
    /// Bytes at the start of the key that are those of the previous key.
    pub(super) common: usize,
}
