//! Embedded store: opening, closing, and the calls that no other cluster has.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use halite_engine::env::Env;
use halite_engine::{Engine, Health, OpenReport, Options};
use halite_rowkey::series::SeriesCompactionFilterFactory;
use halite_rowkey::strict::StrictKeys;
use halite_types::Result;

use crate::blocking::BlockingCluster;
use crate::cluster::StoreCluster;
use crate::pool::Pool;

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
        let handle =
            Arc::new(StoreHandle { engine: Engine::open(env, options)?, pool: Pool::default() });
        let cluster = BlockingCluster::new(Arc::new(StoreCluster::new(Arc::clone(&handle))));
        Ok(Store { cluster, handle })
    }
}

/// Embedded store of tables. Cheap to clone; all clones share one store.
///
/// Its tables and its administration are those of the [`BlockingCluster`] to which it dereferences;
/// their work is done on the calling thread. [`BlockingCluster::cluster`] returns the store for
/// tasks of a runtime.
///
/// Dropping the last clone without [`Store::close`] loses no data, but the next opening must replay
/// the log.
#[derive(Clone)]
pub struct Store {
    cluster: BlockingCluster,
    handle: Arc<StoreHandle>,
}

impl Deref for Store {
    type Target = BlockingCluster;

    fn deref(&self) -> &BlockingCluster {
        &self.cluster
    }
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

    /// Returns the recorded load of the tables by key and time.
    #[cfg(feature = "heat")]
    pub fn heat(&self) -> crate::heat::Heat<'_> {
        crate::heat::Heat::of(&self.handle.engine)
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

    /// Deletes the expired snapshots and returns their names. A store does not do so automatically.
    ///
    /// # Errors
    /// A full disk or failed write; nothing is deleted then.
    pub fn delete_expired_snapshots(&self) -> Result<Vec<String>> {
        self.handle.engine.delete_expired_snapshots()
    }
}
