//! All tables.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use axum::response::Response;
use halite_heat::Shape;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{FamilyDescriptor, RegionLoad, TableDescriptor, TableName, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use crate::call::Call;
use crate::gate::{Deadline, Weight};
use crate::params::Params;
use crate::problem::{Answered, Problem};
use crate::samples::Rates;
use crate::site::Site;
use crate::statistics::{Balance, all_latencies, float, p99_ms, round};
use crate::status::Status;
use crate::table_load::{Thumb, ThumbSize};

/// Tables whose shapes are determined for a list that is sorted or filtered by them: those with the
/// most requests per second.
const MAX_SHAPES: usize = 1000;
/// Tables up to which all shapes are determined, so that those with findings are counted.
const FEW_TABLES: usize = 200;

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
    /// Estimate.
    pub(crate) rows: Option<u64>,
    /// Bytes of store files and memstores.
    pub(crate) size_bytes: u64,
    pub(crate) store_files: u64,
    pub(crate) memstore_bytes: u64,
    pub(crate) requests_total: u64,
    pub(crate) reads_per_s: Option<f64>,
    pub(crate) writes_per_s: Option<f64>,
    /// Duration below which 99 in a hundred reads and writes of the last minute are.
    pub(crate) p99_ms: Option<f64>,
    /// Maximum load of a region divided by the mean, at the 99th percentile of the windows of ten
    /// seconds of the last ten minutes.
    pub(crate) skew_window_p99: Option<f64>,
    /// Maximum requests of a region divided by the mean, over the whole time since they were
    /// opened.
    pub(crate) skew_static: Option<f64>,
    /// Number of equally loaded regions that would be as uneven as now.
    pub(crate) effective_regions: Option<f64>,
    /// Shape of the load of the last ten minutes, as in the diagnosis.
    pub(crate) shape: Option<&'static str>,
    /// `ok`, `info`, `warn` or `bad`.
    pub(crate) severity: Option<&'static str>,
    /// Longest lifetime of cells in seconds; `null` if a family has no limit.
    pub(crate) ttl_s: Option<i64>,
    /// Codec of the first family.
    pub(crate) compression: Option<String>,
    /// Picture of the load of the last six hours, if it was asked.
    pub(crate) thumb: Option<Thumb>,
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
        ("thumb" = Option<String>, Query, description = "Size of the pictures: WxH, at most 256x256"),
        ("as_of" = Option<u64>, Query, description = "Time of the list of which this is a part"),
    ),
    responses(
        (status = 200, body = TablesAnswer),
        (status = 400, body = Problem),
        (status = 409, body = Problem, description = "The list of as_of is no longer kept"),
    )
)]
pub(crate) async fn tables(call: Call) -> Response {
    // Thumbnails are drawn as a heat map is.
    let has_thumbs = call.params.get("thumb").is_some_and(|size| !size.is_empty());
    let weight = if has_thumbs { Weight::Heavy } else { Weight::Light };
    call.json(weight, answer).await
}

fn answer(call: &Call, deadline: Deadline) -> Answered<TablesAnswer> {
    let (site, params) = (&*call.site, &call.params);
    let show = params.word("show", &["all", "bad", "system"])?;
    let compare = sort_of(params)?;
    let thumb = thumb_of(params)?;
    let offset = params.number("offset", 0..=usize::MAX, 0)?;
    let limit = params.number("limit", 1..=1000, 1000)?;
    let status = status_of(site, params)?;
    let search = params.get("q").unwrap_or_default().to_ascii_lowercase();
    let descriptors = block_on(site.admin().list_tables())?;
    deadline.check()?;
    let of_kind = |table: &&TableDescriptorRef| is_system(table) == (show == "system");
    let found = descriptors.iter().filter(of_kind);
    let mut tables: Vec<TableRow> = found.map(|table| row(table, &status)).collect();
    let needs_shapes = show == "bad" || !search.is_empty() || sorts_by_shape(params);
    let system = descriptors.iter().filter(|table| is_system(table)).count();
    let mut counts = BTreeMap::from([("all", descriptors.len() - system), ("system", system)]);
    if needs_shapes || tables.len() <= FEW_TABLES {
        add_shapes_of_most_loaded(site, &mut tables, deadline)?;
        if show != "system" {
            counts.insert("bad", tables.iter().filter(|row| is_bad(row)).count());
        }
    }
    let matches = |row: &TableRow| {
        row.name.to_ascii_lowercase().contains(&search)
            || row.shape.is_some_and(|shape| shape.replace('_', " ").contains(&search))
    };
    tables.retain(|row| (show != "bad" || is_bad(row)) && matches(row));
    let total = tables.len();
    tables.sort_by(|a, b| compare(a, b).then_with(|| a.name.cmp(&b.name)));
    let mut tables: Vec<TableRow> = tables.into_iter().skip(offset).take(limit).collect();
    for row in &mut tables {
        deadline.check()?;
        complete(site, row, thumb);
    }
    Ok(TablesAnswer {
        as_of: status.as_of,
        missing: missing(&tables, thumb.is_some()),
        total,
        offset,
        counts,
        tables,
    })
}

