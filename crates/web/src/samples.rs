//! Samples of the requests of every region, for rates and for series of the last ten minutes.
//!
//! One sample of all regions is taken every [`SAMPLE_PERIOD`]. A region without requests in the
//! window costs its totals only (about 100 bytes); the others hold a ring of [`SERIES_LEN`] pairs
//! of rates besides, 480 bytes, for at most [`MAX_SERIES`] regions. So the memory of 100,000 busy
//! regions is below 64 MB.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use halite_types::RegionLoad;

use crate::statistics::{float, round};

/// Time between samples.
pub(crate) const SAMPLE_PERIOD: Duration = Duration::from_secs(10);

/// Rates of a series.
pub(crate) const SERIES_LEN: usize = 60;

/// Maximum regions with series; the other ones have rates only.
const MAX_SERIES: usize = 100_000;

/// Minimum time over which a rate is computed.
const RATE_PERIOD: Duration = Duration::from_secs(5);

/// Requests per second; NaN if they are not known yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) reads: f32,
    pub(crate) writes: f32,
}

impl Rates {
    pub(crate) const UNKNOWN: Self = Self { reads: f32::NAN, writes: f32::NAN };

    /// Returns the reads per second, if they are known.
    pub(crate) fn reads_per_s(self) -> Option<f64> {
        known(self.reads)
    }

    /// Returns the writes per second, if they are known.
    pub(crate) fn writes_per_s(self) -> Option<f64> {
        known(self.writes)
    }

    /// Returns all requests per second, if they are known.
    pub(crate) fn sum(self) -> Option<f64> {
        known(self.reads + self.writes)
    }
}

fn known(rate: f32) -> Option<f64> {
    (!rate.is_nan()).then(|| round(f64::from(rate)))
}

/// Requests of a region since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Totals {
    reads: u64,
    writes: u64,
}

impl Totals {
    fn of(load: &RegionLoad) -> Self {
        Self { reads: load.read_requests, writes: load.write_requests }
    }

    /// Returns the rates since earlier totals. Lower totals are those of a region that was opened
    /// again and began at zero.
    fn rates_since(self, before: Self, seconds: f64) -> Rates {
        #[expect(clippy::cast_possible_truncation, reason = "a figure of a few digits")]
        let rate = |now: u64, before: u64| {
            (float(now.checked_sub(before).unwrap_or(now)) / seconds) as f32
        };
        Rates { reads: rate(self.reads, before.reads), writes: rate(self.writes, before.writes) }
    }
}

type Ring = Box<[Rates; SERIES_LEN]>;

#[derive(Debug)]
struct RegionSamples {
    /// Number of the first sample with this region.
    first: u64,
    /// Number of the last one.
    last: u64,
    totals: Totals,
    totals_before: Totals,
    /// Rates between samples, that of sample `n` at `n % SERIES_LEN`; `None` if all are zero.
    ring: Option<Ring>,
}

/// Rates of the reads and of the writes of a region, oldest first; `None` where nothing was
/// recorded.
pub(crate) type Series = (Vec<Option<f64>>, Vec<Option<f64>>);

/// Samples of all regions.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    regions: HashMap<u128, RegionSamples>,
    /// Number of the last sample; the first is 1.
    number: u64,
    /// Times of the last sample and of the one before.
    times: Option<(Instant, Option<Instant>)>,
    rings: usize,
    /// Requests per second of all regions, newest first, at most [`SERIES_LEN`].
    sums: VecDeque<f64>,
}

/// Returns the encoded name of a region as a number; it is an MD5 digest in hexadecimal digits, or
/// a short number.
fn region_key(encoded_name: &str) -> u128 {
    u128::from_str_radix(encoded_name, 16).unwrap_or(0)
}

impl Samples {
    /// Adds a sample of all regions.
    pub(crate) fn add(&mut self, now: Instant, loads: &[RegionLoad]) {
        let before = self.times.map(|(last, _)| last);
        let seconds = before.map_or(0.0, |before| (now - before).as_secs_f64());
        if before.is_some() && seconds <= 0.0 {
            return;
        }
        self.number += 1;
        self.times = Some((now, before));
        let sum: f64 = loads.iter().filter_map(|load| self.add_region(load, seconds)).sum();
        if before.is_some() {
            self.sums.truncate(SERIES_LEN - 1);
            self.sums.push_front(round(sum));
        }
        let number = self.number;
        self.regions.retain(|_, region| region.last == number);
        self.rings = self.regions.values().filter(|region| region.ring.is_some()).count();
    }

    /// Adds a region and returns its requests per second, unless it is a new one.
    fn add_region(&mut self, load: &RegionLoad, seconds: f64) -> Option<f64> {
        let (number, totals) = (self.number, Totals::of(load));
        let slot = slot(number);
        let region =
            self.regions.entry(region_key(&load.region.encoded_name)).or_insert(RegionSamples {
                first: number,
                last: number,
                totals,
                totals_before: totals,
                ring: None,
            });
        if region.first == number {
            return None;
        }
        let rates = totals.rates_since(region.totals, seconds);
        let is_idle = rates.reads == 0.0 && rates.writes == 0.0;
        if region.ring.is_none() && !is_idle && self.rings < MAX_SERIES {
            region.ring = Some(Box::new([Rates { reads: 0.0, writes: 0.0 }; SERIES_LEN]));
            self.rings += 1;
        }
        if let Some(ring) = &mut region.ring {
            ring[slot] = rates;
            // A region that had no request for a whole window gives its ring back.
            let is_zero = |rates: &Rates| rates.reads == 0.0 && rates.writes == 0.0;
            if slot == 0 && ring.iter().all(is_zero) {
                region.ring = None;
            }
        }
        (region.totals_before, region.totals, region.last) = (region.totals, totals, number);
        rates.sum()
    }

