//! Locks that remain usable after a panic. The guard is returned even if the lock is poisoned, for
//! these reasons:
//!
//! - Rows, maintenance, compaction, `ddl`, a table's regions, manifest changes: these locks protect
//!   no value. The state that they order is swapped whole or is on the disk.
//! - A region's commit lock: its state still says that a change is in progress. The region rejects
//!   writes and shows no part of the change.
//! - The log's buffer: a record's length and sequence id are checked before its first byte is
//!   added, so the buffer contains whole records in order.
//! - The log's segments: the log has failed. `Wal` rejects writes and does not write the group
//!   again.
//! - Lists of jobs, open files and nonces, and the index of tables: each change is one call that
//!   does not panic halfway.

use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// Access to the guard of a lock even if a thread panicked while holding it.
pub(crate) trait Healed {
    type Guard;

    fn healed(self) -> Self::Guard;
}

impl<G> Healed for LockResult<G> {
    type Guard = G;

    fn healed(self) -> G {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the guard of a lock that was tried, even if the lock is poisoned; `None` if another
/// thread holds it.
pub(crate) fn healed_try<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
