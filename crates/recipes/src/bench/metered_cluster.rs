//! Cluster that counts what operations read: gets and scans, and the rows that tables return.
//!
//! The counters are those of a thread: an operation calls the cluster, and takes the rows of its
//! scans, on the thread that executes it.

use std::cell::Cell;
use std::sync::Arc;

use halite::{
    Admin, Aggregates, Aggregation, BlockingCluster, BoxFuture, Cluster, Get, OpResult, RegionInfo,
    Result, Row, RowOp, RowSource, RowStream, Scan, Table, TableDescriptor, TableName,
};

use crate::recipe::Site;

thread_local! {
    static READS: Cell<Reads> = const { Cell::new(Reads { requests: 0, rows: 0 }) };
}

/// What an operation read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Gets, each of a batch, and scans of a range.
    pub(crate) requests: u64,
    /// Rows that tables returned for them.
    pub(crate) rows: u64,
}

/// Returns what this thread has read since the last call, on clusters of [`Site::metered`].
pub(super) fn take_reads() -> Reads {
    READS.take()
}

fn record(requests: usize, rows: usize) {
    let mut reads = READS.get();
    reads += Reads { requests: requests as u64, rows: rows as u64 };
    READS.set(reads);
}

impl std::ops::AddAssign for Reads {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.rows += other.rows;
    }
}

impl Site {
    /// Returns the site with a cluster that counts what is read. Measurements of an application
    /// that is opened on it have the number of ranges and rows of its operations.
    #[must_use]
    pub fn metered(&self) -> Self {
        let cluster = MeteredCluster(Arc::clone(self.cluster.cluster()));
        Self { cluster: BlockingCluster::new(Arc::new(cluster)), ..self.clone() }
    }
}

struct MeteredCluster(Arc<dyn Cluster>);

impl Cluster for MeteredCluster {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(MeteredTable(self.0.table(name)))
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.0.admin()
    }

    fn blocking_table(&self, name: &TableName) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(MeteredTable(self.0.blocking_table(name)?)))
    }

    fn blocking_admin(&self) -> Arc<dyn Admin> {
        self.0.blocking_admin()
    }
}

struct MeteredTable(Arc<dyn Table>);

impl Table for MeteredTable {
    fn name(&self) -> &TableName {
        self.0.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.0.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.0.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        record(gets.len(), 0);
        let rows = self.0.get_all(gets);
        Box::pin(async move {
            let rows = rows.await?;
            record(0, rows.iter().filter(|row| !row.is_empty()).count());
            Ok(rows)
        })
    }

    fn blocking_get(&self, get: Get) -> Result<Row> {
        let row = self.0.blocking_get(get)?;
        record(1, usize::from(!row.is_empty()));
        Ok(row)
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        self.0.batch(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        record(1, 0);
        RowStream::new(MeteredRows(self.0.scan(scan)))
    }

    fn aggregate(&self, aggregation: Aggregation) -> BoxFuture<'_, Result<Option<Aggregates>>> {
        record(1, 0);
        self.0.aggregate(aggregation)
    }
}

struct MeteredRows(RowStream);

impl RowSource for MeteredRows {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async {
            let rows = self.0.next_rows().await?;
            record(0, rows.len());
            Ok(rows)
        })
    }
}
