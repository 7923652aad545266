//! In place of `heat.rs` in a build without the feature `heat`: nothing is recorded.

use std::sync::Arc;

use halite_types::{Get, RegionInfo, Row, RowRange, Selection};

use super::prepared_write::PreparedWrite;
use crate::operation_log::OperationLog;
use crate::options::Options;
use crate::scan::ReadStats;

/// Nothing.
pub(crate) struct RegionHeat;

/// Nothing.
pub(super) struct LoggedScan;

impl RegionHeat {
    pub(super) fn new(
        _options: &Options,
        _log: &Arc<OperationLog>,
        _info: &Arc<RegionInfo>,
        _number: u64,
    ) -> Self {
        Self
    }

    #[inline]
    pub(super) fn record_get(&self, _number: u64, _get: &Get, _stats: &ReadStats) {}

    #[inline]
    pub(super) fn begin_scan(
        &self,
        _selection: &Selection,
        _range: &RowRange,
    ) -> Option<LoggedScan> {
        None
    }

    #[inline]
    pub(super) fn record_rows(&self, _first: u64, _rows: &[Row]) {}

    #[inline]
    pub(super) fn record_writes(&self, _first: u64, _write: &PreparedWrite<'_>) {}
}

impl LoggedScan {
    #[inline]
    pub(super) fn add(&mut self, _part: &ReadStats) {}
}
