//! State of one running statement, which its scans share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::execution::TaskContext;
use halite_types::ScanMeter;

use super::settings::Settings;
use super::tally::WriteTally;

/// Settings, notices and counters of one statement.
#[derive(Debug, Default)]
pub(crate) struct StatementContext {
    pub(crate) settings: Settings,
    /// Rows that regions examined for all scans, and rows that were got, as answers come.
    pub(crate) examined: AtomicU64,
    /// Meter of its scans, which end beyond the guard of the statement.
    pub(crate) meter: Arc<ScanMeter>,
    /// Ends of regions to which its scans come, if they come to their own.
    pub(crate) regions: AtomicU64,
    /// A scan may end anywhere, or does not know its regions.
    pub(crate) has_open_end: AtomicBool,
    /// Rows that its reader has received.
    pub(crate) returned: AtomicU64,
    /// Rows that the statement wrote, as far as the cluster has answered.
    pub(crate) written: AtomicU64,
    /// Operations on rows so far, answered or not.
    pub(crate) writes: AtomicU64,
    /// Those that were sent and have no answer.
    pub(crate) in_flight: AtomicU64,
    /// What those that were answered did.
    pub(crate) tally: WriteTally,
    notices: Mutex<Vec<String>>,
    has_ended: AtomicBool,
}

impl StatementContext {
    pub(crate) fn new(settings: Settings) -> Self {
        let most = match settings.max_rows_examined {
            0 => u64::MAX,
            most => most,
        };
        Self { settings, meter: Arc::new(ScanMeter::new(most)), ..Self::default() }
    }

    /// Returns that of a running plan.
    pub(crate) fn of(context: &TaskContext) -> Arc<Self> {
        context.session_config().get_extension::<Self>().unwrap_or_default()
    }

    /// Remembers that the reader of the rows is gone.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the reader of the rows is gone.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Adds the ends of regions to which a scan comes; `None` if that is not known.
    pub(crate) fn add_regions(&self, regions: Option<u64>) {
        match regions {
            Some(regions) => drop(self.regions.fetch_add(regions, Ordering::Relaxed)),
            None => self.has_open_end.store(true, Ordering::Relaxed),
        }
    }

    /// Returns what the statement wrote so far.
    pub(crate) fn rows_written(&self) -> RowsWritten {
        RowsWritten {
            certain: self.written.load(Ordering::Relaxed),
            unknown: self.in_flight.load(Ordering::Relaxed),
        }
    }

    /// Adds something the user should know; repetitions are dropped.
    pub(crate) fn notice(&self, text: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if !notices.contains(&text) {
            notices.push(text);
        }
    }

    /// Removes and returns the notices so far.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Rows that a statement wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowsWritten {
    /// Those that the cluster has answered.
    pub(crate) certain: u64,
    /// Those without an answer, which may have been written.
    pub(crate) unknown: u64,
}

impl RowsWritten {
    /// Returns the end of an error's text; nothing if no row was written.
    pub(crate) fn text(self) -> String {
        match self {
            Self { certain: 0, unknown: 0 } => String::new(),
            Self { certain, unknown: 0 } => format!("; {certain} row(s) were written before"),
            Self { certain, unknown } => format!(
                "; {certain} row(s) were written before, and whether {unknown} more were is unknown"
            ),
        }
    }
}
