//! The recipe on its table: orders added, users read, and the comparison with the model.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use wide_user::Order;

use super::contention;
use super::design::Design;
use super::generator::{Generator, apply};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::parts::write_in_parts;
use crate::random::Random;
use crate::recipe::{Application, Load, Outcome, T0, Verified};

/// Purpose of the random numbers of a measurement.
const MEASUREMENT: u64 = 10;
const SHOWN_USERS: u64 = 3;

/// Users with the generator of their orders.
pub(super) struct WideUserApplication {
    design: Box<dyn Design>,
    generator: Generator,
    load: Load,
    /// Number of the next item that a measurement writes.
    next_item: AtomicU64,
}

impl WideUserApplication {
    pub(super) fn new(design: Box<dyn Design>, load: Load) -> Self {
        let next_item = AtomicU64::new(load.items);
        Self { design, generator: Generator::new(load), load, next_item }
    }

    fn add(&self, number: u64) -> Result<()> {
        let (user, order) = self.generator.item(number);
        self.design.add_order(&user, &order).map(drop)
    }
}

impl Application for WideUserApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        if items.start == 0 {
            for rank in 0..SHOWN_USERS {
                self.design.rename(&self.generator.user(rank), &format!("User {rank}"))?;
            }
        }
        let rank = |number| self.generator.rank(number);
        write_in_parts(items, rank, |number| self.add(number))
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        for rank in 0..SHOWN_USERS {
            let user = self.design.page(&self.generator.user(rank))?;
            writeln!(out, "{}: {} orders, the last of them", user.name, user.order_count)?;
            for Order { id, at_ms, cents } in user.last_orders.iter().take(5) {
                let minute = (at_ms - T0) / 60_000;
                let (whole, cents) = (cents / 100, cents % 100);
                writeln!(out, "  minute {minute:>7}  order {id:>7}  {whole:>5}.{cents:02}")?;
            }
        }
        Ok(())
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let user = self.generator.user(0);
        vec![NamedQuery {
            name: "page",
            question: format!("name and last orders of {user}"),
            table: "users",
            conditions: vec![format!("user_id={user}")],
            limit: None,
        }]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        let mut random = Random::new(self.load.seed, MEASUREMENT, number);
        if part.draw(&mut random, 2, 1..2) == 0 {
            outcome.begin(0);
            self.add(self.next_item.fetch_add(1, Ordering::Relaxed))?;
            outcome.returned = 1;
            return Ok(());
        }
        outcome.begin(1);
        let user = self.generator.user(random.zipf(self.generator.users()));
        outcome.returned = (self.design.page(&user)?.order_count > 0).into();
        Ok(())
    }

    fn repair(&self) -> Result<u64> {
        // An order is one atomic write of one row: nothing can be incomplete.
        Ok(0)
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        let mut model = self.generator.model(written);
        let (user, next) = self.generator.item(written);
        if self.design.page(&user)?.last_orders.first().is_some_and(|order| *order == next) {
            apply(model.entry(user).or_default(), next);
        }
        let mut verified = Verified::default();
        for (user, expected) in model {
            let found = self.design.page(&user)?;
            ensure!(
                (found.order_count, &found.last_orders)
                    == (expected.order_count, &expected.last_orders),
                "{user}: {} orders, the last {:?}; expected {}, the last {:?}",
                found.order_count,
                found.last_orders,
                expected.order_count,
                expected.last_orders
            );
            verified.add(1, 1);
        }
        Ok(verified)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        self.write(items)?;
        contention::verify(&*self.design)
    }
}
