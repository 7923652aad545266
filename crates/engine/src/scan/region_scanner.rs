//! Rows of a region: its stores side by side, filters over whole rows, limits.

use std::sync::Arc;

use halite_types::{Cells, CellsBuilder, Error, ErrorKind, Result, Row, Tier};

use super::budget::{MEMORY_BYTES_MAX, MEMORY_CELLS_MAX, Meter, ScanBatch, ScanBudget, StopReason};
use super::filter::FilterState;
use super::rows::Rows;
use super::store_scanner::{CellSink, RowProgress, RowStop, StoreScanner};
use super::trace::ReadTrace;
use crate::cache::ReadBlocks;
use crate::env::Clock;

/// A scan of one region, ready to run. Rows come in bounded pieces of work: each [`RegionScanner::next_rows`] returns
/// when its [`ScanBudget`] is used up.
///
/// It sees the region as of its read point, whatever is written, flushed or compacted meanwhile: it keeps everything that
/// held the region's cells when it began. After an error it cannot go on.
pub struct RegionScanner {
    rows: Box<dyn Rows>,
    stores: Vec<StoreScanner>,
    blocks: Vec<Arc<ReadBlocks>>,
    filter: Option<FilterState>,
    batch: Option<usize>,
    state: State,
    /// The stores stand anywhere, and have to be put behind `row`.
    is_astray: bool,
    /// The call that is under way is a try, which must not take long even if rows are not to be cut.
    is_tried: bool,
    /// The row being read, or the last one; its memory is used again.
    row: Vec<u8>,
    /// Whether a piece of `row` has been returned.
    is_row_returned: bool,
    /// Bytes and pieces of the last answer: the next one is likely to be like it.
    last_answer: (usize, usize),
    read_point: u64,
    clock: Arc<dyn Clock>,
    trace: Arc<ReadTrace>,
    on_finish: Box<dyn FnMut(&ReadTrace) + Send>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first row or behind `row`.
    BetweenRows,
    /// In the middle of `row`; the store being read.
    InRow(usize),
    Ended(StopReason),
}

/// What a [`RegionScanner`] is made of.
pub(crate) struct ScanPlan {
    /// Which rows, and how to come to the next one.
    pub(crate) rows: Box<dyn Rows>,
    /// The stores that are read, in family order; made row by row by some kinds of `rows`.
    pub(crate) stores: Vec<StoreScanner>,
    /// What the stores read their files through.
    pub(crate) blocks: Vec<Arc<ReadBlocks>>,
    pub(crate) filter: Option<FilterState>,
    pub(crate) batch: Option<usize>,
    pub(crate) read_point: u64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) trace: Arc<ReadTrace>,
    /// Told the trace when the scanner is dropped.
    pub(crate) on_finish: Box<dyn FnMut(&ReadTrace) + Send>,
}

/// What one call has gathered.
#[derive(Default)]
struct Answer {
    out: CellsBuilder,
    pieces: Vec<Piece>,
    /// Cells and bytes up to the end of the last piece.
    cells: usize,
    bytes: usize,
    rows_ended: usize,
    rows_examined: u64,
    rows_filtered: u64,
}

/// The end of a row, or of a piece of one, in the answer.
struct Piece {
    bytes_end: usize,
    cells: usize,
    goes_on: bool,
}

impl RegionScanner {
    pub(crate) fn new(plan: ScanPlan) -> Result<Self> {
        if plan.batch.is_some() && plan.filter.as_ref().is_some_and(FilterState::has_filter_row) {
            let text = "a batch limit cuts rows, and this filter decides over whole rows; leave one of them out";
            return Err(Error::new(ErrorKind::IncompatibleFilter, text));
        }
        Ok(Self {
            rows: plan.rows,
            stores: plan.stores,
            blocks: plan.blocks,
            filter: plan.filter,
            batch: plan.batch,
            state: State::BetweenRows,
            is_astray: false,
            is_tried: false,
            row: Vec::new(),
            is_row_returned: false,
            last_answer: (0, 0),
            read_point: plan.read_point,
            clock: plan.clock,
            trace: plan.trace,
            on_finish: plan.on_finish,
        })
    }

