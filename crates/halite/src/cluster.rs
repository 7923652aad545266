//! The store as a [`Cluster`], for two kinds of callers. Tasks of a runtime get data in memory at
//! once, and the rest is read on the pool's threads. For callers whose threads may block,
//! everything is done on their threads, and their futures are ready at once.

use std::sync::Arc;

use halite_engine::{Engine, TableScanner};
use halite_types::{
    Admin, Aggregates, Aggregation, Attributes, BoxFuture, BulkLoad, Bytes, Cluster, ClusterStatus,
    CompactionKind, Condition, Error, ErrorKind, Get, OpResult, ReadTier, RegionInfo, Result, Row,
    RowOp, RowSource, RowStream, Scan, SnapshotDescriptor, Table, TableDescriptor, TableName,
};

#[cfg(feature = "heat")]
use halite_types::FrequentRow;

use crate::store::StoreHandle;

/// The store of a handle.
pub(crate) struct StoreCluster {
    handle: Arc<StoreHandle>,
}

impl StoreCluster {
    pub(crate) fn new(handle: Arc<StoreHandle>) -> Self {
        Self { handle }
    }
}

impl Cluster for StoreCluster {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(TaskTable { name: name.clone(), handle: Arc::clone(&self.handle) })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        Arc::new(StoreAdmin { handle: Arc::clone(&self.handle), thread: AdminThread::Pool })
    }

    fn blocking_table(&self, name: &TableName) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(CallerTable {
            name: name.clone(),
            table: self.handle.engine.table(name)?,
            handle: Arc::clone(&self.handle),
        }))
    }

    fn blocking_admin(&self) -> Arc<dyn Admin> {
        Arc::new(StoreAdmin { handle: Arc::clone(&self.handle), thread: AdminThread::Caller })
    }
}

/// Table for tasks: whatever may wait for the disk is done on the pool.
struct TaskTable {
    name: TableName,
    handle: Arc<StoreHandle>,
}

impl Table for TaskTable {
    fn name(&self) -> &TableName {
        &self.name
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        ready(self.handle.engine.descriptor(&self.name))
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        ready(self.handle.engine.regions(&self.name))
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move {
            let table = self.handle.engine.table(&self.name)?;
            let mut rows = Vec::with_capacity(gets.len());
            let mut gets = gets.into_iter();
            for get in gets.by_ref() {
                match table.get(&get, ReadTier::Memory) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        // From the first get that needs the disk, the rest runs on a thread that
                        // may block.
                        let rest: Vec<Get> = std::iter::once(get).chain(gets).collect();
                        let more = self.handle.pool.run(move || {
                            rest.iter()
                                .map(|get| table.get(get, ReadTier::Disk))
                                .collect::<Result<Vec<Row>>>()
                        });
                        rows.extend(more.await?);
                        return Ok(rows);
                    }
                    row => rows.push(row?),
                }
            }
            Ok(rows)
        })
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        Box::pin(async move {
            let table = self.handle.engine.table(&self.name)?;
            let applied = if ops.len() > MAX_OPS_AT_ONCE || ops.iter().any(has_filter) {
                self.handle.pool.run(move || Ok(table.submit(ops))).await?
            } else {
                let applied = table.try_submit(ops);
                if applied.unrouted.is_empty() {
                    applied
                } else {
                    self.handle.pool.run(move || Ok(table.submit_rest(applied))).await?
                }
            };
            // A write to the page cache takes less than waking the log's thread.
            match applied.ticket.try_finish() {
                Some(written) => written?,
                None => applied.ticket.await?,
            }
            Ok(applied.results)
        })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        let state = Some(ScanState::New(self.name.clone(), Box::new(scan)));
        RowStream::new(TaskRows {
            handle: Arc::clone(&self.handle),
            state,
            cells_at_once: INITIAL_CELLS_AT_ONCE,
        })
    }

    fn aggregate(&self, aggregation: Aggregation) -> BoxFuture<'_, Result<Option<Aggregates>>> {
        Box::pin(async move {
            let mut scanner = self.handle.engine.table(&self.name)?.scan_of(&aggregation)?;
            let (mut sum, aggregation) = (aggregation.of_nothing(), Arc::new(aggregation));
            loop {
                let of = Arc::clone(&aggregation);
                let step = self.handle.pool.run(move || {
                    let mut is_over = false;
                    for _ in 0..PARTS_OF_AGGREGATION {
                        is_over = scanner.aggregate(&of, &mut sum)?;
                        if is_over {
                            break;
                        }
                        yield_now();
                    }
                    Ok((scanner, sum, is_over))
                });
                let is_over;
                (scanner, sum, is_over) = step.await?;
                if is_over {
                    return Ok(Some(sum));
                }
            }
        })
    }
}

