//! One range, read in chunks: a sequence of scans and the check of each row.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::key::{successor_of_prefix, to_string_binary};
use halite_types::{Error, Filter, Result, Row, RowRange, RowStream, Scan, Table};

use super::options::UndecodableRows;
use crate::error::KeyErrorKind;
use crate::plan::{KeyRange, Plan};

/// Context common to all ranges of one scatter.
pub(super) struct ScatterContext {
    pub(super) table: Arc<dyn Table>,
    pub(super) plan: Arc<Plan>,
    /// Columns, filter and so on; range, limit and direction are set for each scan.
    pub(super) template: Scan,
    pub(super) undecodable_rows: UndecodableRows,
    pub(super) has_residual: bool,
    /// Rows of the ranges that are not keys of the schema, and the skipped ones among them.
    pub(super) misfits: AtomicU64,
    pub(super) left_out: AtomicU64,
    /// Rows returned by scans and gets, and the bytes of their cells.
    pub(super) examined: AtomicU64,
    pub(super) bytes: AtomicU64,
}

impl ScatterContext {
    /// Counts rows that a scan or gets returned.
    pub(super) fn count(&self, rows: &[Row]) {
        let bytes: usize = rows.iter().map(|row| row.cells().bytes().len()).sum();
        self.examined.fetch_add(rows.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns `true` if a row belongs to the result.
    pub(super) fn keeps(&self, row: &Row) -> Result<bool> {
        let decoded = self.plan.decode(row.key());
        // A missing dictionary is not a reason to reject a row.
        if decoded.as_ref().is_err_and(|error| error.kind != KeyErrorKind::NotInDictionary) {
            self.misfits.fetch_add(1, Ordering::Relaxed);
        }
        match (decoded, self.undecodable_rows) {
            (Ok(decoded), _) => Ok(!self.has_residual || self.plan.admits_row(row.key(), &decoded)),
            (Err(_), UndecodableRows::Return) => Ok(true),
            (Err(_), UndecodableRows::Count) => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                Ok(false)
            }
            (Err(error), UndecodableRows::Fail) => {
                Err(Error::from(error).at(format_args!("row {}", to_string_binary(row.key()))))
            }
        }
    }

    fn is_reverse(&self) -> bool {
        self.plan.query().reverse
    }
}

/// Read position in one range. Each chunk read consumes it and returns it with the rows.
pub(super) struct Cursor {
    context: Arc<ScatterContext>,
    range: KeyRange,
    /// Part of the range without a scan yet.
    left: RowRange,
    stream: Option<RowStream>,
    /// Rows requested from the open scan and rows it returned; without a number it returns all.
    requested: Option<usize>,
    returned: usize,
    /// Rows still required from this range; only if their fields are not checked again.
    remaining: Option<usize>,
    /// For a skip scan: remaining ranges of the current value.
    found: VecDeque<RowRange>,
    is_over: bool,
}

/// Rows of one chunk, empty at the end of the range, with the cursor for the next chunk.
pub(super) type CursorChunk = (Cursor, Result<Vec<Row>>);

impl Cursor {
    /// Creates a cursor; `first` is the number of rows of the first scan if the range need not be
    /// read to its end.
    pub(super) fn new(
        context: Arc<ScatterContext>,
        range: KeyRange,
        remaining: Option<usize>,
        first: Option<usize>,
    ) -> Self {
        let left = range.range.clone();
        Self {
            context,
            range,
            left,
            stream: None,
            requested: first,
            returned: 0,
            remaining,
            found: VecDeque::new(),
            is_over: remaining == Some(0),
        }
    }

    /// Returns `true` if no rows follow.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads until there are rows, or the range ends.
    pub(super) async fn read(mut self) -> CursorChunk {
        match self.next_rows().await {
            Ok(rows) => {
                self.is_over |= rows.is_empty();
                (self, Ok(rows))
            }
            Err(error) => {
                let place =
                    format!("table {}, {}", self.context.table.name(), describe(&self.range.range));
                (self, Err(error.at(place)))
            }
        }
    }

