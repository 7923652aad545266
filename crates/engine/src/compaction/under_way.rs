//! Which compactions of a region are asked for or running, and how far they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use halite_types::{CompactionKind, CompactionState, RegionLoad};

use crate::region::Region;

/// The counts of one region.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    minor: AtomicU32,
    major: AtomicU32,
    /// Cells in the input of those that run, and cells they have written.
    input_cells: AtomicU64,
    output_cells: AtomicU64,
}

impl UnderWay {
    fn of(&self, kind: CompactionKind) -> &AtomicU32 {
        match kind {
            CompactionKind::Minor => &self.minor,
            CompactionKind::Major => &self.major,
        }
    }

    /// What HBase calls the compaction state.
    pub(crate) fn state(&self) -> CompactionState {
        let any = |kind| self.of(kind).load(Ordering::Acquire) > 0;
        match (any(CompactionKind::Minor), any(CompactionKind::Major)) {
            (false, false) => CompactionState::None,
            (true, false) => CompactionState::Minor,
            (false, true) => CompactionState::Major,
            (true, true) => CompactionState::MajorAndMinor,
        }
    }

    pub(crate) fn fill(&self, load: &mut RegionLoad) {
        load.compaction_state = self.state();
        load.compacting_cells = self.input_cells.load(Ordering::Relaxed);
        load.compacted_cells = self.output_cells.load(Ordering::Relaxed);
    }

    /// A compaction of so many cells begins.
    pub(crate) fn start(&self, kind: CompactionKind, cells: u64) -> Running<'_> {
        self.of(kind).fetch_add(1, Ordering::AcqRel);
        self.input_cells.fetch_add(cells, Ordering::Relaxed);
        Running { under_way: self, kind, input_cells: cells, output_cells: 0, told: 0 }
    }
}

/// A compaction that runs, until it is dropped.
pub(crate) struct Running<'a> {
    under_way: &'a UnderWay,
    kind: CompactionKind,
    input_cells: u64,
    output_cells: u64,
    told: u64,
}

/// Cells after which the progress is told to others.
const TELL_CELLS: u64 = 1024;

impl Running<'_> {
    /// Another cell is written.
    pub(crate) fn add_cell(&mut self) {
        self.output_cells += 1;
        if self.output_cells - self.told >= TELL_CELLS {
            self.under_way.output_cells.fetch_add(self.output_cells - self.told, Ordering::Relaxed);
            self.told = self.output_cells;
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.under_way.output_cells.fetch_sub(self.told, Ordering::Relaxed);
        self.under_way.input_cells.fetch_sub(self.input_cells, Ordering::Relaxed);
        self.under_way.of(self.kind).fetch_sub(1, Ordering::AcqRel);
    }
}

/// A compaction that somebody has asked for: of every store, or of one family's. It counts for the region's state until
/// it is dropped, done or not.
pub(crate) struct Requested {
    pub(crate) region: Arc<Region>,
    pub(crate) family: Option<Vec<u8>>,
    pub(crate) kind: CompactionKind,
}

impl Requested {
    pub(crate) fn new(region: &Arc<Region>, family: Option<&[u8]>, kind: CompactionKind) -> Self {
        region.compactions.of(kind).fetch_add(1, Ordering::AcqRel);
        Self { region: Arc::clone(region), family: family.map(<[u8]>::to_vec), kind }
    }

    /// Whether the other asks for the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.region.number == other.region.number && self.family == other.family && self.kind == other.kind
    }
}

impl Drop for Requested {
    fn drop(&mut self) {
        self.region.compactions.of(self.kind).fetch_sub(1, Ordering::AcqRel);
    }
}
