//! Registry that locates the cluster's servers: its ZooKeeper, or any of its servers.

mod rpc;
mod zookeeper;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use halite_types::{Result, ServerName};

use crate::config::{Address, Config, RegistryKind};
use crate::connection::ConnectionPool;
use crate::deadline::Deadline;
use crate::error::RpcError;

/// Addresses of the registry, in the order in which they are queried.
pub(crate) struct Registry {
    addresses: Vec<Address>,
    /// Znode of the cluster; `None` if servers are queried.
    znode_parent: Option<String>,
    /// Index of the address that answered last.
    first: AtomicUsize,
}

/// Query to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegistryQuery {
    ClusterId,
    Master,
    MetaServer,
}

/// Response of the registry.
enum RegistryResponse {
    ClusterId(String),
    Server(ServerName),
}

impl Registry {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let mut addresses = config.addresses()?;
        // Clients begin at different addresses, to distribute the load.
        fastrand::shuffle(&mut addresses);
        let znode_parent = match &config.registry {
            RegistryKind::ZooKeeper { znode_parent, .. } => Some(znode_parent.clone()),
            RegistryKind::Rpc { .. } => None,
        };
        Ok(Self { addresses, znode_parent, first: AtomicUsize::new(0) })
    }

    /// Returns the id of the cluster.
    pub(crate) async fn cluster_id(
        &self,
        config: &Config,
        servers: &ConnectionPool,
        deadline: &Deadline,
    ) -> Result<String, RpcError> {
        match self.query(RegistryQuery::ClusterId, config, servers, deadline).await? {
            RegistryResponse::ClusterId(id) => Ok(id),
            RegistryResponse::Server(_) => Err(self.unexpected_response()),
        }
    }

    /// Returns the active master.
    pub(crate) async fn master(
        &self,
        config: &Config,
        servers: &ConnectionPool,
        deadline: &Deadline,
    ) -> Result<ServerName, RpcError> {
        self.server(RegistryQuery::Master, config, servers, deadline).await
    }

    /// Returns the server of `hbase:meta`.
    pub(crate) async fn meta_server(
        &self,
        config: &Config,
        servers: &ConnectionPool,
        deadline: &Deadline,
    ) -> Result<ServerName, RpcError> {
        self.server(RegistryQuery::MetaServer, config, servers, deadline).await
    }

    async fn server(
        &self,
        question: RegistryQuery,
        config: &Config,
        servers: &ConnectionPool,
        deadline: &Deadline,
    ) -> Result<ServerName, RpcError> {
        match self.query(question, config, servers, deadline).await? {
            RegistryResponse::Server(server) => Ok(server),
            RegistryResponse::ClusterId(_) => Err(self.unexpected_response()),
        }
    }

    fn unexpected_response(&self) -> RpcError {
        RpcError::lost("an answer to another question came").at(self)
    }

    /// Queries the addresses in turn until one answers, starting with the one that answered last.
    /// Each receives an equal share of the remaining time, so that an unresponsive one does not
    /// prevent queries to the others.
    async fn query(
        &self,
        question: RegistryQuery,
        config: &Config,
        servers: &ConnectionPool,
        deadline: &Deadline,
    ) -> Result<RegistryResponse, RpcError> {
        let mut last = RpcError::unreachable("no server was asked");
        let (count, first) = (self.addresses.len(), self.first.load(Ordering::Relaxed));
        for (tried, (place, address)) in
            self.addresses.iter().enumerate().cycle().skip(first).take(count).enumerate()
        {
            let share =
                deadline.share(count - tried).min(Duration::from_millis(config.connect_timeout_ms));
            let limit = deadline.call_within(share);
            let response = match &self.znode_parent {
                Some(parent) => {
                    zookeeper::query(&config.connector, address, parent, question, limit).await
                }
                None => rpc::query(address, question, config, servers, limit).await,
            };
            match response {
                Ok(knowledge) => {
                    self.first.store(place, Ordering::Relaxed);
                    return Ok(knowledge);
                }
                Err(failure) => last = failure,
            }
        }
        Err(last.with_context(self))
    }
}

impl std::fmt::Display for Registry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        match &self.znode_parent {
            Some(parent) => write!(out, "the cluster at zk://{}{parent}", places.join(",")),
            None => write!(out, "the cluster at rpc://{}", places.join(",")),
        }
    }
}
