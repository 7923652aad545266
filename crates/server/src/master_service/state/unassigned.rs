//! Regions that clients have unassigned.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Regions that were unassigned and not assigned again, by encoded name.
#[derive(Debug, Default)]
pub(crate) struct Unassigned(Mutex<HashSet<String>>);

impl Unassigned {
    /// Applies a change to the names and returns its result.
    pub(crate) fn change(&self, change: impl FnOnce(&mut HashSet<String>) -> bool) -> bool {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
