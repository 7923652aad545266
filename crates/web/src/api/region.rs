//! One region, with its store files.

use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::region_list::{Region, RegionList};
use crate::call::Call;
use crate::extension::StoreFile;
use crate::gate::Weight;
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::problem::{Answered, Problem};

/// Metrics of a region that nothing records here.
const MISSING: [&str; 5] = ["sub_ranges", "half_load_key", "half_load", "half_size", "divisible"];

/// Region.
#[derive(Serialize, ToSchema)]
pub(crate) struct RegionAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    table: String,
    #[serde(flatten)]
    region: Region,
    store_file_bytes: u64,
    store_file_uncompressed_bytes: u64,
    store_file_cells: u64,
    flushes: u64,
    compactions: u64,
    rows_examined: u64,
    rows_returned: u64,
    /// Time of the last major compaction; 0 if there was none.
    last_major_compaction: i64,
    /// Load of parts of its key range.
    #[schema(value_type = Option<Object>)]
    sub_ranges: Option<()>,
    /// Key at which a split would halve the load.
    half_load_key: Option<Key>,
    #[schema(value_type = Option<Object>)]
    half_load: Option<()>,
    #[schema(value_type = Option<Object>)]
    half_size: Option<()>,
    /// Key at which a split would halve the size.
    half_size_key: Option<Key>,
    /// `false` if one row has most of the load, so that a split would not divide it.
    divisible: Option<bool>,
    store_file_list: Option<Vec<StoreFile>>,
}

/// One region.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/regions/{encoded}",
    tag = "regions",
    params(
        ("t" = String, Path),
        ("encoded" = String, Path, description = "Encoded name of the region"),
    ),
    responses((status = 200, body = RegionAnswer), (status = 404, body = Problem))
)]
pub(crate) async fn region(call: Call) -> Response {
    call.json(Weight::Light, |call, _| answer(call)).await
}

fn answer(call: &Call) -> Answered<RegionAnswer> {
    let (list, table) = RegionList::of(call)?;
    let encoded_name = call.path("encoded");
    let index = list.index_of(encoded_name)?;
    let (Some(region), Some(load)) = (list.region(index), list.load(index)) else {
        return Err(Problem::defect());
    };
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &table.descriptor);
    let style = KeyStyle::of(&call.params, declared)?;
    let store_file_list = call.site.extension().store_files(encoded_name).ok();
    let half_size_key = call.site.extension().middle_row(encoded_name);
    let mut missing = RegionList::missing(std::slice::from_ref(&region));
    missing.extend(MISSING);
    missing.extend(store_file_list.is_none().then_some("store_file_list"));
    missing.extend(half_size_key.is_err().then_some("half_size_key"));
    Ok(RegionAnswer {
        as_of: list.status.as_of,
        missing,
        table: table.name().to_string(),
        region,
        store_file_bytes: load.store_file_bytes,
        store_file_uncompressed_bytes: load.store_file_uncompressed_bytes,
        store_file_cells: load.store_file_cells,
        flushes: load.flushes,
        compactions: load.compactions,
        rows_examined: load.rows_examined,
        rows_returned: load.rows_returned,
        last_major_compaction: load.last_major_compaction_ms,
        sub_ranges: None,
        half_load_key: None,
        half_load: None,
        half_size: None,
        half_size_key: half_size_key.ok().flatten().map(|key| style.key(&key)),
        divisible: None,
        store_file_list,
    })
}