type TableDescriptorRef = std::sync::Arc<TableDescriptor>;

fn thumb_of(params: &Params) -> Answered<Option<ThumbSize>> {
    let Some(text) = params.get("thumb").filter(|text| !text.is_empty()) else { return Ok(None) };
    let size = ThumbSize::of(text);
    let wrong = || {
        let text = crate::params::short(text);
        Problem::field("thumb", format!("thumb is a size such as 104x20, not {text:?}"))
    };
    size.map(Some).ok_or_else(wrong)
}

fn sorts_by_shape(params: &Params) -> bool {
    let sort = params.get("sort").unwrap_or_default();
    matches!(sort.trim_start_matches('-'), "shape" | "severity" | "skew_window_p99")
}

/// Adds the shapes of the tables with the most requests, all of which are in the list.
fn add_shapes_of_most_loaded(
    site: &Site,
    tables: &mut [TableRow],
    deadline: Deadline,
) -> Answered<()> {
    let rate = |row: &TableRow| row.reads_per_s.unwrap_or(0.0) + row.writes_per_s.unwrap_or(0.0);
    let mut loaded: Vec<&mut TableRow> =
        tables.iter_mut().filter(|row| row.requests_total > 0).collect();
    loaded.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    for row in loaded.into_iter().take(MAX_SHAPES) {
        deadline.check()?;
        complete(site, row, None);
    }
    Ok(())
}

/// Adds what is known of the load of a table.
pub(crate) fn complete(site: &Site, row: &mut TableRow, thumb: Option<ThumbSize>) {
    let Ok(name) = row.name.parse::<TableName>() else { return };
    let (loads, extension) = (&site.table_loads, site.extension());
    let known = loads.shape(extension, &name);
    row.shape = known.shape.map(Shape::name);
    row.severity = known.shape.map(super::diagnosis::severity);
    row.skew_window_p99 = known.window_skew;
    row.thumb = thumb.and_then(|size| loads.thumb(extension, &name, size));
}

fn is_bad(row: &TableRow) -> bool {
    matches!(row.severity, Some("bad" | "warn"))
}

/// Returns the metrics that no table of a list has.
pub(crate) fn missing(tables: &[TableRow], has_thumbs: bool) -> Vec<&'static str> {
    let unknown = |is_known: fn(&TableRow) -> bool| !tables.iter().any(is_known);
    let missing = [
        ("rows", unknown(|row| row.rows.is_some())),
        ("p99_ms", unknown(|row| row.p99_ms.is_some())),
        ("skew_window_p99", unknown(|row| row.skew_window_p99.is_some())),
        ("shape", unknown(|row| row.shape.is_some())),
        ("severity", unknown(|row| row.severity.is_some())),
        ("thumb", has_thumbs && unknown(|row| row.thumb.is_some())),
    ];
    missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name).collect()
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
        "rows" => |row| row.rows.map_or(-1.0, float),
        "p99_ms" => |row| row.p99_ms.unwrap_or(-1.0),
        "skew_window_p99" => |row| row.skew_window_p99.unwrap_or(-1.0),
        // The worst are the greatest; equal ones keep the order of their names.
        "shape" | "severity" => severity_rank,
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

fn severity_rank(row: &TableRow) -> f64 {
    match row.severity {
        Some("bad") => 4.0,
        Some("warn") => 3.0,
        Some("info") => 2.0,
        Some(_) => 1.0,
        None => 0.0,
    }
}

/// Returns the statistics of a table, without those of [`complete`].
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
        rows: loads.iter().map(|load| load.rows).sum(),
        size_bytes: sum(|load| load.store_file_bytes + load.memstore_data_bytes),
        store_files: sum(|load| load.store_files),
        memstore_bytes: sum(|load| load.memstore_data_bytes),
        requests_total: sum(|load| load.read_requests + load.write_requests),
        reads_per_s: rate(Rates::reads_per_s),
        writes_per_s: rate(Rates::writes_per_s),
        p99_ms: p99_ms(&all_latencies(loads)),
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
