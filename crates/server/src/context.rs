//! Shared state of the server.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::{Engine, MetaView};
use halite_types::{ReadTier, Result};
use tokio::sync::Semaphore;

use crate::admin_service::recent_compactions::RecentCompactions;
use crate::buffers::Buffers;
use crate::call::Peer;
use crate::config::Config;
use crate::dispatch;
use crate::handler_pool::HandlerPool;
use crate::health::HealthMonitor;
use crate::identity::{Identity, host_for};
use crate::master_service::{self, Master};
use crate::metrics::Metrics;
use crate::nonces::NonceManager;
use crate::outside::Machine;
use crate::quota::QuotaManager;
use crate::scanners::ScannerRegistry;
use crate::server::Addresses;

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
    /// Health of the store at the last check.
    pub(crate) health: HealthMonitor,
    /// Partially received requests and unsent responses.
    pub(crate) buffers: Arc<Buffers>,
    /// Memory of open scanners.
    pub(crate) scanner_memory: Arc<Buffers>,
    pub(crate) scanners: ScannerRegistry,
    pub(crate) nonces: NonceManager,
    pub(crate) handler_pool: HandlerPool,
    pub(crate) admin_pool: HandlerPool,
    /// Permits for calls that wait for network buffers outside a queue: as many as the handler
    /// queue holds.
    pub(crate) waiting_calls: Arc<Semaphore>,
    pub(crate) recent_compactions: RecentCompactions,
    /// Quotas in force.
    pub(crate) quota: QuotaManager,
    /// State of the master: procedures, switches.
    pub(crate) master: Master,
}

impl Context {
    /// Returns the context of a server of this engine at these addresses, without sockets.
    ///
    /// # Errors
    /// `Io` if the operating system cannot create threads, `Stopped` if the store accepts no writes
    /// until it is reopened.
    pub(crate) fn new(
        machine: Machine,
        engine: Arc<Engine>,
        config: Config,
        addresses: Addresses,
    ) -> Result<Self> {
        let (reader_pool, admin_pool) = dispatch::start_pools(&machine, &config.limits)?;
        let memory_bytes = engine
            .options()
            .global_memstore_bytes
            .saturating_add(engine.options().block_cache_bytes);
        let context = Self {
            cluster_id: engine.id(),
            master: Master::new(&machine, &engine, &config)?,
            addresses,
            start_code: engine.now_ms(),
            metrics: Metrics::default(),
            health: HealthMonitor::new(&engine.health()),
            buffers: Buffers::new(&config.limits),
            scanner_memory: Buffers::for_scanners(&config.limits),
            scanners: ScannerRegistry::new(&config.limits, memory_bytes),
            nonces: NonceManager::new(
                config.limits.nonce_grace_period_ms,
                &engine.take_replayed_nonces(),
            ),
            handler_pool: reader_pool,
            admin_pool,
            waiting_calls: Arc::new(Semaphore::new(
                config.limits.max_call_queue_length.min(Semaphore::MAX_PERMITS),
            )),
            recent_compactions: RecentCompactions::default(),
            quota: QuotaManager::default(),
            machine,
            engine,
            config,
        };
        if let Err(error) = master_service::put_quotas_in_force(&context) {
            tracing::error!(
                "quotas are not in force, since hbase:quota cannot be read: {error}; enable the table if it is disabled, and if it has been altered \
                 disable and drop it; the next start reads it, or makes it anew"
            );
        }
        Ok(context)
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
