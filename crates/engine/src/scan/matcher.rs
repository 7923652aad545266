//! Matcher of the cells of a store that are retained by a read, a flush or a compaction (the role
//! of HBase's `ScanQueryMatcher`).
//!
//! The matcher receives the cells of one row at a time, in comparator order, and returns a
//! [`MatchCode`] for each. It holds no file, lock or thread. The order of the checks matters and is
//! HBase's: too old, delete marker, hidden, time range, column, versions, filter.

use bytes::Bytes;
use halite_types::{CellRef, CellType, KeepDeletedCells, MergeOperator, TimeRange};

use super::columns::{ColumnTracker, VersionLimits};
use super::deletes::{DeleteResult, DeleteTracker};
use super::filter::{FilterState, ReturnCode};
use super::merged_columns::MergeRule;
use super::new_version_behavior::NewVersionTracker;

/// Action for a cell, and the next position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchCode {
    /// Include it; continue with the next cell.
    Include,
    /// Include it; skip the rest of its column.
    IncludeAndSeekNextColumn,
    /// Include it; skip the rest of its row.
    IncludeAndSeekNextRow,
    /// Exclude it; continue with the next cell.
    Skip,
    /// Exclude it and the rest of its column.
    SeekNextColumn,
    /// Exclude it and the rest of its row.
    SeekNextRow,
    /// Exclude it; the filter returns the next position.
    SeekNextUsingHint,
}

/// Retention settings of a family's descriptor, with the time at which they apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    pub(crate) max_versions: u32,
    pub(crate) min_versions: u32,
    pub(crate) keep_deleted: KeepDeletedCells,
    /// Older timestamps are expired.
    pub(crate) oldest_unexpired: i64,
    /// Time of the read, for cells with their own time to live.
    pub(crate) now: i64,
    /// `true` if the order of the writes counts in addition to that of the timestamps.
    pub(crate) new_version_behavior: bool,
    /// How the cells of a column are merged before the matcher receives them.
    pub(crate) merge: Option<MergeOperator>,
}

impl Retention {
    /// Returns the rule by which flushes and compactions merge cells, if they are merged.
    pub(crate) fn merge_rule(&self) -> Option<MergeRule> {
        let oldest_unexpired = self.oldest_unexpired;
        self.merge.map(|operator| MergeRule { operator, oldest_unexpired, is_bounded: false })
    }
}

/// Purpose of the matcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Read: deleted cells are hidden, markers are not returned.
    User,
    /// Raw scan: everything is returned.
    Raw,
    /// Flush or minor compaction: markers are retained.
    RetainDeletes,
    /// Compaction of all files of a store: markers are dropped as far as `KEEP_DELETED_CELLS`
    /// allows.
    DropDeletes {
        /// No put in the store is older than this timestamp.
        earliest_put: i64,
    },
}

/// Matcher for one store.
#[derive(Debug)]
pub(crate) struct Matcher {
    mode: Mode,
    retention: Retention,
    time_range: TimeRange,
    columns: ColumnTracker,
    deletes: DeleteTracker,
    /// Replaces `deletes` if the order of the writes counts.
    new_versions: Option<Box<NewVersionTracker>>,
    /// With a filter: maximum versions of a column after it, and the counted column.
    versions_after_filter: u32,
    after_filter: u32,
    after_filter_column: Option<Vec<u8>>,
}

/// Parameters of a read of one store.
pub(crate) struct UserQuery {
    pub(crate) columns: Option<Vec<Bytes>>,
    pub(crate) time_range: TimeRange,
    pub(crate) max_versions: u32,
    pub(crate) raw: bool,
    pub(crate) has_filter: bool,
}

fn new_version_tracker(retention: &Retention) -> Option<Box<NewVersionTracker>> {
    retention.new_version_behavior.then(|| Box::new(NewVersionTracker::new(retention.max_versions)))
}

