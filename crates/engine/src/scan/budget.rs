//! How much one call of a scanner may return or do, why it stopped, and the clock that ends it.

use halite_types::Row;

use super::trace::ReadTrace;
use crate::env::Clock;

/// How much one call may return or do; unlimited by default. Every call gets on by at least one row, or one cell where
/// rows may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanBudget {
    /// Rows and pieces of rows to return (HBase's `number_of_rows`).
    pub results: usize,
    /// Rows to come to the end of, the one included that the call before has left unfinished (HBase's `limit_of_rows`).
    pub rows: usize,
    /// Bytes of cells, with the objects they would be in HBase ([`counted_bytes`](super::counted_bytes)), so that an answer
    /// to the same limit ends at the same cell. The cell, or the row where rows are not cut, that reaches the limit is still
    /// returned.
    pub bytes: usize,
    /// Cells looked at, returned or not.
    pub cells_examined: u64,
    /// Milliseconds; looked at every thousand cells, every few dozen rows and after reads from the disk.
    pub time_ms: Option<u64>,
    /// Whether bytes, cells and time may end the call inside a row, at a cell (HBase's partial results). A filter that
    /// decides over whole rows keeps them whole all the same.
    pub cut_rows: bool,
}

impl Default for ScanBudget {
    fn default() -> Self {
        Self { results: usize::MAX, rows: usize::MAX, bytes: usize::MAX, cells_examined: u64::MAX, time_ms: None, cut_rows: false }
    }
}

/// Cells that a read of memory alone looks at in one row before it is left to a thread that may take its time: a fraction
/// of a millisecond.
pub const MEMORY_CELLS_MAX: u64 = 2000;
/// Bytes of cells that a read of memory alone copies, or passes to a filter, before the rest is left to a thread that may take
/// its time. A row that begins before this limit may take as many bytes again.
pub const MEMORY_BYTES_MAX: usize = 256 << 10;

/// Why a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// As many rows and pieces as were asked for.
    Results,
    /// As many rows came to their end as were asked for.
    Rows,
    /// The bytes.
    Bytes,
    /// The cells looked at, or in a try of memory alone the bytes of cells.
    Cells,
    /// The time.
    Time,
    /// The scan has come to the end of its range or of the region.
    RegionEnd,
    /// The filter lets nothing pass any more, here or behind. In HBase a scan is over as a whole when that comes without
    /// a row; with rows the client goes on to the next region, where the filter begins afresh.
    FilterEnd,
}

impl StopReason {
    /// Whether this region has no more for the scan.
    pub fn is_end(self) -> bool {
        matches!(self, Self::RegionEnd | Self::FilterEnd)
    }
}

/// What one call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanBatch {
    /// The rows, or pieces of rows; [`Row::is_partial`] says whether the row goes on in the next one, which may be in the
    /// next call's answer, and may turn out not to come.
    pub rows: Vec<Row>,
    /// How many rows came to their end, one that began in an earlier call included.
    pub rows_ended: usize,
    /// Whether the scan stands in the middle of a row of which a piece has been returned.
    pub in_row: bool,
    /// Why it is not more.
    pub stopped: StopReason,
}

impl ScanBatch {
    /// Whether there may be more in this region.
    pub fn more(&self) -> bool {
        !self.stopped.is_end()
    }
}

/// Cells and rows between two looks at the clock; with a filter fewer cells, by what it costs to show it one.
const LOOK_CELLS: u64 = 1000;
const LOOK_ROWS: u32 = 32;

/// The limits of one call on cells looked at and time.
pub(super) struct Meter<'a> {
    clock: &'a dyn Clock,
    deadline_ns: Option<u64>,
    /// Counts of the scanner's cells at which the budget ends, and at which the clock is looked at next.
    cells_end: u64,
    look_cells: u64,
    next_look: u64,
    rows_to_look: u32,
    blocks_read: u64,
}

impl<'a> Meter<'a> {
    /// Starts, when `cells` have been looked at by earlier calls, with what it costs to show the filter a byte.
    pub(super) fn start(budget: &ScanBudget, clock: &'a dyn Clock, cells: u64, filter_cost: usize, trace: &ReadTrace) -> Self {
        let deadline_ns = budget.time_ms.map(|time| clock.monotonic_ns().saturating_add(time.saturating_mul(1_000_000)));
        let look_cells = (LOOK_CELLS / u64::try_from(filter_cost).unwrap_or(LOOK_CELLS).max(1)).max(1);
        Self {
            clock,
            deadline_ns,
            cells_end: cells.saturating_add(budget.cells_examined.max(1)),
            look_cells,
            next_look: cells.saturating_add(look_cells),
            rows_to_look: LOOK_ROWS,
            blocks_read: trace.blocks_read(),
        }
    }

    /// The count of cells at which this wants to be asked again.
    pub(super) fn pause_at(&self) -> u64 {
        if self.deadline_ns.is_some() { self.next_look.min(self.cells_end) } else { self.cells_end }
    }

    /// Whether the call must end, when `cells` have been looked at in all. To be asked after every row, and at a pause.
    pub(super) fn check(&mut self, cells: u64, trace: &ReadTrace) -> Option<StopReason> {
        if cells >= self.cells_end {
            return Some(StopReason::Cells);
        }
        let deadline = self.deadline_ns?;
        self.rows_to_look -= 1;
        if self.rows_to_look > 0 && cells < self.next_look && trace.blocks_read() == self.blocks_read {
            return None;
        }
        self.rows_to_look = LOOK_ROWS;
        self.next_look = cells.saturating_add(self.look_cells);
        self.blocks_read = trace.blocks_read();
        (self.clock.monotonic_ns() >= deadline).then_some(StopReason::Time)
    }
}
