//! Events of a store: changes of its tables, regions and files, openings, failures and marks of
//! operators. The newest ones are kept in memory.
//!
//! Flushes and compactions are far more frequent than all other events, so the two groups have a
//! ring each: a day of flushes does not displace the split of yesterday. With the feature `heat`,
//! `engine/heat/stored_events.rs` keeps events over a restart.

use std::collections::VecDeque;

use halite_types::{Bytes, Error, RegionInfo, TableName};

use crate::catalog::layout;
use crate::env::Env;
use crate::health::{Health, StoreState};
use crate::ranked_lock::RankedMutex;

/// Maximum events of each group in memory.
pub(crate) const MAX_EVENTS: usize = 4096;

/// Maximum bytes of a text, and of a key; a longer key is left out.
const MAX_TEXT_BYTES: usize = 512;
const MAX_KEY_BYTES: usize = 1024;

/// Numbers of events of one millisecond in which the store may be opened again.
const NUMBERS_PER_MS: u64 = 1024;

/// Newest errors that a new one is compared with, and the time in which the same work of a region
/// fails only once: it is tried again and again.
const COMPARED_ERRORS: usize = 16;
const REPEATED_MS: u64 = 60_000;

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A region was divided in two.
    Split,
    /// Regions became one.
    Merge,
    /// A region went to another server.
    Move,
    /// Memstores of a region were written to files.
    Flush,
    /// Files of a region were merged.
    Compaction,
    /// A new version of a program runs, as its operator says.
    Deploy,
    /// The store was opened.
    Restart,
    /// A table was created, altered, truncated, dropped, disabled or enabled.
    Schema,
    /// Work failed, the store refuses writes, or files are damaged or quarantined.
    Error,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Split,
        Self::Merge,
        Self::Move,
        Self::Flush,
        Self::Compaction,
        Self::Deploy,
        Self::Restart,
        Self::Schema,
        Self::Error,
    ];

    /// Returns the name, one lower-case word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Merge => "merge",
            Self::Move => "move",
            Self::Flush => "flush",
            Self::Compaction => "compaction",
            Self::Deploy => "deploy",
            Self::Restart => "restart",
            Self::Schema => "schema",
            Self::Error => "error",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns `true` for the kinds of events that a store under load has all the time.
    pub(crate) fn is_frequent(self) -> bool {
        matches!(self, Self::Flush | Self::Compaction)
    }
}

/// Event of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number that rises with every event, also over restarts unless the clock is set back.
    pub number: u64,
    /// Time in milliseconds since 1970.
    pub time_ms: u64,
    /// Kind.
    pub kind: EventKind,
    /// Table; `None` for events of the whole store.
    pub table: Option<TableName>,
    /// Encoded name of the region, if it is about one.
    pub region: Option<String>,
    /// Row at which regions were split or merged, or the start of the region. At most 1024 bytes; a
    /// longer one is left out.
    pub key: Option<Bytes>,
    /// Description, at most 512 bytes.
    pub text: String,
    /// Duration in milliseconds, if it was measured.
    pub duration_ms: Option<u64>,
    /// Bytes that were written to files.
    pub bytes: Option<u64>,
}

/// Selection of events.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Earliest time in milliseconds since 1970.
    pub from_ms: Option<u64>,
    /// Time after the latest.
    pub to_ms: Option<u64>,
    /// Table.
    pub table: Option<TableName>,
    /// With a table, also the events of the whole store.
    pub with_store: bool,
    /// Kinds; all if there are none.
    pub kinds: Vec<EventKind>,
    /// Only events with lower numbers.
    pub before: Option<u64>,
}

impl EventFilter {
    /// Returns `true` if it selects an event.
    pub fn takes(&self, event: &Event) -> bool {
        let is_of_table = match (&self.table, &event.table) {
            (None, _) => true,
            (Some(wanted), Some(table)) => wanted == table,
            (Some(_), None) => self.with_store,
        };
        is_of_table
            && self.from_ms.is_none_or(|from| event.time_ms >= from)
            && self.to_ms.is_none_or(|to| event.time_ms < to)
            && self.before.is_none_or(|before| event.number < before)
            && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
    }
}

