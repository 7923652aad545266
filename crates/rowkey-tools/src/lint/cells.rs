//! Statistics of the cells of a table: sizes of rows, families, times to live, delete markers, and
//! changes of values.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{CellRef, CellType, Row};

/// Versions of one column that are compared.
const VERSIONS: usize = 4;
/// Bytes of a value stored for comparison with an older one.
const VALUE_BYTES: usize = 256;
/// Maximum columns with stored statistics.
const MAX_COLUMNS: usize = 1024;

/// Statistics of the cells of some rows; filled by [`Self::add`] from the rows of a scan,
/// preferably a raw one with several versions. It stores a few counts and examples, regardless of
/// the amount read.
#[derive(Clone, Debug, Default)]
pub struct CellSample {
    pub(super) rows: usize,
    pub(super) widest: WideRow,
    pub(super) families: BTreeMap<Bytes, FamilyStats>,
    /// Longest sequence of rows without a live cell, and its first key.
    pub(super) longest_tombstone_run: TombstoneRun,
    pub(super) appended: Option<Appended>,
    /// Columns by family and qualifier, with the longest value that is a multiple of eight bytes
    /// and longer than eight.
    pub(super) longs: BTreeMap<(Bytes, Bytes), usize>,
    pub(super) counter: Option<Counter>,
    tombstone_run: TombstoneRun,
    row: RowStats,
}

/// Row with many cells.
#[derive(Clone, Debug, Default)]
pub(super) struct WideRow {
    pub(super) key: Bytes,
    pub(super) cells: usize,
    pub(super) bytes: usize,
}

/// Statistics of a family.
#[derive(Clone, Debug, Default)]
pub(super) struct FamilyStats {
    pub(super) rows: usize,
    /// Longest time to live of a single cell, in milliseconds.
    pub(super) ttl_ms: Option<i64>,
}

/// Consecutive rows that contain only delete markers and hidden cells.
#[derive(Clone, Debug, Default)]
pub(super) struct TombstoneRun {
    pub(super) rows: usize,
    pub(super) key: Bytes,
}

/// Value each of whose versions extends the older one.
#[derive(Clone, Debug)]
pub(super) struct Appended {
    pub(super) key: Bytes,
    pub(super) column: String,
    /// Lengths, oldest first.
    pub(super) lengths: Vec<usize>,
    pub(super) by: AppendedAs,
}

/// Number that increases from version to version.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub(super) key: Bytes,
    pub(super) column: String,
    pub(super) per_second: f64,
}

/// Current row.
#[derive(Clone, Debug, Default)]
struct RowStats {
    key: Bytes,
    cells: usize,
    bytes: usize,
    alive: bool,
    family: Bytes,
    /// `true` if the family has a cell other than a marker.
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
    /// Adds the next row of a scan, or the next part of one.
    pub fn add(&mut self, piece: &Row) {
        for cell in piece {
            if self.row.key != cell.row() {
                self.end_row();
                self.row.key = Bytes::copy_from_slice(cell.row());
            }
            self.cell(&cell);
        }
    }

    /// Marks that the next rows do not follow the previous ones, or that there are none.
    pub fn end_of_range(&mut self) {
        self.end_row();
        self.tombstone_run = TombstoneRun::default();
    }

