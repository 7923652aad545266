//! Sessions over an in-memory stream, with a manual clock.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use halite_engine::env::Env;
use halite_engine::{Engine, Options};
use halite_types::{ErrorKind, FamilyDescriptor, Result, TableDescriptor};
use halite_wire::proto as pb;
use halite_wire::zk::{
    ConnectRequest, ConnectResponse, ErrorCode, PING_XID, PacketStatus, ReplyBody, Request,
    ServerPacket, decode_reply, encode_request, next_packet, znode,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;

use super::connection::Connection;
use super::state::{LARGE_PACKETS, ZooKeeperState};
use super::znode_tree::ZnodeTree;
use crate::base::context::Context;
use crate::config::Addresses;
use crate::config::Config;
use crate::services::Services;

const START_CODE: u64 = 1_795_289_608_650;
const CLUSTER_ID: &str = "0e94ce3b-2b9f-45cb-a8bf-50331a5496ac";

struct Server {
    state: Arc<ZooKeeperState>,
    _directory: tempfile::TempDir,
}

impl Server {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let engine = Engine::open(Env::os(directory.path()).unwrap(), Options::default()).unwrap();
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let addresses = Addresses {
            master: at(16_000),
            regionserver: at(16_020),
            http: Some(at(16_010)),
            zookeeper: Some(at(2181)),
        };
        let mut context =
            Context::new(crate::outside::Machine::Os, engine, config, addresses).unwrap();
        (context.start_code, context.cluster_id) = (START_CODE, CLUSTER_ID.to_string());
        // The tree contains the tables that the services create.
        let services = Services::over(context).unwrap();
        Self { state: Arc::new(ZooKeeperState::new(services.context)), _directory: directory }
    }

    fn connect(&self) -> Client {
        self.connect_to("10.1.2.3:2181")
    }

    fn connect_to(&self, local: &str) -> Client {
        let (stream, theirs) = tokio::io::duplex(64 << 10);
        let account = self.state.context.buffers.connect([127, 0, 0, 1].into()).unwrap();
        let connection =
            Connection::new(theirs, local.parse().unwrap(), Arc::clone(&self.state), &account);
        Client {
            stream,
            served: tokio::spawn(connection.serve()),
            received: BytesMut::new(),
            xid: 0,
        }
    }

    async fn session(&self) -> Client {
        let mut client = self.connect();
        client.open(&request(30_000, 0, &[0; 16])).await;
        client
    }
}

struct Client {
    stream: DuplexStream,
    served: JoinHandle<Result<()>>,
    received: BytesMut,
    xid: i32,
}

fn request(timeout_ms: i32, session_id: i64, password: &[u8]) -> ConnectRequest {
    ConnectRequest {
        timeout_ms,
        session_id,
        password: Bytes::copy_from_slice(password),
        read_only: Some(false),
        ..Default::default()
    }
}

impl Client {
    async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Returns the next packet; `None` if the server has closed.
    async fn packet(&mut self) -> Option<Bytes> {
        loop {
            if let PacketStatus::Packet(packet) = next_packet(&mut self.received).unwrap() {
                return Some(packet);
            }
            if self.stream.read_buf(&mut self.received).await.unwrap() == 0 {
                return None;
            }
        }
    }

    async fn open(&mut self, request: &ConnectRequest) -> ConnectResponse {
        let mut out = BytesMut::new();
        request.encode(&mut out);
        self.send(&out).await;
        ConnectResponse::decode(&self.packet().await.unwrap()).unwrap()
    }

    async fn call(&mut self, request: Request) -> std::result::Result<ReplyBody, ErrorCode> {
        self.xid += 1;
        let xid = if request == Request::Ping { PING_XID } else { self.xid };
        let mut out = BytesMut::new();
        encode_request(xid, &request, &mut out);
        self.send(&out).await;
        match decode_reply(&self.packet().await.expect("an answer")).unwrap() {
            ServerPacket::Reply { xid: answered, result, .. } if answered == xid => result,
            other => panic!("asked {xid}, got {other:?}"),
        }
    }

