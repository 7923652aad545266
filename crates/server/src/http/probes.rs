//! `/health` and `/ready`, probes for supervisors.
//!
//! | state | `/health` | `/ready` |
//! |---|---|---|
//! | open | 200 | 200 |
//! | refusing | 200: restarting the process does not free disk space | 503 |
//! | stopped | 503: only reopening the store helps | 503 |

use axum::http::StatusCode;
use halite_engine::{Health, StoreState};
use halite_types::Error;

use super::json::Value;
use crate::base::health::name;

pub(super) const CONTENT_TYPE: &str = "application/json; charset=utf8";

/// Returns the liveness probe: 200 unless the store has stopped.
pub(super) fn health(health: &Health) -> (StatusCode, String) {
    (status(health.state != StoreState::Stopped), body(health))
}

/// Returns the readiness probe: 200 if the store accepts writes.
pub(super) fn ready(health: &Health) -> (StatusCode, String) {
    (status(health.state == StoreState::Open), body(health))
}

fn status(is_well: bool) -> StatusCode {
    if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// Formats the health as JSON; unknown values are omitted.
fn body(health: &Health) -> String {
    let mut fields = vec![("state".to_owned(), Value::from(name(health.state)))];
    let mut add = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    let text = |error: &Option<Error>| error.as_ref().map(|error| Value::from(error.message()));
    add("reason", text(&health.reason));
    add("disk_free_bytes", health.disk.map(|disk| disk.free_bytes.into()));
    add("disk_total_bytes", health.disk.map(|disk| disk.total_bytes.into()));
    add("disk_reserve_bytes", health.disk.map(|_| health.disk_reserve_bytes.into()));
    add("log_removal_error", text(&health.wal_removal_failure));
    add("last_flush_error", text(&health.flush_failure));
    add("last_compaction_error", text(&health.compaction_failure));
    add("panics", (health.panics > 0).then(|| health.panics.into()));
    add("last_panic", text(&health.last_panic));
    Value::Group(fields).to_string()
}
