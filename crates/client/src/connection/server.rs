//! Servers and their connections, which are made on first use, and again after they have ended.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use halite_types::{Cells, ServerName};
use halite_wire::service::{RpcMethod, Service};
use tokio::time::Instant;

use super::{Connection, handshake};
use crate::config::Config;
use crate::deadline::CallDeadline;
use crate::error::RpcError;

/// Service of a server, with the connection to it.
pub(crate) struct ServerConnection {
    name: ServerName,
    service: Service,
    current: Mutex<Option<Arc<Connection>>>,
    /// Held by the connecting caller; time and error of the last failure.
    connecting: tokio::sync::Mutex<Option<(Instant, RpcError)>>,
    /// `true` if a later process has its address.
    is_stale: AtomicBool,
}

impl ServerConnection {
    pub(crate) fn name(&self) -> &ServerName {
        &self.name
    }

    /// Returns the connection, if it is open.
    pub(crate) fn open(&self) -> Option<Arc<Connection>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that has ended is dropped to close its socket.
        current.take_if(|connection| !connection.is_open());
        current.clone()
    }

    /// Returns the connection. If necessary one caller connects, while the others wait. After a
    /// failure no connection is attempted for a while.
    pub(crate) async fn connection(
        &self,
        config: &Config,
        deadline: CallDeadline,
    ) -> Result<Arc<Connection>, RpcError> {
        if let Some(connection) = self.open() {
            return Ok(connection);
        }
        let connecting = tokio::time::timeout_at(deadline.at, self.connecting.lock()).await;
        let mut failed = connecting
            .map_err(|_| handshake::unreachable(&format!("none in {} ms", deadline.ms)))?;
        if let Some(connection) = self.open() {
            return Ok(connection);
        }
        if self.is_stale.load(Ordering::Relaxed) {
            return Err(handshake::unreachable(
                &"its process has ended, and a later one is at its place",
            ));
        }
        if let Some((at, failure)) = &*failed
            && at.elapsed() < Duration::from_millis(config.failed_server_expiry_ms)
        {
            return Err(failure.clone());
        }
        match handshake::connect(&self.name.host, self.name.port, self.service, config, deadline.at)
            .await
        {
            Ok(connection) => {
                *self.current.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Arc::clone(&connection));
                *failed = None;
                Ok(connection)
            }
            Err(failure) => {
                // A caller that ran out of time proves nothing about the server.
                if Instant::now() < deadline.at {
                    *failed = Some((Instant::now(), failure.clone()));
                }
                Err(failure)
            }
        }
    }

    /// Calls the service. Returns the response message and its cells.
    ///
    /// # Errors
    /// An exception of the server, or the reason why it cannot be called.
    pub(crate) async fn call<C: RpcMethod>(
        &self,
        config: &Config,
        request: &C::Request,
        priority: Option<u32>,
        deadline: CallDeadline,
    ) -> Result<(C::Response, Cells), RpcError> {
        let connection = self.connection(config, deadline).await?;
        connection.call::<C>(request, &[], priority, deadline).await?.response::<C>().await
    }

    /// Returns `true` if the server must be retained when another one becomes known: while it is
    /// connected or referenced. Its process has ended if a later one has its address, even if it
    /// could not report that.
    fn should_retain(self: &Arc<Self>, heard_of: &ServerName, service: Service) -> bool {
        let is_place = service == self.service
            && heard_of.host == self.name.host
            && heard_of.port == self.name.port;
        if is_place && heard_of.start_code > self.name.start_code {
            self.is_stale.store(true, Ordering::Relaxed);
            self.disconnect(&RpcError::lost(format!("{heard_of} has taken its place")));
        }
        self.open().is_some() || Arc::strong_count(self) > 1
    }

    /// Ends the connection, because the server has reported that it stops.
    pub(crate) fn disconnect(&self, why: &RpcError) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(connection) = current {
            connection.end(&RpcError::lost(format!(
                "the server is leaving: {}",
                why.clone().into_error()
            )));
        }
    }
}

impl fmt::Display for ServerConnection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(out)
    }
}

/// Servers in use.
#[derive(Default)]
pub(crate) struct ConnectionPool(Mutex<HashMap<(ServerName, Service), Arc<ServerConnection>>>);

impl ConnectionPool {
    /// Returns the server with that name, shared by all callers.
    pub(crate) fn get(&self, name: &ServerName, service: Service) -> Arc<ServerConnection> {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.clone(), service);
        if let Some(server) = servers.get(&key) {
            return Arc::clone(server);
        }
        servers.retain(|_, server| server.should_retain(name, service));
        let (name, current, connecting) =
            (name.clone(), Mutex::new(None), tokio::sync::Mutex::new(None));
        let server = Arc::new(ServerConnection {
            name,
            service,
            current,
            connecting,
            is_stale: AtomicBool::new(false),
        });
        servers.insert(key, Arc::clone(&server));
        server
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        let servers: Vec<_> = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain()
            .map(|(_, server)| server)
            .collect();
        let closed = RpcError::lost("the client was closed");
        servers.iter().for_each(|server| server.disconnect(&closed));
    }
}
