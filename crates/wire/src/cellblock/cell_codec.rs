//! `CellCodec` and `CellCodecWithTags`: each part of a cell with a separate length.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, BytesMut};
use halite_types::cell::{CellParts, MAX_FAMILY_BYTES, MAX_ROW_BYTES, MAX_TAGS_BYTES};
use halite_types::{CellRef, CellType, Cells, CellsBuilder, Error, Result};

/// Bytes of a cell besides its parts: four lengths, timestamp, type, sequence.
const OVERHEAD: usize = 4 * 4 + 8 + 1 + 8;

/// Returns the number of bytes of the cells in this codec.
pub(super) fn encoded_len(cells: &Cells, with_tags: bool) -> usize {
    cells.iter().map(|cell| cell_len(&cell, with_tags)).fold(0, usize::saturating_add)
}

fn cell_len(cell: &CellRef<'_>, with_tags: bool) -> usize {
    let parts = [cell.row().len(), cell.family().len(), cell.qualifier().len(), cell.value().len()];
    let tags = if with_tags { cell.tags().len().saturating_add(4) } else { 0 };
    parts.into_iter().fold(OVERHEAD.saturating_add(tags), usize::saturating_add)
}

/// Appends the cells in this codec.
pub(super) fn encode(cells: &Cells, with_tags: bool, out: &mut BytesMut) {
    for cell in cells {
        write_part(cell.row(), out);
        write_part(cell.family(), out);
        write_part(cell.qualifier(), out);
        out.put_i64(cell.timestamp());
        out.put_u8(cell.type_code());
        write_part(cell.value(), out);
        if with_tags {
            write_part(cell.tags(), out);
        }
        out.put_u64(cell.sequence_id());
    }
}

fn write_part(part: &[u8], out: &mut BytesMut) {
    out.put_u32(u32::try_from(part.len()).expect("a part of a cell whose own length is a u32"));
    out.put_slice(part);
}

/// Decodes a block of this codec. The result is smaller than the input.
pub(super) fn decode(block: &[u8], with_tags: bool) -> Result<Cells> {
    let mut cells = CellsBuilder::with_capacity(block.len());
    let mut rest = block;
    while !rest.is_empty() {
        let at = block.len().saturating_sub(rest.len());
        let parts = read_cell(&mut rest, with_tags)
            .map_err(|why| Error::invalid(format!("cell {} at byte {at}: {why}", cells.len())))?;
        cells.push_parts(parts);
    }
    Ok(cells.finish())
}

const TRUNCATED: &str = "the block ends inside the cell";

fn read_cell<'a>(rest: &mut &'a [u8], with_tags: bool) -> Result<CellParts<'a>, &'static str> {
    let row = read_part(rest, MAX_ROW_BYTES, "its row is longer than 32767 bytes")?;
    let family = read_part(rest, MAX_FAMILY_BYTES, "its family is longer than 127 bytes")?;
    let qualifier = read_part(rest, usize::MAX, TRUNCATED)?;
    let timestamp = i64::from_be_bytes(read_array(rest)?);
    let [code] = read_array(rest)?;
    let value = read_part(rest, usize::MAX, TRUNCATED)?;
    let tags = if with_tags {
        read_part(rest, MAX_TAGS_BYTES, "its tags are longer than 65535 bytes")?
    } else {
        &[]
    };
    let _sequence: [u8; 8] = read_array(rest)?;
    let cell_type = CellType::from_code(code).ok_or("its type code is invalid")?;
    let total = [row, family, qualifier, value, tags]
        .into_iter()
        .map(<[u8]>::len)
        .fold(OVERHEAD, usize::saturating_add);
    if u32::try_from(total).is_err() {
        return Err("it is larger than 4 GiB");
    }
    Ok(CellParts { row, family, qualifier, timestamp, cell_type, value, tags })
}

fn read_part<'a>(
    rest: &mut &'a [u8],
    max_bytes: usize,
    too_long: &'static str,
) -> Result<&'a [u8], &'static str> {
    let length = usize::try_from(u32::from_be_bytes(read_array(rest)?)).map_err(|_| TRUNCATED)?;
    if length > max_bytes {
        return Err(too_long);
    }
    let (part, tail) = rest.split_at_checked(length).ok_or(TRUNCATED)?;
    *rest = tail;
    Ok(part)
}

fn read_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], &'static str> {
    let (array, tail) = rest.split_first_chunk().ok_or(TRUNCATED)?;
    *rest = tail;
    Ok(*array)
}
