//! Demo loader: creates the tables and fills them. It may be killed at any moment and run again.
//!
//! Each batch is written in three steps: the observations, the counters, and then the progress. A
//! run that finds incomplete progress resumes there, and may write a batch a second time. That
//! changes nothing: an observation is put with its own time as timestamp, so the second put is the
//! same version again. A counter is incremented together with a mark for its hour, in one atomic
//! operation on the row, which fails if the mark exists.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use halite::{
    BlockingTable, CheckAndMutate, FamilyDescriptor, Get, Increment, Put, RowMutations, RowOp,
    TableDescriptor, TableName,
};
use indicatif::{ProgressBar, ProgressStyle};

use super::keys::row_key;
use super::weather::Observation;
use crate::backend::Backend;

/// Table of observations: family `data`, one qualifier per measured field.
pub(crate) const SENSORS: &str = "sensor_data";
/// Table of counters, one row per station and day: family `count`, and `seen` with the hours
/// already counted.
pub(crate) const DAILY: &str = "sensor_daily";
/// Table for the progress of the load, and for a row used to measure writes.
pub(crate) const NOTES: &str = "halite_demo";

/// Observations that are written, synced and recorded together.
const BATCH_ROWS: usize = 500;

/// Result of a load.
pub(crate) struct LoadReport {
    /// Rows found from an earlier run.
    pub(crate) found: usize,
    /// Rows written by this run.
    pub(crate) rows: usize,
    pub(crate) cells: usize,
    pub(crate) time: Duration,
}

/// Creates the tables and writes the missing observations, until `is_stopped` returns `true`.
///
/// # Errors
/// Returns an error of the store, or an error if a table of that name does not belong to the demo.
pub(crate) fn load(
    place: &Backend,
    observations: &[Observation],
    acknowledged: Option<&Path>,
    is_stopped: &dyn Fn() -> bool,
) -> anyhow::Result<LoadReport> {
    let kept_tables = create_tables(place)?;
    let notes = place.table(NOTES)?;
    let found = if kept_tables { recorded_rows(&notes)? } else { 0 };
    if found > observations.len() {
        bail!(
            "table {NOTES}: it notes {found} rows, and there are {}; take the demo's three tables \
             away, or start over in another directory with --data",
            observations.len()
        );
    }
    let rest = &observations[found..];
    let mut loaded = LoadReport { found, rows: 0, cells: 0, time: Duration::ZERO };
    if rest.is_empty() {
        return Ok(loaded);
    }
    let mut log = acknowledged
        .map(|path| File::options().append(true).create(true).open(path))
        .transpose()
        .context("the log of acknowledged rows")?;
    let (sensors, daily) = (place.table(SENSORS)?, place.table(DAILY)?);
    let progress = progress_bar(observations.len(), found);
    let began = Instant::now();
    for batch in rest.chunks(BATCH_ROWS).take_while(|_| !is_stopped()) {
        write(&sensors, batch.iter().map(|observation| put_observation(observation).into()))?;
        write(&daily, batch.iter().map(|observation| count_observation(observation).into()))?;
        loaded.rows += batch.len();
        loaded.cells += batch.iter().map(|observation| observation.values.len()).sum::<usize>();
        progress.inc(batch.len() as u64);
        let done = usize::try_from(progress.position()).unwrap_or(usize::MAX);
        notes.put(Put::new("weather").add("load", "rows", done.to_string()))?;
        if let Some(log) = &mut log {
            let keys: String = batch
                .iter()
                .map(|observation| row_key(&observation.station, observation.time_ms) + "\n")
                .collect();
            log.write_all(keys.as_bytes()).context("the log of acknowledged rows")?;
        }
    }
    loaded.time = began.elapsed();
    progress.finish_and_clear();
    for table in [SENSORS, DAILY] {
        place.flush(table)?;
    }
    Ok(loaded)
}

