//! Demo queries, each with its technique, key range and the number of rows read.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use halite::{BlockingTable, Get, Put, Row, Scan, TimeRange};

use super::format::{
    OBSERVATION_HEADINGS, date_and_hour, mph, observation_entries, observation_time,
};
use super::keys::{KeyRange, parse_key, row_key};
use super::load::{DAILY, SENSORS, day_key};
use super::page::Page;
use super::weather::STATIONS;
use crate::backend::Backend;
use crate::text_table::{TextTable, grouped};

/// Evening of the blizzard of February 2013, in UTC.
const STORM: (&str, &str) = ("2013-02-08T22:00:00Z", "2013-02-09T03:00:00Z");
/// Hour for which the published data contains a wind speed above the speed of sound.
const FAULTY: (&str, &str) = ("EWR", "2013-02-12T08:00:00Z");
/// Timestamps of the demo's corrections of it; fixed, so that a second run writes nothing new.
const CORRECTED: [&str; 2] = ["2013-02-13T09:00:00Z", "2013-02-14T15:00:00Z"];
/// Days whose counters are printed.
const DAYS: (&str, &str) = ("2013-02-06", "2013-02-11");

/// Queries on a backend that contains the data.
pub(crate) struct DemoQueries<'a, W> {
    pub(crate) backend: &'a Backend,
    pub(crate) page: &'a mut Page<W>,
    /// Rows in the table of observations.
    pub(crate) rows: usize,
}

/// Cost of a read, from the counters of the regions.
struct Cost {
    /// Total number of rows in the table, if it is to be printed.
    total: String,
    /// Rows examined and returned; `None` on a cluster, which does not report them.
    rows: Option<(u64, u64)>,
    time: Duration,
}

