//! Generated behavior: a few users do most with a few items, some events are late, some arrive
//! twice; four times a batch replaces the vectors of all users and items.

use features::{Behavior, Entity, Vector};

use crate::random::Random;
use crate::recipe::Load;

/// Time of all events: four days.
const SPAN_MS: u64 = 4 * 86_400_000;
/// Events of a user, and of an item, in the mean.
const EVENTS_PER_USER: u64 = 20;
const EVENTS_PER_ITEM: u64 = 10;
const MAX_ENTITIES: u64 = 1_000_000;
/// Numbers of a vector.
const DIMENSIONS: usize = 128;
/// Time by which an event is late at most.
const LATE_MS: u64 = 86_400_000;
/// Events back to which one that is delivered again reaches.
const MAX_DISTANCE: u64 = 50;
const KINDS: [&str; 4] = ["click", "view", "like", "share"];

/// Item of the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Something that a user did.
    Behavior(Behavior),
    /// New vectors of all users and items, of this version.
    Vectors(u32),
}

/// Generator of items by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    pub(super) load: Load,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load) -> Self {
        Self { load }
    }

    /// Returns the number of users, at least 4.
    pub fn users(&self) -> u64 {
        (self.load.items / EVENTS_PER_USER).clamp(4, MAX_ENTITIES)
    }

    /// Returns the number of items that users see, at least 8.
    pub fn products(&self) -> u64 {
        (self.load.items / EVENTS_PER_ITEM).clamp(8, MAX_ENTITIES)
    }

    /// Returns an item.
    pub fn item(&self, number: u64) -> Item {
        let items = self.load.items;
        let batches = [0, items / 4, items * 5 / 8, items * 7 / 8];
        if let Some(batch) = batches.iter().position(|first| *first == number) {
            return Item::Vectors(u32::try_from(batch).unwrap_or(0) + 1);
        }
        let mut random = Random::new(self.load.seed, 1, number);
        if number > 0 && random.one_in(50) {
            return Item::Behavior(
                self.behavior(number - 1 - random.below(number.min(MAX_DISTANCE))),
            );
        }
        Item::Behavior(self.behavior(number))
    }

    fn behavior(&self, id: u64) -> Behavior {
        let mut random = Random::new(self.load.seed, 2, id);
        let (user, item) = (random.zipf(self.users()), random.zipf(self.products()));
        let late_ms = if random.one_in(100) { random.below(LATE_MS) } else { 0 };
        let kind = KINDS[usize::try_from(random.zipf(KINDS.len() as u64)).unwrap_or(0)];
        let at_ms = self.load.time_ms(id, SPAN_MS) - late_ms.cast_signed();
        Behavior { id, user, item, at_ms, kind: kind.to_owned() }
    }

    /// Returns the vector of a user or an item in a version.
    pub fn vector(&self, of: Entity, version: u32) -> Vector {
        let (purpose, number) = match of {
            Entity::User(user) => (3, user),
            Entity::Item(item) => (4, item),
        };
        let mut random = Random::new(self.load.seed ^ u64::from(version) << 32, purpose, number);
        #[expect(clippy::cast_possible_truncation, reason = "a vector has 32-bit numbers")]
        let values = (0..DIMENSIONS).map(|_| random.fraction() as f32 - 0.5).collect();
        Vector { of, values }
    }

    /// Returns all users and items.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        (0..self.users()).map(Entity::User).chain((0..self.products()).map(Entity::Item))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 2_000 });
        let (mut ids, mut of_users, mut versions) = (HashSet::new(), HashMap::new(), Vec::new());
        for number in 0..2_000 {
            match generator.item(number) {
                Item::Vectors(version) => versions.push(version),
                Item::Behavior(behavior) => {
                    ids.insert(behavior.id);
                    *of_users.entry(behavior.user).or_insert(0) += 1;
                }
            }
        }
        assert_eq!(versions, [1, 2, 3, 4]);
        assert!((1_900..1_980).contains(&ids.len()), "{}", ids.len());
        assert!(of_users[&0] > 100 && of_users[&1] > 50, "neighbors in the key are both busy");
        let vector = |version| generator.vector(Entity::Item(3), version);
        assert!(vector(1) == vector(1) && vector(1) != vector(2));
        assert_eq!(generator.entities().count(), 300);
    }
}
