//! Starting a server and ending it.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::{Engine, LogCut};
use halite_types::{Error, Result};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::context::Context;
use crate::listener;
use crate::outside::{Listener, Machine, Outside};
use crate::shutdown::{self, Shutdown, ShutdownSender};
use crate::{chores, health, http, zookeeper};

/// Starts servers.
pub struct Server;

/// The addresses a server listens on, with the ports it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Master, registry.
    pub master: SocketAddr,
    /// Region server, registry.
    pub region: SocketAddr,
    /// The page of figures, if there is one.
    pub web: Option<SocketAddr>,
    /// ZooKeeper, if there is one.
    pub zookeeper: Option<SocketAddr>,
}

/// A server that runs. Dropping it leaves it running until the runtime ends.
pub struct Handle {
    context: Arc<Context>,
    shutdown: ShutdownSender,
    tasks: Vec<JoinHandle<()>>,
}

struct Listeners {
    master: Listener,
    region: Listener,
    web: Option<Listener>,
    zookeeper: Option<Listener>,
}

impl Server {
    /// Binds the ports and serves the engine on them, on the runtime that calls this. The engine stays the caller's to
    /// close, after [`Handle::shutdown`].
    ///
    /// # Errors
    /// `InvalidRequest` for settings that cannot be; `Io` for a port that cannot be had.
    pub async fn start(engine: Arc<Engine>, config: Config) -> Result<Handle> {
        Self::start_on(Machine::Os, engine, config).await
    }

    /// The same on another network, and without threads: a simulation's. The environment of the engine has none either.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_in(outside: Arc<dyn Outside>, engine: Arc<Engine>, config: Config) -> Result<Handle> {
        Self::start_on(Machine::Given(outside), engine, config).await
    }

    async fn start_on(machine: Machine, engine: Arc<Engine>, config: Config) -> Result<Handle> {
        config.check()?;
        log_cuts(&engine);
        let listeners = Listeners::bind(&machine, &config).await?;
        let addresses = listeners.addresses()?;
        let context = Arc::new(Context::new(machine, engine, config, addresses)?);
        let (sender, shutdown) = shutdown::channel();
        let tasks = listeners.serve(&context, &shutdown);
        Ok(Handle { context, shutdown: sender, tasks })
    }
}

/// Logs what opening the store left out of the write-ahead log.
fn log_cuts(engine: &Engine) {
    for LogCut { segment, offset, bytes, writes, kept, is_damage } in &engine.report().cuts {
        if *is_damage {
            tracing::error!(segment, offset, bytes, writes, kept, "damaged bytes of the log left out: acknowledged writes may be missing");
        } else {
            tracing::warn!(segment, offset, bytes, writes, kept, "torn end of the log cut off");
        }
    }
}

impl Handle {
    /// Where the server listens.
    pub fn addresses(&self) -> Addresses {
        self.context.addresses
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> &str {
        &self.context.cluster_id
    }

    /// Scanners that clients hold open now.
    pub fn open_scanners(&self) -> usize {
        self.context.scanners.len()
    }

    /// Network buffers in use, in bytes, and the connections and calls that wait for them.
    pub fn network_buffers(&self) -> (usize, usize) {
        (self.context.buffers.used(), self.context.buffers.waiting())
    }

    /// Waits until a client asks the server to end (`stop_master` and the like), and gives the reason for the log. The
    /// caller then calls [`Handle::shutdown`] and closes the engine.
    pub async fn stop_requested(&self) -> String {
        self.context.master.stop_requested().await
    }

    /// Waits until the store takes no writes any more and only opening it again can help: a sync or a write of its log or manifest has
    /// failed. Gives the reason. Reads go on until the caller ends them.
    pub async fn store_stopped(&self) -> Option<Error> {
        self.context.health.stopped().await
    }

    /// Takes no more connections or calls, answers those at hand, and returns when all have ended.
    pub async fn shutdown(self) {
        self.shutdown.request();
        for task in self.tasks {
            // A task that panicked has ended too; the panic was reported where it happened.
            let _ = task.await;
        }
        let context = self.context;
        // Calls and procedures that run are waited for; the engine may be closed afterwards.
        let machine = context.machine.clone();
        let closing = machine.block(move || {
            context.reader_pool.close();
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
            let address = SocketAddr::new(config.listen, port);
            let busy = |error| Error::io(format!("listening on {address} for {what} (give another port with {option})"), error);
            machine.listen(address).await.map_err(busy)
        };
        Ok(Self {
            master: port(config.master_port, "the master", "--master-port").await?,
            region: port(config.region_port, "the region server", "--regionserver-port").await?,
            web: match config.web_port {
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
        let of = |listener: &Listener| listener.local_addr().map_err(|error| Error::io("asking for the address of a listening socket", error));
        Ok(Addresses {
            master: of(&self.master)?,
            region: of(&self.region)?,
            web: self.web.as_ref().map(of).transpose()?,
            zookeeper: self.zookeeper.as_ref().map(of).transpose()?,
        })
    }

    fn serve(self, context: &Arc<Context>, shutdown: &Shutdown) -> Vec<JoinHandle<()>> {
        let parts = || (Arc::clone(context), shutdown.clone());
        let mut tasks = Vec::new();
        for (listener, port) in [(self.master, listener::Port::Master), (self.region, listener::Port::Region)] {
            let (context, shutdown) = parts();
            tasks.push(tokio::spawn(listener::serve(listener, port, context, shutdown)));
        }
        let (context_of_leases, mut ending) = parts();
        tasks.push(tokio::spawn(async move { context_of_leases.scanners.expire_until(&mut ending).await }));
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
        if let Some(listener) = self.web {
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
