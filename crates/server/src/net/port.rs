//! The two RPC ports and the services on them.

use halite_wire::service::Service;

/// Port of a connection, which determines the available services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Master,
    RegionServer,
}

impl Port {
    /// Returns `true` if the port serves the service. As in HBase, a master also serves the
    /// services of a region server.
    pub(super) fn serves(self, service: Service) -> bool {
        match service {
            Service::Client | Service::Admin | Service::ClientMeta | Service::BootstrapNode => true,
            Service::Master | Service::Hbck | Service::Lock => self == Self::Master,
            _ => false,
        }
    }
}
