//! Table whose client stops at one of its writes: before it, or after it and before the reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite::{
    BoxFuture, Error, ErrorKind, Get, OpResult, RegionInfo, Result, Row, RowOp, RowStream, Scan,
    Table, TableDescriptor, TableName,
};

/// Writes that are left to one client of several tables.
#[derive(Clone)]
pub(crate) struct Client {
    left: Arc<AtomicU64>,
    applies_the_last: bool,
}

impl Client {
    /// Creates a client that stops at the batch after `batches`.
    pub(crate) fn new(batches: u64, applies_the_last: bool) -> Self {
        Self { left: Arc::new(AtomicU64::new(batches)), applies_the_last }
    }

    pub(crate) fn table(&self, table: &Arc<dyn Table>) -> Arc<dyn Table> {
        Arc::new(DyingTable { table: Arc::clone(table), client: self.clone() })
    }
}

struct DyingTable {
    table: Arc<dyn Table>,
    client: Client,
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
        Box::pin(async move {
            let take = |left: u64| left.checked_sub(1);
            let left = &self.client.left;
            match left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
                Ok(1) if self.client.applies_the_last => drop(self.table.batch(ops).await?),
                Ok(_) => return self.table.batch(ops).await,
                Err(_) => {}
            }
            Err(Error::new(ErrorKind::Stopped, "the client was stopped at this write"))
        })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.table.scan(scan)
    }
}
