//! NONE: the cells as they are, without an id.

use halite_types::Result;

use super::data_block_encoding::BlockEncoder;
use crate::hfile::cell_layout::CellLayout;

/// Encoder of plain blocks.
pub(super) struct PlainEncoder;

impl BlockEncoder for PlainEncoder {
    fn encode<'a>(&'a mut self, cells: &'a [u8], _layout: CellLayout) -> Result<&'a [u8]> {
        Ok(cells)
    }
}
