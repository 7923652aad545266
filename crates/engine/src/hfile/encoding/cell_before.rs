//! What the decoding of a part in the middle of a block begins with.

/// Cell before a part of a block of differences.
#[derive(Clone, Copy, Debug)]
pub(in crate::hfile) struct CellBefore<'a> {
    /// Its flat key.
    pub(in crate::hfile) key: &'a [u8],
    /// Length of its value in bytes.
    pub(in crate::hfile) value_bytes: usize,
}
