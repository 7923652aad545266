//! What the server is busy with, as HBase's `/rs-status?format=json` tells it and its shell's `processlist` reads it.

use halite_types::CompactionState;
use serde::Deserialize;

use super::json::Value;
use crate::context::Context;

/// The part of the address behind the question mark.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    format: Option<String>,
    /// `all`, `general`, or a kind of call.
    filter: Option<String>,
}

impl Asked {
    /// Whether tasks are asked for, and not the page.
    pub(super) fn is_for_tasks(&self) -> bool {
        self.format.as_deref() == Some("json")
    }
}

/// The compactions that run. Calls are over sooner than somebody can look, and not told.
pub(super) fn tasks(context: &Context, asked: &Asked) -> String {
    let is_wanted = matches!(asked.filter.as_deref().unwrap_or("all"), "all" | "general");
    let regions = context.engine.status().regions.into_iter().filter(|region| is_wanted && region.compaction_state != CompactionState::None);
    let text = |value: &str| Value::Text(value.to_owned());
    let tasks = regions.map(|region| {
        // When it began is not known; it runs now.
        let now = Value::Count(context.engine.now_ms());
        Value::Group(vec![
            ("description".to_owned(), Value::Text(format!("Compacting region {}", region.region.display_name()))),
            ("status".to_owned(), text("Compacting")),
            ("state".to_owned(), text("RUNNING")),
            ("starttimems".to_owned(), now.clone()),
            ("statustimems".to_owned(), now),
            ("completiontimems".to_owned(), text("-1")),
        ])
    });
    Value::List(tasks.collect()).to_string()
}
