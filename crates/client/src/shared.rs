//! State shared by all parts of one client.

use std::sync::atomic::AtomicBool;

use halite_types::Result;

use crate::config::Config;
use crate::connection::ConnectionPool;
use crate::deadline::Deadline;
use crate::meta::MetaCache;
use crate::nonce::NonceGenerator;
use crate::registry::Registry;
use crate::runtime::Runtime;
use crate::scanner::LeaseRenewer;

pub(crate) struct ClientInner {
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) connections: ConnectionPool,
    pub(crate) meta_cache: MetaCache,
    pub(crate) nonces: NonceGenerator,
    /// Master that was active at the last lookup.
    pub(crate) master: crate::admin::ActiveMaster,
    pub(crate) lease_renewer: LeaseRenewer,
    pub(crate) runtime: Runtime,
    /// The regions of the cluster have not Halite's endpoint of aggregates.
    pub(crate) lacks_aggregates: AtomicBool,
}

impl ClientInner {
    pub(crate) fn new(config: Config, runtime: Runtime) -> Result<Self> {
        config.check()?;
        let registry = Registry::new(&config)?;
        Ok(Self {
            config,
            registry,
            connections: ConnectionPool::default(),
            meta_cache: MetaCache::default(),
            nonces: NonceGenerator::default(),
            master: crate::admin::ActiveMaster::default(),
            lease_renewer: LeaseRenewer::default(),
            runtime,
            lacks_aggregates: AtomicBool::new(false),
        })
    }

    /// Returns the deadline of an operation that begins now.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::new(self.config.operation_timeout_ms, self.config.rpc_timeout())
    }
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.connections.close();
    }
}
