//! Compaction that a caller has requested.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_types::{Bytes, CompactionKind};

use crate::region::Region;

/// Compaction of one store requested by a caller. It counts in the region's
/// state until it is dropped, whether or not it has run.
pub(crate) struct CompactionRequest {
    pub(crate) region: Arc<Region>,
    pub(crate) family: Bytes,
    pub(crate) kind: CompactionKind,
}

impl CompactionRequest {
    pub(crate) fn new(region: &Arc<Region>, family: &Bytes, kind: CompactionKind) -> Self {
        region.compactions.for_kind(kind).fetch_add(1, Ordering::AcqRel);
        Self { region: Arc::clone(region), family: family.clone(), kind }
    }

    /// Returns `true` if both request the same compaction.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.region.number == other.region.number
            && self.family == other.family
            && self.kind == other.kind
    }
}

impl Drop for CompactionRequest {
    fn drop(&mut self) {
        self.region.compactions.end(self.kind);
    }
}
