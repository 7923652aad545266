//! Sample of the cells of a family: runs of neighbouring cells from several places of the key
//! space, in key order.

use std::sync::Arc;

use halite::key::successor_of_row;
use halite::{Bytes, RegionInfo, Scan, Table, block_on};
use halite_engine::hfile::{Cursor, DirectBlocks, Reader};
use halite_types::CellRef;
use halite_types::cell::{Cells, CellsBuilder};
use indicatif::ProgressBar;

use crate::key::region_positions;
use crate::text_table::{grouped, size};

/// Places of a table where a run begins. More places see more of the table, and make runs shorter.
const PLACES: usize = 32;
/// Cells per partial row.
const BATCH_CELLS: usize = 1_000;

/// Cells of one family in key order.
pub(super) struct Sample {
    pub(super) cells: Cells,
    /// Bytes of keys and values.
    pub(super) bytes: u64,
    /// Number of runs of neighbouring cells.
    pub(super) runs: usize,
    /// `true` if every cell was read.
    pub(super) is_whole: bool,
    /// Number of regions that were read, or 0 for a file.
    regions: usize,
}

impl Sample {
    /// Returns `true` if any cell has tags.
    pub(super) fn has_tags(&self) -> bool {
        self.cells.iter().any(|cell| !cell.tags().is_empty())
    }

    /// Describes the sample and where it is from.
    pub(super) fn describe(&self) -> String {
        let (cells, bytes) = (grouped(self.cells.len() as u64), size(self.bytes));
        match (self.is_whole, self.regions) {
            (true, _) => format!("all {cells} cells, {bytes}"),
            (false, 0) => format!("{cells} cells, {bytes}, in {} runs", self.runs),
            (false, regions) => {
                format!("{cells} cells, {bytes}, in {} runs from {regions} regions", self.runs)
            }
        }
    }
}

/// Collector of cells up to a number of bytes per run.
#[derive(Default)]
struct Collector {
    cells: CellsBuilder,
    bytes: u64,
    runs: usize,
}

impl Collector {
    fn add(&mut self, cell: CellRef<'_>) {
        self.bytes += (cell.key().len() + cell.value().len()) as u64;
        self.cells.push(cell);
    }

    fn finish(self, is_whole: bool, regions: usize) -> Sample {
        let Self { cells, bytes, runs } = self;
        Sample { cells: cells.finish(), bytes, runs, is_whole, regions }
    }
}

/// Samples a family of a table.
///
/// # Errors
/// Returns an error of the table. If the store rejects a raw scan, the sample has no deleted cells.
pub(super) fn from_table(
    table: &Arc<dyn Table>,
    regions: &[RegionInfo],
    family: &Bytes,
    budget: u64,
    bar: &ProgressBar,
) -> halite::Result<Sample> {
    bar.set_length(budget);
    read_table(table, regions, family, budget, true, bar)
        .or_else(|_| read_table(table, regions, family, budget, false, bar))
}

fn read_table(
    table: &Arc<dyn Table>,
    regions: &[RegionInfo],
    family: &Bytes,
    budget: u64,
    raw: bool,
    bar: &ProgressBar,
) -> halite::Result<Sample> {
    let step = regions.len().div_ceil(PLACES).max(1);
    let chosen: Vec<&RegionInfo> = regions.iter().step_by(step).collect();
    let places = PLACES.div_ceil(chosen.len().max(1));
    let of_region = budget / chosen.len().max(1) as u64;
    let mut found = Collector::default();
    let mut is_whole = step == 1;
    for region in &chosen {
        let scan = |start: Bytes| {
            Scan::range(start, region.end.clone())
                .family(family.clone())
                .all_versions()
                .batch(BATCH_CELLS)
                .raw(raw)
                .cache_blocks(false)
        };
        let starts = region_positions(table, region, places)?;
        is_whole &= read_region(table, region, &starts, of_region, scan, &mut found)?;
        bar.set_position(found.bytes);
    }
    Ok(found.finish(is_whole, chosen.len()))
}

/// Reads runs of a region. Returns `true` if they are all of it.
fn read_region(
    table: &Arc<dyn Table>,
    region: &RegionInfo,
    starts: &[Bytes],
    budget: u64,
    scan: impl Fn(Bytes) -> Scan,
    found: &mut Collector,
) -> halite::Result<bool> {
    let limit = found.bytes + budget;
    let run_bytes = budget / starts.len().max(1) as u64;
    // Start of the rows that no run has read.
    let mut next = region.start.clone();
    let mut has_gap = false;
    for (at, start) in starts.iter().enumerate() {
        // Where keys are sparse, the run before has already passed this place.
        let begin = start.clone().max(next.clone());
        // The first place is the first row, so that nothing is before it.
        let skips = at > 0 && begin != next;
        let (before, run) = (found.cells.len(), run_bytes.min(limit.saturating_sub(found.bytes)));
        let end = read_run(table, scan(begin), run, found)?;
        found.runs += usize::from(found.cells.len() > before && (at == 0 || skips));
        has_gap |= skips;
        let Some(last) = end else {
            return Ok(!has_gap);
        };
        next = last;
    }
    // Keys that are close together leave room: the runs at their places met few rows.
    let left = limit.saturating_sub(found.bytes);
    let end = if left > 0 { read_run(table, scan(next), left, found)? } else { Some(next) };
    Ok(end.is_none() && !has_gap)
}

/// Reads cells up to a number of bytes. Returns the row after the last one; `None` at the end of
/// the region.
fn read_run(
    table: &Arc<dyn Table>,
    scan: Scan,
    bytes: u64,
    found: &mut Collector,
) -> halite::Result<Option<Bytes>> {
    let end = found.bytes + bytes.max(1);
    let mut rows = table.scan(scan);
    while let Some(row) = block_on(rows.next())? {
        for cell in &row {
            found.add(cell);
        }
        if found.bytes >= end {
            return Ok(Some(successor_of_row(row.key()).into()));
        }
    }
    Ok(None)
}

/// Samples a store file: all of it, or runs at even distances.
///
/// # Errors
/// Returns an error if the file is damaged or a read fails.
pub(super) fn from_file(
    reader: &Arc<Reader>,
    budget: u64,
    bar: &ProgressBar,
) -> halite::Result<Sample> {
    bar.set_length(reader.entry_count());
    let total = reader.trailer().total_uncompressed_bytes.max(1);
    let every = reader.entry_count().div_ceil(PLACES as u64).max(1);
    // Part of each stretch that is taken, in cells.
    let taken = if total <= budget {
        every
    } else {
        u64::try_from(u128::from(every) * u128::from(budget) / u128::from(total)).unwrap_or(every)
    };
    let mut cursor = Cursor::new(Arc::clone(reader), DirectBlocks);
    let mut found = Collector::default();
    cursor.seek_to_first()?;
    let mut at = 0;
    while let Some(cell) = cursor.peek() {
        if at % every < taken.max(1) {
            found.runs += usize::from(at == 0 || (at % every == 0 && taken < every));
            found.add(cell);
        }
        at += 1;
        if at % 4096 == 0 {
            bar.set_position(at);
        }
        cursor.advance()?;
    }
    Ok(found.finish(taken >= every, 0))
}
