//! Store in a temporary directory, for tests.

use std::io::Write;
use std::sync::Arc;

use halite::BlockingCluster;
use halite_types::{Admin, Cluster, Result, Table, TableName};

use super::Session;

/// Store whose directory is deleted with it.
struct TestStore {
    store: halite::Store,
    _directory: tempfile::TempDir,
}

impl Cluster for TestStore {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        self.store.cluster().table(name)
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.store.cluster().admin()
    }

    fn blocking_table(&self, name: &TableName) -> Result<Arc<dyn Table>> {
        self.store.cluster().blocking_table(name)
    }

    fn blocking_admin(&self) -> Arc<dyn Admin> {
        self.store.cluster().blocking_admin()
    }
}

/// Returns an empty store.
pub(super) fn cluster() -> BlockingCluster {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = halite::open(directory.path()).expect("a new store opens");
    BlockingCluster::new(Arc::new(TestStore { store, _directory: directory }))
}

/// Returns a session on an empty store that answers no confirmation.
pub(super) fn session<'a>(out: impl Write + 'a) -> Session<'a> {
    Session::new(cluster(), out, Box::new(|| Ok(None)))
}