impl<W: Write> DemoQueries<'_, W> {
    /// Runs every query.
    ///
    /// # Errors
    /// Returns an error of the store or of the output.
    pub(crate) fn run_all(&mut self) -> anyhow::Result<()> {
        self.newest("JFK", 24)?;
        self.one_station("JFK")?;
        self.all_stations()?;
        self.correction()?;
        self.counters()
    }

    fn newest(&mut self, station: &str, rows: usize) -> anyhow::Result<()> {
        self.page.heading(&format!("1. The newest {rows} observations of {station}"))?;
        let how = "Station first, then the time turned around (Long.MAX_VALUE - milliseconds): the \
                   newest row is the station's first, so the newest N are a scan with a limit, and \
                   nothing is sorted.";
        self.page.note("technique", how)?;
        let table = self.backend.table(SENSORS)?;
        let range = KeyRange::station(station);
        let (found, cost) = self.read(SENSORS, || {
            table.scan(range.scan().limit(rows)).collect::<halite::Result<Vec<Row>>>()
        })?;
        self.range(&format!("{range} limit {rows}"), &cost)?;
        self.observations(&found)
    }

    fn one_station(&mut self, station: &str) -> anyhow::Result<()> {
        self.page.heading(&format!(
            "2. {station} on the evening of the blizzard, 8 February 2013, 22:00 to 03:00 UTC"
        ))?;
        let how = "A time range is one key range. Reversed times swap its ends: it starts at the \
                   reversed end and stops after the reversed start.";
        self.page.note("technique", how)?;
        let table = self.backend.table(SENSORS)?;
        let range = storm(station)?;
        let (found, cost) =
            self.read(SENSORS, || table.scan(range.scan()).collect::<halite::Result<Vec<Row>>>())?;
        self.range(&range.to_string(), &cost)?;
        self.observations(&found)
    }

    fn all_stations(&mut self) -> anyhow::Result<()> {
        self.page.heading("3. The same evening at all three airports, newest first")?;
        let how = "Scatter and gather: one scan for each station, each in its own region, merged \
                   by the reversed time. No row outside the evening is read.";
        self.page.note("technique", how)?;
        let table = self.backend.table(SENSORS)?;
        let ranges = STATIONS
            .iter()
            .map(|(station, _)| storm(station))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let (found, cost) = self.read(SENSORS, || merge(&table, &ranges))?;
        for range in &ranges[..ranges.len() - 1] {
            self.page.note("range", &range.to_string())?;
        }
        self.range(&ranges[ranges.len() - 1].to_string(), &cost)?;
        self.observations(&found)
    }

    fn correction(&mut self) -> anyhow::Result<()> {
        let (station, hour) = FAULTY;
        self.page.heading(&format!(
            "4. A corrected observation: the wind at {station} on 12 February 2013, 08:00 UTC"
        ))?;
        let how = "The published data has a wind of 1048 mph here. A correction is a put with a \
                   later timestamp: reads see the newest version, the family keeps five (VERSIONS \
                   => 5), and a read up to an earlier time sees what was known then.";
        self.page.note("technique", how)?;
        let table = self.backend.table(SENSORS)?;
        let time = milliseconds(hour)?;
        let key = row_key(station, time);
        let entered = correct(&table, station, time)?;
        let get = Get::new(key.clone()).column("data", "wind_speed");
        let (row, cost) = self.read(SENSORS, || table.get(get.clone().versions(5)))?;
        self.range(&format!("row {key}, column data:wind_speed, 5 versions"), &cost)?;
        let mut versions = TextTable::new(&["version", "entered (UTC)", ">wind", "note"]);
        let notes = [
            "the mean of the hours before and after: what a read returns",
            "a first guess at a lost decimal point",
            "as published",
        ];
        for (number, cell) in row.iter().enumerate() {
            let note = notes.get(number).copied().unwrap_or_default();
            versions.row([
                (row.len() - number).to_string(),
                date_and_hour(cell.timestamp()),
                mph(cell.value()),
                note.to_owned(),
            ]);
        }
        self.page.table(&versions)?;
        let then = milliseconds(CORRECTED[0])? + 1;
        let known = table.get(get.time_range(TimeRange::new(0, then)?))?;
        self.page.blank()?;
        let known = known.value("data", "wind_speed").map_or_else(|| "nothing".to_owned(), mph);
        self.page.note(
            "back then",
            &format!("a get with TIMERANGE up to {} returns {known}", date_and_hour(then)),
        )?;
        let state =
            if entered { "entered by this run" } else { "found; an earlier run entered them" };
        self.page.note("written", &format!("the two corrections were {state}"))?;
        Ok(())
    }

    fn counters(&mut self) -> anyhow::Result<()> {
        self.page.heading("5. Counters for each station and day")?;
        let how = "Each observation incremented its day's counters when it was loaded, in one \
                   atomic check-and-mutate that also marks the hour as counted: a load that is \
                   killed and run again counts nothing twice.";
        self.page.note("technique", how)?;
        let table = self.backend.table(DAILY)?;
        let range = |station: &str| KeyRange {
            start: day_key(station, DAYS.0),
            stop: day_key(station, DAYS.1) + "~",
        };
        let ranges: Vec<KeyRange> = STATIONS.iter().map(|(station, _)| range(station)).collect();
        let scan = |range: &KeyRange| {
            table.scan(range.scan().family("count")).collect::<halite::Result<Vec<Row>>>()
        };
        let (days, cost) =
            self.read(DAILY, || ranges.iter().map(scan).collect::<halite::Result<Vec<_>>>())?;
        for range in &ranges[..ranges.len() - 1] {
            self.page.note("range", &range.to_string())?;
        }
        self.range(&ranges[ranges.len() - 1].to_string(), &cost)?;
        self.page.table(&day_table(&days))?;
        let mut total = 0;
        for row in table.scan(Scan::all().column("count", "observations")) {
            total += count(&row?, "observations");
        }
        self.page.blank()?;
        self.page.note(
            "in all",
            &format!(
                "the counters of every station and day add up to {} observations",
                grouped(total)
            ),
        )?;
        Ok(())
    }

    /// Runs a read and computes its cost from the counters of the regions.
    fn read<T>(
        &self,
        table: &str,
        read: impl FnOnce() -> halite::Result<T>,
    ) -> anyhow::Result<(T, Cost)> {
        let counters = || {
            let status = self.backend.store()?.cluster_status().ok()?;
            let regions =
                status.regions.iter().filter(|load| load.region.table.qualifier() == table);
            Some(regions.fold((0, 0), |(examined, returned), load| {
                (examined + load.rows_examined, returned + load.rows_returned)
            }))
        };
        let before = counters();
        let began = Instant::now();
        let answer = read()?;
        let time = began.elapsed();
        let after = counters();
        let of = if table == SENSORS {
            format!(" of the table's {}", grouped(self.rows as u64))
        } else {
            String::new()
        };
        let rows =
            after.zip(before).map(|(after, before)| (after.0 - before.0, after.1 - before.1));
        Ok((answer, Cost { total: of, rows, time }))
    }

    fn range(&mut self, range: &str, cost: &Cost) -> anyhow::Result<()> {
        self.page.note("range", range)?;
        let time = format!("in {:.2} ms", cost.time.as_secs_f64() * 1e3);
        let of = &cost.total;
        match cost.rows {
            Some((examined, returned)) => self
                .page
                .note("rows", &format!("{examined}{of} examined, {returned} returned, {time}"))?,
            None => self.page.note("answer", &time)?,
        }
        Ok(())
    }

    fn observations(&mut self, rows: &[Row]) -> anyhow::Result<()> {
        let mut table = TextTable::new(&OBSERVATION_HEADINGS);
        for row in rows {
            let (station, time) = parse_key(row.key()).with_context(|| {
                format!("row {} is no observation's key", halite::to_string_binary(row.key()))
            })?;
            table.row(observation_entries(station, time, row));
        }
        Ok(self.page.table(&table)?)
    }
}

