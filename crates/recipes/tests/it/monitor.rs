//! Monitoring: both tables equal the model, and the check fails for the mistakes of the tutorials.

use std::ops::Range;

use anyhow::Result;
use halite_recipes::monitor::{Design, MONITOR};
use halite_recipes::{InProcessTarget, Load, Recipe as _, Site, check, explain};
use monitor::{Found, Monitor, Sample};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 800 };

#[test]
fn p10_both_tables_equal_model_after_crash_between_their_writes() {
    // A sample is two writes.
    for (batches, acknowledged, repaired) in [(200, 100, 0), (201, 100, 1)] {
        let report = backends::check_embedded(&MONITOR, LOAD, batches).unwrap();
        assert_eq!((report.acknowledged, report.repaired), (acknowledged, repaired));
    }
}

#[test]
fn p10_recipe_runs_through_client_and_server() {
    let load = Load { items: 400, ..LOAD };
    check(&MONITOR, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 141)).unwrap();
}

#[test]
fn p10_flights_are_events_of_airports() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("flights.csv");
    let header =
        "dep_delay,arr_delay,carrier,flight,tailnum,origin,dest,air_time,minute,time_hour\n";
    let line = |number: u32| {
        let (origin, hour, minute) = (["JFK", "EWR"][number as usize % 2], number / 8, number % 60);
        format!(
            "{},{},A{},{number},N1,{origin},MIA,160,{minute},2013-01-01T{hour:02}:00:00Z\n",
            number % 9,
            number % 7,
            number % 3
        )
    };
    let text: String = std::iter::once(header.to_owned()).chain((0..100).map(line)).collect();
    std::fs::write(&file, text).unwrap();
    let recipe = MONITOR.with_data(&file).unwrap();
    assert_eq!((recipe.default_items(), recipe.about().namespace), (200, "monitor_flights"));
    let load = Load { seed: 1, items: recipe.default_items() };
    let report = backends::check_embedded(&*recipe, load, 77).unwrap();
    assert_eq!((report.acknowledged, report.repaired), (38, 1));
}

#[test]
fn k30_quarters_of_an_hour_are_rows_of_one_range_by_host_and_sixteen_by_metric() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site { cluster: backends::open(&directory), namespace: "monitor".to_owned() };
    let application = MONITOR.open(&site, LOAD).unwrap();
    let mut out = Vec::new();
    explain(&*application, &site, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let plans: Vec<&str> = text.split("\n\n").filter(|plan| !plan.trim().is_empty()).collect();
    assert_eq!(plans.len(), 4, "{text}");
    for (plan, fan_out) in plans.iter().zip(["1", "1", "16", "16"]) {
        assert!(plan.contains(&format!("fan-out  {fan_out}")), "{fan_out}: {plan}");
    }
    let samples: Vec<Sample> = (0..3600)
        .map(|second| Sample {
            host: "web-1".to_owned(),
            metric: "cpu".to_owned(),
            at_ms: 1_710_460_800_000 + second * 1_000,
            value: 1.0,
        })
        .collect();
    let design = MONITOR.open_design(&site).unwrap();
    design.write(&samples).unwrap();
    let found = design.host_metric("web-1", "cpu", 0..i64::MAX).unwrap();
    assert_eq!((found.samples.len(), found.examined), (3600, 4));
}

/// Mistake in a design.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// The second table is written first, so that a repair from the first one misses samples.
    SecondFirst,
    /// Nothing completes what a stopped writer left.
    NoRepair,
    /// E06: the range of a host also has those whose names begin with it.
    HostPrefix,
    /// Of a quarter that a range cuts all samples are returned.
    WholeQuarters,
}

struct Naive {
    mistake: Mistake,
    /// The tables with hosts and metrics exchanged.
    exchanged: Option<Monitor>,
    right: Monitor,
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        let right = Monitor::open(&site.cluster, &site.namespace)?;
        let exchanged = if mistake == Mistake::SecondFirst {
            let namespace = format!("{}_exchanged", site.namespace);
            Some(Monitor::open(&site.cluster, &namespace)?)
        } else {
            None
        };
        Ok(Box::new(Self { mistake, exchanged, right }))
    }
}

impl Design for Naive {
    fn write(&self, samples: &[Sample]) -> Result<()> {
        if let Some(second) = &self.exchanged {
            second.write(samples)?;
        }
        Ok(self.right.write(samples)?)
    }

    fn host(&self, host: &str, at_ms: Range<i64>) -> Result<Found> {
        if self.mistake != Mistake::HostPrefix {
            return Ok(self.right.host(host, at_ms)?);
        }
        let mut found = self.right.host(host, at_ms.clone())?;
        let longer = self.right.host(&format!("{host}0"), at_ms)?;
        found.samples.extend(longer.samples);
        Ok(found)
    }

    fn host_metric(&self, host: &str, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        Ok(self.right.host_metric(host, metric, at_ms)?)
    }

    fn metric(&self, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        match (self.mistake, &self.exchanged) {
            (Mistake::WholeQuarters, _) => {
                let start = at_ms.start / 900_000 * 900_000;
                Ok(self.right.metric(metric, start..at_ms.end)?)
            }
            (_, Some(second)) => Ok(second.metric(metric, at_ms)?),
            _ => Ok(self.right.metric(metric, at_ms)?),
        }
    }

    fn metric_by_host(&self, metric: &str, at_ms: Range<i64>) -> Result<Found> {
        Ok(self.right.metric_by_host(metric, at_ms)?)
    }

    fn repair(&self) -> Result<u64> {
        match self.mistake {
            Mistake::NoRepair => Ok(0),
            _ => Ok(self.right.repair(0..i64::MAX)?),
        }
    }
}

/// Checks a design whose writer stops after `batches`, and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, batches: u64) -> String {
    let checked = backends::check_embedded(&MONITOR.with_design(design), LOAD, batches);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn p10_table_that_is_written_before_the_repaired_one_fails_check() {
    // Four writes of a sample: the last ones are those that a repair reads.
    let why = failure(|site| Naive::open(site, Mistake::SecondFirst), 202);
    assert!(why.contains("samples, expected"), "{why}");
}

#[test]
fn p10_tables_that_are_not_repaired_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoRepair), 201);
    assert!(why.starts_with("after a crash") && why.contains("metric "), "{why}");
}

#[test]
fn e06_hosts_whose_names_begin_alike_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::HostPrefix), 200);
    assert!(why.contains("host web-1,"), "{why}");
}

#[test]
fn p10_whole_quarters_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::WholeQuarters), 200);
    assert!(why.contains("metric cpu, "), "{why}");
}
