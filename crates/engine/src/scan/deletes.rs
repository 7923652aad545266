//! Tracker of the delete markers of a row and of the cells they hide (the role of HBase's
//! `ScanDeleteTracker`).
//!
//! Markers sort before the cells they hide, so one pass that records them is enough. Family markers
//! are first in the row (their qualifier is empty), and column markers are before the puts of their
//! column. Sequence ids do not matter: a marker hides older timestamps, also of puts written after
//! it.

use halite_types::CellRef;
use halite_types::cell::CellType;

/// Markers that apply to later cells in the current row.
#[derive(Debug, Default)]
pub(crate) struct DeleteTracker {
    /// Newest `DeleteFamily`: hides everything up to it.
    family: Option<i64>,
    /// `DeleteFamilyVersion` markers newer than `family`: their timestamps, each once, in order of
    /// arrival, which is the newest first.
    family_versions: Vec<i64>,
    /// `Delete` or `DeleteColumn` marker of the current column.
    column: Option<ColumnMarker>,
    /// Qualifier that `column` belongs to, in a separate field so that its memory is reused.
    qualifier: Vec<u8>,
}

#[derive(Debug)]
struct ColumnMarker {
    code: u8,
    timestamp: i64,
}

/// Extent to which a cell is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeleteResult {
    /// Not hidden.
    NotDeleted,
    /// Only this version.
    Version,
    /// This and all older versions of the column.
    Column,
}

impl DeleteTracker {
    /// Clears all markers; called for each row.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.family = None;
        self.column = None;
        self.family_versions.clear();
    }

    /// Returns `true` if nothing can be hidden.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.family.is_none() && self.column.is_none() && self.family_versions.is_empty()
    }

    /// Records a marker.
    pub(crate) fn add(&mut self, marker: CellRef<'_>) {
        let (timestamp, code) = (marker.timestamp(), marker.type_code());
        if self.family.is_some_and(|family| timestamp <= family) {
            return;
        }
        if code == CellType::DeleteFamily.code() {
            self.family = Some(timestamp);
        } else if code == CellType::DeleteFamilyVersion.code() {
            if self.family_versions.last() != Some(&timestamp) {
                self.family_versions.push(timestamp);
            }
        } else {
            let wider_is_known = self
                .column
                .as_ref()
                .is_some_and(|known| code < known.code && self.qualifier == marker.qualifier());
            if !wider_is_known {
                self.column = Some(ColumnMarker { code, timestamp });
                self.qualifier.clear();
                self.qualifier.extend_from_slice(marker.qualifier());
            }
        }
    }

    /// Returns the extent to which `cell`, which is after all added markers, is hidden.
    pub(crate) fn hides(&mut self, cell: CellRef<'_>) -> DeleteResult {
        let timestamp = cell.timestamp();
        if self.family.is_some_and(|family| timestamp <= family) {
            return DeleteResult::Column;
        }
        if self.family_versions.binary_search_by(|known| timestamp.cmp(known)).is_ok() {
            return DeleteResult::Version;
        }
        match &self.column {
            Some(marker) if self.qualifier == cell.qualifier() => {
                if marker.code == CellType::DeleteColumn.code() {
                    return DeleteResult::Column;
                }
                if marker.timestamp == timestamp {
                    return DeleteResult::Version;
                }
            }
            _ => {}
        }
        // The marker is for a newer version or an earlier column: it hides no later cell.
        self.column = None;
        DeleteResult::NotDeleted
    }
}

#[cfg(test)]
mod tests {
    use halite_types::cell::CellParts;
    use halite_types::{CellsBuilder, LATEST_TIMESTAMP};

    use super::*;

    fn cell(timestamp: i64, cell_type: CellType) -> CellsBuilder {
        let mut cells = CellsBuilder::default();
        cells.push_parts(CellParts {
            row: b"r",
            family: b"f",
            qualifier: b"",
            timestamp,
            cell_type,
            value: b"",
            tags: b"",
        });
        cells
    }

    #[test]
    fn family_version_markers_are_deduplicated_and_found() {
        let mut tracker = DeleteTracker::default();
        let mut add =
            |timestamp, kind| cell(timestamp, kind).iter().for_each(|marker| tracker.add(marker));
        add(LATEST_TIMESTAMP, CellType::DeleteFamilyVersion);
        for timestamp in (0..1000).rev() {
            add(2 * timestamp, CellType::DeleteFamilyVersion);
            add(2 * timestamp, CellType::DeleteFamilyVersion);
        }
        assert_eq!(tracker.family_versions.len(), 1001);
        let mut hides =
            |timestamp| cell(timestamp, CellType::Put).iter().map(|put| tracker.hides(put)).next();
        for timestamp in 0..2000 {
            let expected =
                if timestamp % 2 == 0 { DeleteResult::Version } else { DeleteResult::NotDeleted };
            assert_eq!(hides(timestamp), Some(expected), "{timestamp}");
        }
        assert_eq!(
            (hides(LATEST_TIMESTAMP), hides(LATEST_TIMESTAMP - 1)),
            (Some(DeleteResult::Version), Some(DeleteResult::NotDeleted))
        );
    }
}
