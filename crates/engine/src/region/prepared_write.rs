//! Prepared writes: the cells of one commit and everything that one pass over them found out.
//!
//! Three passes read the bytes of every cell after it has been decoded. The first checks and stamps
//! it ([`PreparedWrite::add`]), the second copies it to the log with its checksum, the third copies
//! it to the memstore. Few cells are read more often: deletes and computed values whose timestamps
//! are recorded, all cells of a write with tags, to find overwritten ones, and those of a write
//! whose table was altered meanwhile. The family of a cell is looked up in the
//! first pass, and again only if the cells or the families have changed.

use std::collections::HashMap;
use std::sync::Arc;

use halite_types::cell::read_cell;
use halite_types::{CellRef, CellsBuilder, LATEST_TIMESTAMP, Result, RowOp};

use super::snapshot::RegionSnapshot;
use crate::wal::{Nonce, SyncLevel};

/// Cells that are adjacent in a write and of one family.
#[derive(Clone, Copy)]
pub(super) struct FamilyRun<'a> {
    /// Index of the family in the snapshot.
    pub(super) family: usize,
    /// Encoded cells.
    pub(super) cells: &'a [u8],
}

/// Returns the cells that a prepared write has, or a part of one, with a sequence id.
#[inline]
pub(super) fn cells_of(encoded: &[u8], sequence: u64) -> impl Iterator<Item = CellRef<'_>> + Clone {
    let mut rest = encoded;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (cell, after) = read_cell(rest, sequence).expect("a prepared write has whole cells");
        rest = after;
        Some(cell)
    })
}

/// Kind of the operations that a write was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WriteOrigin {
    /// Puts and deletes.
    #[default]
    Plain,
    Increment,
    Append,
    /// One operation whose condition held.
    CheckAndMutate,
    /// Several operations that are written together.
    RowMutations,
}

impl WriteOrigin {
    pub(super) fn of(op: &RowOp) -> Self {
        match op {
            RowOp::Increment(_) => Self::Increment,
            RowOp::Append(_) => Self::Append,
            RowOp::CheckAndMutate(_) => Self::CheckAndMutate,
            RowOp::Mutate(_) => Self::RowMutations,
            RowOp::Put(_) | RowOp::Delete(_) => Self::Plain,
        }
    }
}

/// Cells of an operation that were added to a prepared write.
pub(super) struct AddedCells<'a> {
    /// Encoded cells.
    pub(super) cells: &'a [u8],
    /// Largest timestamp; `i64::MIN` without cells.
    pub(super) max_timestamp: i64,
}

/// Stamped and checked cells of one commit, in the order of the operations.
pub(super) struct PreparedWrite<'a> {
    /// Snapshot whose families the indexes of the runs denote.
    snapshot: &'a RegionSnapshot,
    /// Runs of cells. The first one takes no allocation: most writes have no other.
    first: Option<FamilyRun<'a>>,
    rest: Vec<FamilyRun<'a>>,
    /// Number of operations.
    pub(super) requests: usize,
    /// Kind of these operations.
    pub(super) origin: WriteOrigin,
    /// Encoded bytes of all cells.
    pub(super) bytes: usize,
    /// `true` if any cell has tags.
    has_tags: bool,
    /// Progress that the log must make; `None` if the write is not logged.
    pub(super) level: Option<SyncLevel>,
    pub(super) nonce: Option<Nonce>,
}

impl<'a> PreparedWrite<'a> {
    /// Returns a write without cells, with room for one run of each of `operations` operations.
    pub(super) fn new(snapshot: &'a RegionSnapshot, operations: usize) -> Self {
        Self {
            snapshot,
            first: None,
            rest: Vec::with_capacity(operations.saturating_sub(1)),
            requests: 0,
            origin: WriteOrigin::default(),
            bytes: 0,
            has_tags: false,
            level: None,
            nonce: None,
        }
    }