/// Merges the scans of several ranges by reversed time, smallest (newest) first.
fn merge(table: &BlockingTable, ranges: &[KeyRange]) -> halite::Result<Vec<Row>> {
    let mut scans: Vec<_> = ranges.iter().map(|range| table.scan(range.scan())).collect();
    let mut heads =
        scans.iter_mut().map(|scan| scan.next().transpose()).collect::<halite::Result<Vec<_>>>()?;
    let mut merged = Vec::new();
    loop {
        let newest = heads
            .iter()
            .enumerate()
            .filter_map(|(at, head)| Some((observation_time(head.as_ref()?), at)))
            .max_by_key(|(time, at)| (*time, usize::MAX - at));
        let Some((_, at)) = newest else { return Ok(merged) };
        let next = scans[at].next().transpose()?;
        merged.extend(std::mem::replace(&mut heads[at], next));
    }
}

fn storm(station: &str) -> anyhow::Result<KeyRange> {
    Ok(KeyRange::between(station, milliseconds(STORM.0)?, milliseconds(STORM.1)?))
}

/// Writes the corrections, unless they exist. Returns `true` if it wrote them.
fn correct(table: &BlockingTable, station: &str, time: i64) -> anyhow::Result<bool> {
    let wind = |hours: i64| -> anyhow::Result<(i64, f64)> {
        let row = table.get(
            Get::new(row_key(station, time + hours * 3_600_000)).column("data", "wind_speed"),
        )?;
        let cell = row
            .cell("data", "wind_speed")
            .with_context(|| format!("{station} has no wind {hours} hours from the faulty one"))?;
        Ok((cell.timestamp(), std::str::from_utf8(cell.value())?.parse()?))
    };
    let last = milliseconds(CORRECTED[1])?;
    if wind(0)?.0 == last {
        return Ok(false);
    }
    let mean = f64::midpoint(wind(-1)?.1, wind(1)?.1);
    for (entered, value) in
        [(milliseconds(CORRECTED[0])?, "104.836058".to_owned()), (last, mean.to_string())]
    {
        table.put(Put::new(row_key(station, time)).add_at("data", "wind_speed", entered, value))?;
    }
    Ok(true)
}

/// Returns a table with one row per day, with the counters of each station.
fn day_table(stations: &[Vec<Row>]) -> TextTable {
    let mut table = TextTable::new(&[
        "day",
        ">EWR hours",
        ">freezing",
        ">wet",
        ">JFK hours",
        ">freezing",
        ">wet",
        ">LGA hours",
        ">freezing",
        ">wet",
    ]);
    let days = stations.iter().map(Vec::len).max().unwrap_or(0);
    for day in 0..days {
        let rows = stations.iter().filter_map(|rows| rows.get(day));
        let name = rows
            .clone()
            .next()
            .and_then(|row| row.key().splitn(2, |&byte| byte == b'_').nth(1))
            .unwrap_or_default();
        let counts = rows.flat_map(|row| {
            ["observations", "freezing", "wet"].map(|counter| count(row, counter).to_string())
        });
        table.row(std::iter::once(String::from_utf8_lossy(name).into_owned()).chain(counts));
    }
    table
}

/// Returns a counter, 0 if it was never incremented.
fn count(row: &Row, counter: &str) -> u64 {
    row.value("count", counter)
        .and_then(|value| value.try_into().ok())
        .map_or(0, u64::from_be_bytes)
}

fn milliseconds(time: &str) -> anyhow::Result<i64> {
    Ok(time.parse::<jiff::Timestamp>()?.as_millisecond())
}
