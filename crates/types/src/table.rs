//! The `Cluster` API: the traits `Cluster`, `Admin` and `Table`.
//!
//! Two implementations exist: the engine in this process and the client of a remote cluster. The
//! traits are object-safe and require no runtime; [`block_on`] is for callers without one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;

use crate::aggregate::{Aggregates, Aggregation};
use crate::bulk_load::BulkLoad;
use crate::error::{Error, ErrorKind, Result};
use crate::op::{OpResult, RowOp};
use crate::query::{Get, Scan};
use crate::row::Row;
use crate::schema::{Attributes, RegionInfo, TableDescriptor, TableName};
use crate::snapshot::SnapshotDescriptor;
use crate::status::{ClusterStatus, FrequentRow};

/// Future returned by the calls of the `Cluster` API.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Store of tables, in this process or remote.
pub trait Cluster: Send + Sync {
    /// Returns a handle to a table. A missing table is reported by the first call.
    fn table(&self, name: &TableName) -> Arc<dyn Table>;
    /// Returns the administrative API.
    fn admin(&self) -> Arc<dyn Admin>;

    /// Returns a handle to a table for a caller whose thread may block: an embedded store does the
    /// work of such a table in the call itself, on the caller's thread, and the future that the
    /// call returns is ready. Dropping the future does not undo the call.
    ///
    /// # Errors
    /// `NoSuchTable` and `TableDisabled`, if the cluster can tell without input or output.
    fn blocking_table(&self, name: &TableName) -> Result<Arc<dyn Table>> {
        Ok(self.table(name))
    }

    /// Returns the administrative API for a caller whose thread may block, as
    /// [`Self::blocking_table`].
    fn blocking_admin(&self) -> Arc<dyn Admin> {
        self.admin()
    }
}

/// Table: seven methods for data.
pub trait Table: Send + Sync {
    /// Returns its name.
    fn name(&self) -> &TableName;

    /// Returns its current descriptor.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>>;

    /// Returns its regions in key order.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>>;

    /// Reads rows; returns one row per get, in order, empty if the row does not exist.
    ///
    /// # Errors
    /// The first error of any get.
    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>>;

    /// Reads one row and blocks the thread until it has arrived; empty if it does not exist.
    ///
    /// An embedded store overrides it: the box of a future and the two vectors of
    /// [`Self::get_all`] are 4 to 12 % of a get of a small row in memory, and a call of this method
    /// is less than 1 % (`crates/halite/examples/get_cost.rs`).
    ///
    /// # Errors
    /// As [`Self::get_all`].
    fn blocking_get(&self, get: Get) -> Result<Row> {
        Ok(block_on(self.get_all(vec![get]))?.pop().unwrap_or_default())
    }

    /// Applies operations; returns one result per operation, in order. Operations on one row keep
    /// their order; the order between rows is unspecified.
    ///
    /// # Errors
    /// If no operation was tried. Errors of single operations are in their results.
    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>>;

    /// Reads a range of rows. The scan starts with the request for the first row; dropping the
    /// stream ends it.
    fn scan(&self, scan: Scan) -> RowStream;

    /// Adds up the rows of a scan where they lie, without returning them; `None` if the store
    /// cannot, and the rows have to be read. A region is read as of one moment, as by a scan.
    /// Dropping the future ends it, within some ten thousand rows.
    ///
    /// # Errors
    /// As a scan: those of its regions, and of its meter.
    fn aggregate(&self, _aggregation: Aggregation) -> BoxFuture<'_, Result<Option<Aggregates>>> {
        Box::pin(async { Ok(None) })
    }
}

/// Convenience methods for every [`Table`], including `dyn Table`.
pub trait TableExt: Table {
    /// Reads one row; empty if it does not exist.
    ///
    /// # Errors
    /// As [`Table::get_all`].
    fn get(&self, get: Get) -> BoxFuture<'_, Result<Row>> {
        Box::pin(async move { Ok(self.get_all(vec![get]).await?.pop().unwrap_or_default()) })
    }

    /// Applies one operation.
    ///
    /// # Errors
    /// As [`Table::batch`], or the operation's own error.
    fn mutate(&self, op: RowOp) -> BoxFuture<'_, Result<OpResult>> {
        Box::pin(async move { only_result(self.batch(vec![op]).await?) })
    }
}

impl<T: Table + ?Sized> TableExt for T {}

/// Returns the result of the only operation of a batch.
///
/// # Errors
/// The operation's own error; `Io` if the cluster returned no result.
pub fn only_result(mut results: Vec<Result<OpResult>>) -> Result<OpResult> {
    results.pop().unwrap_or_else(|| {
        Err(Error::new(ErrorKind::Io, "the cluster returned no result for the operation"))
    })
}

/// Source of rows of a scan, in batches.
pub trait RowSource: Send {
    /// Returns the next rows, at least one; an empty result is the end.
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>>;
}

