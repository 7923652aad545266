//! What to read: get, scan and their limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::key::RowRange;

/// A range of timestamps: `min` inclusive, `max` exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    min: i64,
    max: i64,
}

impl Default for TimeRange {
    fn default() -> Self {
        Self::all()
    }
}

impl TimeRange {
    /// Every timestamp. As in HBase, `i64::MAX` as an upper bound includes itself.
    pub fn all() -> Self {
        Self { min: 0, max: i64::MAX }
    }

    /// From `min` to before `max`.
    ///
    /// # Errors
    /// `InvalidRequest` if one is negative or `max` is below `min`.
    pub fn new(min: i64, max: i64) -> Result<Self> {
        if min < 0 || max < 0 {
            return Err(Error::invalid(format!("time range [{min}, {max}) has a negative bound; give milliseconds since 1970")));
        }
        if max < min {
            return Err(Error::invalid(format!("time range [{min}, {max}) ends before it begins; swap the bounds")));
        }
        Ok(Self { min, max })
    }

    /// Exactly one timestamp.
    ///
    /// # Errors
    /// `InvalidRequest` if it is negative.
    pub fn at(timestamp: i64) -> Result<Self> {
        Self::new(timestamp, timestamp.saturating_add(1))
    }

    /// The lower bound, inclusive.
    pub fn min(&self) -> i64 {
        self.min
    }

    /// The upper bound, exclusive unless it is `i64::MAX`.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// Whether it is every timestamp.
    pub fn is_all(&self) -> bool {
        self.min == 0 && self.max == i64::MAX
    }

    /// Whether `timestamp` lies in it. With all timestamps allowed, negative ones are too.
    #[inline]
    pub fn contains(&self, timestamp: i64) -> bool {
        self.compare(timestamp).is_eq()
    }

    /// Where `timestamp` lies: `Less` before the range, `Equal` in it, `Greater` behind it.
    #[inline]
    pub fn compare(&self, timestamp: i64) -> std::cmp::Ordering {
        use std::cmp::Ordering;
        if self.is_all() {
            Ordering::Equal
        } else if timestamp < self.min {
            Ordering::Less
        } else if timestamp >= self.max && self.max != i64::MAX {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }
}

/// The columns asked for, by family; a family without columns means all of them.
pub type FamilyColumns = BTreeMap<Bytes, Option<BTreeSet<Bytes>>>;

/// What get and scan have in common.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Families and columns; empty means everything.
    pub columns: FamilyColumns,
    /// Timestamps, for families that have no range of their own.
    pub time_range: TimeRange,
    /// Timestamps by family.
    pub family_time_ranges: BTreeMap<Bytes, TimeRange>,
    /// Versions of a column to return; the family's own limit still holds.
    pub max_versions: u32,
    /// Cells to return per row and family; `None` means all.
    pub family_limit: Option<u32>,
    /// Cells to leave out at the front of each row and family.
    pub family_offset: u32,
    /// Which cells to keep.
    pub filter: Option<Filter>,
    /// Whether blocks read for this go into the cache.
    pub cache_blocks: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            columns: FamilyColumns::new(),
            time_range: TimeRange::all(),
            family_time_ranges: BTreeMap::new(),
            max_versions: 1,
            family_limit: None,
            family_offset: 0,
            filter: None,
            cache_blocks: true,
        }
    }
}

impl Selection {
    /// The time range that holds for a family.
    pub fn time_range_of(&self, family: &[u8]) -> TimeRange {
        self.family_time_ranges.get(family).copied().unwrap_or(self.time_range)
    }

    fn add_column(&mut self, family: Bytes, qualifier: Bytes) {
        self.columns.entry(family).or_insert_with(|| Some(BTreeSet::new())).get_or_insert_default().insert(qualifier);
    }
}

