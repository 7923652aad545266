//! The tutorial's design for comparison: one row for each point.

use std::ops::{Bound, Range};
use std::sync::Arc;

use halite::rowkey::{KeyQuery, KeySchema, Plan, PlanOptions, Scatter, ScatterOptions, Value};
use halite::{
    BlockingCluster, BlockingTable, Error, Put, Result, Row, RowOp, Scan, block_on, declare_tables,
};

use crate::Reading;
use crate::key::POINT_TABLES;
use crate::sensors::Found;

const FAMILY: &str = "d";
const VALUE: &str = "v";

/// Readings of all devices, each in its own row with a key such as
/// `s1_9223370326393975807`. Cheap to clone.
#[derive(Clone)]
pub struct PointRows {
    table: BlockingTable,
    key: Arc<KeySchema>,
}

impl PointRows {
    /// Opens the table of a namespace, and creates it if it does not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        let declared = declare_tables(cluster, namespace, POINT_TABLES)?.pop();
        let declared = declared.ok_or_else(|| Error::invalid("one statement is one table"))?;
        let key = Arc::new(declared.declaration.key);
        Ok(Self { table: cluster.table(&declared.name)?, key })
    }

    /// Writes readings; of two of a device with one time the later one counts.
    ///
    /// # Errors
    /// `InvalidRequest` for a device whose name contains `_`; otherwise errors of the table.
    pub fn write(&self, readings: &[Reading]) -> Result<()> {
        let put = |Reading { device, at_ms, value }: &Reading| -> Result<RowOp> {
            let key = self.key.encode(&[Value::from(device.as_str()), Value::Signed(*at_ms)])?;
            Ok(Put::new(key.to_vec()).add(FAMILY, VALUE, value.to_be_bytes()).into())
        };
        let puts = readings.iter().map(put).collect::<Result<_>>()?;
        self.table.batch(puts)?.into_iter().try_for_each(|result| result.map(drop))
    }

    /// Returns readings of a device between two times (the second exclusive), newest first.
    ///
    /// # Errors
    /// Errors of the table.
    pub fn range(&self, device: &str, at_ms: Range<i64>, limit: usize) -> Result<Found> {
        let times = (Bound::Included(at_ms.start), Bound::Excluded(at_ms.end));
        let query = KeyQuery::all()
            .equals(0, Value::from(device).into_owned())
            .range(1, times.0.map(Value::Signed), times.1.map(Value::Signed))
            .limit(limit);
        let plan = Plan::new(&self.key, &query, &PlanOptions::default())?;
        let (table, options) = (Arc::clone(self.table.inner()), ScatterOptions::default());
        let mut rows = Scatter::new(table, Arc::new(plan), Scan::all(), &options, None)?;
        let mut readings = Vec::new();
        while let Some(row) = block_on(rows.next())? {
            readings.push(self.reading(&row)?);
        }
        Ok(Found { readings, examined: rows.examined() })
    }

    fn reading(&self, row: &Row) -> Result<Reading> {
        let fields = self.key.decode(row.key())?;
        let value = row.value(FAMILY, VALUE).and_then(|bytes| bytes.try_into().ok());
        match (fields.values(), value) {
            ([Value::Text(device), Value::Signed(at_ms)], Some(value)) => Ok(Reading {
                device: device.to_string(),
                at_ms: *at_ms,
                value: f64::from_be_bytes(value),
            }),
            _ => Err(Error::corrupt(format!(
                "sensor_points, row {}: it is not a device, a time and 8 bytes; delete it",
                halite::to_string_binary(row.key())
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sensors;

    #[test]
    fn k12_both_designs_return_the_same_newest_first() {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let sensors = Sensors::open(&store, "timeseries").unwrap();
        let points = PointRows::open(&store, "timeseries").unwrap();
        let reading = |device: &str, at_ms: i64| Reading {
            device: device.to_owned(),
            at_ms,
            value: f64::from(i32::try_from(at_ms % 1000).unwrap()),
        };
        let hour = 3_600_000;
        let written: Vec<_> = [0, 10, hour - 1, hour, 30 * 24 * hour]
            .iter()
            .flat_map(|at| [reading("s1", 1_710_460_800_000 + at), reading("s10", *at)])
            .collect();
        sensors.write(&written).unwrap();
        points.write(&written).unwrap();
        for (range, limit, count) in [
            (0..i64::MAX, 10, 5),
            (0..i64::MAX, 2, 2),
            (1_710_460_800_010..1_710_460_800_000 + hour, 10, 2),
        ] {
            let one = sensors.range("s1", range.clone(), limit).unwrap().readings;
            let other = points.range("s1", range, limit).unwrap().readings;
            assert_eq!((one.len(), &one), (count, &other));
            assert!(one.is_sorted_by(|a, b| a.at_ms > b.at_ms), "{one:?}");
        }
    }
}
