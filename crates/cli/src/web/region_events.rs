//! Events of a cluster elsewhere, as far as they show in two lists of its regions: splits, merges,
//! moves, and new tables. HBase does not report flushes and compactions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite::{Bytes, Event, EventKind, RegionInfo, Result, TableName};
use halite_web::{EventQuery, Page};

use super::events::{filter_of, page_of_events};

/// Maximum events that are remembered.
const MAX_EVENTS: usize = 4096;

/// Events since the program looks at the cluster.
#[derive(Default)]
pub(super) struct RegionEvents(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    /// `None` before the first look.
    looked: Option<Looked>,
    /// Oldest first.
    events: VecDeque<Event>,
    last_number: u64,
}

/// Regions of a table by start key.
type Regions = BTreeMap<Bytes, RegionPlace>;

/// Regions of all tables at one time.
struct Looked {
    /// Milliseconds since 1970.
    at: u64,
    tables: BTreeMap<TableName, Regions>,
}

/// Region and its server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RegionPlace {
    encoded_name: String,
    /// End of its keys, exclusive; empty for none.
    end: Bytes,
    /// Time at which it was created, in milliseconds since 1970.
    id: u64,
    server: Option<String>,
}

impl RegionEvents {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the regions with those of the last look. Times are in milliseconds since 1970.
    pub(super) fn look<'a>(
        &self,
        now_ms: u64,
        regions: impl Iterator<Item = (&'a RegionInfo, Option<String>)>,
    ) {
        let mut looked = Looked { at: now_ms, tables: BTreeMap::new() };
        for (region, server) in regions {
            let (encoded_name, id) = (region.encoded_name.clone(), region.region_id);
            let place = RegionPlace { encoded_name, end: region.end.clone(), id, server };
            looked
                .tables
                .entry(region.table.clone())
                .or_default()
                .insert(region.start.clone(), place);
        }
        let mut recorded = self.lock();
        let found = recorded.looked.as_ref().map(|before| changes(before, &looked));
        found.unwrap_or_default().into_iter().for_each(|event| recorded.push(event));
        if let Some(before) = recorded.looked.take() {
            looked.keep_missing(before);
        }
        recorded.looked = Some(looked);
    }

    /// Records that a new version of a program runs.
    pub(super) fn mark_deploy(&self, now_ms: u64, table: Option<&TableName>, text: &str) {
        let event =
            Event { table: table.cloned(), ..event_of(now_ms, EventKind::Deploy, text.to_owned()) };
        self.lock().push(event);
    }

    /// Returns the events that a query selects, newest first.
    ///
    /// # Errors
    /// `InvalidRequest` for a continuation that no answer contained.
    pub(super) fn find(&self, query: &EventQuery) -> Result<Page<halite_web::Event>> {
        let filter = filter_of(query)?;
        let recorded = self.lock();
        let wanted = recorded.events.iter().rev().filter(|event| filter.takes(event));
        let found: Vec<_> = wanted.take(query.limit).cloned().collect();
        drop(recorded);
        Ok(page_of_events(found, query.limit))
    }
}

impl Looked {
    /// Keeps the regions of an earlier look whose keys no region has now: they are on a server that
    /// stopped, and come back.
    fn keep_missing(&mut self, before: Self) {
        for (table, regions) in before.tables {
            let Some(new) = self.tables.get_mut(&table) else { continue };
            let is_missing =
                |key: &Bytes, new: &Regions| !new.contains_key(key) && !has_inside(new, key);
            let missing: Vec<_> =
                regions.into_iter().filter(|(key, _)| is_missing(key, new)).collect();
            new.extend(missing);
        }
    }
}

impl Recorded {
    fn push(&mut self, event: Event) {
        self.last_number += 1;
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(Event { number: self.last_number, ..event });
    }
}

fn event_of(time_ms: u64, kind: EventKind, text: String) -> Event {
    Event {
        number: 0,
        time_ms,
        kind,
        table: None,
        region: None,
        key: None,
        text,
        duration_ms: None,
        bytes: None,
    }
}