impl Matcher {
    /// Returns a matcher for a get or scan.
    pub(crate) fn for_read(query: UserQuery, retention: Retention) -> Self {
        let result_versions = if query.raw {
            query.max_versions
        } else {
            query.max_versions.min(retention.max_versions)
        };
        // A filter may drop versions, so older ones must reach it; they are counted again after it.
        // HBase's tracker of the new behavior counts only before the filter
        // (`NewVersionBehaviorTracker.checkVersions`).
        let max = match (query.has_filter, query.raw) {
            (false, _) => result_versions,
            (true, false) if retention.new_version_behavior => result_versions,
            (true, true) => u32::MAX,
            (true, false) => retention.max_versions,
        };
        let oldest_unexpired = if query.raw { i64::MIN } else { retention.oldest_unexpired };
        let limits = VersionLimits { max, min: retention.min_versions, oldest_unexpired };
        Self {
            mode: if query.raw { Mode::Raw } else { Mode::User },
            retention: Retention { oldest_unexpired, ..retention },
            time_range: query.time_range,
            columns: ColumnTracker::new(query.columns, limits),
            deletes: DeleteTracker::default(),
            new_versions: new_version_tracker(&retention),
            versions_after_filter: result_versions,
            after_filter: 0,
            after_filter_column: None,
        }
    }

    /// Returns a matcher for a flush or minor compaction.
    pub(crate) fn for_minor_compaction(retention: Retention) -> Self {
        Self::for_compaction(Mode::RetainDeletes, retention)
    }

    /// Returns a matcher for a compaction of all files of a store, in which no put is older than
    /// `earliest_put`.
    pub(crate) fn for_major_compaction(retention: Retention, earliest_put: i64) -> Self {
        Self::for_compaction(Mode::DropDeletes { earliest_put }, retention)
    }

    fn for_compaction(mode: Mode, retention: Retention) -> Self {
        let limits = VersionLimits {
            max: retention.max_versions,
            min: retention.min_versions,
            oldest_unexpired: retention.oldest_unexpired,
        };
        Self {
            mode,
            retention,
            time_range: TimeRange::all(),
            columns: ColumnTracker::new(None, limits),
            deletes: DeleteTracker::default(),
            new_versions: new_version_tracker(&retention),
            versions_after_filter: 0,
            after_filter: 0,
            after_filter_column: None,
        }
    }

    /// Starts a row; called before its first cell.
    #[inline]
    pub(crate) fn start_row(&mut self) {
        self.columns.reset();
        self.deletes.reset();
        if let Some(tracker) = &mut self.new_versions {
            tracker.reset();
        }
        self.after_filter_column = None;
    }

    /// Returns the column to continue with after a `SeekNextColumn`: the next requested one, or
    /// `None` for any.
    pub(crate) fn column_hint(&self) -> Option<&[u8]> {
        self.columns.hint()
    }

    /// Returns the code for the next cell of the row.
    #[inline]
    pub(crate) fn check(
        &mut self,
        cell: CellRef<'_>,
        filter: Option<&mut FilterState>,
    ) -> MatchCode {
        let timestamp = cell.timestamp();
        if self.columns.is_too_old(timestamp) {
            return self.columns.next_row_or_column(cell);
        }
        if let Some(ttl) = cell.ttl_ms()
            && timestamp.saturating_add(ttl) < self.retention.now
        {
            return MatchCode::Skip;
        }
        match self.mode {
            Mode::User => {
                if cell.is_delete() {
                    self.record_user_delete(cell);
                    return MatchCode::Skip;
                }
                self.check_hidden(cell).unwrap_or_else(|| self.check_column(cell, filter))
            }
            Mode::Raw => self.check_column(cell, filter),
            Mode::RetainDeletes => {
                if cell.is_delete() {
                    self.record_compacted_delete(cell);
                    return MatchCode::Include;
                }
                self.check_hidden(cell).unwrap_or_else(|| self.columns.check_versions(cell))
            }
            Mode::DropDeletes { earliest_put } => {
                let decided = if cell.is_delete() {
                    self.record_compacted_delete(cell);
                    self.drop_delete(cell, earliest_put)
                } else {
                    self.check_hidden(cell)
                };
                decided.unwrap_or_else(|| self.columns.check_versions(cell))
            }
        }
    }

    fn record_user_delete(&mut self, marker: CellRef<'_>) {
        // A family that retains deleted cells can be read as of a time before the marker.
        let counts = if self.retention.keep_deleted == KeepDeletedCells::False {
            self.time_range.is_all() || marker.timestamp() >= self.time_range.min()
        } else {
            self.time_range.contains(marker.timestamp())
        };
        if counts {
            self.add_marker(marker);
        }
    }

    fn record_compacted_delete(&mut self, marker: CellRef<'_>) {
        let forgets = match self.retention.keep_deleted {
            KeepDeletedCells::False => true,
            KeepDeletedCells::True => false,
            KeepDeletedCells::Ttl => marker.timestamp() < self.retention.oldest_unexpired,
        };
        if forgets {
            self.add_marker(marker);
        }
    }

