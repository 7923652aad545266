//! Start and end of the port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use halite_sql::SqlContext;
use halite_types::{Cluster, Error, Result};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::catalog;
use crate::config::Config;
use crate::connection::{Shared, listener};

/// How much less the threads of statements get than others of the process, as `nice` counts.
const NICE: i32 = 5;

/// Entry point for starting the port.
pub struct Server;

/// Running port. Dropping it ends connections without a word.
#[derive(Debug)]
pub struct ServerHandle {
    runtime: Option<Runtime>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    connections: Option<JoinHandle<()>>,
    stop_timeout: Duration,
}

impl Server {
    /// Binds the port and answers clients about the tables of a cluster, on threads of its own, so
    /// that a heavy statement leaves others of the process their time.
    ///
    /// # Errors
    /// `InvalidRequest` for a configuration that cannot be, files for TLS that cannot be read, and
    /// an address of other machines without users and TLS; `Io` for a port that cannot be bound.
    pub fn start(cluster: &Arc<dyn Cluster>, config: &Config) -> Result<ServerHandle> {
        let (stop, stopping) = watch::channel(false);
        let sql = SqlContext::with_resources(Arc::clone(cluster), &config.resources);
        let mut sql = sql.map_err(|error| Error::invalid(error.to_string()))?;
        if let Some(rules) = &config.lint {
            sql = sql.with_lint(Arc::clone(rules));
        }
        catalog::register(&sql, cluster);
        let shared = Shared::new(sql, config, stopping).map_err(Error::invalid)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.threads)
            .thread_name("halite-pg")
            // Plans are trees, and are executed by recursion.
            .thread_stack_size(halite_sql::STACK_BYTES)
            .on_thread_start(|| {
                // Without it, statements have the same share as others.
                let _ = rustix::process::nice(NICE);
            })
            .enable_all()
            .build()
            .map_err(|error| Error::io("starting threads for SQL", error))?;
        let busy = |error| {
            let address = config.address;
            Error::io(
                format!("listening on {address} for SQL (give another port with --pg-port)"),
                error,
            )
        };
        let listener = runtime.block_on(TcpListener::bind(config.address)).map_err(busy)?;
        let address = listener.local_addr().map_err(busy)?;
        let connections = runtime.spawn(listener::serve(listener, Arc::new(shared)));
        Ok(ServerHandle {
            runtime: Some(runtime),
            address,
            stop,
            connections: Some(connections),
            stop_timeout: config.limits.stop,
        })
    }
}

impl ServerHandle {
    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the running statements, tells the clients, and returns when no statement reads the
    /// cluster any more, or after [`Limits::stop`](crate::Limits::stop). Blocks; not to be called
    /// on a thread of a runtime.
    pub fn shutdown(mut self) {
        self.stop.send_replace(true);
        let (Some(runtime), Some(connections)) = (self.runtime.take(), self.connections.take())
        else {
            return;
        };
        let limit = self.stop_timeout;
        let ended = runtime.block_on(async { tokio::time::timeout(limit, connections).await });
        if ended.is_err() {
            tracing::warn!("some statements did not end within {} s", limit.as_secs());
        }
        runtime.shutdown_timeout(limit);
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
