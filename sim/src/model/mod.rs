//! Model: every cell ever written to a table, and HBase's rules for what a read returns.
//!
//! It is intentionally slow and simple and independent of memstores and files. One behavior does
//! depend on them: a cell that a read did not return (too many newer versions, deleted, expired)
//! may be dropped by a flush or a compaction, or may reappear when the cell that hid it is dropped,
//! and HBase promises neither. So the model marks such cells as *doubtful* at every event that may
//! drop them ([`Model::record_flush`], [`Model::record_compaction`]), and a read has as many
//! correct results as there are ways to have dropped doubtful cells. HBase's promises stay strict.
//! A marker is dropped only after the cells that it hid when it was written, so no deleted cell
//! reappears. (A cell that is written later with an older timestamp may reappear: it can be in
//! memory while the files are compacted.) A cell that no flush or compaction could drop is never
//! doubtful. After [`Model::record_major_compaction`] no cell is doubtful.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::key::to_string_binary;
use halite_types::{
    CellType, FamilyDescriptor, KeepDeletedCells, Selection, TableDescriptor, TimeRange,
};

mod apply;
mod results;
#[cfg(test)]
mod tests;

pub use apply::{Effect, ExpectedError, merge_batch};
pub use results::{AcceptedResults, VisibleCell};

/// Retention rules from a family's descriptor.
#[derive(Clone, Debug)]
struct FamilyRules {
    family: Bytes,
    versions: usize,
    min_versions: usize,
    ttl_ms: Option<i64>,
    keeps_deleted: bool,
}

impl FamilyRules {
    fn from_descriptor(family: &FamilyDescriptor) -> Self {
        Self {
            family: family.name().clone(),
            versions: family.max_versions() as usize,
            min_versions: family.min_versions() as usize,
            ttl_ms: family.ttl_ms(),
            keeps_deleted: family.keep_deleted_cells() != KeepDeletedCells::False,
        }
    }

    fn is_expired(&self, cell: &ModelCell, now: i64) -> bool {
        self.ttl_ms.is_some_and(|ttl| cell.timestamp < now - ttl)
    }
}

/// Family name or qualifier, packed into a number that sorts and compares as its bytes do, because
/// comparisons dominate the model's running time: the bytes, padded with zeros, and their count in
/// the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackedName(u64);

impl PackedName {
    /// Packs a name of at most seven bytes; the model does not support longer ones.
    pub fn new(name: &[u8]) -> Self {
        let mut packed = [0; 8];
        packed[..7]
            .get_mut(..name.len())
            .expect("the model supports names of at most seven bytes")
            .copy_from_slice(name);
        packed[7] = u8::try_from(name.len()).expect("seven at most");
        Self(u64::from_be_bytes(packed))
    }
}

impl fmt::Display for PackedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packed = self.0.to_be_bytes();
        f.write_str(&to_string_binary(&packed[..usize::from(packed[7])]))
    }
}

/// Cell as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelCell {
    column: PackedName,
    timestamp: i64,
    kind: CellType,
    value: Bytes,
    ttl_ms: Option<i64>,
    /// Time of the write, counted in writes and drops.
    born: u64,
    /// Time from which it may have been dropped.
    doubtful: Option<u64>,
    /// For a marker: `true` if it may be dropped before the puts that it hides.
    early: bool,
}

impl ModelCell {
    fn is_put(&self) -> bool {
        self.kind == CellType::Put
    }

    /// Returns `true` if this marker hides `put`. Only timestamps count, not the order of the
    /// writes.
    fn hides(&self, put: &Self) -> bool {
        let same_column = self.column == put.column;
        match self.kind {
            CellType::Put => false,
            CellType::Delete => same_column && put.timestamp == self.timestamp,
            CellType::DeleteColumn => same_column && put.timestamp <= self.timestamp,
            CellType::DeleteFamily => put.timestamp <= self.timestamp,
            CellType::DeleteFamilyVersion => put.timestamp == self.timestamp,
        }
    }

    /// Returns `true` if the cell's own TTL has expired.
    fn is_expired(&self, now: i64) -> bool {
        self.ttl_ms.is_some_and(|ttl| self.timestamp.saturating_add(ttl) < now)
    }
}

/// Query on one family of a row.
#[derive(Clone, Debug)]
struct ReadQuery {
    columns: Option<Vec<PackedName>>,
    range: TimeRange,
    versions: usize,
    limit: usize,
    offset: usize,
    now: i64,
}

