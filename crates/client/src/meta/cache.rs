//! What is known of where regions are.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use halite_types::{Bytes, RegionInfo, TableName};
use halite_wire::convert::region;
use halite_wire::convert::server::ServerName;
use halite_wire::exception::{Action, Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service::Service;
use tokio::time::Instant;

use crate::connection::{Server, Servers};
use crate::failure::{Cause, Failure};

/// A region and its server.
pub(crate) struct Location {
    pub(crate) region: RegionInfo,
    /// How requests name it.
    pub(crate) specifier: pb::RegionSpecifier,
    pub(crate) server: Arc<Server>,
    /// The sequence id at which it was opened there: news with a lower one is old.
    pub(crate) open_sequence: u64,
}

impl Location {
    pub(crate) fn new(region: RegionInfo, server: Arc<Server>, open_sequence: u64) -> Self {
        Self { specifier: region::specifier(&region), region, server, open_sequence }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "table {}, region {}, server {}", self.region.table, self.region.display_name(), self.server)
    }
}

/// Which region of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At<'a> {
    /// The one a row is in.
    Containing(&'a [u8]),
    /// The one that the rows just below a key are in; not the empty key.
    Before(&'a [u8]),
    /// The last.
    Last,
}

/// What is known of one table.
pub(crate) struct TableRegions {
    name: TableName,
    known: RwLock<BTreeMap<Bytes, Arc<Location>>>,
    /// Held by who asks where a region is; when and how that failed last, if it says nothing of one region.
    pub(super) asking: tokio::sync::Mutex<Option<(Instant, Failure)>>,
    /// A server did not serve a region it should: the table may be disabled.
    doubted: AtomicBool,
}

impl TableRegions {
    fn new(name: TableName) -> Self {
        Self { name, known: RwLock::default(), asking: tokio::sync::Mutex::default(), doubted: AtomicBool::new(false) }
    }

    pub(crate) fn name(&self) -> &TableName {
        &self.name
    }

    /// How urgent calls are, for the servers: HBase's clients say 200 for its own tables.
    pub(crate) fn priority(&self) -> Option<u32> {
        (self.name.namespace() == halite_types::schema::SYSTEM_NAMESPACE).then_some(200)
    }

    /// The region, if its place is known.
    pub(crate) fn find(&self, at: At<'_>) -> Option<Arc<Location>> {
        let known = self.read();
        let (key, bound) = match at {
            At::Containing(row) => (row, (Bound::Unbounded, Bound::Included(row))),
            At::Before(start) => (start, (Bound::Unbounded, Bound::Excluded(start))),
            At::Last => return known.values().next_back().filter(|last| last.region.end.is_empty()).cloned(),
        };
        let (_, location) = known.range::<[u8], _>(bound).next_back()?;
        let fits = match at {
            At::Before(_) => location.region.end.is_empty() || location.region.end >= key,
            _ => location.region.contains(key),
        };
        fits.then(|| Arc::clone(location))
    }

    /// Learns where a region is. What overlaps with it is gone. A damaged `hbase:meta` may have one of another table here, or one
    /// that ends where it begins or before; it is left out.
    pub(crate) fn learn(&self, location: Arc<Location>) {
        let (start, end) = (&location.region.start, &location.region.end);
        if location.region.table != self.name || !end.is_empty() && start >= end {
            return;
        }
        let mut known = self.write();
        let before = known.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(&start[..]))).next_back();
        let overlapping = before.filter(|(_, other)| other.region.end.is_empty() || other.region.end > *start).map(|(key, _)| key.clone());
        let behind = if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(&end[..]) };
        let inside = known.range::<[u8], _>((Bound::Included(&start[..]), behind)).map(|(key, _)| key.clone());
        let gone: Vec<Bytes> = overlapping.into_iter().chain(inside).collect();
        gone.iter().for_each(|key| drop(known.remove(key)));
        known.insert(start.clone(), location);
    }

    /// Forgets a region's place, unless somebody has learnt a newer one already.
    pub(crate) fn forget(&self, location: &Arc<Location>) {
        let mut known = self.write();
        if known.get(&location.region.start).is_some_and(|current| Arc::ptr_eq(current, location)) {
            known.remove(&location.region.start);
        }
    }

    fn forget_server(&self, server: &ServerName) {
        self.write().retain(|_, location| location.server.name() != server);
    }

    /// Whether the state of the table is to be looked at; once for each doubt.
    pub(super) fn take_doubt(&self) -> bool {
        self.doubted.swap(false, Ordering::Relaxed)
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Bytes, Arc<Location>>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<Bytes, Arc<Location>>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of all tables.
#[derive(Default)]
pub(crate) struct Locations(Mutex<HashMap<TableName, Arc<TableRegions>>>);

impl Locations {
    /// What is known of a table, the same for everybody.
    pub(crate) fn table(&self, name: &TableName) -> Arc<TableRegions> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tables.entry(name.clone()).or_insert_with(|| Arc::new(TableRegions::new(name.clone()))))
    }

    /// What a failure at a region says about where it is: it moved, it is elsewhere, or its server is gone.
    pub(crate) fn note(&self, failure: &Failure, table: &TableRegions, location: &Arc<Location>, servers: &Servers) {
        match failure.action() {
            Action::Relocate => note_elsewhere(failure, table, location, servers),
            Action::DropServer => {
                let server = &location.server;
                server.disconnect(failure);
                let tables: Vec<_> = self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
                tables.iter().for_each(|table| table.forget_server(server.name()));
            }
            _ => {}
        }
    }
}

