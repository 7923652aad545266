//! Writes and reads of the table.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halite::rowkey::series::{Measurement, Series, SeriesPoints};
use halite::rowkey::typed::TsMillis;
use halite::rowkey::{KeyQuery, Scatter, ScatterOptions, Value};
use halite::{
    BlockingCluster, BlockingTable, Error, Result, Scan, TableName, block_on, declare_tables,
};

use crate::Reading;
use crate::key::{RETENTION_MS, SensorKey, TABLES};

/// Readings of all devices, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Sensors {
    series: Arc<Series>,
    table: BlockingTable,
}

/// Readings that a query returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Readings, in the order that the query states.
    pub readings: Vec<Reading>,
    /// Rows that the table returned for them.
    pub examined: u64,
}

/// Readings that are read as they are taken.
pub struct Readings(SeriesPoints);

/// Mean of the readings of one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Average {
    /// Start of the interval in milliseconds since 1970.
    pub at_ms: i64,
    /// Number of readings, at least 1.
    pub readings: u64,
    pub mean: f64,
}

impl Sensors {
    /// Opens the table of a namespace, and creates it if it does not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let name = TableName::new(namespace, SensorKey::TABLE)?;
        let series = block_on(Series::for_table(&**cluster.cluster(), &name, None))?;
        Ok(Self { series: Arc::new(series), table: cluster.table(&name)? })
    }

    /// Writes readings, in order: of two readings of a device with one time the later one counts,
    /// here and in later calls.
    pub fn write(&self, readings: &[Reading]) -> Result<()> {
        let points: Vec<Measurement> = readings
            .iter()
            .map(|Reading { device, at_ms, value }| Measurement {
                fields: vec![Value::from(device.as_str()).into_owned(), Value::Signed(*at_ms)],
                value: *value,
            })
            .collect();
        block_on(self.series.write(&points))
    }

    /// Returns readings of a device between two times (the second exclusive), newest first.
    pub fn range(&self, device: &str, at_ms: Range<i64>, limit: usize) -> Result<Found> {
        let query =
            SensorKey::scan().device_id(device).ts(TsMillis(at_ms.start)..TsMillis(at_ms.end));
        self.read(&query.limit(limit).query().clone())
    }

    /// Returns the readings of the last days before `now_ms` (inclusive), newest first. The number
    /// of days is multiplied in 64 bits; 25 days of milliseconds do not fit into 32.
    pub fn recent(&self, device: &str, days: u32, now_ms: i64) -> Result<Found> {
        let first_ms = now_ms - i64::from(days) * 24 * 3_600_000;
        self.range(device, first_ms.max(0)..now_ms + 1, usize::MAX)
    }

    /// Returns the readings of a device that are not older than [`RETENTION_MS`], newest first. The
    /// store removes whole hours at some time after that, so the exact end is here.
    pub fn retained(&self, device: &str, now_ms: i64) -> Result<Found> {
        self.range(device, (now_ms - RETENTION_MS).max(0)..now_ms + 1, usize::MAX)
    }

    /// Returns the newest reading of a device: the first row of its range.
    ///
    /// # Errors
    /// Errors of the table.
    pub fn latest(&self, device: &str) -> Result<Found> {
        let plan = SensorKey::scan().device_id(device).limit(1).plan()?;
        let (table, options) = (Arc::clone(self.table.inner()), ScatterOptions::default());
        let mut rows = Scatter::new(table, Arc::new(plan), Scan::all(), &options, None)?;
        let mut readings = Vec::new();
        if let Some(row) = block_on(rows.next())? {
            let hour_ms = SensorKey::decode(row.key())?.ts.0;
            let points = self.series.column().points(row.iter()).map_err(Error::from)?.points;
            readings.extend(points.last().map(|point| Reading {
                device: device.to_owned(),
                at_ms: hour_ms + point.offset,
                value: point.value,
            }));
        }
        Ok(Found { readings, examined: rows.examined() })
    }

    /// Returns the readings of all devices between two times (the second exclusive), by device as
    /// the key is, those of each newest first. The ranges of the 16 salts are read at once.
    pub fn fleet(&self, at_ms: Range<i64>) -> Result<Readings> {
        let query = SensorKey::scan().ts(TsMillis(at_ms.start)..TsMillis(at_ms.end));
        Ok(Readings(self.series.read(query.query())?))
    }

    /// Returns the means of intervals of `step_ms` between two times, oldest first. Intervals
    /// without a reading are left out.
    ///
    /// # Errors
    /// `InvalidRequest` for an interval that is not positive; otherwise as [`Series::read`].
    pub fn averages(&self, device: &str, at_ms: Range<i64>, step_ms: i64) -> Result<Vec<Average>> {
        if step_ms <= 0 {
            return Err(Error::invalid(format!("intervals of {step_ms} ms: use 1 or more")));
        }
        let mut sums: BTreeMap<i64, (u64, f64)> = BTreeMap::new();
        let query =
            SensorKey::scan().device_id(device).ts(TsMillis(at_ms.start)..TsMillis(at_ms.end));
        for reading in Readings(self.series.read(query.query())?) {
            let reading = reading?;
            let sum = sums.entry(reading.at_ms / step_ms * step_ms).or_default();
            *sum = (sum.0 + 1, sum.1 + reading.value);
        }
        #[expect(clippy::cast_precision_loss, reason = "a number of readings")]
        let average = |(at_ms, (readings, sum)): (i64, (u64, f64))| Average {
            at_ms,
            readings,
            mean: sum / readings as f64,
        };
        Ok(sums.into_iter().map(average).collect())
    }

    /// Packs the points written so far, and returns how many. A Halite store does it at major
    /// compactions; on other clusters call it periodically.
    pub fn pack(&self) -> Result<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        Ok(block_on(self.series.pack(&KeyQuery::all(), now_ms))?.points)
    }

    fn read(&self, query: &KeyQuery) -> Result<Found> {
        let mut found = Readings(self.series.read(query)?);
        let readings = found.by_ref().collect::<Result<_>>()?;
        Ok(Found { readings, examined: found.examined() })
    }
}

impl Readings {
    /// Returns the number of rows that the table returned so far.
    pub fn examined(&self) -> u64 {
        self.0.examined()
    }
}

impl Iterator for Readings {
    type Item = Result<Reading>;

    fn next(&mut self) -> Option<Self::Item> {
        let point = block_on(self.0.next()).transpose()?;
        Some(point.and_then(|Measurement { fields, value }| match &fields[..] {
            [Value::Text(device), Value::Signed(at_ms)] => {
                Ok(Reading { device: device.to_string(), at_ms: *at_ms, value })
            }
            fields => Err(Error::corrupt(format!(
                "{}: {fields:?} are not a device and a time; create the table with its own key",
                SensorKey::TABLE
            ))),
        }))
    }
}
