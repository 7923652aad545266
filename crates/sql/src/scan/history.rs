//! Versions and times of the cells that a scan reads.

use std::collections::BTreeSet;
use std::fmt;

use halite_types::{Bytes, Scan, TimeRange};

use super::selection::cell_of;
use crate::catalog::shape::TableShape;
use crate::error::Result;

/// Versions and times of the cells that a scan reads. By default a row of the answer has the newest
/// cells of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// Versions of each column that are read, each time as a row of the answer, `u32::MAX` for all;
    /// `None` for the newest cells.
    pub(crate) versions: Option<u32>,
    /// First and last time of the cells that are read, in milliseconds since 1970.
    pub(crate) times: Option<(i64, i64)>,
}

impl History {
    /// Returns the cells up to a time.
    pub(crate) fn until(time_ms: i64) -> Self {
        Self { versions: None, times: Some((0, time_ms)) }
    }

    /// Returns what both ask for.
    pub(crate) fn and(self, other: Self) -> Self {
        let times = match (self.times, other.times) {
            (Some((from, to)), Some((after, before))) => Some((from.max(after), to.min(before))),
            (one, other) => one.or(other),
        };
        Self { versions: self.versions.or(other.versions), times }
    }

    /// Returns a scan of such cells.
    ///
    /// # Errors
    /// None in practice: the times are in order.
    pub(super) fn applied(self, mut scan: Scan) -> Result<Scan> {
        if let Some(versions) = self.versions {
            scan = scan.versions(versions.min(i32::MAX.unsigned_abs()));
        }
        if let Some((from, to)) = self.times {
            let from = from.max(0);
            let until = to.saturating_add(1).max(from);
            scan = scan.time_range(TimeRange::new(from, until)?);
        }
        Ok(scan)
    }

    /// Returns the scan of all versions of the cells of `columns`, or of all declared cells if none
    /// of them is a cell: without a cell a row has no version.
    pub(super) fn select(shape: &TableShape, columns: &[usize]) -> Scan {
        let mut cells: BTreeSet<(Bytes, Bytes)> =
            columns.iter().filter_map(|at| cell_of(shape, *at)).collect();
        if cells.is_empty() {
            cells.extend(shape.cells().map(|(family, name)| (family.clone(), name.clone())));
        }
        let add = |scan: Scan, (family, qualifier)| scan.column(family, qualifier);
        cells.into_iter().fold(Scan::all(), add)
    }
}

impl fmt::Display for History {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.versions {
            None => out.write_str("newest cells")?,
            Some(u32::MAX) => out.write_str("all versions")?,
            Some(versions) => write!(out, "{versions} versions of each column")?,
        }
        match self.times {
            Some((0, to)) => write!(out, ", until {to}"),
            Some((from, to)) => write!(out, ", from {from} until {to}"),
            None => Ok(()),
        }
    }
}
