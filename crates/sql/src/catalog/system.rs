//! System tables: `halite.tables`, `halite.columns`, `halite.families`, `halite.settings`,
//! `halite.queries`, which is also called `halite.statements`, and those of `regions.rs`,
//! `hot_keys.rs` and `lint.rs`. They are computed when a statement names them.

use std::sync::{Arc, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringViewArray,
    StringViewBuilder, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use halite_rowkey::language::comment;
use halite_types::{FamilyDescriptor, TableName};

use super::describe::{ColumnLine, column_lines};
use super::hot_keys::hot_keys;
use super::regions::regions;
use super::shape::TableShape;
use super::system_columns::{Columns, text};
use super::{HaliteCatalog, lint};
use crate::error::{Result, SqlError};
use crate::parse::without_values;
use crate::session::queries::{QueryLine, QueryState};
use crate::session::statement::StatementContext;

/// Schema of the system tables.
pub(crate) const SYSTEM_SCHEMA: &str = "halite";
/// Names of the system tables.
pub(crate) const SYSTEM_TABLES: [&str; 9] = [
    "columns",
    "families",
    "hot_keys",
    "lint",
    "queries",
    "regions",
    "settings",
    "statements",
    "tables",
];

/// Returns a system table; `None` if there is none of that name.
pub(super) async fn table(
    catalog: &HaliteCatalog,
    name: &str,
) -> Result<Option<Arc<dyn TableProvider>>> {
    let (columns, notice) = match name {
        "tables" => (tables(catalog).await?, None),
        "columns" => (columns(catalog).await?, None),
        "families" => (families(catalog).await?, None),
        "hot_keys" => hot_keys(&catalog.cluster).await?,
        "lint" => lint::lint(&catalog.cluster, catalog.lint.get()).await?,
        "regions" => (regions(&catalog.cluster).await?, None),
        "queries" | "statements" => (queries(&catalog.queries.lines()), None),
        "settings" => (settings(catalog), None),
        _ => return Ok(None),
    };
    let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(DataFusionError::from)?;
    let rows = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    Ok(Some(Arc::new(SystemTable { rows, notice })))
}

/// Rows of a system table, and a notice for those who read them.
#[derive(Debug)]
struct SystemTable {
    rows: MemTable,
    notice: Option<String>,
}

#[async_trait]
impl TableProvider for SystemTable {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
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
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        if let Some(notice) = &self.notice
            && let Some(statement) = state.config().get_extension::<StatementContext>()
        {
            statement.notice(notice.clone());
        }
        self.rows.scan(state, projection, filters, limit).await
    }
}

async fn tables(catalog: &HaliteCatalog) -> Result<Columns> {
    let admin = catalog.cluster.admin();
    let tables = admin.list_tables().await.map_err(SqlError::from)?;
    let mut enabled = Vec::with_capacity(tables.len());
    for table in &tables {
        enabled.push(admin.is_enabled(table.name()).await.map_err(SqlError::from)?);
    }
    let comments: StringViewArray = tables.iter().map(|table| comment(table, None)).collect();
    let mut keys = StringViewBuilder::new();
    let mut families = StringViewBuilder::new();
    for table in &tables {
        let key = TableShape::of(table, false).ok().filter(|shape| shape.is_declared);
        keys.append_option(key.map(|shape| shape.key.to_string()));
        let names: Vec<_> =
            table.families().map(|family| String::from_utf8_lossy(family.name())).collect();
        families.append_value(names.join(", "));
    }
    Ok(vec![
        ("namespace", text(tables.iter().map(|table| table.name().namespace())), false),
        ("table_name", text(tables.iter().map(|table| table.name().qualifier())), false),
        ("row_key", Arc::new(keys.finish()), true),
        ("families", Arc::new(families.finish()), false),
        ("enabled", Arc::new(BooleanArray::from(enabled)), false),
        ("comment", Arc::new(comments), true),
    ])
}

async fn columns(catalog: &HaliteCatalog) -> Result<Columns> {
    let tables = catalog.cluster.admin().list_tables().await.map_err(SqlError::from)?;
    let mut comments = StringViewBuilder::new();
    let mut lines: Vec<(&str, &str, i64, ColumnLine)> = Vec::new();
    for table in &tables {
        // A table whose declaration cannot be read is in `halite.tables`.
        let Ok(shape) = TableShape::of(table, false) else { continue };
        for (line, position) in column_lines(&shape).into_iter().zip(1..) {
            comments.append_option(comment(table, Some(&line.name)));
            lines.push((table.name().namespace(), table.name().qualifier(), position, line));
        }
    }
    let of = |pick: fn(&ColumnLine) -> &str| text(lines.iter().map(|line| pick(&line.3)));
    let positions: Int64Array = lines.iter().map(|line| Some(line.2)).collect();
    let nullable: Vec<bool> = lines.iter().map(|line| line.3.nullable).collect();
    Ok(vec![
        ("namespace", text(lines.iter().map(|line| line.0)), false),
        ("table_name", text(lines.iter().map(|line| line.1)), false),
        ("column_name", of(|line| &line.name), false),
        ("ordinal_position", Arc::new(positions), false),
        ("type", of(|line| &line.ty), false),
        ("nullable", Arc::new(BooleanArray::from(nullable)), false),
        ("place", of(|line| &line.place), false),
        ("comment", Arc::new(comments.finish()), true),
    ])
}

