//! Cluster of one table with any number of regions, which has no rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use halite_types::{
    Admin, Attributes, BoxFuture, BulkLoad, Bytes, Cluster, ClusterStatus, CompactionKind, Error,
    ErrorKind, FamilyDescriptor, Get, OpResult, RegionInfo, RegionLoad, Result, Row, RowOp,
    RowStream, Scan, SnapshotDescriptor, Table, TableDescriptor, TableName,
};

/// Cluster with the table `big`, and others of one region.
pub(super) struct Fake {
    inner: Arc<Inner>,
}

struct Inner {
    /// Time after which the status is an error; `None` if it is one never.
    fails_after: Option<Duration>,
    asked: AtomicU32,
    descriptor: Arc<TableDescriptor>,
    others: Vec<Arc<TableDescriptor>>,
    status: ClusterStatus,
}

impl Inner {
    fn new(table: TableDescriptor) -> Self {
        Self {
            fails_after: None,
            asked: AtomicU32::new(0),
            descriptor: Arc::new(table),
            others: Vec::new(),
            status: ClusterStatus::default(),
        }
    }
}

fn big() -> TableDescriptor {
    TableDescriptor::new("big".parse().unwrap()).family(FamilyDescriptor::new("f"))
}

impl Fake {
    /// Creates a cluster of `count` regions, whose start keys are their numbers in eight bytes.
    pub(super) fn new(count: u64) -> Self {
        let name = big().name().clone();
        let key = |number: u64| Bytes::copy_from_slice(&number.to_be_bytes());
        let region = |number: u64| RegionInfo {
            table: name.clone(),
            start: if number == 0 { Bytes::new() } else { key(number) },
            end: if number + 1 == count { Bytes::new() } else { key(number + 1) },
            region_id: 1,
            encoded_name: format!("{number:032x}"),
        };
        let load = |number: u64| {
            let mut load = RegionLoad::new(region(number));
            load.read_requests = number * 7919 % count;
            load.store_file_bytes = number;
            load
        };
        let status =
            ClusterStatus { regions: (0..count).map(load).collect(), ..ClusterStatus::default() };
        let inner = Inner { status, ..Inner::new(big()) };
        Self { inner: Arc::new(inner) }
    }

    /// Creates a cluster of `count` tables with one region each, which have requests.
    pub(super) fn with_tables(count: u64) -> Self {
        let name = |number: u64| -> TableName { format!("t{number:05}").parse().unwrap() };
        let table = |number| {
            Arc::new(TableDescriptor::new(name(number)).family(FamilyDescriptor::new("f")))
        };
        let load = |number: u64| {
            let region = RegionInfo {
                table: name(number),
                start: Bytes::new(),
                end: Bytes::new(),
                region_id: 1,
                encoded_name: format!("{number:032x}"),
            };
            RegionLoad { read_requests: 1 + number, ..RegionLoad::new(region) }
        };
        let status =
            ClusterStatus { regions: (1..count).map(load).collect(), ..ClusterStatus::default() };
        let others = (1..count).map(table).collect();
        let inner = Inner { descriptor: table(0), others, status, ..Inner::new(big()) };
        Self { inner: Arc::new(inner) }
    }

    /// Creates a cluster that is away, as its clients find out after a time.
    pub(super) fn away(after: Duration) -> Self {
        let inner = Inner { fails_after: Some(after), ..Inner::new(big()) };
        Self { inner: Arc::new(inner) }
    }

    /// Returns how often the status was requested.
    pub(super) fn asked(&self) -> u32 {
        self.inner.asked.load(Ordering::Relaxed)
    }
}

impl Cluster for Fake {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(FakeTable { name: name.clone(), inner: Arc::clone(&self.inner) })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        Arc::new(FakeAdmin(Arc::clone(&self.inner)))
    }
}

fn ready<'a, T: Send + 'a>(result: Result<T>) -> BoxFuture<'a, Result<T>> {
    Box::pin(std::future::ready(result))
}

fn no<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T>> {
    ready(Err(Error::new(ErrorKind::Unsupported, "no cluster")))
}

struct FakeTable {
    name: TableName,
    inner: Arc<Inner>,
}

impl Table for FakeTable {
    fn name(&self) -> &TableName {
        &self.name
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        if &self.name == self.inner.descriptor.name() {
            return ready(Ok(Arc::clone(&self.inner.descriptor)));
        }
        ready(Err(Error::new(ErrorKind::NoSuchTable, "there is one table")))
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        let regions = self.inner.status.regions.iter().map(|load| load.region.clone());
        ready(Ok(regions.collect()))
    }

    fn get_all(&self, _gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        no()
    }

    fn batch(&self, _ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        no()
    }

    fn scan(&self, _scan: Scan) -> RowStream {
        unimplemented!("the table has no rows")
    }
}

struct FakeAdmin(Arc<Inner>);

/// Calls that the page does not make of this cluster.
macro_rules! no_calls {
    ($($name:ident($($argument:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(
            fn $name(&self, $($argument: $ty),*) -> BoxFuture<'_, Result<$result>> {
                $(let _ = $argument;)*
                no()
            }
        )*
    };
}

impl Admin for FakeAdmin {
    fn list_tables(&self) -> BoxFuture<'_, Result<Vec<Arc<TableDescriptor>>>> {
        let own = std::iter::once(&self.0.descriptor);
        ready(Ok(own.chain(&self.0.others).cloned().collect()))
    }

    fn is_enabled(&self, _table: &TableName) -> BoxFuture<'_, Result<bool>> {
        ready(Ok(true))
    }

    fn cluster_status(&self) -> BoxFuture<'_, Result<ClusterStatus>> {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        let Some(after) = self.0.fails_after else { return ready(Ok(self.0.status.clone())) };
        std::thread::sleep(after);
        ready(Err(Error::new(ErrorKind::Stopped, "the cluster is away")))
    }

    no_calls! {
        create_table(table: TableDescriptor, splits: Vec<Bytes>) -> ();
        alter_table(table: TableDescriptor) -> ();
        drop_table(table: &TableName) -> ();
        truncate_table(table: &TableName, keep_splits: bool) -> ();
        enable_table(table: &TableName) -> ();
        disable_table(table: &TableName) -> ();
        list_namespaces() -> Vec<(String, Attributes)>;
        create_namespace(name: &str, settings: Attributes) -> ();
        alter_namespace(name: &str, settings: Attributes) -> ();
        drop_namespace(name: &str) -> ();
        flush(table: &TableName) -> ();
        flush_family(table: &TableName, family: Bytes) -> ();
        compact(table: &TableName, family: Option<Bytes>, kind: CompactionKind) -> ();
        bulk_load(table: &TableName, load: BulkLoad) -> ();
        prepare_bulk_load(table: &TableName) -> String;
        bulk_load_region(region: &RegionInfo, staging: &str, load: BulkLoad) -> bool;
        clean_up_bulk_load(table: &TableName, staging: &str) -> ();
        split_region(encoded_name: &str, at: Option<Bytes>) -> ();
        merge_regions(first: &str, second: &str, forcible: bool) -> ();
        create_snapshot(snapshot: SnapshotDescriptor) -> ();
        list_snapshots() -> Vec<SnapshotDescriptor>;
        clone_snapshot(name: &str, table: &TableName) -> ();
        restore_snapshot(name: &str) -> ();
        delete_snapshot(name: &str) -> ();
    }
}
