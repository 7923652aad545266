//! Repair: samples that a stopped writer left in the first table only.

use std::collections::HashMap;
use std::ops::Range;

use halite::rowkey::Value;
use halite::rowkey::typed::TsMillis;
use halite::{Error, Result, block_on};

use crate::Sample;
use crate::key::{HostKey, MetricKey};
use crate::monitor::{Monitor, read_metrics};

/// Time of a row.
const QUARTER_MS: i64 = 900_000;

impl Monitor {
    /// Adds the samples between two times that are in `by_host` and not, or with another value, in
    /// `by_metric`. Returns their number. Call it after a writer has stopped, for the times since it
    /// last wrote; other writers should not change samples of these times meanwhile.
    pub fn repair(&self, at_ms: Range<i64>) -> Result<u64> {
        let query = HostKey::scan().ts(TsMillis(at_ms.start)..TsMillis(at_ms.end));
        let mut points = self.by_host.read(query.query())?;
        let (mut row, mut repaired): (Vec<Sample>, u64) = (Vec::new(), 0);
        while let Some(point) = block_on(points.next())? {
            let sample = match &point.fields[..] {
                [Value::Text(host), Value::Text(metric), Value::Signed(at_ms)] => Sample {
                    host: host.to_string(),
                    metric: metric.to_string(),
                    at_ms: *at_ms,
                    value: point.value,
                },
                fields => {
                    return Err(Error::corrupt(format!(
                        "by_host: {fields:?} are not a host, a metric and a time; create the table \
                         with its own key"
                    )));
                }
            };
            if row.first().is_some_and(|first| !is_same_row(first, &sample)) {
                repaired += self.repair_row(&row)?;
                row.clear();
            }
            row.push(sample);
        }
        Ok(repaired + self.repair_row(&row)?)
    }

    /// Compares the samples of one row of `by_host` with those of the row in `by_metric`.
    fn repair_row(&self, row: &[Sample]) -> Result<u64> {
        let Some(Sample { host, metric, at_ms, .. }) = row.first() else { return Ok(0) };
        let start_ms = at_ms / QUARTER_MS * QUARTER_MS;
        let times = TsMillis(start_ms)..TsMillis(start_ms + QUARTER_MS);
        let query = MetricKey::scan().metric(&metric[..]).ts(times).host(&host[..]);
        let found = read_metrics(&self.by_metric, query.query())?.samples;
        let found: HashMap<i64, u64> =
            found.iter().map(|sample| (sample.at_ms, sample.value.to_bits())).collect();
        let is_missing =
            |sample: &&Sample| found.get(&sample.at_ms) != Some(&sample.value.to_bits());
        let missing: Vec<Sample> = row.iter().filter(is_missing).cloned().collect();
        self.write_by_metric(&missing)?;
        Ok(missing.len() as u64)
    }
}

fn is_same_row(one: &Sample, other: &Sample) -> bool {
    let name = |sample: &Sample| (sample.host.clone(), sample.metric.clone());
    name(one) == name(other) && one.at_ms / QUARTER_MS == other.at_ms / QUARTER_MS
}
