//! `MultiRowRangeFilter`: rows in one of several ranges, with jumps between them.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::cell::{self, CellRef};
use halite_types::{Error, Result};

use super::evaluate::{Evaluate, ReturnCode};

type RowRange = halite_types::key::RowRange;

/// Sorted ranges that do not touch.
pub(super) struct MultiRowRange {
    ranges: Vec<RowRange>,
    reversed: bool,
    done: bool,
    code: ReturnCode,
    hint: Option<Bytes>,
}

impl MultiRowRange {
    pub(super) fn new(given: &[RowRange]) -> Result<Self> {
        if given.is_empty() {
            return Err(Error::invalid(
                "filter: a MultiRowRangeFilter has no ranges; give at least one",
            ));
        }
        let ranges: Vec<RowRange> = given.iter().map(without_empty_end).collect();
        if let Some(wrong) = ranges.iter().find(|range| !is_valid(range)) {
            return Err(Error::invalid(format!(
                "filter: the range {wrong:?} of a MultiRowRangeFilter ends before it begins; swap \
                 its rows"
            )));
        }
        Ok(Self {
            ranges: merged(ranges),
            reversed: false,
            done: false,
            code: ReturnCode::NextRow,
            hint: None,
        })
    }

    /// Returns the range that contains the row or that a scan of this direction reaches next.
    fn current_or_next(&self, row: &[u8]) -> Option<&RowRange> {
        if self.reversed {
            let behind = self.ranges.partition_point(|range| !is_before_start(range, row));
            self.ranges[..behind].last()
        } else {
            self.ranges.get(self.ranges.partition_point(|range| range.is_past_end(row)))
        }
    }
}

impl Evaluate for MultiRowRange {
    fn set_reversed(&mut self, reversed: bool) {
        self.reversed = reversed;
    }

    fn filter_all_remaining(&self) -> bool {
        self.done
    }

    fn filter_row_key(&mut self, row: &[u8]) -> bool {
        if self.done {
            return true;
        }
        self.hint = None;
        let Some(range) = self.current_or_next(row) else {
            self.done = true;
            self.code = ReturnCode::NextRow;
            return false;
        };
        let bound = if self.reversed { &range.end } else { &range.start };
        (self.code, self.hint) = match bound {
            _ if range.contains(row) => (ReturnCode::Include, None),
            Bound::Excluded(edge) if edge == row => (ReturnCode::NextRow, None),
            Bound::Included(edge) | Bound::Excluded(edge) => {
                (ReturnCode::SeekNextUsingHint, Some(edge.clone()))
            }
            Bound::Unbounded => (ReturnCode::NextRow, None),
        };
        false
    }

    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        self.code
    }

    fn next_cell_hint(&mut self, _cell: CellRef<'_>) -> Option<Vec<u8>> {
        self.hint.as_ref().map(|row| cell::first_on_row(row))
    }

    fn is_hinting(&self) -> bool {
        true
    }
}

/// Replaces an empty end by the end of the table, as everywhere in HBase.
fn without_empty_end(range: &RowRange) -> RowRange {
    let end = match &range.end {
        Bound::Included(end) | Bound::Excluded(end) if end.is_empty() => Bound::Unbounded,
        end => end.clone(),
    };
    RowRange { start: range.start.clone(), end }
}

/// Returns `true` if the range is valid. A single row is a range if its end is inclusive, whatever
/// the start bound.
fn is_valid(range: &RowRange) -> bool {
    let (Bound::Included(start) | Bound::Excluded(start)) = &range.start else { return true };
    match &range.end {
        Bound::Unbounded => true,
        Bound::Included(end) => start.is_empty() || start <= end,
        Bound::Excluded(end) => start.is_empty() || start < end,
    }
}

fn is_before_start(range: &RowRange, row: &[u8]) -> bool {
    match &range.start {
        Bound::Unbounded => false,
        Bound::Included(start) => row < &start[..],
        Bound::Excluded(start) => row <= &start[..],
    }
}

/// Sorts by start and joins overlapping and adjacent ranges.
fn merged(mut ranges: Vec<RowRange>) -> Vec<RowRange> {
    ranges.sort_by(|a, b| start_rank(a).cmp(&start_rank(b)));
    let mut joined: Vec<RowRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if touches(last, &range) => {
                if end_rank(&range) > end_rank(last) {
                    last.end = range.end;
                }
            }
            _ => joined.push(range),
        }
    }
    joined
}

fn start_rank(range: &RowRange) -> (&[u8], bool) {
    match &range.start {
        Bound::Unbounded => (&[], false),
        Bound::Included(start) => (start, false),
        Bound::Excluded(start) => (start, true),
    }
}

fn end_rank(range: &RowRange) -> (bool, &[u8], bool) {
    match &range.end {
        Bound::Unbounded => (true, &[], false),
        Bound::Excluded(end) => (false, end, false),
        Bound::Included(end) => (false, end, true),
    }
}

/// Returns `true` if there is no gap between the end of `first` and the start of `second`, which
/// does not start before `first`.
fn touches(first: &RowRange, second: &RowRange) -> bool {
    let (start, start_excluded) = start_rank(second);
    match &first.end {
        Bound::Unbounded => true,
        Bound::Included(end) => start <= &end[..],
        Bound::Excluded(end) => start < &end[..] || (start == &end[..] && !start_excluded),
    }
}
