//! Cache of region locations.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use halite_types::{Bytes, RegionInfo, ServerName, TableName};
use halite_wire::convert::region;
use halite_wire::exception::{Exception, ExceptionKind, RetryAction};
use halite_wire::proto as pb;
use halite_wire::service::Service;
use tokio::time::Instant;

use crate::connection::{ConnectionPool, ServerConnection};
use crate::error::{RpcError, RpcErrorKind};

/// Region and its server.
pub(crate) struct Location {
    pub(crate) region: RegionInfo,
    /// Specifier of the region in requests.
    pub(crate) specifier: pb::RegionSpecifier,
    pub(crate) server: Arc<ServerConnection>,
    /// Sequence id at which the region was opened there; a location with a lower one is outdated.
    pub(crate) open_sequence: u64,
}

impl Location {
    pub(crate) fn new(
        region: RegionInfo,
        server: Arc<ServerConnection>,
        open_sequence: u64,
    ) -> Self {
        Self { specifier: region::specifier(&region), region, server, open_sequence }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "table {}, region {}, server {}",
            self.region.table,
            self.region.display_name(),
            self.server
        )
    }
}

/// Region of a table to locate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LocateType<'a> {
    /// Region that contains a row.
    Containing(&'a [u8]),
    /// Region that contains the rows just before a key, which must not be empty.
    Before(&'a [u8]),
    /// Last region.
    Last,
}

/// Known locations of one table.
pub(crate) struct TableLocations {
    name: TableName,
    locations: RwLock<BTreeMap<Bytes, Arc<Location>>>,
    /// Held by the caller that looks up a region. Contains the time and error of the last failure,
    /// unless it concerns a single region.
    pub(super) lookup_lock: tokio::sync::Mutex<Option<(Instant, RpcError)>>,
    /// A server did not serve a region it should: the table may be disabled.
    suspect_disabled: AtomicBool,
}

impl TableLocations {
    fn new(name: TableName) -> Self {
        Self {
            name,
            locations: RwLock::default(),
            lookup_lock: tokio::sync::Mutex::default(),
            suspect_disabled: AtomicBool::new(false),
        }
    }

    pub(crate) fn name(&self) -> &TableName {
        &self.name
    }

    /// Returns the priority of calls. HBase's clients send 200 for its own tables.
    pub(crate) fn priority(&self) -> Option<u32> {
        (self.name.namespace() == halite_types::schema::SYSTEM_NAMESPACE).then_some(200)
    }

    /// Returns the location of the region, if it is cached.
    pub(crate) fn find(&self, at: LocateType<'_>) -> Option<Arc<Location>> {
        let known = self.read();
        let (key, bound) = match at {
            LocateType::Containing(row) => (row, (Bound::Unbounded, Bound::Included(row))),
            LocateType::Before(start) => (start, (Bound::Unbounded, Bound::Excluded(start))),
            LocateType::Last => {
                return known
                    .values()
                    .next_back()
                    .filter(|last| last.region.end.is_empty())
                    .cloned();
            }
        };
        let (_, location) = known.range::<[u8], _>(bound).next_back()?;
        let fits = match at {
            LocateType::Before(_) => location.region.end.is_empty() || location.region.end >= key,
            _ => location.region.contains(key),
        };
        fits.then(|| Arc::clone(location))
    }

    /// Caches a location and evicts those that overlap with it. A damaged `hbase:meta` may contain
    /// a region of another table, or one with an end at or before its start; it is ignored.
    pub(crate) fn insert(&self, location: Arc<Location>) {
        let (start, end) = (&location.region.start, &location.region.end);
        if location.region.table != self.name || !end.is_empty() && start >= end {
            return;
        }
        let mut known = self.write();
        let before =
            known.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(&start[..]))).next_back();
        let overlapping = before
            .filter(|(_, other)| other.region.end.is_empty() || other.region.end > *start)
            .map(|(key, _)| key.clone());
        let behind = if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(&end[..]) };
        let inside = known
            .range::<[u8], _>((Bound::Included(&start[..]), behind))
            .map(|(key, _)| key.clone());
        let gone: Vec<Bytes> = overlapping.into_iter().chain(inside).collect();
        gone.iter().for_each(|key| drop(known.remove(key)));
        known.insert(start.clone(), location);
    }

    /// Evicts a region's location, unless a newer one has been cached.
    pub(crate) fn evict(&self, location: &Arc<Location>) {
        let mut known = self.write();
        if known.get(&location.region.start).is_some_and(|current| Arc::ptr_eq(current, location)) {
            known.remove(&location.region.start);
        }
    }

    fn evict_server(&self, server: &ServerName) {
        self.write().retain(|_, location| location.server.name() != server);
    }

    /// Returns `true` if the state of the table must be checked, and clears the flag.
    pub(super) fn take_suspect_disabled(&self) -> bool {
        self.suspect_disabled.swap(false, Ordering::Relaxed)
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Bytes, Arc<Location>>> {
        self.locations.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<Bytes, Arc<Location>>> {
        self.locations.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Known locations of all tables.
#[derive(Default)]
pub(crate) struct MetaCache(Mutex<HashMap<TableName, Arc<TableLocations>>>);

impl MetaCache {
    /// Returns the cache of a table, shared by all callers.
    pub(crate) fn table(&self, name: &TableName) -> Arc<TableLocations> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(
            tables
                .entry(name.clone())
                .or_insert_with(|| Arc::new(TableLocations::new(name.clone()))),
        )
    }

    /// Updates the cache after a failure at a region: it moved, it is elsewhere, or its server has
    /// stopped.
    pub(crate) fn record_failure(
        &self,
        failure: &RpcError,
        table: &TableLocations,
        location: &Arc<Location>,
        servers: &ConnectionPool,
    ) {
        match failure.action() {
            RetryAction::Relocate => record_relocation(failure, table, location, servers),
            RetryAction::DropServer => {
                let server = &location.server;
                server.disconnect(failure);
                let tables: Vec<_> = self
                    .0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .values()
                    .cloned()
                    .collect();
                tables.iter().for_each(|table| table.evict_server(server.name()));
            }
            _ => {}
        }
    }
}

fn record_relocation(
    failure: &RpcError,
    table: &TableLocations,
    location: &Arc<Location>,
    servers: &ConnectionPool,
) {
    let exception = match &failure.kind {
        RpcErrorKind::Exception(exception) => Some(&**exception),
        _ => None,
    };
    if exception.and_then(Exception::kind) == Some(ExceptionKind::NotServingRegion) {
        table.suspect_disabled.store(true, Ordering::Relaxed);
    }
    match exception.and_then(Exception::moved_to) {
        Some(to) if to.sequence > location.open_sequence => {
            let name =
                ServerName { host: to.host.clone(), port: to.port, start_code: to.start_code };
            let server = servers.get(&name, Service::Client);
            table.insert(Arc::new(Location::new(location.region.clone(), server, to.sequence)));
        }
        _ => table.evict(location),
    }
}

#[cfg(test)]
mod tests {
    use halite_wire::exception::MovedTo;

    use super::*;

    fn name(host: &str) -> ServerName {
        ServerName { host: host.to_string(), port: 1, start_code: 1 }
    }

    fn location(
        servers: &ConnectionPool,
        host: &str,
        start: &'static str,
        end: &'static str,
        region_id: u64,
    ) -> Arc<Location> {
        let table = "t".parse().unwrap();
        let region = RegionInfo {
            table,
            start: start.into(),
            end: end.into(),
            region_id,
            encoded_name: format!("{region_id:032}"),
        };
        Arc::new(Location::new(region, servers.get(&name(host), Service::Client), 5))
    }

    fn ids(table: &TableLocations) -> Vec<u64> {
        table.read().values().map(|location| location.region.region_id).collect()
    }

    fn populated_cache(
        servers: &ConnectionPool,
    ) -> (MetaCache, Arc<TableLocations>, Vec<Arc<Location>>) {
        let locations = MetaCache::default();
        let table = locations.table(&"t".parse().unwrap());
        let regions = vec![
            location(servers, "a", "", "g", 1),
            location(servers, "a", "g", "m", 2),
            location(servers, "b", "m", "", 3),
        ];
        regions.iter().for_each(|region| table.insert(Arc::clone(region)));
        (locations, table, regions)
    }

    fn found(table: &TableLocations, at: LocateType<'_>) -> Option<u64> {
        table.find(at).map(|location| location.region.region_id)
    }

    #[test]
    fn region_is_found_by_row_successor_and_as_last() {
        let (_, table, regions) = populated_cache(&ConnectionPool::default());
        let by_row = |row: &[u8]| found(&table, LocateType::Containing(row));
        assert_eq!(
            [by_row(b""), by_row(b"f"), by_row(b"g"), by_row(b"z")],
            [Some(1), Some(1), Some(2), Some(3)]
        );
        assert_eq!(
            [
                found(&table, LocateType::Before(b"m")),
                found(&table, LocateType::Before(b"h")),
                found(&table, LocateType::Before(b"g")),
                found(&table, LocateType::Last)
            ],
            [Some(2), Some(2), Some(1), Some(3)]
        );
        table.evict(&regions[1]);
        assert_eq!(
            [by_row(b"h"), found(&table, LocateType::Before(b"m")), by_row(b"f")],
            [None, None, Some(1)]
        );
    }

    #[test]
    fn split_or_merge_evicts_only_overlapping_regions() {
        let servers = ConnectionPool::default();
        let (_, table, _) = populated_cache(&servers);
        table.insert(location(&servers, "a", "g", "j", 4));
        assert_eq!(ids(&table), [1, 4, 3]);
        table.insert(location(&servers, "a", "h", "", 5));
        assert_eq!(ids(&table), [1, 5]);
        table.insert(location(&servers, "a", "", "", 6));
        assert_eq!(ids(&table), [6]);
    }

    #[test]
    fn empty_and_foreign_regions_are_not_cached() {
        let servers = ConnectionPool::default();
        let (_, table, _) = populated_cache(&servers);
        for (start, end) in [("m", "a"), ("g", "g"), ("z", "m")] {
            table.insert(location(&servers, "a", start, end, 9));
        }
        let of_other = RegionInfo {
            table: "u".parse().unwrap(),
            ..location(&servers, "a", "", "", 9).region.clone()
        };
        table.insert(Arc::new(Location::new(
            of_other,
            servers.get(&name("a"), Service::Client),
            5,
        )));
        assert_eq!(ids(&table), [1, 2, 3]);
    }

    #[test]
    fn unserved_region_is_evicted_and_table_state_suspected() {
        let servers = ConnectionPool::default();
        let (locations, table, regions) = populated_cache(&servers);
        locations.record_failure(
            &Exception::new(ExceptionKind::NotServingRegion, "").into(),
            &table,
            &regions[0],
            &servers,
        );
        assert_eq!(
            (ids(&table), table.take_suspect_disabled(), table.take_suspect_disabled()),
            (vec![2, 3], true, false)
        );
        // A later caller with the same failure finds a newer location and keeps it.
        table.insert(location(&servers, "c", "", "g", 1));
        locations.record_failure(
            &Exception::new(ExceptionKind::NotServingRegion, "").into(),
            &table,
            &regions[0],
            &servers,
        );
        assert_eq!(ids(&table), [1, 2, 3]);
    }

    #[test]
    fn moved_region_is_relocated_and_unreachable_server_evicted() {
        let servers = ConnectionPool::default();
        let (locations, table, regions) = populated_cache(&servers);
        let to = MovedTo { host: "c".into(), port: 7, start_code: 9, sequence: 6 };
        locations.record_failure(
            &Exception::region_moved(to).into(),
            &table,
            &regions[1],
            &servers,
        );
        assert_eq!(table.find(LocateType::Containing(b"g")).unwrap().server.to_string(), "c,7,9");
        locations.record_failure(&RpcError::unreachable("gone"), &table, &regions[0], &servers);
        assert_eq!(ids(&table), [2, 3]);
    }
}
