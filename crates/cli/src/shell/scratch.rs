//! A store in a directory of its own, for tests.

use std::io::Write;
use std::sync::Arc;

use halite_types::{Admin, Cluster, Table, TableName};

use super::Session;

/// A store whose directory goes with it.
struct Scratch {
    store: halite::Store,
    _directory: tempfile::TempDir,
}

impl Cluster for Scratch {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Cluster::table(&self.store, name)
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.store.admin()
    }
}

/// An empty store.
pub(super) fn cluster() -> Arc<dyn Cluster> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = halite::open(directory.path()).expect("a new store opens");
    Arc::new(Scratch { store, _directory: directory })
}

/// A session on an empty store, with nobody to answer questions.
pub(super) fn session<'a>(out: impl Write + 'a) -> Session<'a> {
    Session::new(cluster(), out, Box::new(|| Ok(None)))
}
