//! Servers and the connection each has: made when it is first needed, and again after it has ended.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use halite_types::Cells;
use halite_wire::convert::server::ServerName;
use halite_wire::service::{Call, Service};
use tokio::time::Instant;

use super::{Connection, handshake};
use crate::config::Config;
use crate::deadline::CallDeadline;
use crate::failure::Failure;

/// A service of a server, with the connection to it.
pub(crate) struct Server {
    name: ServerName,
    service: Service,
    current: Mutex<Option<Arc<Connection>>>,
    /// Held by who connects; when and how that failed last.
    connecting: tokio::sync::Mutex<Option<(Instant, Failure)>>,
    /// A later process is at its place.
    is_over: AtomicBool,
}

impl Server {
    pub(crate) fn name(&self) -> &ServerName {
        &self.name
    }

    /// The connection, if there is one that goes.
    pub(crate) fn open(&self) -> Option<Arc<Connection>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has ended is let go of, so that its socket is.
        current.take_if(|connection| !connection.is_open());
        current.clone()
    }

    /// The connection, made if need be: by one caller, while the others wait. A server that could not be reached is not tried
    /// again for a while.
    pub(crate) async fn connection(&self, config: &Config, deadline: CallDeadline) -> Result<Arc<Connection>, Failure> {
        if let Some(connection) = self.open() {
            return Ok(connection);
        }
        let connecting = tokio::time::timeout_at(deadline.at, self.connecting.lock()).await;
        let mut failed = connecting.map_err(|_| handshake::unreachable(&format!("none in {} ms", deadline.ms)))?;
        if let Some(connection) = self.open() {
            return Ok(connection);
        }
        if self.is_over.load(Ordering::Relaxed) {
            return Err(handshake::unreachable(&"its process has ended, and a later one is at its place"));
        }
        if let Some((at, failure)) = &*failed
            && at.elapsed() < Duration::from_millis(config.failed_server_ms)
        {
            return Err(failure.clone());
        }
        match handshake::connect(&self.name.host, self.name.port, self.service, config, deadline.at).await {
            Ok(connection) => {
                *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&connection));
                *failed = None;
                Ok(connection)
            }
            Err(failure) => {
                // Whoever had no time left to wait for a connection says nothing about the server.
                if Instant::now() < deadline.at {
                    *failed = Some((Instant::now(), failure.clone()));
                }
                Err(failure)
            }
        }
    }

    /// Calls the service: the message of its answer and the cells.
    ///
    /// # Errors
    /// What it says, or why it cannot be asked.
    pub(crate) async fn ask<C: Call>(
        &self,
        config: &Config,
        request: &C::Request,
        priority: Option<u32>,
        deadline: CallDeadline,
    ) -> Result<(C::Response, Cells), Failure> {
        let connection = self.connection(config, deadline).await?;
        connection.call::<C>(request, &[], priority, deadline).await?.response::<C>().await
    }

    /// Whether the server is to be kept now that another one is heard of: as long as it is connected or somebody knows it. Its
    /// process has ended if a later one is at its place, also if it could not say so.
    fn is_of_use(self: &Arc<Self>, heard_of: &ServerName, service: Service) -> bool {
        let is_place = service == self.service && heard_of.host == self.name.host && heard_of.port == self.name.port;
        if is_place && heard_of.start_code > self.name.start_code {
            self.is_over.store(true, Ordering::Relaxed);
            self.disconnect(&Failure::lost(format!("{heard_of} has taken its place")));
        }
        self.open().is_some() || Arc::strong_count(self) > 1
    }

    /// Ends the connection, because the server has said that it stops.
    pub(crate) fn disconnect(&self, why: &Failure) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(connection) = current {
            connection.end(&Failure::lost(format!("the server is leaving: {}", why.clone().into_error())));
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(out)
    }
}

/// The servers that are of interest.
#[derive(Default)]
pub(crate) struct Servers(Mutex<HashMap<(ServerName, Service), Arc<Server>>>);

impl Servers {
    /// The one of that name, the same for everybody.
    pub(crate) fn get(&self, name: &ServerName, service: Service) -> Arc<Server> {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.clone(), service);
        if let Some(server) = servers.get(&key) {
            return Arc::clone(server);
        }
        servers.retain(|_, server| server.is_of_use(name, service));
        let (name, current, connecting) = (name.clone(), Mutex::new(None), tokio::sync::Mutex::new(None));
        let server = Arc::new(Server { name, service, current, connecting, is_over: AtomicBool::new(false) });
        servers.insert(key, Arc::clone(&server));
        server
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        let servers: Vec<_> = self.0.lock().unwrap_or_else(PoisonError::into_inner).drain().map(|(_, server)| server).collect();
        let closed = Failure::lost("the client was closed");
        servers.iter().for_each(|server| server.disconnect(&closed));
    }
}
