//! Cluster with faults: writes that do not end, as those of a client that waits for a server, and
//! scans that fail.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use halite::{
    Admin, BoxFuture, Cluster, Get, OpResult, RegionInfo, Result, Row, RowOp, RowSource, RowStream,
    Scan, Table, TableDescriptor, TableName,
};

/// What happens before a call.
pub(crate) trait Hook: Send + Sync + 'static {
    /// Blocks a batch of writes.
    fn before_batch(&self) {}

    /// Lets a scan of a table fail.
    fn before_scan(&self, table: &TableName) -> Result<()> {
        let _ = table;
        Ok(())
    }
}

/// Cluster whose calls are preceded by a hook.
pub(crate) struct HookedCluster<H> {
    cluster: Arc<dyn Cluster>,
    hook: Arc<H>,
}

/// Gate for batches of writes.
pub(crate) struct Gate {
    /// Batches that pass; `None` for all.
    left: Mutex<Option<u64>>,
    changed: Condvar,
}

/// Lets all batches pass when it is dropped.
pub(crate) struct Release(Arc<Gate>);

impl<H: Hook> HookedCluster<H> {
    pub(crate) fn new(cluster: &Arc<dyn Cluster>, hook: Arc<H>) -> Self {
        Self { cluster: Arc::clone(cluster), hook }
    }
}

impl Gate {
    /// Creates a gate that a number of batches pass.
    pub(crate) fn new(batches: u64) -> Arc<Self> {
        Arc::new(Self { left: Mutex::new(Some(batches)), changed: Condvar::new() })
    }

    pub(crate) fn release_on_drop(self: &Arc<Self>) -> Release {
        Release(Arc::clone(self))
    }
}

impl Hook for Gate {
    fn before_batch(&self) {
        let left = self.left.lock().unwrap();
        let mut left = self.changed.wait_while(left, |left| *left == Some(0)).unwrap();
        *left = left.map(|left| left - 1);
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.changed.notify_all();
    }
}

impl<H: Hook> Cluster for HookedCluster<H> {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(HookedTable { table: self.cluster.table(name), hook: Arc::clone(&self.hook) })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.cluster.admin()
    }
}

struct HookedTable<H> {
    table: Arc<dyn Table>,
    hook: Arc<H>,
}

impl<H: Hook> Table for HookedTable<H> {
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
        self.hook.before_batch();
        self.table.batch(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        match self.hook.before_scan(self.table.name()) {
            Ok(()) => self.table.scan(scan),
            Err(error) => RowStream::new(Failed(Some(error))),
        }
    }
}

/// Scan that fails.
struct Failed(Option<halite::Error>);

impl RowSource for Failed {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        let error = self.0.take();
        Box::pin(async move { error.map_or_else(|| Ok(Vec::new()), Err) })
    }
}