/// Lets threads that wait for the processor run. On Linux a thread that wakes may wait for the end
/// of another's time slice, whatever their priorities are: a call of a client for a millisecond.
fn yield_now() {
    std::thread::yield_now();
}

/// Parts of an aggregation that are read on a thread of the pool before its task looks whether it
/// still is wanted.
const PARTS_OF_AGGREGATION: usize = 32;

/// Returns `true` for an operation whose condition is a filter, which may take long.
fn has_filter(op: &RowOp) -> bool {
    matches!(op, RowOp::CheckAndMutate(check) if matches!(check.condition, Condition::Filter(_)))
}

/// Maximum number of operations that are applied on the caller's thread: about a millisecond.
const MAX_OPS_AT_ONCE: usize = 1024;

/// Maximum number of cells that the first batch of a scan may examine on the caller's thread, as a
/// get does. A switch to another thread and back takes as long as a dozen gets. Each later batch
/// may examine four times as many.
const INITIAL_CELLS_AT_ONCE: u64 = 4;
/// Batches that would examine more than this run on the pool: some tens of microseconds.
const MAX_CELLS_AT_ONCE: u64 = 128;

struct TaskRows {
    handle: Arc<StoreHandle>,
    /// `None` while a thread reads a batch, and after an error.
    state: Option<ScanState>,
    /// Cells that the next batch may examine on the caller's thread.
    cells_at_once: u64,
}

enum ScanState {
    New(TableName, Box<Scan>),
    Open(Box<TableScanner>),
}

impl TaskRows {
    /// Returns the next rows if they are in memory and few.
    fn try_next_cached(&mut self, scanner: &mut TableScanner) -> Result<Option<Vec<Row>>> {
        if self.cells_at_once > MAX_CELLS_AT_ONCE {
            return Ok(None);
        }
        // A caller waiting for the first row does not wait for rows after it.
        let rows = if self.cells_at_once == INITIAL_CELLS_AT_ONCE { 1 } else { usize::MAX };
        let rows = scanner.try_rows(rows, self.cells_at_once)?;
        self.cells_at_once = if rows.is_some() { self.cells_at_once * 4 } else { u64::MAX };
        Ok(rows)
    }
}

impl RowSource for TaskRows {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        let mut scanner = match self.state.take() {
            Some(ScanState::Open(scanner)) => scanner,
            Some(ScanState::New(name, scan)) => match self.handle.engine.table(&name) {
                Ok(table) => Box::new(table.scan(*scan, ReadTier::Disk)),
                Err(error) => return ready(Err(error)),
            },
            None => return ready(Ok(Vec::new())),
        };
        match self.try_next_cached(&mut scanner) {
            Ok(Some(rows)) => {
                self.state = Some(ScanState::Open(scanner));
                return ready(Ok(rows));
            }
            Ok(None) => {}
            Err(error) => return ready(Err(error)),
        }
        let answer = self.handle.pool.run(move || {
            let rows = scanner.next_rows_with_pauses(yield_now)?;
            Ok((rows, scanner))
        });
        Box::pin(async move {
            let (rows, scanner) = answer.await?;
            self.state = Some(ScanState::Open(scanner));
            Ok(rows)
        })
    }
}

/// Table for callers that may block: all work is done on the thread that calls, and futures are
/// ready when they are polled first. As in HBase, each call goes to the table that has the name at
/// that time.
struct CallerTable {
    name: TableName,
    /// Table that had the name when this one was created.
    table: Arc<halite_engine::Table>,
    handle: Arc<StoreHandle>,
}

impl CallerTable {
    /// Returns the table that has the name now.
    fn current(&self) -> Result<Arc<halite_engine::Table>> {
        self.handle.engine.table(&self.name)
    }
}

impl Table for CallerTable {
    fn name(&self) -> &TableName {
        &self.name
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        ready(self.handle.engine.descriptor(&self.name))
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        ready(self.handle.engine.regions(&self.name))
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        ready(gets.into_iter().map(|get| self.blocking_get(get)).collect())
    }

