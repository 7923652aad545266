//! DESCRIBE, SHOW TABLES, SHOW CREATE TABLE.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, BooleanArray, RecordBatch, StringViewArray};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Ident;
use halite_rowkey::cell::CellEncoding;
use halite_rowkey::language::{TableDeclaration, comment};
use halite_types::suggest::{closest_match, did_you_mean};
use halite_types::{TableDescriptor, TableName};

use super::HaliteCatalog;
use super::local::{Object, PG_TEMP};
use super::shape::{Source, TableShape};
use crate::error::{Result, SqlError, SqlState};
use crate::names::by_case;
use crate::types::TYPE_KEY;

/// Description of one column.
pub(crate) struct ColumnLine {
    pub(crate) name: String,
    /// Type, as in the row-key language.
    pub(crate) ty: String,
    pub(crate) nullable: bool,
    /// `key 1` for the first field of the key, `family:qualifier` for a cell.
    pub(crate) place: String,
}

/// Returns the columns of a table.
pub(crate) fn column_lines(shape: &TableShape) -> Vec<ColumnLine> {
    let line = |column: &super::shape::ShapeColumn| {
        let (ty, place) = match &column.source {
            Source::Key(field) => (column.ty.to_string(), format!("key {}", field + 1)),
            Source::Cell { family, qualifier } => (
                declared_type(column),
                format!(
                    "{}:{}",
                    String::from_utf8_lossy(family),
                    String::from_utf8_lossy(qualifier)
                ),
            ),
            Source::Map { family, prefix } => {
                let (family, prefix) =
                    (String::from_utf8_lossy(family), String::from_utf8_lossy(prefix));
                (declared_type(column), format!("{family}:{prefix}*"))
            }
            Source::Series(at) => {
                let place = shape.series.get(*at).map_or_else(String::new, ToString::to_string);
                (format!("SERIES({})", column.ty), place)
            }
            Source::Unread(ty) => (ty.clone(), "not read yet".to_owned()),
            Source::Pseudo(_) | Source::Part(_) | Source::CellTs { .. } => {
                ("MAP(STRING, BYTES)".to_owned(), "cells".to_owned())
            }
        };
        ColumnLine { name: column.name.clone(), ty, nullable: column.field.is_nullable(), place }
    };
    shape.columns.iter().map(line).collect()
}

/// Returns the type of a column with cells, as it is declared.
fn declared_type(column: &super::shape::ShapeColumn) -> String {
    match &column.cell {
        Some(cell) if cell.is_counter => format!("{} COUNTER", column.ty),
        Some(cell) if cell.encoding != CellEncoding::Java => {
            format!("{} ENCODING {}", type_name(column), cell.encoding)
        }
        Some(_) if column.map_key.is_some() => type_name(column),
        _ => column.ty.to_string(),
    }
}

/// Returns the type that the Arrow field names.
fn type_name(column: &super::shape::ShapeColumn) -> String {
    let named = column.field.metadata().get(TYPE_KEY);
    named.cloned().unwrap_or_else(|| column.ty.to_string())
}

/// Answers DESCRIBE.
pub(crate) fn describe(descriptor: &TableDescriptor) -> Result<RecordBatch> {
    let shape = TableShape::of(descriptor, false)?;
    let lines = column_lines(&shape);
    let nullable: Vec<bool> = lines.iter().map(|line| line.nullable).collect();
    let mut columns = vec![
        ("column", text(lines.iter().map(|line| line.name.as_str()))),
        ("type", text(lines.iter().map(|line| line.ty.as_str()))),
        ("nullable", Arc::new(BooleanArray::from(nullable)) as ArrayRef),
        ("place", text(lines.iter().map(|line| line.place.as_str()))),
    ];
    let comments: StringViewArray =
        lines.iter().map(|line| comment(descriptor, Some(&line.name))).collect();
    if comments.null_count() < comments.len() {
        columns.push(("comment", Arc::new(comments)));
    }
    batch(columns)
}

