//! What doors with a catalog of their own learn of a table.

use datafusion::arrow::datatypes::SchemaRef;
use halite_types::TableName;

/// Table with its columns.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// Name.
    pub name: TableName,
    /// Columns in the order of `*`. Fields remember their type of the row-key language under
    /// [`crate::TYPE_KEY`].
    pub schema: SchemaRef,
    /// Places of the columns: `key 1` for the first field of the key, `family:qualifier` for a
    /// cell.
    pub places: Vec<String>,
    /// The declared key, as `ROW KEY (..)`; `None` for a table without one.
    pub row_key: Option<String>,
    /// Columns that are fields of the key, by position.
    pub key_columns: Vec<usize>,
    /// Comment on it.
    pub comment: Option<String>,
    /// Comments on its columns.
    pub column_comments: Vec<Option<String>>,
    /// What it is.
    pub kind: TableKind,
    /// Query of a view.
    pub definition: Option<String>,
}

/// What is read as a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Table of the cluster.
    Table,
    /// Temporary table of the session.
    Temporary,
    /// View of the session.
    View,
}