    fn add_marker(&mut self, marker: CellRef<'_>) {
        match &mut self.new_versions {
            None => self.deletes.add(marker),
            Some(tracker) => tracker.add(marker),
        }
    }

    /// Returns the code for a marker when all files are compacted; `None` means that it counts as a
    /// version.
    fn drop_delete(&mut self, marker: CellRef<'_>, earliest_put: i64) -> Option<MatchCode> {
        let keeps = match self.retention.keep_deleted {
            KeepDeletedCells::False => false,
            KeepDeletedCells::True => true,
            KeepDeletedCells::Ttl => marker.timestamp() >= self.retention.oldest_unexpired,
        };
        if !keeps {
            return Some(MatchCode::Skip);
        }
        if marker.timestamp() < earliest_put {
            return Some(self.columns.next_row_or_column(marker));
        }
        // A marker of the whole family is among the cells of the empty qualifier, but is no version
        // of that column. As an excess version it would be dropped before the cells that it hides
        // in other columns.
        let of_family = marker.type_code() == CellType::DeleteFamily.code()
            || marker.type_code() == CellType::DeleteFamilyVersion.code();
        of_family.then_some(MatchCode::Include)
    }

    #[inline]
    fn check_hidden(&mut self, cell: CellRef<'_>) -> Option<MatchCode> {
        if let Some(tracker) = &mut self.new_versions {
            // An older timestamp may have been written later, so only the cell itself is excluded.
            return tracker.hides(cell).then_some(MatchCode::Skip);
        }
        if self.deletes.is_empty() {
            return None;
        }
        match self.deletes.hides(cell) {
            DeleteResult::NotDeleted => None,
            DeleteResult::Version => Some(MatchCode::Skip),
            DeleteResult::Column => Some(self.columns.next_row_or_column(cell)),
        }
    }

    #[inline]
    fn check_column(&mut self, cell: CellRef<'_>, filter: Option<&mut FilterState>) -> MatchCode {
        match self.time_range.compare(cell.timestamp()) {
            std::cmp::Ordering::Greater => return MatchCode::Skip,
            std::cmp::Ordering::Less => return self.columns.next_row_or_column(cell),
            std::cmp::Ordering::Equal => {}
        }
        match self.columns.check_column(cell) {
            MatchCode::Include => {}
            code => return code,
        }
        let code = self.columns.check_versions(cell);
        match filter {
            Some(filter) if !matches!(code, MatchCode::Skip | MatchCode::SeekNextColumn) => {
                self.merge_filter(cell, code, filter)
            }
            _ => code,
        }
    }

    fn merge_filter(
        &mut self,
        cell: CellRef<'_>,
        code: MatchCode,
        filter: &mut FilterState,
    ) -> MatchCode {
        use MatchCode::{
            Include, IncludeAndSeekNextColumn, IncludeAndSeekNextRow, SeekNextColumn, SeekNextRow,
            SeekNextUsingHint, Skip,
        };
        let mut code = match (filter.filter_cell(cell), code) {
            (ReturnCode::Skip, IncludeAndSeekNextColumn) => return SeekNextColumn,
            (ReturnCode::Skip | ReturnCode::NextCol, IncludeAndSeekNextRow)
            | (ReturnCode::NextRow, _) => return SeekNextRow,
            (ReturnCode::Skip, _) => return Skip,
            (ReturnCode::NextCol, _) => return self.columns.next_row_or_column(cell),
            (ReturnCode::SeekNextUsingHint, _) => return SeekNextUsingHint,
            (ReturnCode::IncludeAndNextCol, Include) => IncludeAndSeekNextColumn,
            (ReturnCode::IncludeAndSeekNextRow, _) => IncludeAndSeekNextRow,
            (ReturnCode::Include | ReturnCode::IncludeAndNextCol, code) => code,
        };
        if self.after_filter_column.as_deref() != Some(cell.qualifier()) {
            self.after_filter_column = Some(cell.qualifier().to_vec());
            self.after_filter = 0;
        }
        self.after_filter += 1;
        if self.after_filter > self.versions_after_filter {
            code = if code == IncludeAndSeekNextRow { SeekNextRow } else { SeekNextColumn };
        }
        if matches!(code, IncludeAndSeekNextColumn | SeekNextColumn) {
            self.columns.finish_column(cell);
        }
        code
    }
}
