//! Sequence ids of a region: the newest applied one, and the newest one that readers may see.
//!
//! Sequence ids are assigned under the region's commit lock, in log order. A cell is visible once
//! its id is at or below the read point. The read point advances only when the log has made every
//! id up to it durable. A reader therefore never sees a cell that a crash could revert.

use crate::atomics::{AtomicU64, Ordering};

/// Sequence id marks of a region. The log may be durable before the last cell is in the memstore,
/// so readers see up to the lower mark.
#[derive(Debug)]
pub(crate) struct Mvcc {
    /// Newest sequence id whose cells are in the memstore.
    applied: AtomicU64,
    /// Newest sequence id that the log has made durable.
    durable: AtomicU64,
}

impl Mvcc {
    /// Creates the marks of a region whose newest sequence id is `last`.
    pub(crate) fn new(last: u64) -> Self {
        Self { applied: AtomicU64::new(last), durable: AtomicU64::new(last) }
    }

    /// Returns the newest sequence id that readers see.
    pub(crate) fn read_point(&self) -> u64 {
        self.durable.load(Ordering::Acquire).min(self.applied())
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Returns the next sequence id; the caller holds the commit lock.
    pub(crate) fn next(&self) -> u64 {
        self.applied() + 1
    }

    /// Records that the cells of `sequence` are in the memstore; the caller holds the commit lock.
    pub(crate) fn apply(&self, sequence: u64) {
        assert_eq!(sequence, self.next(), "sequence ids rise by one");
        self.applied.store(sequence, Ordering::Release);
    }

    /// Returns `true` if every applied write is visible.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.read_point() >= self.applied()
    }

    /// Records that the log has made everything up to `sequence` durable.
    pub(crate) fn advance(&self, sequence: u64) {
        self.durable.fetch_max(sequence, Ordering::AcqRel);
    }

    /// Records a write replayed from the log at opening: it was durable before.
    pub(crate) fn recover(&self, sequence: u64) {
        self.applied.fetch_max(sequence, Ordering::AcqRel);
        self.advance(sequence);
    }
}
