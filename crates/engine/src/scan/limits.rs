//! Limits of one call of a scanner, the reasons that it stops, and its deadline.

use halite_types::Row;

use super::stats::ReadStats;
use crate::env::Clock;

/// Limits of one call; unlimited by default. Every call advances by at least one row, or by one
/// cell if rows may be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanLimits {
    /// Maximum rows and partial rows to return (HBase's `number_of_rows`).
    pub results: usize,
    /// Maximum rows to finish, including one that the previous call left unfinished (HBase's
    /// `limit_of_rows`).
    pub rows: usize,
    /// Maximum bytes of cells, including their objects in HBase
    /// ([`counted_bytes`](super::counted_bytes)), so that a response to the same limit ends at the
    /// same cell. The cell that reaches the limit, or the row if rows are not split, is still
    /// returned.
    pub bytes: usize,
    /// Maximum cells to examine, returned or not.
    pub cells_examined: u64,
    /// Maximum time in milliseconds. Checked every thousand cells, every few dozen rows and after
    /// reads from the disk.
    pub time_ms: Option<u64>,
    /// `true` if bytes, cells and time may end the call inside a row, at a cell (HBase's partial
    /// results). A filter that decides on whole rows prevents that.
    pub cut_rows: bool,
}

impl Default for ScanLimits {
    fn default() -> Self {
        Self {
            results: usize::MAX,
            rows: usize::MAX,
            bytes: usize::MAX,
            cells_examined: u64::MAX,
            time_ms: None,
            cut_rows: false,
        }
    }
}

/// Maximum cells in one row that a memory-only read examines before it leaves the row to a thread
/// that may block: a fraction of a millisecond.
pub const MAX_MEMORY_CELLS: u64 = 2000;
/// Maximum bytes of cells that a memory-only read copies, or passes to a filter, before it leaves
/// the rest to a thread that may block. A row that begins before this limit may use the same number
/// of bytes again.
pub const MAX_MEMORY_BYTES: usize = 256 << 10;

/// Reason that a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The requested number of rows and partial rows was returned.
    Results,
    /// The requested number of rows was finished.
    Rows,
    /// The limit of bytes.
    Bytes,
    /// The limit of examined cells, or in a memory-only read the limit of bytes of cells.
    Cells,
    /// The limit of time.
    Time,
    /// The scan has reached the end of its range or of the region.
    RegionEnd,
    /// The filter excludes all further rows, here and later. In HBase the whole scan ends if this
    /// occurs without a row. With rows the client continues in the next region, where the filter
    /// restarts.
    FilterEnd,
}

impl StopReason {
    /// Returns `true` if this region has no more rows for the scan.
    pub fn is_end(self) -> bool {
        matches!(self, Self::RegionEnd | Self::FilterEnd)
    }
}

/// Result of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanBatch {
    /// Rows or partial rows. [`Row::is_partial`] returns `true` if the row continues in the next
    /// one, which may be in the next call's result and may turn out not to exist.
    pub rows: Vec<Row>,
    /// Number of finished rows, including one that began in an earlier call.
    pub rows_ended: usize,
    /// `true` if the scan is inside a row of which a part has been returned.
    pub in_row: bool,
    /// Reason that the call ended.
    pub stopped: StopReason,
}

impl ScanBatch {
    /// Returns `true` if there may be more rows in this region.
    pub fn more(&self) -> bool {
        !self.stopped.is_end()
    }
}

/// Cells and rows between two checks of the clock. With a filter, fewer cells, depending on its
/// cost per cell.
const CLOCK_CHECK_INTERVAL_CELLS: u64 = 1000;
const CLOCK_CHECK_INTERVAL_ROWS: u32 = 32;

/// Limits of one call on examined cells and time.
pub(super) struct LimitTracker<'a> {
    clock: &'a dyn Clock,
    deadline_ns: Option<u64>,
    /// Counts of the scanner's cells at which the budget ends, and at which the clock is checked
    /// next.
    cells_end: u64,
    check_interval_cells: u64,
    next_check: u64,
    rows_to_check: u32,
    blocks_read: u64,
}

impl<'a> LimitTracker<'a> {
    /// Starts the limits of a call. `cells` is the number that earlier calls have examined, and
    /// `filter_cost` the filter's cost per byte.
    pub(super) fn start(
        budget: &ScanLimits,
        clock: &'a dyn Clock,
        cells: u64,
        filter_cost: usize,
        trace: &ReadStats,
    ) -> Self {
        let deadline_ns = budget
            .time_ms
            .map(|time| clock.monotonic_ns().saturating_add(time.saturating_mul(1_000_000)));
        let check_interval_cells = (CLOCK_CHECK_INTERVAL_CELLS
            / u64::try_from(filter_cost).unwrap_or(CLOCK_CHECK_INTERVAL_CELLS).max(1))
        .max(1);
        Self {
            clock,
            deadline_ns,
            cells_end: cells.saturating_add(budget.cells_examined.max(1)),
            check_interval_cells,
            next_check: cells.saturating_add(check_interval_cells),
            rows_to_check: CLOCK_CHECK_INTERVAL_ROWS,
            blocks_read: trace.blocks_read(),
        }
    }

    /// Returns the number of cells at which [`LimitTracker::check`] must be called again.
    pub(super) fn pause_at(&self) -> u64 {
        if self.deadline_ns.is_some() {
            self.next_check.min(self.cells_end)
        } else {
            self.cells_end
        }
    }

    /// Returns the reason if the call must end; `cells` is the total number of examined cells. Must
    /// be called after every row, and at a pause.
    pub(super) fn check(&mut self, cells: u64, trace: &ReadStats) -> Option<StopReason> {
        if cells >= self.cells_end {
            return Some(StopReason::Cells);
        }
        debug_assert!(
            self.next_check <= cells.saturating_add(self.check_interval_cells),
            "the number of examined cells only rises"
        );
        let deadline = self.deadline_ns?;
        self.rows_to_check -= 1;
        if self.rows_to_check > 0
            && cells < self.next_check
            && trace.blocks_read() == self.blocks_read
        {
            return None;
        }
        self.rows_to_check = CLOCK_CHECK_INTERVAL_ROWS;
        self.next_check = cells.saturating_add(self.check_interval_cells);
        self.blocks_read = trace.blocks_read();
        (self.clock.monotonic_ns() >= deadline).then_some(StopReason::Time)
    }
}
