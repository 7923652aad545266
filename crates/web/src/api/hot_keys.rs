//! Rows with the most requests.

use axum::response::Response;
use halite_heat::HotRow;
use serde::Serialize;
use utoipa::ToSchema;

use crate::call::Call;
use crate::gate::Weight;
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::problem::{Answered, Problem};
use crate::statistics::{float, round, share};

/// Operations of a busy region of which one is counted; a quiet region counts all.
pub(crate) const SAMPLED: &str = "1/16";
/// Rows that are counted in each region.
const COUNTERS: usize = 64;
/// Longest window, in seconds: frequent rows are kept for so long.
const MAX_WINDOW_S: i64 = 600;

/// Frequent rows.
#[derive(Serialize, ToSchema)]
pub(crate) struct HotKeysAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    rows: Vec<HotKey>,
    sampled: &'static str,
    counters: usize,
    /// Operations in the window.
    operations: u64,
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
    clients: Vec<String>,
    first_seen: i64,
    last_seen: i64,
    server: Option<String>,
}

/// Rows with the most requests.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/hot-keys",
    tag = "load",
    params(
        ("t" = String, Path),
        ("of" = Option<String>, Query, description = "rows"),
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
    if params.word("of", &["rows", "prefix"])? == "prefix" {
        let text = "the load is recorded by rows, not by the values of a field";
        return Err(Problem::missing_source(text).of("of"));
    }
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
    let style = KeyStyle::of(params, declared)?;
    let to = i64::try_from(now).unwrap_or(i64::MAX);
    let span = (to.saturating_sub(window_s * 1000), to);
    let (rows, operations) = call.site.extension().hot_rows(table.name(), span)?;
    let is_wanted = |row: &&HotRow| match op {
        "writes" => row.writes * 2 > row.count,
        "reads" => row.writes * 2 <= row.count,
        _ => true,
    };
    let found = rows.iter().filter(is_wanted).take(limit).enumerate();
    let rows = found.map(|(at, row)| {
        let (per_s, error) = rates(row, span);
        HotKey {
            rank: at + 1,
            key: style.key(&row.row),
            per_s,
            error,
            share: share(float(row.count), float(operations)),
            bytes_per_s: Some(per_second(row.bytes, span)),
            clients: Vec::new(),
            first_seen: row.first_seen_ms,
            last_seen: row.last_seen_ms,
            server: None,
        }
    });
    let rows = rows.collect();
    let missing = vec!["clients", "server"];
    Ok(HotKeysAnswer {
        as_of: now,
        missing,
        rows,
        sampled: SAMPLED,
        counters: COUNTERS,
        operations,
    })
}

/// Returns the operations per second of a row, and their error.
pub(crate) fn rates(row: &HotRow, span_ms: (i64, i64)) -> (f64, f64) {
    (per_second(row.count, span_ms), per_second(row.error, span_ms))
}

fn per_second(amount: u64, (from_ms, to_ms): (i64, i64)) -> f64 {
    let milliseconds = u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or(0).max(1);
    round(float(amount) * 1000.0 / float(milliseconds))
}
