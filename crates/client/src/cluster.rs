//! Client of one cluster.

use std::sync::Arc;

use halite_types::{Admin, Cluster, CompactionKind, Result, ServerName, Table, TableName};

use crate::admin::{RemoteAdmin, single_region};
use crate::config::Config;
use crate::error::RpcError;
use crate::net::{Connector, Network};
use crate::runtime::Runtime;
use crate::shared::ClientInner;
use crate::table::RemoteTable;

/// Remote cluster. Cheap to clone; all clones share connections and cached region locations. The
/// connections close when the last clone and all its tables are dropped.
#[derive(Clone)]
pub struct RemoteCluster {
    shared: Arc<ClientInner>,
    id: Arc<str>,
}

/// Connects to the cluster at `zk://host:port[,host:port...][/znode]` or
/// `rpc://host:port[,host:port...]`, or to the one in the `hbase-site.xml` at `site:PATH`.
///
/// Inside a tokio runtime the client runs on it. Otherwise it starts a dedicated thread, and its
/// futures may be polled anywhere, as by [`halite_types::block_on`].
///
/// # Errors
/// `InvalidRequest` for another URI or a znode without a cluster; `Io` if no server answers in
/// time; `Unsupported` for a cluster that requires Kerberos or TLS.
pub async fn connect(uri: &str) -> Result<RemoteCluster> {
    connect_with(Config::from_uri(uri)?).await
}

/// Connects to the cluster of a configuration.
///
/// # Errors
/// As [`connect`], and `InvalidRequest` for invalid numbers.
pub async fn connect_with(config: Config) -> Result<RemoteCluster> {
    let shared = Arc::new(ClientInner::new(config, Runtime::current_or_own()?)?);
    let request = async {
        shared
            .registry
            .cluster_id(&shared.config, &shared.connections, &shared.deadline())
            .await
            .map_err(RpcError::into_error)
    };
    let id = shared.runtime.run(request).await?.into();
    Ok(RemoteCluster { shared, id })
}

/// Connects over a custom network, such as a simulated one. The runtime is the caller's.
///
/// # Errors
/// As [`connect_with`].
pub async fn connect_over(network: Arc<dyn Network>, config: Config) -> Result<RemoteCluster> {
    connect_with(Config { connector: Connector::Custom(network), ..config }).await
}

impl RemoteCluster {
    /// Returns the cluster's id, which stays the same for the lifetime of its data.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Flushes all families of a region.
    ///
    /// # Errors
    /// `NoSuchRegion`; `Io` if a server does not answer in time.
    pub async fn flush_region(&self, encoded_name: &str) -> Result<()> {
        self.shared.runtime.run(single_region::flush(&self.shared, encoded_name)).await
    }

    /// Compacts all families of a region and returns after completion.
    ///
    /// # Errors
    /// `NoSuchRegion`; `Io` if a server does not answer in time, or if the compaction has not ended
    /// in the time of an operation, in which case it continues.
    pub async fn compact_region(&self, encoded_name: &str, kind: CompactionKind) -> Result<()> {
        self.shared.runtime.run(single_region::compact(&self.shared, encoded_name, kind)).await
    }

    /// Moves a region to a server and returns when it is open there.
    ///
    /// # Errors
    /// `NoSuchRegion`; the master's reason if it does not move the region; `Io` if a server does
    /// not answer in time.
    pub async fn move_region(&self, encoded_name: &str, server: &ServerName) -> Result<()> {
        self.shared.runtime.run(single_region::move_to(&self.shared, encoded_name, server)).await
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
