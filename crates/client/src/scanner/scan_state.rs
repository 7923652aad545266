//! Position of a scan: the rest of its range, and the rows for the consumer.

use std::ops::Bound;

use halite_types::key::successor_of_row;
use halite_types::{Bytes, Cells, CellsBuilder, RegionInfo, Row, RowRange, Scan};
use halite_wire::convert::scan::ScanQuery;

use crate::config::Config;

/// Position of a scan relative to the last row received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowPosition {
    /// In the row: more of it may follow.
    Inside,
    /// After the row.
    After,
    /// At the start of the remaining range: no row has been received, or another region or a later
    /// row has been reached since.
    Elsewhere,
}

/// Scan in progress. Its range shrinks as rows arrive.
pub(super) struct ScanState {
    pub(super) scan: Scan,
    max_rows: u32,
    /// Number of rows that may still begin.
    remaining: usize,
    is_over: bool,
    /// `true` if rows are ordered by their bytes, so that ranges can be compared here; not so in
    /// `hbase:meta`.
    is_plain: bool,
    /// Last row received; empty before the first.
    row: Bytes,
    position: RowPosition,
    /// Cells of that row returned to the consumer.
    returned: usize,
    /// Cells of that row that will arrive again and must be skipped.
    skip: usize,
    /// Parts of that row that are returned as one; with a batch limit, parts that do not fill the
    /// batch yet.
    partial_cells: Vec<Cells>,
    /// Region and read point of the last opened scanner.
    read_point: Option<(String, u64)>,
}

impl ScanState {
    pub(super) fn new(mut scan: Scan, is_plain: bool, config: &Config) -> Self {
        // The scan has the default size, so the configuration applies.
        if scan.max_result_bytes == Scan::DEFAULT_MAX_RESULT_BYTES {
            scan.max_result_bytes = config.max_scanner_result_bytes;
        }
        let remaining = scan.limit.unwrap_or(usize::MAX);
        let is_over = (is_plain && scan.range.is_empty()) || remaining == 0;
        Self {
            max_rows: config.scanner_caching,
            scan,
            remaining,
            is_over,
            is_plain,
            row: Bytes::new(),
            position: RowPosition::Elsewhere,
            returned: 0,
            skip: 0,
            partial_cells: Vec::new(),
            read_point: None,
        }
    }

