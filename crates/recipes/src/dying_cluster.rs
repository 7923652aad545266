//! Cluster whose client stops after a number of writes, as a program does that is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite::{Cluster, Error, ErrorKind, Result};

use crate::hooked_cluster::{Hook, HookedCluster};

/// Cluster that accepts a number of batches of writes and fails the following ones without an
/// effect.
pub type DyingCluster = HookedCluster<BatchesLeft>;

/// Number of batches of writes that a client still sends.
pub struct BatchesLeft(AtomicU64);

impl DyingCluster {
    /// Wraps a cluster for this number of batches.
    pub fn new(cluster: Arc<dyn Cluster>, batches: u64) -> Self {
        Self::with_hook(cluster, Arc::new(BatchesLeft(AtomicU64::new(batches))))
    }
}

impl Hook for BatchesLeft {
    fn before_batch(&self) -> Result<()> {
        let take = |left: u64| left.checked_sub(1);
        match self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(ErrorKind::Stopped, "the client was stopped at this write")),
        }
    }
}
