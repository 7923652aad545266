//! Counters that many writers increment at once: one counter as several rows.
//!
//! Increments of one row wait for one another, and a row is on one server. A sharded counter is a
//! row for each shard; an increment changes any one of them, a read adds them up.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::key::to_string_binary;
use crate::op::{Increment, RowOp};
use crate::query::Get;
use crate::rng::{SPLIT_MIX_INCREMENT, split_mix};
use crate::table::{Table, TableExt as _};

/// Counters in the rows of one table: `shard (1 byte) | name`. Shards of a counter are in as many
/// regions if the table is split by the first byte ([`ShardedCounters::splits`]).
///
/// The number of shards may grow while counters are in use, and must not shrink.
#[derive(Debug)]
pub struct ShardedCounters {
    shards: u8,
    family: Bytes,
    qualifier: Bytes,
    random: AtomicU64,
}

impl ShardedCounters {
    /// Creates counters in a column.
    ///
    /// # Errors
    /// `InvalidRequest` without a shard.
    pub fn new(shards: u8, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Result<Self> {
        if shards == 0 {
            return Err(Error::invalid("a counter of 0 shards has no row; pass at least 1"));
        }
        Ok(Self {
            shards,
            family: family.into(),
            qualifier: qualifier.into(),
            random: AtomicU64::new(RandomState::new().hash_one(0)),
        })
    }

    /// Returns split keys that put each shard into a region of its own.
    #[must_use]
    pub fn splits(&self) -> Vec<Bytes> {
        (1..self.shards).map(|shard| Bytes::copy_from_slice(&[shard])).collect()
    }

    /// Returns the row of a shard.
    #[must_use]
    pub fn row(&self, name: &[u8], shard: u8) -> Bytes {
        [&[shard], name].concat().into()
    }

    /// Returns the increment of a random shard, for a batch. Clients send it with a nonce, so one
    /// that they repeat counts once.
    pub fn increment(&self, name: &[u8], delta: i64) -> RowOp {
        let random = split_mix(self.random.fetch_add(SPLIT_MIX_INCREMENT, Ordering::Relaxed));
        // The high bits of the product are below the number of shards.
        let shard = (u128::from(random) * u128::from(self.shards)) >> 64;
        let shard = u8::try_from(shard).unwrap_or_default();
        let increment = Increment::new(self.row(name, shard));
        let mut increment = increment.add(&self.family, &self.qualifier, delta);
        increment.return_results = false;
        increment.into()
    }

    /// Adds to a counter.
    ///
    /// # Errors
    /// As [`Table::batch`].
    pub async fn add(&self, table: &dyn Table, name: &[u8], delta: i64) -> Result<()> {
        table.mutate(self.increment(name, delta)).await.map(drop)
    }

    /// Returns the sum of the shards; 0 for a counter without rows. Shards are read one after the
    /// other: increments meanwhile may be in it or not, those before are.
    ///
    /// # Errors
    /// `Corrupt` for a value that is not a number of 8 bytes; as [`Table::get_all`].
    pub async fn sum(&self, table: &dyn Table, name: &[u8]) -> Result<i64> {
        let get = |shard| {
            Get::new(self.row(name, shard)).column(self.family.clone(), self.qualifier.clone())
        };
        let rows = table.get_all((0..self.shards).map(get).collect()).await?;
        rows.iter()
            .filter_map(|row| Some((row, row.value(&self.family, &self.qualifier)?)))
            .try_fold(0_i64, |sum, (row, value)| {
                let number = value.try_into().map(i64::from_be_bytes).map_err(|_| {
                    Error::corrupt(format!(
                        "row {}: a counter has {} bytes instead of 8; put a number there",
                        to_string_binary(row.key()),
                        value.len()
                    ))
                })?;
                Ok(sum.wrapping_add(number))
            })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn increments_are_spread_evenly() {
        let counters = ShardedCounters::new(16, "c", "n").unwrap();
        let mut shards = BTreeMap::new();
        for _ in 0..16_000 {
            *shards.entry(counters.increment(b"clicks", 1).row().clone()).or_insert(0) += 1;
        }
        assert_eq!(shards.len(), 16);
        assert!(shards.values().all(|count| (800..1200).contains(count)), "{shards:?}");
        assert_eq!(counters.splits().len(), 15);
        assert!(ShardedCounters::new(0, "c", "n").is_err());
    }
}