    async fn data(&mut self, path: &str) -> Bytes {
        let (data, stat) = self
            .call(Request::GetData { path: path.to_string(), watch: true })
            .await
            .unwrap()
            .data()
            .unwrap();
        assert_eq!(stat.data_length, i32::try_from(data.len()).unwrap());
        data
    }

    async fn children(&mut self, path: &str) -> Vec<String> {
        self.call(Request::GetChildren { path: path.to_string(), watch: false })
            .await
            .unwrap()
            .children()
            .unwrap()
    }

    /// Returns the result with which the server ended the connection.
    async fn end(mut self) -> Result<()> {
        assert_eq!(self.packet().await, None);
        self.served.await.unwrap()
    }
}

#[tokio::test]
async fn znodes_advertise_address_client_connected_to() {
    let server = Server::new();
    for (local, host) in [
        ("10.1.2.3:2181", "10.1.2.3"),
        ("127.0.0.1:2181", "127.0.0.1"),
        ("[::1]:2181", "localhost"),
    ] {
        let mut client = server.connect_to(local);
        client.open(&request(90_000, 0, &[0; 16])).await;
        let meta: pb::MetaRegionServer =
            znode::decode(client.data("/hbase/meta-region-server").await).unwrap();
        let name = |port: u32| pb::ServerName {
            host_name: host.to_string(),
            port: Some(port),
            start_code: Some(START_CODE),
        };
        assert_eq!(
            (meta.server, meta.state),
            (name(16_020), Some(pb::region_state::State::Open as i32))
        );
        let master: pb::Master = znode::decode(client.data("/hbase/master").await).unwrap();
        assert_eq!((master.master, master.info_port), (name(16_000), Some(16_010)));
        assert_eq!(client.children("/hbase/rs").await, [format!("{host},16020,{START_CODE}")]);
        let text: pb::ClusterId = znode::decode(client.data("/hbase/hbaseid").await).unwrap();
        assert_eq!(text.cluster_id, CLUSTER_ID);
    }
}

/// asynchbase treats any other response as a cluster of version 0.94.
#[tokio::test]
async fn unknown_path_returns_no_node() {
    let server = Server::new();
    let mut client = server.session().await;
    for path in [
        "/hbase/root-region-server",
        "/hbase/meta-region-server-1",
        "/hbase/master/",
        "/hbase/rs/other,1,2",
        "/hbas",
        "",
        "hbase",
        "/hbase/a/b/c/d",
    ] {
        let path = path.to_string();
        let requests = [
            Request::GetData { path: path.clone(), watch: true },
            Request::Exists { path: path.clone(), watch: true },
        ];
        for request in requests.into_iter().chain([Request::GetChildren2 { path, watch: false }]) {
            assert_eq!(client.call(request.clone()).await, Err(ErrorCode::NO_NODE), "{request:?}");
        }
    }
}

#[tokio::test]
async fn znode_tree_matches_idle_hbase_cluster_and_lists_tables() {
    let server = Server::new();
    let engine = &server.state.context.engine;
    for name in ["t1", "t2"] {
        engine
            .create_table(
                TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f")),
                Vec::new(),
            )
            .unwrap();
    }
    engine.disable_table(&"t2".parse().unwrap()).unwrap();
    let mut client = server.session().await;
    assert_eq!(client.children("/").await, ["hbase", "zookeeper"]);
    let captured = "meta-region-server rs splitWAL backup-masters flush-table-proc \
                    master-maintenance online-snapshot master running draining namespace hbaseid \
                    table";
    let mut captured: Vec<&str> = captured.split(' ').collect();
    captured.sort_unstable();
    assert_eq!(client.children("/hbase").await, captured);
    for name in captured {
        client.data(&format!("/hbase/{name}")).await;
    }
    assert_eq!(
        client.children("/hbase/table").await,
        ["hbase:meta", "hbase:namespace", "t1", "t2"]
    );
    for (table, state) in [("hbase:meta", 0), ("hbase:namespace", 0), ("t1", 0), ("t2", 1)] {
        let content: pb::DeprecatedTableState =
            znode::decode(client.data(&format!("/hbase/table/{table}")).await).unwrap();
        assert_eq!(content.state, state, "{table}");
    }
    assert_eq!(client.children("/hbase/namespace").await, ["default", "hbase"]);
    assert!(client.data("/hbase/namespace/default").await.ends_with(b"\0\0\x0a\x07default"));
    assert_eq!(client.children("/hbase/online-snapshot").await, ["abort", "acquired", "reached"]);
}

