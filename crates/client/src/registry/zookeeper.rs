//! Asking ZooKeeper: a session of its own for each question, since there are few.

use bytes::{Bytes, BytesMut};
use halite_types::{Error, Result};
use halite_wire::convert::server;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::zk::{Code, ConnectRequest, ConnectResponse, Incoming, Next, Request, decode_reply, encode_request, next_packet, znode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Knowledge, Question};
use crate::config::Address;
use crate::deadline::CallDeadline;
use crate::failure::Failure;
use crate::net::{Door, Stream};

/// How long the session may be silent, in milliseconds. It ends long before.
const SESSION_MS: i32 = 30_000;
const XID: i32 = 1;
/// The state of a region that is served (`RegionState.State.OPEN`).
const OPEN: i32 = 3;

pub(super) async fn ask(door: &Door, address: &Address, parent: &str, question: Question, deadline: CallDeadline) -> Result<Knowledge, Failure> {
    let name = match question {
        Question::ClusterId => "hbaseid",
        Question::Master => "master",
        Question::MetaServer => "meta-region-server",
    };
    let path = format!("{}/{name}", parent.trim_end_matches('/'));
    let place = format!("ZooKeeper {address}, znode {path}");
    let data = match tokio::time::timeout_at(deadline.at, get_data(door, address, &path)).await {
        Ok(data) => data,
        Err(_) => Err(Failure::unreachable(format!("no answer in {} ms; look whether this is a ZooKeeper server and has a quorum", deadline.ms))),
    };
    data.and_then(|data| read(question, data, parent)).map_err(|failure| failure.at(place))
}

fn read(question: Question, data: Option<Bytes>, parent: &str) -> Result<Knowledge, Failure> {
    let Some(data) = data else { return Err(missing(question, parent)) };
    let name = match question {
        Question::ClusterId => return Ok(Knowledge::ClusterId(znode::decode::<pb::ClusterId>(data)?.cluster_id)),
        Question::Master => znode::decode::<pb::Master>(data)?.master,
        Question::MetaServer => {
            let meta: pb::MetaRegionServer = znode::decode(data)?;
            if meta.state.is_some_and(|state| state != OPEN) {
                let text = "hbase:meta is not served now; look whether the cluster has started";
                return Err(Exception::new(ExceptionKind::PleaseHold, text).into());
            }
            meta.server
        }
    };
    Ok(Knowledge::Server(server::from_proto(&name)?))
}

/// The id is there for ever; the other two come and go with the servers.
fn missing(question: Question, parent: &str) -> Failure {
    match question {
        Question::ClusterId => {
            Error::invalid(format!("there is no such znode, so no cluster below {parent}; give zookeeper.znode.parent behind the servers")).into()
        }
        Question::Master | Question::MetaServer => {
            Exception::new(ExceptionKind::PleaseHold, "there is no such znode now; look whether the cluster has started").into()
        }
    }
}

/// What a znode holds; `None` if there is none.
async fn get_data(door: &Door, address: &Address, path: &str) -> Result<Option<Bytes>, Failure> {
    let connected = door.connect(&address.host, address.port).await;
    let socket = connected.map_err(|error| Failure::unreachable(format!("no connection: {error}; look whether ZooKeeper runs there")))?;
    let mut session = Session { socket, buffer: BytesMut::new() };
    let mut out = BytesMut::new();
    let password = Bytes::from_static(&[0; 16]);
    ConnectRequest { timeout_ms: SESSION_MS, password, read_only: Some(true), ..ConnectRequest::default() }.encode(&mut out);
    encode_request(XID, &Request::GetData { path: path.to_string(), watch: false }, &mut out);
    session.write(&out).await?;
    let opened = ConnectResponse::decode(&session.packet().await?)?;
    if opened.timeout_ms <= 0 {
        return Err(Failure::lost("the session was refused"));
    }
    let data = loop {
        if let Incoming::Reply { xid: XID, result, .. } = decode_reply(&session.packet().await?)? {
            break match result {
                Ok(body) => Some(body.data()?.0),
                Err(Code::NO_NODE) => None,
                Err(Code(code)) => return Err(Failure::lost(format!("ZooKeeper answers with the error {code}"))),
            };
        }
    };
    out.clear();
    encode_request(XID + 1, &Request::CloseSession, &mut out);
    // The answer is here; a session that is not closed ends by itself.
    let _ = session.write(&out).await;
    Ok(data)
}

struct Session {
    socket: Stream,
    buffer: BytesMut,
}

impl Session {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.socket.write_all(bytes).await.map_err(|error| Failure::lost(format!("writing failed: {error}")))
    }

    async fn packet(&mut self) -> Result<Bytes, Failure> {
        loop {
            match next_packet(&mut self.buffer)? {
                Next::Packet(packet) => return Ok(packet),
                Next::Word(word) => return Err(Failure::lost(format!("this is not ZooKeeper: it says {:?}", word.escape_ascii().to_string()))),
                Next::Need(bytes) => self.buffer.reserve(bytes),
            }
            match self.socket.read_buf(&mut self.buffer).await {
                Ok(0) => return Err(Failure::lost("the server closed the connection before it answered; look whether this is a ZooKeeper server")),
                Ok(_) => {}
                Err(error) => return Err(Failure::lost(format!("reading failed: {error}"))),
            }
        }
    }
}
