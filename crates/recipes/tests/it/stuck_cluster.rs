//! Cluster whose writes do not end after a number of them, as those of a client that waits for a
//! server that is gone.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use halite::{
    Admin, BoxFuture, Cluster, Get, OpResult, RegionInfo, Result, Row, RowOp, RowStream, Scan,
    Table, TableDescriptor, TableName,
};

/// Cluster that executes a number of batches of writes, and blocks the following ones.
pub(crate) struct StuckCluster {
    cluster: Arc<dyn Cluster>,
    gate: Arc<Gate>,
}

/// Number of batches that pass; `None` for all.
struct Gate {
    left: Mutex<Option<u64>>,
    changed: Condvar,
}

/// Lets all batches pass when it is dropped.
pub(crate) struct Release(Arc<Gate>);

impl StuckCluster {
    pub(crate) fn new(cluster: Arc<dyn Cluster>, batches: u64) -> Self {
        let gate = Gate { left: Mutex::new(Some(batches)), changed: Condvar::new() };
        Self { cluster, gate: Arc::new(gate) }
    }

    pub(crate) fn release_on_drop(&self) -> Release {
        Release(Arc::clone(&self.gate))
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.changed.notify_all();
    }
}

impl Gate {
    fn pass(&self) {
        let left = self.left.lock().unwrap();
        let mut left = self.changed.wait_while(left, |left| *left == Some(0)).unwrap();
        *left = left.map(|left| left - 1);
    }
}

impl Cluster for StuckCluster {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(StuckTable { table: self.cluster.table(name), gate: Arc::clone(&self.gate) })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.cluster.admin()
    }
}

struct StuckTable {
    table: Arc<dyn Table>,
    gate: Arc<Gate>,
}

impl Table for StuckTable {
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
        self.gate.pass();
        self.table.batch(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.table.scan(scan)
    }
}
