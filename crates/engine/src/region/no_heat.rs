//! In place of `heat.rs` in a build without the feature `heat`: nothing is recorded.

use std::sync::Arc;

use halite_types::{Get, RegionInfo, Row, RowRange, Selection};

use super::counters::Counters;
use super::prepared_write::PreparedWrite;
use crate::commit::Held;
use crate::env::Clock;
use crate::operation_log::OperationLog;
use crate::options::Options;
use crate::scan::ReadStats;

/// Nothing.
pub(crate) struct RegionHeat;

/// Nothing.
pub(super) struct LoggedScan;

#[expect(clippy::unused_self, reason = "they stand for the methods of heat.rs")]
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
    pub(super) fn begin(&self, _counters: &Counters) {}

    #[inline]
    pub(super) fn start_get(&self, _counters: &Counters, _clock: &dyn Clock) -> Option<u64> {
        None
    }

    #[inline]
    pub(super) fn finish_get(&self, _started: Option<u64>, _clock: &dyn Clock) {}

    #[inline]
    pub(super) fn is_scan_timed(&self, _counters: &Counters) -> bool {
        false
    }

    #[inline]
    pub(super) fn record_scan_time(&self, _elapsed_ns: u64) {}

    #[inline]
    pub(super) fn start_write(&self, _counters: &Counters, _clock: &dyn Clock) -> Option<u64> {
        None
    }

    #[inline]
    pub(super) fn finish_write(
        &self,
        _started: Option<u64>,
        _clock: &Arc<dyn Clock>,
    ) -> Option<Held> {
        None
    }

    #[inline]
    pub(super) fn record_get(
        &self,
        _number: u64,
        _counters: &Counters,
        _get: &Get,
        _stats: &ReadStats,
    ) {
    }

    #[inline]
    pub(super) fn begin_scan(
        &self,
        _selection: &Selection,
        _range: &RowRange,
    ) -> Option<LoggedScan> {
        None
    }

    #[inline]
    pub(super) fn record_rows(&self, _first: u64, _counters: &Counters, _rows: &[Row]) {}

    #[inline]
    pub(super) fn record_writes(
        &self,
        _first: u64,
        _counters: &Counters,
        _write: &PreparedWrite<'_>,
    ) {
    }
}

#[expect(clippy::unused_self, reason = "it has the form of the method of call_log.rs")]
impl LoggedScan {
    #[inline]
    pub(super) fn add(&mut self, _part: &ReadStats) {}
}
