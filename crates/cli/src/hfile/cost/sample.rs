//! Sample of the cells of a family: runs of neighbouring cells from several places of the key
//! space, in key order.

use std::sync::Arc;

use halite::key::successor_of_row;
use halite::{Bytes, RegionInfo, Row, Scan, Table, block_on};
use halite_engine::hfile::{Cursor, DirectBlocks, Reader, info_key};
use halite_types::cell::{Cells, CellsBuilder};
use halite_types::{CellRef, RowStream};
use indicatif::ProgressBar;

use crate::key::region_positions;
use crate::text_table::{grouped, size};

/// Places of a table where a run begins. More places see more of the table, and make runs shorter.
const PLACES: usize = 32;
/// Cells per partial row. A cell may have 10 MB, so they are few.
const BATCH_CELLS: usize = 16;

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
    let mut found = Collector::default();
    let mut is_whole = step == 1;
    let mut read_regions = 0;
    for (at, region) in chosen.iter().enumerate() {
        let limit = share_up_to(budget, at, chosen.len());
        if found.bytes >= limit {
            is_whole = false;
            continue;
        }
        let scan = |start: Bytes| {
            Scan::range(start, region.end.clone())
                .family(family.clone())
                .all_versions()
                .batch(BATCH_CELLS)
                .raw(raw)
                .cache_blocks(false)
        };
        let starts = region_positions(table, region, places)?;
        is_whole &= read_region(table, region, &starts, limit, scan, &mut found)?;
        read_regions += 1;
        bar.set_position(found.bytes);
    }
    Ok(found.finish(is_whole, read_regions))
}

/// Returns the bytes that a sample has at most after the place `at` of `places`: each gets an equal
/// part, and what the ones before left. A place whose part was used by a large cell before it is
/// not read, so a sample exceeds `budget` by at most one cell.
fn share_up_to(budget: u64, at: usize, places: usize) -> u64 {
    let part = u128::from(budget) * (at as u128 + 1) / (places as u128).max(1);
    u64::try_from(part).unwrap_or(budget).max(1)
}

/// Reads runs of a region until the sample has `limit` bytes. Returns `true` if they are all of it.
fn read_region(
    table: &Arc<dyn Table>,
    region: &RegionInfo,
    starts: &[Bytes],
    limit: u64,
    scan: impl Fn(Bytes) -> Scan,
    found: &mut Collector,
) -> halite::Result<bool> {
    let (before, share) = (found.bytes, limit.saturating_sub(found.bytes));
    let begin = |start: &Bytes| Run::new(table.scan(scan(start.clone())), start.clone());
    let mut last: Option<Run> = None;
    let mut has_gap = false;
    for (at, start) in starts.iter().enumerate() {
        let end_bytes = before + share_up_to(share, at, starts.len());
        if found.bytes >= end_bytes {
            continue;
        }
        let mut run = match last.take() {
            // Where keys are sparse or rows are large, the run before has reached this place.
            Some(run) if *start <= run.next => run,
            skipping => {
                // The first place is the first row, so that nothing is before it.
                has_gap |= skipping.is_some();
                begin(start)
            }
        };
        if run.read(end_bytes, found)? {
            return Ok(!has_gap);
        }
        last = Some(run);
    }
    // Keys that are close together leave room: the runs at their places met few rows.
    let mut run = last.unwrap_or_else(|| begin(&region.start));
    Ok(run.read(limit, found)? && !has_gap)
}

/// Scan that is read up to a number of bytes, and may be continued.
struct Run {
    rows: RowStream,
    /// Row in which reading stopped, and the number of its cells that were taken.
    row: Option<(Row, usize)>,
    /// Start of the rows after the last one.
    next: Bytes,
    is_begun: bool,
}

impl Run {
    fn new(rows: RowStream, start: Bytes) -> Self {
        Self { rows, row: None, next: start, is_begun: false }
    }

    /// Reads cells until the sample has `end_bytes` bytes. Returns `true` at the end of the scan.
    fn read(&mut self, end_bytes: u64, found: &mut Collector) -> halite::Result<bool> {
        loop {
            if let Some((row, taken)) = &mut self.row {
                for cell in row.iter().skip(*taken) {
                    if found.bytes >= end_bytes {
                        return Ok(false);
                    }
                    found.add(cell);
                    *taken += 1;
                }
            }
            if found.bytes >= end_bytes {
                return Ok(false);
            }
            self.row = block_on(self.rows.next())?.map(|row| (row, 0));
            let Some((row, _)) = &self.row else { return Ok(true) };
            self.next = successor_of_row(row.key()).into();
            found.runs += usize::from(!std::mem::replace(&mut self.is_begun, true));
        }
    }
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
    let total = plain_bytes(reader).max(1);
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
    let (mut at, mut is_in_run, mut is_whole) = (0_u64, false, true);
    while let Some(cell) = cursor.peek() {
        let (place, within) = (usize::try_from(at / every).unwrap_or(PLACES), at % every);
        // What the file says of its bytes and cells may be wrong, and the budget holds anyway.
        let most = if taken >= every { budget } else { share_up_to(budget, place, PLACES) };
        let is_taken = within < taken.max(1) && found.bytes < most;
        is_whole &= is_taken;
        if is_taken {
            found.runs += usize::from(!is_in_run);
            found.add(cell);
        }
        is_in_run = is_taken;
        at += 1;
        if at % 4096 == 0 {
            bar.set_position(at);
        }
        cursor.advance()?;
    }
    Ok(found.finish(is_whole, 0))
}

/// Returns the approximate bytes of the keys and values of a file, as it states them: those of the
/// blocks may be encoded.
fn plain_bytes(reader: &Reader) -> u64 {
    let info = reader.info();
    let average = |key| info.int(key).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
    let cell = average(info_key::AVERAGE_KEY_LENGTH) + average(info_key::AVERAGE_VALUE_LENGTH);
    reader.trailer().total_uncompressed_bytes.max(reader.entry_count().saturating_mul(cell))
}
