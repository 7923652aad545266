//! Sorted cells of a store in which the puts of a merged column are one cell.
//!
//! This is the only place where a store merges them, for reads, flushes and compactions alike. The
//! puts of a column that follow one another, with no delete marker between them, become one put: it
//! has the timestamp and the sequence id of the newest. What comes after it, the matcher, sees a
//! column as if it had been written once, so that the rules of versions, markers, time ranges and
//! filters stay HBase's.
//!
//! A contribution is identified by its place in the log. Two puts of one timestamp are two
//! contributions: they have other sequence ids, or were written together and are two cells. A cell
//! is in the memstore or in a file, never in both, because a flush replaces the one by the other at
//! once and replay leaves out what the manifest calls flushed.

use halite_types::cell::{key_timestamp, same_column};
use halite_types::key::to_string_binary;
use halite_types::{CellRef, CellType, Error, Merge, MergeOperator, Result};

use super::merge::MergingIterator;
use super::source::CellSource;

/// How the cells of a family are merged at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeRule {
    pub(crate) operator: MergeOperator,
    /// Older contributions have expired, and are not merged with others.
    pub(crate) oldest_unexpired: i64,
    /// `true` for reads, which refuse a value of any size. A flush or compaction that did so would
    /// never succeed.
    pub(crate) is_bounded: bool,
}

impl MergeRule {
    fn begin(&self, value: &[u8]) -> Result<Merge> {
        let begin = if self.is_bounded { Merge::new } else { Merge::unbounded };
        begin(self.operator, value)
    }
}

/// Merged sources of a store, with merged columns if the family has them.
pub(crate) struct CellStream {
    cells: MergingIterator,
    columns: Option<Box<MergedColumns>>,
}

struct MergedColumns {
    rule: MergeRule,
    /// Put that the ones that were read became, before the next cell of the sources.
    held: Option<HeldPut>,
    /// Row of the family markers.
    row: Vec<u8>,
    /// Timestamps of the markers in that row that hide the whole family, descending.
    family_markers: Vec<i64>,
}

struct HeldPut {
    key: Vec<u8>,
    value: Vec<u8>,
    sequence: u64,
}

impl HeldPut {
    fn cell(&self) -> CellRef<'_> {
        CellRef::new(&self.key, &self.value, b"", self.sequence)
    }
}

impl CellStream {
    /// Returns the cells of sources that [`CellStream::seek`] still has to position.
    pub(crate) fn new(sources: Vec<CellSource>, rule: Option<MergeRule>) -> Self {
        let columns = rule.map(|rule| {
            Box::new(MergedColumns {
                rule,
                held: None,
                row: Vec::new(),
                family_markers: Vec::new(),
            })
        });
        Self { cells: MergingIterator::new(sources), columns }
    }

    /// Returns the next cell.
    #[inline]
    pub(crate) fn peek(&self) -> Option<CellRef<'_>> {
        match self.columns.as_ref().and_then(|columns| columns.held.as_ref()) {
            None => self.cells.peek(),
            Some(held) => Some(held.cell()),
        }
    }

    /// Moves to the next cell.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        let Some(columns) = &mut self.columns else { return self.cells.next() };
        if columns.held.take().is_none() {
            self.cells.next()?;
        }
        columns.merge_next(&mut self.cells)
    }

    /// As [`MergingIterator::seek`].
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        let Some(columns) = &mut self.columns else { return self.cells.seek(key) };
        columns.held = None;
        columns.row.clear();
        columns.family_markers.clear();
        self.cells.seek(key)?;
        columns.merge_next(&mut self.cells)
    }

    /// As [`MergingIterator::seek_forward`].
    pub(crate) fn seek_forward(&mut self, key: &[u8]) -> Result<()> {
        let Some(columns) = &mut self.columns else { return self.cells.seek_forward(key) };
        let is_reached = |held: &HeldPut| halite_types::cell::compare_keys(&held.key, key).is_ge();
        if columns.held.as_ref().is_some_and(is_reached) {
            return Ok(());
        }
        columns.held = None;
        self.cells.seek_forward(key)?;
        columns.merge_next(&mut self.cells)
    }

    /// As [`MergingIterator::row_before`].
    pub(crate) fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        if let Some(columns) = &mut self.columns {
            columns.held = None;
        }
        self.cells.row_before(row)
    }

    /// As [`MergingIterator::out_of_order`].
    pub(crate) fn out_of_order(&self) -> Error {
        self.cells.out_of_order()
    }

    /// As [`MergingIterator::has_lazy`].
    #[inline]
    pub(crate) fn has_lazy(&self) -> bool {
        self.cells.has_lazy()
    }

    /// As [`MergingIterator::lazy_seek_counts`].
    pub(crate) fn lazy_seek_counts(&self) -> (usize, usize) {
        self.cells.lazy_seek_counts()
    }

    /// As [`MergingIterator::memstore_bytes`].
    pub(crate) fn memstore_bytes(&self) -> u64 {
        self.cells.memstore_bytes()
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let held = self.columns.as_ref().and_then(|columns| columns.held.as_ref());
        self.cells.held_bytes() + held.map_or(0, |held| held.key.capacity() + held.value.capacity())
    }
}

impl MergedColumns {
    /// Reads the puts that become the next cell, if that is a put.
    fn merge_next(&mut self, cells: &mut MergingIterator) -> Result<()> {
        debug_assert!(self.held.is_none(), "what was held has been passed");
        let Some(first) = cells.peek() else { return Ok(()) };
        if first.is_delete() {
            self.add_marker(first);
            return Ok(());
        }
        let (key, sequence) = (first.key().to_vec(), first.sequence_id());
        let mut value = first.value().to_vec();
        cells.next()?;
        let mut merge = None;
        while let Some(next) = cells.peek() {
            if !self.merges(&key, next) {
                break;
            }
            let mut merged = match merge.take() {
                Some(merged) => merged,
                None => self.rule.begin(&value).map_err(|error| at(next, &error))?,
            };
            merged.add(next.value()).map_err(|error| at(next, &error))?;
            merge = Some(merged);
            cells.next()?;
        }
        if let Some(merged) = merge {
            value = merged.into_value();
        }
        self.held = Some(HeldPut { key, value, sequence });
        Ok(())
    }

    /// Returns `true` if a cell is merged into the put of `key` before it.
    fn merges(&self, key: &[u8], next: CellRef<'_>) -> bool {
        let (newest, timestamp) = (key_timestamp(key), next.timestamp());
        let is_between = |marker: &i64| timestamp <= *marker && *marker < newest;
        same_column(next.key(), key)
            && !next.is_delete()
            && timestamp >= self.rule.oldest_unexpired
            && !(self.row == next.row() && self.family_markers.iter().any(is_between))
    }

    fn add_marker(&mut self, marker: CellRef<'_>) {
        if marker.type_code() != CellType::DeleteFamily.code() {
            return;
        }
        if self.row != marker.row() {
            self.row.clear();
            self.row.extend_from_slice(marker.row());
            self.family_markers.clear();
        }
        self.family_markers.push(marker.timestamp());
    }
}

/// Returns the error for a value that is no contribution. Such a value is refused when it is
/// written.
#[cold]
fn at(cell: CellRef<'_>, error: &Error) -> Error {
    Error::corrupt(format!(
        "row {}, column {}:{}: {}; delete the column",
        to_string_binary(cell.row()),
        to_string_binary(cell.family()),
        to_string_binary(cell.qualifier()),
        error.message()
    ))
}
