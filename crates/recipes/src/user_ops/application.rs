//! The recipe on its table: operations recorded, histories read, and the comparison with the model.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use user_ops::Operation;

use super::design::Design;
use super::generator::{Generator, model};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::paging::{ALL_TIMES, Model, Position, verify_lists, verify_while_writing};
use crate::random::Random;
use crate::recipe::{Application, Outcome, Verified};

/// Operations of a page.
const PAGE_OPERATIONS: usize = 50;
const SHOWN_OPERATIONS: usize = 5;
const DAY_MS: i64 = 86_400_000;
/// Purpose of the random numbers of a measurement.
const MEASUREMENT: u64 = 10;

/// Histories with the generator of their operations.
pub(super) struct UserOpsApplication {
    design: Box<dyn Design>,
    generator: Generator,
    /// Number of the next item that a measurement writes.
    next_item: AtomicU64,
}

impl UserOpsApplication {
    pub(super) fn new(design: Box<dyn Design>, generator: Generator) -> Self {
        let next_item = AtomicU64::new(generator.load.items);
        Self { design, generator, next_item }
    }

    /// Returns the model of the items before `written`, and of the next one if it was written.
    fn model(&self, written: u64) -> Result<Model<dyn Design>> {
        let next = self.generator.item(written)?;
        let at_ms = next.at_ms..next.at_ms + 1;
        let page = self.design.page(&next.user, at_ms, 1_000, &Position::default())?;
        let is_written = page.items.contains(&next);
        let items = (0..written).map(|number| self.generator.item(number));
        let mut items = items.collect::<Result<Vec<_>>>()?;
        items.extend(is_written.then_some(next));
        Ok(model(items))
    }

    fn print(&self, title: &str, user: &str, at_ms: Range<i64>, out: &mut dyn Write) -> Result<()> {
        let user = user.to_owned();
        let page = self.design.page(&user, at_ms, SHOWN_OPERATIONS, &Position::default())?;
        writeln!(out, "{title}: {} rows examined", page.examined)?;
        for Operation { at_ms, kind, detail, .. } in &page.items {
            let seconds = (at_ms - self.generator.first_ms()).div_euclid(1000);
            let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
            let line = format!("  day {day:>2}, {second:>5} s  {kind} {detail}");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl Application for UserOpsApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let operations =
            items.map(|number| self.generator.item(number)).collect::<Result<Vec<_>>>()?;
        self.design.record(&operations)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let (user, neighbor) = (self.generator.user(0), self.generator.user(1));
        self.print(&format!("{user}, newest operations"), &user, ALL_TIMES, out)?;
        let first_ms = self.generator.first_ms();
        let month = first_ms..first_ms + 30 * DAY_MS;
        self.print(&format!("{user}, the first 30 days"), &user, month, out)?;
        self.print(&format!("{neighbor}, newest operations"), &neighbor, ALL_TIMES, out)
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let user = self.generator.user(0);
        let day_ms = self.generator.first_ms() + 5 * DAY_MS;
        let query = |name, question, times: Option<&str>| NamedQuery {
            name,
            question,
            table: "operations",
            conditions: std::iter::once(format!("user_id={user}"))
                .chain(times.map(str::to_owned))
                .collect(),
            limit: Some(PAGE_OPERATIONS),
        };
        vec![
            query("history", format!("what {user} did, newest first"), None),
            query(
                "between",
                format!("what {user} did on a day"),
                Some(&format!("ts={}..{}", day_ms, day_ms + DAY_MS)),
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        let mut random = Random::new(self.generator.load.seed, MEASUREMENT, number);
        let kind = part.draw(&mut random, 100, 60..100);
        if kind < 60 {
            outcome.begin(0);
            let item = self.next_item.fetch_add(1, Ordering::Relaxed);
            self.design.record(&[self.generator.item(item)?])?;
            outcome.returned = 1;
            return Ok(());
        }
        let user = self.generator.user(random.zipf(self.generator.users()));
        let day = self.generator.first_ms() + i64::try_from(random.below(60)).unwrap_or(0) * DAY_MS;
        let (operation, at_ms) = if kind < 90 { (1, ALL_TIMES) } else { (2, day..day + DAY_MS) };
        outcome.begin(operation);
        let page = self.design.page(&user, at_ms, PAGE_OPERATIONS, &Position::default())?;
        outcome.returned = page.items.len() as u64;
        Ok(())
    }

    fn repair(&self) -> Result<u64> {
        // One table, and one row for each operation: nothing can be incomplete.
        Ok(0)
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        verify_lists(&*self.design, &self.model(written)?)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let before = self.model(items.start)?;
        let touches = |number, user: &String| {
            self.generator.item(number).is_ok_and(|operation| operation.user == *user)
        };
        let write = |number| self.write(number..number + 1);
        verify_while_writing(&*self.design, &before, items, touches, write)
    }
}
