//! Aggregate statistics of the cells of a memstore.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};

use halite_types::{CellRef, CellType};

/// Counters with one writer at a time, which may therefore load and store instead of swapping. They
/// guarantee no order: a reader that must account for a cell sees it through the read point, which
/// orders these as well.
#[repr(align(64))] // Off the cache line that readers start from.
pub(super) struct MemTableStats {
    bytes: AtomicUsize,
    payload_bytes: AtomicUsize,
    cells: AtomicUsize,
    overwrites: AtomicUsize,
    min_timestamp: AtomicI64,
    max_timestamp: AtomicI64,
    max_sequence: AtomicU64,
    tags: AtomicBool,
}

impl Default for MemTableStats {
    fn default() -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            payload_bytes: AtomicUsize::new(0),
            cells: AtomicUsize::new(0),
            overwrites: AtomicUsize::new(0),
            min_timestamp: AtomicI64::new(i64::MAX),
            max_timestamp: AtomicI64::new(i64::MIN),
            max_sequence: AtomicU64::new(0),
            tags: AtomicBool::new(false),
        }
    }
}

impl MemTableStats {
    /// Adds a cell. `bytes` is the memory in use with it; `is_beside` is `true` if it is next to a
    /// cell of its column.
    pub(super) fn add(&self, cell: CellRef<'_>, bytes: usize, is_beside: bool) {
        debug_assert!(bytes >= self.bytes(), "a memstore only grows");
        debug_assert!(self.overwrites() <= self.cells(), "an overwrite is a cell");
        self.bytes.store(bytes, Relaxed);
        self.payload_bytes.store(self.payload_bytes() + cell.payload_len(), Relaxed);
        self.add_timestamp(cell.timestamp());
        if matches!(cell.cell_type(), Some(CellType::DeleteColumn | CellType::DeleteFamily)) {
            self.add_timestamp(0);
        }
        if cell.sequence_id() > self.max_sequence() {
            self.max_sequence.store(cell.sequence_id(), Relaxed);
        }
        if !cell.tags().is_empty() {
            self.tags.store(true, Relaxed);
        }
        if is_beside {
            self.overwrites.store(self.overwrites() + 1, Relaxed);
        }
        self.cells.store(self.cells() + 1, Relaxed);
    }

    fn add_timestamp(&self, timestamp: i64) {
        if timestamp < self.min_timestamp.load(Relaxed) {
            self.min_timestamp.store(timestamp, Relaxed);
        }
        if timestamp > self.max_timestamp.load(Relaxed) {
            self.max_timestamp.store(timestamp, Relaxed);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.payload_bytes.load(Relaxed)
    }

    pub(super) fn cells(&self) -> usize {
        self.cells.load(Relaxed)
    }

    pub(super) fn overwrites(&self) -> usize {
        self.overwrites.load(Relaxed)
    }

    pub(super) fn time_range(&self) -> Option<(i64, i64)> {
        let range = (self.min_timestamp.load(Relaxed), self.max_timestamp.load(Relaxed));
        (range.0 <= range.1).then_some(range)
    }

    pub(super) fn max_sequence(&self) -> u64 {
        self.max_sequence.load(Relaxed)
    }

    pub(super) fn has_tags(&self) -> bool {
        self.tags.load(Relaxed)
    }
}
