//! Load of a table by key range and time.

use axum::response::Response;
use halite_heat::{BASE_MS, HeatMap, HeatQuery, MAX_BUCKETS, MAX_COLUMNS, Metric};
use halite_rowkey::{KeyBuf, KeySchema};
use halite_types::RegionInfo;
use halite_types::key::successor_of_prefix;
use serde::Serialize;
use utoipa::ToSchema;

use super::activity::events_of;
use super::causes::{CellCauses, ClientShare, StatementShare};
use super::cell_keys::CellKeys;
use super::heat_answer::{HeatAnswer, HeatParts, HeatRegion, HeatRow, span_of};
use super::heat_pivot::Pivot;
use super::heat_sizes::add_sizes;
use crate::call::{Call, Document};
use crate::gate::{Deadline, Weight};
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::params::Params;
use crate::problem::{Answered, Problem};
use crate::site::KnownTable;

/// Content type of the binary form.
pub(crate) const BINARY: &str = "application/vnd.halite.heat";
/// Maximum number of salts whose parts are added.
const MAX_SALTS: u32 = 1024;
/// Longest column of which frequent rows are asked.
const MAX_CELL_MS: i64 = 4 * 3_600_000;
/// Regions whose boundaries are listed. More would not be seen.
const MAX_REGIONS: usize = 2000;

/// Load by key range and time.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/heat",
    tag = "load",
    params(
        ("t" = String, Path),
        ("from" = Option<i64>, Query, description = "Begin; 10 minutes before the end"),
        ("to" = Option<i64>, Query, description = "End; now"),
        ("metric" = Option<String>, Query,
            description = "writes, reads, deletes, examined, bytes, bytes_read, bytes_written"),
        ("order" = Option<String>, Query,
            description = "physical; unsalted: the parts of a declared salt are added; \
                           pivot:FIELD: one row for each value of a field of the declared key"),
        ("k0" = Option<String>, Query, description = "First key, hexadecimal"),
        ("k1" = Option<String>, Query, description = "End of the keys, hexadecimal"),
        ("rows" = Option<usize>, Query, description = "Maximum rows, 1024"),
        ("cols" = Option<usize>, Query, description = "Maximum columns, 1024"),
    ),
    responses(
        (status = 200, body = HeatAnswer),
        (status = 400, body = Problem),
        (status = 501, body = Problem, description = "Not recorded here"),
    )
)]
pub(crate) async fn heat(call: Call) -> Response {
    if !call.accepts(BINARY) {
        return call
            .json(Weight::Heavy, |call, deadline| {
                answer(call, true, deadline).map(|(answer, _)| answer)
            })
            .await;
    }
    call.document(Weight::Heavy, |call, deadline| {
        let (answer, map) = answer(call, false, deadline)?;
        binary(&answer, &map)
    })
    .await
}

/// Returns the binary form: length of the header (u32, little-endian), header, zeros up to a
/// multiple of 8, means and maxima (f32, little-endian), row by row.
fn binary(answer: &HeatAnswer, map: &HeatMap) -> Answered<Document> {
    let header = serde_json::to_vec(answer).map_err(|_| Problem::defect())?;
    let length = u32::try_from(header.len()).map_err(|_| Problem::defect())?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    for value in map.mean.iter().chain(&map.max) {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    Ok(Document { content_type: BINARY, file_name: None, bytes })
}

/// Request for a map.
#[derive(Clone)]
struct Asked {
    query: HeatQuery,
    metrics: Vec<Metric>,
    metric: String,
    order: Order,
}

/// Order of the rows of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// That of the keys.
    Physical,
    /// That of the keys without their salts, whose parts are added.
    Unsalted,
    /// One row for each value of a field.
    Pivot(String),
}

impl Order {
    pub(crate) fn of(params: &Params) -> Answered<Self> {
        match params.get("order").filter(|order| !order.is_empty()).unwrap_or("physical") {
            "physical" => Ok(Self::Physical),
            "unsalted" => Ok(Self::Unsalted),
            order => {
                let field = order.strip_prefix("pivot:").map(str::to_owned);
                field.map(Self::Pivot).ok_or_else(|| {
                    let order = crate::params::short(order);
                    let text = format!("order is physical, unsalted or pivot:FIELD, not {order:?}");
                    Problem::field("order", text)
                })
            }
        }
    }
}

