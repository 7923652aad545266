//! Splits, merges, moves, flushes and compactions. Each first tells what it would do; only a
//! request with `"dry_run": false` and the token does it, as a task.

use std::sync::Arc;

use axum::body::Bytes as Body;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use halite_types::key::{to_bytes_binary, to_string_binary};
use halite_types::{Bytes, CompactionKind, RegionInfo, RegionLoad, block_on};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::region_list::RegionList;
use crate::call::{Call, json_response, read_json};
use crate::extension::Extension;
use crate::gate::Weight;
use crate::params::{MAX_KEY_BYTES, short};
use crate::problem::{Answered, Problem};
use crate::region_load::InnerLoad;
use crate::site::Site;

/// Live servers that an error names, at most.
const MAX_NAMED_SERVERS: usize = 10;

/// Options of an action.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionRequest {
    /// `true`, the default, to learn what would be done; `false` to do it.
    #[serde(default = "yes")]
    dry_run: bool,
    /// Split: key with `\xNN` for a byte; the middle of the region unless given.
    split_key: Option<String>,
    /// Merge: encoded name of the other region.
    with: Option<String>,
    /// Move: server as `host,port,startcode`.
    server: Option<String>,
    /// Compaction: `true` to rewrite all files.
    #[serde(default)]
    major: bool,
}

fn yes() -> bool {
    true
}

/// What an action would do, or the task that does it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ActionAnswer {
    /// Answer to a dry run.
    Plan {
        as_of: u64,
        missing: Vec<&'static str>,
        would: Vec<Step>,
        /// The same as a statement of the shell.
        statement: String,
    },
    /// Answer to a request that does it.
    Started { task: u64 },
}

/// Step of an action.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Step {
    /// `close`, `open`, `flush`, `compact` or `move`.
    #[serde(rename = "do")]
    what: &'static str,
    /// Encoded name of the region.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    /// Number of regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    /// Bytes that are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Shares of the region's load of the last ten minutes in each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<[f64; 2]>,
    /// Reason why no split divides the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Store files that are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
}

/// Work of an action.
type Work = Box<dyn FnOnce(&Site) -> halite_types::Result<()> + Send>;

/// Action that was checked.
struct Action {
    would: Vec<Step>,
    missing: Vec<&'static str>,
    statement: String,
    description: String,
    run: Work,
}

/// Answers a request for an action that `check` makes of it.
async fn act(
    call: Call,
    body: Result<Body, BytesRejection>,
    check: impl FnOnce(&Call, &ActionRequest) -> Answered<Action> + Send + 'static,
) -> Response {
    act_as(Weight::Light, call, body, check).await
}

