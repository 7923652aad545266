//! NONE: the cells one after the other, without an id.

use halite_types::CellRef;

use super::block_encoder::{BlockEncoder, BlockSizes, PartStart};
use super::key_before::KeyBefore;
use crate::hfile::cell_layout::CellLayout;
use crate::hfile::vint::write_vlong;

/// Encoder of plain blocks.
pub(super) struct PlainEncoder {
    layout: CellLayout,
    cells: Vec<u8>,
}

impl PlainEncoder {
    pub(super) fn new(layout: CellLayout) -> Self {
        Self { layout, cells: Vec::new() }
    }
}

impl BlockEncoder for PlainEncoder {
    fn add(&mut self, cell: CellRef<'_>, _before: KeyBefore<'_>) {
        write_plain_cell(&mut self.cells, cell, self.layout);
    }

    fn sizes(&self) -> BlockSizes {
        BlockSizes { plain: self.cells.len(), encoded: self.cells.len() }
    }

    fn part_start(&self, _cell: CellRef<'_>) -> Option<PartStart> {
        Some(PartStart { offset: self.cells.len(), previous_value_bytes: 0 })
    }

    fn finish(&mut self) -> &[u8] {
        &self.cells
    }

    fn clear(&mut self) {
        self.cells.clear();
    }
}

/// Appends a cell as in a plain block.
pub(super) fn write_plain_cell(out: &mut Vec<u8>, cell: CellRef<'_>, layout: CellLayout) {
    let number =
        |length: usize| u32::try_from(length).expect("a cell is far below 4 GiB").to_be_bytes();
    out.extend_from_slice(&number(cell.key().len()));
    out.extend_from_slice(&number(cell.value().len()));
    out.extend_from_slice(cell.key());
    out.extend_from_slice(cell.value());
    if layout.tags {
        let tags = u16::try_from(cell.tags().len()).expect("the writer checks the tags");
        out.extend_from_slice(&tags.to_be_bytes());
        out.extend_from_slice(cell.tags());
    }
    if layout.sequence_ids {
        write_vlong(out, cell.sequence_id().cast_signed());
    }
}
