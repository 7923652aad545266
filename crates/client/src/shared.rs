//! What everything of one client shares.

use halite_types::Result;

use crate::config::Config;
use crate::connection::Servers;
use crate::deadline::Deadline;
use crate::meta::Locations;
use crate::nonce::Nonces;
use crate::registry::Registry;
use crate::runtime::Runtime;
use crate::scanner::Leases;

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) servers: Servers,
    pub(crate) locations: Locations,
    pub(crate) nonces: Nonces,
    /// The master that was active when it was asked for last.
    pub(crate) master: crate::admin::Master,
    pub(crate) leases: Leases,
    pub(crate) runtime: Runtime,
}

impl Shared {
    pub(crate) fn new(config: Config, runtime: Runtime) -> Result<Self> {
        config.check()?;
        let registry = Registry::new(&config)?;
        Ok(Self {
            config,
            registry,
            servers: Servers::default(),
            locations: Locations::default(),
            nonces: Nonces::default(),
            master: crate::admin::Master::default(),
            leases: Leases::default(),
            runtime,
        })
    }

    /// For an operation that begins now.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::new(self.config.operation_timeout_ms, self.config.rpc_timeout())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.servers.close();
    }
}