    /// Returns `true` if no more rows follow.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn is_reverse(&self) -> bool {
        self.scan.reverse
    }

    pub(super) fn has_filter(&self) -> bool {
        self.scan.selection.filter.is_some()
    }

    fn is_inside(&self) -> bool {
        self.position == RowPosition::Inside
    }

    /// Returns the remaining range.
    pub(super) fn range(&self) -> &RowRange {
        &self.scan.range
    }

    /// Returns the maximum number of rows per response.
    pub(super) fn max_rows(&self) -> u32 {
        self.max_rows
    }

    /// Returns the number of rows still needed, including a partial one, if the scan has a limit.
    pub(super) fn limit(&self) -> Option<u32> {
        self.scan.limit?;
        u32::try_from(self.remaining.saturating_add(usize::from(self.is_inside())).max(1)).ok()
    }

    /// Returns the scan of the rest, for a scanner in a region.
    pub(super) fn query(&self, region: &RegionInfo) -> ScanQuery {
        let at = self
            .read_point
            .as_ref()
            .filter(|(encoded_name, _)| *encoded_name == region.encoded_name);
        ScanQuery {
            mvcc_read_point: at.map(|(_, point)| *point),
            need_cursor_result: self.can_use_cursors(),
            caching: Some(self.max_rows),
            allow_partial_results: self.scan.batch.is_some(),
            ..self.scan.clone().into()
        }
    }

    /// Returns `true` if no unread row precedes a cursor. HBase's cursor is the current cell of the
    /// family that was read last, and unread families may have rows before it.
    fn can_use_cursors(&self) -> bool {
        self.is_plain && self.scan.selection.columns.len() == 1
    }

    /// Records the read point of a region.
    pub(super) fn set_read_point(&mut self, region: &RegionInfo, point: u64) {
        self.read_point = Some((region.encoded_name.clone(), point));
    }

    /// Processes rows and partial rows. Returns the rows for the consumer.
    pub(super) fn take(&mut self, rows: Vec<Row>) -> Vec<Row> {
        if self.are_whole_and_new(&rows) {
            return self.take_whole(rows);
        }
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            if row.is_empty() || self.is_over {
                continue;
            }
            if row.key() != &self.row[..] {
                out.extend(self.finish_row());
                if self.remaining == 0 {
                    self.is_over = true;
                    break;
                }
                self.remaining -= 1;
                (self.row, self.returned, self.skip) =
                    (row.cells().bytes().slice_ref(row.key()), 0, 0);
            }
            self.position = if row.is_partial() { RowPosition::Inside } else { RowPosition::After };
            match self.scan.batch {
                Some(batch) => self.take_for_batch(row, batch, &mut out),
                None => out.extend(self.take_partial(row)),
            }
        }
        self.is_over |= self.remaining == 0 && !self.is_inside();
        out
    }

    /// Returns `true` if the consumer receives exactly these rows, the usual case.
    fn are_whole_and_new(&self, rows: &[Row]) -> bool {
        let between_rows = !self.is_over
            && !self.is_inside()
            && self.skip == 0
            && self.partial_cells.is_empty()
            && self.scan.batch.is_none();
        let is_new = rows.first().is_some_and(|row| row.key() != &self.row[..]);
        between_rows
            && is_new
            && rows.len() <= self.remaining
            && rows.iter().all(|row| !row.is_partial() && !row.is_empty())
    }

    fn take_whole(&mut self, rows: Vec<Row>) -> Vec<Row> {
        if let Some(last) = rows.last() {
            (self.row, self.returned, self.position) =
                (last.cells().bytes().slice_ref(last.key()), 0, RowPosition::After);
        }
        self.remaining -= rows.len();
        self.is_over = self.remaining == 0;
        rows
    }

    fn take_partial(&mut self, row: Row) -> Option<Row> {
        let is_partial = row.is_partial();
        let row = self.skip_returned(row)?;
        if is_partial || !self.partial_cells.is_empty() {
            self.partial_cells.push(row.cells().clone());
            return if is_partial { None } else { self.finish_row() };
        }
        Some(row)
    }

    /// Regroups cells for a batch limit. A server also splits rows where a response is full. The
    /// consumer receives partial rows with as many cells as the limit, as from HBase's client
    /// (`BatchScanResultCache`).
    fn take_for_batch(&mut self, row: Row, batch: usize, out: &mut Vec<Row>) {
        let is_partial = row.is_partial();
        let Some(row) = self.skip_returned(row) else { return };
        if self.partial_cells.is_empty() && (row.len() == batch || !is_partial && row.len() < batch)
        {
            self.returned += row.len();
            out.push(row);
            return;
        }
        self.partial_cells.push(row.into_cells());
        let mut rest = joined(&std::mem::take(&mut self.partial_cells));
        while let Some(full) = rest.split_to(batch.max(1)) {
            self.returned += full.len();
            out.push(if is_partial || !rest.is_empty() {
                Row::partial(full)
            } else {
                Row::new(full)
            });
        }
        if is_partial && !rest.is_empty() {
            self.partial_cells.push(rest);
        } else if !rest.is_empty() {
            self.returned += rest.len();
            out.push(Row::new(rest));
        }
    }

    /// Returns a partial row without the cells received before the scan was resumed.
    fn skip_returned(&mut self, row: Row) -> Option<Row> {
        if self.skip == 0 {
            return Some(row);
        }
        let known = self.skip.min(row.len());
        self.skip -= known;
        let mut rest = row.cells().clone();
        rest.split_to(known)?;
        if rest.is_empty() {
            return None;
        }
        Some(if row.is_partial() { Row::partial(rest) } else { Row::new(rest) })
    }

    /// Returns the row whose parts have all arrived.
    fn finish_row(&mut self) -> Option<Row> {
        if self.is_inside() {
            self.position = RowPosition::After;
        }
        let pieces = std::mem::take(&mut self.partial_cells);
        if pieces.is_empty() {
            return None;
        }
        Some(Row::new(joined(&pieces)))
    }

    /// Handles the end of the region, or of the scan. Returns the row that ends with it.
    pub(super) fn finish_region(&mut self, region: &RegionInfo, is_last: bool) -> Option<Row> {
        let row = self.finish_row();
        let edge = if self.scan.reverse { &region.start } else { &region.end };
        if is_last || edge.is_empty() || self.remaining == 0 {
            self.is_over = true;
        } else if self.scan.reverse {
            self.scan.range.end = Bound::Excluded(edge.clone());
        } else {
            self.scan.range.start = Bound::Included(edge.clone());
        }
        self.position = RowPosition::Elsewhere;
        self.is_over |= self.is_plain && self.scan.range.is_empty();
        row
    }

    /// Advances to the row that the server has reached: the next one to examine, or the last one
    /// examined, which may have been received.
    pub(super) fn advance_to(&mut self, row: Bytes) {
        let is_news = match self.position {
            RowPosition::Inside => false,
            RowPosition::After if self.scan.reverse => row < self.row,
            RowPosition::After => row > self.row,
            RowPosition::Elsewhere => true,
        };
        if !is_news || row.is_empty() || !self.can_use_cursors() || !self.scan.range.contains(&row)
        {
            return;
        }
        self.position = RowPosition::Elsewhere;
        if self.scan.reverse {
            self.scan.range.end = Bound::Included(row);
        } else {
            self.scan.range.start = Bound::Included(row);
        }
    }

    /// Handles the loss of the scanner: the rest begins after the last row, or in it if it was
    /// partial.
    pub(super) fn resume(&mut self) {
        if self.position == RowPosition::Elsewhere {
            return;
        }
        let row = self.row.clone();
        let bound = if self.is_inside() {
            self.partial_cells.clear();
            self.skip = self.returned;
            Bound::Included(row)
        } else if self.scan.reverse {
            Bound::Excluded(row)
        } else {
            // The successor of the row: a server finds it without reading the row itself.
            Bound::Included(successor_of_row(&row).into())
        };
        if self.scan.reverse {
            self.scan.range.end = bound;
        } else {
            self.scan.range.start = bound;
        }
        self.is_over |= self.is_plain && self.scan.range.is_empty();
    }
}

/// Concatenates the parts of one row.
fn joined(pieces: &[Cells]) -> Cells {
    let mut cells =
        CellsBuilder::with_capacity(pieces.iter().map(|piece| piece.bytes().len()).sum());
    pieces.iter().for_each(|piece| cells.extend(piece));
    cells.finish()
}
