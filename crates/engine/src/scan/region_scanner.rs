//! Rows of a region: its stores side by side, filters over whole rows, limits.

use std::ops::Bound;
use std::sync::Arc;

use halite_types::cell::{first_on_row, last_on_row};
use halite_types::{CellsBuilder, Error, Result, Row, RowRange};

use super::filter::FilterState;
use super::store_scanner::{RowProgress, StoreScanner};
use super::trace::ReadTrace;

/// A scan of one region, ready to run. Rows come in bounded pieces of work: each [`RegionScanner::next_rows`] returns
/// when it has the rows, the bytes or has looked at the cells it was allowed.
///
/// It sees the region as it was when the scan began, whatever is written, flushed or compacted meanwhile.
pub struct RegionScanner {
    stores: Vec<StoreScanner>,
    filter: Option<FilterState>,
    range: RowRange,
    reverse: bool,
    batch: Option<usize>,
    state: State,
    /// The row being read; its memory is used again.
    row: Vec<u8>,
    trace: Arc<ReadTrace>,
    on_finish: Box<dyn FnMut(&ReadTrace) + Send>,
}

enum State {
    /// Nothing has been positioned.
    New,
    /// The stores stand at or before the next row.
    BetweenRows,
    /// In the middle of `row`, which is being returned in pieces; the store being read.
    InRow(usize),
    Ended,
}

/// What a [`RegionScanner`] is made of.
pub(crate) struct ScanPlan {
    pub(crate) stores: Vec<StoreScanner>,
    pub(crate) filter: Option<FilterState>,
    pub(crate) range: RowRange,
    pub(crate) reverse: bool,
    pub(crate) batch: Option<usize>,
    pub(crate) trace: Arc<ReadTrace>,
    /// Told the trace when the scanner is dropped.
    pub(crate) on_finish: Box<dyn FnMut(&ReadTrace) + Send>,
}

/// How much one call may return.
#[derive(Clone, Copy, Debug)]
pub struct ScanBudget {
    /// Rows to begin. With a batch limit the row that is being returned in pieces goes on all the same.
    pub rows: usize,
    /// Bytes of encoded cells; the row that passes it is still returned whole.
    pub bytes: usize,
    /// Cells looked at; a call that has found nothing by then returns without rows and goes on at the next.
    pub cells_examined: u64,
}

/// What one call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanBatch {
    /// The rows, or pieces of rows.
    pub rows: Vec<Row>,
    /// How many rows begin in them.
    pub rows_begun: usize,
    /// Whether there may be more of the last row.
    pub in_row: bool,
    /// Whether there may be more.
    pub more: bool,
}

/// The ends of rows in a buffer: byte, number of cells, whether the row goes on.
type Piece = (usize, usize, bool);

impl RegionScanner {
    pub(crate) fn new(plan: ScanPlan) -> Result<Self> {
        if plan.batch.is_some() && plan.filter.as_ref().is_some_and(FilterState::has_filter_row) {
            return Err(Error::invalid("a batch limit cuts rows, and this filter decides over whole rows; leave one of them out"));
        }
        let state = if plan.range.is_empty() { State::Ended } else { State::New };
        Ok(Self {
            stores: plan.stores,
            filter: plan.filter,
            range: plan.range,
            reverse: plan.reverse,
            batch: plan.batch,
            state,
            row: Vec::new(),
            trace: plan.trace,
            on_finish: plan.on_finish,
        })
    }

    /// What the scan has touched so far.
    pub fn trace(&self) -> &ReadTrace {
        &self.trace
    }

    /// The next rows.
    ///
    /// # Errors
    /// Damage or a failed read; the scan cannot go on then.
    pub fn next_rows(&mut self, budget: ScanBudget) -> Result<ScanBatch> {
        let mut out = CellsBuilder::default();
        let mut pieces: Vec<Piece> = Vec::new();
        let before: u64 = self.cells_examined();
        let (mut cells, mut rows_begun) = (0, 0);
        while out.bytes().len() < budget.bytes && self.cells_examined() - before < budget.cells_examined {
            let begins = !self.is_in_row();
            if begins && rows_begun >= budget.rows {
                break;
            }
            let Some(goes_on) = self.next_piece(&mut out)? else { break };
            if out.len() > cells {
                pieces.push((out.bytes().len(), out.len() - cells, goes_on));
                cells = out.len();
                rows_begun += usize::from(begins);
            }
        }
        self.trace.add_cells_examined(self.cells_examined() - before);
        self.trace.add_rows_returned(rows_begun as u64);
        self.trace.add_cells_returned(out.len() as u64);
        self.trace.add_bytes_returned(out.bytes().len() as u64);
        let cells = out.finish_pieces(pieces.iter().map(|&(end, count, _)| (end, count)));
        let rows = cells.into_iter().zip(pieces).map(|(cells, (_, _, goes_on))| if goes_on { Row::piece(cells) } else { Row::new(cells) }).collect();
        Ok(ScanBatch { rows, rows_begun, in_row: self.is_in_row(), more: !matches!(self.state, State::Ended) })
    }

