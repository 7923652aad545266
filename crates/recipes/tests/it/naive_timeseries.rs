//! Designs of sensors with the mistakes of the tutorials: the check fails for each.

use std::ops::Range;

use anyhow::Result;
use halite::{BlockingTable, CheckAndMutate, FamilyDescriptor, Put, Row, Scan, TableDescriptor};
use halite_recipes::timeseries::{Design, TIMESERIES};
use halite_recipes::{Load, Site};
use timeseries::{Average, Found, Reading, Sensors};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 1_600 };
const HOUR_MS: i64 = 3_600_000;

/// Mistake in a design with one text row for each point, as the tutorial's.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// E02: the bounds of the last days are exchanged.
    InvertedRecent,
    /// E20: milliseconds of days in 32 bits.
    DaysInInt,
    /// K12: times in ascending order, so the first row is the oldest.
    Ascending,
    /// E06: the range of a device has no separator.
    NoSeparator,
    /// Of two points with one time the first is retained.
    FirstWins,
    /// Points that arrive after a later one are dropped.
    DropsLate,
    /// What is kept is cut at whole hours.
    CutByHours,
}

struct Naive {
    mistake: Mistake,
    sensors: Sensors,
    table: BlockingTable,
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        let sensors = Sensors::open(&site.cluster, &site.namespace)?;
        let name = format!("{}:naive", site.namespace);
        if !site.cluster.table_exists(&name)? {
            let table = TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("d"));
            site.cluster.create_table(table, &[])?;
        }
        Ok(Box::new(Self { mistake, sensors, table: site.cluster.table(&name)? }))
    }

    fn key(&self, device: &str, at_ms: i64) -> String {
        let time = if self.mistake == Mistake::Ascending { at_ms } else { i64::MAX - at_ms };
        format!("{device}_{time:019}")
    }

    fn scan(&self, scan: Scan, keeps: impl Fn(&Reading) -> bool) -> Result<Found> {
        let rows = self.table.scan(scan).collect::<halite::Result<Vec<_>>>()?;
        let readings: Vec<_> = rows.iter().map(reading).filter(|one| keeps(one)).collect();
        Ok(Found { examined: readings.len() as u64, readings })
    }
}

fn reading(row: &Row) -> Reading {
    let text = row.value("d", "device").unwrap_or_default().to_vec();
    Reading {
        device: String::from_utf8(text).unwrap(),
        at_ms: i64::from_be_bytes(row.value("d", "t").unwrap().try_into().unwrap()),
        value: f64::from_be_bytes(row.value("d", "v").unwrap().try_into().unwrap()),
    }
}

impl Design for Naive {
    fn write(&self, readings: &[Reading]) -> Result<()> {
        for Reading { device, at_ms, value } in readings {
            if self.mistake == Mistake::DropsLate
                && self.latest(device)?.readings.iter().any(|newest| newest.at_ms > *at_ms)
            {
                continue;
            }
            let key = self.key(device, *at_ms);
            let put = Put::new(key.clone())
                .add("d", "device", device)
                .add("d", "t", at_ms.to_be_bytes())
                .add("d", "v", value.to_be_bytes());
            if self.mistake == Mistake::FirstWins {
                self.table.check_and_mutate(CheckAndMutate::if_not_exists(key, "d", "v", put))?;
            } else {
                self.table.put(put)?;
            }
        }
        Ok(())
    }

    fn range(&self, device: &str, at_ms: Range<i64>) -> Result<Found> {
        let separator = if self.mistake == Mistake::NoSeparator { "" } else { "_" };
        self.scan(Scan::prefix(format!("{device}{separator}")), |one| at_ms.contains(&one.at_ms))
    }

    fn recent(&self, device: &str, days: u32, now_ms: i64) -> Result<Found> {
        let days = i64::from(days) * 24 * HOUR_MS;
        match self.mistake {
            Mistake::InvertedRecent => {
                let (start, stop) = (self.key(device, now_ms - days), self.key(device, now_ms + 1));
                self.scan(Scan::range(start, stop), |_| true)
            }
            Mistake::DaysInInt => {
                #[allow(clippy::cast_possible_truncation, reason = "the mistake")]
                let days = i64::from(days as i32);
                self.range(device, now_ms - days..now_ms + 1)
            }
            _ => self.range(device, now_ms - days..now_ms + 1),
        }
    }

    fn retained(&self, device: &str, now_ms: i64) -> Result<Found> {
        let first = now_ms - timeseries::RETENTION_MS;
        let first =
            if self.mistake == Mistake::CutByHours { first / HOUR_MS * HOUR_MS } else { first };
        self.range(device, first..now_ms + 1)
    }

    fn latest(&self, device: &str) -> Result<Found> {
        self.scan(Scan::prefix(format!("{device}_")).limit(1), |_| true)
    }

    fn fleet(&self, at_ms: Range<i64>) -> Result<Found> {
        let mut found = self.scan(Scan::all(), |one| at_ms.contains(&one.at_ms))?;
        found.readings.sort_by(|a, b| (&a.device, b.at_ms).cmp(&(&b.device, a.at_ms)));
        Ok(found)
    }

    fn averages(&self, device: &str, at_ms: Range<i64>, step_ms: i64) -> Result<Vec<Average>> {
        // The means do not depend on the mistakes.
        self.sensors.write(&self.range(device, 0..i64::MAX)?.readings)?;
        Ok(self.sensors.averages(device, at_ms, step_ms)?)
    }

    fn pack(&self) -> Result<u64> {
        Ok(0)
    }
}

/// Checks a design and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, load: Load) -> String {
    let checked = backends::check_embedded(&TIMESERIES.with_design(design), load, 377);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn e02_inverted_bounds_of_recent_points_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::InvertedRecent), LOAD);
    assert!(why.contains("1 days: 0 readings, expected"), "{why}");
}

#[test]
fn e20_thirty_days_in_32_bits_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::DaysInInt), LOAD);
    assert!(why.contains("30 days: 0 readings, expected"), "{why}");
}

#[test]
fn k12_ascending_times_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::Ascending), LOAD);
    assert!(why.contains("reading 0 is"), "{why}");
}

#[test]
fn e06_range_without_separator_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoSeparator), LOAD);
    assert!(why.starts_with("after a crash") && why.contains("s1,"), "{why}");
}

#[test]
fn p01_point_that_is_not_replaced_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::FirstWins), LOAD);
    assert!(why.contains("readings, expected"), "{why}");
}

#[test]
fn p01_late_point_that_is_dropped_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::DropsLate), LOAD);
    assert!(why.contains("readings, expected"), "{why}");
}

#[test]
fn p01_retention_by_whole_hours_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::CutByHours), LOAD);
    assert!(why.contains("what is kept"), "{why}");
}
