//! Reads a little of a table for lint: the first rows of each region, with what is deleted where the store gives it.

use halite::rowkey::lint::CellSample;
use halite::{RegionInfo, Result, Scan};

use crate::place::PlaceTable;

/// Rows that are read of each region.
const ROWS_OF_REGION: usize = 2_000;
/// Rows that are read of a table, over all its regions.
const ROWS: usize = 20_000;
/// Bytes of cells after which no more is read of a region.
const BYTES_OF_REGION: usize = 16 << 20;
/// The same for a table.
const BYTES: usize = 128 << 20;
/// Cells of one piece of a row.
const BATCH: usize = 1_000;
/// Versions of a cell that are read: enough to see how a value changes.
const VERSIONS: u32 = 4;

/// Cells from the beginnings of the regions.
///
/// # Errors
/// The store's. One that refuses to show what is deleted is read without.
pub(super) fn read(table: &PlaceTable, regions: &[RegionInfo]) -> Result<CellSample> {
    read_as(table, regions, true).or_else(|_| read_as(table, regions, false))
}

fn read_as(table: &PlaceTable, regions: &[RegionInfo], raw: bool) -> Result<CellSample> {
    let (mut cells, mut bytes) = (CellSample::default(), 0);
    // The same of every region: one of which nothing was read would look empty.
    let rows = (ROWS / regions.len().max(1)).clamp(1, ROWS_OF_REGION);
    let bytes_of_region = (BYTES / regions.len().max(1)).min(BYTES_OF_REGION);
    for region in regions {
        let end = bytes + bytes_of_region;
        let scan = Scan::range(region.start.clone(), region.end.clone()).limit(rows).batch(BATCH).versions(VERSIONS).raw(raw).cache_blocks(false);
        for piece in table.scan(scan) {
            let piece = piece?;
            cells.see(&piece);
            bytes += piece.iter().map(|cell| cell.key().len() + cell.value().len()).sum::<usize>();
            if bytes >= end {
                break;
            }
        }
        cells.end_of_range();
    }
    Ok(cells)
}