impl ReadQuery {
    fn everything(now: i64) -> Self {
        Self {
            columns: None,
            range: TimeRange::all(),
            versions: usize::MAX,
            limit: usize::MAX,
            offset: 0,
            now,
        }
    }

    fn one_column(qualifier: &[u8], range: TimeRange, now: i64) -> Self {
        Self {
            columns: Some(vec![PackedName::new(qualifier)]),
            range,
            versions: 1,
            ..Self::everything(now)
        }
    }

    /// Returns `None` if the family is not requested.
    fn for_family(selection: &Selection, family: &[u8], now: i64) -> Option<Self> {
        let columns = if selection.columns.is_empty() {
            None
        } else {
            selection.columns.get(family)?.clone()
        };
        Some(Self {
            columns: columns.map(|columns| {
                columns.iter().map(|qualifier| PackedName::new(qualifier)).collect()
            }),
            range: selection.time_range_of(family),
            versions: selection.max_versions as usize,
            limit: selection.family_limit.map_or(usize::MAX, |limit| limit as usize),
            offset: selection.family_offset as usize,
            now,
        })
    }

    fn includes(&self, column: PackedName) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.contains(&column))
    }
}

type Family = Vec<ModelCell>;
type Row = BTreeMap<PackedName, Family>;

/// Every cell of one table, with the rules of its families.
#[derive(Clone, Debug)]
pub struct Model {
    rules: Arc<BTreeMap<PackedName, FamilyRules>>,
    /// Copies of a model share rows until one of them changes.
    rows: BTreeMap<Bytes, Arc<Row>>,
    moment: u64,
}

impl Model {
    /// Creates an empty table.
    pub fn new(table: &TableDescriptor) -> Self {
        let rules = table
            .families()
            .map(|family| (PackedName::new(family.name()), FamilyRules::from_descriptor(family)))
            .collect();
        Self { rules: Arc::new(rules), rows: BTreeMap::new(), moment: 0 }
    }

    /// Returns a model with this row only.
    #[must_use]
    pub fn only(&self, row: &Bytes) -> Self {
        let rows =
            self.rows.get(row).map(|cells| (row.clone(), Arc::clone(cells))).into_iter().collect();
        Self { rules: Arc::clone(&self.rules), rows, moment: self.moment }
    }

    /// Returns the rows that ever had a cell, in order.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &Bytes> {
        self.rows.keys()
    }

    /// Records a possible flush of memstores to files, which drops cells that no read would return,
    /// but no markers.
    pub fn record_flush(&mut self, now: i64) {
        self.doubt(now, false);
    }

    /// Records a possible compaction of files, including one of all files, which drops markers too.
    pub fn record_compaction(&mut self, now: i64) {
        self.doubt(now, true);
    }

    /// Records that everything was flushed and then every store was rewritten into one file: the
    /// remaining cells are those that a read of all versions returns. A row for which that is
    /// uncertain stays doubtful.
    pub fn record_major_compaction(&mut self, now: i64) {
        self.doubt(now, true);
        let everything = ReadQuery::everything(now);
        for row in self.rows.values_mut() {
            for (family, cells) in Arc::make_mut(row) {
                let rules = &self.rules[family];
                if !rules.keeps_deleted && !results::has_doubts(rules, cells, &everything) {
                    *cells =
                        visible(rules, cells.iter(), &everything).into_iter().cloned().collect();
                    for cell in cells {
                        cell.doubtful = None;
                    }
                }
            }
        }
    }

    fn doubt(&mut self, now: i64, markers_too: bool) {
        self.moment += 1;
        for row in self.rows.values_mut() {
            let changes: Vec<(usize, usize, bool, bool)> = row
                .iter()
                .enumerate()
                .flat_map(|(index, (family, cells))| {
                    let rules = &self.rules[family];
                    let change = move |(number, cell): (usize, &ModelCell)| {
                        let droppable = cell.doubtful.is_none()
                            && may_drop(rules, cell, cells, now, markers_too);
                        let early =
                            !cell.is_put() && !cell.early && may_go_early(rules, cell, cells, now);
                        (droppable || early).then_some((index, number, droppable, early))
                    };
                    cells.iter().enumerate().filter_map(change)
                })
                .collect();
            // An unchanged row stays shared.
            if changes.is_empty() {
                continue;
            }
            let mut families: Vec<&mut Family> = Arc::make_mut(row).values_mut().collect();
            for (index, number, droppable, early) in changes {
                let cell = &mut families[index][number];
                cell.doubtful = cell.doubtful.or(droppable.then_some(self.moment));
                cell.early |= early;
            }
        }
    }
}

