//! The client of one cluster.

use std::sync::Arc;

use halite_types::{Admin, Cluster, Result, Table, TableName};

use crate::admin::RemoteAdmin;
use crate::config::Config;
use crate::failure::Failure;
use crate::net::{Door, Network};
use crate::runtime::Runtime;
use crate::shared::Shared;
use crate::table::RemoteTable;

/// A cluster elsewhere. Cheap to clone; connections, and what is known of regions, belong to all clones. When the last one
/// and all its tables are gone, the connections end.
#[derive(Clone)]
pub struct RemoteCluster {
    shared: Arc<Shared>,
    id: Arc<str>,
}

/// Connects to the cluster at `zk://host:port[,host:port...][/znode]` or `rpc://host:port[,host:port...]`, or to the one that
/// `site:PATH`, an `hbase-site.xml`, tells of.
///
/// Inside a tokio runtime the client lives on it; elsewhere it starts a thread of its own, and its futures may be polled
/// anywhere, as by [`halite_types::block_on`].
///
/// # Errors
/// `InvalidRequest` for another text or a znode without a cluster; `Io` if nobody there answers in time; `Unsupported` for a
/// cluster that wants Kerberos or TLS.
pub async fn connect(uri: &str) -> Result<RemoteCluster> {
    connect_with(Config::from_uri(uri)?).await
}

/// Connects to the cluster of a configuration.
///
/// # Errors
/// As [`connect`], and `InvalidRequest` for numbers that make no sense.
pub async fn connect_with(config: Config) -> Result<RemoteCluster> {
    let shared = Arc::new(Shared::new(config, Runtime::current_or_own()?)?);
    let asked = async { shared.registry.cluster_id(&shared.config, &shared.servers, &shared.deadline()).await.map_err(Failure::into_error) };
    let id = shared.runtime.run(asked).await?.into();
    Ok(RemoteCluster { shared, id })
}

/// The same over another network than that of the operating system, such as a simulation has. The runtime is the caller's.
///
/// # Errors
/// As [`connect_with`].
pub async fn connect_over(network: Arc<dyn Network>, config: Config) -> Result<RemoteCluster> {
    connect_with(Config { door: Door::Given(network), ..config }).await
}

impl RemoteCluster {
    /// The cluster's id, which is the same for as long as its data lives.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Cluster for RemoteCluster {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(RemoteTable::new(Arc::clone(&self.shared), name))
    }

    fn admin(&self) -> Arc<dyn Admin> {
        Arc::new(RemoteAdmin::new(Arc::clone(&self.shared)))
    }
}

impl std::fmt::Debug for RemoteCluster {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RemoteCluster({}, {})", self.id, self.shared.registry)
    }
}