async fn act_as(
    weight: Weight,
    call: Call,
    body: Result<Body, BytesRejection>,
    check: impl FnOnce(&Call, &ActionRequest) -> Answered<Action> + Send + 'static,
) -> Response {
    let request: ActionRequest = match read_json(body) {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    if !request.dry_run
        && let Err(problem) = call.check_token()
    {
        return problem.into_response();
    }
    if request.dry_run {
        return call
            .json(weight, move |call, _| {
                let Action { would, missing, statement, .. } = check(call, &request)?;
                let as_of = call.site.extension().now_ms();
                Ok(ActionAnswer::Plan { as_of, missing, would, statement })
            })
            .await;
    }
    let site = Arc::clone(&call.site);
    let checked = call.clone();
    // A request whose check took too long starts nothing: its client was told so.
    let started = site.gate.run(weight, move |_| check(&checked, &request)).await;
    match started.and_then(|action| start(&site, action)) {
        Ok(task) => json_response(StatusCode::ACCEPTED, &ActionAnswer::Started { task }),
        Err(problem) => call.failed(problem),
    }
}

/// Starts an action on a thread of the caller's runtime and returns its number. Its priority is
/// that of the caller: the threads of requests have a lower one, with which a split would hold its
/// locks for long.
///
/// # Errors
/// `retry` if too many tasks are running.
fn start(site: &Arc<Site>, action: Action) -> Answered<u64> {
    let Action { statement, description, run, .. } = action;
    let id = site.tasks.add(description, site.extension().now_ms())?;
    tracing::info!(statement, "a request of the web page");
    let site = Arc::clone(site);
    tokio::task::spawn_blocking(move || {
        let done = std::panic::AssertUnwindSafe(|| run(&site));
        let result = match std::panic::catch_unwind(done) {
            Ok(result) => result.map_err(|error| error.message().to_owned()),
            Err(_) => Err("stopped by a defect of the program".to_owned()),
        };
        site.tasks.end(id, site.extension().now_ms(), result);
    });
    Ok(id)
}

/// Returns the region of the path.
fn region(call: &Call) -> Answered<(RegionList, usize, RegionLoad)> {
    let (list, _) = RegionList::of(call)?;
    let index = list.index_of(call.path("encoded"))?;
    let load = list.load(index).cloned().ok_or_else(Problem::defect)?;
    Ok((list, index, load))
}

/// Returns the server that a region on the server `current` is to be moved to.
fn destination(
    extension: &dyn Extension,
    current: Option<&str>,
    request: &ActionRequest,
) -> Answered<String> {
    let live = extension.servers();
    if let [only] = &live[..]
        && current.is_none_or(|current| current == only)
    {
        let text = "the cluster has one region server, so that a region has no other place";
        return Err(Problem::conflict(text).of("server"));
    }
    let server = request.server.as_deref().ok_or_else(|| {
        Problem::field("server", "give the server as host,port,startcode in \"server\"")
    })?;
    let is_name = server.len() <= 300 && server.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_name || server.contains(['\'', '"', '\\']) {
        return Err(Problem::field("server", "a server is host,port,startcode"));
    }
    if current == Some(server) {
        return Err(Problem::field("server", "the region is on this server already"));
    }
    // HBase moves a region to any server if it does not know the one that was given.
    if !live.is_empty() && !live.iter().any(|live| live == server) {
        let text = format!("{} is no live server", short(server));
        let live = live.iter().take(MAX_NAMED_SERVERS).cloned().collect::<Vec<_>>().join(" ");
        return Err(Problem::field("server", text).detail(format!("live servers: {live}")));
    }
    Ok(server.to_owned())
}

/// Returns a text for the shell; bytes that are no printable ASCII need double quotes there, in
/// which `#{` begins code.
fn quoted(bytes: &[u8]) -> String {
    let is_plain = bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && !b"'\\".contains(byte));
    let text = to_string_binary(bytes);
    if is_plain {
        format!("'{text}'")
    } else {
        format!("\"{}\"", text.replace('"', "\\x22").replace('#', "\\x23"))
    }
}

fn name_of(region: &RegionInfo) -> String {
    region.encoded_name.clone()
}

