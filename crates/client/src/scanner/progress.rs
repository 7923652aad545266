//! Where a scan is: what is left of its range, and what of the answers goes to the consumer.

use std::ops::Bound;

use halite_types::key::successor_of_row;
use halite_types::{Bytes, Cells, CellsBuilder, RegionInfo, Row, RowRange, Scan};
use halite_wire::convert::scan::ScanQuery;

use crate::config::Config;

/// Where a scan is, seen from the row that came last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In it: more of it may come.
    Inside,
    /// Behind it.
    Behind,
    /// Where its range begins now: no row has come, or another region or a later row was reached since.
    Elsewhere,
}

/// A scan under way. Its range shrinks as rows come.
pub(super) struct Progress {
    pub(super) scan: Scan,
    rows_max: u32,
    /// Rows that may still begin.
    remaining: usize,
    is_over: bool,
    /// Whether the order of rows is that of their bytes, so that ranges can be compared here; that of `hbase:meta` is not.
    is_plain: bool,
    /// The row that came last; empty before the first.
    row: Bytes,
    place: Place,
    /// Cells of that row that the consumer has.
    given: usize,
    /// Cells of that row that will come again and are not wanted.
    skip: usize,
    /// Pieces of that row that the consumer gets as one; with a batch limit, those that do not fill it yet.
    pieces: Vec<Cells>,
    /// What was visible in which region when its scanner was opened.
    read_point: Option<(String, u64)>,
}

impl Progress {
    pub(super) fn new(mut scan: Scan, is_plain: bool, config: &Config) -> Self {
        // Nobody has said how many, so the configuration does.
        if scan.max_result_bytes == Scan::RESULT_BYTES_DEFAULT {
            scan.max_result_bytes = config.scanner_result_bytes_max;
        }
        let remaining = scan.limit.unwrap_or(usize::MAX);
        let is_over = (is_plain && scan.range.is_empty()) || remaining == 0;
        Self {
            rows_max: config.scanner_caching,
            scan,
            remaining,
            is_over,
            is_plain,
            row: Bytes::new(),
            place: Place::Elsewhere,
            given: 0,
            skip: 0,
            pieces: Vec::new(),
            read_point: None,
        }
    }

