//! Selection of columns and versions of a read (HBase's column trackers).

use std::cmp::Ordering;

use bytes::Bytes;
use halite_types::CellRef;

use super::matcher::MatchCode;

/// Limits on versions by number and age.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionLimits {
    /// Maximum number of versions.
    pub(crate) max: u32,
    /// Minimum number of versions to include even if they are too old.
    pub(crate) min: u32,
    /// Older timestamps are expired; `i64::MIN` when nothing expires.
    pub(crate) oldest_unexpired: i64,
}

impl VersionLimits {
    #[inline]
    fn is_expired(&self, timestamp: i64) -> bool {
        timestamp < self.oldest_unexpired
    }
}

/// Tracker of the columns of a row.
#[derive(Debug)]
pub(crate) struct ColumnTracker {
    limits: VersionLimits,
    requested: RequestedColumns,
    /// Number of included or counted versions of the current column.
    count: u32,
    /// Timestamp and type of the previous cell, if it was of the same column. An equal cell is an
    /// older write of the same version and is skipped.
    previous: Option<(i64, u8)>,
}

#[derive(Debug)]
enum RequestedColumns {
    /// Every column, with the current one.
    All { current: Vec<u8>, any: bool },
    /// These columns, ascending; `index` is the position of the current one.
    Some { columns: Vec<Bytes>, index: usize },
}

impl ColumnTracker {
    pub(crate) fn new(columns: Option<Vec<Bytes>>, limits: VersionLimits) -> Self {
        debug_assert!(
            columns.as_ref().is_none_or(|columns| columns.is_sorted_by(|a, b| a < b)),
            "requested columns are ascending, each once"
        );
        let requested = match columns {
            None => RequestedColumns::All { current: Vec::new(), any: false },
            Some(columns) => RequestedColumns::Some { columns, index: 0 },
        };
        Self { limits, requested, count: 0, previous: None }
    }

    /// Resets the tracker; called for each row.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.count = 0;
        self.previous = None;
        match &mut self.requested {
            RequestedColumns::All { any, .. } => *any = false,
            RequestedColumns::Some { index: at, .. } => *at = 0,
        }
    }

    /// Returns `true` if a cell this old, and all older ones of its column, are excluded whatever
    /// the column.
    #[inline]
    pub(crate) fn is_too_old(&self, timestamp: i64) -> bool {
        self.limits.min == 0 && self.limits.is_expired(timestamp)
    }

    /// Returns the current requested column, if the read specifies its columns.
    pub(crate) fn hint(&self) -> Option<&[u8]> {
        match &self.requested {
            RequestedColumns::All { .. } => None,
            RequestedColumns::Some { columns, index: at } => {
                columns.get(*at).map(|column| &column[..])
            }
        }
    }

    /// Returns `true` if the read specifies its columns.
    pub(crate) fn is_explicit(&self) -> bool {
        matches!(self.requested, RequestedColumns::Some { .. })
    }

    /// Returns `Include` if the cell's column is requested.
    pub(crate) fn check_column(&mut self, cell: CellRef<'_>) -> MatchCode {
        let RequestedColumns::Some { columns, index: at } = &mut self.requested else {
            return MatchCode::Include;
        };
        loop {
            let Some(column) = columns.get(*at) else { return MatchCode::SeekNextRow };
            match cell.qualifier().cmp(&column[..]) {
                Ordering::Equal => return MatchCode::Include,
                Ordering::Less => {
                    self.previous = None;
                    return MatchCode::SeekNextColumn;
                }
                Ordering::Greater => {
                    self.previous = None;
                    self.count = 0;
                    *at += 1;
                }
            }
        }
    }

    /// Counts the cell as a version of its column and returns the code for it.
    pub(crate) fn check_versions(&mut self, cell: CellRef<'_>) -> MatchCode {
        match &mut self.requested {
            RequestedColumns::All { current, any } => {
                let qualifier = cell.qualifier();
                if *any && current == qualifier {
                    if self.previous == Some((cell.timestamp(), cell.type_code())) {
                        return MatchCode::Skip;
                    }
                } else {
                    *any = true;
                    current.clear();
                    current.extend_from_slice(qualifier);
                    self.count = 0;
                    self.previous = None;
                }
                self.check_wildcard_version(cell)
            }
            RequestedColumns::Some { columns, index: at } => {
                debug_assert!(
                    columns.get(*at).is_some_and(|column| column == cell.qualifier()),
                    "versions are counted for the current column"
                );
                let timestamp = cell.timestamp();
                if self.previous.is_some_and(|(previous, _)| previous == timestamp) {
                    return MatchCode::Skip;
                }
                self.count += 1;
                if self.count >= self.limits.max
                    || (self.count >= self.limits.min && self.limits.is_expired(timestamp))
                {
                    *at += 1;
                    self.count = 0;
                    self.previous = None;
                    return if *at == columns.len() {
                        MatchCode::IncludeAndSeekNextRow
                    } else {
                        MatchCode::IncludeAndSeekNextColumn
                    };
                }
                self.previous = Some((timestamp, cell.type_code()));
                MatchCode::Include
            }
        }
    }

    fn check_wildcard_version(&mut self, cell: CellRef<'_>) -> MatchCode {
        if !cell.is_delete() {
            self.count += 1;
        }
        let timestamp = cell.timestamp();
        if self.count > self.limits.max {
            return MatchCode::SeekNextColumn;
        }
        if self.count <= self.limits.min || !self.limits.is_expired(timestamp) {
            self.previous = Some((timestamp, cell.type_code()));
            return MatchCode::Include;
        }
        MatchCode::SeekNextColumn
    }

    /// Ends the cell's column: none of its further cells is needed.
    pub(crate) fn finish_column(&mut self, cell: CellRef<'_>) {
        if let RequestedColumns::Some { columns, index: at } = &mut self.requested {
            while let Some(column) = columns.get(*at) {
                let order = cell.qualifier().cmp(&column[..]);
                if order.is_lt() {
                    return;
                }
                self.previous = None;
                self.count = 0;
                *at += 1;
                if order.is_eq() {
                    return;
                }
            }
        }
    }

    /// Ends the cell's column and returns the code to continue with.
    pub(crate) fn next_row_or_column(&mut self, cell: CellRef<'_>) -> MatchCode {
        self.finish_column(cell);
        if self.is_explicit() && self.hint().is_none() {
            MatchCode::SeekNextRow
        } else {
            MatchCode::SeekNextColumn
        }
    }
}
