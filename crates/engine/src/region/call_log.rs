//! Operations of a region in the log of the store.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use halite_heat::operations::{Call, CallKind};
use halite_heat::sampler;
use halite_types::{Get, RegionInfo, RowRange, Selection};

use super::prepared_write::{FamilyRun, WriteOrigin, cells_of};
use crate::catalog::layout;
use crate::operation_log::{OperationLog, of_cells, of_selection};
use crate::scan::ReadStats;

/// Log of the operations of one region.
pub(super) struct CallLog {
    /// `None` if they are not logged.
    log: Option<Arc<OperationLog>>,
    info: Arc<RegionInfo>,
    /// Position at which the sample begins, so that not the first operation of each region is
    /// logged.
    offset: u64,
    /// Scans that were begun.
    scans: AtomicU64,
}

impl CallLog {
    pub(super) fn new(log: &Arc<OperationLog>, info: &Arc<RegionInfo>, number: u64) -> Self {
        let is_logged = log.is_on() && !layout::is_hidden(&info.table);
        Self {
            log: is_logged.then(|| Arc::clone(log)),
            info: Arc::clone(info),
            offset: log.offset_of(sampler::position(number.wrapping_add(1))),
            scans: AtomicU64::new(0),
        }
    }

    /// Returns the largest binary logarithm of operations per one of which the logged ones are a
    /// part.
    pub(super) fn max_shift(&self) -> u32 {
        self.log.as_ref().map_or(u32::MAX, |log| log.max_shift())
    }

    /// Returns the log if an operation is due. `number` counts those of its kind in the region.
    #[inline]
    fn due(&self, number: u64) -> Option<&Arc<OperationLog>> {
        self.log.as_ref().filter(|log| log.is_due(number, self.offset))
    }

    /// Records a get if it is due. `number` is that of the read requests before it.
    #[inline]
    pub(super) fn record_get(&self, number: u64, get: &Get, stats: &ReadStats) {
        if let Some(log) = self.due(number) {
            log.record(Call {
                row: get.row()[..].into(),
                cells: stats.cells_returned(),
                rows: 1,
                bytes: stats.bytes_returned(),
                statement: of_selection(CallKind::Get, &get.selection),
                ..self.call(CallKind::Get)
            });
        }
    }

    /// Records an operation of a write if it is due. `number` is that of the write requests before
    /// it; of an operation on several families, `run` is the first.
    #[inline]
    pub(super) fn record_write(&self, number: u64, origin: WriteOrigin, run: FamilyRun<'_>) {
        if let Some(log) = self.due(number) {
            self.record_due_write(log, origin, run);
        }
    }

    #[cold]
    fn record_due_write(&self, log: &OperationLog, origin: WriteOrigin, run: FamilyRun<'_>) {
        let Some(first) = cells_of(run.cells, 0).next() else { return };
        let kind = match origin {
            WriteOrigin::Plain if first.is_delete() => CallKind::Delete,
            WriteOrigin::Plain => CallKind::Put,
            WriteOrigin::Increment => CallKind::Increment,
            WriteOrigin::Append => CallKind::Append,
            WriteOrigin::CheckAndMutate => CallKind::CheckAndMutate,
            WriteOrigin::RowMutations => CallKind::RowMutations,
        };
        log.record(Call {
            row: first.row().into(),
            cells: cells_of(run.cells, 0).count() as u64,
            rows: 1,
            bytes: run.cells.len() as u64,
            statement: of_cells(kind, cells_of(run.cells, 0)),
            ..self.call(kind)
        });
    }

    /// Returns the record of a scan of a range of the region, if it is due.
    pub(super) fn begin_scan(&self, selection: &Selection, range: &RowRange) -> Option<LoggedScan> {
        // Of a log that is off, not even the number is counted.
        self.log.as_ref()?;
        let log = self.due(self.scans.fetch_add(1, Relaxed))?;
        let row = match &range.start {
            Bound::Unbounded => Box::default(),
            Bound::Included(row) | Bound::Excluded(row) => row[..].into(),
        };
        let stop = match &range.end {
            Bound::Unbounded => Box::default(),
            Bound::Excluded(row) => row[..].into(),
            Bound::Included(row) => halite_types::key::successor_of_row(row).into(),
        };
        let statement = of_selection(CallKind::Scan, selection);
        let call = Call { row, stop: Some(stop), statement, ..self.call(CallKind::Scan) };
        Some(LoggedScan { log: Arc::clone(log), call: Some(call) })
    }

    /// Returns a call on the region by the caller of this thread.
    fn call(&self, kind: CallKind) -> Call {
        Call {
            time_ms: 0,
            kind,
            weight: 1,
            table: self.info.table.to_string().into(),
            row: Box::default(),
            stop: None,
            cells: 0,
            rows: 0,
            bytes: 0,
            client: OperationLog::client(),
            statement: Arc::default(),
        }
    }
}

/// Scan that is recorded at its end, with all that it returned.
pub(super) struct LoggedScan {
    log: Arc<OperationLog>,
    /// Taken at the end.
    call: Option<Call>,
}

impl LoggedScan {
    /// Adds what a part of the scan returned.
    pub(super) fn add(&mut self, part: &ReadStats) {
        if let Some(call) = &mut self.call {
            call.cells += part.cells_returned();
            call.rows += part.rows_returned();
            call.bytes += part.bytes_returned();
        }
    }
}

impl Drop for LoggedScan {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.log.record(call);
        }
    }
}