    /// What the scan has touched so far.
    pub fn trace(&self) -> &ReadTrace {
        &self.trace
    }

    /// Says whether it is to be measured how long blocks take to come from the disk ([`ReadTrace::block_read_ns`]), from
    /// the next call on; it is not unless somebody says so.
    pub fn time_block_reads(&self, is_wanted: bool) {
        self.blocks.iter().filter_map(|blocks| blocks.timer.as_ref()).for_each(|timer| timer.set(is_wanted));
    }

    /// Memory that is kept for this scanner: of blocks of store files, and of memstores that have been flushed since it began, its share
    /// among the scanners that keep them. It changes with every call, and with every flush. Not counted are the open files.
    pub fn held_bytes(&self) -> usize {
        self.stores.iter().map(StoreScanner::held_bytes).sum::<usize>() + self.row.capacity()
    }

    /// The sequence id up to which it sees writes; for [`ReadAt::Point`](super::ReadAt::Point) when the scan has to be
    /// begun anew.
    pub fn read_point(&self) -> u64 {
        self.read_point
    }

    /// The last row that was looked at, returned or not; `None` before the first (HBase's cursor).
    pub fn last_row(&self) -> Option<&[u8]> {
        (!self.row.is_empty()).then_some(&self.row)
    }

    /// The next rows if memory has everything they take, for a thread that must not wait. If not, or if that cannot be
    /// known without much work (in the middle of a row, in a row that uses up the budget, with a filter), `None`: the scan
    /// is where it was, its trace with it, and [`RegionScanner::next_rows`] goes on. It stops with [`StopReason::Cells`] when the rows have
    /// [`MEMORY_BYTES_MAX`] bytes, whatever the budget allows.
    ///
    /// # Errors
    /// Damage; the scan cannot go on then.
    pub fn try_rows(&mut self, budget: ScanBudget) -> Result<Option<ScanBatch>> {
        if self.filter.is_some() || matches!(self.state, State::InRow(_)) || !self.rows.can_go_back() {
            return Ok(None);
        }
        let before = (self.state, self.row.clone(), self.is_row_returned);
        let trace_before = self.trace.copy();
        self.blocks.iter().for_each(|blocks| blocks.tier.set(Tier::Memory));
        self.is_tried = true;
        let result = self.next_rows(budget);
        self.is_tried = false;
        self.blocks.iter().for_each(|blocks| blocks.tier.set(Tier::Disk));
        match result {
            Ok(batch) if !(batch.in_row && batch.stopped == StopReason::Cells) => return Ok(Some(batch)),
            Err(error) if error.kind() != ErrorKind::NeedsIo => return Err(error),
            Ok(_) | Err(_) => {}
        }
        (self.state, self.row, self.is_row_returned) = before;
        self.trace.go_back(&trace_before);
        self.is_astray = true;
        Ok(None)
    }

    /// The next rows.
    ///
    /// # Errors
    /// Damage or a failed read; `RowTooBig` for a row that may not be cut; the scan cannot go on then.
    pub fn next_rows(&mut self, budget: ScanBudget) -> Result<ScanBatch> {
        let clock = Arc::clone(&self.clock);
        let (cells_before, memstore_before) = (self.cells_examined(), self.memstore_bytes());
        let filter_cost = self.filter.as_ref().map_or(1, FilterState::cost);
        let mut meter = Meter::start(&budget, &*clock, cells_before, filter_cost, &self.trace);
        let cut_rows = budget.cut_rows && !self.filter.as_ref().is_some_and(FilterState::has_filter_row);
        let mut answer = Answer::with_room(self.last_answer);
        let mut stopped = None;
        if std::mem::take(&mut self.is_astray) {
            self.rows.go_behind(&self.row, &mut self.stores)?;
        }
        while stopped.is_none() {
            stopped = match self.state {
                State::Ended(reason) => Some(reason),
                _ if answer.pieces.len() >= budget.results => Some(StopReason::Results),
                _ if answer.rows_ended >= budget.rows => Some(StopReason::Rows),
                _ if CellSink::bytes(&answer.out) >= budget.bytes.max(1) => Some(StopReason::Bytes),
                _ if self.is_tried && CellSink::bytes(&answer.out) >= MEMORY_BYTES_MAX => Some(StopReason::Cells),
                _ => self.next_piece(&mut answer, &budget, cut_rows, &mut meter)?,
            };
        }
        // As in HBase, where rows may be cut nobody looks behind the cell that reached the limit of bytes: the client learns
        // that it was the last one from the next call.
        let looks_ahead = !(cut_rows && stopped == Some(StopReason::Bytes));
        if let Some(end) = self.is_at_end().filter(|_| looks_ahead) {
            self.state = State::Ended(end);
            stopped = Some(end);
        }
        self.trace.add_rows_examined(answer.rows_examined);
        self.trace.add_rows_filtered(answer.rows_filtered);
        self.trace.add_cells_examined(self.cells_examined() - cells_before);
        self.trace.add_memstore_bytes_read(self.memstore_bytes().saturating_sub(memstore_before));
        Ok(self.finish(answer, stopped.unwrap_or(StopReason::RegionEnd)))
    }

