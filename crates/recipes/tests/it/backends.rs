//! Backends of recipes: stores that lose their memory, and one server.

use std::sync::{Arc, OnceLock};

use halite::{BlockingCluster, Builder, Options, WalSync};
use halite_recipes::{CheckReport, InProcessTarget, Load, Recipe, check};
use halite_server::{Config, Server, ServerHandle};
use tokio::runtime::Runtime;

/// Opens the store of a directory. The log is written to the operating system, which survives the
/// crashes of these tests.
pub(crate) fn open(directory: &tempfile::TempDir) -> BlockingCluster {
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    let store = Builder::new().options(options).open(directory.path()).unwrap();
    BlockingCluster::clone(&store)
}

/// Checks a recipe on a store of its own, whose writer stops after `batches`.
pub(crate) fn check_embedded(
    recipe: &dyn Recipe,
    load: Load,
    batches: u64,
) -> anyhow::Result<CheckReport> {
    let directory = tempfile::tempdir().unwrap();
    check(recipe, load, &mut InProcessTarget::new(|| Ok(open(&directory)), batches))
}

/// Server that ends with the process.
struct Served {
    uri: String,
    _server: ServerHandle,
    _store: halite::Store,
    _runtime: Runtime,
    _directory: tempfile::TempDir,
}

/// Returns a new client of the only server of this process.
pub(crate) fn connect() -> BlockingCluster {
    static SERVED: OnceLock<Served> = OnceLock::new();
    let served = SERVED.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.wal_sync = WalSync::Flush;
        let store = Builder::new().options(options).open(directory.path()).unwrap();
        let mut config = Config::default();
        (config.master_port, config.regionserver_port, config.http_port, config.zookeeper_port) =
            (0, 0, None, Some(0));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(Server::start(Arc::clone(store.engine()), config)).unwrap();
        let uri = format!("zk://{}", server.addresses().zookeeper.unwrap());
        Served { uri, _server: server, _store: store, _runtime: runtime, _directory: directory }
    });
    BlockingCluster::connect(&served.uri).unwrap()
}
