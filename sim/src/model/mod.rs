//! The model: every cell ever written to a table, and HBase's rules of what a read sees of them.
//!
//! It is slow and simple on purpose and knows nothing of memstores and files. One thing does depend on them: a cell
//! that a read did not see (too many newer versions, deleted, expired) may be dropped for good by a flush or a
//! compaction, or may come back when what hid it goes away, and HBase promises neither. So the model marks such cells
//! as *doubtful* whenever something happens that may drop them ([`Model::note_flush`], [`Model::note_compaction`]),
//! and a read has as many right answers as there are ways to have dropped doubtful cells. What HBase does promise stays
//! strict: a marker is dropped only after the cells that it hid when it was written, so nothing deleted comes back (what
//! is written later with an older timestamp may: it can be in memory while the files are compacted); and a cell that
//! no flush or compaction could drop is never doubtful. After [`Model::note_major_compaction`] doubts are settled.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::key::print_bytes;
use halite_types::{CellType, FamilyDescriptor, KeepDeletedCells, Selection, TableDescriptor, TimeRange};

mod answers;
mod apply;
#[cfg(test)]
mod tests;

pub use answers::{Answers, Seen};
pub use apply::{Effect, Refusal, note_batch};

/// What a family's descriptor says about keeping cells.
#[derive(Clone, Debug)]
struct Rules {
    family: Bytes,
    versions: usize,
    min_versions: usize,
    ttl_ms: Option<i64>,
    keeps_deleted: bool,
}

impl Rules {
    fn of(family: &FamilyDescriptor) -> Self {
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

/// The name of a family, or a qualifier, packed into a number that sorts and compares as its bytes do, because the model does
/// little else than compare: the bytes, zeros behind them, and their count in the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(u64);

impl Name {
    /// A name of seven bytes at most; longer ones are not for the model.
    pub fn new(name: &[u8]) -> Self {
        let mut packed = [0; 8];
        packed[..7].get_mut(..name.len()).expect("the model knows names of seven bytes at most").copy_from_slice(name);
        packed[7] = u8::try_from(name.len()).expect("seven at most");
        Self(u64::from_be_bytes(packed))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packed = self.0.to_be_bytes();
        f.write_str(&print_bytes(&packed[..usize::from(packed[7])]))
    }
}

/// A cell as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelCell {
    column: Name,
    timestamp: i64,
    kind: CellType,
    value: Bytes,
    ttl_ms: Option<i64>,
    /// When it was written, counted in writes and drops.
    born: u64,
    /// Since when it may have been dropped.
    doubtful: Option<u64>,
    /// For a marker: whether it may go before the puts that it hides.
    early: bool,
}

impl ModelCell {
    fn is_put(&self) -> bool {
        self.kind == CellType::Put
    }

    /// Whether this marker hides `put`. Only timestamps count, not which was written first.
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

    /// Whether the cell's own time to live is over.
    fn is_over(&self, now: i64) -> bool {
        self.ttl_ms.is_some_and(|ttl| self.timestamp.saturating_add(ttl) < now)
    }
}

/// What is asked about one family of a row.
#[derive(Clone, Debug)]
struct Question {
    columns: Option<Vec<Name>>,
    range: TimeRange,
    versions: usize,
    limit: usize,
    offset: usize,
    now: i64,
}

impl Question {
    fn everything(now: i64) -> Self {
        Self { columns: None, range: TimeRange::all(), versions: usize::MAX, limit: usize::MAX, offset: 0, now }
    }

    fn one_column(qualifier: &[u8], range: TimeRange, now: i64) -> Self {
        Self { columns: Some(vec![Name::new(qualifier)]), range, versions: 1, ..Self::everything(now) }
    }

    /// `None` if the family is not asked for.
    fn of(selection: &Selection, family: &[u8], now: i64) -> Option<Self> {
        let columns = if selection.columns.is_empty() { None } else { selection.columns.get(family)?.clone() };
        Some(Self {
            columns: columns.map(|columns| columns.iter().map(|qualifier| Name::new(qualifier)).collect()),
            range: selection.time_range_of(family),
            versions: selection.max_versions as usize,
            limit: selection.family_limit.map_or(usize::MAX, |limit| limit as usize),
            offset: selection.family_offset as usize,
            now,
        })
    }

    fn asks_for(&self, column: Name) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.contains(&column))
    }
}

type Family = Vec<ModelCell>;
type Row = BTreeMap<Name, Family>;

/// Every cell of one table, with the rules of its families.
#[derive(Clone, Debug)]
pub struct Model {
    rules: Arc<BTreeMap<Name, Rules>>,
    /// Rows are shared by models that were copied from each other until one of them changes.
    rows: BTreeMap<Bytes, Arc<Row>>,
    moment: u64,
}

impl Model {
    /// An empty table.
    pub fn new(table: &TableDescriptor) -> Self {
        let rules = table.families().map(|family| (Name::new(family.name()), Rules::of(family))).collect();
        Self { rules: Arc::new(rules), rows: BTreeMap::new(), moment: 0 }
    }

    /// The same with this row alone.
    #[must_use]
    pub fn only(&self, row: &Bytes) -> Self {
        let rows = self.rows.get(row).map(|cells| (row.clone(), Arc::clone(cells))).into_iter().collect();
        Self { rules: Arc::clone(&self.rules), rows, moment: self.moment }
    }

