//! Server start and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::{Engine, WalTruncation};
use halite_types::{Error, Result};
use tokio::task::JoinHandle;

use crate::base::shutdown::{self, Shutdown, ShutdownSender};
use crate::base::slow_calls::SlowCallLog;
use crate::config::{Addresses, Config, check_engine_options};
use crate::master_service::log_unwritten_codecs;
use crate::net::listener;
use crate::net::port::Port;
use crate::outside::{Listener, Machine, Outside};
use crate::services::Services;
use crate::{chores, health_check, http, zookeeper};

/// Entry point for starting servers.
pub struct Server;

/// Running server. Dropping the handle does not stop the server, which runs until shutdown.
pub struct ServerHandle {
    services: Arc<Services>,
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
        mut config: Config,
    ) -> Result<ServerHandle> {
        config.check()?;
        let web = config.web.take();
        check_engine_options(engine.options())?;
        log_truncation(&engine);
        engine.descriptors().iter().for_each(|table| log_unwritten_codecs(table));
        let listeners = Listeners::bind(&machine, &config).await?;
        let addresses = listeners.addresses()?;
        let services = Arc::new(Services::new(machine, engine, config, addresses)?);
        let (sender, shutdown) = shutdown::channel();
        let tasks = listeners.serve(&services, web, &shutdown);
        Ok(ServerHandle { services, shutdown: sender, tasks })
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
        self.services.context.addresses
    }

    /// Returns the cluster id.
    pub fn cluster_id(&self) -> &str {
        &self.services.context.cluster_id
    }

    /// Returns the name of the region server, `host,port,startcode`, for clients on this machine.
    pub fn server_name(&self) -> String {
        let context = &self.services.context;
        context.identity(context.addresses.regionserver).region_server_text()
    }

    /// Returns the newest slow and large calls.
    pub fn slow_calls(&self) -> Arc<SlowCallLog> {
        Arc::clone(&self.services.context.slow_calls)
    }

    /// Returns the number of open scanners.
    pub fn open_scanners(&self) -> usize {
        self.services.client.scanners.len()
    }

    /// Returns the network buffers in use, in bytes, and the number of connections and calls that
    /// wait for them.
    pub fn network_buffers(&self) -> (usize, usize) {
        (self.services.context.buffers.used(), self.services.context.buffers.waiting())
    }

    /// Waits until a client requests a shutdown (`stop_master` and similar calls), and returns the
    /// reason for the log. The caller then calls [`ServerHandle::shutdown`] and closes the engine.
    pub async fn stop_requested(&self) -> String {
        self.services.context.stop.requested().await
    }

    /// Waits until the store has stopped accepting writes and must be reopened: a sync or a write
    /// of its log or manifest has failed. Returns the reason. Reads continue until the caller shuts
    /// the server down.
    pub async fn store_stopped(&self) -> Option<Error> {
        self.services.context.health.stopped().await
    }

    /// Rejects new connections and calls, answers calls in progress, and returns when all have
    /// ended.
    pub async fn shutdown(self) {
        self.shutdown.request();
        for task in self.tasks {
            // A task that panicked has ended too; the panic has already been reported.
            let _ = task.await;
        }
        // Running calls and procedures finish first; the engine may be closed afterwards.
        let services = self.services;
        let machine = services.context.machine.clone();
        let closing = machine.block(move || services.close());
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

    fn serve(
        self,
        services: &Arc<Services>,
        web: Option<axum::Router>,
        shutdown: &Shutdown,
    ) -> Vec<JoinHandle<()>> {
        let parts = || (Arc::clone(services), shutdown.clone());
        let mut tasks = Vec::new();
        for (listener, port) in
            [(self.master, Port::Master), (self.regionserver, Port::RegionServer)]
        {
            let (services, shutdown) = parts();
            tasks.push(tokio::spawn(listener::serve(listener, port, services, shutdown)));
        }
        let (of_leases, mut ending) = parts();
        tasks.push(tokio::spawn(async move {
            of_leases.client.scanners.expire_until(&mut ending).await;
        }));
        let master = || (Arc::clone(&services.master), shutdown.clone());
        let (of_chore, ending) = master();
        tasks.push(tokio::spawn(chores::clean_snapshots(of_chore, ending)));
        let (watched, ending) = parts();
        tasks.push(tokio::spawn(health_check::watch(Arc::clone(&watched.context), ending)));
        let (of_chore, ending) = master();
        tasks.push(tokio::spawn(chores::measure_tables(of_chore, ending)));
        let (of_chore, ending) = master();
        tasks.push(tokio::spawn(chores::roll_regions(of_chore, ending)));
        let (of_chore, ending) = master();
        tasks.push(tokio::spawn(chores::clean_catalog(of_chore, ending)));
        if let Some(listener) = self.http {
            let (services, shutdown) = parts();
            tasks.push(tokio::spawn(http::serve(listener, services, web, shutdown)));
        }
        if let Some(listener) = self.zookeeper {
            let context = Arc::clone(&services.context);
            tasks.push(tokio::spawn(zookeeper::serve(listener, context, shutdown.clone())));
        }
        tasks
    }
}
