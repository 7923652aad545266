//! The seam everything a person uses stands on: `Cluster`, `Admin` and `Table`.
//!
//! Two things implement it: the engine in this process, and the client of a cluster elsewhere. The traits are
//! object-safe and need no runtime; [`block_on`] serves callers that have none.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;

use crate::bulk_load::BulkLoad;
use crate::error::{Error, ErrorKind, Result};
use crate::op::{OpResult, RowOp};
use crate::query::{Get, Scan};
use crate::row::Row;
use crate::schema::{Attributes, RegionInfo, TableDescriptor, TableName};
use crate::snapshot::SnapshotDescriptor;
use crate::status::ClusterStatus;

/// What the calls of the seam return.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A store of tables, in this process or elsewhere.
pub trait Cluster: Send + Sync {
    /// A handle on a table. Whether the table exists shows at the first call.
    fn table(&self, name: &TableName) -> Arc<dyn Table>;
    /// The administrative calls.
    fn admin(&self) -> Arc<dyn Admin>;
}

/// One table: six methods for data.
pub trait Table: Send + Sync {
    /// Its name.
    fn name(&self) -> &TableName;

    /// Its descriptor as it is now.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn descriptor(&self) -> Fut<'_, Arc<TableDescriptor>>;

    /// Its regions in key order.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn regions(&self) -> Fut<'_, Vec<RegionInfo>>;

    /// Reads rows; the answer has one row for each get, in order, empty where there is none.
    ///
    /// # Errors
    /// The first error of any of them.
    fn get(&self, gets: Vec<Get>) -> Fut<'_, Vec<Row>>;

    /// Applies operations; the answer has one result for each, in order. Operations on one row keep their order;
    /// nothing is promised between rows.
    ///
    /// # Errors
    /// If nothing was tried. What happened to one operation is in its own result.
    fn apply(&self, ops: Vec<RowOp>) -> Fut<'_, Vec<Result<OpResult>>>;

    /// Reads a range of rows. Nothing happens before the first row is asked for; dropping the stream ends the scan.
    fn scan(&self, scan: Scan) -> RowStream;
}

/// Conveniences for every [`Table`], behind `dyn` too.
pub trait TableExt: Table {
    /// Reads one row; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Table::get`].
    fn get_one(&self, get: Get) -> Fut<'_, Option<Row>> {
        Box::pin(async move { Ok(self.get(vec![get]).await?.pop().filter(|row| !row.is_empty())) })
    }

    /// Applies one operation.
    ///
    /// # Errors
    /// As [`Table::apply`], or the operation's own error.
    fn apply_one(&self, op: RowOp) -> Fut<'_, OpResult> {
        Box::pin(async move { self.apply(vec![op]).await?.pop().unwrap_or_else(|| Ok(OpResult::default())) })
    }
}

impl<T: Table + ?Sized> TableExt for T {}

/// Rows of a scan, in batches.
pub trait RowSource: Send {
    /// The next rows, at least one; an empty answer is the end.
    fn next_rows(&mut self) -> Fut<'_, Vec<Row>>;
}

/// The rows of a scan, one at a time.
pub struct RowStream {
    source: Box<dyn RowSource>,
    rows: std::vec::IntoIter<Row>,
    ended: bool,
    /// Rows have been asked for and have not come. If that is found at the next call, the one before was cancelled.
    waiting: bool,
}

impl RowStream {
    /// A stream of what `source` gives.
    pub fn new(source: impl RowSource + 'static) -> Self {
        Self { source: Box::new(source), rows: Vec::new().into_iter(), ended: false, waiting: false }
    }

    /// The next row; `None` at the end, and again after it.
    ///
    /// # Errors
    /// Whatever stopped the scan; the stream has ended then. `Stopped` if the call before was cancelled.
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

    /// The rows that are here already, or else the next ones as they come from the store; empty at the end, and again after
    /// it.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn next_rows(&mut self) -> Result<Vec<Row>> {
        if self.ended || !self.rows.as_slice().is_empty() {
            return Ok(std::mem::take(&mut self.rows).collect());
        }
        if self.waiting {
            self.ended = true;
            let text = "the scan was cancelled while it waited for rows, and where it stood is lost; begin it again behind the last row";
            return Err(Error::new(ErrorKind::Stopped, text));
        }
        self.waiting = true;
        let rows = self.source.next_rows().await;
        self.waiting = false;
        self.ended = rows.as_ref().map_or(true, Vec::is_empty);
        rows
    }
}

/// What a compaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionKind {
    /// Merges the files the policy picks; delete markers stay.
    Minor,
    /// Rewrites every file of a store into one and drops what HBase drops.
    Major,
}

