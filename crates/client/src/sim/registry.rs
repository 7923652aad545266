//! ZooKeeper of the simulated cluster: sessions that read the three znodes a client needs.

use bytes::{Bytes, BytesMut};
use halite_wire::proto as pb;
use halite_wire::zk::{
    ConnectRequest, ErrorCode, PacketStatus, Reply, Request, Stat, decode_request, encode_reply,
    next_packet, znode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use turmoil::net::{TcpListener, TcpStream};

use super::cluster::SharedCluster;

pub(super) const PORT: u16 = 2181;
const ZXID: i64 = 1;
const OPEN: i32 = 3;

/// Runs a ZooKeeper server.
pub(super) async fn run(cluster: SharedCluster) -> turmoil::Result {
    let listener = TcpListener::bind((std::net::Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::task::spawn_local(serve(cluster.clone(), socket));
    }
}

async fn serve(cluster: SharedCluster, mut socket: TcpStream) -> Option<()> {
    let mut buffer = BytesMut::new();
    let mut out = BytesMut::new();
    let request = ConnectRequest::decode(&packet(&mut socket, &mut buffer).await?).ok()?;
    request.accept(1, Bytes::from_static(&[0; 16]), 4_000..=40_000).encode(&mut out);
    loop {
        socket.write_all(&out).await.ok()?;
        out.clear();
        let (xid, request) = decode_request(&packet(&mut socket, &mut buffer).await?).ok()?;
        let reply = match &request {
            Request::GetData { path, .. } => data(&cluster, path)
                .map(|data| Reply::Data(data, Stat::default()))
                .ok_or(ErrorCode::NO_NODE),
            _ => Ok(Reply::Empty),
        };
        encode_reply(xid, ZXID, reply.as_ref().map_err(|code| *code), &mut out);
        if request == Request::CloseSession {
            return socket.write_all(&out).await.ok();
        }
    }
}

async fn packet(socket: &mut TcpStream, buffer: &mut BytesMut) -> Option<Bytes> {
    loop {
        match next_packet(buffer).ok()? {
            PacketStatus::Packet(packet) => return Some(packet),
            PacketStatus::Word(_) => return None,
            PacketStatus::Need(bytes) => buffer.reserve(bytes),
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn data(cluster: &SharedCluster, path: &str) -> Option<Bytes> {
    let cluster = cluster.borrow();
    match path.strip_prefix("/hbase/")? {
        "hbaseid" => Some(znode::encode(
            "master:16000",
            [0; 8],
            &pb::ClusterId { cluster_id: "storm".to_string() },
        )),
        "meta-region-server" => {
            let server = pb::ServerName::from(&cluster.name(cluster.registered_meta_server?));
            Some(znode::encode(
                "master:16000",
                [0; 8],
                &pb::MetaRegionServer { server, rpc_version: Some(0), state: Some(OPEN) },
            ))
        }
        _ => None,
    }
}
