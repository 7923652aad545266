//! The tables and their keys.

use halite::RowKey;

/// The tables. A key has the id of the directory, never a path: moving a directory with a million
/// files changes as many rows as moving an empty one.
pub const TABLES: &[&str] =
    &[NodeKey::CREATE_TABLE, EntryKey::CREATE_TABLE, OwnerKey::CREATE_TABLE, MoveKey::CREATE_TABLE];

/// Key of `nodes`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "nodes",
    salt(16, by = "id"),
    columns = "parent U64 FAMILY n QUALIFIER p NOT NULL, name STRING FAMILY n QUALIFIER n NOT NULL, kind STRING FAMILY n QUALIFIER k NOT NULL, owner STRING FAMILY n QUALIFIER o NOT NULL, size U64 FAMILY n QUALIFIER s NOT NULL, version U64 FAMILY n QUALIFIER v NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (by_id: id = ?)
      SPLIT BY SALT"
)]
pub struct NodeKey {
    pub id: u64,
}

/// Key of `entries`: the names in a directory, in order.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "entries",
    salt(16, by = "parent"),
    columns = "child U64 FAMILY e QUALIFIER c NOT NULL, kind STRING FAMILY e QUALIFIER k NOT NULL, size U64 FAMILY e QUALIFIER s NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (list: parent = ? ORDER BY name LIMIT 1000, entry: parent = ? AND name = ?)
      SPLIT BY SALT"
)]
pub struct EntryKey<'a> {
    pub parent: u64,
    pub name: &'a str,
}

/// Key of `by_owner`: the files of a user, by directory and name.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "by_owner",
    salt(16, by = "owner"),
    columns = "child U64 FAMILY e QUALIFIER c NOT NULL, kind STRING FAMILY e QUALIFIER k NOT NULL, size U64 FAMILY e QUALIFIER s NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (files: owner = ? LIMIT 1000, in_directory: owner = ? AND parent = ?)
      SPLIT BY SALT"
)]
pub struct OwnerKey<'a> {
    pub owner: &'a str,
    pub parent: u64,
    pub name: &'a str,
}

/// Key of `moves`: the directory that is being moved in the tree below a root, one at a time.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "moves", columns = "move BYTES FAMILY m QUALIFIER m NOT NULL")]
pub struct MoveKey {
    pub tree: u64,
}

/// Move of a node from one directory and name to another one, as the bytes of a cell.
#[derive(Clone, Debug, PartialEq, RowKey)]
pub(crate) struct Move<'a> {
    pub(crate) id: u64,
    /// Version of the node that is moved.
    pub(crate) version: u64,
    pub(crate) from: u64,
    pub(crate) from_name: &'a str,
    pub(crate) to: u64,
    pub(crate) to_name: &'a str,
}
