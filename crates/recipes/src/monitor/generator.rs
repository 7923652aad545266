//! Generated samples: hosts that send some metrics every minute; some are late, some corrected.

use std::sync::Arc;

use anyhow::Result;
use monitor::Sample;

use super::flights::Flights;
use crate::random::Random;
use crate::recipe::{Load, T0};

const MINUTE_MS: i64 = 60_000;
const METRICS: [&str; 8] = ["cpu", "mem", "disk", "net.in", "net.out", "load", "load.5m", "swap"];
/// Samples of one metric of one host, in the mean: two hours.
const SERIES_SAMPLES: u64 = 120;
const MAX_HOSTS: u64 = 100_000;
const YEAR_MS: i64 = 365 * 24 * 3_600_000;

/// Generator of samples by their numbers, or the events of a file.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) load: Load,
    flights: Option<Arc<Flights>>,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load, flights: Option<Arc<Flights>>) -> Self {
        Self { load, flights }
    }

    /// Returns the number of hosts, at least 3.
    pub fn hosts(&self) -> u64 {
        match &self.flights {
            Some(flights) => flights.hosts.len() as u64,
            None => (self.load.items / (SERIES_SAMPLES * METRICS.len() as u64)).clamp(3, MAX_HOSTS),
        }
    }

    /// Returns the name of a host. Some names begin with others.
    pub fn host(&self, rank: u64) -> String {
        match &self.flights {
            Some(flights) => name(&flights.hosts, rank),
            None => match rank {
                1 => "web-10".to_owned(),
                9 => "web-2".to_owned(),
                other => format!("web-{}", other + 1),
            },
        }
    }

    /// Returns the number of metrics.
    pub fn metrics(&self) -> u64 {
        self.flights.as_ref().map_or(METRICS.len(), |flights| flights.metrics.len()) as u64
    }

    /// Returns the name of a metric. Some names begin with others.
    pub fn metric(&self, rank: u64) -> String {
        match &self.flights {
            Some(flights) => name(&flights.metrics, rank),
            None => METRICS[usize::try_from(rank).unwrap_or(0) % METRICS.len()].to_owned(),
        }
    }

    /// Returns a time after the items before a number.
    pub fn end_ms(&self, items: u64) -> i64 {
        match &self.flights {
            Some(flights) => {
                let rounds = items.saturating_sub(1) / flights.source.items();
                flights.last_ms + 1 + signed(rounds) * YEAR_MS
            }
            None => T0 + signed(items.div_ceil(self.series()) + 1) * MINUTE_MS,
        }
    }

    /// Returns an item.
    ///
    /// # Errors
    /// A file that can no longer be read.
    pub fn item(&self, number: u64) -> Result<Sample> {
        if let Some(flights) = &self.flights {
            let (year, sample) = flights.source.item(number)?;
            return Ok(Sample { at_ms: sample.at_ms + signed(year) * YEAR_MS, ..sample });
        }
        let series = self.series();
        let (slot, minute) = (number % series, number / series);
        let mut random = Random::new(self.load.seed, 2, number);
        // A sample of a minute before replaces the one that was sent, or is late.
        let back = if random.one_in(100) { random.below(minute.min(30) + 1) } else { 0 };
        let minute = minute - back;
        let (host, metric) = (slot / METRICS.len() as u64, slot % METRICS.len() as u64);
        let tenths = u32::try_from(random.below(1_000)).unwrap_or(0);
        Ok(Sample {
            host: self.host(host),
            metric: self.metric(metric),
            // Hosts do not send in the same second.
            at_ms: T0 + signed(minute) * MINUTE_MS + signed(host % 60) * 1_000,
            value: f64::from(tenths) / 10.0,
        })
    }

    fn series(&self) -> u64 {
        self.hosts() * METRICS.len() as u64
    }
}

fn name(names: &[String], rank: u64) -> String {
    names.get(usize::try_from(rank).unwrap_or(usize::MAX)).cloned().unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 4_000 }, None);
        let (mut samples, mut corrected) = (HashMap::new(), 0);
        for number in 0..4_000 {
            let Sample { host, metric, at_ms, value } = generator.item(number).unwrap();
            assert!(at_ms < generator.end_ms(4_000));
            corrected += u32::from(samples.insert((host, metric, at_ms), value).is_some());
        }
        assert!((10..100).contains(&corrected), "{corrected}");
        let quarters = samples.keys().map(|(_, _, at_ms)| at_ms / 900_000);
        let (first, last) = (quarters.clone().min().unwrap(), quarters.max().unwrap());
        assert!(last - first >= 4, "samples are in several rows");
    }
}
