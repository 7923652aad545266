//! Options of the execution of a plan.

use crate::plan::KeyGroups;

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
}

impl Default for ScatterOptions {
    fn default() -> Self {
        Self {
            concurrency: 16,
            buffer_bytes: 32 << 20,
            undecodable_rows: UndecodableRows::default(),
            first_of: None,
        }
    }
}
