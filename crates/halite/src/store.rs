//! Embedded store with synchronous calls.

use std::path::Path;
use std::sync::Arc;

use halite_engine::env::Env;
use halite_engine::{Engine, Health, OpenReport, Options, Table, TableScanner};
use halite_rowkey::series::SeriesCompactionFilterFactory;
use halite_rowkey::strict::StrictKeys;
use halite_types::{
    Append, Attributes, BulkLoad, Bytes, CheckAndMutate, ClusterStatus, CompactionKind, Delete,
    Error, Get, Increment, OpResult, Put, ReadTier, RegionInfo, Result, Row, RowMutations, RowOp,
    Scan, SnapshotDescriptor, TableDescriptor, TableName,
};

use crate::pool::Pool;
use crate::row_ops::row_calls;

/// Builder that opens a store.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    options: Options,
}

impl Builder {
    /// Creates a builder with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the options. Without a compaction filter factory, major compactions pack the rows of
    /// `SERIES` columns. Without row checks, tables with the attribute `ROW_KEY_STRICT` reject rows
    /// that do not match their declared row key.
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
        self.open_with_env(Env::os(path)?)
    }

    /// Opens the store of an environment: for simulations, with their own disk and clock.
    ///
    /// # Errors
    /// As [`crate::open`].
    pub fn open_with_env(self, env: Env) -> Result<Store> {
        let mut options = self.options;
        options
            .compaction_filter_factory
            .get_or_insert_with(|| Arc::new(SeriesCompactionFilterFactory));
        options.row_checks.get_or_insert_with(|| Arc::new(StrictKeys));
        Ok(Store {
            handle: Arc::new(StoreHandle {
                engine: Engine::open(env, options)?,
                pool: Pool::default(),
            }),
        })
    }
}

/// Embedded store of tables. Cheap to clone; all clones share one store.
///
/// Dropping the last clone without [`Store::close`] loses no data, but the next opening must replay
/// the log.
#[derive(Clone)]
pub struct Store {
    pub(crate) handle: Arc<StoreHandle>,
}

/// State shared by all clones of a store and its tables. Dropping the last handle waits for the
/// engine's threads, so the directory can be reopened at once.
pub(crate) struct StoreHandle {
    pub(crate) engine: Arc<Engine>,
    pub(crate) pool: Pool,
}

impl Drop for StoreHandle {
    fn drop(&mut self) {
        self.engine.stop_threads();
    }
}

impl Store {
    /// Returns whether the store accepts writes, and the reason if not. Reads the disk.
    pub fn health(&self) -> Health {
        self.handle.engine.health()
    }

    /// Returns the report of the opening of the store.
    pub fn open_report(&self) -> &OpenReport {
        self.handle.engine.open_report()
    }

