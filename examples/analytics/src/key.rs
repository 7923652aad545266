//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::KeyBuf;
use halite::rowkey::typed::{Days, TsMillis};
use halite::{Error, Result};

use crate::{Event, Kind};

/// Shards of the aggregates.
pub const SHARDS: u8 = 16;

/// The tables. Events are once each in `user_days`. The others are aggregates, whose cells the
/// store merges from contributions: sums, sketches of `HyperLogLog`, and sets of users. Without the
/// shard in front, everything that happens now would be written to one row.
pub const TABLES: &[&str] = &[
    UserDayKey::CREATE_TABLE,
    MinuteKey::CREATE_TABLE,
    HourKey::CREATE_TABLE,
    DayKey::CREATE_TABLE,
];

/// Key of `user_days`: a user and one of their days. Users of a day are one range of each salt.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "user_days",
    salt(16, by = "user"),
    columns = "logins I64 COUNTER FAMILY n QUALIFIER l, events MAP(BYTES, STRING) FAMILY e",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (active: day = ?, logins: user = ? AND day = ?)
      SPLIT BY SALT"
)]
pub struct UserDayKey {
    pub day: Days,
    pub user: u32,
}

/// Key of `minutes`: a shard of the counter of a kind of events in a minute.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "minutes",
    columns = "events I64 COUNTER FAMILY n QUALIFIER n",
    options = "WITH (MERGE = 'SUM', DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (board: shard = ? AND ts IN RANGE)
      SPLIT AT (x'01', x'02', x'03', x'04', x'05', x'06', x'07', x'08', x'09', x'0a', x'0b', x'0c',
      x'0d', x'0e', x'0f')"
)]
pub struct MinuteKey<'a> {
    pub shard: u8,
    /// Start of the minute when decoded; any time in it when encoded.
    #[key(bucket = "1m", desc)]
    pub ts: TsMillis,
    pub kind: &'a str,
}

/// Key of `hours`: a shard of the users of an hour.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "hours",
    columns = "users BYTES FAMILY u QUALIFIER u",
    options = "WITH (MERGE = 'HLL', DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (users: shard = ? AND ts IN RANGE)
      SPLIT AT (x'01', x'02', x'03', x'04', x'05', x'06', x'07', x'08', x'09', x'0a', x'0b', x'0c',
      x'0d', x'0e', x'0f')"
)]
pub struct HourKey {
    pub shard: u8,
    /// Start of the hour when decoded; any time in it when encoded.
    #[key(bucket = "1h", desc)]
    pub ts: TsMillis,
}

/// Key of `days`: a shard of the users who did something on a day. A user is always in the same
/// shard, so that sets can be intersected shard by shard.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "days",
    columns = "users BYTES FAMILY u QUALIFIER u",
    options = "WITH (MERGE = 'BITMAP', DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (users: shard = ? AND kind = ? AND day IN RANGE)
      SPLIT AT (x'01', x'02', x'03', x'04', x'05', x'06', x'07', x'08', x'09', x'0a', x'0b', x'0c',
      x'0d', x'0e', x'0f')"
)]
pub struct DayKey<'a> {
    pub shard: u8,
    pub kind: &'a str,
    pub day: Days,
}

/// Returns all shards.
pub(crate) fn shards() -> Vec<u8> {
    (0..SHARDS).collect()
}

/// Returns the shard of a user.
pub(crate) fn shard_of(user: u32) -> u8 {
    u8::try_from(user % u32::from(SHARDS)).unwrap_or(0)
}

/// Returns the name of a sharded counter: the key of its rows without the shard.
pub(crate) fn counter_name(kind: Kind, at_ms: i64) -> Result<Vec<u8>> {
    let key = MinuteKey { shard: 0, ts: TsMillis(at_ms), kind: kind.name() }.encode()?;
    let (_, name) =
        key.split_first().ok_or_else(|| Error::corrupt("the key of a minute is empty"))?;
    Ok(name.to_vec())
}

impl Event {
    pub(crate) fn user_day_key(&self) -> Result<KeyBuf> {
        Ok(UserDayKey { day: self.day(), user: self.user }.encode()?)
    }
}
