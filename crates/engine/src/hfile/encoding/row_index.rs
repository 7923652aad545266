//! `ROW_INDEX_V1`: `id u16 | plain cells | rows i32 | their offsets i32... | bytes of the cells i32`.
//! The tags are never compressed, whatever the file info states.

use std::ops::Range;

use halite_types::{CellRef, Result};

use super::block_encoder::{BlockEncoder, BlockSizes, PartStart};
use super::data_block_encoding::{DataBlockEncoding, ID_BYTES};
use super::key_before::KeyBefore;
use super::plain::write_plain_cell;
use crate::hfile::cell_layout::CellLayout;
use crate::hfile::damaged;
use crate::hfile::vint::ByteReader;

/// Bytes of an entry of the index of rows.
const OFFSET_BYTES: usize = 4;

/// Encoder of `ROW_INDEX_V1`.
pub(super) struct RowIndexEncoder {
    layout: CellLayout,
    payload: Vec<u8>,
    /// Offset of the first cell of each row, relative to the first cell of the block.
    rows: Vec<u32>,
}

impl RowIndexEncoder {
    pub(super) fn new(layout: CellLayout) -> Self {
        let payload = DataBlockEncoding::RowIndexV1.id().to_be_bytes().to_vec();
        Self { layout, payload, rows: Vec::new() }
    }

    fn cell_bytes(&self) -> usize {
        self.payload.len().saturating_sub(ID_BYTES)
    }
}

impl BlockEncoder for RowIndexEncoder {
    fn add(&mut self, cell: CellRef<'_>, before: KeyBefore<'_>) {
        if self.rows.is_empty() || !before.has_same_row() {
            self.rows.push(number(self.cell_bytes()));
        }
        write_plain_cell(&mut self.payload, cell, self.layout);
    }

    fn sizes(&self) -> BlockSizes {
        let plain = self.cell_bytes();
        let index = self.rows.len().saturating_mul(OFFSET_BYTES);
        BlockSizes { plain, encoded: plain.saturating_add(index) }
    }

    fn part_start(&self, _cell: CellRef<'_>) -> Option<PartStart> {
        Some(PartStart { offset: self.payload.len(), previous_value_bytes: 0 })
    }

    fn finish(&mut self) -> &[u8] {
        let cell_bytes = number(self.cell_bytes());
        self.payload.extend_from_slice(&number(self.rows.len()).to_be_bytes());
        for offset in &self.rows {
            self.payload.extend_from_slice(&offset.to_be_bytes());
        }
        self.payload.extend_from_slice(&cell_bytes.to_be_bytes());
        &self.payload
    }

    fn clear(&mut self) {
        self.payload.truncate(ID_BYTES);
        self.rows.clear();
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).expect("a block is far below 4 GiB")
}

/// Returns where the plain cells are in the payload. The index of rows is not needed once they are
/// found.
pub(super) fn block_range(payload: &[u8]) -> Result<Range<usize>> {
    let cells = cells(payload).ok_or_else(|| damaged("its rows' index does not fit it"))?;
    Ok(ID_BYTES..cells.len().saturating_add(ID_BYTES))
}

/// Returns where the plain cells of a part of a block are in its bytes, of which there are `bytes`;
/// the index of rows may follow them.
pub(super) fn part_range(is_first: bool, bytes: usize) -> Range<usize> {
    let start = if is_first { ID_BYTES } else { 0 };
    start..start.saturating_add(bytes)
}

fn cells(payload: &[u8]) -> Option<&[u8]> {
    let mut end = ByteReader::starting_at(payload, payload.len().checked_sub(OFFSET_BYTES)?);
    let cells = ByteReader::starting_at(payload, ID_BYTES).take(end.length()?)?;
    let rows = ByteReader::starting_at(payload, cells.len().checked_add(ID_BYTES)?).length()?;
    let index = rows.checked_add(2)?.checked_mul(OFFSET_BYTES)?;
    (cells.len().checked_add(ID_BYTES)?.checked_add(index)? == payload.len()).then_some(cells)
}
