//! The embedded store once more, with Halite's server and client between it and the script.

use std::sync::Arc;

use halite::{Blocking, BlockingTable, Bytes, FamilyDescriptor, Get, OpResult, Result, Row, RowOp, Scan, TableDescriptor, block_on};
use halite_conformance::cluster::change_table;
use halite_conformance::runner::{Merge, Subject};
use halite_conformance::script::Change;
use halite_server::{Config, Handle, Server};
use tokio::runtime::Runtime;

use crate::embedded::{Embedded, TABLE};

/// One server with one client for all cases of a file, so that what the client knows is of tables that have gone.
pub(crate) struct Remote {
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
        Self { inside, cluster, has_table: false, server: Some(server), runtime }
    }

    fn table(&self) -> Result<BlockingTable> {
        self.cluster.table(TABLE)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}

impl Subject for Remote {
    fn set_clock(&mut self, now_ms: i64) {
        self.inside.set_clock(now_ms);
    }

    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()> {
        let (admin, name) = (self.cluster.cluster().admin(), TABLE.parse()?);
        if std::mem::take(&mut self.has_table) {
            block_on(admin.disable_table(&name))?;
            block_on(admin.drop_table(&name))?;
        }
        let descriptor = families.into_iter().fold(TableDescriptor::new(name), TableDescriptor::family);
        let splits: Vec<&[u8]> = splits.iter().map(AsRef::as_ref).collect();
        self.cluster.create_table(descriptor, &splits)?;
        self.has_table = true;
        self.inside.adopt()
    }

    fn change(&mut self, change: &Change) -> Result<()> {
        change_table(&**self.cluster.cluster(), &TABLE.parse()?, change)?;
        self.inside.adopt()
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        self.table()?.batch(ops)
    }

    fn get(&mut self, get: Get) -> Result<Row> {
        self.table()?.get(get)
    }

    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>> {
        self.table()?.scan(scan).collect()
    }

    fn flush(&mut self) -> Result<()> {
        self.cluster.flush(&TABLE.parse()?)
    }

    fn merge(&mut self, how: Merge) -> Result<()> {
        self.inside.merge(how)
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        self.inside.files()
    }
}
