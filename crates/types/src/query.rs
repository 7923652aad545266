//! Get and scan, and their limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::key::RowRange;
use crate::scan_meter::ScanMeter;

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
    /// Returns the range of all timestamps. As in HBase, an upper bound of `i64::MAX` is inclusive.
    pub fn all() -> Self {
        Self { min: 0, max: i64::MAX }
    }

    /// Creates the range from `min` (inclusive) to `max` (exclusive).
    ///
    /// # Errors
    /// `InvalidRequest` if one is negative or `max` is below `min`.
    pub fn new(min: i64, max: i64) -> Result<Self> {
        if min < 0 || max < 0 {
            return Err(Error::invalid(format!(
                "time range [{min}, {max}) has a negative bound; pass milliseconds since 1970"
            )));
        }
        if max < min {
            return Err(Error::invalid(format!(
                "time range [{min}, {max}) ends before it starts; swap the bounds"
            )));
        }
        Ok(Self { min, max })
    }

    /// Creates the range of one timestamp.
    ///
    /// # Errors
    /// `InvalidRequest` if it is negative.
    pub fn at(timestamp: i64) -> Result<Self> {
        Self::new(timestamp, timestamp.saturating_add(1))
    }

    /// Returns the lower bound, inclusive.
    pub fn min(&self) -> i64 {
        self.min
    }

    /// Returns the upper bound, exclusive unless it is `i64::MAX`.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// Returns `true` if the range contains all timestamps.
    pub fn is_all(&self) -> bool {
        self.min == 0 && self.max == i64::MAX
    }

    /// Returns `true` if `timestamp` is in the range. The range of all timestamps includes negative
    /// ones.
    #[inline]
    pub fn contains(&self, timestamp: i64) -> bool {
        self.compare(timestamp).is_eq()
    }

    /// Compares `timestamp` with the range: `Less` before it, `Equal` in it, `Greater` after it.
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

/// Requested columns by family; a family without columns means all of them.
pub type FamilyColumns = BTreeMap<Bytes, Option<BTreeSet<Bytes>>>;

/// Options common to get and scan.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Families and columns; empty means everything.
    pub columns: FamilyColumns,
    /// Time range of families without a separate range.
    pub time_range: TimeRange,
    /// Time ranges by family.
    pub family_time_ranges: BTreeMap<Bytes, TimeRange>,
    /// Versions of a column to return; the family's limit still applies.
    pub max_versions: u32,
    /// Cells to return per row and family; `None` means all.
    pub family_limit: Option<u32>,
    /// Cells to skip at the start of each row and family.
    pub family_offset: u32,
    /// Filter of the cells.
    pub filter: Option<Filter>,
    /// `true` if blocks read are added to the cache.
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
    /// Returns the time range that applies to a family.
    pub fn time_range_of(&self, family: &[u8]) -> TimeRange {
        self.family_time_ranges.get(family).copied().unwrap_or(self.time_range)
    }

    fn add_column(&mut self, family: Bytes, qualifier: Bytes) {
        self.columns
            .entry(family)
            .or_insert_with(|| Some(BTreeSet::new()))
            .get_or_insert_default()
            .insert(qualifier);
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

            /// Returns only cells with timestamps in this range.
            #[must_use]
            pub fn time_range(mut self, range: TimeRange) -> Self {
                self.selection.time_range = range;
                self
            }

            /// Returns only cells of `family` with timestamps in this range.
            #[must_use]
            pub fn family_time_range(mut self, family: impl Into<Bytes>, range: TimeRange) -> Self {
                self.selection.family_time_ranges.insert(family.into(), range);
                self
            }

            /// Returns up to this many versions of each column.
            #[must_use]
            pub fn versions(mut self, versions: u32) -> Self {
                self.selection.max_versions = versions;
                self
            }

            /// Returns every version that the family retains.
            #[must_use]
            pub fn all_versions(self) -> Self {
                self.versions(i32::MAX as u32)
            }

            /// Returns at most this many cells per row and family.
            #[must_use]
            pub fn family_limit(mut self, cells: u32) -> Self {
                self.selection.family_limit = Some(cells);
                self
            }

            /// Skips this many cells at the start of each row and family.
            #[must_use]
            pub fn family_offset(mut self, cells: u32) -> Self {
                self.selection.family_offset = cells;
                self
            }

            /// Sets the filter.
            #[must_use]
            pub fn filter(mut self, filter: Filter) -> Self {
                self.selection.filter = Some(filter);
                self
            }

            /// Sets whether blocks read are added to the cache. Default: `true`.
            #[must_use]
            pub fn cache_blocks(mut self, cache: bool) -> Self {
                self.selection.cache_blocks = cache;
                self
            }
        }
    };
}

