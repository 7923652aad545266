//! The embedded store once more, with Halite's server and client between it and the script.

use std::sync::{Arc, Mutex};

use halite::{Blocking, BlockingTable, FamilyDescriptor, Get, OpResult, Result, Row, RowOp, Scan, TableDescriptor, block_on};
use halite_conformance::runner::{Merge, Subject};
use halite_server::{Config, Handle, Server};
use tokio::runtime::Runtime;

use crate::embedded::{Embedded, TABLE};

/// One server with one client for all cases of a file, so that what the client knows is of tables that have gone.
pub(crate) struct Remote {
    parts: Arc<Mutex<Parts>>,
}

/// For one case.
pub(crate) struct RemoteCase {
    parts: Arc<Mutex<Parts>>,
}

struct Parts {
    /// What the script does that no client can: the clock, and which files are merged.
    inside: Embedded,
    cluster: Blocking,
    has_table: bool,
    server: Option<Handle>,
    runtime: Runtime,
}

impl Remote {
    pub(crate) fn new() -> Self {
        let inside = Embedded::new();
        let mut config = Config::default();
        (config.master_port, config.region_port, config.web_port, config.zookeeper_port) = (0, 0, None, Some(0));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread");
        let server = runtime.block_on(Server::start(Arc::clone(inside.engine()), config)).expect("a server on free ports");
        let uri = format!("zk://{}", server.addresses().zookeeper.expect("it was asked for"));
        let cluster = Blocking::connect(&uri).expect("the server that was just started");
        Self { parts: Arc::new(Mutex::new(Parts { inside, cluster, has_table: false, server: Some(server), runtime })) }
    }

    pub(crate) fn next_case(&mut self) -> RemoteCase {
        RemoteCase { parts: Arc::clone(&self.parts) }
    }
}

impl RemoteCase {
    fn with<T>(&self, work: impl FnOnce(&mut Parts) -> T) -> T {
        work(&mut self.parts.lock().expect("a case that panics ends its file"))
    }
}

impl Parts {
    fn table(&self) -> Result<BlockingTable> {
        self.cluster.table(TABLE)
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}

impl Subject for RemoteCase {
    fn set_clock(&mut self, now_ms: i64) {
        self.with(|parts| parts.inside.set_clock(now_ms));
    }

    fn create(&mut self, families: Vec<FamilyDescriptor>) -> Result<()> {
        self.with(|parts| {
            let (admin, name) = (parts.cluster.cluster().admin(), TABLE.parse()?);
            if std::mem::take(&mut parts.has_table) {
                block_on(admin.disable_table(&name))?;
                block_on(admin.drop_table(&name))?;
            }
            let descriptor = families.into_iter().fold(TableDescriptor::new(name), TableDescriptor::family);
            parts.cluster.create_table(descriptor, &[])?;
            parts.has_table = true;
            parts.inside.adopt()
        })
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        self.with(|parts| parts.table()?.batch(ops))
    }

    fn get(&mut self, get: Get) -> Result<Row> {
        self.with(|parts| parts.table()?.get(get))
    }

    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>> {
        self.with(|parts| parts.table()?.scan(scan).collect())
    }

    fn flush(&mut self) -> Result<()> {
        self.with(|parts| parts.cluster.flush(&TABLE.parse()?))
    }

    fn merge(&mut self, how: Merge) -> Result<()> {
        self.with(|parts| parts.inside.merge(how))
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        self.with(|parts| parts.inside.files())
    }
}
