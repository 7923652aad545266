//! Scanner over the rows of a region: merges its stores, filters whole rows and applies limits.

use std::sync::Arc;

use halite_types::cell::CellIter;
use halite_types::{Cells, CellsBuilder, Error, ErrorKind, ReadTier, Result, Row};

use super::filter::FilterState;
use super::joined_stores::JoinedStores;
use super::limits::{
    LimitTracker, MAX_MEMORY_BYTES, MAX_MEMORY_CELLS, ScanBatch, ScanLimits, StopReason,
};
use super::rows::RowCursor;
use super::stats::ReadStats;
use super::store_scanner::{CellSink, RowProgress, RowStop, StoreScanner};
use crate::block_cache::BlockReadOptions;
use crate::env::Clock;

/// Receives the statistics so far, the newest rows and the duration in nanoseconds after each call,
/// and the statistics when the scanner is dropped.
pub(crate) type ReportRead = Box<dyn FnMut(&ReadStats, &[Row], Option<u64>) + Send>;

/// Scan of one region, ready to run. Work is bounded: each [`RegionScanner::next_rows`] returns
/// when its [`ScanLimits`] are used up.
///
/// It sees the region as of its read point, regardless of concurrent writes, flushes and
/// compactions: it holds all sources of the region's cells from its start. After an error it cannot
/// continue.
pub struct RegionScanner {
    row_cursor: Box<dyn RowCursor>,
    stores: Vec<StoreScanner>,
    /// Stores that do not decide on rows; empty without a filter that allows it.
    joined: JoinedStores,
    blocks: Vec<Arc<BlockReadOptions>>,
    filter: Option<FilterState>,
    batch: Option<usize>,
    state: ScanState,
    /// `true` if the stores are at any position and have to be moved past `row`.
    needs_reseek: bool,
    /// `true` if the current call is a memory-only attempt, which must be short even if rows may
    /// not be split.
    is_tried: bool,
    /// Current row, or the last one; its memory is reused.
    row: Vec<u8>,
    /// `true` if a part of `row` has been returned.
    is_row_returned: bool,
    /// Bytes and parts of the last result, as an estimate for the next one.
    last_batch_size: (usize, usize),
    read_point: u64,
    clock: Arc<dyn Clock>,
    stats: Arc<ReadStats>,
    report: ReportRead,
    /// Monotonic time at the beginning of the newest call; `None` if its calls are not timed.
    called_ns: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Before the first row or after `row`.
    BetweenRows,
    /// Inside `row`, with the index of the current store.
    InRow(usize),
    Ended(StopReason),
}

/// Parts of a [`RegionScanner`].
pub(crate) struct ScanPlan {
    /// Cursor over the selected rows.
    pub(crate) row_cursor: Box<dyn RowCursor>,
    /// Stores to read, in family order; some kinds of `row_cursor` create them row by row.
    pub(crate) stores: Vec<StoreScanner>,
    /// Stores to read only for the rows that the filter includes, in family order. The filter must
    /// decide on whole rows, and the scan be forward.
    pub(crate) joined: Vec<StoreScanner>,
    /// Access of the stores to the blocks of their files.
    pub(crate) blocks: Vec<Arc<BlockReadOptions>>,
    pub(crate) filter: Option<FilterState>,
    pub(crate) batch: Option<usize>,
    pub(crate) read_point: u64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stats: Arc<ReadStats>,
    pub(crate) report: ReportRead,
    /// `true` if the durations of the calls are reported.
    pub(crate) is_timed: bool,
}

/// Accumulated result of one call.
#[derive(Default)]
struct BatchBuilder {
    out: CellsBuilder,
    partial_rows: Vec<PartialRow>,
    /// Cells and bytes up to the end of the last part.
    cells: usize,
    bytes: usize,
    rows_ended: usize,
    rows_examined: u64,
    rows_filtered: u64,
}

/// End of a row or partial row in the result.
struct PartialRow {
    bytes_end: usize,
    cells: usize,
    continues: bool,
}

