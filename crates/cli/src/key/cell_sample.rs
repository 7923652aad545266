//! Table sampling for lint: the first rows of each region, including deleted cells where the store
//! returns them.

use halite::{BlockingTable, RegionInfo, Result, Scan};
use halite_rowkey_tools::lint::CellSample;

/// Maximum rows read per region.
const MAX_ROWS_PER_REGION: usize = 2_000;
/// Maximum rows read per table, summed over all regions.
const MAX_ROWS: usize = 20_000;
/// Bytes of cells after which reading of a region stops.
const MAX_BYTES_PER_REGION: usize = 16 << 20;
/// Bytes of cells after which reading of a table stops.
const MAX_BYTES: usize = 128 << 20;
/// Cells per partial row.
const BATCH_CELLS: usize = 1_000;
/// Versions read per cell, enough to see changes of a value.
const MAX_VERSIONS: u32 = 4;

/// Reads cells from the start of each region.
///
/// # Errors
/// Returns an error of the store. If the store rejects a raw scan, the scan is repeated without
/// deleted cells.
pub(super) fn read(table: &BlockingTable, regions: &[RegionInfo]) -> Result<CellSample> {
    read_as(table, regions, true).or_else(|_| read_as(table, regions, false))
}

fn read_as(table: &BlockingTable, regions: &[RegionInfo], raw: bool) -> Result<CellSample> {
    let (mut cells, mut bytes) = (CellSample::default(), 0);
    // Regions share the limits equally: a region without samples would appear empty.
    let rows = (MAX_ROWS / regions.len().max(1)).clamp(1, MAX_ROWS_PER_REGION);
    let bytes_of_region = (MAX_BYTES / regions.len().max(1)).min(MAX_BYTES_PER_REGION);
    for region in regions {
        let end = bytes + bytes_of_region;
        let scan = Scan::range(region.start.clone(), region.end.clone())
            .limit(rows)
            .batch(BATCH_CELLS)
            .versions(MAX_VERSIONS)
            .raw(raw)
            .cache_blocks(false);
        for piece in table.scan(scan) {
            let piece = piece?;
            cells.add(&piece);
            bytes += piece.iter().map(|cell| cell.key().len() + cell.value().len()).sum::<usize>();
            if bytes >= end {
                break;
            }
        }
        cells.end_of_range();
    }
    Ok(cells)
}