    fn finish(&mut self, mut answer: Answer, stopped: StopReason) -> ScanBatch {
        self.last_answer = (answer.out.bytes().len(), answer.pieces.len());
        self.trace.add_rows_returned(answer.rows_ended as u64);
        self.trace.add_cells_returned(answer.out.len() as u64);
        self.trace.add_bytes_returned(answer.out.bytes().len() as u64);
        // Whoever keeps it for a client that asks again reckons with its bytes.
        answer.out.shrink();
        let cells = answer.out.finish_pieces(answer.pieces.iter().map(|piece| (piece.bytes_end, piece.cells)));
        let row = |(cells, piece): (Cells, &Piece)| if piece.goes_on { Row::piece(cells) } else { Row::new(cells) };
        let rows = cells.into_iter().zip(&answer.pieces).map(row).collect();
        let in_row = matches!(self.state, State::InRow(_)) && self.is_row_returned;
        ScanBatch { rows, rows_ended: answer.rows_ended, in_row, stopped }
    }

    /// Whether nothing can follow, as far as that is known without reading on.
    fn is_at_end(&self) -> Option<StopReason> {
        if self.state != State::BetweenRows || self.row.is_empty() {
            return None;
        }
        if self.filter.as_ref().is_some_and(FilterState::filter_all_remaining) {
            return Some(StopReason::FilterEnd);
        }
        self.rows.is_last(&self.row, &self.stores).then_some(StopReason::RegionEnd)
    }

    fn cells_examined(&self) -> u64 {
        self.rows.cells_examined() + self.stores.iter().map(|store| store.cells_examined).sum::<u64>()
    }

    fn memstore_bytes(&self) -> u64 {
        self.stores.iter().map(StoreScanner::memstore_bytes).sum()
    }

    /// Appends the next row or piece of one, or nothing where a row was looked at and left out.
    fn next_piece(&mut self, answer: &mut Answer, budget: &ScanBudget, cut_rows: bool, meter: &mut Meter<'_>) -> Result<Option<StopReason>> {
        let mut store = match self.state {
            State::InRow(store) => {
                self.stores[store].start_piece();
                store
            }
            State::Ended(reason) => return Ok(Some(reason)),
            State::BetweenRows => {
                if let Some(end) = self.find_row()? {
                    return Ok(Some(end));
                }
                if !self.start_row(answer)? {
                    return Ok(meter.check(self.cells_examined(), &self.trace));
                }
                0
            }
        };
        let full_at = self.batch.map_or(usize::MAX, |batch| answer.cells.saturating_add(batch));
        while store < self.stores.len() {
            let stop = self.row_stop(full_at, store, budget, cut_rows, meter);
            let progress = self.stores[store].read_row(&self.row, &mut answer.out, &mut self.filter, stop)?;
            if progress == RowProgress::Done {
                store += 1;
                continue;
            }
            self.state = State::InRow(store);
            let reason = match () {
                () if progress == RowProgress::TooLarge => Some(StopReason::Cells),
                () if answer.out.len() >= full_at => None,
                () if CellSink::bytes(&answer.out) >= stop.bytes => Some(StopReason::Bytes),
                () => match meter.check(self.cells_examined(), &self.trace) {
                    Some(reason) => Some(reason),
                    None => continue,
                },
            };
            self.is_row_returned |= answer.end_piece(true);
            return Ok(reason);
        }
        self.end_row(answer);
        Ok(meter.check(self.cells_examined(), &self.trace))
    }

