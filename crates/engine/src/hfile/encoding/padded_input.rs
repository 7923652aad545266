//! Encoded cells that a decoder may read beyond, and what a block of differences begins with.

use std::ops::Range;

use halite_types::Result;

use super::data_block_encoding::ID_BYTES;
use super::differences::DifferenceFormat;
use super::new_key::PaddedFamily;
use crate::env::PADDING_BYTES;
use crate::hfile::block_header::MAX_PAYLOAD_BYTES;
use crate::hfile::damaged;
use crate::hfile::vint::ByteReader;

/// Encoded cells, with [`PADDING_BYTES`] after them.
#[derive(Clone, Copy)]
pub(super) struct PaddedInput<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the padding begins.
    pub(super) end: usize,
}

impl<'a> PaddedInput<'a> {
    /// Returns the payload of a block, which gets the padding in place of what follows it.
    pub(super) fn new(block: &'a mut Vec<u8>, payload: Range<usize>) -> Self {
        block.truncate(payload.end);
        block.resize(block.len().saturating_add(PADDING_BYTES), 0);
        Self::of_padded(block.get(payload.start..).unwrap_or_default())
    }

    /// Returns bytes that end with the padding.
    pub(super) fn of_padded(bytes: &'a [u8]) -> Self {
        Self { bytes, end: bytes.len().saturating_sub(PADDING_BYTES) }
    }
}

/// What precedes the cells of a block.
#[derive(Debug)]
pub(super) struct BlockStart {
    /// Bytes that the plain block is stated to have.
    pub(super) plain_bytes: usize,
    pub(super) family: PaddedFamily,
    /// Position of the first cell.
    pub(super) cells: usize,
}

impl BlockStart {
    /// Reads the start of a block of this format.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn read<F: DifferenceFormat>(payload: PaddedInput<'_>) -> Result<Self> {
        let mut input = ByteReader::starting_at(payload.bytes, ID_BYTES);
        let plain_bytes = input.length().filter(|bytes| *bytes <= MAX_PAYLOAD_BYTES);
        let plain_bytes =
            plain_bytes.ok_or_else(|| damaged("it states an impossible size of its cells"))?;
        let mut family = PaddedFamily::default();
        F::read_start(&mut input, &mut family)
            .filter(|()| input.position() <= payload.end)
            .ok_or_else(|| damaged("it ends before its first cell"))?;
        Ok(Self { plain_bytes, family, cells: input.position() })
    }
}