/// What happened, to be recorded.
pub(crate) struct NewEvent<'a> {
    kind: EventKind,
    table: Option<&'a TableName>,
    region: Option<&'a str>,
    key: Option<&'a Bytes>,
    text: String,
    duration_ns: Option<u64>,
    bytes: Option<u64>,
}

impl<'a> NewEvent<'a> {
    /// Returns an event of the whole store.
    pub(crate) fn of_store(kind: EventKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, table: None, region: None, key: None, text, duration_ns: None, bytes: None }
    }

    /// Returns an event of a table.
    pub(crate) fn of_table(kind: EventKind, table: &'a TableName, text: impl Into<String>) -> Self {
        Self { table: Some(table), ..Self::of_store(kind, text) }
    }

    /// Returns an event of a region, at its start.
    pub(crate) fn of_region(kind: EventKind, region: &'a RegionInfo, text: String) -> Self {
        let key = Some(&region.start).filter(|start| !start.is_empty());
        let region_name = Some(region.encoded_name.as_str());
        Self { region: region_name, key, ..Self::of_table(kind, &region.table, text) }
    }

    /// Sets the row.
    pub(crate) fn at(self, key: &'a Bytes) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Sets the duration in nanoseconds.
    pub(crate) fn took(self, duration_ns: u64) -> Self {
        Self { duration_ns: Some(duration_ns), ..self }
    }

    /// Sets the bytes that were written.
    pub(crate) fn wrote(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }
}

/// Newest events of a store.
#[derive(Default)]
pub(crate) struct EventLog(RankedMutex<Recorded>);

#[derive(Default)]
struct Recorded {
    last_number: u64,
    frequent: VecDeque<Event>,
    others: VecDeque<Event>,
    /// State of the store and its damaged files at the last look.
    state: Option<StoreState>,
    damaged_files: Vec<Error>,
}

impl EventLog {
    /// Records an event at the current time and returns that time in milliseconds since 1970.
    /// Events of hidden tables, and errors that repeat one of the last minute, are left out.
    pub(crate) fn add(&self, env: &Env, new: NewEvent<'_>) -> u64 {
        let time_ms = u64::try_from(env.clock.now_ms()).unwrap_or(0);
        if new.table.is_some_and(layout::is_hidden) {
            return time_ms;
        }
        let mut recorded = self.0.lock();
        let event = Event {
            number: recorded
                .last_number
                .saturating_add(1)
                .max(time_ms.saturating_mul(NUMBERS_PER_MS)),
            time_ms,
            kind: new.kind,
            table: new.table.cloned(),
            region: new.region.map(str::to_owned),
            key: new.key.filter(|key| key.len() <= MAX_KEY_BYTES).cloned(),
            text: shortened(new.text),
            duration_ms: new.duration_ns.map(|ns| ns / 1_000_000),
            bytes: new.bytes,
        };
        if !recorded.is_repeated(&event) {
            recorded.last_number = event.number;
            recorded.push(event);
        }
        time_ms
    }

    /// Records the changes of the store's health since the last look.
    pub(crate) fn add_health(&self, env: &Env, health: &Health) {
        let mut recorded = self.0.lock();
        let before = recorded.state.replace(health.state).unwrap_or(StoreState::Open);
        let damaged = std::mem::replace(&mut recorded.damaged_files, health.damaged_files.clone());
        drop(recorded);
        if before != health.state {
            let reason = health.reason.as_ref().map(Error::message).unwrap_or_default();
            let text = match health.state {
                StoreState::Open => "the store takes writes again".to_owned(),
                StoreState::Refusing => format!("the store refuses writes: {reason}"),
                StoreState::Stopped => format!("the store has stopped writing: {reason}"),
            };
            self.add(env, NewEvent::of_store(EventKind::Error, text));
        }
        let new = health.damaged_files.iter().filter(|file| !damaged.contains(file));
        for file in new.take(COMPARED_ERRORS) {
            self.add(env, NewEvent::of_store(EventKind::Error, file.message()));
        }
    }

