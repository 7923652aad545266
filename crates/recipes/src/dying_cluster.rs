//! Cluster whose client stops after a number of writes, as a program does that is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite::{
    Admin, BoxFuture, Cluster, Error, ErrorKind, Get, OpResult, RegionInfo, Result, Row, RowOp,
    RowStream, Scan, Table, TableDescriptor, TableName,
};

/// Cluster that accepts a number of batches of writes and fails the following ones without an
/// effect. Reads and administration are those of the cluster itself.
pub struct DyingCluster {
    cluster: Arc<dyn Cluster>,
    left: Arc<AtomicU64>,
}

impl DyingCluster {
    /// Wraps a cluster for this number of batches.
    pub fn new(cluster: Arc<dyn Cluster>, batches: u64) -> Self {
        Self { cluster, left: Arc::new(AtomicU64::new(batches)) }
    }
}

impl Cluster for DyingCluster {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(DyingTable { table: self.cluster.table(name), left: Arc::clone(&self.left) })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.cluster.admin()
    }
}

struct DyingTable {
    table: Arc<dyn Table>,
    left: Arc<AtomicU64>,
}

impl Table for DyingTable {
    fn name(&self) -> &TableName {
        self.table.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.table.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.table.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.table.get_all(gets)
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        let take = |left: u64| left.checked_sub(1);
        if self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_err() {
            return Box::pin(async {
                Err(Error::new(ErrorKind::Stopped, "the client was stopped at this write"))
            });
        }
        self.table.batch(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.table.scan(scan)
    }
}
