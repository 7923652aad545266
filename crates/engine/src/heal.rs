//! Locks that a panic does not spoil: the guard is handed out all the same, and each lock says here why that is right.
//!
//! | lock | what a panic under it leaves |
//! |---|---|
//! | rows, maintenance, compaction, `ddl`, a table's regions, the manifest's changes | they protect no value: what they order is swapped whole, or is the disk's |
//! | a region's commit lock | `CommitState::changing` is still set: the region refuses writes, and shows no part of the change |
//! | the log's buffer | a record is checked before its first byte is added, so it holds whole records |
//! | the log's segments | the log has failed: `Wal` refuses writes, and does not write the group again |
//! | lists of work, of open files, of nonces, the index of tables | each change of them is one call that does not panic half-way |

use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// The guard of a lock, whether or not a thread panicked while it held it.
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

/// As [`Healed`] for a lock that is not waited for; `None` if another thread holds it.
pub(crate) fn healed_try<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
