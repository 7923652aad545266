//! Scanner of one family of a region, row by row: the merged cells that the matcher includes.

use halite_types::cell::{same_column, write_key};
use halite_types::key::to_string_binary;
use halite_types::{CellRef, CellsBuilder, Error, ErrorKind, LATEST_TIMESTAMP, Result};

use super::filter::FilterState;
use super::matcher::{MatchCode, Matcher};
use super::merged_columns::CellStream;

/// Steps to the next cell before a seek: neighbors are usually near.
const STEPS_BEFORE_SEEK: usize = 6;

/// Bytes of cells between two checks of whether a compaction may continue.
const CONTINUE_CHECK_INTERVAL_BYTES: usize = 1 << 20;

/// Scanner of one store.
pub(crate) struct StoreScanner {
    merge: CellStream,
    matcher: Matcher,
    limits: StoreLimits,
    /// `true` if it reads a single row, so that no seek past it is needed.
    single_row: bool,
    /// Number of cells of the current row that the matcher included.
    row_cells: u32,
    /// Bytes of those that were written to the output since the start of the row or of the current
    /// partial row.
    row_bytes: u64,
    /// `true` if the matcher needs no more cells of the current row.
    row_finished: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    pub(crate) cells_examined: u64,
    /// Bytes passed to a filter where work is limited, multiplied by the cost of comparing them.
    pub(crate) filter_work: usize,
}

/// Limits on cells per row and family, and on the bytes returned together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreLimits {
    pub(crate) limit: Option<u32>,
    pub(crate) offset: u32,
    /// Bytes of a row above which the read fails. As HBase counts them (`StoreScanner`): encoded,
    /// and whole even if a filter shortens them.
    pub(crate) max_row_bytes: Option<u64>,
}

/// Position at which a call to [`StoreScanner::read_row`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowProgress {
    /// The store has no more cells of the row.
    Done,
    /// At a limit; there may be more cells of the row.
    Stopped,
    /// Before a cell that is too large for the allowed work.
    TooLarge,
}

/// Limits at which reading stops inside a row, each in total and not of the row alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowStop {
    /// Cells and bytes in the output.
    pub(crate) cells: usize,
    pub(crate) bytes: usize,
    /// Cells that the store has examined.
    pub(crate) examined: u64,
    /// Bytes in the output that are never exceeded: a cell that does not fit is not read. With a
    /// filter, the bytes of the cells passed to it count as well, multiplied by the cost of
    /// comparing them ([`FilterState::cost`]).
    pub(crate) max_work_bytes: usize,
}

impl RowStop {
    pub(crate) const NEVER: Self = Self {
        cells: usize::MAX,
        bytes: usize::MAX,
        examined: u64::MAX,
        max_work_bytes: usize::MAX,
    };
}

/// Destination of the cells of a row.
pub(crate) trait CellSink {
    fn push(&mut self, cell: CellRef<'_>);
    /// Returns the cells and bytes so far, as [`ScanLimits`](super::ScanLimits) counts them.
    fn cells(&self) -> usize;
    fn bytes(&self) -> usize;
}

/// Returns HBase's error (`RowTooBigException`) with a hint on how to fix it.
#[cold]
fn row_too_big(cell: CellRef<'_>, limits: StoreLimits) -> Error {
    let (row, family) = (to_string_binary(cell.row()), to_string_binary(cell.family()));
    let text = format!(
        "Max row size allowed: {}, but the row is bigger than that: row {row}, family {family}; \
         ask for fewer of its columns, for pieces of it (a batch, partial results), or raise \
         max_row_bytes (hbase.table.max.rowsize)",
        limits.max_row_bytes.unwrap_or_default()
    );
    Error::new(ErrorKind::RowTooBig, text)
}

/// Memory of HBase's object around a cell, in bytes. A `ByteBufferKeyValue` has 32, and is rounded
/// up to 8 without the 4 bytes of length that an encoded cell begins with.
const CELL_OBJECT_BYTES: usize = 32;

/// Returns the size of cells as HBase counts it against the limits of a scan
/// (`PrivateCellUtil.estimatedSizeOfCell`): their encoded bytes and their objects, which do not
/// exist here.
pub fn counted_bytes(cells: usize, encoded_bytes: usize) -> usize {
    encoded_bytes.saturating_add(cells.saturating_mul(CELL_OBJECT_BYTES))
}

impl CellSink for CellsBuilder {
    #[inline]
    fn push(&mut self, cell: CellRef<'_>) {
        self.push(cell);
    }

