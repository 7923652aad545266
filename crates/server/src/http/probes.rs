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
use serde::Serialize;

use super::json;
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

/// Health of the store; unknown values are omitted.
#[derive(Serialize)]
struct HealthPage<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_free_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_total_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_reserve_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_removal_error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_flush_error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_compaction_error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    panics: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_panic: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged_store_files: Option<usize>,
}

fn body(health: &Health) -> String {
    fn text(error: Option<&Error>) -> Option<&str> {
        error.map(Error::message)
    }
    json::text(&HealthPage {
        state: name(health.state),
        reason: text(health.reason.as_ref()),
        disk_free_bytes: health.disk.map(|disk| disk.free_bytes),
        disk_total_bytes: health.disk.map(|disk| disk.total_bytes),
        disk_reserve_bytes: health.disk.map(|_| health.disk_reserve_bytes),
        log_removal_error: text(health.wal_removal_failure.as_ref()),
        last_flush_error: text(health.flush_failure.as_ref()),
        last_compaction_error: text(health.compaction_failure.as_ref()),
        panics: (health.panics > 0).then_some(health.panics),
        last_panic: text(health.last_panic.as_ref()),
        damaged_store_files: Some(health.damaged_files.len()).filter(|files| *files > 0),
    })
}
