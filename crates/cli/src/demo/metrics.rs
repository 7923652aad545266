//! Demo statistics: regions, rates, latencies, disk and memory.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use halite::{Get, Put};
use hdrhistogram::Histogram;

use super::keys::row_key;
use super::load::{DAILY, LoadReport, NOTES, SENSORS};
use super::page::Page;
use super::weather::Observation;
use crate::backend::Backend;
use crate::bench::SeededRng;
use crate::text_table::{TextTable, grouped, size};

/// Number of timed gets.
const GETS: usize = 5_000;
/// Maximum number of timed puts; fewer are timed on a disk with slow syncs.
const MAX_PUTS: usize = 300;
/// Maximum total duration of the timed puts.
const MAX_PUTS_DURATION: Duration = Duration::from_millis(1500);

/// Prints the regions of the demo's tables.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub(crate) fn print_regions<W: Write>(place: &Backend, page: &mut Page<W>) -> anyhow::Result<()> {
    page.heading("Regions")?;
    page.note(
        "technique",
        "sensor_data was created with SPLITS => ['JFK', 'LGA']: each station has a region, and \
         each row belongs to just one.",
    )?;
    let mut table = TextTable::new(&[
        "table",
        "region",
        "start key",
        "end key",
        ">reads",
        ">writes",
        ">files",
        ">size",
    ]);
    for load in place.cluster_status()?.regions {
        let name = load.region.table.qualifier();
        if [SENSORS, DAILY].contains(&name) {
            let numbers = [load.read_requests, load.write_requests, load.store_files].map(grouped);
            let region = &load.region.encoded_name;
            let keys = [&load.region.start, &load.region.end].map(|key| {
                if key.is_empty() { "-".to_owned() } else { halite::to_string_binary(key) }
            });
            let texts = [name.to_owned(), region.clone()].into_iter().chain(keys).chain(numbers);
            table.row(texts.chain([size(load.store_file_bytes)]));
        }
    }
    Ok(page.table(&table)?)
}

/// Prints the duration, latencies and memory use.
///
/// # Errors
/// Returns an error of the store or of the output.
pub(crate) fn print_timings<W: Write>(
    place: &Backend,
    observations: &[Observation],
    loaded: &LoadReport,
    page: &mut Page<W>,
) -> anyhow::Result<()> {
    page.heading("What it took")?;
    let (reached, waiting) = if place.store().is_some() {
        ("synced to the disk", "each waiting for its own fdatasync")
    } else {
        ("acknowledged by the cluster", "each waiting for its own answer")
    };
    if loaded.rows > 0 {
        let rate = |count: usize| per_second(count, loaded.time);
        page.note(
            "load",
            &format!(
                "{} rows/s and {} cells/s, counters included; every batch {reached}",
                rate(loaded.rows),
                rate(loaded.cells)
            ),
        )?;
    }
    let gets = time_gets(place, observations)?;
    page.note(
        "gets",
        &format!(
            "{} over {} gets of random rows, one thread",
            percentiles(&gets),
            grouped(gets.len())
        ),
    )?;
    let puts = time_puts(place, &observations[0])?;
    page.note(
        "puts",
        &format!(
            "{} over {} puts of one row, {waiting}, one thread",
            percentiles(&puts),
            grouped(puts.len())
        ),
    )?;
    page.note(
        "memory",
        &memory().map_or_else(
            || "not known on this system".to_owned(),
            |bytes| format!("{} resident in this process", size(bytes)),
        ),
    )?;
    Ok(())
}

/// Prints the disk usage of a closed store.
///
/// # Errors
/// Returns an error if the directory cannot be read or the output cannot be written.
pub(crate) fn print_disk_usage<W: Write>(data: &Path, page: &mut Page<W>) -> anyhow::Result<()> {
    let bytes = disk_bytes(data)?;
    let text = format!(
        "{} after closing; each cell carries its whole key, as HBase's do, and the blocks are not \
         compressed",
        size(bytes)
    );
    Ok(page.note("disk", &text)?)
}

fn per_second(count: usize, time: Duration) -> String {
    let rate = count as u128 * 1_000_000_000 / time.as_nanos().max(1);
    grouped(u64::try_from(rate).unwrap_or(u64::MAX))
}

fn time_gets(place: &Backend, observations: &[Observation]) -> anyhow::Result<Histogram<u64>> {
    let table = place.table(SENSORS)?;
    let mut chance = SeededRng::new(1);
    let mut times = Histogram::new(3)?;
    for _ in 0..GETS {
        let at = usize::try_from(chance.below(observations.len() as u64))?;
        let get = Get::new(row_key(&observations[at].station, observations[at].time_ms));
        let began = Instant::now();
        let row = table.get(get)?;
        times.record(nanoseconds(began))?;
        anyhow::ensure!(
            !row.is_empty(),
            "a row that was loaded is gone; run \"halite hfile check\" on the files below {SENSORS}"
        );
    }
    Ok(times)
}

/// Writes the same observation to the same row repeatedly, in a separate table, and returns the
/// latencies.
fn time_puts(place: &Backend, observation: &Observation) -> anyhow::Result<Histogram<u64>> {
    let table = place.table(NOTES)?;
    let mut times = Histogram::new(3)?;
    let all = Instant::now();
    while times.len() < MAX_PUTS as u64 && all.elapsed() < MAX_PUTS_DURATION {
        let put = observation
            .values
            .iter()
            .fold(Put::new("probe"), |put, (field, value)| put.add("probe", field, value));
        let began = Instant::now();
        table.put(put)?;
        times.record(nanoseconds(began))?;
    }
    Ok(times)
}

fn nanoseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn percentiles(times: &Histogram<u64>) -> String {
    let at = |quantile: f64| {
        let time = Duration::from_nanos(times.value_at_quantile(quantile)).as_secs_f64();
        if time < 1e-3 { format!("{:.1} us", time * 1e6) } else { format!("{:.2} ms", time * 1e3) }
    };
    format!("p50 {}, p99 {}", at(0.5), at(0.99))
}

/// Returns the total size in bytes of all files below a directory.
fn disk_bytes(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("directory {}", folder.display()))?
        {
            let entry = entry?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                // A compaction may have deleted the file.
                Err(_) => {}
            }
        }
    }
    Ok(bytes)
}

/// Returns the resident memory in bytes, where the operating system reports it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    kibibytes.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|count| count * 1024)
}
