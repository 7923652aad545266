//! `ServerName`: address and start time of a server.

use std::fmt;
use std::str::FromStr;

use halite_types::{Error, Result};

use crate::proto as pb;

/// Server of a cluster. Its text form is HBase's: `host,port,startcode`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName {
    /// Host name or address; clients connect to it unchanged.
    pub host: String,
    /// Port of its RPC endpoint.
    pub port: u16,
    /// Start time in milliseconds since the epoch: the same address with another start time is
    /// another server.
    pub start_code: u64,
}

impl ServerName {
    /// Returns `host:port`, the format of `info:server` in meta.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{},{},{}", self.host, self.port, self.start_code)
    }
}

impl FromStr for ServerName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<_> = text.rsplitn(3, ',').collect();
        if let [start_code, port, host] = parts[..]
            && let (Ok(start_code), Ok(port), false) =
                (start_code.parse(), port.parse(), host.is_empty())
        {
            return Ok(Self { host: host.to_string(), port, start_code });
        }
        Err(Error::invalid(format!("invalid server name {text:?}: expected host,port,startcode")))
    }
}

impl From<&ServerName> for pb::ServerName {
    fn from(server: &ServerName) -> Self {
        Self {
            host_name: server.host.clone(),
            port: Some(u32::from(server.port)),
            start_code: Some(server.start_code),
        }
    }
}

/// Returns the server of a message. A missing port or start code is 0.
///
/// # Errors
/// `InvalidRequest` for an invalid port.
pub fn from_proto(proto: &pb::ServerName) -> Result<ServerName> {
    let port = u16::try_from(proto.port()).map_err(|_| {
        Error::invalid(format!("server {}: invalid port {}", proto.host_name, proto.port()))
    })?;
    Ok(ServerName { host: proto.host_name.clone(), port, start_code: proto.start_code() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_server_name_is_rejected() {
        for text in ["", "a", "a,1", ",1,2", "a,70000,2", "a,1,-1", "a,1,x"] {
            assert!(text.parse::<ServerName>().is_err(), "{text}");
        }
        assert!(
            from_proto(&pb::ServerName { port: Some(65_536), ..pb::ServerName::default() })
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn server_name_round_trips_through_text_and_message(host in "[a-z0-9.:-]{1,30}", port in any::<u16>(), start_code in any::<u64>()) {
            let server = ServerName { host, port, start_code };
            prop_assert_eq!(&server.to_string().parse::<ServerName>().unwrap(), &server);
            prop_assert_eq!(&from_proto(&pb::ServerName::from(&server)).unwrap(), &server);
        }
    }
}
