//! What a reading of cells shows: sizes of rows, families, lives, delete markers, and how values change.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{CellRef, CellType, Row};

/// Versions of one column that are compared.
const VERSIONS: usize = 4;
/// Bytes of a value that are kept to be compared with an older one.
const VALUE_BYTES: usize = 256;
/// Columns of which something is kept.
const COLUMNS_MAX: usize = 1024;

/// What the cells of some rows show; filled by [`Self::see`] from the pieces of a scan, best of one that is raw and has
/// several versions. It holds a few counts and examples, however much is read.
#[derive(Clone, Debug, Default)]
pub struct CellSample {
    pub(super) rows: usize,
    pub(super) widest: WideRow,
    pub(super) families: BTreeMap<Bytes, FamilySeen>,
    /// The longest run of rows with no cell that is alive, and its first key.
    pub(super) dead: DeadRun,
    pub(super) appended: Option<Appended>,
    /// Columns by family and qualifier with the longest value that is a multiple of eight bytes above eight.
    pub(super) longs: BTreeMap<(Bytes, Bytes), usize>,
    pub(super) counter: Option<Counter>,
    run: DeadRun,
    row: RowSeen,
}

/// A row with many cells.
#[derive(Clone, Debug, Default)]
pub(super) struct WideRow {
    pub(super) key: Bytes,
    pub(super) cells: usize,
    pub(super) bytes: usize,
}

/// What was seen of a family.
#[derive(Clone, Debug, Default)]
pub(super) struct FamilySeen {
    pub(super) rows: usize,
    /// The longest life that a cell was given by itself, in milliseconds.
    pub(super) ttl_ms: Option<i64>,
}

/// Rows one behind the other of which nothing is left but delete markers and what they hide.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadRun {
    pub(super) rows: usize,
    pub(super) key: Bytes,
}

/// A value each of whose versions is the older one with something behind it.
#[derive(Clone, Debug)]
pub(super) struct Appended {
    pub(super) key: Bytes,
    pub(super) column: String,
    /// Lengths, the oldest first.
    pub(super) lengths: Vec<usize>,
    pub(super) by: AppendedAs,
}

/// A number that grows from version to version.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub(super) key: Bytes,
    pub(super) column: String,
    pub(super) per_second: f64,
}

/// The row that is being read.
#[derive(Clone, Debug, Default)]
struct RowSeen {
    key: Bytes,
    cells: usize,
    bytes: usize,
    alive: bool,
    family: Bytes,
    /// Whether the family has a cell that is no marker.
    has_family: bool,
    family_deleted: Option<i64>,
    column: Bytes,
    column_deleted: Option<i64>,
    cell_deleted: Option<i64>,
    versions: Vec<Version>,
}

#[derive(Clone, Debug)]
struct Version {
    timestamp: i64,
    length: usize,
    value: Bytes,
}

impl CellSample {
    /// Takes in the next row of a scan, or the next piece of one.
    pub fn see(&mut self, piece: &Row) {
        for cell in piece {
            if self.row.key != cell.row() {
                self.end_row();
                self.row.key = Bytes::copy_from_slice(cell.row());
            }
            self.cell(&cell);
        }
    }

    /// Says that rows which come next do not follow those before, or that none come.
    pub fn end_of_range(&mut self) {
        self.end_row();
        self.run = DeadRun::default();
    }

    /// How many rows were seen.
    pub fn rows(&self) -> usize {
        self.rows
    }

    fn cell(&mut self, cell: &CellRef<'_>) {
        if self.row.family != cell.family() || self.row.cells == 0 {
            self.end_family();
            self.row.family = Bytes::copy_from_slice(cell.family());
        }
        if self.row.column != cell.qualifier() {
            self.end_column();
            self.row.column = Bytes::copy_from_slice(cell.qualifier());
        }
        let row = &mut self.row;
        row.cells += 1;
        row.bytes = row.bytes.saturating_add(cell.key().len() + cell.value().len());
        let timestamp = cell.timestamp();
        match cell.cell_type() {
            Some(CellType::Put) => self.put(cell, timestamp),
            Some(CellType::DeleteFamily) => row.family_deleted = row.family_deleted.max(Some(timestamp)),
            Some(CellType::DeleteColumn) => row.column_deleted = row.column_deleted.max(Some(timestamp)),
            Some(CellType::Delete | CellType::DeleteFamilyVersion) => row.cell_deleted = Some(timestamp),
            None => {}
        }
    }

    fn put(&mut self, cell: &CellRef<'_>, timestamp: i64) {
        let row = &mut self.row;
        row.has_family = true;
        let hidden = row.family_deleted.max(row.column_deleted) >= Some(timestamp) || row.cell_deleted == Some(timestamp);
        row.alive |= !hidden;
        if row.versions.len() < VERSIONS {
            let value = Bytes::copy_from_slice(&cell.value()[..cell.value().len().min(VALUE_BYTES)]);
            row.versions.push(Version { timestamp, length: cell.value().len(), value });
        }
        if let Some(ms) = cell.ttl_ms() {
            let seen = self.families.entry(row.family.clone()).or_default();
            seen.ttl_ms = seen.ttl_ms.max(Some(ms));
        }
    }

