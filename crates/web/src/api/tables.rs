//! All tables.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use axum::response::Response;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{FamilyDescriptor, RegionLoad, TableDescriptor, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use crate::call::Call;
use crate::gate::Weight;
use crate::params::Params;
use crate::problem::{Answered, Problem};
use crate::samples::Rates;
use crate::site::Site;
use crate::statistics::{Balance, float, round};
use crate::status::Status;

/// Metrics of tables that nothing records here.
pub(crate) const MISSING: [&str; 6] =
    ["rows", "p99_ms", "skew_window_p99", "shape", "severity", "thumb"];

/// Tables.
#[derive(Serialize, ToSchema)]
pub(crate) struct TablesAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    /// Number of tables that match.
    total: usize,
    offset: usize,
    /// Number of tables of each value of `show`.
    counts: BTreeMap<&'static str, usize>,
    tables: Vec<TableRow>,
}

/// Table in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct TableRow {
    pub(crate) name: String,
    pub(crate) regions: usize,
    pub(crate) rows: Option<u64>,
    /// Bytes of store files and memstores.
    pub(crate) size_bytes: u64,
    pub(crate) store_files: u64,
    pub(crate) memstore_bytes: u64,
    pub(crate) requests_total: u64,
    pub(crate) reads_per_s: Option<f64>,
    pub(crate) writes_per_s: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    /// Maximum load of a region divided by the mean, at the 99th percentile of short windows.
    pub(crate) skew_window_p99: Option<f64>,
    /// Maximum requests of a region divided by the mean, over the whole time since they were
    /// opened.
    pub(crate) skew_static: Option<f64>,
    /// Number of equally loaded regions that would be as uneven as now.
    pub(crate) effective_regions: Option<f64>,
    pub(crate) shape: Option<String>,
    pub(crate) severity: Option<String>,
    /// Longest lifetime of cells in seconds; `null` if a family has no limit.
    pub(crate) ttl_s: Option<i64>,
    /// Codec of the first family.
    pub(crate) compression: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub(crate) thumb: Option<()>,
}

/// All tables.
#[utoipa::path(
    get,
    path = "/api/tables",
    tag = "tables",
    params(
        ("q" = Option<String>, Query, description = "Text in the name"),
        ("show" = Option<String>, Query, description = "all (without the system's), bad, system"),
        ("sort" = Option<String>, Query, description = "Figure to sort by; - before it for falling"),
        ("offset" = Option<usize>, Query), ("limit" = Option<usize>, Query),
        ("as_of" = Option<u64>, Query, description = "Time of the list of which this is a part"),
    ),
    responses(
        (status = 200, body = TablesAnswer),
        (status = 400, body = Problem),
        (status = 409, body = Problem, description = "The list of as_of is no longer kept"),
    )
)]
pub(crate) async fn tables(call: Call) -> Response {
    call.json(Weight::Light, |call, _| answer(&call.site, &call.params)).await
}

fn answer(site: &Site, params: &Params) -> Answered<TablesAnswer> {
    let show = params.word("show", &["all", "bad", "system"])?;
    let compare = sort_of(params)?;
    let offset = params.number("offset", 0..=usize::MAX, 0)?;
    let limit = params.number("limit", 1..=1000, 1000)?;
    let status = status_of(site, params)?;
    let search = params.get("q").unwrap_or_default().to_ascii_lowercase();
    let is_shown = |table: &TableDescriptor| match show {
        // The severity of a table's load is not known, so none is known to be bad.
        "bad" => false,
        show => is_system(table) == (show == "system"),
    };
    let matches = |table: &TableDescriptor| {
        is_shown(table) && table.name().to_string().to_ascii_lowercase().contains(&search)
    };
    let descriptors = block_on(site.admin().list_tables())?;
    let found = descriptors.iter().filter(|table| matches(table));
    let mut tables: Vec<TableRow> = found.map(|table| row(table, &status)).collect();
    let system = descriptors.iter().filter(|table| is_system(table)).count();
    tables.sort_by(|a, b| compare(a, b).then_with(|| a.name.cmp(&b.name)));
    Ok(TablesAnswer {
        as_of: status.as_of,
        missing: MISSING.to_vec(),
        total: tables.len(),
        offset,
        counts: [("all", descriptors.len() - system), ("bad", 0), ("system", system)].into(),
        tables: tables.into_iter().skip(offset).take(limit).collect(),
    })
}

