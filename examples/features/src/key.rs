//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::typed::TsMillis;

/// The tables. Sixty-four salts are in sixteen regions, which can be split further without another
/// key. Vectors, clicks and events have families of their own: they are written at different times
/// and kept for different ones.
pub const TABLES: &str = "
CREATE TABLE user_features (
  vectors MAP(U32, BYTES) FAMILY v,
  ROW KEY (SALT(64 BY user), user U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (user: user = ?)
  SPLIT INTO 16;

CREATE TABLE item_features (
  vectors MAP(U32, BYTES) FAMILY v,
  clicks MAP(I32, I64) FAMILY n,
  ROW KEY (SALT(64 BY item), item U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', n.MERGE = 'SUM', n.TTL = 2592000)
  WITH QUERIES (item: item = ?)
  SPLIT INTO 16;

CREATE TABLE events (
  item U64 FAMILY e QUALIFIER i NOT NULL,
  kind STRING FAMILY e QUALIFIER k NOT NULL,
  ROW KEY (SALT(64 BY user), user U64, ts TIMESTAMP DESC, id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', TTL = 7776000)
  WITH QUERIES (recent: user = ? ORDER BY ts DESC LIMIT 50)
  SPLIT INTO 16;

CREATE TABLE models (
  version U32 FAMILY m QUALIFIER v NOT NULL,
  ROW KEY (name STRING)
) WITH QUERIES (current: name = ?);
";

/// Key of `user_features`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "user_features", salt(64, by = "user"))]
pub struct UserKey {
    /// User.
    pub user: u64,
}

/// Key of `item_features`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "item_features", salt(64, by = "item"))]
pub struct ItemKey {
    /// Item.
    pub item: u64,
}

/// Key of `events`: a user and what they did, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "events", salt(64, by = "user"))]
pub struct EventKey {
    /// User.
    pub user: u64,
    /// Time.
    #[key(desc)]
    pub ts: TsMillis,
    /// Two events of one millisecond are two rows.
    pub id: u64,
}

/// Key of `models`: the version of the vectors that readers use.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "models")]
pub struct ModelKey<'a> {
    /// Name of the model.
    pub name: &'a str,
}

#[cfg(test)]
mod tests {
    use halite::rowkey::language::{Statement, statements};

    use super::*;

    #[test]
    fn derived_keys_are_those_of_the_tables() {
        let keys: Vec<_> = statements(TABLES)
            .unwrap()
            .into_iter()
            .map(|statement| match statement {
                Statement::CreateTable(table) => {
                    (table.descriptor.name().to_string(), table.key.to_string())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let key = |table: &str, schema: &str| (table.to_owned(), schema.to_owned());
        assert_eq!(
            keys,
            [
                key(UserKey::TABLE, UserKey::SCHEMA),
                key(ItemKey::TABLE, ItemKey::SCHEMA),
                key(EventKey::TABLE, EventKey::SCHEMA),
                key(ModelKey::TABLE, ModelKey::SCHEMA)
            ]
        );
    }
}