    /// Adds the cells of an operation. Cells without a timestamp get `now`.
    ///
    /// # Errors
    /// `NoSuchFamily`, or the first error of `check`. Nothing is added in that case.
    pub(super) fn add(
        &mut self,
        cells: &'a mut CellsBuilder,
        now: i64,
        level: Option<SyncLevel>,
        check: impl Fn(CellRef<'_>) -> Result<()>,
    ) -> Result<AddedCells<'a>> {
        let mut runs = Runs::new(self.snapshot);
        let mut max_timestamp = i64::MIN;
        cells.try_map_timestamps(|cell, end| {
            runs.add(cell, end)?;
            check(cell)?;
            let timestamp = cell.timestamp();
            let timestamp = if timestamp == LATEST_TIMESTAMP { now } else { timestamp };
            max_timestamp = max_timestamp.max(timestamp);
            Ok(timestamp)
        })?;
        let cells = cells.bytes();
        self.add_runs(runs, cells);
        self.requests += 1;
        // The highest durability applies to all operations, because they are one record of the log.
        self.level = self.level.max(level);
        Ok(AddedCells { cells, max_timestamp })
    }

    /// Returns the snapshot whose families the runs have.
    pub(super) fn snapshot(&self) -> &'a RegionSnapshot {
        self.snapshot
    }

    /// Returns the runs in the order of their cells.
    pub(super) fn runs(&self) -> impl Iterator<Item = FamilyRun<'a>> + Clone {
        self.first.iter().chain(&self.rest).copied()
    }

    /// Returns all cells with a sequence id, in their order.
    pub(super) fn cells(&self, sequence: u64) -> impl Iterator<Item = CellRef<'a>> + Clone {
        self.runs().flat_map(move |run| cells_of(run.cells, sequence))
    }

    /// Returns `true` if the runs contain the families of this snapshot.
    pub(super) fn is_for(&self, snapshot: &RegionSnapshot) -> bool {
        Arc::ptr_eq(&self.snapshot.families, &snapshot.families)
    }

    /// Returns the write for a snapshot with other families.
    ///
    /// # Errors
    /// `NoSuchFamily` if a family of its cells was dropped.
    pub(super) fn resolved_for<'b>(&self, snapshot: &'b RegionSnapshot) -> Result<PreparedWrite<'b>>
    where
        'a: 'b,
    {
        let mut write = self.without_cells(snapshot);
        self.runs().try_for_each(|run| write.add_encoded(run.cells))?;
        Ok(write)
    }

    /// Returns the cells without those that a later one of the same key replaces, as in HBase's
    /// memstore; `None` if there are none to remove. Only an overwritten cell with tags matters: if
    /// the time to live of the later one ends first, the overwritten one would be visible again.
    pub(super) fn without_overwritten(&self) -> Option<CellsBuilder> {
        if !self.has_tags {
            return None;
        }
        let cells = || self.cells(0).enumerate();
        // Each cell of a merged column is a contribution.
        let is_merged = |cell: CellRef<'_>| self.snapshot.merge_of(cell).is_some();
        let last: HashMap<&[u8], usize> = cells().map(|(at, cell)| (cell.key(), at)).collect();
        if last.len() == cells().count() {
            return None;
        }
        let mut rest = CellsBuilder::default();
        cells()
            .filter(|(at, cell)| last.get(cell.key()) == Some(at) || is_merged(*cell))
            .for_each(|(_, cell)| rest.push(cell));
        Some(rest)
    }

    /// Returns the write with these cells instead of its own.
    ///
    /// # Errors
    /// `NoSuchFamily`.
    pub(super) fn replaced_by<'b>(&self, cells: &'b CellsBuilder) -> Result<PreparedWrite<'b>>
    where
        'a: 'b,
    {
        let mut write = self.without_cells(self.snapshot);
        write.add_encoded(cells.bytes())?;
        Ok(write)
    }

    fn without_cells<'b>(&self, snapshot: &'b RegionSnapshot) -> PreparedWrite<'b> {
        PreparedWrite {
            requests: self.requests,
            origin: self.origin,
            level: self.level,
            nonce: self.nonce,
            ..PreparedWrite::new(snapshot, 1 + self.rest.len())
        }
    }

    fn add_encoded(&mut self, cells: &'a [u8]) -> Result<()> {
        let (mut runs, mut rest) = (Runs::new(self.snapshot), cells);
        while !rest.is_empty() {
            let (cell, after) = read_cell(rest, 0).expect("a prepared write has whole cells");
            runs.add(cell, cells.len() - after.len())?;
            rest = after;
        }
        self.add_runs(runs, cells);
        Ok(())
    }

    fn add_runs(&mut self, runs: Runs<'_>, cells: &'a [u8]) {
        let mut start = 0;
        let last = runs.family.map(|family| (family, cells.len()));
        for (family, end) in runs.ended.into_iter().chain(last) {
            let run = FamilyRun { family, cells: &cells[start..end] };
            start = end;
            if self.first.is_none() {
                self.first = Some(run);
            } else {
                self.rest.push(run);
            }
        }
        assert_eq!(start, cells.len(), "the runs contain all cells of the operation");
        self.bytes += cells.len();
        self.has_tags |= runs.has_tags;
    }
}