/// Returns the events that explain the differences between two looks. A region that is missing may
/// be on a server that stopped, so that nothing is concluded from that alone.
fn changes(before: &Looked, after: &Looked) -> Vec<Event> {
    let mut events = Vec::new();
    for (table, regions) in &after.tables {
        match before.tables.get(table) {
            Some(old) if is_replaced(old, regions) => {
                let text = format!("table truncated or created again with {}", count(regions));
                events.push((table, event_of(0, EventKind::Schema, text)));
            }
            Some(old) => {
                let borders = border_changes(old, regions);
                let found = borders.into_iter().chain(moves(old, regions));
                events.extend(found.map(|event| (table, event)));
            }
            None if regions.values().all(|region| region.id >= before.at) => {
                let text = format!("table created with {}", count(regions));
                events.push((table, event_of(0, EventKind::Schema, text)));
            }
            // Enabled, or on a server that was gone.
            None => {}
        }
    }
    let finished = |(table, event): (&TableName, Event)| Event {
        time_ms: after.at,
        table: Some(table.clone()),
        ..event
    };
    events.into_iter().map(finished).collect()
}

/// Returns `true` if no region is left of several.
fn is_replaced(old: &Regions, new: &Regions) -> bool {
    let is_left =
        |region: &RegionPlace| new.values().any(|new| new.encoded_name == region.encoded_name);
    old.len() > 1 && new.len() > 1 && !old.values().any(is_left)
}

fn count(regions: &Regions) -> String {
    format!("{} region{}", regions.len(), if regions.len() == 1 { "" } else { "s" })
}

/// Returns splits and merges: a border came where a region was, or went where a region is.
fn border_changes(old: &Regions, new: &Regions) -> Vec<Event> {
    let splits = new.iter().filter(|(key, _)| !old.contains_key(*key) && has_inside(old, key));
    let splits = splits.map(|(key, region)| {
        let text = format!("a region was split, and {} begins here", region.encoded_name);
        event_at(EventKind::Split, text, key, region)
    });
    let merges = old.iter().filter(|(key, _)| !new.contains_key(*key) && has_inside(new, key));
    let merges = merges.map(|(key, region)| {
        let text = format!("region {} was merged into the one before", region.encoded_name);
        event_at(EventKind::Merge, text, key, region)
    });
    splits.chain(merges).collect()
}

/// Returns `true` if a region begins before a key and ends after it.
fn has_inside(regions: &Regions, key: &Bytes) -> bool {
    let before = regions.range(..key.clone()).next_back();
    before.is_some_and(|(_, region)| region.end.is_empty() || region.end > *key)
}

fn moves(old: &Regions, new: &Regions) -> Vec<Event> {
    let moved = new.iter().filter_map(|(key, region)| {
        let before = old.get(key).filter(|old| old.encoded_name == region.encoded_name)?;
        let (from, to) = (before.server.as_ref()?, region.server.as_ref()?);
        let text = format!("region {} moved from {from} to {to}", region.encoded_name);
        (from != to).then(|| event_at(EventKind::Move, text, key, region))
    });
    moved.collect()
}

