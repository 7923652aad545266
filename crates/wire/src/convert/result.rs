//! `Result`: a row, with its cells in the message or in the cell block.
//!
//! In memory a row's cells have the layout of a cell block, so the block of a frame contains
//! [`Row::cells`](halite_types::Row::cells) itself, shared and not copied.
//! [`CellBlockFormat::block`](crate::cellblock::CellBlockFormat::block) omits the tags if the codec
//! requires it. Messages never contain the tags: HBase does not send them to clients.

use halite_types::cell::{CellParts, MAX_FAMILY_BYTES, MAX_ROW_BYTES, MAX_TAGS_BYTES};
use halite_types::{CellRef, CellType, Cells, CellsBuilder, Error, Result, Row};

use crate::proto as pb;

/// Returns the message of a row whose cells are in the cell block. An empty row has the count 0, as
/// HBase sends for a missing row.
pub fn counted(row: &Row) -> pb::Result {
    pb::Result {
        associated_cell_count: Some(i32::try_from(row.len()).unwrap_or(i32::MAX)),
        ..pb::Result::default()
    }
}

/// Returns the message of a row with its cells inside, for connections without cell blocks.
pub fn inline(row: &Row) -> pb::Result {
    pb::Result {
        cell: row.iter().map(|cell| cell_to_proto(row.cells(), cell)).collect(),
        ..pb::Result::default()
    }
}

/// Returns the response to a get that only tests whether a cell exists.
pub fn existence(exists: bool) -> pb::Result {
    pb::Result { associated_cell_count: Some(0), exists: Some(exists), ..pb::Result::default() }
}

/// Returns the row of a message: the cells it counts, off the front of `cells`, and those it holds.
///
/// # Errors
/// `InvalidRequest` for fewer cells than counted, or an invalid cell.
pub fn from_proto(proto: &pb::Result, cells: &mut Cells) -> Result<Row> {
    let counted = take(cells, proto.associated_cell_count())?;
    let all = if proto.cell.is_empty() {
        counted
    } else {
        let mut all = CellsBuilder::default();
        all.extend(&counted);
        proto.cell.iter().try_for_each(|cell| push_cell(&mut all, cell))?;
        all.finish()
    };
    Ok(if proto.partial() { Row::partial(all) } else { Row::new(all) })
}

/// Adds rows to the response of a scan: their counts if the cells are in the cell block, or else
/// their cells.
pub fn rows_to_response(rows: &[Row], in_cell_block: bool, response: &mut pb::ScanResponse) {
    if in_cell_block {
        response
            .cells_per_result
            .extend(rows.iter().map(|row| u32::try_from(row.len()).unwrap_or(u32::MAX)));
        response.partial_flag_per_result.extend(rows.iter().map(Row::is_partial));
    } else {
        let result =
            |row: &Row| pb::Result { partial: row.is_partial().then_some(true), ..inline(row) };
        response.results.extend(rows.iter().map(result));
    }
}

/// Returns the rows in the response of a scan, with the cells of its cell block. A row is partial
/// if the response states that more of it may follow.
///
/// # Errors
/// As [`from_proto`].
pub fn rows_from_response(response: &pb::ScanResponse, cells: &mut Cells) -> Result<Vec<Row>> {
    if response.cells_per_result.is_empty() {
        return response.results.iter().map(|result| from_proto(result, cells)).collect();
    }
    let flags = response.partial_flag_per_result.iter().copied().chain(std::iter::repeat(false));
    // Rows without cells are rare, and the announced counts are not verified yet.
    let mut rows = Vec::with_capacity(response.cells_per_result.len().min(cells.len()));
    for (count, is_partial) in response.cells_per_result.iter().zip(flags) {
        let run = take(cells, i32::try_from(*count).unwrap_or(i32::MAX))?;
        rows.push(if is_partial { Row::partial(run) } else { Row::new(run) });
    }
    Ok(rows)
}

fn take(cells: &mut Cells, count: i32) -> Result<Cells> {
    let remaining = cells.len();
    let run = usize::try_from(count).ok().and_then(|count| cells.split_to(count));
    run.ok_or_else(|| {
        Error::invalid(format!(
            "corrupt response: a result requires {count} cells, and the cell block has {remaining} \
             left"
        ))
    })
}

/// Returns a cell as a message that shares the bytes of the row.
fn cell_to_proto(cells: &Cells, cell: CellRef<'_>) -> pb::Cell {
    let part = |part: &[u8]| Some(cells.bytes().slice_ref(part));
    pb::Cell {
        row: part(cell.row()),
        family: part(cell.family()),
        qualifier: part(cell.qualifier()),
        timestamp: Some(cell.timestamp().cast_unsigned()),
        cell_type: Some(i32::from(cell.type_code())),
        value: part(cell.value()),
        tags: None,
    }
}

fn push_cell(out: &mut CellsBuilder, proto: &pb::Cell) -> Result<()> {
    let (row, family, tags) = (proto.row(), proto.family(), proto.tags());
    if row.len() > MAX_ROW_BYTES || family.len() > MAX_FAMILY_BYTES || tags.len() > MAX_TAGS_BYTES {
        let text = format!(
            "a cell has a row of {} bytes, a family of {} and tags of {}; one is too long",
            row.len(),
            family.len(),
            tags.len()
        );
        return Err(Error::invalid(text));
    }
    let code = proto.cell_type.unwrap_or(i32::from(CellType::Put.code()));
    let cell_type = u8::try_from(code).ok().and_then(CellType::from_code);
    let cell_type =
        cell_type.ok_or_else(|| Error::invalid(format!("{code} is not a cell type")))?;
    let timestamp = proto.timestamp().cast_signed();
    let (qualifier, value) = (proto.qualifier(), proto.value());
    out.push_parts(CellParts { row, family, qualifier, timestamp, cell_type, value, tags });
    Ok(())
}
