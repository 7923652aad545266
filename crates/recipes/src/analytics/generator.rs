//! Generated events of sixteen days: users who join one after the other, of whom a few do most;
//! some events are late, and some arrive twice.

use analytics::{DAY_MS, Event, Kind};

use crate::random::Random;
use crate::recipe::{Load, T0};

/// Days of the events.
const DAYS: i64 = 16;
/// Events of one user in the mean.
const EVENTS_PER_USER: u64 = 10;
/// Events that follow one another at once, so that minutes have several, and the time between them.
const BURST: u64 = 20;
const BURST_STEP_MS: u64 = 1_500;
/// Time by which an event is late at most.
const LATE_MS: u64 = 6 * 3_600_000;
/// Events back to which one that is delivered again reaches.
const MAX_DISTANCE: u64 = 50;

/// Generator of events by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    pub(super) load: Load,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load) -> Self {
        Self { load }
    }

    /// Returns the number of users who joined before an item, at least 1.
    pub fn users(&self, number: u64) -> u64 {
        number / EVENTS_PER_USER + 1
    }

    /// Returns a time after the items before a number.
    pub fn end_ms(&self, items: u64) -> i64 {
        self.time_ms(items) + 1
    }

    /// Returns an item: an event, or one of the last ones again, whose first reply was lost.
    pub fn item(&self, number: u64) -> Event {
        let mut random = Random::new(self.load.seed, 1, number);
        if number > 0 && random.one_in(50) {
            return self.event(number - 1 - random.below(number.min(MAX_DISTANCE)));
        }
        self.event(number)
    }

    fn event(&self, id: u64) -> Event {
        let mut random = Random::new(self.load.seed, 2, id);
        let newest = self.users(id) - 1;
        if id.is_multiple_of(EVENTS_PER_USER) {
            return Event { id, user: user(newest), at_ms: self.time_ms(id), kind: Kind::Join };
        }
        // Half of the events are of the users who joined last, the others of some busy ones.
        let back = if random.one_in(2) { newest - random.zipf(newest + 1) } else { 0 };
        let rank = if back > 0 { back } else { random.zipf(newest + 1) };
        let late_ms = if random.one_in(100) { random.below(LATE_MS) } else { 0 };
        let kind = match random.below(10) {
            0..4 => Kind::View,
            4..7 => Kind::Login,
            7..9 => Kind::Cart,
            _ => Kind::Pay,
        };
        let at_ms = (self.time_ms(id) - late_ms.cast_signed()).max(T0);
        Event { id, user: user(rank), at_ms, kind }
    }

    fn time_ms(&self, number: u64) -> i64 {
        let (burst, place) = (number / BURST * BURST, number % BURST);
        let began_ms = self.load.time_ms(burst, (DAYS * DAY_MS).cast_unsigned());
        began_ms.saturating_add((place * BURST_STEP_MS).cast_signed())
    }
}

fn user(rank: u64) -> u32 {
    u32::try_from(rank).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 2_000 });
        let items: Vec<Event> = (0..2_000).map(|number| generator.item(number)).collect();
        let ids: HashSet<u64> = items.iter().map(|event| event.id).collect();
        let late =
            items.windows(2).filter(|pair| pair[0].at_ms > pair[1].at_ms + 1_000_000).count();
        assert!((20..80).contains(&(2_000 - ids.len())) && late > 5, "{} {late}", ids.len());
        let days: HashSet<i32> = items.iter().map(|event| event.day().0).collect();
        assert_eq!(days.len(), 16);
        let mut of_users: BTreeMap<u32, u64> = BTreeMap::new();
        items.iter().for_each(|event| *of_users.entry(event.user).or_default() += 1);
        assert!(of_users.len() > 150 && of_users.values().any(|count| *count > 50));
        let came_back = items.iter().filter(|event| {
            let joined = generator.event(u64::from(event.user) * EVENTS_PER_USER).day().0;
            event.kind == Kind::Login && event.day().0 == joined + 1
        });
        assert!(came_back.count() > 10);
    }
}
