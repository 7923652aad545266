//! What everything in the server shares.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_engine::Engine;

use crate::config::Config;
use crate::identity::{Identity, host_for};
use crate::master_service::Master;
use crate::metrics::Metrics;
use crate::server::Addresses;

pub(crate) struct Context {
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: Config,
    /// The ports as bound.
    pub(crate) addresses: Addresses,
    /// When the server started, in milliseconds since 1970.
    pub(crate) start_code: u64,
    pub(crate) metrics: Metrics,
    /// What the master keeps: procedures, switches.
    pub(crate) master: Master,
}

impl Context {
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
