//! Sampled operations of a region, for the heat map.

use std::sync::{Arc, OnceLock};

use halite_heat::{
    Durations, Load, Metric, OperationKind, ReadsAndWrites, RegionColumn, RegionRecorder, TablePart,
};
use halite_types::{Get, RegionInfo, Row, RowRange, Selection};

use super::call_log::{CallLog, LoggedScan};
use super::counters::Counters;
use super::prepared_write::{PreparedWrite, cells_of};
use crate::commit::Held;
use crate::env::Clock;
use crate::operation_log::OperationLog;
use crate::options::{HeatLevel, Options};
use crate::ranked_lock::RankedMutex;
use crate::scan::ReadStats;

/// Requests of a column from which on the next one of a region without recorded keys times a part.
const BUSY_OPERATIONS: u64 = 1024;
/// Binary logarithm of the operations per timed one then.
const TIMED_SHIFT: u32 = 7;

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

    /// Prepares the counters of a region that is opened.
    pub(super) fn begin(&self, counters: &Counters) {
        self.set_gate(counters, 0);
    }

    /// Lets pass what must be recorded of the operations of a column: the one before had this many
    /// requests.
    fn set_gate(&self, counters: &Counters, requests: u64) {
        let shift = match (self.has_keys, self.has_durations) {
            (true, _) => self.recorder.get().map_or(0, |recorder| recorder.shift()),
            (false, true) if requests >= BUSY_OPERATIONS => TIMED_SHIFT,
            (false, true) => 0,
            (false, false) => return counters.gate.shut(),
        };
        counters.gate.set(shift.min(self.log.max_shift()));
    }

    fn recorder(&self) -> Option<&RegionRecorder> {
        self.has_keys.then(|| &**self.recorder.get_or_init(Box::default))
    }

    fn durations(&self, number: u64) -> Option<&Arc<Durations>> {
        let durations = self.has_durations.then(|| self.durations.get_or_init(Arc::default))?;
        durations.begin(number).then_some(durations)
    }

    /// Returns the time at which a get begins if it is timed.
    #[inline]
    pub(super) fn start_get(&self, counters: &Counters, clock: &dyn Clock) -> Option<u64> {
        let number = counters.read_requests();
        if counters.gate.passes(number) { self.start(number, clock) } else { None }
    }

    #[cold]
    fn start(&self, number: u64, clock: &dyn Clock) -> Option<u64> {
        self.durations(number).map(|_| clock.monotonic_ns())
    }

    /// Records the duration of a get that began then.
    #[inline]
    pub(super) fn finish_get(&self, started: Option<u64>, clock: &dyn Clock) {
        if let (Some(started), Some(durations)) = (started, self.durations.get()) {
            durations.add_read(clock.monotonic_ns().saturating_sub(started));
        }
    }

    /// Returns `true` if the calls of a scan are timed.
    pub(super) fn is_scan_timed(&self, counters: &Counters) -> bool {
        let number = counters.read_requests();
        counters.gate.passes(number) && self.durations(number).is_some()
    }

    /// Records the duration of a call for rows of a timed scan, in nanoseconds.
    pub(super) fn record_scan_time(&self, elapsed_ns: u64) {
        if let Some(durations) = self.durations.get() {
            durations.add_read(elapsed_ns);
        }
    }

    /// Returns the time at which a write begins if it is timed.
    #[inline]
    pub(super) fn start_write(&self, counters: &Counters, clock: &dyn Clock) -> Option<u64> {
        let number = counters.write_requests();
        if counters.gate.passes(number) { self.start(number, clock) } else { None }
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
    pub(super) fn record_get(
        &self,
        number: u64,
        counters: &Counters,
        get: &Get,
        stats: &ReadStats,
    ) {
        if counters.gate.passes(number) {
            self.record_passed_get(number, counters, get, stats);
        }
    }

    #[cold]
    fn record_passed_get(&self, number: u64, counters: &Counters, get: &Get, stats: &ReadStats) {
        if let Some(recorder) = self.recorder() {
            recorder.record(number, OperationKind::Get, get.row(), stats.bytes_returned());
            self.log.record_get(number, get, stats);
            self.set_gate(counters, 0);
        }
    }

    /// Returns the record of a scan for the log of operations, if it is due. It is written when it
    /// is dropped.
    pub(super) fn begin_scan(&self, selection: &Selection, range: &RowRange) -> Option<LoggedScan> {
        self.log.begin_scan(selection, range)
    }

    /// Records rows that a scan returned. `first` is the number of read requests before them.
    pub(super) fn record_rows(&self, first: u64, counters: &Counters, rows: &[Row]) {
        // Rows are read only if they are recorded: most of a busy region's are not.
        for at in counters.gate.passing(first, rows.len()) {
            let (number, row) = (first.wrapping_add(at as u64), &rows[at]);
            let Some(recorder) = self.recorder().filter(|_| !row.is_partial()) else { continue };
            let bytes = row.cells().bytes().len() as u64;
            recorder.record(number, OperationKind::ScannedRow, row.key(), bytes);
            self.set_gate(counters, 0);
        }
    }

    /// Records the operations of a write. `first` is the number of write requests before them.
    #[inline]
    pub(super) fn record_writes(&self, first: u64, counters: &Counters, write: &PreparedWrite<'_>) {
        if write.requests > 1 || counters.gate.passes(first) {
            self.record_each(first, counters, write);
        }
    }

    fn record_each(&self, first: u64, counters: &Counters, write: &PreparedWrite<'_>) {
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
        let passed = (first..).zip(runs).filter(|(number, _)| counters.gate.passes(*number));
        for (number, run) in passed {
            let Some(recorder) = self.recorder() else { return };
            self.log.record_write(number, write.origin, run);
            recorder.record_with(number, || {
                let cell = cells_of(run.cells, 0).next()?;
                let is_delete = cell.is_delete();
                let kind = if is_delete { OperationKind::Delete } else { OperationKind::Write };
                Some((kind, cell.row(), run.cells.len() as u64))
            });
            self.set_gate(counters, 0);
        }
    }

    /// Returns the load since the last call, which is exact, and what was recorded of its keys.
    pub(super) fn take(
        &self,
        counters: &Counters,
        part: TablePart<'_>,
        file_rows: impl FnOnce() -> Vec<Vec<u8>>,
    ) -> (Load, RegionColumn) {
        let now = counters.heat_load();
        let before = std::mem::replace(&mut *self.counted.lock(), now);
        let mut load = Load::default();
        for metric in Metric::ALL {
            load.add(metric, now.get(metric).saturating_sub(before.get(metric)));
        }
        if let Some(durations) = self.durations.get() {
            durations.close_column(load.requests());
        }
        if load.is_zero() {
            if let Some(recorder) = self.recorder.get() {
                recorder.rest();
            }
            self.set_gate(counters, 0);
            return (load, RegionColumn::default());
        }
        let Some(recorder) = self.recorder() else {
            self.set_gate(counters, load.requests());
            return (load, RegionColumn { loads: vec![load], ..RegionColumn::default() });
        };
        let column = recorder.drain(&load, part, file_rows);
        self.set_gate(counters, load.requests());
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
