//! The recipe on its tables: lines written, questions answered, and a load.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use logs::{Layout, Line, Question};

use super::comparison;
use super::design::Design;
use super::generator::Generator;
use super::verify::{compare, oracle};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::random::Random;
use crate::recipe::{Application, Outcome, Site, Verified};

/// Lines of a write.
const BATCH_LINES: u64 = 20;
const SHOWN_LINES: usize = 3;
const MINUTE_MS: i64 = 60_000;
/// Purpose of the random numbers of a measurement.
const MEASUREMENT: u64 = 10;
/// Written lines between two comparisons.
const LINES_BETWEEN: usize = 16;

/// Logs with the generator of their lines.
pub(super) struct LogsApplication {
    design: Box<dyn Design>,
    generator: Generator,
    site: Site,
    /// Number of the next line that a measurement writes.
    next_line: AtomicU64,
}

impl LogsApplication {
    pub(super) fn new(design: Box<dyn Design>, generator: Generator, site: Site) -> Self {
        let next_line = AtomicU64::new(generator.load.items);
        Self { design, generator, site, next_line }
    }

    /// Returns the last minutes of the lines.
    fn last(&self, minutes: i64) -> Range<i64> {
        let end_ms = self.generator.end_ms(self.next_line.load(Ordering::Relaxed));
        end_ms - minutes * MINUTE_MS..end_ms
    }

    fn of_host(&self, host: u64, event: u64, minutes: i64) -> Question {
        Question {
            host: Some(self.generator.host(host)),
            event: Some(self.generator.event(event)),
            at_ms: self.last(minutes),
        }
    }
}

impl Application for LogsApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let lines: Vec<Line> = items.map(|number| self.generator.item(number)).collect();
        self.design.write(&lines)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let of_host = self.of_host(0, 0, 60);
        let of_time = Question { at_ms: self.last(1), ..Question::default() };
        let (host, event) = (self.generator.host(0), self.generator.event(0));
        let questions =
            [(format!("{event} of {host}, an hour"), of_host), ("a minute".to_owned(), of_time)];
        for (title, question) in questions {
            for (at, layout) in Layout::ALL.into_iter().enumerate() {
                let found = self.design.read(layout, &question)?;
                let (lines, table) = (found.lines.len(), layout.table());
                writeln!(out, "{title}, {table}: {lines} lines, {} rows", found.examined)?;
                let shown = if at == 0 { SHOWN_LINES } else { 0 };
                for Line { host, event, at_ms, message, .. } in found.lines.iter().take(shown) {
                    let time = jiff::Timestamp::from_millisecond(*at_ms)?;
                    writeln!(out, "  {time}  {host:<8} {event:<11} {message}")?;
                }
            }
        }
        Ok(())
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let (host, event) = (self.generator.host(0), self.generator.event(0));
        let conditions = |names: bool, minutes| {
            let names = [format!("host={host}"), format!("event={event}")]
                .into_iter()
                .filter(|_| names)
                .collect::<Vec<_>>();
            let Range { start, end } = self.last(minutes);
            names.into_iter().chain([format!("ts={start}..{end}")])
        };
        let of_host = || format!("{event} of {host} in an hour");
        let of_time = || "all lines of a minute".to_owned();
        let by = |question: String, how| format!("{question}, {how}");
        let new = NamedQuery::new;
        vec![
            new("host", of_host(), "by_host", conditions(true, 60)),
            new("host by code", by(of_host(), "by numbers"), "by_code", conditions(true, 60)),
            new("host by quarter", by(of_host(), "by quarter"), "by_quarter", conditions(true, 60)),
            new("host by time", by(of_host(), "by time alone"), "by_time", conditions(true, 60)),
            new("time", of_time(), "by_salt", conditions(false, 1)),
            new("time unsalted", by(of_time(), "unsalted"), "by_time", conditions(false, 1)),
            new("time by host", by(of_time(), "by host"), "by_host", conditions(false, 1)),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_line
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        let mut random = Random::new(self.generator.load.seed, MEASUREMENT, number);
        let kind = part.draw(&mut random, 100, 80..100);
        if kind < 80 {
            let first = self.next_line.fetch_add(BATCH_LINES, Ordering::Relaxed);
            outcome.begin(0);
            self.write(first..first + BATCH_LINES)?;
            outcome.returned = BATCH_LINES;
            return Ok(());
        }
        let host = random.zipf(self.generator.hosts());
        let event = random.zipf(self.generator.events());
        let of_host = self.of_host(host, event, 60);
        let of_time = Question { at_ms: self.last(1), ..Question::default() };
        let (operation, layout, question) = match kind {
            80..88 => (1, Layout::Host, of_host),
            88..92 => (2, Layout::Salt, of_time),
            92..98 => (3, Layout::Quarter, of_host),
            _ => (4, Layout::Time, of_host),
        };
        outcome.begin(operation);
        outcome.returned = self.design.read(layout, &question)?.lines.len() as u64;
        Ok(())
    }

    fn measure(&self, out: &mut dyn Write) -> Result<()> {
        let items = self.next_line.load(Ordering::Relaxed);
        comparison::write(&*self.design, self.generator, items, &self.site, out)
    }

    fn repair(&self) -> Result<u64> {
        self.design.repair(0..i64::MAX)
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        oracle(&*self.design, self.generator, written)?.verify(&*self.design)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let mut oracle = oracle(&*self.design, self.generator, items.start)?;
        let mut verified = Verified::default();
        for (at, number) in items.enumerate() {
            let line = self.generator.item(number);
            self.design.write(std::slice::from_ref(&line))?;
            let host = Some(line.host.clone());
            let question = Question { host, event: None, at_ms: 0..i64::MAX };
            oracle.apply(line);
            if at % LINES_BETWEEN == 0 {
                for layout in Layout::ALL {
                    let found = self.design.read(layout, &question)?;
                    compare(layout.table(), &found, &oracle.answer(&question))?;
                    verified.add(found.lines.len() as u64, found.examined);
                }
            }
        }
        Ok(verified)
    }
}
