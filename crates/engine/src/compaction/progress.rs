//! Requested and running compactions of a region, and their progress.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use halite_types::{CompactionKind, CompactionState, RegionLoad};

/// Compaction counts of one region.
#[derive(Debug, Default)]
pub(crate) struct CompactionProgress {
    minor: AtomicU32,
    major: AtomicU32,
    /// Input cells of running compactions, and cells output so far.
    input_cells: AtomicU64,
    output_cells: AtomicU64,
}

impl CompactionProgress {
    pub(super) fn for_kind(&self, kind: CompactionKind) -> &AtomicU32 {
        match kind {
            CompactionKind::Minor => &self.minor,
            CompactionKind::Major => &self.major,
        }
    }

    /// Records the end of a requested or running compaction.
    pub(super) fn end(&self, kind: CompactionKind) {
        let before = self.for_kind(kind).fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "a compaction ends once");
    }

    /// Returns the compaction state, as defined by HBase.
    pub(crate) fn state(&self) -> CompactionState {
        let any = |kind| self.for_kind(kind).load(Ordering::Acquire) > 0;
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

    /// Records the start of a compaction of `cells` cells.
    pub(crate) fn start(&self, kind: CompactionKind, cells: u64) -> RunningCompaction<'_> {
        self.for_kind(kind).fetch_add(1, Ordering::AcqRel);
        self.input_cells.fetch_add(cells, Ordering::Relaxed);
        RunningCompaction {
            progress: self,
            kind,
            input_cells: cells,
            output_cells: 0,
            reported_cells: 0,
        }
    }
}

/// Running compaction; it ends on drop.
pub(crate) struct RunningCompaction<'a> {
    progress: &'a CompactionProgress,
    kind: CompactionKind,
    input_cells: u64,
    output_cells: u64,
    reported_cells: u64,
}

/// Number of cells between updates of the shared progress.
const REPORT_INTERVAL_CELLS: u64 = 1024;

impl RunningCompaction<'_> {
    /// Counts another output cell.
    pub(crate) fn add_cell(&mut self) {
        self.output_cells += 1;
        if self.output_cells - self.reported_cells >= REPORT_INTERVAL_CELLS {
            self.progress
                .output_cells
                .fetch_add(self.output_cells - self.reported_cells, Ordering::Relaxed);
            self.reported_cells = self.output_cells;
        }
    }
}

impl Drop for RunningCompaction<'_> {
    fn drop(&mut self) {
        let Self { progress, kind, input_cells, reported_cells, .. } = *self;
        let output = progress.output_cells.fetch_sub(reported_cells, Ordering::Relaxed);
        let input = progress.input_cells.fetch_sub(input_cells, Ordering::Relaxed);
        debug_assert!(output >= reported_cells && input >= input_cells, "cells are counted once");
        progress.end(kind);
    }
}