/// Returns `true` if a flush or compaction of some of the cells may drop this one. A part of the
/// cells may lack deletes, so that it counts versions that a read of all cells would not count.
fn may_drop(
    rules: &FamilyRules,
    cell: &ModelCell,
    cells: &[ModelCell],
    now: i64,
    markers_too: bool,
) -> bool {
    if !cell.is_put() {
        // After the last needed cell of a column the rest of the column is skipped, markers
        // included.
        let covered = cells.iter().any(|other| {
            other.born != cell.born && other.kind != CellType::Delete && other.hides(cell)
        });
        return markers_too || covered || may_go_early(rules, cell, cells, now);
    }
    let rewritten = |other: &ModelCell| {
        other.is_put()
            && other.column == cell.column
            && other.timestamp == cell.timestamp
            && other.born > cell.born
    };
    newer_puts(cell, cells) >= rules.versions
        || is_done_with(rules, cell, cells, now)
        || cell.is_expired(now)
        || cells.iter().any(|other| rewritten(other) || (!rules.keeps_deleted && other.hides(cell)))
}

/// Returns the number of puts of the cell's column with newer timestamps, deleted or not.
fn newer_puts(cell: &ModelCell, cells: &[ModelCell]) -> usize {
    let newer = cells.iter().filter(|other| {
        other.is_put() && other.column == cell.column && other.timestamp > cell.timestamp
    });
    count_different(newer.map(|other| other.timestamp))
}

/// Returns the number of distinct timestamps.
fn count_different(stamps: impl Iterator<Item = i64>) -> usize {
    let mut stamps: Vec<i64> = stamps.collect();
    stamps.sort_unstable();
    stamps.dedup();
    stamps.len()
}

/// Returns `true` if the family's TTL has expired for a cell, and it is not one of the minimum
/// versions either.
fn is_done_with(rules: &FamilyRules, cell: &ModelCell, cells: &[ModelCell], now: i64) -> bool {
    rules.is_expired(cell, now) && newer_puts(cell, cells) >= rules.min_versions
}

/// Returns `true` if a marker may be dropped before the puts that it hides, as in HBase. A column
/// marker may if it is preceded by as many versions as are retained: only the deletion of all the
/// newer ones could reveal the puts. Any expired marker may: its puts have expired, too, and only a
/// clock that is set back could reveal them.
fn may_go_early(rules: &FamilyRules, marker: &ModelCell, cells: &[ModelCell], now: i64) -> bool {
    let is_behind = matches!(marker.kind, CellType::Delete | CellType::DeleteColumn)
        && newer_puts(marker, cells) >= rules.versions;
    !marker.is_put() && (is_behind || is_done_with(rules, marker, cells, now))
}

/// Returns the cells that a read of one family of one row returns, in order, if exactly `cells`
/// exist.
fn visible<'a>(
    rules: &FamilyRules,
    cells: impl Iterator<Item = &'a ModelCell> + Clone,
    question: &ReadQuery,
) -> Vec<&'a ModelCell> {
    // Where deleted cells are retained, a read of an earlier time does not see later markers
    // (KEEP_DELETED_CELLS).
    let markers: Vec<_> = cells
        .clone()
        .filter(|cell| {
            !cell.is_put() && (!rules.keeps_deleted || question.range.contains(cell.timestamp))
        })
        .collect();
    let mut puts: Vec<&ModelCell> = cells
        .filter(|cell| {
            cell.is_put()
                && question.includes(cell.column)
                && question.range.contains(cell.timestamp)
        })
        .filter(|put| {
            !put.is_expired(question.now) && !markers.iter().any(|marker| marker.hides(put))
        })
        .collect();
    puts.sort_by_key(|put| {
        (put.column, std::cmp::Reverse(put.timestamp), std::cmp::Reverse(put.born))
    });
    // Of two puts with the same timestamp the later one counts.
    puts.dedup_by_key(|put| (put.column, put.timestamp));
    let max = rules.versions.min(question.versions);
    let seen = puts.chunk_by(|a, b| a.column == b.column).flat_map(|puts| {
        let kept = puts.iter().take(max).enumerate();
        kept.take_while(|(newer, put)| {
            *newer < rules.min_versions || !rules.is_expired(put, question.now)
        })
        .map(|(_, put)| *put)
    });
    seen.skip(question.offset).take(question.limit).collect()
}
