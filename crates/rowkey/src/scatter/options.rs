//! Options of the execution of a plan.

use crate::plan::{KeyGroups, KeyRange};

/// Treatment of rows whose keys are not of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndecodableRows {
    /// Return them at their position in the ranges.
    #[default]
    Return,
    /// Skip and count them.
    Count,
    /// End the scan with an error at the first of them.
    Fail,
}

/// Options of the execution of a plan.
#[derive(Clone, Debug)]
pub struct ScatterOptions {
    /// Chunks read at once, at least 1.
    pub concurrency: usize,
    /// Maximum bytes of buffered rows over all ranges. Each range holds at most two chunks; a chunk
    /// has at least 4 KiB, or one row.
    pub buffer_bytes: usize,
    /// Treatment of rows that are not keys of the schema.
    pub undecodable_rows: UndecodableRows,
    /// Groups of [`Plan::groups`](crate::Plan::groups) of which only the first row is returned, one
    /// range after the other. Needs whole rows and keys that are read: no batch limit, no
    /// [`UndecodableRows::Return`].
    pub first_of: Option<KeyGroups>,
    /// Ranges of [`Plan::point_runs`](crate::Plan::point_runs), to read complete keys by scans with a
    /// `MultiRowRangeFilter`; empty to read them by gets. Scans are cheaper for a cluster from about
    /// 1,000 keys of a region on, if these are at least one row in a hundred. Pages and
    /// [`Self::first_of`] are read by gets.
    pub point_runs: Vec<KeyRange>,
}

impl Default for ScatterOptions {
    fn default() -> Self {
        Self {
            concurrency: 16,
            buffer_bytes: 32 << 20,
            undecodable_rows: UndecodableRows::default(),
            first_of: None,
            point_runs: Vec::new(),
        }
    }
}
