//! Start of a connection: a socket, six bytes, and a header with the user and the service.

use std::sync::Arc;

use bytes::BytesMut;
use halite_types::Result;
use halite_wire::proto as pb;
use halite_wire::rpc::{Auth, encode_connection};
use halite_wire::service::Service;
use tokio::time::Instant;

use super::{Connection, io};
use crate::config::Config;
use crate::error::RpcError;

/// HBase version whose responses this client supports. From 1.3 on, the cells of a get are sent in
/// the cell block.
const VERSION: (u32, u32) = (2, 6);

/// Connects before `at`. The header is sent with the first call, since it has no response.
pub(super) async fn connect(
    host: &str,
    port: u16,
    service: Service,
    config: &Config,
    at: Instant,
) -> Result<Arc<Connection>, RpcError> {
    let begun = Instant::now();
    let limit = begun + std::time::Duration::from_millis(config.connect_timeout_ms);
    let connecting = tokio::time::timeout_at(limit.min(at), config.connector.connect(host, port));
    let socket = match connecting.await {
        Ok(Ok(socket)) => socket,
        Ok(Err(error)) => return Err(unreachable(&error)),
        Err(_) => return Err(unreachable(&format!("none in {} ms", begun.elapsed().as_millis()))),
    };
    // The client batches calls itself, so the system must not delay them.
    let _ = socket.set_nodelay();
    let mut out = BytesMut::new();
    encode_connection(Auth::Simple, &header(service, config), &mut out)?;
    let (read_half, write_half) = socket.into_split();
    let connection = Arc::new(Connection::new(config, write_half, out));
    tokio::spawn(io::write(Arc::clone(&connection)));
    tokio::spawn(io::read(Arc::clone(&connection), read_half));
    Ok(connection)
}

pub(super) fn unreachable(why: &dyn std::fmt::Display) -> RpcError {
    RpcError::unreachable(format!(
        "no connection: {why}; look whether the server runs and can be reached from here"
    ))
}

fn header(service: Service, config: &Config) -> pb::ConnectionHeader {
    let (major, minor) = VERSION;
    let version = pb::VersionInfo {
        version: format!("{major}.{minor}.0"),
        url: env!("CARGO_PKG_REPOSITORY").to_string(),
        revision: format!("halite-{}", env!("CARGO_PKG_VERSION")),
        user: "halite".to_string(),
        date: String::new(),
        src_checksum: String::new(),
        version_major: Some(major),
        version_minor: Some(minor),
    };
    pb::ConnectionHeader {
        user_info: Some(pb::UserInformation {
            effective_user: config.user.clone(),
            real_user: None,
        }),
        service_name: Some(service.name().to_string()),
        cell_block_codec_class: Some(config.format().codec.class().to_string()),
        cell_block_compressor_class: config
            .compressor
            .map(|compressor| compressor.class().to_string()),
        version_info: Some(version),
        ..pb::ConnectionHeader::default()
    }
}
