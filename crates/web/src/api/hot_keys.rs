//! Rows, or beginnings of rows, with the most requests.

use axum::response::Response;
use halite_heat::{HotRow, PrefixLevel};
use serde::Serialize;
use utoipa::ToSchema;

use super::key_clients::KeyClients;
use crate::call::Call;
use crate::gate::Weight;
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::params::Params;
use crate::problem::{Answered, Problem};
use crate::statistics::{float, round, share};

/// Operations of a busy region of which one is counted; a quiet region counts all.
pub(crate) const SAMPLED: &str = "1/16";
/// Rows that are counted in each busy region, and prefixes of each length.
const ROW_COUNTERS: usize = 64;
const PREFIX_COUNTERS: usize = 32;
/// Longest window, in seconds: frequent rows are kept for so long.
const MAX_WINDOW_S: i64 = 600;

/// Frequent rows.
#[derive(Serialize, ToSchema)]
pub(crate) struct HotKeysAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    rows: Vec<HotKey>,
    /// Of prefixes: their length, and the lengths that are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<PrefixLength>,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<PrefixLength>>,
    sampled: &'static str,
    counters: usize,
    /// Operations in the window.
    operations: u64,
}

/// Length of prefixes: up to a field of the declared key, or a number of bytes.
#[derive(Serialize, ToSchema)]
pub(crate) struct PrefixLength {
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u16>,
}

impl PrefixLength {
    fn of(level: PrefixLevel, declared: Option<&DeclaredKey>) -> Self {
        match level {
            PrefixLevel::Bytes(bytes) => Self { field: None, bytes: Some(bytes) },
            PrefixLevel::Fields(count) => {
                let fields = declared.map(DeclaredKey::field_names).unwrap_or_default();
                let field = usize::from(count).checked_sub(1).and_then(|at| fields.get(at));
                Self { field: field.cloned(), bytes: None }
            }
        }
    }
}

/// Frequent row.
#[derive(Serialize, ToSchema)]
pub(crate) struct HotKey {
    rank: usize,
    key: Key,
    /// Upper bound of its operations per second.
    per_s: f64,
    /// The rate is at least `per_s - error`.
    error: f64,
    /// Share of all operations, at most.
    share: Option<f64>,
    bytes_per_s: Option<f64>,
    /// Addresses of up to three clients, from the sampled operations of the window; those of a scan
    /// count at its first row. Empty if none of them is on the row.
    clients: Vec<String>,
    first_seen: i64,
    last_seen: i64,
    /// Server of the region that has the row, or the first rows of the prefix.
    server: Option<String>,
}

/// Rows with the most requests.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/hot-keys",
    tag = "load",
    params(
        ("t" = String, Path),
        ("of" = Option<String>, Query, description = "rows, or prefix"),
        ("field" = Option<String>, Query,
            description = "Field of the declared key that the prefixes end with"),
        ("bytes" = Option<u16>, Query,
            description = "Bytes of the prefixes where no key is declared: 4, 8 or 16"),
        ("op" = Option<String>, Query, description = "all, reads or writes"),
        ("window" = Option<String>, Query, description = "1m, 5m or 10m"),
        ("limit" = Option<usize>, Query, description = "Maximum rows, 200"),
    ),
    responses((status = 200, body = HotKeysAnswer), (status = 501, body = Problem))
)]
pub(crate) async fn hot_keys(call: Call) -> Response {
    call.json(Weight::Heavy, |call, _| answer(call)).await
}

