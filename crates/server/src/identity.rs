//! Who a server says it is to one client.

use std::net::{IpAddr, SocketAddr};

use halite_engine::ServerIdentity;
use halite_wire::proto as pb;

use crate::config::Advertise;

/// The names of the two servers of this process, the same in everything one client is told: clients compare them as a
/// whole, host, port and start code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The host to connect to.
    pub(crate) host: String,
    pub(crate) master_port: u16,
    pub(crate) region_port: u16,
    /// When the process started, in milliseconds since 1970: a process that starts anew is another server.
    pub(crate) start_code: u64,
}

impl Identity {
    pub(crate) fn region_server(&self) -> pb::ServerName {
        self.name(self.region_port)
    }

    pub(crate) fn master(&self) -> pb::ServerName {
        self.name(self.master_port)
    }

    fn name(&self, port: u16) -> pb::ServerName {
        pb::ServerName { host_name: self.host.clone(), port: Some(u32::from(port)), start_code: Some(self.start_code) }
    }

    /// The region server as `hbase:meta` tells it.
    pub(crate) fn region_server_identity(&self) -> ServerIdentity {
        ServerIdentity { host: self.host.clone(), port: self.region_port, start_code: self.start_code }
    }

    /// The region server as `host,port,startcode`, as HBase prints it.
    pub(crate) fn region_server_text(&self) -> String {
        format!("{},{},{}", self.host, self.region_port, self.start_code)
    }
}

/// The host for a client that has connected to `local`.
///
/// An address needs no name: it is as good to every client, and a name may resolve to another address on the client's
/// machine. Only the IPv6 loopback has a name, because Java's `ServerName` takes a colon for the end of the host.
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
    fn a_client_is_told_the_address_it_connected_to_unless_a_host_is_given() {
        let told = |advertise: &Advertise, local: &str| host_for(advertise, local.parse().unwrap());
        assert_eq!(told(&Advertise::Auto, "127.0.0.1:16020"), "127.0.0.1");
        assert_eq!(told(&Advertise::Auto, "10.1.2.3:16020"), "10.1.2.3");
        assert_eq!(told(&Advertise::Auto, "[::ffff:10.1.2.3]:16020"), "10.1.2.3");
        assert_eq!(told(&Advertise::Auto, "[::1]:16020"), "localhost");
        assert_eq!(told(&Advertise::Host("db.example".to_string()), "127.0.0.1:16020"), "db.example");
    }
}
