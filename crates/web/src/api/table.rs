//! One table: its statistics, its declared key and its families.

use std::collections::BTreeMap;

use axum::response::Response;
use halite_rowkey::KeySchema;
use halite_rowkey::language::TableDeclaration;
use halite_rowkey::schema::Order;
use halite_rowkey_tools::picture::segment_name;
use halite_types::key::to_string_binary;
use halite_types::{FamilyDescriptor, TableDescriptor, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use super::tables::{TableRow, complete, missing, row};
use crate::call::Call;
use crate::gate::Weight;
use crate::problem::{Answered, Problem};

/// Table.
#[derive(Serialize, ToSchema)]
pub(crate) struct TableAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    #[serde(flatten)]
    row: TableRow,
    /// `ENABLED` or `DISABLED`.
    state: &'static str,
    /// Declared row key; `null` if the table declares none.
    row_key: Option<RowKey>,
    /// Reason why the declared row key cannot be read.
    row_key_error: Option<String>,
    families: Vec<Family>,
    /// Attributes of the table, without the declared key.
    attributes: BTreeMap<String, String>,
    /// The table as a statement, if it declares a row key.
    ddl: Option<String>,
    #[schema(value_type = Option<Object>)]
    key_stats: Option<()>,
    #[schema(value_type = Option<Object>)]
    bytes_per_cell: Option<()>,
}

/// Declared row key.
#[derive(Serialize, ToSchema)]
pub(crate) struct RowKey {
    ddl: String,
    /// Segments in the order of their bytes.
    fields: Vec<KeyField>,
    fingerprint: String,
}

/// Segment of a row key.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyField {
    /// Name of the field; of a computed segment what it is: `salt`, `hash`, `const`.
    name: String,
    /// Type of the field; `null` for a computed segment.
    #[serde(rename = "type")]
    field_type: Option<String>,
    /// Segment as it is declared.
    ddl: String,
    /// `true` if it is computed from fields.
    derived: bool,
    /// `true` if the greatest values come first.
    desc: bool,
}

/// Family.
#[derive(Serialize, ToSchema)]
pub(crate) struct Family {
    name: String,
    versions: u32,
    min_versions: u32,
    /// Lifetime of cells in seconds; `null` without a limit.
    ttl_s: Option<i64>,
    bloom: String,
    compression: String,
    data_block_encoding: String,
    block_size_bytes: u32,
    in_memory: bool,
}

/// One table.
#[utoipa::path(
    get,
    path = "/api/tables/{t}",
    tag = "tables",
    params(("t" = String, Path, description = "Table, with its namespace unless that is default")),
    responses((status = 200, body = TableAnswer), (status = 404, body = Problem))
)]
pub(crate) async fn table(call: Call) -> Response {
    call.json(Weight::Light, |call, _| answer(call)).await
}

fn answer(call: &Call) -> Answered<TableAnswer> {
    let found = call.table()?;
    let status = call.site.status()?;
    let is_enabled = block_on(call.site.admin().is_enabled(found.name())).unwrap_or(true);
    let (row_key, row_key_error) = match KeySchema::from_descriptor(&found.descriptor) {
        Some(Ok(schema)) => (Some(row_key(&schema)), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let declaration = TableDeclaration::from_descriptor(&found.descriptor).and_then(Result::ok);
    let mut row = row(&found.descriptor, &status);
    complete(&call.site, &mut row, None);
    let mut missing = missing(std::slice::from_ref(&row), false);
    missing.extend(["key_stats", "bytes_per_cell"]);
    Ok(TableAnswer {
        as_of: status.as_of,
        missing,
        row,
        state: if is_enabled { "ENABLED" } else { "DISABLED" },
        row_key,
        row_key_error,
        families: found.descriptor.families().map(family).collect(),
        attributes: attributes(&found.descriptor),
        ddl: declaration.map(|declaration| declaration.to_string()),
        key_stats: None,
        bytes_per_cell: None,
    })
}

fn attributes(table: &TableDescriptor) -> BTreeMap<String, String> {
    let shown = table.attributes.iter().chain(table.configuration.iter());
    shown
        .filter(|(name, _)| !matches!(name.as_str(), "ROW_KEY" | "ROW_MARKER" | "ROW_SCHEMA"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn row_key(schema: &KeySchema) -> RowKey {
    let field = |(at, segment): (usize, &halite_rowkey::Segment)| {
        let field = segment.kind.field().and_then(|id| schema.fields().get(id));
        KeyField {
            name: segment_name(schema, segment).to_owned(),
            field_type: field.map(|field| field.ty.to_string()),
            ddl: schema.segment_text(at),
            derived: field.is_none(),
            desc: segment.order == Order::Desc,
        }
    };
    RowKey {
        ddl: schema.to_text(),
        fields: schema.segments().iter().enumerate().map(field).collect(),
        fingerprint: format!("{:016x}", schema.fingerprint()),
    }
}

fn family(family: &FamilyDescriptor) -> Family {
    Family {
        name: to_string_binary(family.name()),
        versions: family.max_versions(),
        min_versions: family.min_versions(),
        ttl_s: family.ttl_ms().map(|ms| ms / 1000),
        bloom: family
            .attributes
            .get("BLOOMFILTER")
            .map_or_else(|| "ROW".to_owned(), |bloom| bloom.to_ascii_uppercase()),
        compression: family.compression(),
        data_block_encoding: family.data_block_encoding(),
        block_size_bytes: family.block_size_bytes(),
        in_memory: family.in_memory(),
    }
}
