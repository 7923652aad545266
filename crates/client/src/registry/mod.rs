//! Who knows where the cluster's servers are: its ZooKeeper, or any of its servers.

mod rpc;
mod zookeeper;

use std::time::Duration;

use halite_types::Result;
use halite_wire::convert::server::ServerName;
use tokio::time::Instant;

use crate::config::{Address, Config, Lookup};
use crate::connection::Servers;
use crate::deadline::CallDeadline;
use crate::failure::Failure;

/// The places to ask, in the order in which they are asked.
pub(crate) struct Registry {
    addresses: Vec<Address>,
    /// The cluster's znode; `None` if servers are asked.
    znode_parent: Option<String>,
}

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    ClusterId,
    Master,
    MetaServer,
}

/// What is answered.
enum Knowledge {
    ClusterId(String),
    Server(ServerName),
}

impl Registry {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let mut addresses = config.addresses()?;
        // Clients begin at different ones, and share the load.
        fastrand::shuffle(&mut addresses);
        let znode_parent = match &config.lookup {
            Lookup::ZooKeeper { znode_parent, .. } => Some(znode_parent.clone()),
            Lookup::Rpc { .. } => None,
        };
        Ok(Self { addresses, znode_parent })
    }

    /// The id of the cluster.
    pub(crate) async fn cluster_id(&self, config: &Config, servers: &Servers) -> Result<String, Failure> {
        match self.ask(Question::ClusterId, config, servers).await? {
            Knowledge::ClusterId(id) => Ok(id),
            Knowledge::Server(_) => Err(self.odd()),
        }
    }

    /// The active master.
    pub(crate) async fn master(&self, config: &Config, servers: &Servers) -> Result<ServerName, Failure> {
        self.server(Question::Master, config, servers).await
    }

    /// The server of `hbase:meta`.
    pub(crate) async fn meta_server(&self, config: &Config, servers: &Servers) -> Result<ServerName, Failure> {
        self.server(Question::MetaServer, config, servers).await
    }

    async fn server(&self, question: Question, config: &Config, servers: &Servers) -> Result<ServerName, Failure> {
        match self.ask(question, config, servers).await? {
            Knowledge::Server(server) => Ok(server),
            Knowledge::ClusterId(_) => Err(self.odd()),
        }
    }

    fn odd(&self) -> Failure {
        Failure::lost("an answer to another question came").at(self)
    }

    /// Asks one after the other until one answers.
    async fn ask(&self, question: Question, config: &Config, servers: &Servers) -> Result<Knowledge, Failure> {
        let mut last = Failure::unreachable("nobody was asked");
        for address in &self.addresses {
            let limit_ms = config.connect_timeout_ms.min(config.rpc_timeout_ms);
            let deadline = CallDeadline { at: Instant::now() + Duration::from_millis(limit_ms), ms: limit_ms };
            let asked = match &self.znode_parent {
                Some(parent) => zookeeper::ask(address, parent, question, deadline).await,
                None => rpc::ask(address, question, config, servers, deadline).await,
            };
            match asked {
                Ok(knowledge) => return Ok(knowledge),
                Err(failure) => last = failure,
            }
        }
        Err(last.at(self))
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
