//! Sampled operations of a region, for the heat map.

use std::sync::{Arc, OnceLock};

use halite_heat::{
    Durations, Load, Metric, OperationKind, ReadsAndWrites, RegionColumn, RegionRecorder, TablePart,
};
use halite_types::{Get, RegionInfo, Row, RowRange, Selection};

use super::call_log::{CallLog, LoggedScan};
use super::prepared_write::{PreparedWrite, cells_of};
use crate::commit::Held;
use crate::env::Clock;
use crate::operation_log::OperationLog;
use crate::options::{HeatLevel, Options};
use crate::ranked_lock::RankedMutex;
use crate::scan::ReadStats;

/// Recording of one region.
pub(crate) struct RegionHeat {
    /// `true` if keys are recorded.
    has_keys: bool,
    /// `true` if durations are recorded.
    has_durations: bool,
    /// Created by the first operation, as the recorder.
    durations: OnceLock<Arc<Durations>>,
    /// Created by the first operation: most regions of a large table have none for long.
    recorder: OnceLock<Box<RegionRecorder>>,
    /// Exact load at the end of the last column.
    counted: RankedMutex<Load>,
    log: CallLog,
}

impl RegionHeat {
    pub(super) fn new(
        options: &Options,
        log: &Arc<OperationLog>,
        info: &Arc<RegionInfo>,
        number: u64,
    ) -> Self {
        Self {
            has_keys: options.heat_level >= HeatLevel::Sub,
            has_durations: options.heat_level >= HeatLevel::Region,
            durations: OnceLock::new(),
            recorder: OnceLock::new(),
            counted: RankedMutex::default(),
            log: CallLog::new(log, info, number),
        }
    }

    #[inline]
    fn recorder(&self) -> Option<&RegionRecorder> {
        self.has_keys.then(|| &**self.recorder.get_or_init(Box::default))
    }

    #[inline]
    fn durations(&self, number: u64) -> Option<&Arc<Durations>> {
        let durations = self.has_durations.then(|| self.durations.get_or_init(Arc::default))?;
        durations.begin(number).then_some(durations)
    }

    /// Returns the time at which a get begins if it is timed. `number` is about that of the read
    /// requests before it.
    #[inline]
    pub(super) fn start_get(&self, number: u64, clock: &dyn Clock) -> Option<u64> {
        self.durations(number).map(|_| clock.monotonic_ns())
    }

    /// Records the duration of a get that began then.
    #[inline]
    pub(super) fn finish_get(&self, started: Option<u64>, clock: &dyn Clock) {
        if let (Some(started), Some(durations)) = (started, self.durations.get()) {
            durations.add_read(clock.monotonic_ns().saturating_sub(started));
        }
    }

    /// Returns `true` if the calls of a scan are timed. `number` is about that of the read requests
    /// before it.
    pub(super) fn is_scan_timed(&self, number: u64) -> bool {
        self.durations(number).is_some()
    }

    /// Records the duration of a call for rows of a timed scan, in nanoseconds.
    pub(super) fn record_scan_time(&self, elapsed_ns: u64) {
        if let Some(durations) = self.durations.get() {
            durations.add_read(elapsed_ns);
        }
    }

    /// Returns the time at which a write begins if it is timed.
    #[inline]
    pub(super) fn start_write(&self, number: u64, clock: &dyn Clock) -> Option<u64> {
        self.durations(number).map(|_| clock.monotonic_ns())
    }

    /// Returns a value that records, when it is dropped, the duration of a write that began then
    /// and did not fail.
    #[inline]
    pub(super) fn finish_write(
        &self,
        started: Option<u64>,
        clock: &Arc<dyn Clock>,
    ) -> Option<Held> {
        let (started_ns, durations) = (started?, Arc::clone(self.durations.get()?));
        Some(Arc::new(WriteTimer { durations, clock: Arc::clone(clock), started_ns }))
    }

    /// Returns the durations of the last minute.
    pub(super) fn recent_durations(&self) -> ReadsAndWrites {
        self.durations.get().map(|durations| durations.recent()).unwrap_or_default()
    }

    /// Records a get. `number` is that of the read requests before it.
    #[inline]
    pub(super) fn record_get(&self, number: u64, get: &Get, stats: &ReadStats) {
        if let Some(recorder) = self.recorder() {
            recorder.record(number, OperationKind::Get, get.row(), stats.bytes_returned());
            self.log.record_get(number, get, stats);
        }
    }

    /// Returns the record of a scan for the log of operations, if it is due. It is written when it
    /// is dropped.
    pub(super) fn begin_scan(&self, selection: &Selection, range: &RowRange) -> Option<LoggedScan> {
        self.log.begin_scan(selection, range)
    }

    /// Records rows that a scan returned. `first` is the number of read requests before them.
    pub(super) fn record_rows(&self, first: u64, rows: &[Row]) {
        let Some(recorder) = self.recorder() else { return };
        // Rows are looked at only if they are recorded: most of a busy region's are not.
        let sampled = (first..).zip(rows).filter(|(number, _)| recorder.is_sampled(*number));
        for (number, row) in sampled.filter(|(_, row)| !row.is_partial()) {
            let bytes = row.cells().bytes().len() as u64;
            recorder.record(number, OperationKind::ScannedRow, row.key(), bytes);
        }
    }

    /// Records the operations of a write. `first` is the number of write requests before them.
    #[inline]
    pub(super) fn record_writes(&self, first: u64, write: &PreparedWrite<'_>) {
        let Some(recorder) = self.recorder() else { return };
        // Cells of one operation in several families are runs of their own: only the first counts.
        let mut last: Option<&[u8]> = None;
        let has_families = write.runs().count() > write.requests;
        let runs = write.runs().filter(|run| {
            if !has_families {
                return true;
            }
            let row = cells_of(run.cells, 0).next().map(|cell| cell.row());
            std::mem::replace(&mut last, row) != row
        });
        for (number, run) in (first..).zip(runs) {
            self.log.record_write(number, write.origin, run);
            recorder.record_with(number, || {
                let cell = cells_of(run.cells, 0).next()?;
                let is_delete = cell.is_delete();
                let kind = if is_delete { OperationKind::Delete } else { OperationKind::Write };
                Some((kind, cell.row(), run.cells.len() as u64))
            });
        }
    }

    /// Returns the load since the last call, which is exact, and what was recorded of its keys. `now`
    /// is the exact load since the region was opened.
    pub(super) fn take(
        &self,
        now: Load,
        part: TablePart<'_>,
        file_rows: impl FnOnce() -> Vec<Vec<u8>>,
    ) -> (Load, RegionColumn) {
        if let Some(durations) = self.durations.get() {
            durations.close_column();
        }
        let before = std::mem::replace(&mut *self.counted.lock(), now);
        let mut load = Load::default();
        for metric in Metric::ALL {
            load.add(metric, now.get(metric).saturating_sub(before.get(metric)));
        }
        if load.is_zero() {
            return (load, RegionColumn::default());
        }
        let Some(recorder) = self.recorder() else {
            return (load, RegionColumn { loads: vec![load], ..RegionColumn::default() });
        };
        let column = recorder.drain(&load, part, file_rows);
        // The deletes are those of the sample.
        let load = column.loads.iter().fold(Load::default(), |sum, load| sum + *load);
        (load, column)
    }
}

/// Write that is timed until it is dropped.
struct WriteTimer {
    durations: Arc<Durations>,
    clock: Arc<dyn Clock>,
    started_ns: u64,
}

impl Drop for WriteTimer {
    fn drop(&mut self) {
        self.durations.add_write(self.clock.monotonic_ns().saturating_sub(self.started_ns));
    }
}
