//! DESCRIBE, SHOW TABLES, SHOW CREATE TABLE.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringViewArray};
use datafusion::error::DataFusionError;
use halite_rowkey::cell::CellEncoding;
use halite_rowkey::language::TableDeclaration;
use halite_types::{TableDescriptor, TableName};

use super::HaliteCatalog;
use super::shape::{Source, TableShape};
use crate::error::{Result, SqlError, SqlState};
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
    batch(vec![
        ("column", text(lines.iter().map(|line| line.name.as_str()))),
        ("type", text(lines.iter().map(|line| line.ty.as_str()))),
        ("nullable", Arc::new(BooleanArray::from(nullable))),
        ("place", text(lines.iter().map(|line| line.place.as_str()))),
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
    let keys: Vec<String> = shown
        .iter()
        .map(|table| match TableShape::of(table, false) {
            Ok(shape) if shape.is_declared => shape.key.to_string(),
            Ok(_) => String::new(),
            Err(_) => "cannot be read".to_owned(),
        })
        .collect();
    batch(vec![
        ("namespace", text(shown.iter().map(|table| table.name().namespace()))),
        ("table", text(shown.iter().map(|table| table.name().qualifier()))),
        ("row key", text(keys.iter().map(String::as_str))),
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