    /// Returns the newest events that a filter takes, at most `limit`, newest first.
    pub(crate) fn find(&self, filter: &EventFilter, limit: usize) -> Vec<Event> {
        let recorded = self.0.lock();
        let newest = |ring: &VecDeque<Event>| {
            let taken = ring.iter().rev().filter(|event| filter.takes(event));
            taken.take(limit).cloned().collect::<Vec<_>>()
        };
        let mut found = newest(&recorded.frequent);
        found.extend(newest(&recorded.others));
        drop(recorded);
        found.sort_by_key(|event| std::cmp::Reverse(event.number));
        found.truncate(limit);
        found
    }

    /// Returns the events with higher numbers, oldest first.
    #[cfg(feature = "heat")]
    pub(crate) fn since(&self, number: u64) -> Vec<Event> {
        let recorded = self.0.lock();
        let newer = |ring: &VecDeque<Event>| {
            let newer = ring.iter().rev().take_while(|event| event.number > number);
            newer.cloned().collect::<Vec<_>>()
        };
        let mut found = newer(&recorded.frequent);
        found.extend(newer(&recorded.others));
        drop(recorded);
        found.sort_by_key(|event| event.number);
        found
    }

    /// Adds events of earlier processes. Returns the highest of their numbers; events of this
    /// process have higher ones afterwards, also if the clock was set back before it.
    #[cfg(feature = "heat")]
    pub(crate) fn restore(&self, events: Vec<Event>) -> u64 {
        let newest = events.iter().map(|event| event.number).max().unwrap_or(0);
        let mut recorded = self.0.lock();
        recorded.number_after(newest);
        for event in events {
            recorded.last_number = recorded.last_number.max(event.number);
            recorded.ring(event.kind).push_back(event);
        }
        for ring in [EventKind::Flush, EventKind::Split] {
            let ring = recorded.ring(ring);
            ring.make_contiguous().sort_by_key(|event| event.number);
            let extra = ring.len().saturating_sub(MAX_EVENTS);
            ring.drain(..extra);
        }
        newest
    }
}

impl Recorded {
    fn ring(&mut self, kind: EventKind) -> &mut VecDeque<Event> {
        if kind.is_frequent() { &mut self.frequent } else { &mut self.others }
    }

    /// Gives the events with numbers up to that of a stored one higher numbers, in their order.
    #[cfg(feature = "heat")]
    fn number_after(&mut self, stored: u64) {
        let own = self.frequent.iter_mut().chain(&mut self.others);
        let mut lower: Vec<&mut Event> = own.collect();
        if lower.iter().all(|event| event.number > stored) {
            return;
        }
        lower.sort_by_key(|event| event.number);
        for (event, number) in lower.into_iter().zip(stored.saturating_add(1)..) {
            event.number = event.number.max(number);
            self.last_number = self.last_number.max(event.number);
        }
    }

    fn push(&mut self, event: Event) {
        let ring = self.ring(event.kind);
        if ring.len() >= MAX_EVENTS {
            ring.pop_front();
        }
        ring.push_back(event);
    }