/// Range of keys.
pub(crate) struct KeyRange {
    pub(super) start: Box<[u8]>,
    /// `None` for all after the start.
    pub(super) end: Option<Box<[u8]>>,
}

impl KeyRange {
    /// Reads `k0` and `k1`.
    pub(crate) fn of(params: &Params) -> Answered<Self> {
        let key = |name: &'static str| -> Answered<Option<Box<[u8]>>> {
            match params.get(name) {
                None | Some("") => Ok(None),
                Some(_) => params.hex(name).map(|key| Some(key.as_ref().into())),
            }
        };
        let (start, end) = (key("k0")?.unwrap_or_default(), key("k1")?);
        if end.as_ref().is_some_and(|end| *end <= start) {
            return Err(Problem::field("k1", "k1 is not after k0"));
        }
        Ok(Self { start, end })
    }

    pub(crate) fn contains(&self, row: &[u8]) -> bool {
        *row >= *self.start && self.end.as_ref().is_none_or(|end| *row < **end)
    }
}

impl Asked {
    fn of(params: &Params, now: i64) -> Answered<Self> {
        let to_ms = params.optional_number("to")?.unwrap_or(now);
        let from_ms = params.optional_number("from")?;
        let from_ms = from_ms.unwrap_or_else(|| now.min(to_ms).saturating_sub(60 * BASE_MS));
        if from_ms >= to_ms {
            return Err(Problem::field("from", "from is not before to"));
        }
        let (metric, metrics) = metrics_of(params)?;
        let order = Order::of(params)?;
        let KeyRange { start, end } = KeyRange::of(params)?;
        let query = HeatQuery {
            from_ms,
            to_ms,
            metric: metrics[0],
            start,
            end,
            max_rows: params.number("rows", 1..=MAX_BUCKETS, 256)?,
            max_columns: params.number("cols", 1..=MAX_COLUMNS, 512)?,
        };
        Ok(Self { query, metrics, metric: metric.to_owned(), order })
    }
}

/// Returns the asked metric, and those that it is the sum of.
fn metrics_of(params: &Params) -> Answered<(&str, Vec<Metric>)> {
    let metric = params.get("metric").unwrap_or("writes");
    let metrics = match metric {
        "examined" => vec![Metric::RowsExamined],
        "bytes" => vec![Metric::BytesRead, Metric::BytesWritten],
        "p99" | "errors" | "memstore" => {
            let text = format!("{metric} is not recorded by key range");
            return Err(Problem::missing_source(text).of("metric"));
        }
        name => Metric::from_name(name).map(|metric| vec![metric]).ok_or_else(|| {
            let names = "writes, reads, deletes, examined, bytes, bytes_read, bytes_written";
            let name = crate::params::short(name);
            Problem::field("metric", format!("metric is one of {names}, not {name:?}"))
        })?,
    };
    Ok((metric, metrics))
}

fn answer(call: &Call, has_cells: bool, deadline: Deadline) -> Answered<(HeatAnswer, HeatMap)> {
    let now = call.site.extension().now_ms();
    let now_ms = i64::try_from(now).unwrap_or(i64::MAX);
    let asked = Asked::of(&call.params, now_ms)?;
    let table = call.table()?;
    if !call.site.config.shows_rows {
        check_bounds(call, &table, &asked)?;
    }
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &table.descriptor);
    let style = KeyStyle::of(&call.params, declared.clone())?;
    let Drawn { map, row, regions, missing } =
        drawn(call, &table, &asked, &style, declared.as_ref())?;
    deadline.check()?;
    let span = span_of(&map);
    let answer = HeatAnswer::new(
        &map,
        HeatParts {
            as_of: now,
            missing,
            metric: asked.metric,
            regions: marks(call, &map, &regions),
            row,
            events: events_of(call, table.name(), span),
            next_column_at: Some(now_ms - now_ms.rem_euclid(BASE_MS) + BASE_MS),
            operations: None,
        },
    );
    let answer = if has_cells { answer.with_cells(&map) } else { answer };
    Ok((answer, map))
}

