//! Generated readings: devices with a steady period or a jitter, of which some arrive late and some
//! are corrected.

use std::sync::Arc;

use anyhow::Result;
use timeseries::Reading;

use super::values::{VALUE_MODELS, ValueModel};
use super::weather::Weather;
use crate::random::Random;
use crate::recipe::{Load, T0};

/// Time between two readings of a device.
pub(super) const PERIOD_MS: i64 = 10_000;
const JITTER_MS: u64 = 20;
const READINGS_PER_DEVICE: u64 = 5_000;
const MAX_DEVICES: u64 = 100_000;
/// Ticks after which a late reading arrives.
const LATE_TICKS: u64 = 64;
/// Time for which all devices pause after a quarter of their readings, so that windows of a month
/// end in between.
const PAUSE_MS: i64 = 35 * 24 * 3_600_000;
/// Time of one round of a file.
const YEAR_MS: i64 = 365 * 24 * 3_600_000;

/// Generator of readings by their numbers, or the readings of a file.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) load: Load,
    weather: Option<Arc<Weather>>,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load, weather: Option<Arc<Weather>>) -> Self {
        Self { load, weather }
    }

    /// Returns the number of devices, at least 4.
    pub fn devices(&self) -> u64 {
        match &self.weather {
            Some(weather) => weather.devices.len() as u64,
            None => (self.load.items / READINGS_PER_DEVICE).clamp(4, MAX_DEVICES),
        }
    }

    /// Returns the name of a device. Some names begin with others.
    pub fn device(&self, rank: u64) -> String {
        match &self.weather {
            Some(weather) => {
                let rank = usize::try_from(rank).unwrap_or(usize::MAX);
                weather.devices.get(rank).cloned().unwrap_or_default()
            }
            // The second name begins with the first.
            None => match rank {
                1 => "s10".to_owned(),
                9 => "s2".to_owned(),
                other => format!("s{}", other + 1),
            },
        }
    }

    /// Returns the model of a device's values.
    pub fn model(rank: u64) -> ValueModel {
        VALUE_MODELS[usize::try_from(rank % 4).unwrap_or(0)]
    }

    /// Returns the greatest time of the items before a number, or a little more.
    pub fn end_ms(&self, items: u64) -> i64 {
        match &self.weather {
            Some(weather) => {
                let rounds = items.saturating_sub(1) / weather.source.items();
                weather.last_ms + i64::try_from(rounds).unwrap_or(0) * YEAR_MS
            }
            None => self.time_ms(items.div_ceil(self.devices()) + LATE_TICKS),
        }
    }

    /// Returns an item.
    ///
    /// # Errors
    /// A file that can no longer be read.
    pub fn item(&self, number: u64) -> Result<Reading> {
        if let Some(weather) = &self.weather {
            let (year, reading) = weather.source.item(number)?;
            let later_ms = i64::try_from(year).unwrap_or(0) * YEAR_MS;
            return Ok(Reading { at_ms: reading.at_ms + later_ms, ..reading });
        }
        let (rank, slot) = (number % self.devices(), number / self.devices());
        let mut random = Random::new(self.load.seed, 2, number);
        if slot > 0 && random.one_in(1_000) {
            // The reading before is sent again with another value, which replaces it.
            let reading = self.reading(rank, self.tick(rank, slot - 1));
            return Ok(Reading { value: reading.value + 1.0, ..reading });
        }
        Ok(self.reading(rank, self.tick(rank, slot)))
    }

    /// Returns the tick whose reading arrives in a slot: the slot's own, except that one of 100
    /// changes places with the one 64 ticks later.
    fn tick(&self, rank: u64, slot: u64) -> u64 {
        let (window, place) = (slot / (2 * LATE_TICKS), slot % (2 * LATE_TICKS));
        let pair = window * LATE_TICKS + place % LATE_TICKS;
        if !Random::new(self.load.seed ^ rank.rotate_left(32), 3, pair).one_in(100) {
            slot
        } else if place < LATE_TICKS {
            slot + LATE_TICKS
        } else {
            slot - LATE_TICKS
        }
    }

    fn reading(&self, rank: u64, tick: u64) -> Reading {
        let jitter = if rank / 4 % 2 == 1 {
            Random::new(self.load.seed ^ rank.rotate_left(32), 4, tick).below(JITTER_MS)
        } else {
            0
        };
        Reading {
            device: self.device(rank),
            at_ms: self.time_ms(tick) + i64::try_from(jitter).unwrap_or(0),
            value: Self::model(rank).value(self.load.seed, rank, tick),
        }
    }

    /// Returns the time of a tick without jitter.
    fn time_ms(&self, tick: u64) -> i64 {
        let quarter = self.load.items / self.devices() / 4;
        let pause_ms = if tick < quarter { 0 } else { PAUSE_MS };
        T0 + i64::try_from(tick).unwrap_or(0) * PERIOD_MS + pause_ms
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 40_000 }, None);
        let mut newest: HashMap<String, i64> = HashMap::new();
        let (mut late, mut corrected, mut times) = (0, 0, HashMap::new());
        for number in 0..40_000 {
            let Reading { device, at_ms, value } = generator.item(number).unwrap();
            let before = newest.entry(device.clone()).or_default();
            late += u32::from(at_ms < *before && *before - at_ms < 1_000_000);
            *before = at_ms.max(*before);
            if let Some(earlier) = times.insert((device, at_ms), value) {
                corrected += u32::from(earlier.to_bits() != value.to_bits());
            }
        }
        assert!((5..200).contains(&corrected) && late > 200, "{corrected} {late}");
        assert_eq!(newest.len(), 8);
        let span = newest["s1"] - T0;
        assert!(span > i64::from(i32::MAX) && span > 30 * 86_400_000, "{span}");
        assert!(newest.values().all(|at_ms| *at_ms <= generator.end_ms(40_000)));
        let names: Vec<&String> = newest.keys().collect();
        assert!(names.iter().any(|a| names.iter().any(|b| a != b && a.starts_with(&b[..]))));
    }
}