fn is_system(table: &TableDescriptor) -> bool {
    table.name().namespace() == SYSTEM_NAMESPACE
}

/// Returns the status of `as_of`, or the present one.
pub(crate) fn status_of(site: &Site, params: &Params) -> Answered<std::sync::Arc<Status>> {
    let Some(as_of) = params.optional_number("as_of")? else { return site.status() };
    site.statuses.named(as_of).ok_or_else(|| {
        Problem::conflict("the list of that time is no longer kept")
            .of("as_of")
            .detail("ask again without as_of, and use the time of that answer")
    })
}

type Compare = Box<dyn Fn(&TableRow, &TableRow) -> Ordering>;

fn sort_of(params: &Params) -> Answered<Compare> {
    let text = params.get("sort").unwrap_or("name");
    let (name, falls) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
    let figure: fn(&TableRow) -> f64 = match name {
        "name" => |_| 0.0,
        "regions" => |row| crate::statistics::float_len(row.regions),
        "size_bytes" => |row| float(row.size_bytes),
        "store_files" => |row| float(row.store_files),
        "memstore_bytes" => |row| float(row.memstore_bytes),
        "requests_total" => |row| float(row.requests_total),
        "reads_per_s" => |row| row.reads_per_s.unwrap_or(-1.0),
        "writes_per_s" => |row| row.writes_per_s.unwrap_or(-1.0),
        "skew_static" => |row| row.skew_static.unwrap_or(-1.0),
        "effective_regions" => |row| row.effective_regions.unwrap_or(-1.0),
        // Not recorded here: the tables keep the order of their names.
        "rows" | "p99_ms" | "skew_window_p99" | "shape" | "severity" => |_| 0.0,
        other => {
            let other = crate::params::short(other);
            let text = format!("tables are not sorted by {other:?}, but by a figure of the answer");
            return Err(Problem::field("sort", text));
        }
    };
    let by_name = name == "name";
    Ok(Box::new(move |a, b| {
        let order = if by_name { a.name.cmp(&b.name) } else { figure(a).total_cmp(&figure(b)) };
        if falls { order.reverse() } else { order }
    }))
}

/// Returns the statistics of a table.
pub(crate) fn row(table: &TableDescriptor, status: &Status) -> TableRow {
    let name = table.name();
    // A family without a limit makes the longest lifetime unlimited.
    let lifetimes: Option<Vec<i64>> = table.families().map(FamilyDescriptor::ttl_ms).collect();
    let (loads, rates) = status.of_table(name);
    let sum = |part: fn(&RegionLoad) -> u64| loads.iter().map(part).sum::<u64>();
    let rate = |part: fn(Rates) -> Option<f64>| {
        let known: Vec<f64> = rates.iter().copied().filter_map(part).collect();
        (!known.is_empty()).then(|| round(known.iter().sum()))
    };
    let requests = |load: &RegionLoad| float(load.read_requests + load.write_requests);
    TableRow {
        name: name.to_string(),
        regions: loads.len(),
        rows: None,
        size_bytes: sum(|load| load.store_file_bytes + load.memstore_data_bytes),
        store_files: sum(|load| load.store_files),
        memstore_bytes: sum(|load| load.memstore_data_bytes),
        requests_total: sum(|load| load.read_requests + load.write_requests),
        reads_per_s: rate(Rates::reads_per_s),
        writes_per_s: rate(Rates::writes_per_s),
        p99_ms: None,
        skew_window_p99: None,
        skew_static: Balance::of(loads.iter().map(requests)).skew(),
        effective_regions: Balance::of(rates.iter().copied().filter_map(Rates::sum))
            .effective_parts(),
        shape: None,
        severity: None,
        ttl_s: lifetimes.and_then(|ms| ms.into_iter().max()).map(|ms| ms / 1000),
        compression: table.families().next().map(FamilyDescriptor::compression),
        thumb: None,
    }
}
