//! Demo data: a year of hourly weather at three airports, embedded as a compressed CSV file.

use std::io::Read as _;

use anyhow::{Context as _, bail};

/// `examples/data/README.md` documents the source.
const PACKED: &[u8] = include_bytes!("../../../../examples/data/weather.csv.gz");

/// Measured fields, which become the qualifiers of a row.
pub(crate) const FIELDS: [&str; 9] =
    ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"];

/// Stations with the names of their airports, in key order.
pub(crate) const STATIONS: [(&str, &str); 3] =
    [("EWR", "Newark"), ("JFK", "John F. Kennedy"), ("LGA", "LaGuardia")];

/// One line of the file.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    pub(crate) station: String,
    /// Milliseconds since 1970.
    pub(crate) time_ms: i64,
    /// Measured values, as in the file.
    pub(crate) values: Vec<(&'static str, String)>,
}

impl Observation {
    /// Returns a measured value as a number.
    pub(crate) fn number(&self, field: &str) -> Option<f64> {
        self.values.iter().find(|(name, _)| *name == field)?.1.parse().ok()
    }
}

/// Returns all observations, in file order.
///
/// # Errors
/// Returns an error if a line has an unexpected format.
pub(crate) fn observations() -> anyhow::Result<Vec<Observation>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(PACKED)
        .read_to_string(&mut text)
        .context("the embedded weather.csv.gz")?;
    let mut lines = text.lines();
    let headings: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    lines
        .enumerate()
        .map(|(at, line)| {
            parse(&headings, line).with_context(|| format!("weather.csv line {}", at + 2))
        })
        .collect()
}

fn parse(headings: &[&str], line: &str) -> anyhow::Result<Observation> {
    let columns: Vec<&str> = line.split(',').collect();
    if columns.len() != headings.len() {
        bail!("it has {} columns instead of {}", columns.len(), headings.len());
    }
    let column = |name: &str| {
        headings
            .iter()
            .position(|heading| *heading == name)
            .map(|at| columns[at])
            .with_context(|| format!("no column {name}"))
    };
    let time: jiff::Timestamp = column("time_hour")?.parse()?;
    let mut values = Vec::new();
    for field in FIELDS {
        let value = column(field)?;
        // A missing measurement has no cell.
        if value != "NA" {
            values.push((field, value.to_owned()));
        }
    }
    Ok(Observation {
        station: column("origin")?.to_owned(),
        time_ms: time.as_millisecond(),
        values,
    })
}