    #[inline]
    fn cells(&self) -> usize {
        self.len()
    }

    #[inline]
    fn bytes(&self) -> usize {
        counted_bytes(self.len(), self.bytes().len())
    }
}

/// Sink that counts cells and discards them.
#[derive(Default)]
pub(crate) struct CellCount(usize);

impl CellSink for CellCount {
    fn push(&mut self, _: CellRef<'_>) {
        self.0 += 1;
    }

    fn cells(&self) -> usize {
        self.0
    }

    fn bytes(&self) -> usize {
        0
    }
}

impl StoreScanner {
    pub(crate) fn new(
        merge: CellStream,
        matcher: Matcher,
        limits: StoreLimits,
        single_row: bool,
    ) -> Self {
        Self {
            merge,
            matcher,
            limits,
            single_row,
            row_cells: 0,
            row_bytes: 0,
            row_finished: false,
            key: Vec::new(),
            value: Vec::new(),
            cells_examined: 0,
            filter_work: 0,
        }
    }

    /// Returns the next cell of any row, before the matcher has processed it.
    #[inline]
    pub(crate) fn peek(&self) -> Option<CellRef<'_>> {
        self.merge.peek()
    }

    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.merge.seek(key)
    }

    /// Returns the error of a scan that received its next cell out of order.
    #[cold]
    pub(crate) fn out_of_order(&self) -> Error {
        self.merge.out_of_order()
    }

    pub(crate) fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        self.merge.row_before(row)
    }

    /// Starts a new row for the next cells.
    #[inline]
    pub(crate) fn start_row(&mut self) {
        self.matcher.start_row();
        self.row_cells = 0;
        self.row_bytes = 0;
        self.row_finished = false;
    }

    /// Starts another partial row of the same row.
    #[inline]
    pub(crate) fn start_partial_row(&mut self) {
        debug_assert!(!self.row_finished, "a partial row continues an unfinished row");
        self.row_bytes = 0;
    }

    /// Returns the number of files whose deferred seek was performed, and of those whose seek is
    /// still deferred.
    pub(crate) fn lazy_seek_counts(&self) -> (usize, usize) {
        self.merge.lazy_seek_counts()
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.merge.held_bytes() + self.key.capacity() + self.value.capacity()
    }

    /// Returns the bytes of the cells that were passed in memstores.
    pub(crate) fn memstore_bytes(&self) -> u64 {
        self.merge.memstore_bytes()
    }

    /// Appends the cells of `row` to `out` until the row ends or a limit is reached. At
    /// [`RowProgress::Done`] the next cell is one of a later row, unless only a single row is read.
    pub(crate) fn read_row(
        &mut self,
        row: &[u8],
        out: &mut impl CellSink,
        filter: &mut Option<FilterState>,
        stop: RowStop,
    ) -> Result<RowProgress> {
        if !self.row_finished && self.is_at_limit() {
            self.finish_row(row)?;
        }
        let mut is_first = true;
        let cost = filter.as_ref().map_or(0, FilterState::cost);
        while !self.row_finished {
            let cell = self.merge.peek().filter(|cell| cell.row() == row);
            if filter.as_ref().is_some_and(FilterState::filter_all_remaining) {
                self.end_if(cell.is_some() || !is_first);
                return Ok(RowProgress::Done);
            }
            let Some(cell) = cell else { return Ok(RowProgress::Done) };
            is_first = false;
            if out.cells() >= stop.cells
                || out.bytes() >= stop.bytes
                || self.cells_examined >= stop.examined
            {
                return Ok(RowProgress::Stopped);
            }
            if stop.max_work_bytes != usize::MAX {
                let len = cell.encoded_len();
                // A filter compares a cell that it drops byte by byte all the same.
                self.filter_work = self.filter_work.saturating_add(len.saturating_mul(cost));
                if self.filter_work.max(out.bytes().saturating_add(len)) > stop.max_work_bytes {
                    return Ok(RowProgress::TooLarge);
                }
            }
            self.cells_examined += 1;
            let code = self.matcher.check(cell, filter.as_mut());
            if matches!(
                code,
                MatchCode::Include
                    | MatchCode::IncludeAndSeekNextColumn
                    | MatchCode::IncludeAndSeekNextRow
            ) {
                self.row_cells += 1;
                debug_assert!(
                    self.limits.limit.is_none_or(|limit| {
                        self.row_cells <= limit.saturating_add(self.limits.offset)
                    }),
                    "a row has no more cells than its limit"
                );
                if self.row_cells > self.limits.offset {
                    self.row_bytes += cell.encoded_len() as u64;
                    if self.limits.max_row_bytes.is_some_and(|most| self.row_bytes > most) {
                        return Err(row_too_big(cell, self.limits));
                    }
                    match filter {
                        Some(filter) if filter.transforms() => out
                            .push(cell.with_value(filter.transform_value(&cell, &mut self.value))),
                        _ => out.push(cell),
                    }
                }
                if self.is_at_limit() {
                    self.finish_row(row)?;
                    break;
                }
            }
            match code {
                MatchCode::Include | MatchCode::Skip => self.merge.next()?,
                MatchCode::IncludeAndSeekNextColumn | MatchCode::SeekNextColumn => {
                    self.next_column()?;
                }
                MatchCode::IncludeAndSeekNextRow | MatchCode::SeekNextRow => {
                    self.finish_row(row)?;
                }
                MatchCode::SeekNextUsingHint => self.seek_hint(filter)?,
            }
        }
        Ok(RowProgress::Done)
    }

    /// As in HBase, a filter that needs no more cells ends the store when it receives a cell, not
    /// the scan: it may need cells of the next row in another family (HBase: `DONE_SCAN` of
    /// `UserScanQueryMatcher`).
    fn end_if(&mut self, is_shown: bool) {
        if is_shown {
            self.merge = CellStream::new(Vec::new(), None);
        }
    }

    /// Returns `true` if the limit per row and family is reached. The filter does not receive cells
    /// past it.
    fn is_at_limit(&self) -> bool {
        self.limits.limit.is_some_and(|limit| {
            limit == 0 || self.row_cells >= limit.saturating_add(self.limits.offset)
        })
    }

    fn finish_row(&mut self, row: &[u8]) -> Result<()> {
        self.row_finished = true;
        if self.single_row { Ok(()) } else { self.skip_row(row) }
    }

    /// Moves to the first cell after `row`.
    pub(crate) fn skip_row(&mut self, row: &[u8]) -> Result<()> {
        for _ in 0..STEPS_BEFORE_SEEK {
            match self.merge.peek() {
                Some(cell) if cell.row() == row => self.merge.next()?,
                _ => return Ok(()),
            }
        }
        self.key.clear();
        write_key(&mut self.key, row, b"", b"", i64::MIN, halite_types::cell::TYPE_MINIMUM);
        self.merge.seek_forward(&self.key)
    }

    /// Moves to the next column that the matcher needs, which is after the current one.
    ///
    /// The markers of a whole family are among the cells of the empty qualifier, by timestamp, and
    /// hide cells of every column. That column is therefore read to its end (as HBase does since
    /// HBASE-18471).
    fn next_column(&mut self) -> Result<()> {
        let Some(cell) = self.merge.peek() else { return Ok(()) };
        self.key.clear();
        self.key.extend_from_slice(cell.key());
        if cell.qualifier().is_empty() {
            while self.merge.peek().is_some_and(|cell| cell.key() == self.key) {
                self.merge.next()?;
            }
            return Ok(());
        }
        let steps = if self.merge.has_lazy() { 0 } else { STEPS_BEFORE_SEEK };
        for _ in 0..steps {
            self.merge.next()?;
            match self.merge.peek() {
                Some(cell) if same_column(cell.key(), &self.key) => {}
                Some(cell) if self.is_before_hint(cell) => {}
                _ => return Ok(()),
            }
        }
        let Some(cell) = self.merge.peek() else { return Ok(()) };
        let (row, family) = (cell.row(), cell.family());
        let mut target = std::mem::take(&mut self.key);
        target.clear();
        match self.matcher.column_hint() {
            Some(qualifier) => write_key(
                &mut target,
                row,
                family,
                qualifier,
                LATEST_TIMESTAMP,
                halite_types::cell::TYPE_MAXIMUM,
            ),
            None => write_key(
                &mut target,
                row,
                family,
                cell.qualifier(),
                i64::MIN,
                halite_types::cell::TYPE_MINIMUM,
            ),
        }
        let result = self.merge.seek_forward(&target);
        self.key = target;
        result
    }

    /// Returns `true` if the matcher needs a later column of this row.
    fn is_before_hint(&self, cell: CellRef<'_>) -> bool {
        let same_row = cell.row() == halite_types::cell::key_row(&self.key);
        same_row && self.matcher.column_hint().is_some_and(|hint| cell.qualifier() < hint)
    }

    fn seek_hint(&mut self, filter: &mut Option<FilterState>) -> Result<()> {
        let Some(cell) = self.merge.peek() else { return Ok(()) };
        // As in HBase, a reverse scan continues cell by cell: it would jump over markers that
        // count.
        let hint = filter
            .as_mut()
            .filter(|filter| !filter.is_reversed())
            .and_then(|filter| filter.next_cell_hint(cell));
        match hint {
            // A hint that does not lead forward would cause an endless loop.
            Some(hint) if halite_types::cell::compare_keys(&hint, cell.key()).is_gt() => {
                self.merge.seek_forward(&hint)
            }
            _ => self.merge.next(),
        }
    }

    /// Passes the retained cells to `each`, in order over all rows, for flush and compaction.
    pub(crate) fn compact(&mut self, each: impl FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
        self.compact_while(b"", |_| Ok(()), each)
    }

    /// As [`StoreScanner::compact`], but ends before the row `end` unless that is empty, and calls
    /// `may_go_on` after every megabyte or so that was examined, whether or not any of it is
    /// retained, with its length in bytes.
    pub(crate) fn compact_while(
        &mut self,
        end: &[u8],
        may_go_on: impl Fn(u64) -> Result<()>,
        mut each: impl FnMut(CellRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut row: Vec<u8> = Vec::new();
        let mut any = false;
        let mut looked_at = 0;
        while let Some(cell) = self.merge.peek() {
            looked_at += cell.encoded_len();
            if looked_at >= CONTINUE_CHECK_INTERVAL_BYTES {
                may_go_on(looked_at as u64)?;
                looked_at = 0;
            }
            if !any || cell.row() != row {
                if !end.is_empty() && cell.row() >= end {
                    break;
                }
                any = true;
                row.clear();
                row.extend_from_slice(cell.row());
                self.matcher.start_row();
            }
            self.cells_examined += 1;
            let code = self.matcher.check(cell, None);
            if matches!(
                code,
                MatchCode::Include
                    | MatchCode::IncludeAndSeekNextColumn
                    | MatchCode::IncludeAndSeekNextRow
            ) {
                each(cell)?;
            }
            match code {
                MatchCode::SeekNextColumn | MatchCode::IncludeAndSeekNextColumn => {
                    self.next_column()?;
                }
                MatchCode::SeekNextRow | MatchCode::IncludeAndSeekNextRow => self.skip_row(&row)?,
                // Without a filter there is no hint.
                MatchCode::Include | MatchCode::Skip | MatchCode::SeekNextUsingHint => {
                    self.merge.next()?;
                }
            }
        }
        Ok(())
    }
}
