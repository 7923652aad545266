//! Registry queries to ZooKeeper: each uses a separate session, since they are rare.

use bytes::{Bytes, BytesMut};
use halite_types::{Error, Result};
use halite_wire::convert::server;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::zk::{
    ConnectRequest, ConnectResponse, ErrorCode, PacketStatus, Request, ServerPacket, decode_reply,
    encode_request, next_packet, znode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{RegistryQuery, RegistryResponse};
use crate::config::Address;
use crate::deadline::CallDeadline;
use crate::error::RpcError;
use crate::net::{Connector, Stream};

/// Session timeout in milliseconds. The session ends long before.
const SESSION_MS: i32 = 30_000;
const XID: i32 = 1;
/// State of a region that is served (`RegionState.State.OPEN`).
const OPEN: i32 = 3;

pub(super) async fn query(
    door: &Connector,
    address: &Address,
    parent: &str,
    question: RegistryQuery,
    deadline: CallDeadline,
) -> Result<RegistryResponse, RpcError> {
    let name = match question {
        RegistryQuery::ClusterId => "hbaseid",
        RegistryQuery::Master => "master",
        RegistryQuery::MetaServer => "meta-region-server",
    };
    let path = format!("{}/{name}", parent.trim_end_matches('/'));
    let place = format!("ZooKeeper {address}, znode {path}");
    let data = match tokio::time::timeout_at(deadline.at, get_data(door, address, &path)).await {
        Ok(data) => data,
        Err(_) => Err(RpcError::unreachable(format!(
            "no answer in {} ms; look whether this is a ZooKeeper server and has a quorum",
            deadline.ms
        ))),
    };
    data.and_then(|data| read(question, data, parent)).map_err(|failure| failure.at(place))
}

fn read(
    question: RegistryQuery,
    data: Option<Bytes>,
    parent: &str,
) -> Result<RegistryResponse, RpcError> {
    let Some(data) = data else { return Err(missing(question, parent)) };
    let name = match question {
        RegistryQuery::ClusterId => {
            return Ok(RegistryResponse::ClusterId(
                znode::decode::<pb::ClusterId>(data)?.cluster_id,
            ));
        }
        RegistryQuery::Master => znode::decode::<pb::Master>(data)?.master,
        RegistryQuery::MetaServer => {
            let meta: pb::MetaRegionServer = znode::decode(data)?;
            if meta.state.is_some_and(|state| state != OPEN) {
                let text = "hbase:meta is not served now; look whether the cluster has started";
                return Err(Exception::new(ExceptionKind::PleaseHold, text).into());
            }
            meta.server
        }
    };
    Ok(RegistryResponse::Server(server::from_proto(&name)?))
}

/// Returns the error for a missing znode. That of the cluster id is permanent; the other two depend
/// on running servers.
fn missing(question: RegistryQuery, parent: &str) -> RpcError {
    match question {
        RegistryQuery::ClusterId => Error::invalid(format!(
            "the znode does not exist, so there is no cluster below {parent}; append \
             zookeeper.znode.parent to the servers"
        ))
        .into(),
        RegistryQuery::Master | RegistryQuery::MetaServer => Exception::new(
            ExceptionKind::PleaseHold,
            "there is no such znode now; look whether the cluster has started",
        )
        .into(),
    }
}

/// Returns the data of a znode; `None` if it does not exist.
async fn get_data(
    door: &Connector,
    address: &Address,
    path: &str,
) -> Result<Option<Bytes>, RpcError> {
    let connected = door.connect(&address.host, address.port).await;
    let socket = connected.map_err(|error| {
        RpcError::unreachable(format!("no connection: {error}; look whether ZooKeeper runs there"))
    })?;
    let mut session = Session { socket, buffer: BytesMut::new() };
    let mut out = BytesMut::new();
    let password = Bytes::from_static(&[0; 16]);
    ConnectRequest {
        timeout_ms: SESSION_MS,
        password,
        read_only: Some(true),
        ..ConnectRequest::default()
    }
    .encode(&mut out);
    encode_request(XID, &Request::GetData { path: path.to_string(), watch: false }, &mut out);
    session.write(&out).await?;
    let opened = ConnectResponse::decode(&session.packet().await?)?;
    if opened.timeout_ms <= 0 {
        return Err(RpcError::lost("the session was refused"));
    }
    let data = loop {
        if let ServerPacket::Reply { xid: XID, result, .. } =
            decode_reply(&session.packet().await?)?
        {
            break match result {
                Ok(body) => Some(body.data()?.0),
                Err(ErrorCode::NO_NODE) => None,
                Err(ErrorCode(code)) => {
                    return Err(RpcError::lost(format!("ZooKeeper answers with the error {code}")));
                }
            };
        }
    };
    out.clear();
    encode_request(XID + 1, &Request::CloseSession, &mut out);
    // The response has been received; a session that is not closed expires.
    let _ = session.write(&out).await;
    Ok(data)
}

struct Session {
    socket: Stream,
    buffer: BytesMut,
}

impl Session {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), RpcError> {
        self.socket
            .write_all(bytes)
            .await
            .map_err(|error| RpcError::lost(format!("writing failed: {error}")))
    }

    async fn packet(&mut self) -> Result<Bytes, RpcError> {
        loop {
            match next_packet(&mut self.buffer)? {
                PacketStatus::Packet(packet) => return Ok(packet),
                PacketStatus::Word(word) => {
                    return Err(RpcError::lost(format!(
                        "this is not ZooKeeper: it says {:?}",
                        word.escape_ascii().to_string()
                    )));
                }
                PacketStatus::Need(bytes) => self.buffer.reserve(bytes),
            }
            match self.socket.read_buf(&mut self.buffer).await {
                Ok(0) => {
                    return Err(RpcError::lost(
                        "the server closed the connection before it answered; look whether this is \
                         a ZooKeeper server",
                    ));
                }
                Ok(_) => {}
                Err(error) => return Err(RpcError::lost(format!("reading failed: {error}"))),
            }
        }
    }
}
