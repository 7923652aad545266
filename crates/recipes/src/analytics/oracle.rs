//! Model of the analytics in memory: the events, and every answer by brute force.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use analytics::{Event, Kind};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

/// Events by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle(BTreeMap<u64, Event>);

impl Oracle {
    /// Adds an event; one that is there changes nothing.
    pub(super) fn apply(&mut self, event: Event) {
        self.0.entry(event.id).or_insert(event);
    }

    /// Returns the events in the order of their ids.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.0.values()
    }

    /// Returns the days with events.
    pub(super) fn days(&self) -> BTreeSet<i32> {
        self.events().map(|event| event.day().0).collect()
    }

    /// Returns the users of a day, of all kinds of events or of one.
    pub(super) fn users(&self, day: i32, kind: Option<Kind>) -> BTreeSet<u32> {
        let is_there =
            |event: &&Event| event.day().0 == day && kind.is_none_or(|kind| event.kind == kind);
        self.events().filter(is_there).map(|event| event.user).collect()
    }

    /// Returns the users of each hour.
    pub(super) fn hourly_users(&self) -> BTreeMap<i64, BTreeSet<u32>> {
        let mut hours: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
        for event in self.events() {
            hours.entry(event.at_ms / HOUR_MS * HOUR_MS).or_default().insert(event.user);
        }
        hours
    }

    /// Returns the events of each minute and kind.
    pub(super) fn board(&self, at_ms: Range<i64>) -> BTreeMap<(i64, Kind), i64> {
        let mut counts = BTreeMap::new();
        for event in self.events().filter(|event| at_ms.contains(&event.at_ms)) {
            let minute = event.at_ms / MINUTE_MS * MINUTE_MS;
            *counts.entry((minute, event.kind)).or_default() += 1;
        }
        counts
    }

    /// Returns the logins of each user and day.
    pub(super) fn logins(&self) -> BTreeMap<(u32, i32), i64> {
        let mut logins = BTreeMap::new();
        for event in self.events().filter(|event| event.kind == Kind::Login) {
            *logins.entry((event.user, event.day().0)).or_default() += 1;
        }
        logins
    }

    /// Returns the users who did all of the first steps on a day, for each number of steps.
    pub(super) fn funnel(&self, day: i32, steps: &[Kind]) -> Vec<u64> {
        let mut left = self.users(day, steps.first().copied());
        let count = |step: &Kind| {
            let users = self.users(day, Some(*step));
            left.retain(|user| users.contains(user));
            left.len() as u64
        };
        steps.iter().map(count).collect()
    }
}
