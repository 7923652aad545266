//! Encodings whose cells are stored as differences from the previous cell: what such an encoding
//! defines. `difference_encoder.rs` and `difference_decoder.rs` do what is common to all.

use super::cell_head::CellHead;
use super::data_block_encoding::DataBlockEncoding;
use super::key_before::KeyBefore;
use super::new_key::{NewKey, PaddedFamily};
use super::previous_cell::PreviousCell;
use crate::hfile::vint::ByteReader;

/// Format of the cells of such an encoding, up to the value. Tags and sequence id follow the value
/// in one format.
pub(super) trait DifferenceFormat: Send {
    const ENCODING: DataBlockEncoding;
    /// Bit of the flag for a value that is omitted because it equals the previous one; 0 if the
    /// format has none.
    const SAME_VALUE: u8 = 0;

    /// Appends the fields before the value of the first cell of a block.
    fn write_first(out: &mut Vec<u8>, key: &[u8], value_bytes: usize);

    /// Appends the fields before the value of any other cell.
    fn write_next(out: &mut Vec<u8>, cell: &NextCell<'_>);

    /// Reads the fields before the first cell; `None` if they are damaged.
    fn read_start(_input: &mut ByteReader<'_>, _family: &mut PaddedFamily) -> Option<()> {
        Some(())
    }

    /// Reads the fields before the key of a cell; `None` if they are damaged. This input and that
    /// of [`DifferenceFormat::read_key`] are padded: reads beyond the end are found after the cell.
    fn read_head(input: &mut ByteReader<'_>, previous: PreviousCell) -> Option<CellHead>;

    /// Reads the key of a cell after the bytes that are in common; `None` if it is damaged.
    fn read_key(
        input: &mut ByteReader<'_>,
        head: CellHead,
        key: &mut NewKey<'_>,
        family: &PaddedFamily,
    ) -> Option<()>;

    /// Reads the key of the first cell of a block, which may set the family.
    fn read_first_key(
        input: &mut ByteReader<'_>,
        head: CellHead,
        key: &mut NewKey<'_>,
        family: &mut PaddedFamily,
    ) -> Option<()> {
        Self::read_key(input, head, key, family)
    }
}

/// Cell to encode, and the one before it.
pub(super) struct NextCell<'a> {
    pub(super) key: &'a [u8],
    pub(super) value_bytes: usize,
    pub(super) before: KeyBefore<'a>,
    pub(super) previous_value_bytes: usize,
    /// `true` if the value is omitted because it equals the previous one.
    pub(super) omits_value: bool,
}