    fn is_repeated(&self, event: &Event) -> bool {
        // The rest of the text may have the name of a new file.
        let work = |event: &Event| event.text.split(": ").next().map(str::to_owned);
        let is_same = |known: &&Event| {
            (known.kind, &known.region, work(known)) == (event.kind, &event.region, work(event))
                && event.time_ms.saturating_sub(known.time_ms) < REPEATED_MS
        };
        // The state of the store changes; each change counts.
        event.kind == EventKind::Error
            && event.region.is_some()
            && self.others.iter().rev().take(COMPARED_ERRORS).any(|known| is_same(&known))
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES - 3));
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::SimEnv;

    fn texts(found: &[Event]) -> Vec<&str> {
        found.iter().map(|event| event.text.as_str()).collect()
    }

    #[test]
    fn frequent_events_do_not_displace_others() {
        let (env, log) = (SimEnv::new(1).env(), EventLog::default());
        let table: TableName = "t".parse().unwrap();
        log.add(&env, NewEvent::of_table(EventKind::Split, &table, "split"));
        for number in 0..2 * MAX_EVENTS {
            log.add(&env, NewEvent::of_table(EventKind::Flush, &table, number.to_string()));
        }
        let found = log.find(&EventFilter::default(), 2 * MAX_EVENTS);
        assert_eq!(found.len(), MAX_EVENTS + 1);
        assert_eq!(found[0].text, (2 * MAX_EVENTS - 1).to_string());
        assert_eq!(found[MAX_EVENTS].text, "split");
        assert!(found.is_sorted_by(|newer, older| newer.number > older.number));
    }

    #[test]
    fn filter_selects_by_table_kind_time_and_number() {
        let (env, log) = (SimEnv::new(1).env(), EventLog::default());
        let (a, b): (TableName, TableName) = ("a".parse().unwrap(), "b".parse().unwrap());
        log.add(&env, NewEvent::of_table(EventKind::Split, &a, "one"));
        log.add(&env, NewEvent::of_table(EventKind::Schema, &b, "two"));
        log.add(&env, NewEvent::of_store(EventKind::Restart, "three"));
        log.add(&env, NewEvent::of_table(EventKind::Flush, &a, "four"));
        let find = |filter: EventFilter| log.find(&filter, 10);
        let of_a = EventFilter { table: Some(a.clone()), ..EventFilter::default() };
        assert_eq!(texts(&find(of_a.clone())), ["four", "one"]);
        let with_store = EventFilter { with_store: true, ..of_a.clone() };
        assert_eq!(texts(&find(with_store)), ["four", "three", "one"]);
        let newest = find(of_a.clone()).remove(0);
        let before = EventFilter { before: Some(newest.number), ..of_a.clone() };
        assert_eq!(texts(&find(before)), ["one"]);
        let kinds = vec![EventKind::Schema, EventKind::Flush];
        assert_eq!(texts(&find(EventFilter { kinds, ..EventFilter::default() })), ["four", "two"]);
        let past = EventFilter { to_ms: Some(newest.time_ms), ..EventFilter::default() };
        assert!(find(past).is_empty());
        let now = EventFilter { from_ms: Some(newest.time_ms), ..EventFilter::default() };
        assert_eq!(find(now).len(), 4);
    }

    #[test]
    fn texts_and_keys_are_bounded_and_hidden_tables_left_out() {
        let (env, log) = (SimEnv::new(1).env(), EventLog::default());
        let table: TableName = "t".parse().unwrap();
        let key = Bytes::from(vec![7; MAX_KEY_BYTES + 1]);
        let text = "\u{e4}".repeat(MAX_TEXT_BYTES);
        log.add(&env, NewEvent::of_table(EventKind::Split, &table, text).at(&key));
        log.add(
            &env,
            NewEvent::of_table(EventKind::Flush, &layout::meta_overlay_table(), "hidden"),
        );
        let found = log.find(&EventFilter::default(), 10);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].key, None);
        assert!(found[0].text.len() <= MAX_TEXT_BYTES && found[0].text.ends_with("..."));
    }

    #[test]
    fn repeated_error_of_a_region_is_recorded_once() {
        let (env, log) = (SimEnv::new(1).env(), EventLog::default());
        let region = layout::new_region(&"t".parse().unwrap(), Bytes::new(), Bytes::new(), 1);
        for _ in 0..3 {
            log.add(&env, NewEvent::of_region(EventKind::Error, &region, "no room".to_owned()));
        }
        log.add(&env, NewEvent::of_region(EventKind::Error, &region, "damaged".to_owned()));
        assert_eq!(texts(&log.find(&EventFilter::default(), 10)), ["damaged", "no room"]);
    }
}