/// Rejects a range of keys that is no range of regions: the load on both sides of any other key
/// tells where rows are, and a few hundred requests would find one.
fn check_bounds(call: &Call, table: &KnownTable, asked: &Asked) -> Answered<()> {
    let (start, end) = (&asked.query.start, &asked.query.end);
    if start.is_empty() && end.is_none() {
        return Ok(());
    }
    let regions = shown_regions(table, start, end.as_deref())?;
    let is_start = regions.first().is_some_and(|region| region.start == **start);
    let is_end = end.as_ref().is_none_or(|end| {
        regions.last().is_some_and(|region| !region.end.is_empty() && region.end == **end)
    });
    if asked.order == Order::Physical && is_start && is_end {
        return Ok(());
    }
    call.check_rows().map_err(|problem| problem.of(if is_start { "k1" } else { "k0" }))
}

/// Map with its rows.
struct Drawn {
    map: HeatMap,
    row: Vec<HeatRow>,
    /// Regions whose boundaries are rows of the map.
    regions: Vec<RegionInfo>,
    missing: Vec<&'static str>,
}

fn drawn(
    call: &Call,
    table: &KnownTable,
    asked: &Asked,
    style: &KeyStyle,
    declared: Option<&DeclaredKey>,
) -> Answered<Drawn> {
    let physical = |asked: &Asked| {
        let maps = draw(call, table, asked, std::slice::from_ref(&asked.query))?;
        maps.into_iter().next().ok_or_else(Problem::defect)
    };
    let missing = vec!["rows_est", "bytes"];
    match &asked.order {
        Order::Unsalted => {
            let mut map = unsalted(call, table, asked, &declared.ok_or_else(no_salt)?.schema)?;
            if !call.site.config.shows_rows {
                hide_rows(&mut map, &[]);
            }
            let row = rows(&map, asked, style, &[]);
            Ok(Drawn { map, row, regions: Vec::new(), missing })
        }
        Order::Pivot(field) => {
            call.check_rows()?;
            let pivot = Pivot::of(declared, field)?;
            let mut whole = asked.clone();
            whole.query.max_rows = MAX_BUCKETS;
            let map = physical(&whole)?;
            let (map, row) = pivot.rows(call, table, &map, (&asked.query, &asked.metrics));
            Ok(Drawn { map, row, regions: Vec::new(), missing })
        }
        Order::Physical => {
            let mut map = physical(asked)?;
            let end = asked.query.end.as_deref();
            let regions = shown_regions(table, &asked.query.start, end)?;
            if !call.site.config.shows_rows {
                hide_rows(&mut map, &regions);
            }
            let mut row = rows(&map, asked, style, &regions);
            let missing = add_sizes(call, table, &map, &asked.query, &mut row)?;
            Ok(Drawn { map, row, regions, missing })
        }
    }
}

/// Replaces bounds that are parts of rows by the start of their region, which is no secret.
fn hide_rows(map: &mut HeatMap, regions: &[RegionInfo]) {
    for bound in &mut map.bounds {
        let region = regions.partition_point(|region| *region.start <= **bound).checked_sub(1);
        let start = region.and_then(|region| regions.get(region)).map(|region| &region.start[..]);
        *bound = start.unwrap_or_default().into();
    }
}

fn no_salt() -> Problem {
    Problem::field("order", "the table declares no salt")
        .detail("use order=physical, or declare the row key with halite key")
}

/// Draws parts of the load as of one moment, with the sum of the asked metrics.
fn draw(
    call: &Call,
    table: &KnownTable,
    asked: &Asked,
    parts: &[HeatQuery],
) -> Answered<Vec<HeatMap>> {
    let of_part = |part: &HeatQuery| {
        let part = part.clone();
        asked.metrics.iter().map(move |metric| HeatQuery { metric: *metric, ..part.clone() })
    };
    let queries: Vec<HeatQuery> = parts.iter().flat_map(of_part).collect();
    let maps = call.site.extension().heat_maps(table.name(), &queries)?;
    let sums = maps.chunks(asked.metrics.len()).map(|maps| match maps {
        [map] => map.clone(),
        maps => HeatMap::sum(maps, asked.query.max_rows),
    });
    Ok(sums.collect())
}

