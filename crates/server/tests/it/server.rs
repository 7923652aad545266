//! Server over an empty store with one table.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use halite_engine::env::Env;
use halite_engine::{Engine, Options};
use halite_server::{Config, ServerHandle};
use halite_types::{Bytes, FamilyDescriptor, Put, RegionInfo, TableDescriptor, TableName};
use halite_wire::convert::region::specifier;
use halite_wire::proto as pb;
use tokio::runtime::Runtime;

use crate::client::{Client, Kind};

/// A server with the table `t`: family `f` with three versions, family `g`, two regions that meet
/// at `m`.
pub(crate) struct Server {
    pub(crate) engine: Arc<Engine>,
    handle: Option<ServerHandle>,
    runtime: Runtime,
    directory: tempfile::TempDir,
}

fn make_table(engine: &Engine) {
    let table = TableDescriptor::new(name())
        .family(FamilyDescriptor::new("f").versions(3))
        .family(FamilyDescriptor::new("g"));
    engine.create_table(table, vec![Bytes::from("m")]).unwrap();
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(|_| ())
    }

    /// Returns a server whose settings are changed from the defaults of a test.
    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::over(Options::default(), change)
    }

    pub(crate) fn over(options: Options, change: impl FnOnce(&mut Config)) -> Self {
        let (directory, env) = Self::env();
        let engine = Engine::open(env, options).unwrap();
        make_table(&engine);
        Self::serve(engine, directory, change)
    }

    /// Returns an environment to change before [`Server::in_env`], and its directory.
    pub(crate) fn env() -> (tempfile::TempDir, Env) {
        let directory = tempfile::tempdir().unwrap();
        let env = Env::os(directory.path()).unwrap();
        (directory, env)
    }

    pub(crate) fn in_env(
        (directory, env): (tempfile::TempDir, Env),
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let engine = Engine::open(env, Options::default()).unwrap();
        make_table(&engine);
        Self::serve(engine, directory, change)
    }

    /// Returns a server whose free disk space is below the reserve since the creation of its table.
    pub(crate) fn on_a_full_disk() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let env = || Env::os(directory.path()).unwrap();
        let engine = Engine::open(env(), Options::default()).unwrap();
        make_table(&engine);
        engine.close().unwrap();
        let mut options = Options::default();
        options.disk_reserve_bytes = Some(u64::MAX);
        let engine = Engine::open(env(), options).unwrap();
        Self::serve(engine, directory, |_| ())
    }

    /// Starts a server on a copy of the data that this one would leave if its process were killed
    /// now.
    pub(crate) fn restart_after_kill(&self) -> Self {
        let directory = tempfile::tempdir().unwrap();
        copy_directory(self.directory.path(), directory.path());
        let engine = Engine::open(Env::os(directory.path()).unwrap(), Options::default()).unwrap();
        Self::serve(engine, directory, |_| ())
    }

    /// Starts a server on the data that this one leaves after its engine has been closed.
    pub(crate) fn restart_after_close(&self) -> Self {
        Arc::clone(&self.engine).close().unwrap();
        self.restart_after_kill()
    }

    fn serve(
        engine: Arc<Engine>,
        directory: tempfile::TempDir,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let mut config = Config::default();
        (config.master_port, config.regionserver_port, config.http_port, config.zookeeper_port) =
            (0, 0, None, None);
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let handle =
            runtime.block_on(halite_server::Server::start(Arc::clone(&engine), config)).unwrap();
        Self { engine, handle: Some(handle), runtime, directory }
    }

    pub(crate) fn regionserver_port(&self) -> SocketAddr {
        self.handle.as_ref().unwrap().addresses().regionserver
    }

    pub(crate) fn master_port(&self) -> SocketAddr {
        self.handle.as_ref().unwrap().addresses().master
    }

    pub(crate) fn cluster_id(&self) -> &str {
        self.handle.as_ref().unwrap().cluster_id()
    }

    /// Bytes of network buffers in use.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.handle.as_ref().unwrap().network_buffers().0
    }

    /// Waits until the network buffers are as expected; returns the largest use observed.
    pub(crate) fn wait_for_buffers(&self, is_reached: impl Fn(usize) -> bool) -> usize {
        let mut peak = 0;
        loop {
            let bytes = self.buffer_bytes();
            peak = peak.max(bytes);
            if is_reached(bytes) {
                return peak;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until as many wait for network buffers as expected.
    pub(crate) fn wait_for_waiters(&self, is_reached: impl Fn(usize) -> bool) {
        while !is_reached(self.waiters()) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns the number of calls that wait for network buffers.
    pub(crate) fn waiters(&self) -> usize {
        self.handle.as_ref().unwrap().network_buffers().1
    }

    /// Returns a connection to `ClientService` as Java's client opens it.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.regionserver_port(), Kind::Java)
    }

    /// Returns the region of `t` that a row is in.
    pub(crate) fn region(&self, row: &str) -> pb::RegionSpecifier {
        specifier(&self.region_info(row))
    }

    pub(crate) fn region_info(&self, row: &str) -> RegionInfo {
        self.engine
            .regions(&name())
            .unwrap()
            .into_iter()
            .find(|region| region.contains(row.as_bytes()))
            .unwrap()
    }

    /// Puts a value into `f:q` of rows directly through the engine.
    pub(crate) fn put(&self, rows: &[(&str, &str)]) {
        let put =
            |(row, value): &(&str, &str)| Put::new((*row).to_owned()).add("f", "q", *value).into();
        let results =
            self.engine.table(&name()).unwrap().batch(rows.iter().map(put).collect()).unwrap();
        results.into_iter().for_each(|result| drop(result.unwrap()));
    }

    /// Returns the value of `f:q` in a row.
    pub(crate) fn value(&self, row: &str) -> Option<String> {
        let get = halite_types::Get::new(row.to_owned());
        let row =
            self.engine.table(&name()).unwrap().get(&get, halite_types::ReadTier::Disk).unwrap();
        row.value("f", "q").map(|value| String::from_utf8_lossy(value).into_owned())
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

fn copy_directory(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy_directory(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub(crate) fn name() -> TableName {
    "t".parse().unwrap()
}
