//! Model of the sensors in memory, and the comparison of a design with it.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, ensure};
use timeseries::{RETENTION_MS, Reading};

use super::design::Design;
use super::generator::Generator;
use crate::recipe::Verified;

const ALL_TIMES: Range<i64> = 0..i64::MAX;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Values of each device by time.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle(BTreeMap<String, BTreeMap<i64, f64>>);

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn oracle(design: &dyn Design, generator: &Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    for number in 0..written {
        oracle.apply(generator.item(number)?);
    }
    let next = generator.item(written)?;
    let found = design.range(&next.device, next.at_ms..next.at_ms + 1)?;
    if found.readings.contains(&next) {
        oracle.apply(next);
    }
    Ok(oracle)
}

impl Oracle {
    /// Adds a reading, which replaces one at the same time.
    pub(super) fn apply(&mut self, reading: Reading) {
        self.0.entry(reading.device).or_default().insert(reading.at_ms, reading.value);
    }

    /// Returns the readings of a device within a range of times, newest first.
    pub(super) fn of(&self, device: &str, at_ms: Range<i64>) -> Vec<Reading> {
        let values = self.0.get(device).into_iter().flat_map(|values| values.range(at_ms.clone()));
        let readings = values.map(|(at_ms, value)| Reading {
            device: device.to_owned(),
            at_ms: *at_ms,
            value: *value,
        });
        let mut readings: Vec<Reading> = readings.collect();
        readings.reverse();
        readings
    }

    /// Compares every query.
    pub(super) fn verify(&self, design: &dyn Design, end_ms: i64) -> Result<Verified> {
        let mut verified = Verified::default();
        for device in self.0.keys() {
            self.verify_device(design, device, end_ms, &mut verified)?;
        }
        let times = self.0.values().flat_map(BTreeMap::keys).copied();
        let (first, last) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        for range in [first..first + 1, first..first + HOUR_MS, last - HOUR_MS / 2..last + 1] {
            let expected: Vec<Reading> =
                self.0.keys().flat_map(|device| self.of(device, range.clone())).collect();
            let found = design.fleet(range.clone())?;
            compare("all devices", &format!("{range:?} ms"), &found.readings, &expected)?;
            verified.add(expected.len() as u64, found.examined);
        }
        Ok(verified)
    }

    fn verify_device(
        &self,
        design: &dyn Design,
        device: &str,
        end_ms: i64,
        verified: &mut Verified,
    ) -> Result<()> {
        let all = self.of(device, ALL_TIMES);
        let middle = all.get(all.len() / 2).map_or(0, |reading| reading.at_ms);
        for range in [ALL_TIMES, middle..end_ms, 0..middle, middle..middle + 1] {
            let found = design.range(device, range.clone())?;
            let expected = self.of(device, range.clone());
            compare(device, &format!("times {range:?} ms"), &found.readings, &expected)?;
            verified.add(expected.len() as u64, found.examined);
        }
        let newest = all.first().map_or(0, |reading| reading.at_ms);
        for days in [1, 30, 40] {
            let found = design.recent(device, days, newest)?;
            let first = newest - i64::from(days) * DAY_MS;
            let expected = self.of(device, first..newest + 1);
            compare(device, &format!("{days} days"), &found.readings, &expected)?;
            verified.add(expected.len() as u64, found.examined);
        }
        // The oldest reading that is kept has exactly the age of the retention.
        for first in [middle, middle + 1] {
            let found = design.retained(device, first + RETENTION_MS)?;
            let expected = self.of(device, first..first + RETENTION_MS + 1);
            compare(device, "what is kept", &found.readings, &expected)?;
            verified.add(expected.len() as u64, found.examined);
        }
        let latest = design.latest(device)?;
        compare(device, "latest", &latest.readings, &all[..1])?;
        ensure!(latest.examined == 1, "{device}: the latest reading took {} rows", latest.examined);
        verified.add(1, latest.examined);
        self.verify_averages(design, device, middle..end_ms)
    }

    fn verify_averages(&self, design: &dyn Design, device: &str, at_ms: Range<i64>) -> Result<()> {
        let mut sums: BTreeMap<i64, (u64, f64)> = BTreeMap::new();
        for reading in self.of(device, at_ms.clone()) {
            let sum = sums.entry(reading.at_ms / HOUR_MS * HOUR_MS).or_default();
            *sum = (sum.0 + 1, sum.1 + reading.value);
        }
        let found = design.averages(device, at_ms, HOUR_MS)?;
        ensure!(
            found.len() == sums.len(),
            "{device}: means of {} hours, expected {}",
            found.len(),
            sums.len()
        );
        for (average, (hour, (count, sum))) in found.iter().zip(sums) {
            #[expect(clippy::cast_precision_loss, reason = "a number of readings")]
            let mean = sum / count as f64;
            ensure!(
                (average.at_ms, average.readings) == (hour, count)
                    && (average.mean - mean).abs() <= 1e-9 * mean.abs(),
                "{device}: the mean of hour {hour} is {average:?}, expected {mean} of {count}"
            );
        }
        Ok(())
    }
}

/// Compares readings with the expected ones.
pub(super) fn compare(
    device: &str,
    what: &str,
    found: &[Reading],
    expected: &[Reading],
) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    anyhow::bail!(
        "{device}, {what}: {} readings, expected {}; reading {at} is {:?}, expected {:?}",
        found.len(),
        expected.len(),
        found.get(at),
        expected.get(at)
    )
}