#[tokio::test]
async fn configured_znode_parent_is_used() {
    let server = Server::with(Config { znode_parent: "/our/own".to_string(), ..Config::default() });
    let mut client = server.session().await;
    assert_eq!(client.children("/").await, ["our", "zookeeper"]);
    assert_eq!(client.children("/our").await, ["own"]);
    assert!(client.children("/our/own").await.contains(&"master".to_string()));
    assert_eq!(
        client.call(Request::GetData { path: "/hbase/master".into(), watch: false }).await,
        Err(ErrorCode::NO_NODE)
    );
}

/// gohbase neither sends nor reads such a byte.
#[tokio::test]
async fn session_timeout_is_clamped_and_read_only_byte_mirrored() {
    let server = Server::new();
    for (asked, given, read_only, length) in
        [(90_000, 40_000, Some(false), 37), (30_000, 30_000, None, 36), (5, 4000, Some(true), 37)]
    {
        let mut client = server.connect();
        let mut out = BytesMut::new();
        ConnectRequest { read_only, ..request(asked, 0, &[0; 16]) }.encode(&mut out);
        client.send(&out).await;
        let answer = client.packet().await.unwrap();
        assert_eq!(answer.len(), length);
        assert_eq!(ConnectResponse::decode(&answer).unwrap().timeout_ms, given);
    }
}

#[tokio::test]
async fn session_resumes_on_new_connection_unless_unknown() {
    let server = Server::new();
    let opened = server.connect().open(&request(30_000, 0, &[0; 16])).await;
    let mut client = server.connect();
    assert_eq!(client.open(&request(30_000, opened.session_id, &opened.password)).await, opened);
    client.data("/hbase/master").await;
    let mut stranger = server.connect();
    assert_eq!(stranger.open(&request(30_000, opened.session_id, &[7; 16])).await.timeout_ms, 0);
    stranger.end().await.unwrap();
}

#[tokio::test]
async fn session_close_is_answered_before_connection_closes() {
    let mut client = Server::new().session().await;
    client.call(Request::CloseSession).await.unwrap();
    client.end().await.unwrap();
}

fn create(path: &str, flags: i32) -> Request {
    Request::Create { operation: 1, path: path.to_owned(), data: Bytes::from_static(b"x"), flags }
}

#[tokio::test]
async fn znodes_created_by_client_persist_under_parent() {
    let server = Server::new();
    let mut client = server.session().await;
    let path = |path: &str| path.to_string();
    assert_eq!(client.call(create("/hbase/mine", 0)).await.unwrap().path().unwrap(), "/hbase/mine");
    assert_eq!(client.call(create("/hbase/mine", 0)).await, Err(ErrorCode::NODE_EXISTS));
    assert_eq!(
        client.call(create("/hbase/mine/below", 0)).await.unwrap().path().unwrap(),
        "/hbase/mine/below"
    );
    let numbered = [
        client.call(create("/hbase/mine/n-", 2)).await,
        client.call(create("/hbase/mine/n-", 2)).await,
    ];
    assert_eq!(
        numbered.map(|made| made.unwrap().path().unwrap()),
        ["/hbase/mine/n-0000000000", "/hbase/mine/n-0000000001"]
    );
    let set = |version| Request::SetData {
        path: path("/hbase/mine"),
        data: Bytes::from_static(b"xy"),
        version,
    };
    assert_eq!(client.call(set(7)).await, Err(ErrorCode::BAD_VERSION));
    assert_eq!(client.call(set(0)).await.unwrap().stat().unwrap().version, 1);
    let delete = |name: &str, version| Request::Delete { path: path(name), version };
    assert_eq!(client.call(delete("/hbase/mine", -1)).await, Err(ErrorCode::NOT_EMPTY));
    // Another client sees it, next to the server's own znodes. It survives a restart, because it is
    // in the store.
    let mut other = server.session().await;
    let (data, stat) = other
        .call(Request::GetData { path: path("/hbase/mine"), watch: false })
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(
        (&data[..], stat.version, stat.num_children, stat.ephemeral_owner),
        (&b"xy"[..], 1, 3, 0)
    );
    let children = other
        .call(Request::GetChildren { path: path("/hbase"), watch: false })
        .await
        .unwrap()
        .children()
        .unwrap();
    assert!(children.contains(&path("mine")) && children.contains(&path("master")), "{children:?}");
    for name in
        ["/hbase/mine/below", "/hbase/mine/n-0000000000", "/hbase/mine/n-0000000001", "/hbase/mine"]
    {
        assert!(client.call(delete(name, -1)).await.is_ok(), "{name}");
    }
    assert_eq!(
        other.call(Request::Exists { path: path("/hbase/mine"), watch: false }).await,
        Err(ErrorCode::NO_NODE)
    );
    assert_eq!(server.state.context.engine.properties("znode/"), []);
}

