//! Backends of pages: a separate store for each page, and one server for all.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use halite::{BlockingCluster, Builder, Options, Store, WalSync};
use halite_server::{Config, Server, ServerHandle};
use tokio::runtime::Runtime;

/// Opens an empty store that does not wait for the disk: some pages have cells with lives of a
/// second.
fn open(directory: &Path) -> Store {
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    Builder::new().options(options).open(directory).expect("an empty store")
}

/// Store in a directory that is deleted with it.
pub(crate) struct Embedded {
    pub(crate) cluster: BlockingCluster,
    _directory: tempfile::TempDir,
}

impl Embedded {
    pub(crate) fn open() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = open(directory.path());
        Self { cluster: BlockingCluster::clone(&store), _directory: directory }
    }
}

/// Server and its Rust client.
pub(crate) struct Served {
    pub(crate) cluster: BlockingCluster,
    _server: ServerHandle,
    _store: Store,
    _runtime: Runtime,
    _directory: tempfile::TempDir,
}

/// The only server of this process; it ends with the process.
pub(crate) fn served() -> &'static Served {
    static SERVED: OnceLock<Served> = OnceLock::new();
    SERVED.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = open(directory.path());
        let mut config = Config::default();
        (config.master_port, config.regionserver_port, config.http_port, config.zookeeper_port) =
            (0, 0, None, Some(0));
        config.rolling_split_interval_ms = 200;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a thread");
        let server = runtime
            .block_on(Server::start(Arc::clone(store.engine()), config))
            .expect("a server on free ports");
        let uri = format!("zk://{}", server.addresses().zookeeper.expect("the port was requested"));
        let cluster = BlockingCluster::connect(&uri).expect("the server has started");
        Served { cluster, _server: server, _store: store, _runtime: runtime, _directory: directory }
    })
}