/// Splits a region.
#[utoipa::path(
    post,
    path = "/api/tables/{t}/regions/{encoded}/split",
    tag = "actions",
    params(("t" = String, Path), ("encoded" = String, Path)),
    request_body = ActionRequest,
    responses(
        (status = 200, body = ActionAnswer, description = "What would be done"),
        (status = 202, body = ActionAnswer, description = "Started"),
        (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem), (status = 404, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn split(call: Call, body: Result<Body, BytesRejection>) -> Response {
    // The load inside of the region is drawn as a heat map is.
    act_as(Weight::Heavy, call, body, |call, request| {
        let (_, _, load) = region(call)?;
        let info = load.region;
        let asked = request.split_key.as_deref().map(|key| split_key(key, &info)).transpose()?;
        let middle = call.site.extension().middle_row(&info.encoded_name);
        let key = match (&asked, middle) {
            (Some(key), _) => Some(key.clone()),
            (None, Ok(Some(key))) => Some(key),
            (None, Ok(None)) => {
                let text = "the region has no row at which it could be split";
                return Err(Problem::conflict(text).of("encoded"));
            }
            // The cluster chooses the row.
            (None, Err(_)) => None,
        };
        // The load on both sides of any key tells where rows are.
        let is_told = asked.is_none() || call.site.config.shows_rows;
        let inner = InnerLoad::of(call.site.extension(), &info.table, &info);
        let inner = inner.filter(|_| is_told);
        let load = inner.as_ref().zip(key.as_ref()).map(|(inner, key)| inner.divided_at(key));
        let why = inner.and_then(|inner| inner.half_load(|row| Some(row.clone())).indivisible);
        let text = why.map(|why| format!("a split will not divide the load: {why}"));
        let name = name_of(&info);
        // The middle of the region is a row that was not asked with.
        let shown = if call.site.config.shows_rows { &key } else { &asked };
        let at = shown.as_ref().map(|key| format!(", {}", quoted(key))).unwrap_or_default();
        Ok(Action {
            would: vec![
                Step { what: "close", region: Some(name.clone()), ..Step::default() },
                Step { what: "open", count: Some(2), load, text, ..Step::default() },
            ],
            missing: if load.is_none() { vec!["ms", "load"] } else { vec!["ms"] },
            statement: format!("split '{name}'{at}"),
            description: format!("Splitting region {}", info.display_name()),
            run: Box::new(move |site| block_on(site.admin().split_region(&name, asked))),
        })
    })
    .await
}

fn split_key(text: &str, region: &RegionInfo) -> Answered<Bytes> {
    let key = to_bytes_binary(text);
    if key.len() > MAX_KEY_BYTES {
        let text = format!("split_key has more than {MAX_KEY_BYTES} bytes");
        return Err(Problem::field("split_key", text));
    }
    if key.is_empty() || key == region.start || !region.contains(&key) {
        let text = format!("split_key {} is not inside of the region", short(text));
        return Err(Problem::field("split_key", text));
    }
    Ok(key.into())
}

/// Merges a region with its neighbour.
#[utoipa::path(
    post,
    path = "/api/tables/{t}/regions/{encoded}/merge",
    tag = "actions",
    params(("t" = String, Path), ("encoded" = String, Path)),
    request_body = ActionRequest,
    responses(
        (status = 200, body = ActionAnswer), (status = 202, body = ActionAnswer),
        (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem), (status = 404, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn merge(call: Call, body: Result<Body, BytesRejection>) -> Response {
    act(call, body, |call, request| {
        let (list, index, load) = region(call)?;
        let other = request.with.as_deref().ok_or_else(|| {
            Problem::field("with", "give the encoded name of the other region in \"with\"")
        })?;
        let other_index = list.index_of(other).map_err(|problem| problem.of("with"))?;
        if index.abs_diff(other_index) != 1 {
            return Err(Problem::field("with", "only neighbours are merged here"));
        }
        let (first, second) = (name_of(&load.region), other.to_owned());
        let close =
            |name: &str| Step { what: "close", region: Some(name.to_owned()), ..Step::default() };
        Ok(Action {
            would: vec![
                close(&first),
                close(&second),
                Step { what: "open", count: Some(1), ..Step::default() },
            ],
            missing: vec!["ms", "load"],
            statement: format!("merge_region '{first}', '{second}'"),
            description: format!("Merging regions {first} and {second}"),
            run: Box::new(move |site| block_on(site.admin().merge_regions(&first, &second, false))),
        })
    })
    .await
}

/// Moves a region to another server.
#[utoipa::path(
    post,
    path = "/api/tables/{t}/regions/{encoded}/move",
    tag = "actions",
    params(("t" = String, Path), ("encoded" = String, Path)),
    request_body = ActionRequest,
    responses(
        (status = 200, body = ActionAnswer), (status = 202, body = ActionAnswer),
        (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem), (status = 404, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn move_region(call: Call, body: Result<Body, BytesRejection>) -> Response {
    act(call, body, |call, request| {
        let (_, _, load) = region(call)?;
        let current = call.site.extension().server_of(&load.region);
        let server = destination(call.site.extension(), current.as_deref(), request)?;
        let name = name_of(&load.region);
        let from = current.map(|current| format!("from {current} ")).unwrap_or_default();
        let text = Some(format!("{from}to {server}"));
        Ok(Action {
            would: vec![Step { what: "move", region: Some(name.clone()), text, ..Step::default() }],
            missing: vec!["ms"],
            statement: format!("move '{name}', '{server}'"),
            description: format!("Moving region {name} to {server}"),
            run: Box::new(move |site| site.extension().move_region(&name, &server)),
        })
    })
    .await
}

/// Writes the memstores of a region to store files.
#[utoipa::path(
    post,
    path = "/api/tables/{t}/regions/{encoded}/flush",
    tag = "actions",
    params(("t" = String, Path), ("encoded" = String, Path)),
    request_body = ActionRequest,
    responses(
        (status = 200, body = ActionAnswer), (status = 202, body = ActionAnswer),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn flush_region(call: Call, body: Result<Body, BytesRejection>) -> Response {
    act(call, body, |call, _| {
        let (_, _, load) = region(call)?;
        let name = name_of(&load.region);
        Ok(Action {
            would: vec![flush_step(&load)],
            missing: vec!["ms"],
            statement: format!("flush '{name}'"),
            description: format!("Flushing region {}", load.region.display_name()),
            run: Box::new(move |site| site.extension().flush_region(&name)),
        })
    })
    .await
}

fn flush_step(load: &RegionLoad) -> Step {
    Step {
        what: "flush",
        region: Some(name_of(&load.region)),
        bytes: Some(load.memstore_data_bytes),
        ..Step::default()
    }
}

fn compact_step(load: &RegionLoad) -> Step {
    Step {
        what: "compact",
        region: Some(name_of(&load.region)),
        bytes: Some(load.store_file_bytes),
        files: Some(load.store_files),
        ..Step::default()
    }
}

/// Compacts a region.
#[utoipa::path(
    post,
    path = "/api/tables/{t}/regions/{encoded}/compact",
    tag = "actions",
    params(("t" = String, Path), ("encoded" = String, Path)),
    request_body = ActionRequest,
    responses(
        (status = 200, body = ActionAnswer), (status = 202, body = ActionAnswer),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn compact_region(call: Call, body: Result<Body, BytesRejection>) -> Response {
    act(call, body, |call, request| {
        let (_, _, load) = region(call)?;
        let (name, is_major) = (name_of(&load.region), request.major);
        Ok(Action {
            would: vec![compact_step(&load)],
            missing: vec!["ms"],
            statement: format!("{} '{name}'", compact_command(is_major)),
            description: format!("Compacting region {}", load.region.display_name()),
            run: Box::new(move |site| site.extension().compact_region(&name, is_major)),
        })
    })
    .await
}

fn compact_command(is_major: bool) -> &'static str {
    if is_major { "major_compact" } else { "compact" }
}

/// Returns the loads of the table of the path.
fn table_loads(call: &Call) -> Answered<(Arc<crate::status::Status>, halite_types::TableName)> {
    let found = call.table()?;
    Ok((call.site.status()?, found.name().clone()))
}

/// Writes the memstores of a table to store files.
#[utoipa::path(
    post,
    path = "/api/tables/{t}/flush",
    tag = "actions",
    params(("t" = String, Path)),
    request_body = ActionRequest,
    responses(
        (status = 200, body = ActionAnswer), (status = 202, body = ActionAnswer),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn flush_table(call: Call, body: Result<Body, BytesRejection>) -> Response {
    act(call, body, |call, _| {
        let (status, table) = table_loads(call)?;
        let (loads, _) = status.of_table(&table);
        let filled = loads.iter().filter(|load| load.memstore_data_bytes > 0);
        let step = Step {
            what: "flush",
            count: Some(filled.clone().count()),
            bytes: Some(filled.map(|load| load.memstore_data_bytes).sum()),
            ..Step::default()
        };
        Ok(Action {
            would: vec![step],
            missing: vec!["ms"],
            statement: format!("flush '{table}'"),
            description: format!("Flushing table {table}"),
            run: Box::new(move |site| block_on(site.admin().flush(&table))),
        })
    })
    .await
}

/// Compacts a table.
#[utoipa::path(
    post,
    path = "/api/tables/{t}/compact",
    tag = "actions",
    params(("t" = String, Path)),
    request_body = ActionRequest,
    responses(
        (status = 200, body = ActionAnswer), (status = 202, body = ActionAnswer),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn compact_table(call: Call, body: Result<Body, BytesRejection>) -> Response {
    act(call, body, |call, request| {
        let (status, table) = table_loads(call)?;
        let (loads, _) = status.of_table(&table);
        let filled = loads.iter().filter(|load| load.store_files > 0);
        let step = Step {
            what: "compact",
            count: Some(filled.clone().count()),
            bytes: Some(filled.clone().map(|load| load.store_file_bytes).sum()),
            files: Some(filled.map(|load| load.store_files).sum()),
            ..Step::default()
        };
        let kind = if request.major { CompactionKind::Major } else { CompactionKind::Minor };
        Ok(Action {
            would: vec![step],
            missing: vec!["ms"],
            statement: format!("{} '{table}'", compact_command(request.major)),
            description: format!("Compacting table {table}"),
            run: Box::new(move |site| block_on(site.admin().compact(&table, None, kind))),
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_quoted_for_the_shell() {
        assert_eq!(quoted(b"abc"), "'abc'");
        assert_eq!(quoted(b"a'b"), "\"a'b\"");
        assert_eq!(quoted(b"\x00\"\xff"), "\"\\x00\\x22\\xFF\"");
        assert_eq!(quoted(b"\x00#{exit}#@a"), "\"\\x00\\x23{exit}\\x23@a\"");
        assert_eq!(quoted(b"#{exit}"), "'#{exit}'", "single quotes read nothing");
    }

    #[test]
    fn absent_options_ask_for_dry_run() {
        let request: ActionRequest = read_json(Ok(Body::new())).unwrap();
        assert!(request.dry_run && !request.major);
        let error = read_json::<ActionRequest>(Ok(Body::from_static(b"{\"dry_run\":0}")));
        assert_eq!(error.unwrap_err().field.as_deref(), Some("body"));
    }
}
