//! Generated operations: sixty days, in which a few users do most; several in one millisecond, some
//! that arrive late, some that arrive twice.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use user_ops::Operation;

use crate::paging::Model;
use crate::random::Random;
use crate::recipe::{Load, T0};

use super::design::Design;
use super::flights::Flights;

const DAY_MS: u64 = 86_400_000;
/// Days of the operations: more than fit into 32 bits of milliseconds.
const DAYS: u64 = 60;
/// Operations of one user in the mean.
const OPERATIONS_PER_USER: u64 = 20;
const MAX_USERS: u64 = 90_000_000;
const KINDS: [&str; 6] = ["login", "search", "view", "buy", "pay", "logout"];

/// Generator of operations by their numbers, or the operations of a file.
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

    /// Returns the time before the first operation, but for late ones, in milliseconds since 1970.
    pub fn first_ms(&self) -> i64 {
        let day_ms = DAY_MS.cast_signed();
        self.flights.as_ref().map_or(T0, |flights| flights.first_ms / day_ms * day_ms)
    }

    /// Returns the number of users, at least 4.
    pub fn users(&self) -> u64 {
        if let Some(flights) = &self.flights {
            return flights.aircraft.len() as u64;
        }
        (self.load.items / OPERATIONS_PER_USER).clamp(4, MAX_USERS)
    }

    /// Returns the id of a user; user 0 has the most operations. The reversed id of user 1 begins
    /// with that of user 0, but for the zeros in front.
    pub fn user(&self, rank: u64) -> String {
        if let Some(flights) = &self.flights {
            let rank = usize::try_from(rank).unwrap_or(usize::MAX);
            return flights.aircraft.get(rank).cloned().unwrap_or_default();
        }
        let number = match rank {
            0 => 12_345,
            1 => 612_345,
            other => 1_000_000 + other,
        };
        format!("{number:0width$}", width = user_ops::USER_CHARS)
    }

    /// Returns an item. The operations of a file are a year, which is repeated in the following
    /// ones.
    ///
    /// # Errors
    /// A file that can no longer be read.
    pub fn item(&self, number: u64) -> Result<Operation> {
        if let Some(flights) = &self.flights {
            let (year, operation) = flights.source.item(number)?;
            let later_ms = i64::try_from(year * 365 * DAY_MS).unwrap_or(0);
            return Ok(Operation { at_ms: operation.at_ms + later_ms, ..operation });
        }
        let mut random = Random::new(self.load.seed, 1, number);
        if number > 0 && random.one_in(100) {
            // An operation that is delivered a second time, because its first reply was lost.
            return Ok(self.operation(number - 1 - random.below(number.min(50))));
        }
        Ok(self.operation(number))
    }

    fn operation(&self, number: u64) -> Operation {
        let mut random = Random::new(self.load.seed, 2, number);
        let is_burst = number > 0 && random.one_in(8);
        let (user, at_ms) = self.user_and_time(if is_burst { number - 1 } else { number });
        let kind = KINDS[usize::try_from(random.zipf(KINDS.len() as u64)).unwrap_or(0)];
        let detail = match kind {
            "buy" | "pay" => format!("order {}", random.below(1_000_000)),
            "search" | "view" => format!("item {}", random.zipf(10_000)),
            _ => String::new(),
        };
        let sequence = u32::try_from(number % (1 << 32)).unwrap_or(0);
        Operation { user, at_ms, sequence, kind: kind.to_owned(), detail }
    }

    fn user_and_time(&self, number: u64) -> (String, i64) {
        let mut random = Random::new(self.load.seed, 3, number);
        let user = self.user(random.zipf(self.users()));
        let late_ms = if random.one_in(100) { random.below(DAY_MS) } else { 0 };
        let at_ms = self.load.time_ms(number, DAYS * DAY_MS);
        (user, at_ms - i64::try_from(late_ms).unwrap_or(0))
    }
}

/// Returns the lists of all users after these items.
pub(super) fn model(items: Vec<Operation>) -> Model<dyn Design> {
    // Operations that are delivered twice are one.
    let distinct: BTreeMap<_, Operation> = items
        .into_iter()
        .map(|item| ((item.user.clone(), Reverse(item.at_ms), item.sequence), item))
        .collect();
    let mut model: Model<dyn Design> = Model::<dyn Design>::new();
    for operation in distinct.into_values() {
        model.entry(operation.user.clone()).or_default().push(operation);
    }
    model
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 2_000 }, None);
        let items: Vec<Operation> =
            (0..2_000).map(|number| generator.item(number).unwrap()).collect();
        let (mut same_ms, mut delivered) = (HashMap::new(), HashMap::new());
        for item in &items {
            *same_ms.entry((&item.user, item.at_ms)).or_insert(0) += 1;
            *delivered.entry((&item.user, item.at_ms, item.sequence)).or_insert(0) += 1;
        }
        let bursts = same_ms.values().filter(|count| **count > 1).count();
        let twice = delivered.values().filter(|count| **count > 1).count();
        assert!(bursts > 100 && twice > 5, "{bursts} {twice}");
        let span = items.iter().map(|item| item.at_ms).max().unwrap() - T0;
        assert!(span > 30 * 86_400_000 && span > i64::from(i32::MAX), "{span}");
        let neighbors = [generator.user(0), generator.user(1)];
        let operations =
            neighbors.map(|user| items.iter().filter(|item| item.user == user).count());
        assert!(operations.iter().all(|count| *count > 50), "{operations:?}");
    }
}
