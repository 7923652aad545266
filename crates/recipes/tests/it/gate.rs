//! Writes that do not end, as those of a client that waits for a server.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use halite_recipes::Hook;

/// Gate for batches of writes.
pub(crate) struct Gate {
    /// Batches that pass; `None` for all.
    left: Mutex<Option<u64>>,
    changed: Condvar,
}

/// Lets all batches pass when it is dropped.
pub(crate) struct Release(Arc<Gate>);

impl Gate {
    /// Creates a gate that a number of batches pass.
    pub(crate) fn new(batches: u64) -> Arc<Self> {
        Arc::new(Self { left: Mutex::new(Some(batches)), changed: Condvar::new() })
    }

    /// Returns `true` if the next batch does not pass.
    pub(crate) fn is_shut(&self) -> bool {
        *self.left.lock().unwrap() == Some(0)
    }

    pub(crate) fn release_on_drop(self: &Arc<Self>) -> Release {
        Release(Arc::clone(self))
    }
}

impl Hook for Gate {
    fn before_batch(&self) -> halite::Result<()> {
        let left = self.left.lock().unwrap();
        let mut left = self.changed.wait_while(left, |left| *left == Some(0)).unwrap();
        *left = left.map(|left| left - 1);
        Ok(())
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.changed.notify_all();
    }
}
