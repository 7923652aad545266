//! Who may change a row: many plain writers together, or one operation that reads before it writes.
//!
//! Rows share a fixed number of locks by hash. A plain write holds its lock for microseconds and in common with others,
//! so a false meeting of two rows costs nothing but a short wait of a read-modify-write.

use crate::heal::{Healed, healed_try};
use std::collections::BTreeSet;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

const SHARDS: usize = 256;
const WORD_BITS: usize = u64::BITS as usize;

/// The locks of a region.
pub(crate) struct RowLocks {
    shards: Vec<RwLock<()>>,
}

/// The locks of some rows. One row, the most common case, takes no allocation.
pub(crate) struct SharedRows<'a> {
    _first: Option<RwLockReadGuard<'a, ()>>,
    _rest: Vec<RwLockReadGuard<'a, ()>>,
}

impl Default for RowLocks {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::new(())).collect() }
    }
}

impl RowLocks {
    fn shard(row: &[u8]) -> usize {
        // FNV-1a: short keys, and only spread matters.
        let hash = row.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        usize::try_from((hash ^ (hash >> 32)) % SHARDS as u64).expect("less than the number of shards")
    }

    /// For plain writes of these rows.
    pub(crate) fn shared<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> SharedRows<'_> {
        let mut guards = self.shards_of(rows).map(|shard| shard.read().healed());
        SharedRows { _first: guards.next(), _rest: guards.collect() }
    }

    /// The same without waiting; `None` if somebody has one of the rows for himself, or waits for that.
    pub(crate) fn try_shared<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> Option<SharedRows<'_>> {
        let mut guards = self.shards_of(rows).map(|shard| healed_try(shard.try_read()));
        let first = match guards.next() {
            Some(guard) => Some(guard?),
            None => None,
        };
        Some(SharedRows { _first: first, _rest: guards.collect::<Option<_>>()? })
    }

    /// The locks of these rows. In one order for everybody, each once: nobody waits for somebody who waits for him.
    fn shards_of<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &RwLock<()>> {
        let mut wanted = [0_u64; SHARDS / WORD_BITS];
        for row in rows {
            let shard = Self::shard(row);
            wanted[shard / WORD_BITS] |= 1 << (shard % WORD_BITS);
        }
        (0..SHARDS).filter(move |shard| wanted[shard / WORD_BITS] >> (shard % WORD_BITS) & 1 == 1).map(|shard| &self.shards[shard])
    }

    /// For operations that read these rows and then write them as one.
    pub(crate) fn exclusive_rows<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> Vec<RwLockWriteGuard<'_, ()>> {
        // In one order for everybody, each lock once: nobody waits for somebody who waits for him.
        let wanted: BTreeSet<usize> = rows.map(Self::shard).collect();
        wanted.into_iter().map(|shard| self.shards[shard].write().healed()).collect()
    }

    /// For one operation that reads `row` and then writes it.
    pub(crate) fn exclusive(&self, row: &[u8]) -> RwLockWriteGuard<'_, ()> {
        self.shards[Self::shard(row)].write().healed()
    }

    /// The same without waiting; `None` if somebody has the row.
    pub(crate) fn try_exclusive(&self, row: &[u8]) -> Option<RwLockWriteGuard<'_, ()>> {
        healed_try(self.shards[Self::shard(row)].try_write())
    }
}
