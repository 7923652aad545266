//! Which columns a read wants and how many versions of each it has seen (HBase's column trackers).

use std::cmp::Ordering;

use bytes::Bytes;
use halite_types::CellRef;

use super::matcher::MatchCode;

/// How many versions to let through, and which are too old.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionLimits {
    /// At most this many.
    pub(crate) max: u32,
    /// This many even if they are too old.
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

/// Walks the columns of a row.
#[derive(Debug)]
pub(crate) struct ColumnTracker {
    limits: VersionLimits,
    wanted: Wanted,
    /// Versions of the current column let through or counted.
    count: u32,
    /// Timestamp and type of the cell before, if it was of the same column: an equal one is an older write of the
    /// same version and is skipped.
    previous: Option<(i64, u8)>,
}

#[derive(Debug)]
enum Wanted {
    /// Every column; the one being read.
    All { current: Vec<u8>, any: bool },
    /// These, ascending; `at` is the one being looked for.
    Some { columns: Vec<Bytes>, at: usize },
}

impl ColumnTracker {
    pub(crate) fn new(columns: Option<Vec<Bytes>>, limits: VersionLimits) -> Self {
        let wanted = match columns {
            None => Wanted::All { current: Vec::new(), any: false },
            Some(columns) => Wanted::Some { columns, at: 0 },
        };
        Self { limits, wanted, count: 0, previous: None }
    }

    /// Called for each row.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.count = 0;
        self.previous = None;
        match &mut self.wanted {
            Wanted::All { any, .. } => *any = false,
            Wanted::Some { at, .. } => *at = 0,
        }
    }

    /// Whether a cell this old, and all older ones of its column, are out whatever the column.
    #[inline]
    pub(crate) fn is_too_old(&self, timestamp: i64) -> bool {
        self.limits.min == 0 && self.limits.is_expired(timestamp)
    }

    /// The column being looked for, when the read names its columns.
    pub(crate) fn hint(&self) -> Option<&[u8]> {
        match &self.wanted {
            Wanted::All { .. } => None,
            Wanted::Some { columns, at } => columns.get(*at).map(|column| &column[..]),
        }
    }

    /// Whether the read names its columns.
    pub(crate) fn is_explicit(&self) -> bool {
        matches!(self.wanted, Wanted::Some { .. })
    }

    /// Whether the cell's column is wanted: `Include` if so.
    pub(crate) fn check_column(&mut self, cell: CellRef<'_>) -> MatchCode {
        let Wanted::Some { columns, at } = &mut self.wanted else { return MatchCode::Include };
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

    /// Counts the cell as a version of its column and says whether it is let through.
    pub(crate) fn check_versions(&mut self, cell: CellRef<'_>) -> MatchCode {
        match &mut self.wanted {
            Wanted::All { current, any } => {
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
            Wanted::Some { columns, at } => {
                let timestamp = cell.timestamp();
                if self.previous.is_some_and(|(previous, _)| previous == timestamp) {
                    return MatchCode::Skip;
                }
                self.count += 1;
                if self.count >= self.limits.max || (self.count >= self.limits.min && self.limits.is_expired(timestamp)) {
                    *at += 1;
                    self.count = 0;
                    self.previous = None;
                    return if *at == columns.len() { MatchCode::IncludeAndSeekNextRow } else { MatchCode::IncludeAndSeekNextColumn };
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

    /// Nothing more is wanted of the cell's column.
    pub(crate) fn finish_column(&mut self, cell: CellRef<'_>) {
        if let Wanted::Some { columns, at } = &mut self.wanted {
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

    /// Nothing more is wanted of the cell's column: where to go on.
    pub(crate) fn next_row_or_column(&mut self, cell: CellRef<'_>) -> MatchCode {
        self.finish_column(cell);
        if self.is_explicit() && self.hint().is_none() { MatchCode::SeekNextRow } else { MatchCode::SeekNextColumn }
    }
}