fn note_elsewhere(failure: &Failure, table: &TableRegions, location: &Arc<Location>, servers: &Servers) {
    let exception = match &failure.cause {
        Cause::Exception(exception) => Some(&**exception),
        _ => None,
    };
    if exception.and_then(Exception::kind) == Some(ExceptionKind::NotServingRegion) {
        table.doubted.store(true, Ordering::Relaxed);
    }
    match exception.and_then(Exception::moved_to) {
        Some(to) if to.sequence > location.open_sequence => {
            let name = ServerName { host: to.host.clone(), port: to.port, start_code: to.start_code };
            let server = servers.get(&name, Service::Client);
            table.learn(Arc::new(Location::new(location.region.clone(), server, to.sequence)));
        }
        _ => table.forget(location),
    }
}

#[cfg(test)]
mod tests {
    use halite_wire::exception::MovedTo;

    use super::*;

    fn name(host: &str) -> ServerName {
        ServerName { host: host.to_string(), port: 1, start_code: 1 }
    }

    fn location(servers: &Servers, host: &str, start: &'static str, end: &'static str, region_id: u64) -> Arc<Location> {
        let table = "t".parse().unwrap();
        let region = RegionInfo { table, start: start.into(), end: end.into(), region_id, encoded_name: format!("{region_id:032}") };
        Arc::new(Location::new(region, servers.get(&name(host), Service::Client), 5))
    }

    fn ids(table: &TableRegions) -> Vec<u64> {
        table.read().values().map(|location| location.region.region_id).collect()
    }

    fn known(servers: &Servers) -> (Locations, Arc<TableRegions>, Vec<Arc<Location>>) {
        let locations = Locations::default();
        let table = locations.table(&"t".parse().unwrap());
        let regions = vec![location(servers, "a", "", "g", 1), location(servers, "a", "g", "m", 2), location(servers, "b", "m", "", 3)];
        regions.iter().for_each(|region| table.learn(Arc::clone(region)));
        (locations, table, regions)
    }

    fn found(table: &TableRegions, at: At<'_>) -> Option<u64> {
        table.find(at).map(|location| location.region.region_id)
    }

    #[test]
    fn a_region_is_found_by_a_row_by_its_successor_and_as_the_last() {
        let (_, table, regions) = known(&Servers::default());
        let by_row = |row: &[u8]| found(&table, At::Containing(row));
        assert_eq!([by_row(b""), by_row(b"f"), by_row(b"g"), by_row(b"z")], [Some(1), Some(1), Some(2), Some(3)]);
        assert_eq!(
            [found(&table, At::Before(b"m")), found(&table, At::Before(b"h")), found(&table, At::Before(b"g")), found(&table, At::Last)],
            [Some(2), Some(2), Some(1), Some(3)]
        );
        table.forget(&regions[1]);
        assert_eq!([by_row(b"h"), found(&table, At::Before(b"m")), by_row(b"f")], [None, None, Some(1)]);
    }

    #[test]
    fn what_a_split_or_a_merge_has_replaced_is_gone_and_nothing_else() {
        let servers = Servers::default();
        let (_, table, _) = known(&servers);
        table.learn(location(&servers, "a", "g", "j", 4));
        assert_eq!(ids(&table), [1, 4, 3]);
        table.learn(location(&servers, "a", "h", "", 5));
        assert_eq!(ids(&table), [1, 5]);
        table.learn(location(&servers, "a", "", "", 6));
        assert_eq!(ids(&table), [6]);
    }

    #[test]
    fn a_region_without_rows_and_one_of_another_table_are_not_learnt() {
        let servers = Servers::default();
        let (_, table, _) = known(&servers);
        for (start, end) in [("m", "a"), ("g", "g"), ("z", "m")] {
            table.learn(location(&servers, "a", start, end, 9));
        }
        let of_other = RegionInfo { table: "u".parse().unwrap(), ..location(&servers, "a", "", "", 9).region.clone() };
        table.learn(Arc::new(Location::new(of_other, servers.get(&name("a"), Service::Client), 5)));
        assert_eq!(ids(&table), [1, 2, 3]);
    }

    #[test]
    fn a_region_that_is_not_served_is_forgotten_alone_and_its_table_doubted() {
        let servers = Servers::default();
        let (locations, table, regions) = known(&servers);
        locations.note(&Exception::new(ExceptionKind::NotServingRegion, "").into(), &table, &regions[0], &servers);
        assert_eq!((ids(&table), table.take_doubt(), table.take_doubt()), (vec![2, 3], true, false));
        // Whoever comes later with the same news finds a newer place and leaves it.
        table.learn(location(&servers, "c", "", "g", 1));
        locations.note(&Exception::new(ExceptionKind::NotServingRegion, "").into(), &table, &regions[0], &servers);
        assert_eq!(ids(&table), [1, 2, 3]);
    }

    #[test]
    fn a_region_that_moved_is_where_the_exception_says_and_of_a_dead_server_all_are_forgotten() {
        let servers = Servers::default();
        let (locations, table, regions) = known(&servers);
        let to = MovedTo { host: "c".into(), port: 7, start_code: 9, sequence: 6 };
        locations.note(&Exception::region_moved(to).into(), &table, &regions[1], &servers);
        assert_eq!(table.find(At::Containing(b"g")).unwrap().server.to_string(), "c,7,9");
        locations.note(&Failure::unreachable("gone"), &table, &regions[0], &servers);
        assert_eq!(ids(&table), [2, 3]);
    }
}