    /// The rows that ever had a cell, in order.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &Bytes> {
        self.rows.keys()
    }

    /// Memstores may have been written to files, which drops what no read would see, but no markers.
    pub fn note_flush(&mut self, now: i64) {
        self.doubt(now, false);
    }

    /// Files may have been compacted, all of them perhaps, which drops markers too.
    pub fn note_compaction(&mut self, now: i64) {
        self.doubt(now, true);
    }

    /// Everything was flushed and then every store was rewritten into one file: what is left is what a read of all
    /// versions sees. A row of which that is not certain stays as it is, in doubt.
    pub fn note_major_compaction(&mut self, now: i64) {
        self.doubt(now, true);
        let everything = Question::everything(now);
        for row in self.rows.values_mut() {
            for (family, cells) in Arc::make_mut(row) {
                let rules = &self.rules[family];
                if !rules.keeps_deleted && !answers::has_doubts(rules, cells, &everything) {
                    *cells = visible(rules, cells.iter(), &everything).into_iter().cloned().collect();
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
                .flat_map(|(at, (family, cells))| {
                    let rules = &self.rules[family];
                    let change = move |(number, cell): (usize, &ModelCell)| {
                        let droppable = cell.doubtful.is_none() && may_drop(rules, cell, cells, now, markers_too);
                        let early = !cell.is_put() && !cell.early && may_go_early(rules, cell, cells, now);
                        (droppable || early).then_some((at, number, droppable, early))
                    };
                    cells.iter().enumerate().filter_map(change)
                })
                .collect();
            // A row in which nothing changes stays shared.
            if changes.is_empty() {
                continue;
            }
            let mut families: Vec<&mut Family> = Arc::make_mut(row).values_mut().collect();
            for (at, number, droppable, early) in changes {
                let cell = &mut families[at][number];
                cell.doubtful = cell.doubtful.or(droppable.then_some(self.moment));
                cell.early |= early;
            }
        }
    }
}

/// Whether a flush or compaction of some of the cells may drop this one. Deletes that a part of the cells does not
/// contain make versions count that a read of all cells would not count.
fn may_drop(rules: &Rules, cell: &ModelCell, cells: &[ModelCell], now: i64, markers_too: bool) -> bool {
    if !cell.is_put() {
        // Where a column is done with, what stands behind in it is skipped, markers as well.
        let covered = cells.iter().any(|other| other.born != cell.born && other.kind != CellType::Delete && other.hides(cell));
        return markers_too || covered || may_go_early(rules, cell, cells, now);
    }
    let rewritten = |other: &ModelCell| other.is_put() && other.column == cell.column && other.timestamp == cell.timestamp && other.born > cell.born;
    newer_puts(cell, cells) >= rules.versions
        || is_done_with(rules, cell, cells, now)
        || cell.is_over(now)
        || cells.iter().any(|other| rewritten(other) || (!rules.keeps_deleted && other.hides(cell)))
}

/// Puts of the cell's column with newer timestamps, deleted or not.
fn newer_puts(cell: &ModelCell, cells: &[ModelCell]) -> usize {
    let newer = cells.iter().filter(|other| other.is_put() && other.column == cell.column && other.timestamp > cell.timestamp);
    count_different(newer.map(|other| other.timestamp))
}

/// How many different timestamps these are.
fn count_different(stamps: impl Iterator<Item = i64>) -> usize {
    let mut stamps: Vec<i64> = stamps.collect();
    stamps.sort_unstable();
    stamps.dedup();
    stamps.len()
}

/// Whether the family's time to live is over for a cell, and it is not kept as one of the least versions either.
fn is_done_with(rules: &Rules, cell: &ModelCell, cells: &[ModelCell], now: i64) -> bool {
    rules.is_expired(cell, now) && newer_puts(cell, cells) >= rules.min_versions
}

/// Whether a marker may go before the puts that it hides, as in HBase. One of a column may if it stands behind as many
/// versions as are kept: only the deletion of all the newer ones could show the puts. Any may that has expired: its puts
/// have, too, and only a clock that is set back could show them.
fn may_go_early(rules: &Rules, marker: &ModelCell, cells: &[ModelCell], now: i64) -> bool {
    let is_behind = matches!(marker.kind, CellType::Delete | CellType::DeleteColumn) && newer_puts(marker, cells) >= rules.versions;
    !marker.is_put() && (is_behind || is_done_with(rules, marker, cells, now))
}

/// What a read of one family of one row sees, in order, if exactly `cells` are there.
fn visible<'a>(rules: &Rules, cells: impl Iterator<Item = &'a ModelCell> + Clone, question: &Question) -> Vec<&'a ModelCell> {
    // Where deleted cells are kept, a read of an earlier time does not see later markers (KEEP_DELETED_CELLS).
    let markers: Vec<_> = cells.clone().filter(|cell| !cell.is_put() && (!rules.keeps_deleted || question.range.contains(cell.timestamp))).collect();
    let mut puts: Vec<&ModelCell> = cells
        .filter(|cell| cell.is_put() && question.asks_for(cell.column) && question.range.contains(cell.timestamp))
        .filter(|put| !put.is_over(question.now) && !markers.iter().any(|marker| marker.hides(put)))
        .collect();
    puts.sort_by_key(|put| (put.column, std::cmp::Reverse(put.timestamp), std::cmp::Reverse(put.born)));
    // Of two puts with one timestamp the later one counts.
    puts.dedup_by_key(|put| (put.column, put.timestamp));
    let most = rules.versions.min(question.versions);
    let seen = puts.chunk_by(|a, b| a.column == b.column).flat_map(|puts| {
        let kept = puts.iter().take(most).enumerate();
        kept.take_while(|(newer, put)| *newer < rules.min_versions || !rules.is_expired(put, question.now)).map(|(_, put)| *put)
    });
    seen.skip(question.offset).take(question.limit).collect()
}
