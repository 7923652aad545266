//! What everything in the server shares.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::{Engine, MetaView};

use crate::call::Peer;
use crate::config::Config;
use crate::identity::{Identity, host_for};
use crate::lanes::Pool;
use crate::master_service::Master;
use crate::metrics::Metrics;
use crate::nonces::Nonces;
use crate::scanners::Scanners;
use crate::server::Addresses;

pub(crate) struct Context {
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: Config,
    /// The ports as bound.
    pub(crate) addresses: Addresses,
    /// When the server started, in milliseconds since 1970.
    pub(crate) start_code: u64,
    /// The id that clients may ask for; it stays with the data.
    pub(crate) cluster_id: String,
    pub(crate) metrics: Metrics,
    pub(crate) scanners: Scanners,
    pub(crate) nonces: Nonces,
    pub(crate) reader_pool: Pool,
    pub(crate) admin_pool: Pool,
    /// What the master keeps: procedures, switches.
    pub(crate) master: Master,
}

impl Context {
    /// `hbase:meta` as this client is told it.
    pub(crate) fn meta(&self, peer: &Peer) -> MetaView {
        self.engine.meta(&peer.server)
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