#[tokio::test]
async fn clients_cannot_fill_the_store_with_znodes() {
    let server = Server::new();
    let mut client = server.session().await;
    let large = |name: &str| Request::Create {
        operation: 1,
        path: format!("/hbase/{name}"),
        data: Bytes::from(vec![0; 130 << 10]),
        flags: 0,
    };
    assert!(client.call(large("one")).await.is_ok());
    assert_eq!(client.call(large("two")).await, Err(ErrorCode::QUOTA_EXCEEDED));
    assert_eq!(
        client.call(create(&format!("/hbase/{}", "x".repeat(2000)), 0)).await,
        Err(ErrorCode::BAD_ARGUMENTS)
    );
}

#[tokio::test]
async fn changes_to_server_znodes_are_refused_as_read_only() {
    let server = Server::new();
    let mut client = server.session().await;
    let path = |path: &str| path.to_string();
    for (request, code) in [
        (create("/elsewhere", 0), ErrorCode::NOT_READ_ONLY),
        (create("/hbase/rs", 0), ErrorCode::NODE_EXISTS),
        (create("/hbase/ends", 1), ErrorCode::UNIMPLEMENTED),
        (create("/hbase/nosuch/x", 0), ErrorCode::NO_NODE),
        (create("/hbase/master/x", 0), ErrorCode::NO_CHILDREN_FOR_EPHEMERALS),
        (create("/hbase//x", 0), ErrorCode::BAD_ARGUMENTS),
        (create("/hbase/../x", 0), ErrorCode::BAD_ARGUMENTS),
        (
            Request::SetData { path: path("/hbase/master"), data: Bytes::new(), version: -1 },
            ErrorCode::NOT_READ_ONLY,
        ),
        (Request::Delete { path: path("/hbase/master"), version: -1 }, ErrorCode::NOT_READ_ONLY),
        (Request::Delete { path: path("/hbase/new"), version: -1 }, ErrorCode::NO_NODE),
        (Request::Change { operation: 7, path: path("/hbase/master") }, ErrorCode::NOT_READ_ONLY),
        (Request::Multi, ErrorCode::NOT_READ_ONLY),
        (Request::Other { operation: 16 }, ErrorCode::UNIMPLEMENTED),
    ] {
        assert_eq!(client.call(request.clone()).await, Err(code), "{request:?}");
    }
    let auth =
        Request::Auth { kind: 0, scheme: "digest".to_string(), auth: Bytes::from_static(b"a:b") };
    let watches = Request::SetWatches {
        relative_zxid: 1,
        data: vec!["/hbase/master".to_string()],
        exist: vec![],
        child: vec![],
    };
    for request in [
        auth,
        watches,
        Request::Ping,
        Request::Sync { path: path("/hbase") },
        Request::GetAcl { path: path("/hbase") },
    ] {
        assert!(client.call(request.clone()).await.is_ok(), "{request:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_client_is_disconnected_while_pinging_client_stays() {
    let server = Server::new();
    let mut silent = server.connect();
    silent.open(&request(10_000, 0, &[0; 16])).await;
    let mut alive = server.session().await;
    for _ in 0..10 {
        tokio::time::advance(Duration::from_secs(9)).await;
        alive.call(Request::Ping).await.unwrap();
    }
    assert!(silent.served.is_finished() && !alive.served.is_finished());
    silent.end().await.unwrap();
    let never_says_who_it_is = server.connect();
    let half = server.connect();
    let mut half = half;
    half.send(&[0, 0, 0, 45, 0]).await;
    tokio::time::advance(Duration::from_secs(11)).await;
    never_says_who_it_is.end().await.unwrap();
    half.end().await.unwrap();
}

#[tokio::test]
async fn malformed_packet_closes_only_its_connection() {
    let server = Server::new();
    let mut other = server.session().await;
    for bytes in
        [&[0xff, 0xff, 0xff, 0xff][..], &[0x00, 0x10, 0x00, 0x00], &[0, 0, 0, 2, 1, 2], b"HBas\0P"]
    {
        let mut client = server.connect();
        client.send(bytes).await;
        assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::InvalidRequest, "{bytes:?}");
    }
    for bytes in [
        &[0, 0, 0, 0][..],
        &[0, 0, 0, 6, 0, 0, 0, 1, 0, 0],
        &[0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff],
        b"ruok",
    ] {
        let mut client = server.session().await;
        client.send(bytes).await;
        assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::InvalidRequest, "{bytes:?}");
    }
    other.data("/hbase/master").await;
}

