//! Cluster with faults, for tests: what happens before its writes and scans is a hook.

use std::sync::Arc;

use halite::{
    Admin, BoxFuture, Cluster, Error, Get, OpResult, RegionInfo, Result, Row, RowOp, RowSource,
    RowStream, Scan, Table, TableDescriptor, TableName,
};

/// What happens before a call.
pub trait Hook: Send + Sync + 'static {
    /// Blocks a batch of writes, or lets it fail without an effect.
    ///
    /// # Errors
    /// The error of the batch.
    fn before_batch(&self) -> Result<()> {
        Ok(())
    }

    /// Lets a scan of a table fail.
    ///
    /// # Errors
    /// The error of the scan.
    fn before_scan(&self, table: &TableName) -> Result<()> {
        let _ = table;
        Ok(())
    }
}

/// Cluster whose calls are preceded by a hook. Other reads and administration are those of the
/// cluster itself.
pub struct HookedCluster<H> {
    cluster: Arc<dyn Cluster>,
    hook: Arc<H>,
}

impl<H: Hook> HookedCluster<H> {
    /// Wraps a cluster.
    pub fn with_hook(cluster: Arc<dyn Cluster>, hook: Arc<H>) -> Self {
        Self { cluster, hook }
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
        match self.hook.before_batch() {
            Ok(()) => self.table.batch(ops),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn scan(&self, scan: Scan) -> RowStream {
        match self.hook.before_scan(self.table.name()) {
            Ok(()) => self.table.scan(scan),
            Err(error) => RowStream::new(Failed(Some(error))),
        }
    }
}

/// Scan that fails.
struct Failed(Option<Error>);

impl RowSource for Failed {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        let error = self.0.take();
        Box::pin(async move { error.map_or_else(|| Ok(Vec::new()), Err) })
    }
}
