//! Tables of a cluster with their columns, for doors that have a catalog of their own.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use halite_types::{Cluster, TableName};

use super::describe::{ColumnLine, column_lines};
use super::shape::TableShape;
use crate::error::{Result, SqlError};

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
}

/// Returns the tables of a cluster, by name.
///
/// # Errors
/// An error of the cluster. Tables whose declaration cannot be read are left out.
pub async fn list_tables(cluster: &Arc<dyn Cluster>) -> Result<Vec<TableInfo>> {
    let tables = cluster.admin().list_tables().await.map_err(SqlError::from)?;
    let mut found: Vec<TableInfo> = tables
        .iter()
        .filter_map(|table| {
            let shape = TableShape::of(table, false).ok()?;
            let places: Vec<String> =
                column_lines(&shape).into_iter().map(|line: ColumnLine| line.place).collect();
            let is_key = |(_, place): &(usize, &String)| place.starts_with("key ");
            Some(TableInfo {
                name: table.name().clone(),
                schema: shape.arrow(),
                key_columns: places.iter().enumerate().filter(is_key).map(|(at, _)| at).collect(),
                places,
                row_key: shape.is_declared.then(|| shape.key.to_string()),
            })
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}