fn answer(call: &Call) -> Answered<HotKeysAnswer> {
    let params = &call.params;
    let of_prefixes = params.word("of", &["rows", "prefix"])? == "prefix";
    call.check_rows()?;
    let op = params.word("op", &["all", "reads", "writes"])?;
    let window_s = match params.word("window", &["1m", "10s", "5m", "10m"])? {
        "10s" => 10,
        "5m" => 300,
        "10m" => MAX_WINDOW_S,
        _ => 60,
    };
    let limit = params.number("limit", 1..=1000, 50)?;
    let now = call.site.extension().now_ms();
    let table = call.table()?;
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &table.descriptor);
    let style = KeyStyle::of(params, declared.clone())?;
    let to = i64::try_from(now).unwrap_or(i64::MAX);
    let span = (to.saturating_sub(window_s * 1000), to);
    let levels = if of_prefixes {
        call.site.extension().prefix_levels(table.name(), span)?
    } else {
        Vec::new()
    };
    let level = if of_prefixes { level_of(params, declared.as_ref(), &levels)? } else { None };
    let (rows, operations) = match level {
        Some(level) => call.site.extension().hot_prefixes(table.name(), level, span)?,
        None if of_prefixes => (Vec::new(), 0),
        None => call.site.extension().hot_rows(table.name(), span)?,
    };
    let is_wanted = |row: &&HotRow| match op {
        "writes" => row.writes * 2 > row.count,
        "reads" => row.writes * 2 <= row.count,
        _ => true,
    };
    let status = call.site.status()?;
    let (loads, _) = status.of_table(table.name());
    let server_of = |row: &[u8]| {
        let next = loads.partition_point(|load| *load.region.start <= *row);
        let load = next.checked_sub(1).and_then(|at| loads.get(at))?;
        call.site.extension().server_of(&load.region)
    };
    let found: Vec<HotRow> = rows.iter().filter(is_wanted).take(limit).cloned().collect();
    let clients = KeyClients::of(call, table.name(), span, &found, of_prefixes);
    let rows = found.iter().enumerate().map(|(at, row)| {
        let (per_s, error) = rates(row, span);
        HotKey {
            rank: at + 1,
            key: if of_prefixes { style.boundary(&row.row) } else { style.key(&row.row) },
            per_s,
            error,
            share: share(float(row.count), float(operations)),
            bytes_per_s: Some(per_second(row.bytes, span)),
            clients: clients.get(&row.row),
            first_seen: row.first_seen_ms,
            last_seen: row.last_seen_ms,
            server: server_of(&row.row),
        }
    });
    let rows: Vec<HotKey> = rows.collect();
    let mut missing = Vec::new();
    missing.extend((!clients.is_known()).then_some("clients"));
    missing.extend(rows.iter().any(|row| row.server.is_none()).then_some("server"));
    Ok(HotKeysAnswer {
        as_of: now,
        missing,
        rows,
        level: level.map(|level| PrefixLength::of(level, declared.as_ref())),
        levels: of_prefixes.then(|| {
            levels.iter().map(|level| PrefixLength::of(*level, declared.as_ref())).collect()
        }),
        sampled: SAMPLED,
        counters: if of_prefixes { PREFIX_COUNTERS } else { ROW_COUNTERS },
        operations,
    })
}

/// Returns the asked length of prefixes, or the shortest that is counted; `None` if none is.
fn level_of(
    params: &Params,
    declared: Option<&DeclaredKey>,
    counted: &[PrefixLevel],
) -> Answered<Option<PrefixLevel>> {
    let asked = if let Some(field) = params.get("field").filter(|field| !field.is_empty()) {
        let fields = declared.map(DeclaredKey::field_names).unwrap_or_default();
        let at = fields.iter().position(|name| name == field);
        let count = at.and_then(|at| u8::try_from(at + 1).ok());
        Some(PrefixLevel::Fields(count.ok_or_else(|| {
            let field = crate::params::short(field);
            Problem::field("field", format!("the table declares no key with a field {field:?}"))
        })?))
    } else {
        let bytes: Option<u16> = params.optional_number("bytes")?;
        bytes.map(PrefixLevel::Bytes)
    };
    match asked {
        None => Ok(counted.first().copied()),
        Some(level) if counted.is_empty() || counted.contains(&level) => Ok(Some(level)),
        Some(_) => {
            let field = if params.get("field").is_some() { "field" } else { "bytes" };
            let text = "prefixes of this length are not counted";
            Err(Problem::field(field, text).detail("those that are counted: levels of the answer"))
        }
    }
}

/// Returns the operations per second of a row, and their error.
pub(crate) fn rates(row: &HotRow, span_ms: (i64, i64)) -> (f64, f64) {
    (per_second(row.count, span_ms), per_second(row.error, span_ms))
}

fn per_second(amount: u64, (from_ms, to_ms): (i64, i64)) -> f64 {
    let milliseconds = u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or(0).max(1);
    round(float(amount) * 1000.0 / float(milliseconds))
}
