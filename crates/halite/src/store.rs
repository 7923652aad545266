//! The store in this process, with plain synchronous calls.

use std::path::Path;
use std::sync::Arc;

use halite_engine::env::Env;
use halite_engine::{Engine, Health, OpenReport, Options, Table, TableScanner};
use halite_rowkey::series::RepackSeries;
use halite_rowkey::strict::StrictKeys;
use halite_types::{
    Append, Attributes, BulkLoad, Bytes, CheckAndMutate, ClusterStatus, CompactionKind, Delete, Error, Get, Increment, OpResult, Put, RegionInfo,
    Result, Row, RowMutations, RowOp, Scan, SnapshotDescriptor, TableDescriptor, TableName, Tier,
};

use crate::calls::row_calls;
use crate::pool::Pool;

/// How to open a store.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    options: Options,
}

impl Builder {
    /// With the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// With these options. Unless they say what major compactions write in another form, those pack the rows of `SERIES` columns; unless
    /// they say which rows tables take, those with the attribute `ROW_KEY_STRICT` refuse rows that are no keys of what they declare.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Opens the store in a directory, or creates one in an empty or new directory.
    ///
    /// # Errors
    /// As [`crate::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store> {
        self.open_in(Env::os(path)?)
    }

    /// Opens the store of an environment: for simulations, with their own disk and clock.
    ///
    /// # Errors
    /// As [`crate::open`].
    pub fn open_in(self, env: Env) -> Result<Store> {
        let mut options = self.options;
        options.rewrite.get_or_insert_with(|| Arc::new(RepackSeries));
        options.row_checks.get_or_insert_with(|| Arc::new(StrictKeys));
        Ok(Store { handle: Arc::new(Handle { engine: Engine::open(env, options)?, pool: Pool::default() }) })
    }
}

/// A store of tables in this process. Cheap to clone; all clones are the same store.
///
/// Dropping the last clone without [`Store::close`] loses nothing, but leaves the next opening to read the log.
#[derive(Clone)]
pub struct Store {
    pub(crate) handle: Arc<Handle>,
}

/// What all clones of a store and its tables hold. When the last goes, the engine's threads have ended, so that the
/// directory can be opened again at once.
pub(crate) struct Handle {
    pub(crate) engine: Arc<Engine>,
    pub(crate) pool: Pool,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.engine.stop_threads();
    }
}

impl Store {
    /// Whether the store takes writes, and why not. This looks at the disk.
    pub fn health(&self) -> Health {
        self.handle.engine.health()
    }

    /// What opening found and did.
    pub fn report(&self) -> &OpenReport {
        self.handle.engine.report()
    }

