//! Who knows where the cluster's servers are: its ZooKeeper, or any of its servers.

mod rpc;
mod zookeeper;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use halite_types::Result;
use halite_wire::convert::server::ServerName;

use crate::config::{Address, Config, Lookup};
use crate::connection::Servers;
use crate::deadline::Deadline;
use crate::failure::Failure;

/// The places to ask, in the order in which they are asked.
pub(crate) struct Registry {
    addresses: Vec<Address>,
    /// The cluster's znode; `None` if servers are asked.
    znode_parent: Option<String>,
    /// The place of the one that answered last.
    first: AtomicUsize,
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
        Ok(Self { addresses, znode_parent, first: AtomicUsize::new(0) })
    }

    /// The id of the cluster.
    pub(crate) async fn cluster_id(&self, config: &Config, servers: &Servers, deadline: &Deadline) -> Result<String, Failure> {
        match self.ask(Question::ClusterId, config, servers, deadline).await? {
            Knowledge::ClusterId(id) => Ok(id),
            Knowledge::Server(_) => Err(self.odd()),
        }
    }

    /// The active master.
    pub(crate) async fn master(&self, config: &Config, servers: &Servers, deadline: &Deadline) -> Result<ServerName, Failure> {
        self.server(Question::Master, config, servers, deadline).await
    }

    /// The server of `hbase:meta`.
    pub(crate) async fn meta_server(&self, config: &Config, servers: &Servers, deadline: &Deadline) -> Result<ServerName, Failure> {
        self.server(Question::MetaServer, config, servers, deadline).await
    }

    async fn server(&self, question: Question, config: &Config, servers: &Servers, deadline: &Deadline) -> Result<ServerName, Failure> {
        match self.ask(question, config, servers, deadline).await? {
            Knowledge::Server(server) => Ok(server),
            Knowledge::ClusterId(_) => Err(self.odd()),
        }
    }

    fn odd(&self) -> Failure {
        Failure::lost("an answer to another question came").at(self)
    }

    /// Asks one after the other until one answers, first the one that answered last. Each gets its share of the time that is left,
    /// so that one that is silent does not keep the others from being asked.
    async fn ask(&self, question: Question, config: &Config, servers: &Servers, deadline: &Deadline) -> Result<Knowledge, Failure> {
        let mut last = Failure::unreachable("nobody was asked");
        let (count, first) = (self.addresses.len(), self.first.load(Ordering::Relaxed));
        for (tried, (place, address)) in self.addresses.iter().enumerate().cycle().skip(first).take(count).enumerate() {
            let share = deadline.share(count - tried).min(Duration::from_millis(config.connect_timeout_ms));
            let limit = deadline.call_within(share);
            let asked = match &self.znode_parent {
                Some(parent) => zookeeper::ask(&config.door, address, parent, question, limit).await,
                None => rpc::ask(address, question, config, servers, limit).await,
            };
            match asked {
                Ok(knowledge) => {
                    self.first.store(place, Ordering::Relaxed);
                    return Ok(knowledge);
                }
                Err(failure) => last = failure,
            }
        }
        Err(last.under(self))
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