/// Division of an operation's cells into runs of one family each.
struct Runs<'a> {
    snapshot: &'a RegionSnapshot,
    /// Families of the earlier runs, and the offsets of their ends.
    ended: Vec<(usize, usize)>,
    /// Family of the last run.
    family: Option<usize>,
    /// Offset of the end of the cells so far.
    end: usize,
    has_tags: bool,
}

impl<'a> Runs<'a> {
    fn new(snapshot: &'a RegionSnapshot) -> Self {
        Self { snapshot, ended: Vec::new(), family: None, end: 0, has_tags: false }
    }

    /// Adds a cell that ends at offset `end`.
    fn add(&mut self, cell: CellRef<'_>, end: usize) -> Result<()> {
        let name = cell.family();
        if self.family.is_none_or(|family| self.snapshot.families[family].name != name) {
            debug_assert!(end > self.end, "a cell has bytes");
            let family = self.snapshot.family_index(name)?;
            if let Some(before) = self.family.replace(family) {
                self.ended.push((before, self.end));
            }
        }
        self.end = end;
        self.has_tags |= !cell.tags().is_empty();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_types::cell::{CellParts, write_tag};
    use halite_types::{CellType, Error, ErrorKind, FamilyDescriptor, TableDescriptor};

    use super::*;
    use crate::Options;
    use crate::memstore::MemTable;
    use crate::region::TableRules;
    use crate::store::StoreSnapshot;

    fn snapshot(families: &[&'static str]) -> RegionSnapshot {
        let table = TableDescriptor::new("t".parse().unwrap());
        let table =
            families.iter().fold(table, |table, name| table.family(FamilyDescriptor::new(*name)));
        let store = |_| StoreSnapshot::new(Arc::new(MemTable::new(4096)), Vec::new(), 0);
        let rules = TableRules::new(&table, &Options::default());
        RegionSnapshot::new(Arc::new(table), rules, families.iter().map(store).collect())
    }

    fn cells(cells: &[(&str, &str, i64, &[u8])]) -> CellsBuilder {
        let mut out = CellsBuilder::default();
        for (family, qualifier, timestamp, tags) in cells {
            out.push_parts(CellParts {
                row: b"r",
                family: family.as_bytes(),
                qualifier: qualifier.as_bytes(),
                timestamp: *timestamp,
                cell_type: CellType::Put,
                value: b"value",
                tags,
            });
        }
        out
    }

    /// Rejects the cells of the qualifier `large`.
    fn accept(cell: CellRef<'_>) -> Result<()> {
        if cell.qualifier() == b"large" { Err(Error::invalid("too large")) } else { Ok(()) }
    }

    /// Returns the family and the qualifiers of each run.
    fn runs(write: &PreparedWrite<'_>) -> Vec<(usize, Vec<u8>)> {
        let qualifiers = |run: FamilyRun<'_>| {
            cells_of(run.cells, 7)
                .inspect(|cell| assert_eq!(cell.sequence_id(), 7))
                .flat_map(|cell| cell.qualifier().to_vec())
                .collect()
        };
        write.runs().map(|run| (run.family, qualifiers(run))).collect()
    }

    #[test]
    fn runs_contain_adjacent_cells_of_one_family() {
        let snapshot = snapshot(&["f", "g"]);
        let mut first = cells(&[("g", "a", 1, b""), ("f", "b", 2, b""), ("f", "c", 3, b"")]);
        let mut second = cells(&[("f", "d", 4, b""), ("g", "e", 5, b"")]);
        let bytes = first.bytes().len() + second.bytes().len();
        let mut write = PreparedWrite::new(&snapshot, 1);
        write.add(&mut first, 9, Some(SyncLevel::Flush), accept).unwrap();
        write.add(&mut second, 9, None, accept).unwrap();
        let of = |family, qualifiers: &str| (family, qualifiers.as_bytes().to_vec());
        assert_eq!(runs(&write), [of(1, "a"), of(0, "bc"), of(0, "d"), of(1, "e")]);
        assert_eq!((write.requests, write.bytes), (2, bytes));
        assert_eq!(write.level, Some(SyncLevel::Flush));
    }

    #[test]
    fn cells_without_timestamp_are_stamped() {
        let snapshot = snapshot(&["f"]);
        let mut stamped = cells(&[("f", "a", LATEST_TIMESTAMP, b""), ("f", "b", 3, b"")]);
        let mut write = PreparedWrite::new(&snapshot, 1);
        let added = write.add(&mut stamped, 9, None, accept).unwrap();
        assert_eq!(added.max_timestamp, 9);
        let stamps: Vec<i64> = write.cells(0).map(|cell| cell.timestamp()).collect();
        assert_eq!(stamps, [9, 3]);
    }

    #[test]
    fn rejected_operation_adds_nothing() {
        let snapshot = snapshot(&["f"]);
        let mut unknown = cells(&[("f", "a", 1, b""), ("x", "b", 1, b"")]);
        let mut large = cells(&[("f", "a", 1, b""), ("f", "large", 1, b"")]);
        let mut kept = cells(&[("f", "c", 1, b"")]);
        let mut write = PreparedWrite::new(&snapshot, 1);
        let error = write.add(&mut unknown, 9, None, accept).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NoSuchFamily);
        assert!(write.add(&mut large, 9, Some(SyncLevel::Fsync), accept).is_err());
        write.add(&mut kept, 9, None, accept).unwrap();
        assert_eq!(runs(&write), [(0, b"c".to_vec())]);
        assert_eq!((write.requests, write.level), (1, None));
    }