/// Get: reads one row.
#[derive(Clone, Debug)]
pub struct Get {
    row: Bytes,
    /// Cells to read.
    pub selection: Selection,
}
selection_methods!(Get);

impl Get {
    /// Creates a get of the newest version of every column of `row`.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), selection: Selection::default() }
    }

    /// Returns the row.
    pub fn row(&self) -> &Bytes {
        &self.row
    }
}

/// Scan: reads a range of rows in row-key order.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Rows to read.
    pub range: RowRange,
    /// Cells to read.
    pub selection: Selection,
    /// `true` to read from the last row to the first.
    pub reverse: bool,
    /// `true` to include delete markers and hidden cells.
    pub raw: bool,
    /// Rows to return; `None` means all.
    pub limit: Option<usize>,
    /// Cells per partial row; rows with more cells are split.
    pub batch: Option<usize>,
    /// Bytes after which one call to the store returns. Default: 2 MiB.
    pub max_result_bytes: usize,
    /// `true` to read a family that does not decide on rows only for the rows that the filter
    /// includes, as a `SingleColumnValueFilter` with "filter if missing" allows for all families
    /// but its own. A row without cells in the other families is not returned. Default: the table's
    /// setting `hbase.hregion.scan.loadColumnFamiliesOnDemand`, or `true`. A reverse scan reads all
    /// families.
    pub load_families_on_demand: Option<bool>,
    /// Meter of the rows that the scan examines, which may end it. It is not sent to a cluster.
    pub meter: Option<Arc<ScanMeter>>,
}
selection_methods!(Scan);

impl Default for Scan {
    fn default() -> Self {
        Self::all()
    }
}

impl Scan {
    /// Default bytes of one response: 2 MiB (`hbase.client.scanner.max.result.size`).
    pub const DEFAULT_MAX_RESULT_BYTES: usize = 2 << 20;

    /// Creates a scan of all rows.
    pub fn all() -> Self {
        Self {
            range: RowRange::all(),
            selection: Selection::default(),
            reverse: false,
            raw: false,
            limit: None,
            batch: None,
            max_result_bytes: Self::DEFAULT_MAX_RESULT_BYTES,
            load_families_on_demand: None,
            meter: None,
        }
    }

    /// Counts the rows that the scan examines.
    #[must_use]
    pub fn meter(mut self, meter: Arc<ScanMeter>) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Sets whether families that do not decide on rows are read only for included rows.
    #[must_use]
    pub fn load_families_on_demand(mut self, is_on_demand: bool) -> Self {
        self.load_families_on_demand = Some(is_on_demand);
        self
    }

    /// Creates a scan from `start` (inclusive) to `stop` (exclusive).
    pub fn range(start: impl Into<Bytes>, stop: impl Into<Bytes>) -> Self {
        Self::all().start(start).stop(stop)
    }

    /// Creates a scan of the rows that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        Self { range: RowRange::prefix(prefix), ..Self::all() }
    }

    /// Starts at `row`, inclusive. A reverse scan also has an ascending range: `start` is its lower
    /// end.
    #[must_use]
    pub fn start(mut self, row: impl Into<Bytes>) -> Self {
        let row = row.into();
        self.range.start = if row.is_empty() { Bound::Unbounded } else { Bound::Included(row) };
        self
    }

    /// Starts after `row`.
    #[must_use]
    pub fn start_exclusive(mut self, row: impl Into<Bytes>) -> Self {
        self.range.start = Bound::Excluded(row.into());
        self
    }

    /// Stops before `row`; empty means the end of the table.
    #[must_use]
    pub fn stop(mut self, row: impl Into<Bytes>) -> Self {
        let row = row.into();
        self.range.end = if row.is_empty() { Bound::Unbounded } else { Bound::Excluded(row) };
        self
    }

    /// Stops at `row`, inclusive.
    #[must_use]
    pub fn stop_inclusive(mut self, row: impl Into<Bytes>) -> Self {
        self.range.end = Bound::Included(row.into());
        self
    }

    /// Reads from the last row of the range to the first.
    #[must_use]
    pub fn reverse(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// Includes delete markers and the cells they hide.
    #[must_use]
    pub fn raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }

    /// Returns at most this many rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Splits rows with more cells than this into partial rows.
    #[must_use]
    pub fn batch(mut self, cells: usize) -> Self {
        self.batch = Some(cells);
        self
    }

    /// Sets the bytes after which one call to the store returns.
    #[must_use]
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = bytes;
        self
    }
}

/// Storage tiers that a read may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTier {
    /// Memory only, for a thread that must not block: a block that is not cached, and a row with
    /// too many cells for a short read, return
    /// [`ErrorKind::WouldBlock`](crate::error::ErrorKind::WouldBlock).
    Memory,
    /// Memory and disk.
    #[default]
    Disk,
}
