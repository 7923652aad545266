//! Running tasks, in the form of HBase's `/rs-status?format=json`, which its shell's `processlist`
//! reads.

use halite_types::CompactionState;
use serde::{Deserialize, Serialize};

use super::json;
use crate::base::context::Context;

/// Query string of the URL.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TaskQuery {
    format: Option<String>,
    /// `all`, `general`, or a kind of call.
    filter: Option<String>,
}

impl TaskQuery {
    /// Returns `true` if the request is for tasks and not for the page.
    pub(super) fn is_for_tasks(&self) -> bool {
        self.format.as_deref() == Some("json")
    }
}

/// Running task, with the names of HBase's.
#[derive(Serialize)]
struct Task {
    description: String,
    status: &'static str,
    state: &'static str,
    starttimems: u64,
    statustimems: u64,
    /// Text in HBase too; -1 while the task runs.
    completiontimems: &'static str,
}

/// Returns the running compactions. Calls are not listed, because they end too soon.
pub(super) fn tasks(context: &Context, query: &TaskQuery) -> String {
    let is_wanted = matches!(query.filter.as_deref().unwrap_or("all"), "all" | "general");
    let regions = context
        .engine
        .status()
        .regions
        .into_iter()
        .filter(|region| is_wanted && region.compaction_state != CompactionState::None);
    let tasks = regions.map(|region| {
        // The start time is not recorded, so the current time is returned.
        let now = context.engine.now_ms();
        Task {
            description: format!("Compacting region {}", region.region.display_name()),
            status: "Compacting",
            state: "RUNNING",
            starttimems: now,
            statustimems: now,
            completiontimems: "-1",
        }
    });
    json::text(&tasks.collect::<Vec<_>>())
}