    /// Returns the requests per second of all regions, oldest first; `None` before the samples.
    pub(crate) fn sums(&self) -> Vec<Option<f64>> {
        (0..SERIES_LEN).rev().map(|back| self.sums.get(back).copied()).collect()
    }

    /// Returns the rates of regions from the last sample, or the one before if that is only
    /// seconds old, until now.
    pub(crate) fn rates(&self, now: Instant, loads: &[RegionLoad]) -> Vec<Rates> {
        let Some((last, before)) = self.times else { return vec![Rates::UNKNOWN; loads.len()] };
        let uses_last = now.saturating_duration_since(last) >= RATE_PERIOD;
        let Some(base) = (if uses_last { Some(last) } else { before }) else {
            return vec![Rates::UNKNOWN; loads.len()];
        };
        let seconds = now.saturating_duration_since(base).as_secs_f64();
        let rate = |load: &RegionLoad| {
            let region = self.regions.get(&region_key(&load.region.encoded_name))?;
            if !uses_last && region.first == self.number {
                return None;
            }
            let base = if uses_last { region.totals } else { region.totals_before };
            Some(Totals::of(load).rates_since(base, seconds))
        };
        loads.iter().map(|load| rate(load).unwrap_or(Rates::UNKNOWN)).collect()
    }

    /// Returns the series of a region.
    pub(crate) fn series(&self, encoded_name: &str) -> Series {
        let Some(region) = self.regions.get(&region_key(encoded_name)) else {
            return (vec![None; SERIES_LEN], vec![None; SERIES_LEN]);
        };
        let len = SERIES_LEN as u64;
        let value = |back: u64| {
            let number = self.number.checked_sub(back).filter(|number| *number > region.first)?;
            // Without a ring the region was idle, or there are too many rings.
            let zero = Rates { reads: 0.0, writes: 0.0 };
            Some(region.ring.as_ref().map_or(zero, |ring| ring[slot(number)]))
        };
        let values: Vec<Option<Rates>> = (0..len).rev().map(value).collect();
        let reads = values.iter().map(|rates| rates.and_then(Rates::reads_per_s)).collect();
        let writes = values.iter().map(|rates| rates.and_then(Rates::writes_per_s)).collect();
        (reads, writes)
    }
}

fn slot(number: u64) -> usize {
    usize::try_from(number % SERIES_LEN as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use halite_types::{Bytes, RegionInfo};

    use super::*;

    fn load(encoded_name: &str, reads: u64, writes: u64) -> RegionLoad {
        let info = RegionInfo {
            table: "t".parse().unwrap(),
            start: Bytes::new(),
            end: Bytes::new(),
            region_id: 1,
            encoded_name: encoded_name.to_owned(),
        };
        RegionLoad { read_requests: reads, write_requests: writes, ..RegionLoad::new(info) }
    }

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn rates_cover_the_time_since_a_sample() {
        let (start, mut samples) = (Instant::now(), Samples::default());
        assert!(samples.rates(start, &[load("a", 1, 0)])[0].sum().is_none());
        samples.add(start, &[load("a", 100, 0)]);
        assert!(samples.rates(at(start, 2), &[load("a", 120, 0)])[0].sum().is_none());
        let rates = samples.rates(at(start, 6), &[load("a", 160, 12), load("b", 9, 9)]);
        assert_eq!((rates[0].reads_per_s(), rates[0].writes_per_s()), (Some(10.0), Some(2.0)));
        assert_eq!(rates[1].sum(), None);
        samples.add(at(start, 10), &[load("a", 200, 20)]);
        let rates = samples.rates(at(start, 12), &[load("a", 220, 20)]);
        assert_eq!(rates[0].reads_per_s(), Some(10.0));
        // Opened again: its totals began at zero.
        let rates = samples.rates(at(start, 20), &[load("a", 30, 0)]);
        assert_eq!(rates[0].reads_per_s(), Some(3.0));
    }

    #[test]
    fn series_distinguishes_zero_from_not_recorded() {
        let (start, mut samples) = (Instant::now(), Samples::default());
        for (number, reads) in [0, 0, 50, 50].into_iter().enumerate() {
            samples.add(at(start, 10 * number as u64), &[load("a", reads, 0)]);
        }
        let (reads, writes) = samples.series("a");
        assert_eq!(reads.len(), SERIES_LEN);
        assert_eq!(reads[SERIES_LEN - 4..], [None, Some(0.0), Some(5.0), Some(0.0)]);
        assert_eq!(writes[SERIES_LEN - 1], Some(0.0));
        assert!(samples.series("b").0.iter().all(Option::is_none));
        let sums = samples.sums();
        assert_eq!(sums[SERIES_LEN - 4..], [None, Some(0.0), Some(5.0), Some(0.0)]);
    }

    #[test]
    fn idle_and_removed_regions_hold_no_ring() {
        let (start, mut samples) = (Instant::now(), Samples::default());
        for number in 0..200_u64 {
            let busy = number.min(3);
            let loads = [load("a", busy, 0), load("b", 0, 0), load("c", number, 0)];
            let present = if number < 190 { &loads[..] } else { &loads[..2] };
            samples.add(at(start, 10 * number), present);
        }
        assert_eq!((samples.regions.len(), samples.rings), (2, 0));
        assert_eq!(samples.series("a").0[SERIES_LEN - 1], Some(0.0));
    }
}
