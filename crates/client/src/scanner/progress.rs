//! Where a scan is: what is left of its range, and what of the answers goes to the consumer.

use std::ops::Bound;

use halite_types::key::successor_of_row;
use halite_types::{Bytes, Cells, CellsBuilder, RegionInfo, Row, RowRange, Scan};
use halite_wire::convert::scan::ScanQuery;

use crate::config::Config;

/// The default of `Scan`, which the configuration may replace.
const RESULT_BYTES_DEFAULT: usize = 2 << 20;

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
    scan: Scan,
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
    /// Pieces of that row that the consumer gets as one.
    pieces: Vec<Cells>,
    /// What was visible in which region when its scanner was opened.
    read_point: Option<(String, u64)>,
}

impl Progress {
    pub(super) fn new(mut scan: Scan, is_plain: bool, config: &Config) -> Self {
        if scan.max_result_bytes == RESULT_BYTES_DEFAULT {
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
            need_cursor_result: true,
            caching: Some(self.rows_max),
            allow_partial_results: self.scan.batch.is_some(),
            ..self.scan.clone().into()
        }
    }

    /// What is visible in a region is settled.
    pub(super) fn read_at(&mut self, region: &RegionInfo, point: u64) {
        self.read_point = Some((region.encoded_name.clone(), point));
    }

