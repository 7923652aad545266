//! Tasks, events and slow calls.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use halite_types::TableName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::region_list::Compaction;
use crate::call::{Call, read_json};
use crate::extension::{Event, EventQuery, Page, SlowCall, SlowCallQuery};
use crate::gate::Weight;
use crate::key_view::{Key, KeyStyle};
use crate::params::{Params, short};
use crate::problem::{Answered, Problem};
use crate::site::{KnownTable, Site};
use crate::status::Status;
use crate::tasks::{Task, TaskState};

/// Kinds of events.
const KINDS: [&str; 9] =
    ["split", "merge", "move", "flush", "compaction", "deploy", "restart", "schema", "error"];

/// Kinds that a table under load has all the time.
const FREQUENT_KINDS: [&str; 2] = ["flush", "compaction"];

/// Maximum frequent events, and others, in the picture of a load.
const MAX_DRAWN_EVENTS: usize = 500;

/// Maximum bytes of the text of a deploy mark.
const MAX_MARK_BYTES: usize = 200;

/// Tasks.
#[derive(Serialize, ToSchema)]
pub(crate) struct TasksAnswer {
    as_of: u64,
    tasks: Vec<Task>,
}

/// Returns the running compactions of all regions.
pub(crate) fn compactions(status: &Status) -> impl Iterator<Item = Task> + '_ {
    status.regions.iter().filter_map(|load| {
        let compaction = Compaction::of(load)?;
        let status = compaction.progress.map_or_else(
            || "Requested".to_owned(),
            |part| format!("Compacted {:.0} %", part * 100.0),
        );
        Some(Task {
            id: None,
            state: TaskState::Running,
            description: format!("Compacting region {}", load.region.display_name()),
            status,
            progress: compaction.progress,
            started: None,
            ended: None,
            left_s: None,
        })
    })
}

/// Running tasks, and those that this page started.
#[utoipa::path(
    get,
    path = "/api/tasks",
    tag = "activity",
    responses((status = 200, body = TasksAnswer))
)]
pub(crate) async fn tasks(call: Call) -> Response {
    call.json(Weight::Light, |call, _| {
        let status = call.site.status()?;
        Ok(TasksAnswer { as_of: status.as_of, tasks: all_tasks(&call.site, &status) })
    })
    .await
}

fn all_tasks(site: &Site, status: &Status) -> Vec<Task> {
    let others = site.extension().tasks().into_iter().map(|task| Task {
        id: None,
        state: TaskState::Running,
        description: task.description,
        status: task.status,
        progress: task.progress,
        started: task.started,
        ended: None,
        left_s: task.left_s,
    });
    site.tasks.all().into_iter().chain(compactions(status)).chain(others).take(1000).collect()
}

/// One task that this page started.
#[utoipa::path(
    get,
    path = "/api/tasks/{id}",
    tag = "activity",
    params(("id" = u64, Path)),
    responses((status = 200, body = Task), (status = 404, body = Problem))
)]
pub(crate) async fn task(call: Call) -> Response {
    call.json(Weight::Light, |call, _| {
        let id = call.path("id");
        let known = id
            .parse()
            .ok()
            .and_then(|id: u64| call.site.tasks.all().into_iter().find(|task| task.id == Some(id)));
        known.ok_or_else(|| {
            Problem::not_found("id", format!("there is no task {}", short(id)))
                .detail("the last 100 tasks of this page are listed at /api/tasks")
        })
    })
    .await
}

/// Events.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventsAnswer {
    as_of: u64,
    events: Vec<EventView>,
    next: Option<String>,
}

/// Event.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventView {
    /// Milliseconds since 1970.
    at: u64,
    kind: String,
    table: Option<String>,
    /// Encoded name.
    region: Option<String>,
    key: Option<Key>,
    text: String,
    duration_ms: Option<u64>,
    /// Bytes that were written to files.
    bytes: Option<u64>,
}

impl EventView {
    fn of(event: Event, style: &KeyStyle) -> Self {
        Self {
            at: event.at,
            kind: event.kind,
            table: event.table.map(|table| table.to_string()),
            region: event.region,
            key: event.key.map(|key| style.key(&key)),
            text: event.text,
            duration_ms: event.duration_ms,
            bytes: event.bytes,
        }
    }
}

/// Returns the table of a parameter. It may no longer exist.
fn table_parameter(params: &Params) -> Answered<Option<TableName>> {
    let name = params.get("table").filter(|name| !name.is_empty());
    name.map(str::parse)
        .transpose()
        .map_err(|error: halite_types::Error| Problem::field("table", error.message()))
}