/// Draws the parts of each salt and adds them, key by key without the salt.
fn unsalted(
    call: &Call,
    table: &KnownTable,
    asked: &Asked,
    schema: &KeySchema,
) -> Answered<HeatMap> {
    let count = schema.salt_count(0).ok_or_else(no_salt)?;
    if count > MAX_SALTS {
        let text = format!("the table has {count} salts, and at most {MAX_SALTS} are added");
        return Err(Problem::field("order", text));
    }
    let mut prefixes: Vec<Vec<u8>> = Vec::new();
    for salt in 0..count {
        let mut prefix = KeyBuf::default();
        schema.encode_salt(0, salt, &mut prefix).map_err(|_| no_salt())?;
        prefixes.push(prefix.to_vec());
    }
    let part = |prefix: &Vec<u8>| HeatQuery {
        start: [prefix, &asked.query.start[..]].concat().into(),
        end: match &asked.query.end {
            Some(end) => Some([prefix, &end[..]].concat().into()),
            None => successor_of_prefix(prefix).map(Vec::into_boxed_slice),
        },
        max_rows: MAX_BUCKETS,
        ..asked.query.clone()
    };
    let parts: Vec<HeatQuery> = prefixes.iter().map(part).collect();
    let mut maps = draw(call, table, asked, &parts)?;
    for (map, prefix) in maps.iter_mut().zip(&prefixes) {
        for bound in &mut map.bounds {
            *bound = bound.get(prefix.len()..).unwrap_or_default().into();
        }
    }
    Ok(HeatMap::sum(&maps, asked.query.max_rows))
}

/// Regions of the shown keys, in key order.
fn shown_regions(
    table: &KnownTable,
    start: &[u8],
    end: Option<&[u8]>,
) -> Answered<Vec<RegionInfo>> {
    let mut regions = halite_types::block_on(table.table.regions())?;
    regions.retain(|region| {
        let begins_before_end = end.is_none_or(|end| *region.start < *end);
        begins_before_end && (region.end.is_empty() || *region.end > *start)
    });
    Ok(regions)
}

fn rows(map: &HeatMap, asked: &Asked, style: &KeyStyle, regions: &[RegionInfo]) -> Vec<HeatRow> {
    let last = asked.query.end.as_deref().unwrap_or_default();
    let ends = map.bounds.iter().skip(1).map(|bound| &**bound).chain([last]);
    let key = |bound: &[u8]| match asked.order {
        Order::Unsalted => style.unsalted_boundary(bound),
        _ => style.boundary(bound),
    };
    let mut region = 0;
    map.bounds
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            while regions.get(region + 1).is_some_and(|next| *next.start <= **start) {
                region += 1;
            }
            HeatRow {
                start: key(start),
                end: key(end),
                region: regions.get(region).map(|region| region.encoded_name.clone()),
                ..HeatRow::default()
            }
        })
        .collect()
}

/// Returns the places at which regions begin.
fn marks(call: &Call, map: &HeatMap, regions: &[RegionInfo]) -> Vec<HeatRegion> {
    let regions = regions.iter().take(MAX_REGIONS);
    regions
        .map(|region| {
            let row = map.bounds.partition_point(|bound| **bound <= *region.start);
            HeatRegion {
                encoded_name: region.encoded_name.clone(),
                row: row.saturating_sub(1),
                since: i64::try_from(region.region_id).unwrap_or(0),
                server: call.site.extension().server_of(region),
            }
        })
        .collect()
}

