//! Lock of changes of quotas.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock that serializes changes of quotas, since each change reads what it modifies.
#[derive(Debug, Default)]
pub(crate) struct QuotaChanges(Mutex<()>);

impl QuotaChanges {
    /// Waits for the other changes.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
