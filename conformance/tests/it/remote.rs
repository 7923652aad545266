//! Embedded store accessed through Halite's client and server.

use std::sync::Arc;

use halite::{
    BlockingCluster, BlockingTable, Bytes, FamilyDescriptor, Get, OpResult, Result, Row, RowOp,
    Scan, TableDescriptor, block_on,
};
use halite_conformance::cluster::change_table;
use halite_conformance::runner::{MergeKind, SystemUnderTest};
use halite_conformance::script::TableChange;
use halite_server::{Config, Server, ServerHandle};
use tokio::runtime::Runtime;

use crate::embedded::{Embedded, TABLE};

/// One server and one client for all cases of a file, so that the client's cache refers to dropped
/// tables.
pub(crate) struct Remote {
    /// Operations of the script that no client can perform: the clock, and the choice of merged
    /// files.
    embedded: Embedded,
    cluster: BlockingCluster,
    has_table: bool,
    server: Option<ServerHandle>,
    runtime: Runtime,
}

impl Remote {
    pub(crate) fn new() -> Self {
        let embedded = Embedded::new();
        let mut config = Config::default();
        (config.master_port, config.regionserver_port, config.http_port, config.zookeeper_port) =
            (0, 0, None, Some(0));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a thread");
        let server = runtime
            .block_on(Server::start(Arc::clone(embedded.engine()), config))
            .expect("a server on free ports");
        let uri = format!("zk://{}", server.addresses().zookeeper.expect("the port was requested"));
        let cluster = BlockingCluster::connect(&uri).expect("the server has started");
        Self { embedded, cluster, has_table: false, server: Some(server), runtime }
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

impl SystemUnderTest for Remote {
    fn set_clock(&mut self, now_ms: i64) {
        self.embedded.set_clock(now_ms);
    }

    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()> {
        let (admin, name) = (self.cluster.cluster().admin(), TABLE.parse()?);
        if std::mem::take(&mut self.has_table) {
            block_on(admin.disable_table(&name))?;
            block_on(admin.drop_table(&name))?;
        }
        let descriptor =
            families.into_iter().fold(TableDescriptor::new(name), TableDescriptor::family);
        let splits: Vec<&[u8]> = splits.iter().map(AsRef::as_ref).collect();
        self.cluster.create_table(descriptor, &splits)?;
        self.has_table = true;
        self.embedded.open_table()
    }

    fn change(&mut self, change: &TableChange) -> Result<()> {
        change_table(&**self.cluster.cluster(), &TABLE.parse()?, change)?;
        self.embedded.open_table()
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
        self.cluster.flush(TABLE)
    }

    fn merge(&mut self, how: MergeKind) -> Result<()> {
        self.embedded.merge(how)
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        self.embedded.files()
    }
}