fn event_at(kind: EventKind, text: String, key: &Bytes, region: &RegionPlace) -> Event {
    Event {
        region: Some(region.encoded_name.clone()),
        key: Some(key.clone()).filter(|key| !key.is_empty()),
        ..event_of(0, kind, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: &'static str, id: u64) -> RegionInfo {
        RegionInfo {
            table: "t".parse().unwrap(),
            start: Bytes::from(start),
            end: Bytes::new(),
            region_id: id,
            encoded_name: format!("{start}-{id}"),
        }
    }

    /// Looks at regions that end where the next one begins.
    fn look(events: &RegionEvents, now_ms: u64, regions: &[(RegionInfo, &str)]) {
        let mut regions = regions.to_vec();
        let starts: Vec<_> = regions.iter().skip(1).map(|(next, _)| next.start.clone()).collect();
        regions.iter_mut().zip(starts).for_each(|((region, _), next)| region.end = next);
        look_at(events, now_ms, &regions);
    }

    fn look_at(events: &RegionEvents, now_ms: u64, regions: &[(RegionInfo, &str)]) {
        let places = regions.iter().map(|(region, server)| (region, Some((*server).to_owned())));
        events.look(now_ms, places);
    }

    fn kinds(events: &RegionEvents, query: EventQuery) -> Vec<String> {
        let found = events.find(&EventQuery { limit: 100, ..query }).unwrap();
        found.items.into_iter().map(|event| format!("{} {}", event.at, event.kind)).collect()
    }

    #[test]
    fn changed_regions_are_events_after_first_look() {
        let events = RegionEvents::default();
        look(&events, 10, &[(region("", 1), "a,1,1"), (region("m", 1), "b,1,1")]);
        assert!(kinds(&events, EventQuery::default()).is_empty());
        let split =
            [(region("", 1), "b,1,1"), (region("m", 2), "b,1,1"), (region("t", 2), "b,1,1")];
        look(&events, 20, &split);
        look(&events, 30, &[(region("", 3), "b,1,1"), (region("t", 2), "b,1,1")]);
        let all = kinds(&events, EventQuery::default());
        assert_eq!(all, ["30 merge", "20 move", "20 split"]);
        let splits = EventQuery { kinds: vec!["split".to_owned()], ..EventQuery::default() };
        let found = events.find(&EventQuery { limit: 1, ..splits }).unwrap();
        assert_eq!(found.items[0].key, Some(Bytes::from("t")));
        assert_eq!(found.items[0].region.as_deref(), Some("t-2"));
    }

    #[test]
    fn table_without_former_regions_was_created_again() {
        let events = RegionEvents::default();
        let regions = |id| [(region("", id), "a,1,1"), (region("m", id), "a,1,1")];
        look(&events, 10, &regions(1));
        look(&events, 20, &[(region("", 11), "a,1,1"), (region("k", 11), "a,1,1")]);
        assert_eq!(kinds(&events, EventQuery::default()), ["20 schema"]);
        // The only region of a table was split.
        let events = RegionEvents::default();
        look(&events, 10, &[(region("", 1), "a,1,1")]);
        look(&events, 20, &regions(11));
        assert_eq!(kinds(&events, EventQuery::default()), ["20 split"]);
    }

    #[test]
    fn regions_of_stopped_server_are_no_events() {
        let events = RegionEvents::default();
        let mut all =
            [(region("", 1), "a,1,1"), (region("m", 1), "b,1,1"), (region("t", 1), "b,1,1")];
        (all[0].0.end, all[1].0.end) = (Bytes::from("m"), Bytes::from("t"));
        look_at(&events, 10, &all);
        look_at(&events, 20, &all[..1]);
        look_at(&events, 30, &all);
        look_at(&events, 40, &[]);
        look_at(&events, 50, &all);
        assert!(kinds(&events, EventQuery::default()).is_empty());
        let mut other = region("", 60);
        other.table = "new".parse().unwrap();
        look(&events, 70, &[(other, "a,1,1")]);
        assert_eq!(kinds(&events, EventQuery::default()), ["70 schema"]);
    }

    #[test]
    fn list_continues_after_its_limit_and_is_bounded() {
        let events = RegionEvents::default();
        (0..5000).for_each(|at| events.mark_deploy(at, None, "release"));
        let first = events.find(&EventQuery { limit: 2, ..EventQuery::default() }).unwrap();
        assert_eq!((first.items.len(), first.items[0].at), (2, 4999));
        let rest = EventQuery { limit: 9000, next: first.next, ..EventQuery::default() };
        let rest = events.find(&rest).unwrap();
        assert_eq!((rest.items.len(), rest.items[0].at), (MAX_EVENTS - 2, 4997));
        let bad = EventQuery { limit: 1, next: Some("x".to_owned()), ..EventQuery::default() };
        assert!(events.find(&bad).is_err());
    }
}
