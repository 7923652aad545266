//! Scanner that stays open between two calls.

use std::sync::Arc;

use halite_engine::Region;
use halite_engine::scan::RegionScanner;

use crate::base::buffers::MemoryReservation;
use crate::base::quota::ScanEstimate;
use crate::base::scanners::HeldScanner;

/// Scanner between two calls.
pub(crate) struct OpenScanner {
    /// `None` for `hbase:meta`.
    pub(super) region: Option<Arc<Region>>,
    pub(super) scanner: RegionScanner,
    /// Maximum bytes of cells in one response.
    pub(super) max_bytes: usize,
    pub(super) need_cursor: bool,
    /// Bytes that its calls have scanned, for request quotas.
    pub(super) estimate: ScanEstimate,
    /// `true` if the last call read from the disk or examined many cells; the next call then goes
    /// to a handler thread at once.
    pub(super) is_slow: bool,
    /// `true` if the client requests the bytes of the blocks scanned.
    pub(super) needs_metrics: bool,
    /// Memory held while the scanner is open, and its initial size.
    pub(super) memory: MemoryReservation,
    pub(super) base_memory_bytes: usize,
}

impl HeldScanner for OpenScanner {
    /// Updates the memory held for it: blocks of files, and memstores flushed since.
    fn count_memory(&mut self) {
        self.memory.set(self.base_memory_bytes.saturating_add(self.scanner.held_bytes()));
    }
}
