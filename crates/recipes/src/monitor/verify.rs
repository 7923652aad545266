//! Model of the samples in memory, and the comparison of a design with it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Result, ensure};
use monitor::{Found, Sample};

use super::design::Design;
use super::generator::Generator;
use crate::recipe::Verified;

const QUARTER_MS: i64 = 900_000;
const ALL_TIMES: Range<i64> = 0..i64::MAX;

/// Values by host, metric and time.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle(BTreeMap<(String, String), BTreeMap<i64, f64>>);

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn oracle(design: &dyn Design, generator: &Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    for number in 0..written {
        oracle.apply(generator.item(number)?);
    }
    let next = generator.item(written)?;
    let found = design.host_metric(&next.host, &next.metric, next.at_ms..next.at_ms + 1)?;
    if found.samples.contains(&next) {
        oracle.apply(next);
    }
    Ok(oracle)
}

impl Oracle {
    /// Adds a sample, which replaces one at the same time.
    pub(super) fn apply(&mut self, sample: Sample) {
        let series = self.0.entry((sample.host, sample.metric)).or_default();
        series.insert(sample.at_ms, sample.value);
    }

    /// Returns the samples of the series that match, by host and metric, each newest first.
    fn series(&self, at_ms: &Range<i64>, matches: impl Fn(&str, &str) -> bool) -> Vec<Sample> {
        let matching = self.0.iter().filter(|((host, metric), _)| matches(host, metric));
        let samples = matching.flat_map(|((host, metric), values)| {
            values.range(at_ms.clone()).rev().map(|(at_ms, value)| Sample {
                host: host.clone(),
                metric: metric.clone(),
                at_ms: *at_ms,
                value: *value,
            })
        });
        samples.collect()
    }

    /// Returns the samples of a metric, newest first, those of one time by host.
    pub(super) fn metric(&self, metric: &str, at_ms: Range<i64>) -> Vec<Sample> {
        let mut samples = self.series(&at_ms, |_, name| name == metric);
        samples.sort_by(|a, b| (b.at_ms, &a.host).cmp(&(a.at_ms, &b.host)));
        samples
    }

    /// Compares every query.
    pub(super) fn verify(&self, design: &dyn Design) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut check = |what: &str, found: Found, expected: &[Sample], rows: u64| -> Result<()> {
            compare(what, &found, expected)?;
            ensure!(
                found.examined <= rows,
                "{what}: {} rows were examined, at most {rows} are needed",
                found.examined
            );
            verified.add(expected.len() as u64, found.examined);
            Ok(())
        };
        for range in self.ranges() {
            for (host, metric) in self.0.keys() {
                let expected = self.series(&range, |a, b| (a, b) == (host, metric));
                let found = design.host_metric(host, metric, range.clone())?;
                let rows = self.rows(&range, |a, b| (a, b) == (host, metric));
                check(&format!("{metric} of {host}, {range:?} ms"), found, &expected, rows)?;
            }
            let hosts: BTreeSet<_> = self.0.keys().map(|(host, _)| host).collect();
            for host in hosts {
                let expected = self.series(&range, |name, _| name == host);
                let found = design.host(host, range.clone())?;
                // The times of each metric are skipped to, or read over where that is cheaper.
                let rows = self.rows(&ALL_TIMES, |name, _| name == host);
                check(&format!("host {host}, {range:?} ms"), found, &expected, rows)?;
            }
            let metrics: BTreeSet<_> = self.0.keys().map(|(_, metric)| metric).collect();
            for metric in metrics {
                let expected = self.metric(metric, range.clone());
                let what = format!("metric {metric}, {range:?} ms");
                let rows = self.rows(&range, |_, name| name == metric);
                check(&what, design.metric(metric, range.clone())?, &expected, rows)?;
                let found = design.metric_by_host(metric, range.clone())?;
                compare(&format!("{what}, by host"), &found, &expected)?;
            }
        }
        Ok(verified)
    }

    /// Returns the number of rows of the series that match: a quarter of an hour is a row, which is
    /// read as a whole if the range begins or ends within it.
    fn rows(&self, at_ms: &Range<i64>, matches: impl Fn(&str, &str) -> bool) -> u64 {
        let start = at_ms.start / QUARTER_MS * QUARTER_MS;
        let end = at_ms.end.saturating_add(QUARTER_MS - 1) / QUARTER_MS * QUARTER_MS;
        let samples = self.series(&(start..end), matches);
        let rows: BTreeSet<_> = samples
            .into_iter()
            .map(|sample| (sample.host, sample.metric, sample.at_ms / QUARTER_MS))
            .collect();
        rows.len() as u64
    }

    /// Returns all times, and ranges that begin or end at a sample.
    fn ranges(&self) -> [Range<i64>; 3] {
        let times: BTreeSet<i64> = self.0.values().flat_map(BTreeMap::keys).copied().collect();
        let middle = times.iter().nth(times.len() / 2).copied().unwrap_or(0);
        [ALL_TIMES, middle..i64::MAX, 0..middle]
    }
}

/// Compares samples with the expected ones.
pub(super) fn compare(what: &str, found: &Found, expected: &[Sample]) -> Result<()> {
    let samples = &found.samples;
    if samples == expected {
        return Ok(());
    }
    let at = samples.iter().zip(expected).take_while(|(a, b)| a == b).count();
    anyhow::bail!(
        "{what}: {} samples, expected {}; sample {at} is {:?}, expected {:?}",
        samples.len(),
        expected.len(),
        samples.get(at),
        expected.get(at)
    )
}
