//! `ServerName`: address and start time of a server.

use halite_types::{Error, Result, ServerName};

use crate::proto as pb;

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
    fn server_message_with_invalid_port_is_rejected() {
        let message = pb::ServerName { port: Some(65_536), ..pb::ServerName::default() };
        assert!(from_proto(&message).is_err());
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