impl RegionScanner {
    pub(crate) fn new(plan: ScanPlan) -> Result<Self> {
        if plan.batch.is_some() && plan.filter.as_ref().is_some_and(FilterState::has_filter_row) {
            let text = "a batch limit cuts rows, and this filter decides over whole rows; leave \
                        one of them out";
            return Err(Error::new(ErrorKind::IncompatibleFilter, text));
        }
        Ok(Self {
            row_cursor: plan.row_cursor,
            stores: plan.stores,
            joined: JoinedStores::new(plan.joined),
            blocks: plan.blocks,
            filter: plan.filter,
            batch: plan.batch,
            state: ScanState::BetweenRows,
            needs_reseek: false,
            is_tried: false,
            row: Vec::new(),
            is_row_returned: false,
            last_batch_size: (0, 0),
            read_point: plan.read_point,
            clock: plan.clock,
            stats: plan.stats,
            report: plan.report,
            called_ns: plan.is_timed.then_some(0),
        })
    }

    /// Returns the statistics of the scan so far.
    pub fn stats(&self) -> &ReadStats {
        &self.stats
    }

    /// Enables or disables the measurement of the time to read blocks from the disk
    /// ([`ReadStats::block_read_ns`]), from the next call on. Default: disabled.
    pub fn time_block_reads(&self, is_wanted: bool) {
        self.blocks
            .iter()
            .filter_map(|blocks| blocks.timer.as_ref())
            .for_each(|timer| timer.set(is_wanted));
    }

    /// Returns the bytes of memory held for this scanner. They include blocks of store files, and
    /// its share of memstores that have been flushed since it began. The value changes with every
    /// call and every flush. Open files are not counted.
    pub fn held_bytes(&self) -> usize {
        self.all_stores().map(StoreScanner::held_bytes).sum::<usize>() + self.row.capacity()
    }

    /// Returns the sequence id up to which it sees writes, for
    /// [`ReadAt::Point`](super::ReadAt::Point) when the scan has to be restarted.
    pub fn read_point(&self) -> u64 {
        self.read_point
    }

    /// Returns the last examined row, returned or not; `None` before the first (HBase's cursor).
    pub fn last_row(&self) -> Option<&[u8]> {
        (!self.row.is_empty()).then_some(&self.row)
    }

