//! Encodings whose cells are stored as differences from the previous cell: what such an encoding
//! defines. `difference_encoder.rs` and `difference_decoder.rs` do what is common to all.

use super::data_block_encoding::DataBlockEncoding;
use super::plain_cells::PlainCells;
use crate::hfile::vint::ByteReader;

/// Format of the cells of such an encoding, up to the value. Tags and sequence id follow the value
/// in one format.
pub(super) trait DifferenceFormat: Send {
    const ENCODING: DataBlockEncoding;
    /// `true` if the value of a cell is omitted where it equals the previous one.
    const OMITS_EQUAL_VALUES: bool = false;

    /// Appends the fields before the value of the first cell of a block.
    fn write_first(out: &mut Vec<u8>, key: &[u8], value_bytes: usize);

    /// Appends the fields before the value of any other cell.
    fn write_next(out: &mut Vec<u8>, cell: &NextCell<'_>);

    /// Reads the fields before the first cell; `None` if they are damaged.
    fn read_start<'a>(_input: &mut ByteReader<'a>, _cells: &mut PlainCells<'a>) -> Option<()> {
        Some(())
    }

    /// Reads the fields of a cell before its tags, and appends its lengths and its key to `cells`.
    /// Returns its value; `None` if it is damaged.
    fn read<'a>(input: &mut ByteReader<'a>, cells: &mut PlainCells<'a>) -> Option<Value<'a>>;
}

/// Cell to encode, and the one before it.
pub(super) struct NextCell<'a> {
    pub(super) key: &'a [u8],
    pub(super) value_bytes: usize,
    pub(super) previous_key: &'a [u8],
    pub(super) previous_value_bytes: usize,
    /// `true` if the value is omitted because it equals the previous one.
    pub(super) omits_value: bool,
}

/// Value of a cell that is decoded.
pub(super) enum Value<'a> {
    Given(&'a [u8]),
    /// Value of the previous cell.
    Same,
}
