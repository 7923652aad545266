//! Progress of the statement that a session runs.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::statement::StatementContext;

/// What the last statement of a session has done so far, while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows that regions examined for its scans, and rows that were got.
    pub rows_examined: u64,
    /// Rows of the answer that its reader has received.
    pub rows_returned: u64,
    /// Rows that were written, as far as the cluster has answered.
    pub rows_written: u64,
    /// Parts of regions that were read to their end, and those that will be, as far as its scans
    /// have begun. `None` where a limit may end one of them anywhere, and for gets.
    pub regions: Option<(u64, u64)>,
}

/// The statement that a session began last.
#[derive(Debug, Default)]
pub(super) struct Current(Mutex<Weak<StatementContext>>);

impl Current {
    /// Remembers a statement that begins.
    pub(super) fn set(&self, statement: &Arc<StatementContext>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(statement);
    }

    /// Returns what the statement has done so far; `None` once it is gone.
    pub(super) fn progress(&self) -> Option<Progress> {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade()?;
        let rows_examined = current.examined.load(Ordering::Relaxed).max(current.meter.examined());
        let regions = current.regions.load(Ordering::Relaxed);
        let is_known = regions > 0 && !current.has_open_end.load(Ordering::Relaxed);
        Some(Progress {
            rows_examined,
            rows_returned: current.returned.load(Ordering::Relaxed),
            rows_written: current.written.load(Ordering::Relaxed),
            // A region that was split meanwhile has two ends.
            regions: is_known.then(|| (current.meter.regions().min(regions), regions)),
        })
    }
}
