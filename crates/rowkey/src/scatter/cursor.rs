//! One range, read in pieces: scan after scan, with what has to be looked at in each row.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::key::{print_bytes, successor_of_prefix};
use halite_types::{Error, Result, Row, RowRange, RowStream, Scan, Table};

use super::Unreadable;
use crate::error::Cause;
use crate::plan::{KeyRange, Plan};

/// What all ranges of one scatter have in common.
pub(super) struct Shared {
    pub(super) table: Arc<dyn Table>,
    pub(super) plan: Arc<Plan>,
    /// Columns, filter and so on; range, limit and direction are set for each scan.
    pub(super) template: Scan,
    pub(super) unreadable: Unreadable,
    pub(super) has_residual: bool,
    /// Rows of the ranges that are no keys of the schema, and those of them that were left out.
    pub(super) misfits: AtomicU64,
    pub(super) left_out: AtomicU64,
    /// Rows that scans and gets gave.
    pub(super) examined: AtomicU64,
}

impl Shared {
    /// Whether a row belongs to the answer.
    pub(super) fn keeps(&self, row: &Row) -> Result<bool> {
        let decoded = self.plan.decode(row.key());
        // What only a dictionary could tell is no reason to doubt a row.
        if decoded.as_ref().is_err_and(|error| error.cause != Cause::NotInDictionary) {
            self.misfits.fetch_add(1, Ordering::Relaxed);
        }
        match (decoded, self.unreadable) {
            (Ok(decoded), _) => Ok(!self.has_residual || self.plan.admits(&decoded)),
            (Err(_), Unreadable::Return) => Ok(true),
            (Err(_), Unreadable::Count) => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                Ok(false)
            }
            (Err(error), Unreadable::Fail) => Err(Error::from(error).at(format_args!("row {}", print_bytes(row.key())))),
        }
    }

    fn is_reverse(&self) -> bool {
        self.plan.query().reverse
    }
}

/// Where the reading of one range stands. It goes into each piece of reading and comes back with the rows.
pub(super) struct Cursor {
    shared: Arc<Shared>,
    range: KeyRange,
    /// What no scan has been opened for.
    left: RowRange,
    stream: Option<RowStream>,
    /// Rows the open scan was asked for, and rows it gave; without a number it gives all.
    asked: Option<usize>,
    given: usize,
    /// Rows still wanted of this range; only where no row is looked at again.
    wanted: Option<usize>,
    /// Of a skip scan: what to read of the value it is at.
    found: VecDeque<RowRange>,
    is_over: bool,
}

/// Rows of one piece, none at the end of the range, with the cursor for the next piece.
pub(super) type Piece = (Cursor, Result<Vec<Row>>);

impl Cursor {
    /// `first` is how many rows the first scan asks for, if the range need not be read to its end.
    pub(super) fn new(shared: Arc<Shared>, range: KeyRange, wanted: Option<usize>, first: Option<usize>) -> Self {
        let left = range.range.clone();
        Self { shared, range, left, stream: None, asked: first, given: 0, wanted, found: VecDeque::new(), is_over: wanted == Some(0) }
    }

    /// Whether nothing comes any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads until there are rows, or the range ends.
    pub(super) async fn read(mut self) -> Piece {
        match self.next_rows().await {
            Ok(rows) => {
                self.is_over |= rows.is_empty();
                (self, Ok(rows))
            }
            Err(error) => {
                let place = format!("table {}, {}", self.shared.table.name(), describe(&self.range.range));
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
            self.note(&rows);
            let mut failed = None;
            rows.retain(|row| {
                failed.is_none()
                    && self.shared.keeps(row).unwrap_or_else(|error| {
                        failed = Some(error);
                        false
                    })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }

    /// Keeps account of what a scan gave, and lets it go when it has given all.
    fn note(&mut self, rows: &[Row]) {
        self.shared.examined.fetch_add(rows.len() as u64, Ordering::Relaxed);
        self.given += rows.len();
        if let Some(wanted) = &mut self.wanted {
            *wanted = wanted.saturating_sub(rows.len());
            self.is_over |= *wanted == 0;
        }
        let asked_all = self.asked.is_some_and(|asked| self.given >= asked);
        match rows.last() {
            Some(last) if self.asked.is_some() => {
                let key = Bound::Excluded(halite_types::Bytes::copy_from_slice(last.key()));
                if self.shared.is_reverse() { self.left.end = key } else { self.left.start = key }
            }
            _ => {}
        }
        if asked_all {
            // What was enough for nobody is asked for in pieces that grow.
            self.asked = self.asked.map(|asked| asked.saturating_mul(4));
            self.stream = None;
        } else if rows.is_empty() {
            self.stream = None;
            self.is_over |= !self.shared.plan.is_skip_scan();
        }
    }

    /// Opens the next scan; whether there is one.
    async fn open_next(&mut self) -> Result<bool> {
        if self.shared.plan.is_skip_scan() && self.found.is_empty() {
            self.skip_to_next().await?;
            self.asked = None;
        }
        let range = if self.shared.plan.is_skip_scan() {
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
        self.asked = self.asked.map(|asked| asked.min(self.wanted.unwrap_or(usize::MAX)));
        self.given = 0;
        self.stream = Some(self.scan(range, self.asked));
        Ok(true)
    }

    fn scan(&self, range: RowRange, limit: Option<usize>) -> RowStream {
        let scan = Scan { range, limit, reverse: self.shared.is_reverse(), ..self.shared.template.clone() };
        self.shared.table.scan(scan)
    }

    /// Looks the next value up that the open segment has, and what to read of it. Values of which nothing is wanted are passed.
    async fn skip_to_next(&mut self) -> Result<()> {
        while self.found.is_empty() && !self.left.is_empty() {
            let Some(row) = self.scan(self.left.clone(), Some(1)).next().await? else {
                self.left = RowRange { start: Bound::Excluded(Vec::new().into()), end: Bound::Included(Vec::new().into()) };
                return Ok(());
            };
            self.shared.examined.fetch_add(1, Ordering::Relaxed);
            let reverse = self.shared.is_reverse();
            let Ok(step) = self.shared.plan.skip_step(&self.range, row.key()) else {
                // No value can be told; the row itself is dealt with as every row that is no key.
                let key = halite_types::Bytes::copy_from_slice(row.key());
                self.found.push_back(RowRange { start: Bound::Included(key.clone()), end: Bound::Included(key.clone()) });
                *(if reverse { &mut self.left.end } else { &mut self.left.start }) = Bound::Excluded(key);
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
        Bound::Included(key) | Bound::Excluded(key) => print_bytes(key),
        Bound::Unbounded => String::new(),
    };
    // Writing to a string does not fail.
    let _ = write!(out, "{} .. {}", bound(&range.start), bound(&range.end));
    out
}