    /// Whether nothing more is to come.
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
        self.place == Place::Inside
    }

    /// What is left.
    pub(super) fn range(&self) -> &RowRange {
        &self.scan.range
    }

    /// Rows of one answer.
    pub(super) fn rows_max(&self) -> u32 {
        self.rows_max
    }

    /// Rows that are still wanted, if that is limited, with the one that is not whole yet.
    pub(super) fn limit(&self) -> Option<u32> {
        self.scan.limit?;
        u32::try_from(self.remaining.saturating_add(usize::from(self.is_inside())).max(1)).ok()
    }

    /// The scan of what is left, for a scanner in a region.
    pub(super) fn query(&self, region: &RegionInfo) -> ScanQuery {
        let at = self.read_point.as_ref().filter(|(encoded_name, _)| *encoded_name == region.encoded_name);
        ScanQuery {
            mvcc_read_point: at.map(|(_, point)| *point),
            need_cursor_result: self.believes_cursors(),
            caching: Some(self.rows_max),
            allow_partial_results: self.scan.batch.is_some(),
            ..self.scan.clone().into()
        }
    }

    /// Whether a cursor says that nothing before it is left. HBase's is the cell that the family it read last stands at, and
    /// those it has not read may have rows before that.
    fn believes_cursors(&self) -> bool {
        self.is_plain && self.scan.selection.columns.len() == 1
    }

    /// What is visible in a region is settled.
    pub(super) fn read_at(&mut self, region: &RegionInfo, point: u64) {
        self.read_point = Some((region.encoded_name.clone(), point));
    }

    /// Takes in rows and pieces of rows; gives what the consumer is to have.
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
                (self.row, self.given, self.skip) = (row.cells().bytes().slice_ref(row.key()), 0, 0);
            }
            self.place = if row.is_partial() { Place::Inside } else { Place::Behind };
            match self.scan.batch {
                Some(batch) => self.take_for_batch(row, batch, &mut out),
                None => out.extend(self.take_piece(row)),
            }
        }
        self.is_over |= self.remaining == 0 && !self.is_inside();
        out
    }

    /// Whether the consumer is to have just these rows, as is the rule.
    fn are_whole_and_new(&self, rows: &[Row]) -> bool {
        let between_rows = !self.is_over && !self.is_inside() && self.skip == 0 && self.pieces.is_empty() && self.scan.batch.is_none();
        let is_new = rows.first().is_some_and(|row| row.key() != &self.row[..]);
        between_rows && is_new && rows.len() <= self.remaining && rows.iter().all(|row| !row.is_partial() && !row.is_empty())
    }

    fn take_whole(&mut self, rows: Vec<Row>) -> Vec<Row> {
        if let Some(last) = rows.last() {
            (self.row, self.given, self.place) = (last.cells().bytes().slice_ref(last.key()), 0, Place::Behind);
        }
        self.remaining -= rows.len();
        self.is_over = self.remaining == 0;
        rows
    }

    fn take_piece(&mut self, row: Row) -> Option<Row> {
        let is_partial = row.is_partial();
        let row = self.without_known(row)?;
        if is_partial || !self.pieces.is_empty() {
            self.pieces.push(row.cells().clone());
            return if is_partial { None } else { self.finish_row() };
        }
        Some(row)
    }

    /// A server cuts rows where an answer is full too; the consumer gets pieces of as many cells as the limit says, as from HBase's
    /// client (`BatchScanResultCache`).
    fn take_for_batch(&mut self, row: Row, batch: usize, out: &mut Vec<Row>) {
        let is_partial = row.is_partial();
        let Some(row) = self.without_known(row) else { return };
        if self.pieces.is_empty() && (row.len() == batch || !is_partial && row.len() < batch) {
            self.given += row.len();
            out.push(row);
            return;
        }
        self.pieces.push(row.into_cells());
        let mut rest = joined(&std::mem::take(&mut self.pieces));
        while let Some(full) = rest.split_to(batch.max(1)) {
            self.given += full.len();
            out.push(if is_partial || !rest.is_empty() { Row::piece(full) } else { Row::new(full) });
        }
        if is_partial && !rest.is_empty() {
            self.pieces.push(rest);
        } else if !rest.is_empty() {
            self.given += rest.len();
            out.push(Row::new(rest));
        }
    }

    /// A piece without the cells that came before the scan was resumed.
    fn without_known(&mut self, row: Row) -> Option<Row> {
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
        Some(if row.is_partial() { Row::piece(rest) } else { Row::new(rest) })
    }

    /// The row whose pieces have all come.
    fn finish_row(&mut self) -> Option<Row> {
        if self.is_inside() {
            self.place = Place::Behind;
        }
        let pieces = std::mem::take(&mut self.pieces);
        if pieces.is_empty() {
            return None;
        }
        Some(Row::new(joined(&pieces)))
    }

    /// The region has no more rows, or the scan has none; gives the row that ends with it.
    pub(super) fn leave(&mut self, region: &RegionInfo, is_last: bool) -> Option<Row> {
        let row = self.finish_row();
        let edge = if self.scan.reverse { &region.start } else { &region.end };
        if is_last || edge.is_empty() || self.remaining == 0 {
            self.is_over = true;
        } else if self.scan.reverse {
            self.scan.range.end = Bound::Excluded(edge.clone());
        } else {
            self.scan.range.start = Bound::Included(edge.clone());
        }
        self.place = Place::Elsewhere;
        self.is_over |= self.is_plain && self.scan.range.is_empty();
        row
    }

    /// The server has come as far as this row: the next one to look at, or the last it has looked at, which may have come.
    pub(super) fn reached(&mut self, row: Bytes) {
        let is_news = match self.place {
            Place::Inside => false,
            Place::Behind if self.scan.reverse => row < self.row,
            Place::Behind => row > self.row,
            Place::Elsewhere => true,
        };
        if !is_news || row.is_empty() || !self.believes_cursors() || !self.scan.range.contains(&row) {
            return;
        }
        self.place = Place::Elsewhere;
        if self.scan.reverse {
            self.scan.range.end = Bound::Included(row);
        } else {
            self.scan.range.start = Bound::Included(row);
        }
    }

    /// The scanner is lost: what is left begins behind the last row, or in it if it was not whole.
    pub(super) fn resume(&mut self) {
        if self.place == Place::Elsewhere {
            return;
        }
        let row = self.row.clone();
        let bound = if self.is_inside() {
            self.pieces.clear();
            self.skip = self.given;
            Bound::Included(row)
        } else if self.scan.reverse {
            Bound::Excluded(row)
        } else {
            // The row that comes next, if there is one: a server finds it without reading the one before.
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

/// Pieces of one row, one behind the other.
fn joined(pieces: &[Cells]) -> Cells {
    let mut cells = CellsBuilder::with_capacity(pieces.iter().map(|piece| piece.bytes().len()).sum());
    pieces.iter().for_each(|piece| cells.push_run(piece));
    cells.finish()
}