/// The administrative calls.
pub trait Admin: Send + Sync {
    /// All tables, by name.
    fn list_tables(&self) -> Fut<'_, Vec<Arc<TableDescriptor>>>;
    /// Creates a table whose regions begin at the empty key and at each of the split keys.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest` (descriptor, empty or repeated split key).
    fn create_table(&self, table: TableDescriptor, splits: Vec<Bytes>) -> Fut<'_, ()>;
    /// Replaces a table's descriptor; families that are gone lose their data.
    ///
    /// # Errors
    /// `NoSuchTable`, `InvalidRequest`.
    fn alter_table(&self, table: TableDescriptor) -> Fut<'_, ()>;
    /// Takes a disabled table and its data away.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    fn drop_table(&self, table: &TableName) -> Fut<'_, ()>;
    /// Takes all rows of a disabled table away; the table is enabled afterwards.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    fn truncate_table(&self, table: &TableName, keep_splits: bool) -> Fut<'_, ()>;
    /// Lets a table be read and written again.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    fn enable_table(&self, table: &TableName) -> Fut<'_, ()>;
    /// Takes a table out of service.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`.
    fn disable_table(&self, table: &TableName) -> Fut<'_, ()>;
    /// Whether a table is enabled.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn is_enabled(&self, table: &TableName) -> Fut<'_, bool>;

    /// All namespaces with their settings, by name.
    fn list_namespaces(&self) -> Fut<'_, Vec<(String, Attributes)>>;
    /// Creates a namespace.
    ///
    /// # Errors
    /// `NamespaceExists`, `InvalidRequest`.
    fn create_namespace(&self, name: &str, settings: Attributes) -> Fut<'_, ()>;
    /// Replaces a namespace's settings.
    ///
    /// # Errors
    /// `NoSuchNamespace`.
    fn alter_namespace(&self, name: &str, settings: Attributes) -> Fut<'_, ()>;
    /// Takes an empty namespace away.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `NamespaceNotEmpty`.
    fn drop_namespace(&self, name: &str) -> Fut<'_, ()>;

    /// Writes the memstores of a table's regions to store files.
    ///
    /// # Errors
    /// `NoSuchTable`.
    fn flush(&self, table: &TableName) -> Fut<'_, ()>;
    /// Compacts a table's stores, or one family's, and returns when that is done.
    ///
    /// # Errors
    /// `NoSuchTable`, `NoSuchFamily`.
    fn compact(&self, table: &TableName, family: Option<Bytes>, kind: CompactionKind) -> Fut<'_, ()>;
    /// Makes store files part of a table, each in the regions that its rows belong to: one that lies across several is
    /// cut at their ends, as HBase's tool does. Files of one region show all at once.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `NoSuchFamily`, `InvalidRequest` for one without cells or of another family, `Corrupt`, `Unsupported`.
    fn bulk_load(&self, table: &TableName, load: BulkLoad) -> Fut<'_, ()>;
    /// Splits the region of that encoded name at `at`, or at its middle.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest` (key outside the region or at its start, nothing to split).
    fn split_region(&self, encoded_name: &str, at: Option<Bytes>) -> Fut<'_, ()>;
    /// Merges two regions of a table; they must be neighbours unless `forcible`.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest`.
    fn merge_regions(&self, first: &str, second: &str, forcible: bool) -> Fut<'_, ()>;

    /// Takes a snapshot of a table; the store says when, and whether the table was disabled.
    ///
    /// # Errors
    /// `SnapshotExists`, `NoSuchTable`, `InvalidRequest`.
    fn create_snapshot(&self, snapshot: SnapshotDescriptor) -> Fut<'_, ()>;
    /// All snapshots of all tables, by name.
    fn list_snapshots(&self) -> Fut<'_, Vec<SnapshotDescriptor>>;
    /// Makes a table of a snapshot, enabled, without copying a cell.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableExists`, `NoSuchNamespace`.
    fn clone_snapshot(&self, name: &str, table: &TableName) -> Fut<'_, ()>;
    /// Puts a disabled table back to what it was when the snapshot was taken; it stays disabled. A table that is gone is
    /// made again, enabled.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableEnabled`.
    fn restore_snapshot(&self, name: &str) -> Fut<'_, ()>;
    /// Forgets a snapshot; tables that were made of it stay.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    fn delete_snapshot(&self, name: &str) -> Fut<'_, ()>;

    /// Figures of every region and of the whole.
    fn cluster_status(&self) -> Fut<'_, ClusterStatus>;
}

/// Runs a future on this thread and waits for it.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
