//! State shared by all services.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::{Engine, MetaView};
use halite_types::{ReadTier, Result};
use tokio::sync::Semaphore;

use crate::base::buffers::Buffers;
use crate::base::call::Peer;
use crate::base::handler_pool::{HandlerPool, start_pools};
use crate::base::health::HealthMonitor;
use crate::base::identity::{Identity, host_for};
use crate::base::metrics::Metrics;
use crate::base::nonces::NonceManager;
use crate::base::quota::QuotaManager;
use crate::base::shutdown::StopRequest;
use crate::base::slow_calls::SlowCallLog;
use crate::config::{Addresses, Config};
use crate::outside::Machine;

/// State shared by all services.
pub(crate) struct Context {
    /// Network, clock and threads of the server.
    pub(crate) machine: Machine,
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: Config,
    /// Bound addresses.
    pub(crate) addresses: Addresses,
    /// Start time of the server, in milliseconds since 1970.
    pub(crate) start_code: u64,
    /// Cluster id, stored with the data.
    pub(crate) cluster_id: String,
    pub(crate) metrics: Metrics,
    /// Newest slow and large calls.
    pub(crate) slow_calls: Arc<SlowCallLog>,
    /// Health of the store at the last check.
    pub(crate) health: HealthMonitor,
    /// Partially received requests and unsent responses.
    pub(crate) buffers: Arc<Buffers>,
    /// Memory of open scanners.
    pub(crate) scanner_memory: Arc<Buffers>,
    pub(crate) nonces: NonceManager,
    pub(crate) handler_pool: HandlerPool,
    pub(crate) admin_pool: HandlerPool,
    /// Permits for calls that wait for network buffers outside a queue: as many as the handler
    /// queue holds.
    pub(crate) waiting_calls: Arc<Semaphore>,
    /// Quotas in force.
    pub(crate) quota: QuotaManager,
    /// Request of a client that the process stops.
    pub(crate) stop: StopRequest,
}

impl Context {
    /// Returns the context of a server of this engine at these addresses, without sockets.
    ///
    /// # Errors
    /// `Io` if the operating system cannot create threads.
    pub(crate) fn new(
        machine: Machine,
        engine: Arc<Engine>,
        config: Config,
        addresses: Addresses,
    ) -> Result<Self> {
        let (reader_pool, admin_pool) = start_pools(&machine, &config.limits)?;
        Ok(Self {
            cluster_id: engine.id(),
            addresses,
            start_code: engine.now_ms(),
            metrics: Metrics::default(),
            slow_calls: Arc::new(SlowCallLog::new(config.slow_calls)),
            health: HealthMonitor::new(&engine.health()),
            buffers: Buffers::new(&config.limits),
            scanner_memory: Buffers::for_scanners(&config.limits),
            nonces: NonceManager::new(config.limits.nonce_grace_period_ms),
            handler_pool: reader_pool,
            admin_pool,
            waiting_calls: Arc::new(Semaphore::new(
                config.limits.max_call_queue_length.min(Semaphore::MAX_PERMITS),
            )),
            quota: QuotaManager::default(),
            stop: StopRequest::default(),
            machine,
            engine,
            config,
        })
    }

    /// Returns `hbase:meta` as this client sees it.
    ///
    /// # Errors
    /// `WouldBlock` with [`ReadTier::Memory`], or a failed read of the data that clients have
    /// written there.
    pub(crate) fn meta(&self, peer: &Peer, tier: ReadTier) -> Result<MetaView> {
        self.engine.meta(&peer.server, tier)
    }

    /// Returns the identity of this server for a client that has connected to `local`.
    pub(crate) fn identity(&self, local: SocketAddr) -> Identity {
        Identity {
            host: host_for(&self.config.advertise_host, local),
            master_port: self.addresses.master.port(),
            regionserver_port: self.addresses.regionserver.port(),
            start_code: self.start_code,
        }
    }
}
