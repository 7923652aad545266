//! A whole server behind a socket: whatever a client sends, every call that can be read is answered, the connection ends,
//! and the next client is served. A panic on any thread of the server ends the run.
#![no_main]

mod seeds;
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

/// How long an answer may take before the server counts as stuck.
const PATIENCE: Duration = Duration::from_secs(15);

struct Running {
    addresses: Addresses,
    /// The encoded name of the table's first region.
    region: String,
}

/// Starts once and stays until the process ends.
static SERVER: LazyLock<Running> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder").keep();
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    let engine = Engine::open(Env::os(&folder).expect("a folder"), options).expect("an empty store");
    let table = TableDescriptor::new("t".parse().expect("a name")).family(FamilyDescriptor::new("f").versions(3));
    let name = table.name().clone();
    engine.create_table(table, vec!["m".into()]).expect("a table");
    let table = engine.table(&name).expect("the table");
    let rows = ["a", "b", "x", "y"].map(|row| RowOp::from(Put::new(row).add("f", "q", "value")));
    table.apply(rows.into()).expect("a store that takes rows");
    let region = table.region_infos()[0].encoded_name.to_string();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let mut config = Config::default();
    (config.master_port, config.region_port, config.web_port, config.zookeeper_port) = (0, 0, None, Some(0));
    config.limits.frame_bytes_max = 1 << 20;
    let handle = runtime.block_on(Server::start(engine, config)).expect("a server");
    let addresses = handle.addresses();
    // Both serve until the process ends.
    std::mem::forget((handle, runtime));
    Running { addresses, region }
});

fuzz_target!(init: seeds::write("server", writes::seeds().iter().map(|seed| [&[6][..], seed].concat()).collect()), |data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let Running { addresses, region } = &*SERVER;
    let rest = &with_region(rest, region);
    let zookeeper = addresses.zookeeper.expect("it was asked for");
    match choice % 7 {
        0 => converse(addresses.region, rest),
        1 => converse(addresses.region, &calls(Service::Client, rest)),
        2 => converse(addresses.master, &calls(Service::Master, rest)),
        3 => converse(addresses.region, &calls(Service::Admin, rest)),
        4 => converse(zookeeper, &session(rest)),
        6 => converse(addresses.region, &writes::conversation(rest, region)),
        _ => converse(zookeeper, rest),
    }
});

/// The bytes with the region's name where seeds have none.
fn with_region(data: &[u8], region: &str) -> Vec<u8> {
    let mut data = data.to_vec();
    let places: Vec<usize> =
        data.windows(seeds::REGION.len()).enumerate().filter(|(_, bytes)| *bytes == seeds::REGION.as_bytes()).map(|(at, _)| at).collect();
    for at in places {
        data[at..at + region.len()].copy_from_slice(region.as_bytes());
    }
    data
}

/// A connection's beginning and then the pieces as frames.
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

/// Pieces with two bytes of length each become frames, so that the fuzzer need not learn to count.
fn frames(mut data: &[u8], out: &mut BytesMut) {
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        out.extend_from_slice(&u32::try_from(length).expect("two bytes").to_be_bytes());
        out.extend_from_slice(piece);
        data = rest;
    }
}

/// Sends everything, says so, and reads until the server has nothing more to say.
fn converse(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).expect("the server takes another connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket that is open");
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket that is open");
    let mut answer = Vec::new();
    // A server may end a connection at the first fault, with bytes still on their way.
    let ended = stream.write_all(bytes).and_then(|()| stream.shutdown(Shutdown::Write)).and_then(|()| stream.read_to_end(&mut answer));
    if let Err(error) = ended {
        assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "no answer and no end within {PATIENCE:?}");
    }
}