    fn blocking_get(&self, get: Get) -> Result<Row> {
        match self.table.get(&get, ReadTier::Disk) {
            // A dropped table stays disabled, and another one may have its name now. The usual get
            // saves the lookup of the name.
            Err(error) if error.kind() == ErrorKind::TableDisabled => {
                self.current()?.get(&get, ReadTier::Disk)
            }
            row => row,
        }
    }

    /// Applies the operations, and waits for the log when the future is polled: calls of several
    /// tables that are begun together wait for one write of the log.
    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        match self.current().map(|table| table.submit(ops)) {
            Ok(applied) => Box::pin(async move {
                applied.ticket.wait()?;
                Ok(applied.results)
            }),
            Err(error) => ready(Err(error)),
        }
    }

    fn scan(&self, scan: Scan) -> RowStream {
        let scanner = self.current().map(|table| table.scan(scan, ReadTier::Disk)).map_err(Some);
        RowStream::new(CallerRows { scanner, _handle: Arc::clone(&self.handle) })
    }

    fn aggregate(&self, aggregation: Aggregation) -> BoxFuture<'_, Result<Option<Aggregates>>> {
        let add_up = |table: Arc<halite_engine::Table>| {
            let (mut scanner, mut sum) = (table.scan_of(&aggregation)?, aggregation.of_nothing());
            while !scanner.aggregate(&aggregation, &mut sum)? {}
            Ok(Some(sum))
        };
        ready(self.current().and_then(add_up))
    }
}

struct CallerRows {
    /// Scanner, or an error until it is returned.
    scanner: Result<TableScanner, Option<Error>>,
    _handle: Arc<StoreHandle>,
}

impl RowSource for CallerRows {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        let rows = match &mut self.scanner {
            Ok(scanner) => scanner.next_rows(),
            Err(error) => error.take().map_or(Ok(Vec::new()), Err),
        };
        if rows.is_err() {
            self.scanner = Err(None);
        }
        ready(rows)
    }
}

/// Returns the future of a result that is known.
fn ready<'a, T: Send + 'a>(result: Result<T>) -> BoxFuture<'a, Result<T>> {
    Box::pin(std::future::ready(result))
}

/// Thread of administrative calls, which wait for the disk.
#[derive(Clone, Copy)]
enum AdminThread {
    /// On the calling thread.
    Caller,
    /// On a thread of the pool.
    Pool,
}

struct StoreAdmin {
    handle: Arc<StoreHandle>,
    thread: AdminThread,
}

impl StoreAdmin {
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T>> {
        match self.thread {
            AdminThread::Caller => ready(work(&self.handle.engine)),
            AdminThread::Pool => {
                let engine = Arc::clone(&self.handle.engine);
                Box::pin(self.handle.pool.run(move || work(&engine)))
            }
        }
    }
}