    #[test]
    fn altered_table_changes_family_indexes() {
        let (before, after, without) =
            (snapshot(&["f", "g"]), snapshot(&["e", "f", "g"]), snapshot(&["f"]));
        let mut cells = cells(&[("f", "a", 1, b""), ("g", "b", 1, b"")]);
        let mut write = PreparedWrite::new(&before, 1);
        write.add(&mut cells, 9, Some(SyncLevel::Async), accept).unwrap();
        write.nonce = Some(Nonce { group: 1, number: 2 });
        assert!(write.is_for(&before) && !write.is_for(&after));
        assert!(write.is_for(&before.with_stores(before.stores.clone())));
        let resolved = write.resolved_for(&after).unwrap();
        assert_eq!(runs(&resolved), [(1, b"a".to_vec()), (2, b"b".to_vec())]);
        assert_eq!(
            (resolved.requests, resolved.bytes, resolved.level, resolved.nonce),
            (1, write.bytes, write.level, write.nonce)
        );
        let error = write.resolved_for(&without).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NoSuchFamily);
    }

    #[test]
    fn only_tagged_writes_lose_overwritten_cells() {
        let (snapshot, mut tags) = (snapshot(&["f"]), Vec::new());
        write_tag(&mut tags, 8, &5_i64.to_be_bytes());
        for (tags, expected) in [(&tags[..], Some(&b"ba"[..])), (b"", None)] {
            let mut cells = cells(&[("f", "a", 1, tags), ("f", "b", 1, b""), ("f", "a", 1, b"")]);
            let mut write = PreparedWrite::new(&snapshot, 1);
            write.add(&mut cells, 9, None, accept).unwrap();
            let rest = write.without_overwritten();
            let qualifiers = |cells: &CellsBuilder| {
                cells.iter().flat_map(|cell| cell.qualifier().to_vec()).collect::<Vec<_>>()
            };
            assert_eq!(rest.as_ref().map(qualifiers).as_deref(), expected);
            if let Some(rest) = rest {
                let replaced = write.replaced_by(&rest).unwrap();
                assert_eq!(runs(&replaced), [(0, b"ba".to_vec())]);
            }
        }
    }
}
