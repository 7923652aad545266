//! `KeyValueCodec`: the layout of Halite's cells, without their tags.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::cell::CELL_HEADER;
use halite_types::{CellRef, Cells, CellsBuilder, Result};

/// Returns the number of bytes of the cells without their tags.
pub(super) fn len_without_tags(cells: &Cells) -> usize {
    cells.iter().map(|cell| len(&cell)).fold(0, usize::saturating_add)
}

/// Appends the cells; sequences of cells without tags are copied in one step.
pub(super) fn write_without_tags(cells: &Cells, out: &mut BytesMut) {
    if len_without_tags(cells) == cells.bytes().len() {
        out.extend_from_slice(cells.bytes());
        return;
    }
    for cell in cells {
        let (key, value) = (cell.key(), cell.value());
        out.put_u32(length(len(&cell).saturating_sub(4)));
        out.put_u32(length(key.len()));
        out.put_u32(length(value.len()));
        out.put_slice(key);
        out.put_slice(value);
    }
}

/// Decodes a block. It should not contain tags; existing tags are dropped, as in HBase.
pub(super) fn decode_without_tags(block: Bytes) -> Result<Cells> {
    let cells = Cells::from_bytes(block)?;
    if cells.iter().all(|cell| cell.tags().is_empty()) {
        return Ok(cells);
    }
    let mut plain = CellsBuilder::with_capacity(cells.bytes().len());
    for cell in &cells {
        plain.push(CellRef::new(cell.key(), cell.value(), &[], 0));
    }
    Ok(plain.finish())
}

fn len(cell: &CellRef<'_>) -> usize {
    CELL_HEADER.saturating_add(cell.key().len()).saturating_add(cell.value().len())
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a part of a cell whose own length is a u32")
}