    /// The engine below, for its regions and background work.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.handle.engine
    }

    /// Writes what is in memory to store files and lets the directory go. It opens at once next time, and HBase's own
    /// tools can read it.
    ///
    /// # Errors
    /// A full disk or failed write. What was acknowledged is in the log then.
    pub fn close(self) -> Result<()> {
        Arc::clone(&self.handle.engine).close()
    }

    /// A table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `InvalidRequest` for a bad name.
    pub fn table(&self, name: &str) -> Result<StoreTable> {
        Ok(StoreTable { table: self.handle.engine.table(&name.parse()?)?, _handle: Arc::clone(&self.handle) })
    }

    /// Creates a table whose regions begin at the empty key and at each of the split keys.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest`.
    pub fn create_table(&self, table: TableDescriptor, splits: &[&[u8]]) -> Result<()> {
        self.handle.engine.create_table(table, splits.iter().map(|split| Bytes::copy_from_slice(split)).collect())
    }

    /// Whether a table exists.
    pub fn has_table(&self, name: &TableName) -> bool {
        self.handle.engine.descriptor(name).is_ok()
    }

    /// The descriptors of all tables, by name.
    pub fn tables(&self) -> Vec<Arc<TableDescriptor>> {
        self.handle.engine.descriptors()
    }

    /// Replaces a table's descriptor; families that are gone lose their data.
    ///
    /// # Errors
    /// `NoSuchTable`, `InvalidRequest`.
    pub fn alter_table(&self, table: TableDescriptor) -> Result<()> {
        self.handle.engine.alter_table(table)
    }

    /// Takes a table out of service.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`.
    pub fn disable_table(&self, name: &TableName) -> Result<()> {
        self.handle.engine.disable_table(name)
    }

    /// Puts a table back into service.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn enable_table(&self, name: &TableName) -> Result<()> {
        self.handle.engine.enable_table(name)
    }

    /// Takes a disabled table and its data away.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn drop_table(&self, name: &TableName) -> Result<()> {
        self.handle.engine.drop_table(name)
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// `NamespaceExists`, `InvalidRequest`.
    pub fn create_namespace(&self, name: &str) -> Result<()> {
        self.handle.engine.create_namespace(name, Attributes::new())
    }

    /// Writes the memstores of a table to store files.
    ///
    /// # Errors
    /// `NoSuchTable`, a full disk or failed write.
    pub fn flush(&self, name: &TableName) -> Result<()> {
        self.handle.engine.flush(name)
    }

    /// Compacts a table's stores and returns when that is done.
    ///
    /// # Errors
    /// `NoSuchTable`, a full disk or failed write.
    pub fn compact(&self, name: &TableName, kind: CompactionKind) -> Result<()> {
        self.handle.engine.compact(name, None, kind)
    }

    /// Makes store files part of a table, each in the regions that its rows belong to: one that lies across several is cut
    /// at their ends. Files of one region show all at once; regions follow one another, after all files have been looked
    /// at, and where one fails those before it have been loaded. HBase's own files can be loaded.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `NoSuchFamily`, `InvalidRequest` for one without cells or of another family, `Unsupported` for a codec or encoding that
    /// cannot be read here, `Corrupt`, a full disk or failed write.
    pub fn bulk_load(&self, name: &TableName, load: &BulkLoad) -> Result<()> {
        self.handle.engine.bulk_load(name, load)
    }

    /// Takes a snapshot of a table: every write acknowledged before is in it, unless it skips the flush.
    ///
    /// # Errors
    /// `SnapshotExists`, `NoSuchTable`, `InvalidRequest`, a full disk or failed write.
    pub fn create_snapshot(&self, snapshot: &SnapshotDescriptor) -> Result<()> {
        self.handle.engine.take_snapshot(snapshot)
    }

    /// All snapshots of all tables, by name.
    pub fn snapshots(&self) -> Vec<SnapshotDescriptor> {
        self.handle.engine.snapshots()
    }

    /// Makes a table of a snapshot, enabled, without copying a cell.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableExists`, `NoSuchNamespace`, damage to its files.
    pub fn clone_snapshot(&self, name: &str, table: &TableName) -> Result<()> {
        self.handle.engine.clone_snapshot(name, table)
    }

    /// Puts a disabled table back to what it was when the snapshot was taken; it stays disabled.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableEnabled`, damage to its files.
    pub fn restore_snapshot(&self, name: &str) -> Result<()> {
        self.handle.engine.restore_snapshot(name)
    }

    /// Deletes the snapshots that have outlived their time, and says which they were. A store does not do so by itself.
    ///
    /// # Errors
    /// A full disk or failed write; nothing is deleted then.
    pub fn remove_expired_snapshots(&self) -> Result<Vec<String>> {
        self.handle.engine.remove_expired_snapshots()
    }

    /// Forgets a snapshot; files that nobody else needs go.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.handle.engine.delete_snapshot(name)
    }

    /// Figures of every region and of the whole.
    pub fn status(&self) -> ClusterStatus {
        self.handle.engine.status()
    }
}

/// A table of a [`Store`]. Every write returns when it is as durable as it asked to be.
#[derive(Clone)]
pub struct StoreTable {
    table: Arc<Table>,
    _handle: Arc<Handle>,
}

impl StoreTable {
    /// Its descriptor.
    pub fn descriptor(&self) -> Arc<TableDescriptor> {
        self.table.descriptor()
    }

    /// Its regions in key order.
    pub fn regions(&self) -> Vec<RegionInfo> {
        self.table.region_infos()
    }

    /// Reads a row; empty if it does not exist.
    ///
    /// # Errors
    /// `InvalidRequest`, `NoSuchFamily`, `TableDisabled`, damage.
    #[expect(clippy::needless_pass_by_value, reason = "as natural to write as the puts beside it")]
    pub fn get(&self, get: Get) -> Result<Row> {
        self.table.get(&get, Tier::Disk)
    }

    row_calls!();

    /// Applies operations; one result for each, in order. Nothing is promised between rows.
    ///
    /// # Errors
    /// The log's failure.
    pub fn batch(&self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        self.table.apply(ops)
    }

    /// Reads a range of rows, in key order.
    pub fn scan(&self, scan: Scan) -> Rows {
        Rows { scanner: self.table.scan(scan, Tier::Disk), batch: Vec::new().into_iter(), ended: false }
    }
}

/// The rows of a scan.
pub struct Rows {
    scanner: TableScanner,
    batch: std::vec::IntoIter<Row>,
    ended: bool,
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        if let Some(row) = self.batch.next() {
            return Some(Ok(row));
        }
        if self.ended {
            return None;
        }
        match self.scanner.next_rows() {
            Ok(rows) => {
                self.ended = rows.is_empty();
                self.batch = rows.into_iter();
                self.batch.next().map(Ok)
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}