/// Returns `true` if all tables existed. The progress table is created first; if it exists, the
/// other tables belong to the demo.
fn create_tables(place: &Backend) -> anyhow::Result<bool> {
    let name = |table: &str| table.parse::<TableName>();
    let missing = |table: &str| anyhow::Ok(!place.table_exists(&name(table)?)?);
    if missing(NOTES)? {
        for table in [SENSORS, DAILY] {
            if !missing(table)? {
                bail!(
                    "table {table} is there already and was not made by the demo; give the demo a \
                     directory of its own with --data"
                );
            }
        }
        let families = ["load", "probe"].map(FamilyDescriptor::new);
        place.create_table(
            families.into_iter().fold(TableDescriptor::new(name(NOTES)?), TableDescriptor::family),
            &[],
        )?;
    }
    let fresh = missing(SENSORS)? || missing(DAILY)?;
    if fresh {
        // The progress of an earlier run refers to tables that no longer exist.
        place.table(NOTES)?.put(Put::new("weather").add("load", "rows", "0"))?;
    }
    if missing(SENSORS)? {
        // One region per station, so that the rows of one station do not wait for those of another.
        let table =
            TableDescriptor::new(name(SENSORS)?).family(FamilyDescriptor::new("data").versions(5));
        place.create_table(table, &[b"JFK", b"LGA"])?;
    }
    if missing(DAILY)? {
        let families = ["count", "seen"].map(FamilyDescriptor::new);
        place.create_table(
            families.into_iter().fold(TableDescriptor::new(name(DAILY)?), TableDescriptor::family),
            &[],
        )?;
    }
    Ok(!fresh)
}

fn recorded_rows(notes: &BlockingTable) -> anyhow::Result<usize> {
    let row = notes.get(Get::new("weather").column("load", "rows"))?;
    let Some(rows) = row.value("load", "rows") else { return Ok(0) };
    std::str::from_utf8(rows).ok().and_then(|rows| rows.parse().ok()).with_context(|| {
        format!(
            "table {NOTES}: row weather, column load:rows is {:?}, which is no number; start over \
             in another directory with --data",
            rows.escape_ascii()
        )
    })
}

/// Converts an observation to a put. Its timestamp is the time of the observation, so putting it
/// twice equals putting it once.
pub(crate) fn put_observation(observation: &Observation) -> Put {
    let put = Put::new(row_key(&observation.station, observation.time_ms));
    observation
        .values
        .iter()
        .fold(put, |put, (field, value)| put.add_at("data", field, observation.time_ms, value))
}

/// Returns the operation that counts an observation in the row of its day, unless its hour is
/// already marked as counted.
fn count_observation(observation: &Observation) -> CheckAndMutate {
    let time = jiff::Timestamp::from_millisecond(observation.time_ms).unwrap_or_default();
    let (day, hour) = (time.strftime("%Y-%m-%d").to_string(), time.strftime("%H").to_string());
    let row = day_key(&observation.station, &day);
    let mut counts = Increment::new(row.clone()).add("count", "observations", 1);
    if observation.number("temp").is_some_and(|fahrenheit| fahrenheit <= 32.0) {
        counts = counts.add("count", "freezing", 1);
    }
    if observation.number("precip").is_some_and(|inches| inches > 0.0) {
        counts = counts.add("count", "wet", 1);
    }
    counts.return_results = false;
    // The mark is not empty: in a condition, as in HBase, a column with an empty value does not
    // exist.
    let mark = Put::new(row.clone()).add_at("seen", &hour, observation.time_ms, "1");
    CheckAndMutate::if_not_exists(
        row.clone(),
        "seen",
        hour,
        RowMutations::new(row).add(mark).add(counts),
    )
}

/// Returns the key of a day's counters.
pub(crate) fn day_key(station: &str, day: &str) -> String {
    format!("{station}_{day}")
}

fn write(table: &BlockingTable, ops: impl Iterator<Item = RowOp>) -> anyhow::Result<()> {
    for result in table.batch(ops.collect())? {
        result?;
    }
    Ok(())
}

/// Creates a progress bar. It draws nothing if the output is not a terminal.
fn progress_bar(rows: usize, found: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("loading {bar:50} {human_pos} of {human_len} rows, {per_sec}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(rows as u64).with_style(style).with_position(found as u64)
}