/// Returns the events of a table in a span of time, as far as they are known: a picture does
/// without them.
pub(super) fn events_of(call: &Call, table: &TableName, (from, to): (i64, i64)) -> Vec<EventView> {
    let time = |ms: i64| u64::try_from(ms).ok();
    let Ok(style) = KeyStyle::of(&call.params, None) else { return Vec::new() };
    let (frequent, others): (Vec<_>, Vec<_>) =
        KINDS.iter().partition(|kind| FREQUENT_KINDS.contains(kind));
    let of_kinds = |kinds: Vec<&str>| {
        let query = EventQuery {
            from: time(from),
            to: time(to),
            table: Some(table.clone()),
            with_store: true,
            kinds: kinds.into_iter().map(str::to_owned).collect(),
            limit: MAX_DRAWN_EVENTS,
            next: None,
        };
        call.site.extension().events(&query).map(|page| page.items).unwrap_or_default()
    };
    let found = of_kinds(frequent).into_iter().chain(of_kinds(others));
    found.map(|event| EventView::of(event, &style)).collect()
}

/// Events, newest first.
#[utoipa::path(
    get,
    path = "/api/events",
    tag = "activity",
    params(
        ("from" = Option<u64>, Query), ("to" = Option<u64>, Query),
        ("table" = Option<String>, Query), ("kind" = Option<String>, Query),
        ("limit" = Option<usize>, Query), ("next" = Option<String>, Query),
    ),
    responses(
        (status = 200, body = EventsAnswer),
        (status = 501, body = Problem, description = "Not recorded here"),
    )
)]
pub(crate) async fn events(call: Call) -> Response {
    call.json(Weight::Light, |call, _| {
        let params = &call.params;
        let kind = params.get("kind").filter(|kind| !kind.is_empty());
        if kind.is_some() {
            params.word("kind", &KINDS)?;
        }
        let query = EventQuery {
            from: params.optional_number("from")?,
            to: params.optional_number("to")?,
            table: table_parameter(params)?,
            with_store: false,
            kinds: kind.map(str::to_owned).into_iter().collect(),
            limit: params.number("limit", 1..=1000, 100)?,
            next: params.get("next").map(str::to_owned),
        };
        let style = KeyStyle::of(params, None)?;
        let Page { items, next } = call.site.extension().events(&query)?;
        let as_of = call.site.extension().now_ms();
        let events = items.into_iter().map(|event| EventView::of(event, &style)).collect();
        Ok(EventsAnswer { as_of, events, next })
    })
    .await
}

/// Mark of a new version of a program.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeployMark {
    /// Text, at most 200 bytes.
    text: String,
    table: Option<String>,
}

/// Mark that was recorded.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeployMarked {
    /// Milliseconds since 1970.
    at: u64,
}

/// Records that a new version of a program runs.
#[utoipa::path(
    post,
    path = "/api/events",
    tag = "activity",
    request_body = DeployMark,
    responses(
        (status = 201, body = DeployMarked),
        (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem), (status = 501, body = Problem),
    ),
    security(("token" = []))
)]
pub(crate) async fn mark_deploy(call: Call, body: Result<Bytes, BytesRejection>) -> Response {
    let mark: DeployMark = match call.check_token().and_then(|()| read_json(body)) {
        Ok(mark) => mark,
        Err(problem) => return problem.into_response(),
    };
    call.json_as(StatusCode::CREATED, Weight::Light, move |call, _| {
        if mark.text.is_empty() || mark.text.len() > MAX_MARK_BYTES {
            let text = format!("text has 1 to {MAX_MARK_BYTES} bytes");
            return Err(Problem::field("text", text));
        }
        let table = mark.table.as_deref().map(|name| call.site.table(name)).transpose()?;
        let table = table.as_ref().map(KnownTable::name);
        Ok(DeployMarked { at: call.site.extension().mark_deploy(table, &mark.text)? })
    })
    .await
}

/// Slow calls.
#[derive(Serialize, ToSchema)]
pub(crate) struct SlowCallsAnswer {
    as_of: u64,
    calls: Vec<SlowCall>,
    next: Option<String>,
}

/// Slow calls, newest first, as the shell's `get_slowlog_responses`.
#[utoipa::path(
    get,
    path = "/api/slow-log",
    tag = "activity",
    params(
        ("table" = Option<String>, Query), ("min_ms" = Option<u64>, Query),
        ("limit" = Option<usize>, Query), ("next" = Option<String>, Query),
    ),
    responses(
        (status = 200, body = SlowCallsAnswer),
        (status = 501, body = Problem, description = "Not recorded here"),
    )
)]
pub(crate) async fn slow_log(call: Call) -> Response {
    call.json(Weight::Light, |call, _| {
        let params = &call.params;
        let query = SlowCallQuery {
            table: table_parameter(params)?,
            min_ms: params.optional_number("min_ms")?,
            limit: params.number("limit", 1..=1000, 100)?,
            next: params.get("next").map(str::to_owned),
        };
        let mut page = call.site.extension().slow_calls(&query)?;
        if !call.site.config.shows_rows {
            // What a call asked contains row keys.
            page.items.iter_mut().for_each(|call| call.call_details.clear());
        }
        let as_of = call.site.extension().now_ms();
        Ok(SlowCallsAnswer { as_of, calls: page.items, next: page.next })
    })
    .await
}
