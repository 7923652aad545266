//! The recipe on its tables: samples written, queries answered, and a load.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use monitor::{Found, Sample};

use super::design::Design;
use super::generator::Generator;
use super::verify::{compare, oracle};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::random::Random;
use crate::recipe::{Application, Outcome, Verified};

/// Samples of a write.
const BATCH_SAMPLES: u64 = 20;
const SHOWN_SAMPLES: usize = 4;
const HOUR_MS: i64 = 3_600_000;
/// Purpose of the random numbers of a measurement.
const MEASUREMENT: u64 = 10;
/// Written items between two comparisons.
const ITEMS_BETWEEN: usize = 16;

/// Monitoring with the generator of its samples.
pub(super) struct MonitorApplication {
    design: Box<dyn Design>,
    generator: Generator,
    /// Number of the next item that a measurement writes.
    next_item: AtomicU64,
}

impl MonitorApplication {
    pub(super) fn new(design: Box<dyn Design>, generator: Generator) -> Self {
        let next_item = AtomicU64::new(generator.load.items);
        Self { design, generator, next_item }
    }

    /// Returns the last hour of the items.
    fn last_hour(&self, items: u64) -> Range<i64> {
        let end_ms = self.generator.end_ms(items);
        end_ms - HOUR_MS..end_ms
    }
}

impl Application for MonitorApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let samples =
            items.map(|number| self.generator.item(number)).collect::<Result<Vec<_>>>()?;
        self.design.write(&samples)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let (host, metric) = (self.generator.host(0), self.generator.metric(0));
        let hour = || self.last_hour(self.generator.load.items);
        print(&format!("{host}, the last hour"), &self.design.host(&host, hour())?, out)?;
        let found = self.design.host_metric(&host, &metric, hour())?;
        print(&format!("{metric} of {host}, the last hour"), &found, out)?;
        let found = self.design.metric(&metric, hour())?;
        print(&format!("{metric} of all hosts, by its table"), &found, out)?;
        let found = self.design.metric_by_host(&metric, hour())?;
        print(&format!("{metric} of all hosts, by host"), &found, out)
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let (host, metric) = (self.generator.host(0), self.generator.metric(0));
        let hour = self.last_hour(self.generator.load.items);
        let (of_host, of_metric) = (format!("host={host}"), format!("metric={metric}"));
        let times = format!("ts={}..{}", hour.start, hour.end);
        let query = |name, question, table, conditions| NamedQuery {
            name,
            question,
            table,
            conditions,
            limit: None,
        };
        vec![
            query(
                "host",
                format!("all metrics of {host} in an hour"),
                "by_host",
                vec![of_host.clone(), times.clone()],
            ),
            query(
                "host and metric",
                format!("{metric} of {host} in an hour"),
                "by_host",
                vec![of_host, of_metric.clone(), times.clone()],
            ),
            query(
                "metric",
                format!("{metric} of all hosts in an hour"),
                "by_metric",
                vec![of_metric.clone(), times.clone()],
            ),
            query(
                "metric by host",
                format!("{metric} of all hosts in an hour, without the second table"),
                "by_host",
                vec![of_metric, times],
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        let mut random = Random::new(self.generator.load.seed, MEASUREMENT, number);
        let kind = part.draw(&mut random, 100, 90..100);
        if kind < 90 {
            let first = self.next_item.fetch_add(BATCH_SAMPLES, Ordering::Relaxed);
            outcome.begin(0);
            self.write(first..first + BATCH_SAMPLES)?;
            outcome.returned = BATCH_SAMPLES;
            return Ok(());
        }
        let hour = self.last_hour(self.next_item.load(Ordering::Relaxed));
        let metric = self.generator.metric(random.below(self.generator.metrics()));
        let found = match kind {
            90..96 => {
                outcome.begin(1);
                let host = self.generator.host(random.below(self.generator.hosts()));
                self.design.host(&host, hour)?
            }
            96..98 => {
                outcome.begin(2);
                self.design.metric(&metric, hour)?
            }
            _ => {
                outcome.begin(3);
                self.design.metric_by_host(&metric, hour)?
            }
        };
        outcome.returned = found.samples.len() as u64;
        Ok(())
    }

    fn repair(&self) -> Result<u64> {
        self.design.repair()
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        oracle(&*self.design, &self.generator, written)?.verify(&*self.design)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let mut oracle = oracle(&*self.design, &self.generator, items.start)?;
        let mut verified = Verified::default();
        for (at, number) in items.enumerate() {
            let sample = self.generator.item(number)?;
            self.design.write(std::slice::from_ref(&sample))?;
            let metric = sample.metric.clone();
            oracle.apply(sample);
            if at % ITEMS_BETWEEN == 0 {
                let found = self.design.metric(&metric, 0..i64::MAX)?;
                compare(&metric, &found, &oracle.metric(&metric, 0..i64::MAX))?;
                verified.add(found.samples.len() as u64, found.examined);
            }
        }
        Ok(verified)
    }
}

fn print(title: &str, found: &Found, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{title}: {} samples, {} rows", found.samples.len(), found.examined)?;
    for Sample { host, metric, at_ms, value } in found.samples.iter().take(SHOWN_SAMPLES) {
        let time = jiff::Timestamp::from_millisecond(*at_ms)?;
        writeln!(out, "  {time}  {host:<8} {metric:<14} {value}")?;
    }
    Ok(())
}