/// Stream of the rows of a scan, one at a time.
pub struct RowStream {
    source: Box<dyn RowSource>,
    rows: std::vec::IntoIter<Row>,
    ended: bool,
    /// Rows have been requested and have not arrived. If this is set at the next call, the previous
    /// call was cancelled.
    waiting: bool,
}

impl RowStream {
    /// Creates a stream of the rows of `source`.
    pub fn new(source: impl RowSource + 'static) -> Self {
        Self {
            source: Box::new(source),
            rows: Vec::new().into_iter(),
            ended: false,
            waiting: false,
        }
    }

    /// Returns the next row; `None` at the end, and again after it.
    ///
    /// # Errors
    /// The error that stopped the scan and ended the stream. `Stopped` if the previous call was
    /// cancelled.
    pub async fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let rows = self.next_rows().await?;
            if rows.is_empty() {
                return Ok(None);
            }
            self.rows = rows.into_iter();
        }
    }

    /// Returns the buffered rows, or else the next batch from the store; empty at the end, and
    /// again after it.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn next_rows(&mut self) -> Result<Vec<Row>> {
        if self.ended || !self.rows.as_slice().is_empty() {
            return Ok(std::mem::take(&mut self.rows).collect());
        }
        if self.waiting {
            self.ended = true;
            let text = "the scan was cancelled while it waited for rows, and its position is lost; \
                        restart it after the last row";
            return Err(Error::new(ErrorKind::Stopped, text));
        }
        self.waiting = true;
        let rows = self.source.next_rows().await;
        self.waiting = false;
        self.ended = rows.as_ref().map_or(true, Vec::is_empty);
        rows
    }
}

/// Compaction type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionKind {
    /// Merges the files that the policy selects; delete markers are retained.
    Minor,
    /// Rewrites all files of a store into one and drops the cells that HBase drops.
    Major,
}

/// Administrative API.
pub trait Admin: Send + Sync {
    /// Returns all tables, by name.
    fn list_tables(&self) -> BoxFuture<'_, Result<Vec<Arc<TableDescriptor>>>>;
    /// Creates a table whose regions begin at the empty key and at each split key.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest` (descriptor, empty or repeated split
    /// key).
    fn create_table(&self, table: TableDescriptor, splits: Vec<Bytes>)
    -> BoxFuture<'_, Result<()>>;
    /// Replaces a table's descriptor; the data of removed families is deleted.
    ///
    /// # Errors
    /// `NoSuchTable`, `InvalidRequest`.
    fn alter_table(&self, table: TableDescriptor) -> BoxFuture<'_, Result<()>>;
    /// Deletes a disabled table and its data.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    fn drop_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>>;
    /// Deletes all rows of a disabled table and enables it.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    fn truncate_table(&self, table: &TableName, keep_splits: bool) -> BoxFuture<'_, Result<()>>;
    /// Enables a table for reads and writes.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    fn enable_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>>;
    /// Disables a table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`.
    fn disable_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>>;
    /// Returns whether a table is enabled.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn is_enabled(&self, table: &TableName) -> BoxFuture<'_, Result<bool>>;

