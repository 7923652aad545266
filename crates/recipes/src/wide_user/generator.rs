//! Generated orders: a few users have most of them, some arrive twice, and some after a later one.

use std::collections::BTreeMap;

use wide_user::{Order, RING_ORDERS, User};

use crate::random::Random;
use crate::recipe::{Load, T0};

const MINUTE_MS: i64 = 60_000;
/// Orders of one user in the mean.
const ORDERS_PER_USER: u64 = 20;
const MAX_USERS: u64 = 10_000_000;

/// Generator of orders by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    load: Load,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load) -> Self {
        Self { load }
    }

    /// Returns the number of users, at least 4.
    pub fn users(&self) -> u64 {
        (self.load.items / ORDERS_PER_USER).clamp(4, MAX_USERS)
    }

    /// Returns the id of a user; user 0 has the most orders.
    pub fn user(&self, rank: u64) -> String {
        format!("user_{rank}")
    }

    /// Returns the number of the order that an item is: itself; the one before, which is delivered
    /// a second time, because its first reply was lost; or its neighbor, as two of them change
    /// places.
    fn order_of(&self, number: u64) -> u64 {
        let pair = number / 2;
        if Random::new(self.load.seed, 4, pair).one_in(8) {
            return number ^ 1;
        }
        let is_repeated = number > 0 && Random::new(self.load.seed, 1, number).one_in(50);
        number - u64::from(is_repeated)
    }

    /// Returns the rank of an item's user.
    pub fn rank(&self, number: u64) -> u64 {
        Random::new(self.load.seed, 2, self.order_of(number)).zipf(self.users())
    }

    /// Returns the user and the order of an item.
    pub fn item(&self, number: u64) -> (String, Order) {
        let user = self.user(self.rank(number));
        let number = self.order_of(number);
        let mut random = Random::new(self.load.seed, 3, number);
        let at_ms = T0 + i64::try_from(number).unwrap_or(0) * MINUTE_MS;
        (user, Order { id: number + 1, at_ms, cents: 100 + random.below(100_000) })
    }

    /// Returns all users after these items.
    pub(super) fn model(&self, items: u64) -> BTreeMap<String, User> {
        let mut users: BTreeMap<String, User> = BTreeMap::new();
        for number in 0..items {
            let (name, order) = self.item(number);
            apply(users.entry(name).or_default(), order);
        }
        users
    }
}

/// Adds an order to a user of the model, who refuses one that is not newer than all others.
pub(super) fn apply(user: &mut User, order: Order) {
    if user.last_orders.first().is_some_and(|newest| newest.id >= order.id) {
        return;
    }
    user.order_count += 1;
    user.last_orders.insert(0, order);
    user.last_orders.truncate(usize::try_from(RING_ORDERS).unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 1_000 });
        let twice = (1..1_000).filter(|&n| generator.item(n).1 == generator.item(n - 1).1).count();
        let is_late = |n: &u64| {
            let ((user, order), (next_user, next)) = (generator.item(*n), generator.item(n + 1));
            user == next_user && next.id < order.id
        };
        let late = (0..1_000).filter(is_late).count();
        let users = generator.model(1_000);
        let full = users.values().filter(|user| user.order_count > u64::from(RING_ORDERS)).count();
        let few = users.values().filter(|user| user.order_count < u64::from(RING_ORDERS)).count();
        assert!(twice > 5 && late > 3 && full > 5 && few > 5, "{twice} {late} {full} {few}");
    }
}
