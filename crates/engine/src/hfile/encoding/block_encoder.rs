//! What encodes the data blocks of a file, cell by cell.

use halite_types::CellRef;

use super::key_before::KeyBefore;

/// Encoder of the data blocks of one file. It keeps its buffers from block to block.
pub(in crate::hfile) trait BlockEncoder: Send {
    /// Adds the next cell to the current block. `before` is the flat key of the cell before it in the
    /// file, of the same family; it is not read for the first cell of a block.
    fn add(&mut self, cell: CellRef<'_>, before: KeyBefore<'_>);

    /// Returns the sizes of the current block so far; both are 0 if it has no cell.
    fn sizes(&self) -> BlockSizes;

    /// Returns how a part of the current block begins with `cell`, which is added next; `None` if
    /// the cell cannot be decoded without those before it. The block has a cell.
    fn part_start(&self, cell: CellRef<'_>) -> Option<PartStart>;

    /// Completes the current block and returns its payload. Only [`BlockEncoder::clear`] may follow.
    fn finish(&mut self) -> &[u8];

    /// Starts the next block.
    fn clear(&mut self);
}

/// Beginning of a part of an encoded block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hfile) struct PartStart {
    /// Offset in the payload.
    pub(in crate::hfile) offset: usize,
    /// Bytes of the value of the cell before it, if the encoding needs them.
    pub(in crate::hfile) previous_value_bytes: usize,
}

/// Sizes of the cells of a block in bytes, as HBase counts them to end a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::hfile) struct BlockSizes {
    /// Bytes that the cells take in a plain block.
    pub(in crate::hfile) plain: usize,
    /// Bytes that they take in the encoding, without the fields before the first cell.
    pub(in crate::hfile) encoded: usize,
}