/// What happened in a range of keys at one time.
#[derive(Serialize, ToSchema)]
pub(crate) struct CellAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    top_rows: Vec<TopRow>,
    /// Callers, by their shares in the sampled operations.
    clients: Vec<ClientShare>,
    /// Kinds of calls, by their shares in the sampled operations.
    statements: Vec<StatementShare>,
    /// Sampled operations that the shares are computed from; `null` if none are logged.
    operations: Option<usize>,
    /// Operations of which one is counted.
    sampled: String,
    regions: Vec<String>,
    p99_ms: Option<f64>,
}

/// Frequent row.
#[derive(Serialize, ToSchema)]
pub(crate) struct TopRow {
    key: Key,
    per_s: f64,
    /// The rate is at least `per_s - error`.
    error: f64,
}

/// Rows with the most requests in a range of keys at one time.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/heat/cell",
    tag = "load",
    params(
        ("t" = String, Path),
        ("at" = i64, Query, description = "A time in the column"),
        ("dt_ms" = Option<i64>, Query, description = "Length of the column, 10,000"),
        ("k0" = Option<String>, Query, description = "First key, hexadecimal"),
        ("k1" = Option<String>, Query, description = "End of the keys, hexadecimal"),
        ("metric" = Option<String>, Query,
            description = "As of the map: clients and statements are those of its reads or writes; \
                           of both without it"),
        ("order" = Option<String>, Query, description = "As of the map"),
        ("value" = Option<String>, Query, description = "Value of the field of a pivot"),
    ),
    responses((status = 200, body = CellAnswer), (status = 501, body = Problem))
)]
pub(crate) async fn heat_cell(call: Call) -> Response {
    call.json(Weight::Heavy, cell_answer).await
}

/// Returns `true` for metrics of reads, `false` for those of writes, and `None` for both.
fn kind_of(metrics: &[Metric]) -> Option<bool> {
    let is_read = |metric: &Metric| {
        matches!(metric, Metric::Reads | Metric::RowsExamined | Metric::BytesRead)
    };
    let reads = metrics.iter().filter(|metric| is_read(metric)).count();
    (reads == 0 || reads == metrics.len()).then_some(reads > 0)
}

fn cell_answer(call: &Call, _: Deadline) -> Answered<CellAnswer> {
    /// Rows of an answer.
    const MAX_ROWS: usize = 5;
    let now = call.site.extension().now_ms();
    let at: i64 = call
        .params
        .optional_number("at")?
        .ok_or_else(|| Problem::field("at", "give at, a time in milliseconds since 1970"))?;
    let dt_ms = call.params.number("dt_ms", BASE_MS..=MAX_CELL_MS, BASE_MS)?;
    call.check_rows()?;
    let table = call.table()?;
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &table.descriptor);
    let keys = CellKeys::of(&call.params, declared.as_ref())?;
    let style = KeyStyle::of(&call.params, declared)?;
    let from = at.saturating_sub(at.rem_euclid(BASE_MS));
    let span = (from, from.saturating_add(dt_ms));
    let (rows, _) = call.site.extension().hot_rows(table.name(), span)?;
    let top_rows = rows.iter().filter(|row| keys.contains(&row.row)).take(MAX_ROWS).map(|row| {
        let (per_s, error) = super::hot_keys::rates(row, span);
        TopRow { key: style.key(&row.row), per_s, error }
    });
    let is_read = match call.params.get("metric") {
        None => None,
        Some(_) => kind_of(&metrics_of(&call.params)?.1),
    };
    let causes =
        CellCauses::of(call, table.name(), (span, is_read), |logged| keys.has_call(logged));
    Ok(CellAnswer {
        as_of: now,
        missing: if causes.operations.is_some() {
            vec!["p99_ms"]
        } else {
            vec!["clients", "statements", "p99_ms"]
        },
        top_rows: top_rows.collect(),
        clients: causes.clients,
        statements: causes.statements,
        operations: causes.operations,
        sampled: causes.sampled.unwrap_or_else(|| super::hot_keys::SAMPLED.to_owned()),
        regions: match keys.range() {
            Some(range) => shown_regions(&table, &range.start, range.end.as_deref())?
                .into_iter()
                .take(MAX_ROWS)
                .map(|region| region.encoded_name)
                .collect(),
            None => Vec::new(),
        },
        p99_ms: None,
    })
}
