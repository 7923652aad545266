//! Workload for data larger than memory: a fill, changes with concurrent reads, a killed process,
//! and cold and warm reads in fresh processes.

mod crash;
mod latencies;
mod load;
mod mixed;
mod page_cache;
mod phase;
mod progress;
mod reader;
mod reads;
mod rows;

use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::arguments::Arguments;
use crate::engine;
use crate::output::{note, skip};
use phase::Phase;
use rows::LargeRows;

/// Part of the workload. Each runs in its own process, in this order, in the same directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Verifies that the store compresses as asked.
    Probe,
    /// Single puts of all rows.
    Fill,
    /// Overwrites and deletes of some rows, with concurrent gets and scans.
    Mixed,
    /// Puts of more rows, then SIGKILL.
    Crash,
    /// Opening after the kill, and verification of the acknowledged rows.
    Recover,
    /// Gets with an empty page cache.
    ColdGets,
    /// Short scans with an empty page cache.
    ColdScans,
    /// A full scan, then gets and short scans.
    Warm,
}

impl Part {
    /// All parts, in the order of their runs.
    pub(crate) const ALL: [Self; 8] = [
        Self::Probe,
        Self::Fill,
        Self::Mixed,
        Self::Crash,
        Self::Recover,
        Self::ColdGets,
        Self::ColdScans,
        Self::Warm,
    ];

    /// Returns the name for child processes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Probe => "large-probe",
            Self::Fill => "large-fill",
            Self::Mixed => "large-mixed",
            Self::Crash => "large-crash",
            Self::Recover => "large-recover",
            Self::ColdGets => "large-cold-gets",
            Self::ColdScans => "large-cold-scans",
            Self::Warm => "large-warm",
        }
    }

    fn is_cold(self) -> bool {
        matches!(self, Self::ColdGets | Self::ColdScans)
    }
}

/// Runs a part in a child.
pub(crate) fn run(engine: &str, part: Part, folder: &Path, arguments: &Arguments) -> Result<()> {
    let settings = arguments.large.settings(arguments.value_bytes);
    if part == Part::Probe {
        if let Some(reason) = engine::why_not_compressed(engine, folder, settings.compression)? {
            skip(&reason);
        }
        return Ok(());
    }
    if part.is_cold() {
        note(page_cache::drop_pages(folder)?);
    }
    let start = Instant::now();
    let store = engine::open(engine, folder, settings)?;
    let rows = LargeRows::new(arguments.large.rows, arguments.value_bytes);
    let label = format!("{engine} {}:", part.name());
    let idle_seconds = arguments.large.idle_seconds;
    let phase = Phase { store: &*store, rows: &rows, folder, label, idle_seconds };
    match part {
        Part::Probe => {}
        Part::Fill => load::fill(&phase)?,
        Part::Mixed => mixed::change(&phase)?,
        Part::Crash => return crash::write_and_die(&phase),
        Part::Recover => crash::recover(&phase, start)?,
        Part::ColdGets => reads::cold_gets(&phase)?,
        Part::ColdScans => reads::cold_scans(&phase)?,
        Part::Warm => reads::warm(&phase)?,
    }
    store.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::engine::{Durability, Engine, Settings};

    const ROWS: u64 = 2000;

    /// Runs the parts of the workload that need no other process on a store, with a change of the
    /// store before the reads.
    fn run_phases(engine: &str, damage: impl FnOnce(&dyn Engine, &LargeRows)) -> Vec<Result<()>> {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::new(Durability::Flush);
        let store = engine::open(engine, folder.path(), settings).unwrap();
        let rows = LargeRows::new(ROWS, 100);
        let phase = Phase {
            store: &*store,
            rows: &rows,
            folder: folder.path(),
            label: String::new(),
            idle_seconds: 0,
        };
        load::fill(&phase).unwrap();
        mixed::change(&phase).unwrap();
        crash::write(&phase).unwrap();
        damage(&*store, &rows);
        let results = vec![
            crash::recover(&phase, Instant::now()),
            reads::cold_gets(&phase),
            reads::cold_scans(&phase),
            reads::warm(&phase),
        ];
        store.close().unwrap();
        results
    }

    #[test]
    fn undamaged_rows_pass_every_verification() {
        for engine in ["halite", "fjall"] {
            let results = run_phases(engine, |_, _| ());
            assert!(results.iter().all(Result::is_ok), "{engine}: {results:?}");
        }
    }

    #[test]
    fn old_value_of_overwritten_row_is_detected() {
        let results = run_phases("halite", |store, rows| {
            for row in (0..ROWS).filter(|row| rows.fate(*row) == rows::Fate::Overwritten) {
                let mut old = Vec::new();
                rows.write_value(row, 0, &mut old);
                store.put(&Rows::key(row), &old).unwrap();
            }
        });
        assert!(results[0].is_ok(), "the rows of the killed process are intact: {results:?}");
        assert!(results[1..].iter().all(Result::is_err), "{results:?}");
    }

    #[test]
    fn lost_acknowledged_row_is_detected() {
        let results = run_phases("halite", |store, rows| {
            store.delete(&Rows::key(rows.unflushed().end - 1)).unwrap();
        });
        let message = results[0].clone().unwrap_err();
        assert!(message.contains("row 2199"), "{message}");
        assert!(results[3].is_err(), "the full scan finds one row less: {results:?}");
    }

    #[test]
    fn deleted_row_that_reappears_is_detected() {
        let results = run_phases("fjall", |store, rows| {
            let row = (0..ROWS).find(|row| rows.fate(*row) == rows::Fate::Deleted).unwrap();
            let mut old = Vec::new();
            rows.write_value(row, 0, &mut old);
            store.put(&Rows::key(row), &old).unwrap();
        });
        assert!(results[3].is_err(), "the full scan finds one row more: {results:?}");
    }
}