    fn end_column(&mut self) {
        let row = &mut self.row;
        (row.column_deleted, row.cell_deleted) = (None, None);
        let versions = std::mem::take(&mut row.versions);
        let name = (row.family.clone(), row.column.clone());
        let Some(newest) = versions.first() else { return };
        if newest.length > 8 && newest.length.is_multiple_of(8) && (self.longs.len() < COLUMNS_MAX || self.longs.contains_key(&name)) {
            let longest = self.longs.entry(name).or_default();
            *longest = newest.length.max(*longest);
        }
        let (key, column) = (row.key.clone(), shown(&row.family, &row.column));
        let is_surer = |found: AppendedAs| self.appended.as_ref().is_none_or(|known| known.by != found && found == AppendedAs::Numbers);
        if let Some(by) = appended_as(&versions).filter(|found| is_surer(*found)) {
            let lengths = versions.iter().rev().map(|version| version.length).collect();
            self.appended = Some(Appended { key, column, lengths, by });
        } else if let Some(per_second) = rate_of(&versions)
            && self.counter.as_ref().is_none_or(|other| other.per_second < per_second)
        {
            self.counter = Some(Counter { key, column, per_second });
        }
    }

    fn end_family(&mut self) {
        self.end_column();
        if self.row.has_family {
            self.families.entry(self.row.family.clone()).or_default().rows += 1;
        }
        (self.row.has_family, self.row.family_deleted) = (false, None);
        self.row.column = Bytes::new();
    }

    fn end_row(&mut self) {
        if self.row.cells == 0 {
            return;
        }
        self.end_family();
        let row = std::mem::take(&mut self.row);
        self.rows += 1;
        if row.alive {
            self.run = DeadRun::default();
        } else {
            if self.run.rows == 0 {
                self.run.key = row.key.clone();
            }
            self.run.rows += 1;
            if self.run.rows > self.dead.rows {
                self.dead = self.run.clone();
            }
        }
        if (row.bytes, row.cells) > (self.widest.bytes, self.widest.cells) {
            self.widest = WideRow { key: row.key, cells: row.cells, bytes: row.bytes };
        }
    }
}

/// A column as reports name it.
pub(super) fn shown(family: &[u8], qualifier: &[u8]) -> String {
    format!("{}:{}", halite_types::key::print_bytes(family), halite_types::key::print_bytes(qualifier))
}

/// How sure it is that values grow because somebody counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AppendedAs {
    /// Numbers of eight bytes, or the same digits each time.
    Numbers,
    /// The same other text each time, which may be a count or a list.
    Text,
}

/// Whether each of three or more versions, the newest first, is the older one with whole numbers of eight bytes behind it,
/// or with the same text each time.
fn appended_as(versions: &[Version]) -> Option<AppendedAs> {
    let added = |newer: &Version, older: &Version| -> Option<Bytes> {
        let is_whole = newer.value.len() == newer.length;
        (is_whole && older.length > 0 && newer.length > older.length && newer.value.starts_with(&older.value))
            .then(|| newer.value.slice(older.length..))
    };
    let steps: Option<Vec<Bytes>> = versions.windows(2).map(|pair| added(&pair[0], &pair[1])).collect();
    let steps = steps.filter(|steps| steps.len() >= 2)?;
    let eights = versions.iter().all(|version| version.length.is_multiple_of(8));
    // A list of words of eight letters is no number; numbers that count have zeros in front.
    let is_text = versions[0].value.iter().all(|byte| (b' '..=b'~').contains(byte));
    if eights && !is_text {
        return Some(AppendedAs::Numbers);
    }
    let by = if steps[0].iter().all(u8::is_ascii_digit) { AppendedAs::Numbers } else { AppendedAs::Text };
    steps.iter().all(|step| step == &steps[0]).then_some(by)
}

/// How often a number of eight bytes that grows is written, by three versions or more: each is a write, whatever it adds.
#[expect(clippy::cast_precision_loss, reason = "a rate is an estimate")]
fn rate_of(versions: &[Version]) -> Option<f64> {
    /// Greater numbers are rather times in milliseconds, or no numbers at all.
    const COUNT_MAX: i64 = 100_000_000_000;
    let number = |version: &Version| -> Option<i64> {
        let bytes = <[u8; 8]>::try_from(&version.value[..]).ok()?;
        Some(i64::from_be_bytes(bytes)).filter(|number| version.length == 8 && (0..COUNT_MAX).contains(number))
    };
    let numbers: Vec<i64> = versions.iter().map(number).collect::<Option<_>>()?;
    let (newest, oldest) = (versions.first()?, versions.last()?);
    let grows = numbers.len() >= 3 && numbers.windows(2).all(|pair| pair[0] > pair[1]);
    let ms = newest.timestamp.checked_sub(oldest.timestamp).filter(|&ms| grows && ms > 0)?;
    Some((versions.len() - 1) as f64 * 1000.0 / ms as f64)
}
