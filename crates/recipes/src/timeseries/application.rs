//! The recipe on its table: readings written, and queries answered.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use anyhow::Result;
use timeseries::{Found, Reading};

use super::design::Design;
use super::generator::{Generator, PERIOD_MS};
use super::verify::{compare, oracle};
use super::{load, sizes};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::recipe::{Application, Outcome, Site, Verified};

const SHOWN_READINGS: usize = 4;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Written items between two comparisons.
const ITEMS_BETWEEN: usize = 32;

/// Sensors with the generator of their readings.
pub(super) struct TimeseriesApplication {
    pub(super) design: Box<dyn Design>,
    pub(super) generator: Generator,
    site: Site,
    /// Number of the next item that a measurement writes.
    pub(super) next_item: AtomicU64,
}

impl TimeseriesApplication {
    pub(super) fn new(design: Box<dyn Design>, generator: Generator, site: Site) -> Self {
        let next_item = AtomicU64::new(generator.load.items);
        Self { design, generator, site, next_item }
    }
}

impl Application for TimeseriesApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let readings =
            items.map(|number| self.generator.item(number)).collect::<Result<Vec<_>>>()?;
        self.design.write(&readings)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let end_ms = self.generator.end_ms(self.generator.load.items);
        let device = self.generator.device(0);
        print(&format!("newest of {device}"), &self.design.latest(&device)?, out)?;
        let newest = self.design.latest(&device)?.readings.first().map_or(end_ms, |one| one.at_ms);
        let day = self.design.recent(&device, 1, newest)?;
        print(&format!("{device}, the 24 hours before"), &day, out)?;
        let month = self.design.recent(&device, 30, newest)?;
        print(&format!("{device}, the 30 days before"), &month, out)?;
        writeln!(out, "{device}, means of hours")?;
        let means = self.design.averages(&device, newest - DAY_MS..newest + 1, HOUR_MS)?;
        for average in means.iter().rev().take(SHOWN_READINGS) {
            writeln!(
                out,
                "  {}  {:.2} of {}",
                time(average.at_ms),
                average.mean,
                average.readings
            )?;
        }
        let minute = self.design.fleet(newest - 6 * PERIOD_MS..newest)?;
        print("all devices, the minute before", &minute, out)
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let device = self.generator.device(0);
        let end_ms = self.generator.end_ms(self.generator.load.items);
        let of_device = format!("device_id={device}");
        let query = |name, question, conditions, limit| NamedQuery {
            name,
            question,
            table: "sensor_data",
            conditions,
            limit,
        };
        let times = |span_ms: i64| format!("ts={}..{end_ms}", end_ms - span_ms);
        vec![
            query(
                "latest",
                format!("the newest reading of {device}"),
                vec![of_device.clone()],
                Some(1),
            ),
            query(
                "day",
                format!("what {device} measured in 24 hours"),
                vec![of_device.clone(), times(DAY_MS)],
                None,
            ),
            query(
                "averages",
                format!("the means of hours of {device} in 30 days"),
                vec![of_device, times(30 * DAY_MS)],
                None,
            ),
            query(
                "all devices",
                "what all devices measured in a minute".to_owned(),
                vec![times(6 * PERIOD_MS)],
                None,
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        load::operate(self, number, part, outcome)
    }

    fn measure(&self, out: &mut dyn Write) -> Result<()> {
        sizes::measure(&self.site, self.generator.load, out)
    }

    fn repair(&self) -> Result<u64> {
        // One table, and one cell for each point: nothing can be incomplete.
        Ok(0)
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        let oracle = oracle(&*self.design, &self.generator, written)?;
        oracle.verify(&*self.design, self.generator.end_ms(written))
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let mut oracle = oracle(&*self.design, &self.generator, items.start)?;
        let middle = items.start + (items.end - items.start) / 2;
        let mut verified = Verified::default();
        for (at, number) in items.enumerate() {
            if number == middle {
                // Points that follow are beside packed ones.
                self.design.pack()?;
            }
            let reading = self.generator.item(number)?;
            self.design.write(std::slice::from_ref(&reading))?;
            let device = reading.device.clone();
            oracle.apply(reading);
            if at % ITEMS_BETWEEN == 0 {
                let found = self.design.range(&device, 0..i64::MAX)?;
                compare(&device, "all times", &found.readings, &oracle.of(&device, 0..i64::MAX))?;
                verified.add(found.readings.len() as u64, found.examined);
            }
        }
        Ok(verified)
    }
}

fn print(title: &str, found: &Found, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{title}: {} readings, {} rows", found.readings.len(), found.examined)?;
    for Reading { device, at_ms, value } in found.readings.iter().take(SHOWN_READINGS) {
        writeln!(out, "  {}  {device:<14} {value}", time(*at_ms))?;
    }
    Ok(())
}

fn time(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms).map_or_else(|_| at_ms.to_string(), |t| t.to_string())
}
