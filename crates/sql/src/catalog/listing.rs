//! Tables of a cluster with their columns, for doors that have a catalog of their own.

use std::sync::Arc;

use halite_rowkey::language::comment;
use halite_types::Cluster;

use super::describe::{ColumnLine, column_lines};
use super::shape::TableShape;
use super::table_info::{TableInfo, TableKind};
use crate::error::{Result, SqlError};

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
                comment: comment(table, None).map(ToOwned::to_owned),
                column_comments: shape
                    .columns
                    .iter()
                    .map(|column| comment(table, Some(&column.name)).map(ToOwned::to_owned))
                    .collect(),
                kind: TableKind::Table,
                definition: None,
            })
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}
