//! What everything in the server shares.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::{Engine, MetaView};
use halite_types::{Result, Tier};
use tokio::sync::Semaphore;

use crate::admin_service::requested::RequestedCompactions;
use crate::buffers::Buffers;
use crate::call::Peer;
use crate::config::Config;
use crate::dispatch;
use crate::health::Watched;
use crate::identity::{Identity, host_for};
use crate::lanes::Pool;
use crate::master_service::{self, Master};
use crate::metrics::Metrics;
use crate::nonces::Nonces;
use crate::outside::Machine;
use crate::quota::Enforcement;
use crate::scanners::Scanners;
use crate::server::Addresses;

pub(crate) struct Context {
    /// Whose network and threads the server has.
    pub(crate) machine: Machine,
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: Config,
    /// The ports as bound.
    pub(crate) addresses: Addresses,
    /// When the server started, in milliseconds since 1970.
    pub(crate) start_code: u64,
    /// The id that clients may ask for; it stays with the data.
    pub(crate) cluster_id: String,
    pub(crate) metrics: Metrics,
    /// Whether the store took writes a moment ago.
    pub(crate) health: Watched,
    /// Partially received requests and unsent responses.
    pub(crate) buffers: Arc<Buffers>,
    /// Memory of open scanners.
    pub(crate) scanner_memory: Arc<Buffers>,
    pub(crate) scanners: Scanners,
    pub(crate) nonces: Nonces,
    pub(crate) reader_pool: Pool,
    pub(crate) admin_pool: Pool,
    /// Calls that wait for network buffers, in no queue: as many as the queue of the readers holds.
    pub(crate) waiting_calls: Arc<Semaphore>,
    pub(crate) requested_compactions: RequestedCompactions,
    /// The quotas in force.
    pub(crate) quota: Enforcement,
    /// What the master keeps: procedures, switches.
    pub(crate) master: Master,
}

impl Context {
    /// A server of this engine at these addresses, without sockets.
    ///
    /// # Errors
    /// `Io` if the operating system gives no threads, `Stopped` if the store takes no writes until it is opened again.
    pub(crate) fn new(machine: Machine, engine: Arc<Engine>, config: Config, addresses: Addresses) -> Result<Self> {
        let (reader_pool, admin_pool) = dispatch::start_pools(&machine, &config.limits)?;
        let memory_bytes = engine.options().memstore_total_bytes.saturating_add(engine.options().block_cache_bytes);
        let context = Self {
            cluster_id: engine.id(),
            master: Master::new(&machine, &engine, &config)?,
            addresses,
            start_code: engine.now_ms(),
            metrics: Metrics::default(),
            health: Watched::new(&engine.health()),
            buffers: Buffers::new(&config.limits),
            scanner_memory: Buffers::for_scanners(&config.limits),
            scanners: Scanners::new(&config.limits, memory_bytes),
            nonces: Nonces::new(config.limits.nonce_ms, &engine.take_replayed_nonces()),
            reader_pool,
            admin_pool,
            waiting_calls: Arc::new(Semaphore::new(config.limits.reader_queue_max.min(Semaphore::MAX_PERMITS))),
            requested_compactions: RequestedCompactions::default(),
            quota: Enforcement::default(),
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

    /// `hbase:meta` as this client is told it.
    ///
    /// # Errors
    /// `NeedsIo` with [`Tier::Memory`], or a failed read, of what clients have written there.
    pub(crate) fn meta(&self, peer: &Peer, tier: Tier) -> Result<MetaView> {
        self.engine.meta(&peer.server, tier)
    }

    /// Who this server is to a client that has connected to `local`.
    pub(crate) fn identity(&self, local: SocketAddr) -> Identity {
        Identity {
            host: host_for(&self.config.advertise, local),
            master_port: self.addresses.master.port(),
            region_port: self.addresses.region.port(),
            start_code: self.start_code,
        }
    }
}