    /// Where the reading of a store stops inside the row.
    fn row_stop(&self, full_at: usize, store: usize, budget: &ScanBudget, cut_rows: bool, meter: &Meter<'_>) -> RowStop {
        let left = meter.pause_at().saturating_sub(self.cells_examined()).max(1);
        let examined = self.stores[store].cells_examined.saturating_add(left);
        let max_work_bytes = if self.is_tried { 2 * MEMORY_BYTES_MAX } else { usize::MAX };
        if cut_rows {
            RowStop { cells: full_at, bytes: budget.bytes.max(1), examined, max_work_bytes }
        } else if self.is_tried {
            // The row is wanted whole; but not by a thread that others wait for if it is a long one.
            RowStop { cells: full_at, examined: examined.saturating_add(MEMORY_CELLS_MAX), max_work_bytes, ..RowStop::NEVER }
        } else {
            RowStop { cells: full_at, ..RowStop::NEVER }
        }
    }

    /// The row is read to its end: the filter looks at the whole of it.
    fn end_row(&mut self, answer: &mut Answer) {
        self.state = State::BetweenRows;
        if let Some(filter) = &mut self.filter {
            filter_finished_row(filter, &mut answer.out, (answer.cells, answer.bytes));
            // What has had enough of this row may want the next one.
            filter.reset();
        }
        if !answer.end_piece(false) {
            if !self.is_row_returned {
                // As HBase counts: a row of which nothing is left, by a filter or by deletes.
                answer.rows_filtered += 1;
                return;
            }
            // What came last was the row's last piece after all.
            if let Some(piece) = answer.pieces.last_mut() {
                piece.goes_on = false;
            }
        }
        answer.rows_ended += 1;
    }

    /// Prepares filter and stores for `row`; false if the filter leaves the row out by its key.
    fn start_row(&mut self, answer: &mut Answer) -> Result<bool> {
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

    /// Finds the next row and positions the stores at or before its cells; or says why there is none.
    fn find_row(&mut self) -> Result<Option<StopReason>> {
        let end = if self.filter.as_ref().is_some_and(FilterState::filter_all_remaining) {
            StopReason::FilterEnd
        } else if self.rows.next_row(&mut self.row, &mut self.stores)? {
            return Ok(None);
        } else {
            StopReason::RegionEnd
        };
        self.state = State::Ended(end);
        Ok(Some(end))
    }
}

impl Answer {
    /// An empty one with room for so many bytes and pieces.
    fn with_room((bytes, pieces): (usize, usize)) -> Self {
        Self { out: CellsBuilder::with_capacity(bytes), pieces: Vec::with_capacity(pieces), ..Self::default() }
    }

    /// Ends a row or piece at the end of what was appended; false if that is nothing.
    fn end_piece(&mut self, goes_on: bool) -> bool {
        if self.out.len() == self.cells {
            return false;
        }
        let (cells, bytes_end) = (self.out.len() - self.cells, self.out.bytes().len());
        self.pieces.push(Piece { bytes_end, cells, goes_on });
        (self.cells, self.bytes) = (self.out.len(), bytes_end);
        true
    }
}

/// What filters that look at whole rows do to a row whose cells stand in `out` behind the first `start.0` cells, which
/// end at byte `start.1`.
pub(crate) fn filter_finished_row(filter: &mut FilterState, out: &mut CellsBuilder, start: (usize, usize)) {
    if filter.drops_cells() && out.len() > start.0 {
        let mut kept = CellsBuilder::default();
        out.iter().skip(start.0).filter(|cell| filter.keep_cell(*cell)).for_each(|cell| kept.push(cell));
        out.truncate(start.0, start.1);
        kept.iter().for_each(|cell| out.push(cell));
    }
    if out.len() > start.0 && filter.filter_row() {
        out.truncate(start.0, start.1);
    }
}

impl Drop for RegionScanner {
    fn drop(&mut self) {
        (self.on_finish)(&self.trace);
    }
}
