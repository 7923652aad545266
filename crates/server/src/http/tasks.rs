//! Running tasks, in the form of HBase's `/rs-status?format=json`, which its shell's `processlist`
//! reads.

use halite_types::CompactionState;
use serde::Deserialize;

use super::json::Value;
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

/// Returns the running compactions. Calls are not listed, because they end too soon.
pub(super) fn tasks(context: &Context, asked: &TaskQuery) -> String {
    let is_wanted = matches!(asked.filter.as_deref().unwrap_or("all"), "all" | "general");
    let regions = context
        .engine
        .status()
        .regions
        .into_iter()
        .filter(|region| is_wanted && region.compaction_state != CompactionState::None);
    let text = |value: &str| Value::Text(value.to_owned());
    let tasks = regions.map(|region| {
        // The start time is not recorded, so the current time is returned.
        let now = Value::Count(context.engine.now_ms());
        Value::Group(vec![
            (
                "description".to_owned(),
                Value::Text(format!("Compacting region {}", region.region.display_name())),
            ),
            ("status".to_owned(), text("Compacting")),
            ("state".to_owned(), text("RUNNING")),
            ("starttimems".to_owned(), now.clone()),
            ("statustimems".to_owned(), now),
            ("completiontimems".to_owned(), text("-1")),
        ])
    });
    Value::List(tasks.collect()).to_string()
}