    /// Takes in rows and pieces of rows; gives what the consumer is to have.
    pub(super) fn take(&mut self, rows: Vec<Row>) -> Vec<Row> {
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
            out.extend(self.take_piece(row));
        }
        self.is_over |= self.remaining == 0 && !self.is_inside();
        out
    }

    fn take_piece(&mut self, row: Row) -> Option<Row> {
        let is_partial = row.is_partial();
        let row = self.without_known(row)?;
        if self.scan.batch.is_some() {
            self.given += row.len();
            return Some(row);
        }
        if is_partial || !self.pieces.is_empty() {
            self.pieces.push(row.cells().clone());
            return if is_partial { None } else { self.finish_row() };
        }
        Some(row)
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
        let mut cells = CellsBuilder::with_capacity(pieces.iter().map(|piece| piece.bytes().len()).sum());
        pieces.iter().for_each(|piece| cells.push_run(piece));
        Some(Row::new(cells.finish()))
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

    /// The server has come as far as this row, without finding any.
    pub(super) fn reached(&mut self, row: Bytes) {
        if self.is_inside() || row.is_empty() || !self.is_plain || !self.scan.range.contains(&row) {
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

#[cfg(test)]
mod tests {
    use halite_types::CellType;
    use halite_types::cell::CellParts;

    use super::*;
    use crate::config::Lookup;

    fn cells(row: &str, qualifiers: &str) -> Cells {
        let mut cells = CellsBuilder::default();
        for qualifier in qualifiers.as_bytes().chunks(1) {
            let (row, value, tags) = (row.as_bytes(), &b"v"[..], &b""[..]);
            cells.push_parts(CellParts { row, family: b"f", qualifier, timestamp: 1, cell_type: CellType::Put, value, tags });
        }
        cells.finish()
    }

    fn whole(row: &str, qualifiers: &str) -> Row {
        Row::new(cells(row, qualifiers))
    }

    fn piece(row: &str, qualifiers: &str) -> Row {
        Row::piece(cells(row, qualifiers))
    }

    fn of(scan: Scan) -> Progress {
        Progress::new(scan, true, &Config::new(Lookup::Rpc { servers: Vec::new() }))
    }

    fn shown(rows: &[Row]) -> Vec<String> {
        let qualifiers = |row: &Row| row.iter().map(|cell| String::from_utf8_lossy(cell.qualifier()).into_owned()).collect::<String>();
        rows.iter().map(|row| format!("{}:{}", String::from_utf8_lossy(row.key()), qualifiers(row))).collect()
    }

    fn region(start: &'static str, end: &'static str) -> RegionInfo {
        RegionInfo { table: "t".parse().unwrap(), start: start.into(), end: end.into(), region_id: 1, encoded_name: "e".into() }
    }

    #[test]
    fn pieces_of_a_row_are_put_together_across_answers() {
        let mut progress = of(Scan::all());
        assert_eq!(shown(&progress.take(vec![whole("a", "x"), piece("b", "x")])), ["a:x"]);
        assert_eq!(shown(&progress.take(vec![piece("b", "yz")])), Vec::<String>::new());
        assert_eq!(shown(&progress.take(vec![whole("b", "0"), piece("c", "x"), whole("d", "x")])), ["b:xyz0", "c:x", "d:x"]);
        progress.take(vec![piece("e", "x")]);
        assert_eq!(shown(&progress.leave(&region("", ""), false).into_iter().collect::<Vec<_>>()), ["e:x"]);
        assert!(progress.is_over());
    }

    #[test]
    fn with_a_batch_limit_pieces_go_on_as_they_are_and_a_resumed_row_goes_on_behind_them() {
        let mut progress = of(Scan::all().batch(2));
        assert_eq!(shown(&progress.take(vec![piece("a", "xy")])), ["a:xy"]);
        progress.resume();
        assert_eq!(progress.range().start, Bound::Included("a".into()));
        assert_eq!(shown(&progress.take(vec![piece("a", "xy"), whole("a", "z"), whole("b", "x")])), ["a:z", "b:x"]);
    }

    #[test]
    fn without_one_a_row_that_was_cut_is_read_again() {
        let mut progress = of(Scan::all());
        progress.take(vec![whole("a", "x"), piece("b", "x")]);
        progress.resume();
        assert_eq!(progress.range().start, Bound::Included("b".into()));
        assert_eq!(shown(&progress.take(vec![piece("b", "x"), whole("b", "y")])), ["b:xy"]);
        progress.resume();
        assert_eq!(progress.range().start, Bound::Included("b\0".into()));
    }

    #[test]
    fn a_limit_counts_rows_and_not_pieces() {
        let mut progress = of(Scan::all().batch(1).limit(2));
        assert_eq!(progress.limit(), Some(2));
        assert_eq!(shown(&progress.take(vec![whole("a", "x"), piece("b", "x")])), ["a:x", "b:x"]);
        assert!(!progress.is_over() && progress.limit() == Some(1));
        assert_eq!(shown(&progress.take(vec![whole("b", "y"), whole("c", "x")])), ["b:y"]);
        assert!(progress.is_over());
        assert!(of(Scan::all().limit(0)).is_over() && of(Scan::range("b", "a")).is_over());
    }

    #[test]
    fn a_scan_goes_from_region_to_region_until_its_range_is_done() {
        let mut forward = of(Scan::range("b", "p"));
        forward.leave(&region("", "g"), false);
        assert_eq!(forward.range().start, Bound::Included("g".into()));
        forward.leave(&region("g", "p"), false);
        assert!(forward.is_over());
        let mut backward = of(Scan::range("b", "p").reverse(true));
        assert!(matches!(backward.region(), super::super::At::Before(b"p")));
        backward.leave(&region("g", ""), false);
        assert_eq!(backward.range().end, Bound::Excluded("g".into()));
        backward.take(vec![whole("f", "x")]);
        backward.resume();
        assert_eq!(backward.range().end, Bound::Excluded("f".into()));
        backward.leave(&region("b", "g"), false);
        assert!(backward.is_over());
    }

    #[test]
    fn the_order_of_meta_is_not_that_of_bytes() {
        let scan = || Scan::range("t,,", "t ,,");
        let progress = |is_plain| Progress::new(scan(), is_plain, &Config::new(Lookup::Rpc { servers: Vec::new() }));
        assert!(progress(true).is_over());
        let mut meta = progress(false);
        meta.take(vec![whole("t,,1.", "x")]);
        meta.resume();
        assert!(!meta.is_over() && meta.range().start == Bound::Included("t,,1.\0".into()));
    }

    #[test]
    fn what_a_server_looked_at_in_vain_is_not_looked_at_again() {
        let mut progress = of(Scan::all());
        progress.take(vec![whole("a", "x")]);
        progress.reached("m".into());
        progress.resume();
        assert_eq!(progress.range().start, Bound::Included("m".into()));
    }
}