    /// Returns the number of rows added.
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
            Some(CellType::DeleteFamily) => {
                row.family_deleted = row.family_deleted.max(Some(timestamp));
            }
            Some(CellType::DeleteColumn) => {
                row.column_deleted = row.column_deleted.max(Some(timestamp));
            }
            Some(CellType::Delete | CellType::DeleteFamilyVersion) => {
                row.cell_deleted = Some(timestamp);
            }
            None => {}
        }
    }

    fn put(&mut self, cell: &CellRef<'_>, timestamp: i64) {
        let row = &mut self.row;
        row.has_family = true;
        let hidden = row.family_deleted.max(row.column_deleted) >= Some(timestamp)
            || row.cell_deleted == Some(timestamp);
        row.alive |= !hidden;
        if row.versions.len() < VERSIONS {
            let value =
                Bytes::copy_from_slice(&cell.value()[..cell.value().len().min(VALUE_BYTES)]);
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
        if newest.length > 8
            && newest.length.is_multiple_of(8)
            && (self.longs.len() < MAX_COLUMNS || self.longs.contains_key(&name))
        {
            let longest = self.longs.entry(name).or_default();
            *longest = newest.length.max(*longest);
        }
        let (key, column) = (row.key.clone(), format_column(&row.family, &row.column));
        let is_surer = |found: AppendedAs| {
            self.appended
                .as_ref()
                .is_none_or(|known| known.by != found && found == AppendedAs::Numbers)
        };
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
            self.tombstone_run = TombstoneRun::default();
        } else {
            if self.tombstone_run.rows == 0 {
                self.tombstone_run.key = row.key.clone();
            }
            self.tombstone_run.rows += 1;
            if self.tombstone_run.rows > self.longest_tombstone_run.rows {
                self.longest_tombstone_run = self.tombstone_run.clone();
            }
        }
        if (row.bytes, row.cells) > (self.widest.bytes, self.widest.cells) {
            self.widest = WideRow { key: row.key, cells: row.cells, bytes: row.bytes };
        }
    }
}

/// Returns a column as reports name it.
pub(super) fn format_column(family: &[u8], qualifier: &[u8]) -> String {
    format!(
        "{}:{}",
        halite_types::key::to_string_binary(family),
        halite_types::key::to_string_binary(qualifier)
    )
}

/// Confidence that values grow because of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AppendedAs {
    /// Eight-byte numbers, or the same digits each time.
    Numbers,
    /// The same other text each time, which may be a count or a list.
    Text,
}

/// Returns the growth if each of three or more versions, newest first, is the older one followed by
/// eight-byte integers, or by the same text each time.
fn appended_as(versions: &[Version]) -> Option<AppendedAs> {
    let added = |newer: &Version, older: &Version| -> Option<Bytes> {
        let is_whole = newer.value.len() == newer.length;
        (is_whole
            && older.length > 0
            && newer.length > older.length
            && newer.value.starts_with(&older.value))
        .then(|| newer.value.slice(older.length..))
    };
    let steps: Option<Vec<Bytes>> =
        versions.windows(2).map(|pair| added(&pair[0], &pair[1])).collect();
    let steps = steps.filter(|steps| steps.len() >= 2)?;
    let eights = versions.iter().all(|version| version.length.is_multiple_of(8));
    // A list of eight-letter words is not numeric; counts have leading zeros.
    let is_text = versions[0].value.iter().all(|byte| (b' '..=b'~').contains(byte));
    if eights && !is_text {
        return Some(AppendedAs::Numbers);
    }
    let by = if steps[0].iter().all(u8::is_ascii_digit) {
        AppendedAs::Numbers
    } else {
        AppendedAs::Text
    };
    steps.iter().all(|step| step == &steps[0]).then_some(by)
}

/// Returns the write rate of an increasing eight-byte number, from three versions or more: each is
/// a write, regardless of the increment.
#[expect(clippy::cast_precision_loss, reason = "a rate is an estimate")]
fn rate_of(versions: &[Version]) -> Option<f64> {
    /// Greater numbers are more likely times in milliseconds, or not numbers.
    const MAX_COUNT: i64 = 100_000_000_000;
    let number = |version: &Version| -> Option<i64> {
        let bytes = <[u8; 8]>::try_from(&version.value[..]).ok()?;
        Some(i64::from_be_bytes(bytes))
            .filter(|number| version.length == 8 && (0..MAX_COUNT).contains(number))
    };
    let numbers: Vec<i64> = versions.iter().map(number).collect::<Option<_>>()?;
    let (newest, oldest) = (versions.first()?, versions.last()?);
    let grows = numbers.len() >= 3 && numbers.windows(2).all(|pair| pair[0] > pair[1]);
    let ms = newest.timestamp.checked_sub(oldest.timestamp).filter(|&ms| grows && ms > 0)?;
    Some((versions.len() - 1) as f64 * 1000.0 / ms as f64)
}
