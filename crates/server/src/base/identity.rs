//! Identity of the server as returned to one client.

use std::net::{IpAddr, SocketAddr};

use halite_types::ServerName;
use halite_wire::proto as pb;

use crate::config::Advertise;

/// Names of the two servers of this process, equal in everything that one client receives: clients
/// compare host, port and start code together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Host to connect to.
    pub(crate) host: String,
    pub(crate) master_port: u16,
    pub(crate) regionserver_port: u16,
    /// Start time of the process, in milliseconds since 1970. A restarted process is another
    /// server.
    pub(crate) start_code: u64,
}

impl Identity {
    pub(crate) fn region_server(&self) -> pb::ServerName {
        pb::ServerName::from(&self.region_server_name())
    }

    pub(crate) fn master(&self) -> pb::ServerName {
        pb::ServerName::from(&self.name(self.master_port))
    }

    fn name(&self, port: u16) -> ServerName {
        ServerName { host: self.host.clone(), port, start_code: self.start_code }
    }

    /// Returns the region server name as `hbase:meta` contains it.
    pub(crate) fn region_server_name(&self) -> ServerName {
        self.name(self.regionserver_port)
    }

    /// Returns the region server name as `host,port,startcode`, HBase's text form.
    pub(crate) fn region_server_text(&self) -> String {
        self.region_server_name().to_string()
    }
}

/// Returns the host for a client that has connected to `local`.
///
/// An IP address is better than a host name. It works for every client, while a name may resolve to
/// another address on the client's machine. Only the IPv6 loopback is returned as a name, because
/// Java's `ServerName` parses a colon as the end of the host.
pub(crate) fn host_for(advertise: &Advertise, local: SocketAddr) -> String {
    match advertise {
        Advertise::Host(host) => host.clone(),
        Advertise::Auto => match local.ip().to_canonical() {
            IpAddr::V6(address) if address.is_loopback() => "localhost".to_string(),
            address => address.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connected_address_is_advertised_unless_host_is_set() {
        let host = |advertise: &Advertise, local: &str| host_for(advertise, local.parse().unwrap());
        assert_eq!(host(&Advertise::Auto, "127.0.0.1:16020"), "127.0.0.1");
        assert_eq!(host(&Advertise::Auto, "10.1.2.3:16020"), "10.1.2.3");
        assert_eq!(host(&Advertise::Auto, "[::ffff:10.1.2.3]:16020"), "10.1.2.3");
        assert_eq!(host(&Advertise::Auto, "[::1]:16020"), "localhost");
        assert_eq!(
            host(&Advertise::Host("db.example".to_string()), "127.0.0.1:16020"),
            "db.example"
        );
    }
}