    async fn next_rows(&mut self) -> Result<Vec<Row>> {
        while !self.is_over {
            if self.stream.is_none() && !self.open_next().await? {
                break;
            }
            let Some(stream) = &mut self.stream else { break };
            let mut rows = stream.next_rows().await?;
            self.record_rows(&rows);
            let mut failed = None;
            rows.retain(|row| {
                failed.is_none()
                    && self.context.keeps(row).unwrap_or_else(|error| {
                        failed = Some(error);
                        false
                    })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            // Rows that are skipped do not count toward the limit.
            if let Some(remaining) = &mut self.remaining {
                *remaining = remaining.saturating_sub(rows.len());
                self.is_over |= *remaining == 0;
            }
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }

    /// Counts the rows of a scan, and closes it after its last row.
    fn record_rows(&mut self, rows: &[Row]) {
        self.context.count(rows);
        self.returned += rows.len();
        let is_complete = self.requested.is_some_and(|rows| self.returned >= rows);
        match rows.last() {
            Some(last) if self.requested.is_some() => {
                let key = Bound::Excluded(halite_types::Bytes::copy_from_slice(last.key()));
                if self.context.is_reverse() { self.left.end = key } else { self.left.start = key }
            }
            _ => {}
        }
        if is_complete {
            // An insufficient scan is followed by larger requests.
            self.requested = self.requested.map(|rows| rows.saturating_mul(4));
            self.stream = None;
        } else if rows.is_empty() {
            self.stream = None;
            self.is_over |= !self.context.plan.is_skip_scan();
        }
    }

    /// Opens the next scan; returns `false` if there is none.
    async fn open_next(&mut self) -> Result<bool> {
        if self.context.plan.is_skip_scan() && self.found.is_empty() {
            self.skip_to_next().await?;
            self.requested = None;
        }
        let range = if self.context.plan.is_skip_scan() {
            match self.found.pop_front() {
                Some(range) => range,
                None => return Ok(false),
            }
        } else {
            self.left.clone()
        };
        if range.is_empty() {
            return Ok(false);
        }
        self.requested = self.requested.map(|rows| rows.min(self.remaining.unwrap_or(usize::MAX)));
        self.returned = 0;
        self.stream = Some(self.scan(range, self.requested));
        Ok(true)
    }

    fn scan(&self, range: RowRange, limit: Option<usize>) -> RowStream {
        let mut scan = Scan {
            range,
            limit,
            reverse: self.context.is_reverse(),
            ..self.context.template.clone()
        };
        if let Some(points) = self.range.points_in(&scan.range) {
            let among = Filter::MultiRowRange(points);
            let filter = match scan.selection.filter.take() {
                Some(filter) => Filter::All(vec![among, filter]),
                None => among,
            };
            scan = scan.filter(filter);
        }
        self.context.table.scan(scan)
    }

    /// Finds the next value of the open segment, and its ranges. Values without ranges are skipped.
    async fn skip_to_next(&mut self) -> Result<()> {
        while self.found.is_empty() && !self.left.is_empty() {
            let Some(row) = self.scan(self.left.clone(), Some(1)).next().await? else {
                self.left = RowRange {
                    start: Bound::Excluded(Vec::new().into()),
                    end: Bound::Included(Vec::new().into()),
                };
                return Ok(());
            };
            self.context.count(std::slice::from_ref(&row));
            let reverse = self.context.is_reverse();
            let Ok(step) = self.context.plan.skip_step(&self.range, row.key()) else {
                // The value is unknown; the row is handled as every row that is not a key.
                let key = halite_types::Bytes::copy_from_slice(row.key());
                self.found.push_back(RowRange {
                    start: Bound::Included(key.clone()),
                    end: Bound::Included(key.clone()),
                });
                *(if reverse { &mut self.left.end } else { &mut self.left.start }) =
                    Bound::Excluded(key);
                continue;
            };
            self.found.extend(step.ranges.into_iter().map(|range| range.range));
            if reverse {
                self.found.make_contiguous().reverse();
                self.left.end = Bound::Excluded(step.value_prefix.into());
            } else {
                self.left.start = match successor_of_prefix(&step.value_prefix) {
                    Some(next) => Bound::Included(next.into()),
                    None => Bound::Excluded(vec![0xff; halite_types::cell::MAX_ROW_BYTES].into()),
                };
            }
        }
        Ok(())
    }
}

fn describe(range: &RowRange) -> String {
    let mut out = String::from("rows ");
    let bound = |bound: &Bound<halite_types::Bytes>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => to_string_binary(key),
        Bound::Unbounded => String::new(),
    };
    // Writing to a string does not fail.
    let _ = write!(out, "{} .. {}", bound(&range.start), bound(&range.end));
    out
}