async fn families(catalog: &HaliteCatalog) -> Result<Columns> {
    let tables = catalog.cluster.admin().list_tables().await.map_err(SqlError::from)?;
    let families: Vec<(&TableName, &FamilyDescriptor)> = tables
        .iter()
        .flat_map(|table| table.families().map(move |family| (table.name(), family)))
        .collect();
    let of = |pick: fn(&FamilyDescriptor) -> String| -> ArrayRef {
        let texts = families.iter().map(|(_, family)| Some(pick(family)));
        Arc::new(texts.collect::<StringViewArray>())
    };
    let number = |pick: fn(&FamilyDescriptor) -> u32| -> ArrayRef {
        let numbers = families.iter().map(|(_, family)| i64::from(pick(family)));
        Arc::new(Int64Array::from_iter_values(numbers))
    };
    let ttl: Int64Array = families.iter().map(|(_, family)| family.ttl_ms()).collect();
    let in_memory: Vec<bool> = families.iter().map(|(_, family)| family.in_memory()).collect();
    Ok(vec![
        ("namespace", text(families.iter().map(|(table, _)| table.namespace())), false),
        ("table_name", text(families.iter().map(|(table, _)| table.qualifier())), false),
        ("family", of(|one| String::from_utf8_lossy(one.name()).into_owned()), false),
        ("versions", number(FamilyDescriptor::max_versions), false),
        ("min_versions", number(FamilyDescriptor::min_versions), false),
        ("ttl_ms", Arc::new(ttl), true),
        ("compression", of(FamilyDescriptor::compression), false),
        ("data_block_encoding", of(FamilyDescriptor::data_block_encoding), false),
        ("bloom_filter", of(|one| format!("{:?}", one.bloom_filter()).to_uppercase()), false),
        ("block_size", number(FamilyDescriptor::block_size_bytes), false),
        ("in_memory", Arc::new(BooleanArray::from(in_memory)), false),
    ])
}

fn queries(lines: &[QueryLine]) -> Columns {
    let texts: Vec<String> = lines.iter().map(|line| without_values(&line.text)).collect();
    let micros = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    };
    let began = lines.iter().map(|line| micros(line.began));
    let began = TimestampMicrosecondArray::from_iter_values(began).with_timezone("+00:00");
    let number = |pick: fn(&QueryLine) -> u64| -> ArrayRef {
        let numbers = lines.iter().map(|line| i64::try_from(pick(line)).unwrap_or(i64::MAX));
        Arc::new(Int64Array::from_iter_values(numbers))
    };
    let error = |line: &QueryLine| match line.state {
        QueryState::Failed(state) => Some(state.code()),
        _ => None,
    };
    let errors: StringViewArray = lines.iter().map(error).collect();
    let ms = lines.iter().map(|line| line.took.as_secs_f64() * 1000.0);
    vec![
        ("id", number(|line| line.id), false),
        ("pid", number(|line| u64::from(line.who.session)), false),
        ("user_name", text(lines.iter().map(|line| line.who.user.as_ref())), false),
        ("state", text(lines.iter().map(|line| line.state.name())), false),
        ("error", Arc::new(errors), true),
        ("started", Arc::new(began), false),
        ("ms", Arc::new(Float64Array::from_iter_values(ms)), false),
        ("rows_examined", number(|line| line.rows_examined), false),
        ("rows_returned", number(|line| line.rows_returned), false),
        ("rows_written", number(|line| line.rows_written), false),
        ("query", text(texts.iter().map(String::as_str)), false),
    ]
}

fn settings(catalog: &HaliteCatalog) -> Columns {
    let settings = catalog.settings.read().unwrap_or_else(PoisonError::into_inner);
    let described = settings.described();
    vec![
        ("name", text(described.iter().map(|one| one.name)), false),
        ("value", text(described.iter().map(|one| one.value.as_str())), false),
        ("meaning", text(described.iter().map(|one| one.meaning)), false),
    ]
}
