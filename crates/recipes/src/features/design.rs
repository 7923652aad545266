//! Interface of a design of features: what the generator writes and what the check reads.

use anyhow::Result;
use features::{Behavior, Features, Ranking, Vector};
use halite::rowkey::Page;

use crate::recipe::Site;

/// Design of features.
pub trait Design: Send + Sync {
    /// Writes vectors of a version that is not in use yet.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn write_vectors(&self, version: u32, vectors: &[Vector]) -> Result<()>;

    /// Makes readers use a version, unless they use a newer one.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn switch_to(&self, version: u32) -> Result<()>;

    /// Returns the version in use; 0 before the first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn version(&self) -> Result<u32>;

    /// Records behavior; what was recorded before counts once.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn record(&self, behavior: &[Behavior]) -> Result<()>;

    /// Returns `true` if an event was recorded.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn is_recorded(&self, behavior: &Behavior) -> Result<bool>;

    /// Returns the features of a user and of items.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn ranking(&self, user: u64, items: &[u64]) -> Result<Ranking>;

    /// Returns what a user did last, newest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn recent(&self, user: u64, limit: usize) -> Result<Page<Behavior>>;

    /// Completes interrupted writes. Returns the number of completed cells.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self) -> Result<u64>;
}

/// Opens the design of `examples/features`.
pub(super) fn features(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Features::open(&site.cluster, &site.namespace)?))
}

impl Design for Features {
    fn write_vectors(&self, version: u32, vectors: &[Vector]) -> Result<()> {
        Ok(Self::write_vectors(self, version, vectors)?)
    }

    fn switch_to(&self, version: u32) -> Result<()> {
        Ok(Self::switch_to(self, version)?)
    }

    fn version(&self) -> Result<u32> {
        Ok(Self::version(self)?)
    }

    fn record(&self, behavior: &[Behavior]) -> Result<()> {
        Ok(Self::record(self, behavior)?)
    }

    fn is_recorded(&self, behavior: &Behavior) -> Result<bool> {
        Ok(Self::is_recorded(self, behavior)?)
    }

    fn ranking(&self, user: u64, items: &[u64]) -> Result<Ranking> {
        Ok(Self::ranking(self, user, items)?)
    }

    fn recent(&self, user: u64, limit: usize) -> Result<Page<Behavior>> {
        Ok(Self::recent(self, user, limit)?)
    }

    fn repair(&self) -> Result<u64> {
        Ok(Self::repair(self, 0)?)
    }
}