macro_rules! selection_methods {
    ($name:ident) => {
        impl $name {
            /// Adds all columns of a family.
            #[must_use]
            pub fn family(mut self, family: impl Into<Bytes>) -> Self {
                self.selection.columns.insert(family.into(), None);
                self
            }

            /// Adds one column.
            #[must_use]
            pub fn column(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
                self.selection.add_column(family.into(), qualifier.into());
                self
            }

            /// Only cells with timestamps in this range.
            #[must_use]
            pub fn time_range(mut self, range: TimeRange) -> Self {
                self.selection.time_range = range;
                self
            }

            /// Only cells of `family` with timestamps in this range.
            #[must_use]
            pub fn family_time_range(mut self, family: impl Into<Bytes>, range: TimeRange) -> Self {
                self.selection.family_time_ranges.insert(family.into(), range);
                self
            }

            /// Up to this many versions of each column.
            #[must_use]
            pub fn versions(mut self, versions: u32) -> Self {
                self.selection.max_versions = versions;
                self
            }

            /// Every version the family keeps.
            #[must_use]
            pub fn all_versions(self) -> Self {
                self.versions(i32::MAX as u32)
            }

            /// At most this many cells per row and family.
            #[must_use]
            pub fn family_limit(mut self, cells: u32) -> Self {
                self.selection.family_limit = Some(cells);
                self
            }

            /// Leaves out this many cells at the front of each row and family.
            #[must_use]
            pub fn family_offset(mut self, cells: u32) -> Self {
                self.selection.family_offset = cells;
                self
            }

            /// Only what the filter lets through.
            #[must_use]
            pub fn filter(mut self, filter: Filter) -> Self {
                self.selection.filter = Some(filter);
                self
            }

            /// Whether blocks read for this go into the cache; true by default.
            #[must_use]
            pub fn cache_blocks(mut self, cache: bool) -> Self {
                self.selection.cache_blocks = cache;
                self
            }
        }
    };
}

/// Reads one row.
#[derive(Clone, Debug)]
pub struct Get {
    row: Bytes,
    /// Which cells.
    pub selection: Selection,
}
selection_methods!(Get);

impl Get {
    /// The newest version of every column of `row`.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), selection: Selection::default() }
    }

    /// The row.
    pub fn row(&self) -> &Bytes {
        &self.row
    }
}

/// Reads a range of rows in row-key order.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Which rows.
    pub range: RowRange,
    /// Which cells.
    pub selection: Selection,
    /// From the last row to the first.
    pub reverse: bool,
    /// Delete markers and hidden cells too.
    pub raw: bool,
    /// Rows to return; `None` means all.
    pub limit: Option<usize>,
    /// Cells in one piece of a row: longer rows come in several pieces.
    pub batch: Option<usize>,
    /// Bytes after which one call to the store returns what it has; 2 MiB by default.
    pub max_result_bytes: usize,
}
selection_methods!(Scan);

impl Default for Scan {
    fn default() -> Self {
        Self::all()
    }
}

impl Scan {
    /// Bytes of one answer where nobody says how many: 2 MiB (`hbase.client.scanner.max.result.size`).
    pub const RESULT_BYTES_DEFAULT: usize = 2 << 20;

    /// Every row.
    pub fn all() -> Self {
        Self {
            range: RowRange::all(),
            selection: Selection::default(),
            reverse: false,
            raw: false,
            limit: None,
            batch: None,
            max_result_bytes: Self::RESULT_BYTES_DEFAULT,
        }
    }

    /// Rows from `start` (inclusive) to `stop` (exclusive).
    pub fn range(start: impl Into<Bytes>, stop: impl Into<Bytes>) -> Self {
        Self::all().start(start).stop(stop)
    }

    /// Rows that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        Self { range: RowRange::prefix(prefix), ..Self::all() }
    }

    /// Begins at `row`, inclusive. For a reverse scan too, the range is given in ascending order: `start` is its low end.
    #[must_use]
    pub fn start(mut self, row: impl Into<Bytes>) -> Self {
        let row = row.into();
        self.range.start = if row.is_empty() { Bound::Unbounded } else { Bound::Included(row) };
        self
    }

    /// Begins behind `row`.
    #[must_use]
    pub fn start_after(mut self, row: impl Into<Bytes>) -> Self {
        self.range.start = Bound::Excluded(row.into());
        self
    }

    /// Ends before `row`; empty means the end of the table.
    #[must_use]
    pub fn stop(mut self, row: impl Into<Bytes>) -> Self {
        let row = row.into();
        self.range.end = if row.is_empty() { Bound::Unbounded } else { Bound::Excluded(row) };
        self
    }

    /// Ends with `row`, inclusive.
    #[must_use]
    pub fn stop_after(mut self, row: impl Into<Bytes>) -> Self {
        self.range.end = Bound::Included(row.into());
        self
    }

    /// From the last row of the range to the first.
    #[must_use]
    pub fn reverse(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// Delete markers and the cells they hide too.
    #[must_use]
    pub fn raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }

    /// At most this many rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Rows of more cells than this come in several pieces.
    #[must_use]
    pub fn batch(mut self, cells: usize) -> Self {
        self.batch = Some(cells);
        self
    }

    /// Bytes after which one call to the store returns what it has.
    #[must_use]
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = bytes;
        self
    }
}

/// How far a read may go for its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// Memory only, for a thread that must not wait: a block that is not cached gives
    /// [`ErrorKind::NeedsIo`](crate::error::ErrorKind::NeedsIo), and so does a row of so many cells that it takes its time.
    Memory,
    /// The disk too.
    #[default]
    Disk,
}