    /// Returns the next rows if memory contains everything they need, for a thread that must not
    /// block. Otherwise, or if that is unknown without much work, returns `None`. This is the case
    /// inside a row, in a row that uses up the budget, and with a filter. The scan and its
    /// statistics are then unchanged, and [`RegionScanner::next_rows`] continues. It stops with
    /// [`StopReason::Cells`] when the rows have [`MAX_MEMORY_BYTES`] bytes, whatever the budget
    /// allows.
    ///
    /// # Errors
    /// Damage; the scan cannot continue in that case.
    pub fn try_rows(&mut self, budget: ScanLimits) -> Result<Option<ScanBatch>> {
        if self.filter.is_some()
            || matches!(self.state, ScanState::InRow(_))
            || !self.row_cursor.can_reseek()
        {
            return Ok(None);
        }
        let before = (self.state, self.row.clone(), self.is_row_returned);
        let trace_before = self.stats.copy();
        self.blocks.iter().for_each(|blocks| blocks.tier.set(ReadTier::Memory));
        self.is_tried = true;
        let result = self.next_rows(budget);
        self.is_tried = false;
        self.blocks.iter().for_each(|blocks| blocks.tier.set(ReadTier::Disk));
        match result {
            Ok(batch) if !(batch.in_row && batch.stopped == StopReason::Cells) => {
                self.report_call(&batch.rows);
                return Ok(Some(batch));
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            Ok(_) | Err(_) => {}
        }
        (self.state, self.row, self.is_row_returned) = before;
        self.stats.go_back(&trace_before);
        self.needs_reseek = true;
        Ok(None)
    }

    /// Returns the next rows.
    ///
    /// # Errors
    /// Damage or a failed read; `RowTooBig` for a row that may not be split. The scan cannot
    /// continue in that case.
    pub fn next_rows(&mut self, budget: ScanLimits) -> Result<ScanBatch> {
        let mut answer = BatchBuilder::with_capacity(self.last_batch_size);
        let stopped = self.read(&budget, &mut answer, |_, _| ())?;
        let batch = self.finish(answer, stopped);
        // An attempt may be undone.
        if !self.is_tried {
            self.report_call(&batch.rows);
        }
        Ok(batch)
    }

    /// Calls `each` with the key and the cells of each of the next rows, which are not kept. Rows
    /// are whole, so the scan must have no batch limit.
    ///
    /// # Errors
    /// As [`RegionScanner::next_rows`].
    pub fn visit_rows(
        &mut self,
        budget: ScanLimits,
        mut each: impl FnMut(&[u8], CellIter<'_>),
    ) -> Result<StopReason> {
        assert!(self.batch.is_none(), "a batch limit cuts rows");
        let budget = ScanLimits { cut_rows: false, ..budget };
        let mut answer = BatchBuilder::default();
        let stopped = self.read(&budget, &mut answer, |row, answer| {
            if answer.cells > 0 {
                each(row, answer.out.iter());
                answer.clear();
            }
        })?;
        self.report_call(&[]);
        Ok(stopped)
    }

    /// Reads the next rows into `answer`. After each row, part of one, or excluded row `each` may
    /// take out what is in it.
    fn read(
        &mut self,
        budget: &ScanLimits,
        answer: &mut BatchBuilder,
        mut each: impl FnMut(&[u8], &mut BatchBuilder),
    ) -> Result<StopReason> {
        let clock = Arc::clone(&self.clock);
        self.called_ns = self.called_ns.map(|_| clock.monotonic_ns());
        let (cells_before, memstore_before) = (self.cells_examined(), self.memstore_bytes());
        let filter_cost = self.filter.as_ref().map_or(1, FilterState::cost);
        let mut meter =
            LimitTracker::start(budget, &*clock, cells_before, filter_cost, &self.stats);
        let cut_rows =
            budget.cut_rows && !self.filter.as_ref().is_some_and(FilterState::has_filter_row);
        let mut stopped = None;
        if std::mem::take(&mut self.needs_reseek) {
            self.row_cursor.reseek_after(&self.row, &mut self.stores)?;
        }
        while stopped.is_none() {
            stopped = match self.state {
                ScanState::Ended(reason) => Some(reason),
                _ if answer.partial_rows.len() >= budget.results => Some(StopReason::Results),
                _ if answer.rows_ended >= budget.rows => Some(StopReason::Rows),
                _ if CellSink::bytes(&answer.out) >= budget.bytes.max(1) => Some(StopReason::Bytes),
                _ if self.is_tried && CellSink::bytes(&answer.out) >= MAX_MEMORY_BYTES => {
                    Some(StopReason::Cells)
                }
                _ => self.next_partial_row(answer, budget, cut_rows, &mut meter)?,
            };
            each(&self.row, answer);
        }
        assert!(
            answer.rows_ended <= budget.rows && answer.partial_rows.len() <= budget.results,
            "a call returns no more rows than its limits allow"
        );
        // As in HBase, if rows may be split the scanner does not look past the cell that reached
        // the limit of bytes. The next call reports to the client that it was the last one.
        let looks_ahead = !(cut_rows && stopped == Some(StopReason::Bytes));
        if let Some(end) = self.is_at_end().filter(|_| looks_ahead) {
            self.state = ScanState::Ended(end);
            stopped = Some(end);
        }
        self.stats.add_rows_examined(answer.rows_examined);
        self.stats.add_rows_filtered(answer.rows_filtered);
        self.stats.add_cells_examined(self.cells_examined() - cells_before);
        self.stats.add_memstore_bytes_read(self.memstore_bytes().saturating_sub(memstore_before));
        Ok(stopped.unwrap_or(StopReason::RegionEnd))
    }

    fn report_call(&mut self, rows: &[Row]) {
        let elapsed = self.called_ns.map(|called| self.clock.monotonic_ns().saturating_sub(called));
        (self.report)(&self.stats, rows, elapsed);
    }

    fn finish(&mut self, mut answer: BatchBuilder, stopped: StopReason) -> ScanBatch {
        assert_eq!(answer.cells, answer.out.len(), "each returned cell belongs to a row");
        assert_eq!(answer.bytes, answer.out.bytes().len(), "the last row ends with the result");
        self.last_batch_size = (answer.out.bytes().len(), answer.partial_rows.len());
        self.stats.add_rows_returned(answer.rows_ended as u64);
        self.stats.add_cells_returned(answer.out.len() as u64);
        self.stats.add_bytes_returned(answer.out.bytes().len() as u64);
        // A caller that retains it for a repeated client request accounts for its bytes.
        answer.out.shrink();
        let cells = answer
            .out
            .finish_split(answer.partial_rows.iter().map(|piece| (piece.bytes_end, piece.cells)));
        let row = |(cells, piece): (Cells, &PartialRow)| {
            if piece.continues { Row::partial(cells) } else { Row::new(cells) }
        };
        let rows = cells.into_iter().zip(&answer.partial_rows).map(row).collect();
        let in_row = matches!(self.state, ScanState::InRow(_)) && self.is_row_returned;
        ScanBatch { rows, rows_ended: answer.rows_ended, in_row, stopped }
    }

    /// Returns the reason if no row can follow, as far as that is known without reading.
    fn is_at_end(&self) -> Option<StopReason> {
        if self.state != ScanState::BetweenRows || self.row.is_empty() {
            return None;
        }
        if self.filter.as_ref().is_some_and(FilterState::filter_all_remaining) {
            return Some(StopReason::FilterEnd);
        }
        self.row_cursor.is_last(&self.row, &self.stores).then_some(StopReason::RegionEnd)
    }

    fn cells_examined(&self) -> u64 {
        self.row_cursor.cells_examined()
            + self.all_stores().map(|store| store.cells_examined).sum::<u64>()
    }

    fn all_stores(&self) -> impl Iterator<Item = &StoreScanner> {
        self.stores.iter().chain(self.joined.iter())
    }

    fn memstore_bytes(&self) -> u64 {
        self.all_stores().map(StoreScanner::memstore_bytes).sum()
    }

    /// Appends the next row or partial row, or nothing if an examined row is excluded.
    fn next_partial_row(
        &mut self,
        answer: &mut BatchBuilder,
        budget: &ScanLimits,
        cut_rows: bool,
        meter: &mut LimitTracker<'_>,
    ) -> Result<Option<StopReason>> {
        let mut store = match self.state {
            ScanState::InRow(store) => {
                self.stores[store].start_partial_row();
                store
            }
            ScanState::Ended(reason) => return Ok(Some(reason)),
            ScanState::BetweenRows => {
                if let Some(end) = self.find_row()? {
                    return Ok(Some(end));
                }
                if !self.start_row(answer)? {
                    return Ok(meter.check(self.cells_examined(), &self.stats));
                }
                0
            }
        };
        let full_at = self.batch.map_or(usize::MAX, |batch| answer.cells.saturating_add(batch));
        while store < self.stores.len() {
            let stop = self.row_stop(full_at, store, budget, cut_rows, meter);
            let progress =
                self.stores[store].read_row(&self.row, &mut answer.out, &mut self.filter, stop)?;
            if progress == RowProgress::Done {
                store += 1;
                continue;
            }
            self.state = ScanState::InRow(store);
            let reason = match () {
                () if progress == RowProgress::TooLarge => Some(StopReason::Cells),
                () if answer.out.len() >= full_at => None,
                () if CellSink::bytes(&answer.out) >= stop.bytes => Some(StopReason::Bytes),
                () => match meter.check(self.cells_examined(), &self.stats) {
                    Some(reason) => Some(reason),
                    None => continue,
                },
            };
            self.is_row_returned |= answer.end_partial_row(true);
            return Ok(reason);
        }
        self.end_row(answer)?;
        Ok(meter.check(self.cells_examined(), &self.stats))
    }

    /// Returns the limits at which the reading of a store stops inside the row.
    fn row_stop(
        &self,
        full_at: usize,
        store: usize,
        budget: &ScanLimits,
        cut_rows: bool,
        meter: &LimitTracker<'_>,
    ) -> RowStop {
        let left = meter.pause_at().saturating_sub(self.cells_examined()).max(1);
        let examined = self.stores[store].cells_examined.saturating_add(left);
        let max_work_bytes = if self.is_tried { 2 * MAX_MEMORY_BYTES } else { usize::MAX };
        if cut_rows {
            RowStop { cells: full_at, bytes: budget.bytes.max(1), examined, max_work_bytes }
        } else if self.is_tried {
            // The row must be whole, but a thread that others wait for must not read a long one.
            RowStop {
                cells: full_at,
                examined: examined.saturating_add(MAX_MEMORY_CELLS),
                max_work_bytes,
                ..RowStop::NEVER
            }
        } else {
            RowStop { cells: full_at, ..RowStop::NEVER }
        }
    }

    /// Ends the row after all its cells are read: the filter examines the whole of it.
    fn end_row(&mut self, answer: &mut BatchBuilder) -> Result<()> {
        self.state = ScanState::BetweenRows;
        let start = (answer.cells, answer.bytes);
        if let Some(filter) = &mut self.filter {
            if self.joined.is_empty() {
                filter_finished_row(filter, &mut answer.out, start);
            } else if includes_row(filter, &mut answer.out, start) {
                self.joined.add_row(&self.row, &mut answer.out, start, &mut self.filter)?;
            }
        }
        // A filter that needs no more of this row may need the next one.
        self.filter.iter_mut().for_each(FilterState::reset);
        if !answer.end_partial_row(false) {
            if !self.is_row_returned {
                // As HBase counts: a row without remaining cells, due to a filter or to deletes.
                answer.rows_filtered += 1;
                return Ok(());
            }
            // The last returned part was the row's last one after all.
            if let Some(piece) = answer.partial_rows.last_mut() {
                piece.continues = false;
            }
        }
        answer.rows_ended += 1;
        Ok(())
    }

    /// Prepares filter and stores for `row`. Returns `false` if the filter excludes the row by its
    /// key.
    fn start_row(&mut self, answer: &mut BatchBuilder) -> Result<bool> {
        self.is_row_returned = false;
        answer.rows_examined += 1;
        if let Some(filter) = &mut self.filter {
            filter.reset();
            if filter.filter_row_key(&self.row) {
                answer.rows_filtered += 1;
                for store in &mut self.stores {
                    store.skip_row(&self.row)?;
                }
                return Ok(false);
            }
        }
        self.stores.iter_mut().for_each(StoreScanner::start_row);
        Ok(true)
    }

    /// Finds the next row and positions the stores at or before its cells. Returns the reason if
    /// there is none.
    fn find_row(&mut self) -> Result<Option<StopReason>> {
        let end = if self.filter.as_ref().is_some_and(FilterState::filter_all_remaining) {
            StopReason::FilterEnd
        } else if self.row_cursor.next_row(&mut self.row, &mut self.stores)? {
            return Ok(None);
        } else {
            StopReason::RegionEnd
        };
        self.state = ScanState::Ended(end);
        Ok(Some(end))
    }
}

impl BatchBuilder {
    /// Returns an empty builder with capacity for this many bytes and parts.
    fn with_capacity((bytes, pieces): (usize, usize)) -> Self {
        Self {
            out: CellsBuilder::with_capacity(bytes),
            partial_rows: Vec::with_capacity(pieces),
            ..Self::default()
        }
    }

    /// Removes the rows so far; their counts stay.
    fn clear(&mut self) {
        self.out.truncate(0, 0);
        self.partial_rows.clear();
        (self.cells, self.bytes) = (0, 0);
    }

    /// Ends a row or partial row at the end of the appended cells. Returns `false` if there are
    /// none.
    fn end_partial_row(&mut self, goes_on: bool) -> bool {
        if self.out.len() == self.cells {
            return false;
        }
        let (cells, bytes_end) = (self.out.len() - self.cells, self.out.bytes().len());
        self.partial_rows.push(PartialRow { bytes_end, cells, continues: goes_on });
        (self.cells, self.bytes) = (self.out.len(), bytes_end);
        true
    }
}

/// Applies filters of whole rows to a row. Its cells are in `out` after the first `start.0` cells,
/// which end at byte `start.1`.
pub(crate) fn filter_finished_row(
    filter: &mut FilterState,
    out: &mut CellsBuilder,
    start: (usize, usize),
) {
    drop_cells(filter, out, start);
    if out.len() > start.0 && filter.filter_row() {
        out.truncate(start.0, start.1);
    }
}

/// As [`filter_finished_row`] for the cells of the families that decide on the row. Returns `true`
/// if it is included, even without any of these cells: the filter may drop the column that it
/// tests.
fn includes_row(filter: &mut FilterState, out: &mut CellsBuilder, start: (usize, usize)) -> bool {
    if out.len() == start.0 {
        return false;
    }
    drop_cells(filter, out, start);
    let is_excluded = filter.filter_row();
    if is_excluded {
        out.truncate(start.0, start.1);
    }
    !is_excluded
}

fn drop_cells(filter: &mut FilterState, out: &mut CellsBuilder, start: (usize, usize)) {
    if filter.drops_cells() && out.len() > start.0 {
        let mut kept = CellsBuilder::default();
        out.iter()
            .skip(start.0)
            .filter(|cell| filter.keep_cell(*cell))
            .for_each(|cell| kept.push(cell));
        out.truncate(start.0, start.1);
        kept.iter().for_each(|cell| out.push(cell));
    }
}

impl Drop for RegionScanner {
    fn drop(&mut self) {
        (self.report)(&self.stats, &[], None);
    }
}
