//! Row locks: many plain writers share a row, or one read-modify-write operation has it
//! exclusively.
//!
//! Rows share a fixed number of locks by hash. A plain write holds its lock for microseconds and in
//! shared mode. A hash collision of two rows therefore costs only a short wait of a
//! read-modify-write.

use crate::heal::{Healed, healed_try};
use crate::ranked_lock::{HeldLock, LockRank};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

const SHARDS: usize = 256;
const WORD_BITS: usize = u64::BITS as usize;

/// Row locks of a region.
pub(crate) struct RowLocks {
    shards: Vec<RwLock<()>>,
}

/// Locks of several rows. One row, the most common case, takes no allocation.
pub(crate) struct SharedRows<'a> {
    _held: HeldLock,
    _first: Option<RwLockReadGuard<'a, ()>>,
    _rest: Vec<RwLockReadGuard<'a, ()>>,
}

/// Exclusive locks of several rows.
pub(crate) struct ExclusiveRows<'a> {
    _held: HeldLock,
    _rows: Vec<RwLockWriteGuard<'a, ()>>,
}

/// Exclusive lock of one row.
pub(crate) struct ExclusiveRow<'a> {
    _held: HeldLock,
    _row: RwLockWriteGuard<'a, ()>,
}

impl Default for RowLocks {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::new(())).collect() }
    }
}

impl RowLocks {
    fn shard(row: &[u8]) -> usize {
        // FNV-1a: keys are short, and only the distribution matters.
        let hash = row.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        usize::try_from((hash ^ (hash >> 32)) % SHARDS as u64)
            .expect("less than the number of shards")
    }

    /// Locks these rows for plain writes.
    pub(crate) fn shared<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> SharedRows<'_> {
        let held = HeldLock::acquire(LockRank::Rows, None);
        let mut guards = self.shards_of(rows).map(|shard| shard.read().healed());
        SharedRows { _held: held, _first: guards.next(), _rest: guards.collect() }
    }

    /// As [`RowLocks::shared`] without waiting; `None` if another operation has, or waits for,
    /// exclusive access to one of the rows.
    pub(crate) fn try_shared<'a>(
        &self,
        rows: impl Iterator<Item = &'a [u8]>,
    ) -> Option<SharedRows<'_>> {
        let mut guards = self.shards_of(rows).map(|shard| healed_try(shard.try_read()));
        let first = match guards.next() {
            Some(guard) => Some(guard?),
            None => None,
        };
        let rest = guards.collect::<Option<_>>()?;
        let held = HeldLock::acquired(LockRank::Rows, None);
        Some(SharedRows { _held: held, _first: first, _rest: rest })
    }

    /// Returns the locks of these rows in one global order, each once, so no deadlock is possible.
    fn shards_of<'a>(
        &self,
        rows: impl Iterator<Item = &'a [u8]>,
    ) -> impl Iterator<Item = &RwLock<()>> {
        let mut wanted = [0_u64; SHARDS / WORD_BITS];
        for row in rows {
            let shard = Self::shard(row);
            wanted[shard / WORD_BITS] |= 1 << (shard % WORD_BITS);
        }
        (0..SHARDS)
            .filter(move |shard| wanted[shard / WORD_BITS] >> (shard % WORD_BITS) & 1 == 1)
            .map(|shard| &self.shards[shard])
    }

    /// Locks these rows for operations that read and then write them atomically.
    pub(crate) fn exclusive_rows<'a>(
        &self,
        rows: impl Iterator<Item = &'a [u8]>,
    ) -> ExclusiveRows<'_> {
        let held = HeldLock::acquire(LockRank::Rows, None);
        let rows = self.shards_of(rows).map(|shard| shard.write().healed()).collect();
        ExclusiveRows { _held: held, _rows: rows }
    }

    /// Locks `row` for one operation that reads and then writes it.
    pub(crate) fn exclusive(&self, row: &[u8]) -> ExclusiveRow<'_> {
        let held = HeldLock::acquire(LockRank::Rows, None);
        ExclusiveRow { _held: held, _row: self.shards[Self::shard(row)].write().healed() }
    }

    /// As [`RowLocks::exclusive`] without waiting; `None` if another operation has the row.
    pub(crate) fn try_exclusive(&self, row: &[u8]) -> Option<ExclusiveRow<'_>> {
        let row = healed_try(self.shards[Self::shard(row)].try_write())?;
        Some(ExclusiveRow { _held: HeldLock::acquired(LockRank::Rows, None), _row: row })
    }
}