    /// Returns `true` if families with the attribute `MERGE` merge their cells; HBase stores the
    /// attribute without an effect.
    fn merges_cells(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async { Ok(true) })
    }

    /// Returns all namespaces with their settings, by name.
    fn list_namespaces(&self) -> BoxFuture<'_, Result<Vec<(String, Attributes)>>>;
    /// Creates a namespace.
    ///
    /// # Errors
    /// `NamespaceExists`, `InvalidRequest`.
    fn create_namespace(&self, name: &str, settings: Attributes) -> BoxFuture<'_, Result<()>>;
    /// Replaces a namespace's settings.
    ///
    /// # Errors
    /// `NoSuchNamespace`.
    fn alter_namespace(&self, name: &str, settings: Attributes) -> BoxFuture<'_, Result<()>>;
    /// Deletes an empty namespace.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `NamespaceNotEmpty`.
    fn drop_namespace(&self, name: &str) -> BoxFuture<'_, Result<()>>;

    /// Writes the memstores of a table's regions to store files.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn flush(&self, table: &TableName) -> BoxFuture<'_, Result<()>>;
    /// Writes the memstores of one family to store files, and leaves the others in memory.
    ///
    /// # Errors
    /// `NoSuchTable`, `NoSuchFamily`.
    fn flush_family(&self, table: &TableName, family: Bytes) -> BoxFuture<'_, Result<()>>;
    /// Compacts a table's stores, or one family's, and returns after completion.
    ///
    /// # Errors
    /// `NoSuchTable`, `NoSuchFamily`.
    fn compact(
        &self,
        table: &TableName,
        family: Option<Bytes>,
        kind: CompactionKind,
    ) -> BoxFuture<'_, Result<()>>;
    /// Adds store files to a table, each to the regions of its rows. A file that spans several
    /// regions is split at their boundaries, as HBase's tool does. Files of one region become
    /// visible atomically.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `NoSuchFamily`, `InvalidRequest` for a file without cells or
    /// of another family, `Corrupt`, `Unsupported`.
    fn bulk_load(&self, table: &TableName, load: BulkLoad) -> BoxFuture<'_, Result<()>>;
    /// Creates a staging directory for the files of a bulk load that the servers can read, and
    /// returns its URI or absolute path (HBase's bulk token). [`Self::clean_up_bulk_load`] removes
    /// it.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn prepare_bulk_load(&self, table: &TableName) -> BoxFuture<'_, Result<String>>;
    /// Adds store files to one region, all or none, by their paths or URIs on the servers. Returns
    /// `false` and adds none if a row lies outside of the region, or the region was split or merged;
    /// HBase does so for every failure and logs the reason. `staging` is what
    /// [`Self::prepare_bulk_load`] returned.
    ///
    /// # Errors
    /// As [`Self::bulk_load`].
    fn bulk_load_region(
        &self,
        region: &RegionInfo,
        staging: &str,
        load: BulkLoad,
    ) -> BoxFuture<'_, Result<bool>>;
    /// Removes a staging directory with its contents.
    ///
    /// # Errors
    /// `InvalidRequest` if `staging` is none.
    fn clean_up_bulk_load(&self, table: &TableName, staging: &str) -> BoxFuture<'_, Result<()>>;
    /// Splits the region with that encoded name at `at`, or at its middle.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest` (key outside the region or at its start, nothing to split,
    /// splits disabled for the table or by its split policy).
    fn split_region(&self, encoded_name: &str, at: Option<Bytes>) -> BoxFuture<'_, Result<()>>;
    /// Merges two regions of a table; they must be adjacent unless `forcible` is set.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest`.
    fn merge_regions(&self, first: &str, second: &str, forcible: bool)
    -> BoxFuture<'_, Result<()>>;

    /// Takes a snapshot of a table; the store sets its time and whether the table was disabled.
    ///
    /// # Errors
    /// `SnapshotExists`, `NoSuchTable`, `InvalidRequest`.
    fn create_snapshot(&self, snapshot: SnapshotDescriptor) -> BoxFuture<'_, Result<()>>;
    /// Returns all snapshots of all tables, by name.
    fn list_snapshots(&self) -> BoxFuture<'_, Result<Vec<SnapshotDescriptor>>>;
    /// Creates an enabled table from a snapshot without copying cells.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableExists`, `NoSuchNamespace`.
    fn clone_snapshot(&self, name: &str, table: &TableName) -> BoxFuture<'_, Result<()>>;
    /// Restores a disabled table to its state in the snapshot; it stays disabled. A table that no
    /// longer exists is created again, enabled.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableEnabled`.
    fn restore_snapshot(&self, name: &str) -> BoxFuture<'_, Result<()>>;
    /// Deletes a snapshot; tables cloned from it are kept.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    fn delete_snapshot(&self, name: &str) -> BoxFuture<'_, Result<()>>;

    /// Returns statistics of every region and of the cluster.
    fn cluster_status(&self) -> BoxFuture<'_, Result<ClusterStatus>>;

    /// Returns the rows of a table with the most operations in a span of time of the last ten
    /// minutes, in milliseconds since 1970, in falling order; `None` where they are not recorded.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn frequent_rows(
        &self,
        _table: &TableName,
        _span_ms: (i64, i64),
        _limit: usize,
    ) -> BoxFuture<'_, Result<Option<Vec<FrequentRow>>>> {
        Box::pin(async { Ok(None) })
    }
}

/// Wakes a thread that is parked in [`block_on`].
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

fn waker_of_this_thread() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

thread_local! {
    static THREAD_WAKER: Waker = waker_of_this_thread();
}

/// Blocks the current thread until a future completes. Every poll has the same waker, so a future
/// that waits registers it once.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    // One waker for each thread: a future that is ready at once, as those of an embedded store
    // often are, takes no allocation. It no longer exists while the thread ends.
    let waker = THREAD_WAKER.try_with(Waker::clone).unwrap_or_else(|_| waker_of_this_thread());
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn future_is_polled_with_one_waker() {
        let mut known: Option<Waker> = None;
        let is_same = block_on(std::future::poll_fn(|context| match &known {
            None => {
                context.waker().wake_by_ref();
                known = Some(context.waker().clone());
                Poll::Pending
            }
            Some(known) => Poll::Ready(known.will_wake(context.waker())),
        }));
        assert!(is_same);
    }

    #[test]
    fn missing_result_is_fault_of_cluster() {
        let error = only_result(Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}