impl Admin for StoreAdmin {
    fn list_tables(&self) -> BoxFuture<'_, Result<Vec<Arc<TableDescriptor>>>> {
        ready(Ok(self.handle.engine.descriptors()))
    }

    fn create_table(
        &self,
        table: TableDescriptor,
        splits: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<()>> {
        self.run(move |engine| engine.create_table(table, splits))
    }

    fn alter_table(&self, table: TableDescriptor) -> BoxFuture<'_, Result<()>> {
        self.run(move |engine| engine.alter_table(table))
    }

    fn drop_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.drop_table(&table))
    }

    fn truncate_table(&self, table: &TableName, keep_splits: bool) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.truncate_table(&table, keep_splits))
    }

    fn enable_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.enable_table(&table))
    }

    fn disable_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.disable_table(&table))
    }

    fn is_enabled(&self, table: &TableName) -> BoxFuture<'_, Result<bool>> {
        ready(self.handle.engine.is_enabled(table))
    }

    fn list_namespaces(&self) -> BoxFuture<'_, Result<Vec<(String, Attributes)>>> {
        ready(Ok(self.handle.engine.namespaces()))
    }

    fn create_namespace(&self, name: &str, settings: Attributes) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(move |engine| engine.create_namespace(&name, settings))
    }

    fn alter_namespace(&self, name: &str, settings: Attributes) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(move |engine| engine.alter_namespace(&name, settings))
    }

    fn drop_namespace(&self, name: &str) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(move |engine| engine.drop_namespace(&name))
    }

    fn flush(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.flush(&table))
    }

    fn flush_family(&self, table: &TableName, family: Bytes) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.flush_families(&table, &[family]))
    }

    fn compact(
        &self,
        table: &TableName,
        family: Option<Bytes>,
        kind: CompactionKind,
    ) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.compact(&table, family.as_ref(), kind))
    }

    fn bulk_load(&self, table: &TableName, load: BulkLoad) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(move |engine| engine.bulk_load(&table, &load))
    }

    fn prepare_bulk_load(&self, table: &TableName) -> BoxFuture<'_, Result<String>> {
        let table = table.clone();
        self.run(move |engine| engine.prepare_bulk_load(&table, "embedded"))
    }

    fn bulk_load_region(
        &self,
        region: &RegionInfo,
        _staging: &str,
        load: BulkLoad,
    ) -> BoxFuture<'_, Result<bool>> {
        let name = region.encoded_name.clone();
        self.run(move |engine| {
            let loaded = engine.region(&name).and_then(|region| region.bulk_load(&load));
            match loaded {
                Ok(()) => Ok(true),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WrongRegion | ErrorKind::NoSuchRegion) =>
                {
                    Ok(false)
                }
                Err(error) => Err(error),
            }
        })
    }

    fn clean_up_bulk_load(&self, _table: &TableName, staging: &str) -> BoxFuture<'_, Result<()>> {
        let staging = staging.to_owned();
        self.run(move |engine| engine.clean_up_bulk_load(&staging))
    }

    fn split_region(&self, encoded_name: &str, at: Option<Bytes>) -> BoxFuture<'_, Result<()>> {
        let name = encoded_name.to_owned();
        self.run(move |engine| {
            let region = engine.region(&name)?;
            let (table, shown) = (&region.info().table, region.info().display_name());
            if !engine.descriptor(table)?.split_enabled() {
                let text = format!(
                    "Split region {shown} failed as region split is disabled for the table; alter \
                     {table} with SPLIT_ENABLED => true"
                );
                return Err(Error::invalid(text));
            }
            if !region.allows_splits() {
                let text = format!(
                    "Split region {shown} failed as the split policy of the table is \
                     DisabledRegionSplitPolicy; alter {table} with another SPLIT_POLICY"
                );
                return Err(Error::invalid(text));
            }
            engine.split_region(&name, at)
        })
    }

    fn merge_regions(
        &self,
        first: &str,
        second: &str,
        forcible: bool,
    ) -> BoxFuture<'_, Result<()>> {
        let (first, second) = (first.to_owned(), second.to_owned());
        self.run(move |engine| {
            let region = engine.region(&first)?;
            let table = &region.info().table;
            if !engine.descriptor(table)?.merge_enabled() {
                let text = format!(
                    "Merge of [{first}, {second}] failed as region merge is disabled for the \
                     table; alter {table} with MERGE_ENABLED => true"
                );
                return Err(Error::invalid(text));
            }
            engine.merge_regions(&first, &second, forcible)
        })
    }

    fn create_snapshot(&self, snapshot: SnapshotDescriptor) -> BoxFuture<'_, Result<()>> {
        self.run(move |engine| engine.create_snapshot(&snapshot))
    }

    fn list_snapshots(&self) -> BoxFuture<'_, Result<Vec<SnapshotDescriptor>>> {
        ready(Ok(self.handle.engine.snapshots()))
    }

    fn clone_snapshot(&self, name: &str, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let (name, table) = (name.to_owned(), table.clone());
        self.run(move |engine| engine.clone_snapshot(&name, &table))
    }

    fn restore_snapshot(&self, name: &str) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(move |engine| engine.restore_snapshot(&name))
    }

    fn delete_snapshot(&self, name: &str) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(move |engine| engine.delete_snapshot(&name))
    }

    fn cluster_status(&self) -> BoxFuture<'_, Result<ClusterStatus>> {
        ready(Ok(self.handle.engine.status()))
    }

    #[cfg(feature = "heat")]
    fn frequent_rows(
        &self,
        table: &TableName,
        span_ms: (i64, i64),
        limit: usize,
    ) -> BoxFuture<'_, Result<Option<Vec<FrequentRow>>>> {
        let found = self.handle.engine.hot_rows(table, span_ms, limit);
        ready(match found {
            Ok((rows, _)) => {
                let row = |row: halite_engine::heat::HotRow| FrequentRow {
                    row: Bytes::from(row.row),
                    count: row.count,
                    error: row.error,
                };
                Ok(Some(rows.into_iter().map(row).collect()))
            }
            // The store was opened without it.
            Err(error) if error.kind() == ErrorKind::InvalidRequest => Ok(None),
            Err(error) => Err(error),
        })
    }
}
