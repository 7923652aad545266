//! The sequence ids of a region: which is the newest applied, and up to which one readers may see.
//!
//! Sequence ids are given out under the region's commit lock, in the order of the log. A cell is visible once its id is
//! at or below the read point, and the read point moves only when the log has kept its promise for every id up to
//! it. So a reader never sees a cell that a crash could take back.

use crate::atomics::{AtomicU64, Ordering};

/// The two marks of a region. The log may have kept its promise before the last cell is in the memstore, so readers see
/// up to the lower one.
#[derive(Debug)]
pub(crate) struct Mvcc {
    /// Newest sequence id whose cells are in the memstore.
    applied: AtomicU64,
    /// Newest sequence id for which the log has kept its promise.
    kept: AtomicU64,
}

impl Mvcc {
    /// A region whose newest sequence id is `last`.
    pub(crate) fn new(last: u64) -> Self {
        Self { applied: AtomicU64::new(last), kept: AtomicU64::new(last) }
    }

    /// Newest sequence id that readers see.
    pub(crate) fn read_point(&self) -> u64 {
        self.kept.load(Ordering::Acquire).min(self.applied())
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// The next sequence id; the caller holds the commit lock.
    pub(crate) fn next(&self) -> u64 {
        self.applied() + 1
    }

    /// The cells of `sequence` are in the memstore; the caller holds the commit lock.
    pub(crate) fn apply(&self, sequence: u64) {
        debug_assert_eq!(sequence, self.next(), "sequence ids rise by one");
        self.applied.store(sequence, Ordering::Release);
    }

    /// Whether every applied write is visible.
    pub(crate) fn is_settled(&self) -> bool {
        self.read_point() >= self.applied()
    }

    /// The log has kept its promise for everything up to `sequence`.
    pub(crate) fn complete(&self, sequence: u64) {
        self.kept.fetch_max(sequence, Ordering::AcqRel);
    }

    /// A write read back from the log at opening: it was durable before.
    pub(crate) fn recover(&self, sequence: u64) {
        self.applied.fetch_max(sequence, Ordering::AcqRel);
        self.complete(sequence);
    }
}