/// Each may have 1 MiB, so their number is limited over all connections.
#[tokio::test]
async fn concurrent_large_packets_are_limited() {
    let server = Server::new();
    let mut waiting = Vec::new();
    for _ in 0..LARGE_PACKETS {
        let mut client = server.session().await;
        client.send(&[0, 0x0f, 0, 0, 1]).await;
        waiting.push(client);
    }
    while server.state.large_packets.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    let mut one_more = server.session().await;
    one_more.send(&[0, 0x0f, 0, 0, 1]).await;
    assert_eq!(one_more.end().await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    drop(waiting);
    while server.state.large_packets.available_permits() < LARGE_PACKETS {
        tokio::task::yield_now().await;
    }
    let mut again = server.session().await;
    let mut write = BytesMut::new();
    encode_request(1, &create(&"/x".repeat(20_000), 0), &mut write);
    again.send(&write).await;
    assert!(matches!(
        decode_reply(&again.packet().await.unwrap()).unwrap(),
        ServerPacket::Reply { result: Err(ErrorCode::BAD_ARGUMENTS), .. }
    ));
}

#[test]
fn znode_count_equals_listed_znodes() {
    fn listed(tree: &ZnodeTree<'_>, path: &str) -> usize {
        let below = tree.node(path).unwrap().children;
        let prefix = if path == "/" { "" } else { path };
        1 + below.iter().map(|name| listed(tree, &format!("{prefix}/{name}"))).sum::<usize>()
    }
    let server = Server::new();
    let context = &server.state.context;
    for name in ["m", "n"] {
        context.engine.create_namespace(name, [("k".to_string(), "v".to_string())].into()).unwrap();
    }
    context
        .engine
        .create_table(
            TableDescriptor::new("m:t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            Vec::new(),
        )
        .unwrap();
    let tree = ZnodeTree { context, identity: context.identity("10.1.2.3:2181".parse().unwrap()) };
    let before = listed(&tree, "/");
    for path in ["/hbase/made", "/hbase/made/below", "/hbase/table/m:t/below"] {
        tree.create(path, &Bytes::new(), 0).unwrap();
    }
    assert_eq!((tree.count(), tree.count()), (before + 3, listed(&tree, "/")));
}

#[tokio::test]
async fn four_letter_words_are_answered() {
    let server = Server::new();
    let mut client = server.connect();
    client.send(b"ruok").await;
    let mut said = String::new();
    client.stream.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "imok");
    let mut client = server.connect();
    client.send(b"mntr").await;
    client.stream.read_to_string(&mut said).await.unwrap();
    // As many as HBase 2.6.4 has.
    assert!(said.contains("zk_znode_count\t29\n"), "{said}");
}
