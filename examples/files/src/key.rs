//! The tables and their keys.

use halite::RowKey;

/// The tables. A key has the id of the directory, never a path: moving a directory with a million
/// files changes as many rows as moving an empty one.
pub const TABLES: &str = "
CREATE TABLE nodes (
  parent U64 FAMILY n QUALIFIER p NOT NULL,
  name STRING FAMILY n QUALIFIER n NOT NULL,
  kind STRING FAMILY n QUALIFIER k NOT NULL,
  owner STRING FAMILY n QUALIFIER o NOT NULL,
  size U64 FAMILY n QUALIFIER s NOT NULL,
  version U64 FAMILY n QUALIFIER v NOT NULL,
  ROW KEY (SALT(16 BY id), id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (by_id: id = ?)
  SPLIT BY SALT;

CREATE TABLE entries (
  child U64 FAMILY e QUALIFIER c NOT NULL,
  kind STRING FAMILY e QUALIFIER k NOT NULL,
  size U64 FAMILY e QUALIFIER s NOT NULL,
  ROW KEY (SALT(16 BY parent), parent U64, name STRING)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (list: parent = ? ORDER BY name LIMIT 1000, entry: parent = ? AND name = ?)
  SPLIT BY SALT;

CREATE TABLE by_owner (
  child U64 FAMILY e QUALIFIER c NOT NULL,
  kind STRING FAMILY e QUALIFIER k NOT NULL,
  size U64 FAMILY e QUALIFIER s NOT NULL,
  ROW KEY (SALT(16 BY owner), owner STRING, parent U64, name STRING)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (files: owner = ? LIMIT 1000, in_directory: owner = ? AND parent = ?)
  SPLIT BY SALT;

CREATE TABLE moves (
  move BYTES FAMILY m QUALIFIER m NOT NULL,
  ROW KEY (tree U64)
);
";

/// Key of `nodes`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "nodes", salt(16, by = "id"))]
pub struct NodeKey {
    /// Id.
    pub id: u64,
}

/// Key of `entries`: the names in a directory, in order.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "entries", salt(16, by = "parent"))]
pub struct EntryKey<'a> {
    /// Id of the directory.
    pub parent: u64,
    /// Name in it.
    pub name: &'a str,
}

/// Key of `by_owner`: the files of a user, by directory and name.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "by_owner", salt(16, by = "owner"))]
pub struct OwnerKey<'a> {
    /// User.
    pub owner: &'a str,
    /// Id of the directory.
    pub parent: u64,
    /// Name in it.
    pub name: &'a str,
}

/// Key of `moves`: the directory that is being moved in the tree below a root, one at a time.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "moves")]
pub struct MoveKey {
    /// Id of the root.
    pub tree: u64,
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
                key(NodeKey::TABLE, NodeKey::SCHEMA),
                key(EntryKey::TABLE, EntryKey::SCHEMA),
                key(OwnerKey::TABLE, OwnerKey::SCHEMA),
                key(MoveKey::TABLE, MoveKey::SCHEMA)
            ]
        );
    }

    #[test]
    fn e25_ids_and_names_have_a_boundary() {
        let key = |parent, name| EntryKey { parent, name }.encode().unwrap().to_vec();
        assert_ne!(key(1, "23"), key(12, "3"));
        let key = |owner, name| OwnerKey { owner, parent: 7, name }.encode().unwrap().to_vec();
        assert_ne!(key("user_1", "0"), key("user_10", ""));
    }
}
