//! Server start and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::{Engine, WalTruncation};
use halite_types::{Error, Result};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::context::Context;
use crate::listener;
use crate::outside::{Listener, Machine, Outside};
use crate::shutdown::{self, Shutdown, ShutdownSender};
use crate::{chores, health, http, zookeeper};

/// Entry point for starting servers.
pub struct Server;

/// Listening addresses of a server, with the bound ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Address of the master and the registry.
    pub master: SocketAddr,
    /// Address of the region server and the registry.
    pub regionserver: SocketAddr,
    /// Address of the HTTP endpoint, if enabled.
    pub http: Option<SocketAddr>,
    /// Address of the ZooKeeper endpoint, if enabled.
    pub zookeeper: Option<SocketAddr>,
}

/// Running server. Dropping the handle does not stop the server, which runs until shutdown.
pub struct ServerHandle {
    context: Arc<Context>,
    shutdown: ShutdownSender,
    tasks: Vec<JoinHandle<()>>,
}

struct Listeners {
    master: Listener,
    regionserver: Listener,
    http: Option<Listener>,
    zookeeper: Option<Listener>,
}

impl Server {
    /// Binds the ports and serves the engine on them, on the caller's runtime. The caller closes
    /// the engine, after [`ServerHandle::shutdown`].
    ///
    /// # Errors
    /// `InvalidRequest` for invalid settings, `Io` for a port that cannot be bound.
    pub async fn start(engine: Arc<Engine>, config: Config) -> Result<ServerHandle> {
        Self::start_on(Machine::Os, engine, config).await
    }

    /// Starts a server on a simulated network and without threads. The environment of the engine
    /// must not have threads either.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_in(
        outside: Arc<dyn Outside>,
        engine: Arc<Engine>,
        config: Config,
    ) -> Result<ServerHandle> {
        Self::start_on(Machine::Given(outside), engine, config).await
    }

    async fn start_on(
        machine: Machine,
        engine: Arc<Engine>,
        config: Config,
    ) -> Result<ServerHandle> {
        config.check()?;
        log_truncation(&engine);
        let listeners = Listeners::bind(&machine, &config).await?;
        let addresses = listeners.addresses()?;
        let context = Arc::new(Context::new(machine, engine, config, addresses)?);
        let (sender, shutdown) = shutdown::channel();
        let tasks = listeners.serve(&context, &shutdown);
        Ok(ServerHandle { context, shutdown: sender, tasks })
    }
}

/// Logs the parts of the write-ahead log that were dropped when the store was opened.
fn log_truncation(engine: &Engine) {
    for WalTruncation { segment, offset, bytes, writes, kept, is_damage } in
        &engine.open_report().wal_truncations
    {
        if *is_damage {
            tracing::error!(
                segment,
                offset,
                bytes,
                writes,
                kept,
                "damaged bytes of the log left out: acknowledged writes may be missing"
            );
        } else {
            tracing::warn!(segment, offset, bytes, writes, kept, "torn end of the log cut off");
        }
    }
}

impl ServerHandle {
    /// Returns the listening addresses.
    pub fn addresses(&self) -> Addresses {
        self.context.addresses
    }

    /// Returns the cluster id.
    pub fn cluster_id(&self) -> &str {
        &self.context.cluster_id
    }

    /// Returns the number of open scanners.
    pub fn open_scanners(&self) -> usize {
        self.context.scanners.len()
    }

    /// Returns the network buffers in use, in bytes, and the number of connections and calls that
    /// wait for them.
    pub fn network_buffers(&self) -> (usize, usize) {
        (self.context.buffers.used(), self.context.buffers.waiting())
    }

    /// Waits until a client requests a shutdown (`stop_master` and similar calls), and returns the
    /// reason for the log. The caller then calls [`ServerHandle::shutdown`] and closes the engine.
    pub async fn stop_requested(&self) -> String {
        self.context.master.stop_requested().await
    }

