//! Server over an empty store, and a client of it.

use std::future::Future;
use std::sync::Arc;

use halite_client::{Config, RegistryKind, RemoteCluster, connect_with};
use halite_engine::env::Env;
use halite_engine::{Engine, Options};
use halite_patience::lasting_ports;
use halite_server::ServerHandle;
use halite_types::{
    Bytes, Cluster, FamilyDescriptor, Put, RowOp, Table, TableDescriptor, TableName,
};
use tokio::runtime::Runtime;

/// A server with the table `t`: family `f` with three versions, family `g`, three regions that meet
/// at `h` and `p`.
pub(crate) struct Server {
    pub(crate) engine: Arc<Engine>,
    handle: Option<ServerHandle>,
    pub(crate) runtime: Runtime,
    _directory: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(|_| ())
    }

    /// Returns a server whose settings are changed from the defaults of a test.
    pub(crate) fn with(change: impl FnOnce(&mut halite_server::Config)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let engine = Engine::open(Env::os(directory.path()).unwrap(), Options::default()).unwrap();
        let table = TableDescriptor::new(name())
            .family(FamilyDescriptor::new("f").versions(3))
            .family(FamilyDescriptor::new("g"));
        engine.create_table(table, vec![Bytes::from("h"), Bytes::from("p")]).unwrap();
        let mut config = halite_server::Config::default();
        // Some tests start it again on its ports.
        let [master, regionserver, zookeeper] = lasting_ports();
        (config.master_port, config.regionserver_port, config.http_port, config.zookeeper_port) =
            (master, regionserver, None, Some(zookeeper));
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let handle =
            runtime.block_on(halite_server::Server::start(Arc::clone(&engine), config)).unwrap();
        Self { engine, handle: Some(handle), runtime, _directory: directory }
    }

    /// Ends the server, and starts another over the same store on the same ports.
    pub(crate) fn restart(&mut self) {
        let resume = self.stop();
        resume(self);
    }

    /// Ends the server. The returned function starts another over the same store on the same ports.
    pub(crate) fn stop(&mut self) -> impl FnOnce(&mut Self) + use<> {
        let handle = self.handle.take().unwrap();
        let (addresses, mut config) = (handle.addresses(), halite_server::Config::default());
        (config.master_port, config.regionserver_port, config.http_port) =
            (addresses.master.port(), addresses.regionserver.port(), None);
        config.zookeeper_port = addresses.zookeeper.map(|address| address.port());
        self.runtime.block_on(handle.shutdown());
        move |server| {
            let engine = Arc::clone(&server.engine);
            let started = server.runtime.block_on(halite_server::Server::start(engine, config));
            server.handle = Some(started.unwrap());
        }
    }

    /// Registry of the cluster, through ZooKeeper.
    pub(crate) fn registry(&self) -> RegistryKind {
        let quorum = vec![self.handle.as_ref().unwrap().addresses().zookeeper.unwrap().to_string()];
        RegistryKind::ZooKeeper { quorum, znode_parent: "/hbase".to_string() }
    }

    /// Returns the registry of the cluster through the region server.
    pub(crate) fn rpc_registry(&self) -> RegistryKind {
        RegistryKind::Rpc {
            servers: vec![self.handle.as_ref().unwrap().addresses().regionserver.to_string()],
        }
    }

    pub(crate) fn open_scanners(&self) -> usize {
        self.handle.as_ref().unwrap().open_scanners()
    }

    pub(crate) fn cluster_id(&self) -> &str {
        self.handle.as_ref().unwrap().cluster_id()
    }

    pub(crate) fn connect(&self) -> RemoteCluster {
        self.connect_with(|_| ())
    }

    /// Returns a client whose settings are changed from the defaults.
    pub(crate) fn connect_with(&self, change: impl FnOnce(&mut Config)) -> RemoteCluster {
        let mut config = Config::new(self.registry());
        // Longer than the machine may stop a test.
        config.connect_timeout_ms = 120_000;
        change(&mut config);
        self.run(connect_with(config)).unwrap()
    }

    /// Waits for a future, on the server's runtime.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Returns a client's table `t`.
    pub(crate) fn table(&self) -> Arc<dyn Table> {
        self.connect().table(&name())
    }

    /// Puts `f:q` into rows without the client.
    pub(crate) fn fill(&self, rows: impl IntoIterator<Item = String>) {
        let put = |row: String| RowOp::from(Put::new(row.clone()).add("f", "q", row));
        let results =
            self.engine.table(&name()).unwrap().batch(rows.into_iter().map(put).collect()).unwrap();
        results.into_iter().for_each(|result| drop(result.unwrap()));
    }

    /// Returns the encoded name of the region of `t` that a row is in.
    pub(crate) fn region(&self, row: &str) -> String {
        self.engine
            .regions(&name())
            .unwrap()
            .into_iter()
            .find(|region| region.contains(row.as_bytes()))
            .unwrap()
            .encoded_name
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.runtime.block_on(handle.shutdown());
        }
        // A failed test has already reported its error.
        let _ = Arc::clone(&self.engine).close();
    }
}

pub(crate) fn name() -> TableName {
    "t".parse().unwrap()
}

/// Returns a row key with a different first letter than that of the preceding number.
pub(crate) fn spread(number: usize) -> String {
    format!("{}{number:05}", char::from(b"abcdefghijklmnopqrstuvwxyz"[number % 26]))
}
