//! Log of sampled operations.

use std::collections::BTreeMap;

use axum::response::Response;
use halite_heat::operations::{Call as Logged, LoggedCalls, fingerprint};
use serde::Serialize;
use utoipa::ToSchema;

use crate::call::Call;
use crate::gate::Weight;
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::problem::{Answered, Problem};

/// Operations of an answer.
const MAX_OPERATIONS: usize = 100_000;

/// Sampled operations.
#[derive(Serialize, ToSchema)]
pub(crate) struct OperationsAnswer {
    as_of: u64,
    /// Time of the oldest operation in the log, of any table.
    since: Option<i64>,
    /// Operations of which one is recorded now: `1/1000`.
    sampled: String,
    /// Operations of all tables that were due and were not recorded, for want of room.
    dropped: u64,
    /// In the order of their times; the newest of them if there are more.
    operations: Vec<Operation>,
}

/// Operation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Operation {
    time: i64,
    /// `get`, `scan`, `put`, `delete`, `increment`, `append`, `check_and_mutate`, `row_mutations`.
    op: &'static str,
    /// Row; for a scan the first one, empty for that of the table.
    key: Key,
    /// End of a scan, exclusive, empty for that of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Key>,
    /// Values of the fields of the declared key by their names; absent if the row is none of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<BTreeMap<String, String>>,
    cells: u64,
    rows: u64,
    bytes: u64,
    /// Operations of which it is the sample.
    weight: u64,
    client: ClientView,
    /// Kind, families, columns and filters.
    statement: String,
    fingerprint: String,
}

/// Caller; a text that is not known is empty.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClientView {
    address: String,
    user: String,
    version: String,
}

/// Sampled operations of a table.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/operations",
    tag = "load",
    params(
        ("t" = String, Path),
        ("from" = Option<i64>, Query, description = "Begin; the whole log"),
        ("to" = Option<i64>, Query, description = "End; now"),
        ("minutes" = Option<u32>, Query,
            description = "Only the last minutes by the clock of the server, instead of from"),
        ("limit" = Option<usize>, Query, description = "Maximum operations, 100,000"),
    ),
    responses(
        (status = 200, body = OperationsAnswer),
        (status = 501, body = Problem, description = "Not recorded here"),
    )
)]
pub(crate) async fn operations(call: Call) -> Response {
    call.json(Weight::Heavy, |call, _| answer(call)).await
}

fn answer(call: &Call) -> Answered<OperationsAnswer> {
    call.check_rows()?;
    let now = call.site.extension().now_ms();
    let minutes: Option<u32> = call.params.optional_number("minutes")?;
    let since = minutes.map(|minutes| {
        i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(i64::from(minutes) * 60_000)
    });
    let from = since.or(call.params.optional_number("from")?).unwrap_or(i64::MIN);
    let to = call.params.optional_number("to")?.unwrap_or(i64::MAX);
    let limit = call.params.number("limit", 1..=MAX_OPERATIONS, 1000)?;
    let table = call.table()?;
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &table.descriptor);
    let style = KeyStyle::of(&call.params, declared.clone())?;
    let found = call.site.extension().logged_calls(table.name(), (from, to), limit)?;
    let view = |logged: &Logged| Operation {
        time: logged.time_ms,
        op: logged.kind.name(),
        key: style.key(&logged.row),
        stop: logged.stop.as_ref().map(|stop| style.key(stop)),
        values: declared.as_ref().and_then(|declared| declared.values(&logged.row)),
        cells: logged.cells,
        rows: logged.rows,
        bytes: logged.bytes,
        weight: logged.weight,
        client: ClientView {
            address: logged.client.address.to_string(),
            user: logged.client.user.to_string(),
            version: logged.client.version.to_string(),
        },
        statement: logged.statement.to_string(),
        fingerprint: fingerprint(&logged.statement),
    };
    Ok(OperationsAnswer {
        as_of: now,
        since: found.since_ms,
        sampled: sampled(&found),
        dropped: found.dropped,
        operations: found.calls.iter().map(view).collect(),
    })
}

/// Returns the rate of the log as `1/1000`.
pub(super) fn sampled(logged: &LoggedCalls) -> String {
    format!("1/{}", logged.rate.max(1))
}