    /// Waits until the store has stopped accepting writes and must be reopened: a sync or a write
    /// of its log or manifest has failed. Returns the reason. Reads continue until the caller shuts
    /// the server down.
    pub async fn store_stopped(&self) -> Option<Error> {
        self.context.health.stopped().await
    }

    /// Rejects new connections and calls, answers calls in progress, and returns when all have
    /// ended.
    pub async fn shutdown(self) {
        self.shutdown.request();
        for task in self.tasks {
            // A task that panicked has ended too; the panic has already been reported.
            let _ = task.await;
        }
        let context = self.context;
        // Running calls and procedures finish first; the engine may be closed afterwards.
        let machine = context.machine.clone();
        let closing = machine.block(move || {
            context.handler_pool.close();
            context.admin_pool.close();
            context.master.close();
            context.scanners.close();
        });
        let _ = closing.await;
    }
}

impl Listeners {
    async fn bind(machine: &Machine, config: &Config) -> Result<Self> {
        let port = async |port: u16, what: &str, option: &str| {
            let address = SocketAddr::new(config.listen_addr, port);
            let busy = |error| {
                Error::io(
                    format!("listening on {address} for {what} (give another port with {option})"),
                    error,
                )
            };
            machine.listen(address).await.map_err(busy)
        };
        Ok(Self {
            master: port(config.master_port, "the master", "--master-port").await?,
            regionserver: port(
                config.regionserver_port,
                "the region server",
                "--regionserver-port",
            )
            .await?,
            http: match config.http_port {
                Some(web) => Some(port(web, "the web page", "--http-port").await?),
                None => None,
            },
            zookeeper: match config.zookeeper_port {
                Some(zookeeper) => Some(port(zookeeper, "ZooKeeper", "--zookeeper-port").await?),
                None => None,
            },
        })
    }

    fn addresses(&self) -> Result<Addresses> {
        let of = |listener: &Listener| {
            listener
                .local_addr()
                .map_err(|error| Error::io("asking for the address of a listening socket", error))
        };
        Ok(Addresses {
            master: of(&self.master)?,
            regionserver: of(&self.regionserver)?,
            http: self.http.as_ref().map(of).transpose()?,
            zookeeper: self.zookeeper.as_ref().map(of).transpose()?,
        })
    }

    fn serve(self, context: &Arc<Context>, shutdown: &Shutdown) -> Vec<JoinHandle<()>> {
        let parts = || (Arc::clone(context), shutdown.clone());
        let mut tasks = Vec::new();
        for (listener, port) in [
            (self.master, listener::Port::Master),
            (self.regionserver, listener::Port::RegionServer),
        ] {
            let (context, shutdown) = parts();
            tasks.push(tokio::spawn(listener::serve(listener, port, context, shutdown)));
        }
        let (context_of_leases, mut ending) = parts();
        tasks.push(tokio::spawn(async move {
            context_of_leases.scanners.expire_until(&mut ending).await;
        }));
        let (context_of_chores, ending) = parts();
        tasks.push(tokio::spawn(chores::clean_snapshots(context_of_chores, ending)));
        let (context_of_watch, ending) = parts();
        tasks.push(tokio::spawn(health::watch(context_of_watch, ending)));
        let (context_of_chores, ending) = parts();
        tasks.push(tokio::spawn(chores::measure_tables(context_of_chores, ending)));
        let (context_of_chores, ending) = parts();
        tasks.push(tokio::spawn(chores::roll_regions(context_of_chores, ending)));
        let (context_of_chores, ending) = parts();
        tasks.push(tokio::spawn(chores::clean_catalog(context_of_chores, ending)));
        if let Some(listener) = self.http {
            let (context, shutdown) = parts();
            tasks.push(tokio::spawn(http::serve(listener, context, shutdown)));
        }
        if let Some(listener) = self.zookeeper {
            let (context, shutdown) = parts();
            tasks.push(tokio::spawn(zookeeper::serve(listener, context, shutdown)));
        }
        tasks
    }
}