/// Returns the column of a table that a name means.
///
/// # Errors
/// `UndefinedColumn` with the nearest name, `Ambiguous`.
pub(crate) fn column_of(descriptor: &TableDescriptor, name: &Ident) -> Result<String> {
    let shape = TableShape::of(descriptor, false)?;
    let mut names = shape.columns.iter().map(|column| column.name.as_str());
    let placed = |error: SqlError| error.at(name.span.start.line, name.span.start.column);
    let found = match name.quote_style {
        Some(_) => names.find(|known| *known == name.value),
        None => by_case(&name.value, names).map_err(placed)?,
    };
    if let Some(found) = found {
        return Ok(found.to_owned());
    }
    let known = shape.columns.iter().map(|column| column.name.as_str());
    let near = did_you_mean(closest_match(&name.value, known));
    let text = format!("table {} has no column {}{near}", descriptor.name(), name.value);
    Err(placed(SqlError::new(SqlState::UndefinedColumn, text)))
}

/// Answers DESCRIBE of a temporary table or view.
pub(crate) fn describe_local(object: &Object) -> Result<RecordBatch> {
    let fields = object.schema().fields();
    let types: Vec<String> = fields
        .iter()
        .map(|field| match field.metadata().get(TYPE_KEY) {
            Some(ty) => ty.clone(),
            None => field.data_type().to_string(),
        })
        .collect();
    let nullable: Vec<bool> = fields.iter().map(|field| field.is_nullable()).collect();
    batch(vec![
        ("column", text(fields.iter().map(|field| field.name().as_str()))),
        ("type", text(types.iter().map(String::as_str))),
        ("nullable", Arc::new(BooleanArray::from(nullable))),
        ("place", text(fields.iter().map(|_| object.what()))),
    ])
}

/// Answers SHOW TABLES: the tables of one namespace, or of all but HBase's own.
pub(crate) async fn show_tables(
    catalog: &HaliteCatalog,
    namespace: Option<&str>,
) -> Result<RecordBatch> {
    let tables = catalog.cluster.admin().list_tables().await.map_err(SqlError::from)?;
    let is_shown = |name: &TableName| match namespace {
        Some(namespace) => name.namespace() == namespace,
        None => name.namespace() != "hbase",
    };
    let shown: Vec<_> = tables.iter().filter(|table| is_shown(table.name())).collect();
    let is_local = namespace.is_none_or(|namespace| namespace == PG_TEMP);
    let local = if is_local { catalog.local.names() } else { Vec::new() };
    let local = || local.iter().map(String::as_str);
    let keys: Vec<String> = shown
        .iter()
        .map(|table| match TableShape::of(table, false) {
            Ok(shape) if shape.is_declared => shape.key.to_string(),
            Ok(_) => String::new(),
            Err(_) => "cannot be read".to_owned(),
        })
        .collect();
    batch(vec![
        (
            "namespace",
            text(
                shown.iter().map(|table| table.name().namespace()).chain(local().map(|_| PG_TEMP)),
            ),
        ),
        ("table", text(shown.iter().map(|table| table.name().qualifier()).chain(local()))),
        ("row key", text(keys.iter().map(String::as_str).chain(local().map(|_| "")))),
    ])
}

/// Answers SHOW CREATE TABLE, a row for each line.
pub(crate) fn show_create(descriptor: &TableDescriptor) -> Result<RecordBatch> {
    let table = descriptor.name();
    let text_of = match TableDeclaration::from_descriptor(&descriptor.clone().without_defaults()) {
        Some(Ok(declaration)) => format!("{declaration};"),
        Some(Err(error)) => {
            return Err(SqlError::new(
                SqlState::Corrupt,
                format!("table {table}: its ROW_KEY or ROW_SCHEMA cannot be read: {error}"),
            ));
        }
        None => {
            return Err(SqlError::new(
                SqlState::UndefinedObject,
                format!(
                    "table {table} declares no row key; ALTER TABLE {table} ADOPT ROW KEY (..) \
                     says what its keys are"
                ),
            ));
        }
    };
    lines("statement", &text_of)
}

/// Returns one column of lines.
pub(crate) fn lines(name: &'static str, lines: &str) -> Result<RecordBatch> {
    batch(vec![(name, text(lines.lines()))])
}

/// Returns one column with one text.
pub(crate) fn one_text(name: &'static str, value: &str) -> Result<RecordBatch> {
    batch(vec![(name, text([value]))])
}

fn text<'t>(values: impl IntoIterator<Item = &'t str>) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values(values))
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> Result<RecordBatch> {
    RecordBatch::try_from_iter(columns).map_err(|error| DataFusionError::from(error).into())
}
