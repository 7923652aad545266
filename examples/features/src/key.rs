//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::typed::TsMillis;

/// The tables. Sixty-four salts are in sixteen regions, which can be split further without another
/// key. Vectors, clicks and events have families of their own: they are written at different times
/// and kept for different ones.
pub const TABLES: &[&str] =
    &[UserKey::CREATE_TABLE, ItemKey::CREATE_TABLE, EventKey::CREATE_TABLE, ModelKey::CREATE_TABLE];

/// Key of `user_features`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "user_features",
    salt(64, by = "user"),
    columns = "vectors MAP(U32, BYTES) FAMILY v",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (user: user = ?)
      SPLIT INTO 16"
)]
pub struct UserKey {
    pub user: u64,
}

/// Key of `item_features`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "item_features",
    salt(64, by = "item"),
    columns = "vectors MAP(U32, BYTES) FAMILY v, clicks MAP(I32, I64) FAMILY n",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', n.MERGE = 'SUM', n.TTL = 2592000)
      WITH QUERIES (item: item = ?)
      SPLIT INTO 16"
)]
pub struct ItemKey {
    pub item: u64,
}

/// Key of `events`: a user and what they did, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "events",
    salt(64, by = "user"),
    columns = "item U64 FAMILY e QUALIFIER i NOT NULL, kind STRING FAMILY e QUALIFIER k NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', TTL = 7776000)
      WITH QUERIES (recent: user = ? ORDER BY ts DESC LIMIT 50)
      SPLIT INTO 16"
)]
pub struct EventKey {
    pub user: u64,
    /// Time.
    #[key(desc)]
    pub ts: TsMillis,
    /// Two events of one millisecond are two rows.
    pub id: u64,
}

/// Key of `models`: the version of the vectors that readers use.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "models",
    columns = "version U32 FAMILY m QUALIFIER v NOT NULL",
    options = "WITH QUERIES (current: name = ?)"
)]
pub struct ModelKey<'a> {
    pub name: &'a str,
}
