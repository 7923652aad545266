//! One region, with its store files.

use axum::response::Response;
use halite_types::RegionLoad;
use serde::Serialize;
use utoipa::ToSchema;

use super::region_list::{Region, RegionList};
use crate::call::Call;
use crate::extension::StoreFile;
use crate::gate::{Deadline, Weight};
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::problem::{Answered, Problem};
use crate::region_load::{InnerLoad, SubRange};
use crate::site::KnownTable;
use crate::statistics::{p99_ms, round};

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
    /// Durations below which 99 in a hundred reads and writes of the last minute are.
    read_p99_ms: Option<f64>,
    write_p99_ms: Option<f64>,
    /// Load of at most 64 parts of its key range in the last ten minutes.
    sub_ranges: Option<Vec<SubRangeView>>,
    /// Key at which a split would halve the load, as the split policy of the table permits it.
    half_load_key: Option<Key>,
    /// Shares of the load before that key and from it on.
    half_load: Option<[f64; 2]>,
    /// Shares of the load before the key that halves the size and from it on.
    half_size: Option<[f64; 2]>,
    /// Key at which a split would halve the size.
    half_size_key: Option<Key>,
    /// `false` if no split would divide the load; `null` without load.
    divisible: Option<bool>,
    /// Reason why no split would divide the load.
    indivisible_because: Option<String>,
    store_file_list: Option<Vec<StoreFile>>,
}

/// Part of the key range of a region.
#[derive(Serialize, ToSchema)]
pub(crate) struct SubRangeView {
    start: Key,
    /// Share of the region's requests.
    load: f64,
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
    // The load inside of the region is drawn as a heat map is.
    call.json(Weight::Heavy, answer).await
}

fn answer(call: &Call, deadline: Deadline) -> Answered<RegionAnswer> {
    let (list, table) = RegionList::of(call)?;
    let encoded_name = call.path("encoded");
    let index = list.index_of(encoded_name)?;
    let (Some(region), Some(load)) = (list.region(index), list.load(index)) else {
        return Err(Problem::defect());
    };
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &table.descriptor);
    let style = KeyStyle::of(&call.params, declared)?;
    deadline.check()?;
    let store_file_list = call.site.extension().store_files(encoded_name).ok();
    let split = SplitView::of(call, &table, load, &style);
    let mut missing = RegionList::missing(std::slice::from_ref(&region));
    missing.extend(split.missing());
    missing.extend(store_file_list.is_none().then_some("store_file_list"));
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
        read_p99_ms: p99_ms(&load.read_latencies),
        write_p99_ms: p99_ms(&load.write_latencies),
        sub_ranges: split.sub_ranges,
        half_load_key: split.half_load_key,
        half_load: split.half_load,
        half_size: split.half_size,
        half_size_key: split.half_size_key,
        divisible: split.divisible,
        indivisible_because: split.why,
        store_file_list,
    })
}

/// What is known of the load inside of a region, and of splits.
#[derive(Default)]
struct SplitView {
    sub_ranges: Option<Vec<SubRangeView>>,
    half_load_key: Option<Key>,
    half_load: Option<[f64; 2]>,
    half_size_key: Option<Key>,
    half_size: Option<[f64; 2]>,
    divisible: Option<bool>,
    why: Option<String>,
}

impl SplitView {
    /// Blocks.
    fn of(call: &Call, table: &KnownTable, load: &RegionLoad, style: &KeyStyle) -> Self {
        let (extension, region) = (call.site.extension(), &load.region);
        let middle = extension.middle_row(&region.encoded_name).ok().flatten();
        // Sub-ranges, sampled rows and the middle row are parts of rows.
        let shows_rows = call.site.config.shows_rows;
        let half_size_key = middle.as_ref().filter(|_| shows_rows).map(|key| style.key(key));
        let Some(inner) = InnerLoad::of(extension, table.name(), region) else {
            return Self { half_size_key, ..Self::default() };
        };
        let half = inner.half_load(|row| match extension.split_point(&region.encoded_name, row) {
            Ok(row) => row,
            // A cluster elsewhere decides by itself.
            Err(_) => Some(row.clone()),
        });
        let view = |range: &SubRange| SubRangeView {
            start: style.boundary(&range.start),
            load: round(range.load),
        };
        Self {
            sub_ranges: shows_rows.then(|| inner.ranges.iter().map(view).collect()),
            half_load_key: half.row.filter(|_| shows_rows).map(|row| style.boundary(&row)),
            half_load: half.parts,
            half_size: middle.map(|row| inner.divided_at(&row)),
            half_size_key,
            divisible: Some(half.indivisible.is_none()),
            why: half.indivisible,
        }
    }

    fn missing(&self) -> impl Iterator<Item = &'static str> {
        let missing = [
            ("sub_ranges", self.sub_ranges.is_none()),
            ("half_load_key", self.half_load_key.is_none()),
            ("half_load", self.half_load.is_none()),
            ("half_size", self.half_size.is_none()),
            ("half_size_key", self.half_size_key.is_none()),
            ("divisible", self.divisible.is_none()),
        ];
        missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name)
    }
}
