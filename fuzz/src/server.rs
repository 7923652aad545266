//! Complete server on a socket: whatever a client sends, every decodable call is answered, the
//! connection ends, and the next client is served. A panic on any thread of the server ends the
//! run.
#![no_main]

mod corpus;
mod writes;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::env::Env;
use halite_engine::{Engine, Options, WalSync};
use halite_server::{Addresses, Config, Server};
use halite_types::{FamilyDescriptor, Put, RowOp, TableDescriptor};
use halite_wire::proto as pb;
use halite_wire::rpc::{Auth, encode_connection};
use halite_wire::service::Service;
use halite_wire::zk::ConnectRequest;
use libfuzzer_sys::fuzz_target;

/// Maximum time for a reply before the server counts as hung.
const DISK_TIMEOUT: Duration = Duration::from_secs(15);

struct TestServer {
    addresses: Addresses,
    /// Encoded name of the table's first region.
    region: String,
}

/// Server that starts once and runs until the process ends.
static SERVER: LazyLock<TestServer> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder").keep();
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    let engine =
        Engine::open(Env::os(&folder).expect("a folder"), options).expect("an empty store");
    let table = TableDescriptor::new("t".parse().expect("a name"))
        .family(FamilyDescriptor::new("f").versions(3));
    let name = table.name().clone();
    engine.create_table(table, vec!["m".into()]).expect("a table");
    let table = engine.table(&name).expect("the table");
    let rows = ["a", "b", "x", "y"].map(|row| RowOp::from(Put::new(row).add("f", "q", "value")));
    table.batch(rows.into()).expect("the store accepts rows");
    let region = table.region_infos()[0].encoded_name.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads");
    let mut config = Config::default();
    (config.master_port, config.regionserver_port, config.http_port, config.zookeeper_port) =
        (0, 0, None, Some(0));
    config.limits.max_request_bytes = 1 << 20;
    let handle = runtime.block_on(Server::start(engine, config)).expect("a server");
    let addresses = handle.addresses();
    // Both run until the process ends.
    std::mem::forget((handle, runtime));
    TestServer { addresses, region }
});

fuzz_target!(init: corpus::write("server", writes::seeds().iter().map(|seed| [&[6][..], seed].concat()).collect()), |data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let TestServer { addresses, region } = &*SERVER;
    let rest = &with_region(rest, region);
    let zookeeper = addresses.zookeeper.expect("the port was requested");
    match choice % 7 {
        0 => converse(addresses.regionserver, rest),
        1 => converse(addresses.regionserver, &calls(Service::Client, rest)),
        2 => converse(addresses.master, &calls(Service::Master, rest)),
        3 => converse(addresses.regionserver, &calls(Service::Admin, rest)),
        4 => converse(zookeeper, &session(rest)),
        6 => converse(addresses.regionserver, &writes::conversation(rest, region)),
        _ => converse(zookeeper, rest),
    }
});

/// Replaces the placeholder of the seeds by the region's name.
fn with_region(data: &[u8], region: &str) -> Vec<u8> {
    let mut data = data.to_vec();
    let offsets: Vec<usize> = data
        .windows(corpus::REGION.len())
        .enumerate()
        .filter(|(_, bytes)| *bytes == corpus::REGION.as_bytes())
        .map(|(offset, _)| offset)
        .collect();
    for offset in offsets {
        data[offset..offset + region.len()].copy_from_slice(region.as_bytes());
    }
    data
}

/// Returns the preamble of a connection and then the chunks as frames.
fn calls(service: Service, data: &[u8]) -> Vec<u8> {
    let header = pb::ConnectionHeader {
        user_info: Some(pb::UserInformation { effective_user: "fuzz".to_owned(), real_user: None }),
        service_name: Some(service.name().to_owned()),
        cell_block_codec_class: Some("org.apache.hadoop.hbase.codec.KeyValueCodec".to_owned()),
        ..Default::default()
    };
    let mut out = BytesMut::new();
    encode_connection(Auth::Simple, &header, &mut out).expect("a small header");
    frames(data, &mut out);
    out.to_vec()
}

fn session(data: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    ConnectRequest::default().encode(&mut out);
    frames(data, &mut out);
    out.to_vec()
}

/// Converts chunks with two length bytes each to frames, so that the fuzzer need not compute
/// lengths.
fn frames(mut data: &[u8], out: &mut BytesMut) {
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        out.extend_from_slice(&u32::try_from(length).expect("two bytes").to_be_bytes());
        out.extend_from_slice(piece);
        data = rest;
    }
}

/// Sends everything, closes the sending side, and reads until the server closes the connection.
fn converse(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).expect("the server accepts another connection");
    stream.set_read_timeout(Some(DISK_TIMEOUT)).expect("the socket is open");
    stream.set_write_timeout(Some(DISK_TIMEOUT)).expect("the socket is open");
    let mut answer = Vec::new();
    // A server may close a connection at the first error, with bytes still in transit.
    let ended = stream
        .write_all(bytes)
        .and_then(|()| stream.shutdown(Shutdown::Write))
        .and_then(|()| stream.read_to_end(&mut answer));
    if let Err(error) = ended {
        assert!(
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            "no response and no close within {DISK_TIMEOUT:?}"
        );
    }
}