    /// Returns the underlying engine, for its regions and background work.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.handle.engine
    }

    /// Flushes all memstores to store files and releases the directory. The next opening needs no
    /// replay, and HBase's own tools can read the directory.
    ///
    /// # Errors
    /// A full disk or failed write. Acknowledged writes are then in the log.
    pub fn close(self) -> Result<()> {
        Arc::clone(&self.handle.engine).close()
    }

    /// Returns a table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `InvalidRequest` for a bad name.
    pub fn table(&self, name: &str) -> Result<StoreTable> {
        Ok(StoreTable {
            table: self.handle.engine.table(&name.parse()?)?,
            _handle: Arc::clone(&self.handle),
        })
    }

    /// Creates a table whose regions begin at the empty key and at each of the split keys.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest`.
    pub fn create_table(&self, table: TableDescriptor, splits: &[&[u8]]) -> Result<()> {
        self.handle
            .engine
            .create_table(table, splits.iter().map(|split| Bytes::copy_from_slice(split)).collect())
    }

    /// Returns `true` if a table exists.
    pub fn table_exists(&self, name: &TableName) -> bool {
        self.handle.engine.descriptor(name).is_ok()
    }

    /// Returns the descriptors of all tables, by name.
    pub fn list_tables(&self) -> Vec<Arc<TableDescriptor>> {
        self.handle.engine.descriptors()
    }

    /// Replaces a table's descriptor. Data of removed families is deleted.
    ///
    /// # Errors
    /// `NoSuchTable`, `InvalidRequest`.
    pub fn alter_table(&self, table: TableDescriptor) -> Result<()> {
        self.handle.engine.alter_table(table)
    }

    /// Disables a table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`.
    pub fn disable_table(&self, name: &TableName) -> Result<()> {
        self.handle.engine.disable_table(name)
    }

    /// Enables a table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn enable_table(&self, name: &TableName) -> Result<()> {
        self.handle.engine.enable_table(name)
    }

    /// Drops a disabled table and its data.
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

    /// Adds store files to a table, each to the regions that its rows belong to. A file that spans
    /// several regions is split at their boundaries. The files of one region become visible
    /// atomically. Regions are loaded one after another, after all files have been checked. If one
    /// fails, the earlier ones stay loaded. HBase's own files can be loaded.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `NoSuchFamily`; `InvalidRequest` for a file without cells or
    /// of another family; `Unsupported` for an unreadable codec or encoding; `Corrupt`; a full disk
    /// or failed write.
    pub fn bulk_load(&self, name: &TableName, load: &BulkLoad) -> Result<()> {
        self.handle.engine.bulk_load(name, load)
    }

    /// Takes a snapshot of a table. It contains every write acknowledged before, unless it skips
    /// the flush.
    ///
    /// # Errors
    /// `SnapshotExists`, `NoSuchTable`, `InvalidRequest`, a full disk or failed write.
    pub fn create_snapshot(&self, snapshot: &SnapshotDescriptor) -> Result<()> {
        self.handle.engine.take_snapshot(snapshot)
    }

    /// Returns all snapshots of all tables, by name.
    pub fn list_snapshots(&self) -> Vec<SnapshotDescriptor> {
        self.handle.engine.snapshots()
    }

    /// Creates an enabled table from a snapshot, without copying cells.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableExists`, `NoSuchNamespace`, damage to its files.
    pub fn clone_snapshot(&self, name: &str, table: &TableName) -> Result<()> {
        self.handle.engine.clone_snapshot(name, table)
    }

    /// Restores a disabled table to the state of the snapshot; it stays disabled.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableEnabled`, damage to its files.
    pub fn restore_snapshot(&self, name: &str) -> Result<()> {
        self.handle.engine.restore_snapshot(name)
    }

    /// Deletes the expired snapshots and returns their names. A store does not do so automatically.
    ///
    /// # Errors
    /// A full disk or failed write; nothing is deleted then.
    pub fn delete_expired_snapshots(&self) -> Result<Vec<String>> {
        self.handle.engine.delete_expired_snapshots()
    }

    /// Deletes a snapshot, and its files without other references.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.handle.engine.delete_snapshot(name)
    }

    /// Returns the status of the store with metrics of all regions.
    pub fn status(&self) -> ClusterStatus {
        self.handle.engine.status()
    }
}

/// Table of a [`Store`]. Every write returns when it has reached the requested durability.
#[derive(Clone)]
pub struct StoreTable {
    table: Arc<Table>,
    _handle: Arc<StoreHandle>,
}

impl StoreTable {
    /// Returns its descriptor.
    pub fn descriptor(&self) -> Arc<TableDescriptor> {
        self.table.descriptor()
    }

    /// Returns its regions in key order.
    pub fn regions(&self) -> Vec<RegionInfo> {
        self.table.region_infos()
    }

    /// Reads a row; empty if it does not exist.
    ///
    /// # Errors
    /// `InvalidRequest`, `NoSuchFamily`, `TableDisabled`, damage.
    #[expect(clippy::needless_pass_by_value, reason = "as natural to write as the puts beside it")]
    pub fn get(&self, get: Get) -> Result<Row> {
        self.table.get(&get, ReadTier::Disk)
    }

    row_calls!();

    /// Applies operations and returns one result for each, in order. Rows are not atomic together.
    ///
    /// # Errors
    /// A failure of the log.
    pub fn batch(&self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        self.table.apply(ops)
    }

    /// Reads a range of rows, in key order.
    pub fn scan(&self, scan: Scan) -> StoreRows {
        StoreRows {
            scanner: self.table.scan(scan, ReadTier::Disk),
            batch: Vec::new().into_iter(),
            ended: false,
        }
    }
}

/// Rows of a scan.
pub struct StoreRows {
    scanner: TableScanner,
    batch: std::vec::IntoIter<Row>,
    ended: bool,
}

impl Iterator for StoreRows {
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
