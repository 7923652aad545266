//! Cluster that counts the cells that it returns to statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite::{
    Admin, BoxFuture, Cluster, Get, OpResult, RegionInfo, Result, Row, RowOp, RowSource, RowStream,
    Scan, Table, TableDescriptor, TableName,
};
use halite_sql::SqlContext;

use crate::store::{Rows, TestStore};

/// What statements received.
#[derive(Debug, Default)]
struct Counters {
    cells: AtomicU64,
    bytes: AtomicU64,
    gets: AtomicU64,
}

impl Counters {
    fn add(&self, rows: &[Row]) {
        let cells: usize = rows.iter().map(|row| row.iter().count()).sum();
        let values: usize = rows.iter().flat_map(Row::iter).map(|cell| cell.value().len()).sum();
        self.cells.fetch_add(cells as u64, Ordering::Relaxed);
        self.bytes.fetch_add(values as u64, Ordering::Relaxed);
    }
}

/// What one statement received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// Cells.
    pub(crate) cells: u64,
    /// Bytes of their values.
    pub(crate) bytes: u64,
    /// Rows that were got.
    pub(crate) gets: u64,
}

/// Session whose reads are counted.
pub(crate) struct Counted<'s> {
    store: &'s TestStore,
    pub(crate) sql: SqlContext,
    counters: Arc<Counters>,
}

impl<'s> Counted<'s> {
    pub(crate) fn new(store: &'s TestStore) -> Self {
        let counters = Arc::<Counters>::default();
        let inner = Arc::clone(store.store.cluster());
        let cluster = CountedCluster { inner, counters: Arc::clone(&counters) };
        Self { store, sql: SqlContext::new(Arc::new(cluster)), counters }
    }

    /// Returns the rows of a statement, columns separated by `|`, and what it received.
    pub(crate) fn rows(&self, text: &str) -> (Vec<String>, Received) {
        let before = self.received();
        let rows = self.store.runtime.block_on(async {
            let mut answer = self.sql.run(text).await?;
            Rows::of(&mut answer).await
        });
        let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
        let now = self.received();
        let received = Received {
            cells: now.cells - before.cells,
            bytes: now.bytes - before.bytes,
            gets: now.gets - before.gets,
        };
        (rows.rows.iter().map(|row| row.join("|")).collect(), received)
    }

    fn received(&self) -> Received {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { cells, bytes, gets } = self.counters.as_ref();
        Received { cells: load(cells), bytes: load(bytes), gets: load(gets) }
    }
}

struct CountedCluster {
    inner: Arc<dyn Cluster>,
    counters: Arc<Counters>,
}

impl Cluster for CountedCluster {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        let counters = Arc::clone(&self.counters);
        Arc::new(CountedTable { inner: self.inner.table(name), counters })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.inner.admin()
    }
}

struct CountedTable {
    inner: Arc<dyn Table>,
    counters: Arc<Counters>,
}

impl Table for CountedTable {
    fn name(&self) -> &TableName {
        self.inner.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.inner.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.inner.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move {
            self.counters.gets.fetch_add(gets.len() as u64, Ordering::Relaxed);
            let rows = self.inner.get_all(gets).await?;
            self.counters.add(&rows);
            Ok(rows)
        })
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        self.inner.batch(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        let rows = self.inner.scan(scan);
        RowStream::new(CountedRows { rows, counters: Arc::clone(&self.counters) })
    }
}

struct CountedRows {
    rows: RowStream,
    counters: Arc<Counters>,
}

impl RowSource for CountedRows {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move {
            let row = self.rows.next().await?;
            let rows: Vec<Row> = row.into_iter().collect();
            self.counters.add(&rows);
            Ok(rows)
        })
    }
}
