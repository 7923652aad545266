//! Health of the store: the disk and the lock are checked, and recorded failures collected.

use super::Engine;
use crate::health::{Health, StoreState};
use crate::shared::EngineInner;

impl Engine {
    /// Returns the health of the store, and records its changes since the last call as events.
    /// Reads the disk space with a system call.
    pub fn health(&self) -> Health {
        let mut health = without_damaged_files(&self.shared);
        let tables = self.tables.load();
        health.damaged_files = tables.values().flat_map(|table| table.damaged_files()).collect();
        self.shared.events.add_health(&self.shared.env, &health);
        health
    }
}

/// Returns the health without the damaged files of regions.
fn without_damaged_files(shared: &EngineInner) -> Health {
    let disk = shared.disk.refresh();
    // A lost lock is reported by the write failure below. A lock that cannot be examined is
    // examined again later.
    let _ = shared.lock.check();
    shared.wal.try_check_segment();
    if shared.disk.is_low() {
        shared.request_flushes_for_wal(false);
    }
    let (state, reason) = match shared.write_failure() {
        Err(error) => (StoreState::Stopped, Some(error)),
        Ok(()) => match shared.wal.stall().or_else(|| shared.disk.check().err()) {
            Some(error) => (StoreState::Refusing, Some(error)),
            None => (StoreState::Open, None),
        },
    };
    let (panics, last_panic) = shared.scheduler.panics();
    Health {
        state,
        reason,
        disk,
        disk_reserve_bytes: shared.disk.reserve_bytes(),
        wal_removal_failure: shared.wal.removal_failure(),
        flush_failure: shared.scheduler.flush_failure(),
        compaction_failure: shared.scheduler.compaction_failure(),
        panics: panics + shared.wal.panics(),
        last_panic,
        damaged_files: Vec::new(),
        bloom_failures: shared.files.bloom_failures(),
        part_failures: shared.cache.part_failures(),
    }
}