    fn is_in_row(&self) -> bool {
        matches!(self.state, State::InRow(_))
    }

    fn cells_examined(&self) -> u64 {
        self.stores.iter().map(|store| store.cells_examined).sum()
    }

    /// Appends the next row or piece of one; says whether the row goes on, or `None` at the end. A row that was looked
    /// at and left out appends nothing.
    fn next_piece(&mut self, out: &mut CellsBuilder) -> Result<Option<bool>> {
        let first_store = match self.state {
            State::Ended => return Ok(None),
            State::InRow(store) => store,
            State::New | State::BetweenRows => {
                if !self.find_row()? {
                    self.state = State::Ended;
                    return Ok(None);
                }
                if !self.start_row()? {
                    return Ok(Some(false));
                }
                0
            }
        };
        let start = (out.len(), out.bytes().len());
        let full_at = self.batch.map_or(usize::MAX, |batch| start.0.saturating_add(batch));
        for (at, store) in self.stores.iter_mut().enumerate().skip(first_store) {
            if store.read_row(&self.row, out, &mut self.filter, full_at)? == RowProgress::Full {
                self.state = State::InRow(at);
                return Ok(Some(true));
            }
        }
        self.state = State::BetweenRows;
        if let Some(filter) = &mut self.filter {
            filter_finished_row(filter, out, start);
        }
        Ok(Some(false))
    }

    /// Prepares filter and stores for `row`; false if the filter leaves the row out by its key.
    fn start_row(&mut self) -> Result<bool> {
        self.trace.add_rows_examined(1);
        if let Some(filter) = &mut self.filter {
            filter.reset();
            if filter.filter_row_key(&self.row) {
                for store in &mut self.stores {
                    store.skip_row(&self.row)?;
                }
                self.state = State::BetweenRows;
                return Ok(false);
            }
        }
        for store in &mut self.stores {
            store.start_row();
        }
        Ok(true)
    }

    /// Finds the next row of the range in any store and positions the stores at or before its cells.
    fn find_row(&mut self) -> Result<bool> {
        if self.filter.as_ref().is_some_and(FilterState::filter_all_remaining) {
            return Ok(false);
        }
        if self.reverse { self.find_row_backward() } else { self.find_row_forward() }
    }

    fn find_row_forward(&mut self) -> Result<bool> {
        if matches!(self.state, State::New) {
            let start = match &self.range.start {
                Bound::Unbounded => first_on_row(b""),
                Bound::Included(row) => first_on_row(row),
                Bound::Excluded(row) => last_on_row(row),
            };
            for store in &mut self.stores {
                store.seek(&start)?;
            }
        } else {
            // A store that had nothing more to say may still stand in the row that is done.
            for store in &mut self.stores {
                if store.peek().is_some_and(|cell| cell.row() == self.row) {
                    store.skip_row(&self.row)?;
                }
            }
        }
        let next = self.stores.iter().filter_map(StoreScanner::peek).map(|cell| cell.row()).min();
        let Some(row) = next.filter(|row| !self.range.is_past_end(row)) else { return Ok(false) };
        self.row.clear();
        self.row.extend_from_slice(row);
        Ok(true)
    }

    fn find_row_backward(&mut self) -> Result<bool> {
        let bound: Option<Vec<u8>> = match (&self.state, &self.range.end) {
            (State::New, Bound::Unbounded) => None,
            (State::New, Bound::Excluded(row)) => Some(row.to_vec()),
            // Everything before the row that follows `row` directly.
            (State::New, Bound::Included(row)) => Some(halite_types::key::successor_of_row(row)),
            _ => Some(self.row.clone()),
        };
        let mut best: Option<Vec<u8>> = None;
        for store in &mut self.stores {
            if let Some(found) = store.row_before(bound.as_deref())?
                && best.as_ref().is_none_or(|best| *best < found)
            {
                best = Some(found);
            }
        }
        let Some(row) = best.filter(|row| self.range.contains(row)) else { return Ok(false) };
        let start = first_on_row(&row);
        for store in &mut self.stores {
            store.seek(&start)?;
        }
        self.row = row;
        Ok(true)
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
