//! Table of `pg_catalog` as DataFusion sees it. Its rows are computed when a statement reads it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use halite_sql::datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Int64Builder, ListBuilder, RecordBatch, RecordBatchOptions,
    StringBuilder,
};
use halite_sql::datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use halite_sql::datafusion::catalog::{Session, TableProvider};
use halite_sql::datafusion::datasource::MemTable;
use halite_sql::datafusion::error::Result;
use halite_sql::datafusion::logical_expr::{Expr, TableType};
use halite_sql::datafusion::physical_plan::ExecutionPlan;
use halite_sql::{SessionTables, list_tables};
use halite_types::Cluster;

use super::rows;

/// Value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    Numbers(Vec<i64>),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Row by the names of its columns; columns that it does not name are null.
pub(super) type Row = Vec<(&'static str, Value)>;

/// Table of the schema.
pub(super) struct CatalogTable {
    cluster: Arc<dyn Cluster>,
    name: &'static str,
    schema: SchemaRef,
}

impl fmt::Debug for CatalogTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CatalogTable({})", self.name)
    }
}

impl CatalogTable {
    /// Creates a table of the columns that `columns.rs` describes.
    pub(super) fn new(
        cluster: Arc<dyn Cluster>,
        name: &'static str,
        columns: &'static str,
    ) -> Self {
        let list = |ty| DataType::List(Arc::new(Field::new_list_field(ty, true)));
        let field = |column: &str| {
            let (name, letter) = column.split_once(':').unwrap_or((column, "t"));
            let ty = match letter {
                "i" => DataType::Int64,
                "b" => DataType::Boolean,
                "a" => list(DataType::Utf8),
                "n" => list(DataType::Int64),
                _ => DataType::Utf8,
            };
            Field::new(name, ty, true)
        };
        let fields: Vec<Field> = columns.split_whitespace().map(field).collect();
        Self { cluster, name, schema: Arc::new(Schema::new(fields)) }
    }

    /// Returns the rows for a session, with its temporary tables and views.
    async fn batch(&self, state: &dyn Session) -> Result<RecordBatch> {
        let mut tables = list_tables(&self.cluster).await?;
        let local = state.config().get_extension::<SessionTables>();
        tables.extend(local.iter().flat_map(|local| local.list()));
        let rows = rows::of(self.name, &tables);
        let columns = self.schema.fields().iter().map(|field| column(field, &rows)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

fn column(field: &Field, rows: &[Row]) -> ArrayRef {
    let values = rows.iter().map(|row| {
        let value = row.iter().find(|(name, _)| name == field.name());
        value.map_or(&Value::Null, |(_, value)| value)
    });
    match field.data_type() {
        DataType::Int64 => {
            let mut array = Int64Builder::new();
            values.for_each(|value| {
                array.append_option(match value {
                    Value::Number(number) => Some(*number),
                    _ => None,
                });
            });
            Arc::new(array.finish())
        }
        DataType::Boolean => {
            let mut array = BooleanBuilder::new();
            values.for_each(|value| {
                array.append_option(match value {
                    Value::Bool(value) => Some(*value),
                    _ => None,
                });
            });
            Arc::new(array.finish())
        }
        DataType::List(of) if *of.data_type() == DataType::Int64 => {
            let mut array = ListBuilder::new(Int64Builder::new());
            values.for_each(|value| match value {
                Value::Numbers(numbers) => {
                    array.append_value(numbers.iter().map(|number| Some(*number)));
                }
                _ => array.append_null(),
            });
            Arc::new(array.finish())
        }
        DataType::List(_) => {
            let mut array = ListBuilder::new(StringBuilder::new());
            values.for_each(|_| array.append_null());
            Arc::new(array.finish())
        }
        _ => {
            let mut array = StringBuilder::new();
            values.for_each(|value| {
                array.append_option(match value {
                    Value::Text(text) => Some(text),
                    _ => None,
                });
            });
            Arc::new(array.finish())
        }
    }
}

#[async_trait]
impl TableProvider for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let batch = self.batch(state).await?;
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![vec![batch]])?;
        table.scan(state, projection, filters, limit).await
    }
}
