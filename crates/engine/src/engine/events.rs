//! Events of the store: its opening, the marks of operators, and the list for its owner.

use halite_types::{Result, TableName};

use super::{Engine, OpenReport};
use crate::events::{Event, EventFilter, EventKind, NewEvent};

impl Engine {
    /// Returns the newest events that a filter takes, at most `limit`, newest first. The last 4096
    /// flushes and compactions and the last 4096 other events are known. With the feature `heat`
    /// and a `heat_level` other than `Off` they include those of earlier processes, from ten
    /// seconds after the opening on.
    pub fn events(&self, filter: &EventFilter, limit: usize) -> Vec<Event> {
        self.shared.events.find(filter, limit)
    }

    /// Records that a new version of a program runs, and returns the time in milliseconds since
    /// 1970.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn mark_deploy(&self, table: Option<&TableName>, text: &str) -> Result<u64> {
        let event = match table {
            Some(table) => {
                self.descriptor(table)?;
                NewEvent::of_table(EventKind::Deploy, table, text)
            }
            None => NewEvent::of_store(EventKind::Deploy, text),
        };
        Ok(self.shared.events.add(&self.shared.env, event))
    }

    /// Records the opening, and what it found wrong.
    pub(super) fn record_opening(&self) {
        let report = &self.open_report;
        self.shared.record(NewEvent::of_store(EventKind::Restart, opening_text(report)));
        if report.unlogged_files > 0 {
            let text = format!(
                "{} files with cells that are nowhere else are in {}",
                report.unlogged_files,
                report.quarantine.as_deref().unwrap_or("the quarantine")
            );
            self.shared.record(NewEvent::of_store(EventKind::Error, text));
        }
        if report.truncated_wal_writes > 0 {
            let text = format!(
                "{} writes in damaged bytes of the log were skipped",
                report.truncated_wal_writes
            );
            self.shared.record(NewEvent::of_store(EventKind::Error, text));
        }
    }
}

fn opening_text(report: &OpenReport) -> String {
    if report.created {
        return "the store was created".to_owned();
    }
    let replayed = (report.replayed_writes > 0)
        .then(|| format!("; {} writes replayed from the log", report.replayed_writes));
    let quarantined = (report.quarantined_files > 0)
        .then(|| format!("; {} files quarantined", report.quarantined_files));
    ["the store was opened".to_owned()].into_iter().chain(replayed).chain(quarantined).collect()
}
