//! `halite serve` as a process: its output, the clients it answers, and its shutdown.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use halite::{FamilyDescriptor, Get, Put, TableDescriptor};
use halite_patience::{Program, lasting_ports};
use halite_wire::proto as pb;
use halite_wire::rpc::{self, Auth, RequestOptions, RpcLimits};
use halite_wire::service::{
    AdminStopServer, ClientGet, ClientMutate, ClientScan, MasterShutdown, MasterStopMaster,
    RpcMethod, Service,
};
use halite_wire::zk::{self, ConnectRequest, Request, ServerPacket, znode};
use rustix::process::{Pid, Signal, kill_process};

use crate::program::{self, LIMIT, await_that, ended, output};

const ANY_PORTS: [&str; 8] =
    ["--zookeeper-port", "0", "--master-port", "0", "--regionserver-port", "0", "--http-port", "0"];

fn serve(arguments: &[&str]) -> Command {
    let mut command = program::halite();
    command.arg("serve").args(ANY_PORTS).args(arguments);
    command
}

/// A server that is ready.
pub(crate) struct TestServer {
    program: Program,
    /// Output up to the line that begins with `ready`.
    output: String,
    ready: String,
}

impl TestServer {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(&mut serve(arguments))
    }

    /// Starts it on ports that it can have again.
    pub(crate) fn start_on_lasting_ports(arguments: &[&str]) -> Self {
        let mut command = program::halite();
        command.arg("serve").args(arguments);
        let ports = lasting_ports::<4>();
        for (of, port) in ["zookeeper", "master", "regionserver", "http"].iter().zip(ports) {
            command.args([format!("--{of}-port"), port.to_string()]);
        }
        Self::spawn(&mut command)
    }

    /// Starts a command that prints a line that begins with `ready`.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let program = Program::start(command).unwrap();
        let ready = |text: &str| {
            let at = if text.starts_with("ready ") { 0 } else { text.find("\nready ")? + 1 };
            let line = text[at..].find('\n')?;
            Some((text[..at].to_owned(), text[at..=at + line].to_owned()))
        };
        let found = program.stdout().find(LIMIT, ready);
        let (output, ready) =
            found.unwrap_or_else(|| panic!("{}", program.failure_message("did not become ready")));
        Self { program, output, ready }
    }

    pub(crate) fn address(&self, name: &str) -> SocketAddr {
        let found = self
            .ready
            .split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {name} in {}", self.ready)).parse().unwrap()
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.program.id()
    }

    /// Returns the output before that line.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    /// Sends a signal and waits for the exit; returns the exit code and the log.
    pub(crate) fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        self.signal(signal);
        self.wait()
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        kill_process(Pid::from_child(self.program.child()), signal).unwrap();
    }

    /// Waits until it has logged a text.
    fn await_log(&self, text: &str) {
        let found = self.program.stderr().find(LIMIT, |log| log.contains(text).then_some(()));
        assert!(
            found.is_some(),
            "{}",
            self.program.failure_message(&format!("has not logged {text:?}"))
        );
    }

    /// Waits for the end.
    pub(crate) fn wait(self) -> (Option<i32>, String) {
        let output = ended(self.program);
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(stdout, self.output + &self.ready, "the line for scripts is the last");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

/// Runs a server that cannot start; returns the exit code and its output.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = output(&mut serve(arguments));
    assert_eq!(output.stdout, b"");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A connection whose answers are waited for one by one.
struct Wire {
    stream: TcpStream,
    input: BytesMut,
}

impl Wire {
    fn connect(address: SocketAddr, first: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream.write_all(first).unwrap();
        Self { stream, input: BytesMut::new() }
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        let read = self.stream.read(&mut bytes).unwrap();
        assert!(read > 0, "the server closed");
        self.input.extend_from_slice(&bytes[..read]);
    }

    fn packet(&mut self) -> Bytes {
        loop {
            if let zk::PacketStatus::Packet(packet) = zk::next_packet(&mut self.input).unwrap() {
                return packet;
            }
            self.read();
        }
    }

    fn zookeeper(address: SocketAddr) -> Self {
        let mut out = BytesMut::new();
        ConnectRequest {
            timeout_ms: 30_000,
            password: Bytes::from_static(&[0; 16]),
            ..ConnectRequest::default()
        }
        .encode(&mut out);
        let mut wire = Self::connect(address, &out);
        wire.packet();
        wire
    }

    fn look_up(&mut self, request: &Request) -> zk::ReplyBody {
        let mut out = BytesMut::new();
        zk::encode_request(1, request, &mut out);
        self.stream.write_all(&out).unwrap();
        match zk::decode_reply(&self.packet()).unwrap() {
            ServerPacket::Reply { result: Ok(body), .. } => body,
            other => panic!("{request:?}: {other:?}"),
        }
    }

    fn client(address: SocketAddr) -> Self {
        Self::for_service(Service::Client, address)
    }

    fn for_service(service: Service, address: SocketAddr) -> Self {
        let mut out = BytesMut::new();
        let header = pb::ConnectionHeader {
            service_name: Some(service.name().to_owned()),
            ..pb::ConnectionHeader::default()
        };
        rpc::encode_connection(Auth::Simple, &header, &mut out).unwrap();
        Self::connect(address, &out)
    }

    fn call<C: RpcMethod>(&mut self, request: &C::Request) -> C::Response {
        let mut out = BytesMut::new();
        rpc::encode_request::<C>(1, request, RequestOptions::default(), None, &mut out).unwrap();
        self.send(&out).result.unwrap().message().unwrap()
    }

    /// Sends bytes and waits for an answer to them.
    fn send(&mut self, bytes: &[u8]) -> rpc::Response {
        self.stream.write_all(bytes).unwrap();
        loop {
            match rpc::next_frame(&mut self.input, &RpcLimits::default()).unwrap() {
                rpc::FrameStatus::Frame(frame) => return rpc::decode_response(&frame).unwrap(),
                _ => self.read(),
            }
        }
    }
}

/// Creates a store with table `t` and family `f`; returns the region's name.
fn store(folder: &Path) -> Vec<u8> {
    let store = halite::open(folder).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    table.put(Put::new("old").add("f", "q", "before")).unwrap();
    let name = table.regions().unwrap()[0].full_name();
    store.close().unwrap();
    name
}

fn region(name: &[u8]) -> pb::RegionSpecifier {
    pb::RegionSpecifier {
        r#type: pb::region_specifier::RegionSpecifierType::RegionName as i32,
        value: name.to_vec().into(),
    }
}

fn put(name: &[u8], row: &str) -> pb::MutateRequest {
    use pb::mutation_proto::column_value::QualifierValue;
    let value = QualifierValue {
        qualifier: Some("q".into()),
        value: Some(Bytes::copy_from_slice(row.as_bytes())),
        ..QualifierValue::default()
    };
    let column =
        pb::mutation_proto::ColumnValue { family: "f".into(), qualifier_value: vec![value] };
    let mutation = pb::MutationProto {
        row: Some(Bytes::copy_from_slice(row.as_bytes())),
        mutate_type: Some(pb::mutation_proto::MutationType::Put as i32),
        column_value: vec![column],
        ..pb::MutationProto::default()
    };
    pb::MutateRequest { region: region(name), mutation, ..pb::MutateRequest::default() }
}

fn value(client: &mut Wire, name: &[u8], row: &'static str) -> Option<Bytes> {
    let get = pb::Get { row: row.into(), ..pb::Get::default() };
    let answer = client.call::<ClientGet>(&pb::GetRequest { region: region(name), get });
    answer.result.and_then(|result| result.cell.first().and_then(|cell| cell.value.clone()))
}

#[test]
fn sigterm_flushes_rows_of_client_connected_through_zookeeper() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("store");
    let name = store(&data);
    let served = TestServer::start(&["--data", data.to_str().unwrap()]);
    assert!(
        served.output.contains(data.to_str().unwrap()) && served.output.contains(", 1 table\n"),
        "{}",
        served.output
    );
    let zookeeper = served.address("zookeeper");
    assert!(
        served.output.contains(&format!(
            "<name>hbase.zookeeper.property.clientPort</name><value>{}</value>",
            zookeeper.port()
        )),
        "{}",
        served.output
    );
    let mut session = Wire::zookeeper(zookeeper);
    let (content, _) = session
        .look_up(&Request::GetData { path: "/hbase/meta-region-server".into(), watch: false })
        .data()
        .unwrap();
    let server = znode::decode::<pb::MetaRegionServer>(content).unwrap().server;
    let found = format!("{}:{}", server.host_name, server.port());
    assert_eq!(found, served.address("regionserver").to_string());
    let mut client = Wire::client(found.parse().unwrap());
    assert_eq!(value(&mut client, &name, "old"), Some("before".into()));
    client.call::<ClientMutate>(&put(&name, "new"));
    assert_eq!(value(&mut client, &name, "new"), Some("new".into()));
    let (code, logged) = served.end(Signal::TERM);
    assert_eq!(code, Some(0), "{logged}");
    assert!(logged.contains("SIGTERM"), "{logged}");
    let store = halite::open(&data).unwrap();
    assert_eq!(
        store.cluster_status().unwrap().regions[0].memstore_data_bytes,
        0,
        "everything was flushed"
    );
    assert_eq!(
        store.table("t").unwrap().get(Get::new("new")).unwrap().value("f", "q"),
        Some(&b"new"[..])
    );
}

#[test]
fn acknowledged_rows_survive_process_kill() {
    let folder = tempfile::tempdir().unwrap();
    let name = store(folder.path());
    let data = folder.path().to_str().unwrap();
    let served = TestServer::start(&["--data", data, "--wal-sync", "flush"]);
    Wire::client(served.address("regionserver")).call::<ClientMutate>(&put(&name, "new"));
    assert_eq!(served.end(Signal::KILL).0, None);
    let served = TestServer::start(&["--data", data]);
    assert_eq!(
        value(&mut Wire::client(served.address("regionserver")), &name, "new"),
        Some("new".into())
    );
    assert_eq!(served.end(Signal::INT).0, Some(0));
}

/// Requests a shutdown of a server.
fn stop<C: RpcMethod>(service: Service, address: SocketAddr, request: &C::Request) {
    Wire::for_service(service, address).call::<C>(request);
}

/// Action that requests a shutdown of a server.
type StopAction = fn(&TestServer);

#[test]
fn stop_requests_shut_down_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let name = store(folder.path());
    let stops: [(&str, StopAction); 3] = [
        ("asked the master to stop", |served| {
            stop::<MasterStopMaster>(
                Service::Master,
                served.address("master"),
                &pb::StopMasterRequest {},
            );
        }),
        ("asked the cluster to shut down", |served| {
            stop::<MasterShutdown>(
                Service::Master,
                served.address("master"),
                &pb::ShutdownRequest {},
            );
        }),
        ("asked the server to stop: enough", |served| {
            let request = pb::StopServerRequest { reason: "enough".to_owned() };
            stop::<AdminStopServer>(Service::Admin, served.address("regionserver"), &request);
        }),
    ];
    for (why, stop) in stops {
        let served = TestServer::start(&["--data", folder.path().to_str().unwrap()]);
        Wire::client(served.address("regionserver")).call::<ClientMutate>(&put(&name, "new"));
        stop(&served);
        let (code, logged) = served.wait();
        assert!(code == Some(0) && logged.contains(why), "{code:?} {logged}");
        let store = halite::open(folder.path()).unwrap();
        assert_eq!(
            store.cluster_status().unwrap().regions[0].memstore_data_bytes,
            0,
            "everything was flushed"
        );
        store.close().unwrap();
    }
}

#[test]
fn ephemeral_store_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let entries = || entries(folder.path());
    let served = TestServer::spawn(serve(&["--ephemeral"]).env("TMPDIR", folder.path()));
    assert_eq!(entries(), 1);
    assert_eq!(served.end(Signal::TERM).0, Some(0));
    assert_eq!(entries(), 0);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let without_file = ["--ephemeral", "--listen-addr", "127.0.0.1", "--config", "/no/such/file"];
    assert_eq!(
        (output(serve(&without_file).env("TMPDIR", folder.path())).status.code(), entries()),
        (Some(2), 0)
    );
    let mut command = program::halite();
    let command = command.args([
        "serve",
        "--ephemeral",
        "--zookeeper-port",
        &port,
        "--master-port",
        "0",
        "--regionserver-port",
        "0",
        "--http-port",
        "0",
    ]);
    assert_eq!(output(command.env("TMPDIR", folder.path())).status.code(), Some(1));
    assert_eq!(entries(), 0);
}

#[test]
fn protocol_error_is_logged_once_per_connection() {
    let served = TestServer::start(&["--ephemeral"]);
    // An unknown method with a line feed in its name, and an invalid message.
    let (method, message) = (
        &b"\0\0\0\x0b\x09\x08\x07\x1a\x03g\ng\x20\x01\0"[..],
        &b"\0\0\0\x0d\x09\x08\x09\x1a\x03Get\x20\x01\x02\xff\xff"[..],
    );
    for first in [method, message] {
        let mut client = Wire::client(served.address("regionserver"));
        for bytes in [first, method, message] {
            assert!(client.send(bytes).result.is_err());
        }
    }
    let (code, logged) = served.end(Signal::TERM);
    let lines: Vec<&str> =
        logged.lines().filter(|line| line.contains("cannot be understood")).collect();
    assert!(code == Some(0) && lines.len() == 2, "{logged}");
    assert!(
        lines.iter().all(|line| line.contains(" WARN ") && line.contains("ClientService")),
        "{logged}"
    );
    assert!(
        lines[0].contains("UnsupportedOperationException: g\\ng")
            && lines[1].contains("Get: ")
            && lines[1].contains("undecodable"),
        "{logged}"
    );
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn ephemeral_store_is_removed_on_every_signal() {
    let folder = tempfile::tempdir().unwrap();
    for signal in [Signal::INT, Signal::HUP] {
        let served = TestServer::spawn(serve(&["--ephemeral"]).env("TMPDIR", folder.path()));
        assert_eq!(entries(folder.path()), 1);
        let (code, logged) = served.end(signal);
        assert_eq!((code, entries(folder.path())), (Some(0), 0), "{logged}");
    }
}

#[test]
fn signal_during_start_shuts_down_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    // With its directory there it has a year of weather to load.
    let mut starting =
        Program::start(serve(&["--ephemeral", "--demo"]).env("TMPDIR", folder.path())).unwrap();
    await_that("it has made its directory", || entries(folder.path()) > 0);
    kill_process(Pid::from_child(starting.child()), Signal::TERM).unwrap();
    let output = ended(starting);
    let logged = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), entries(folder.path())), (Some(0), 0), "{logged}");
    assert!(
        output.stdout.is_empty() && logged.contains("SIGTERM") && !logged.contains("demo: "),
        "it was not ready: {logged}"
    );
}

#[test]
fn second_signal_exits_immediately_and_removes_ephemeral_store() {
    let folder = tempfile::tempdir().unwrap();
    let mut served =
        TestServer::spawn(serve(&["--ephemeral", "--demo"]).env("TMPDIR", folder.path()));
    // A client that reads none of its responses delays the shutdown of the server for some seconds.
    let mut client = Wire::client(served.address("regionserver"));
    let mut call = BytesMut::new();
    let meta = pb::RegionSpecifier {
        r#type: pb::region_specifier::RegionSpecifierType::RegionName as i32,
        value: "hbase:meta,,1".into(),
    };
    let scan = pb::ScanRequest {
        region: Some(meta),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(1000),
        ..Default::default()
    };
    rpc::encode_request::<ClientScan>(1, &scan, RequestOptions::default(), None, &mut call)
        .unwrap();
    client.stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    while client.stream.write(&call).is_ok() {}
    served.signal(Signal::TERM);
    served.await_log("SIGTERM: ending");
    let (code, logged) = served.end(Signal::HUP);
    assert_eq!((code, entries(folder.path())), (Some(1), 0), "{logged}");
    assert!(logged.contains("SIGHUP: ended at once"), "{logged}");
}

#[test]
#[cfg(target_os = "linux")]
fn server_under_nohup_ignores_hangup() {
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_halite")).args(["serve", "--ephemeral"]).args(ANY_PORTS);
    let mut served = TestServer::spawn(&mut command);
    served.signal(Signal::HUP);
    // The server answers after the signal as before it.
    let tables = Wire::zookeeper(served.address("zookeeper"))
        .look_up(&Request::GetChildren { path: "/hbase/table".into(), watch: false });
    assert!(tables.children().is_ok());
    let (code, logged) = served.end(Signal::TERM);
    assert!(
        code == Some(0) && logged.contains("SIGTERM: ending") && !logged.contains("SIGHUP"),
        "{code:?} {logged}"
    );
}

#[test]
fn demo_tables_exist_when_server_is_ready() {
    let served = TestServer::start(&["--ephemeral", "--demo"]);
    let tables = Wire::zookeeper(served.address("zookeeper"))
        .look_up(&Request::GetChildren { path: "/hbase/table".into(), watch: false });
    assert_eq!(
        tables.children().unwrap(),
        ["halite_demo", "hbase:meta", "hbase:namespace", "sensor_daily", "sensor_data"]
    );
    let mut web = Wire::connect(
        served.address("http"),
        b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    let mut page = String::new();
    web.stream.read_to_string(&mut page).unwrap();
    assert!(page.contains("halite_table_regions{table=\"sensor_data\"} 3"), "{page}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn demo_has_traffic_of_its_own_unless_off() {
    let served = TestServer::start(&["--ephemeral", "--demo", "--demo-traffic", "500"]);
    // Nothing else reads the counters.
    let reads = || -> u64 {
        let mut web = Wire::connect(
            served.address("http"),
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        );
        let mut page = String::new();
        web.stream.read_to_string(&mut page).unwrap();
        let name = "halite_table_read_requests_total{table=\"sensor_daily\"} ";
        page.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
    };
    await_that("the traffic has read counters", || reads() > 10);
    assert_eq!(served.end(Signal::TERM).0, Some(0));

    let served = TestServer::start(&["--ephemeral", "--demo", "--demo-traffic", "off"]);
    let (code, logged) = served.end(Signal::TERM);
    assert!(code == Some(0) && !logged.contains("traffic"), "{code:?} {logged}");
    let (code, stderr) = refused(&["--ephemeral", "--demo-traffic", "0"]);
    assert!(code == Some(2) && stderr.contains("from 1 to 10000, or off"), "{code:?} {stderr}");
}

#[test]
fn port_or_directory_in_use_is_named_in_error() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("store");
    let data = data.to_str().unwrap();
    let served = TestServer::start(&["--data", data]);
    let (code, stdout) = refused(&["--data", data]);
    assert!(
        code == Some(1) && stdout.contains(data) && stdout.contains("held by another process"),
        "{code:?} {stdout}"
    );
    let ports = [
        ("zookeeper", "--zookeeper-port"),
        ("master", "--master-port"),
        ("regionserver", "--regionserver-port"),
        ("http", "--http-port"),
    ];
    for (name, flag) in ports {
        let taken = served.address(name);
        let mut arguments = vec!["serve", "--ephemeral"];
        let port = taken.port().to_string();
        for (other, other_flag) in ports {
            arguments.extend([other_flag, if other == name { port.as_str() } else { "0" }]);
        }
        let output = output(program::halite().args(arguments));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr.contains(&taken.to_string()) && stderr.contains(flag), "{stderr}");
    }
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn config_file_and_hbase_names_configure_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("halite.toml");
    std::fs::write(
        &file,
        "ephemeral = true\nznode-parent = \"/mine\"\n[hbase]\n\
         hbase.master.hostname = \"db.example\"\nhbase.rpc.timeout = 5\n",
    )
    .unwrap();
    let served = TestServer::start(&[
        "--config",
        file.to_str().unwrap(),
        "--hbase-conf",
        "zookeeper.znode.parent=/ours",
    ]);
    assert!(
        served.output.contains("<name>zookeeper.znode.parent</name><value>/ours</value>"),
        "{}",
        served.output
    );
    let mut session = Wire::zookeeper(served.address("zookeeper"));
    let (content, _) = session
        .look_up(&Request::GetData { path: "/ours/master".into(), watch: false })
        .data()
        .unwrap();
    assert_eq!(znode::decode::<pb::Master>(content).unwrap().master.host_name, "db.example");
    let (code, logged) = served.end(Signal::TERM);
    assert!(
        code == Some(0)
            && logged.contains("hbase.rpc.timeout is ignored: it is a setting of clients"),
        "{logged}"
    );
    std::fs::write(&file, "zookeeper-prot = 1").unwrap();
    let (code, stdout) = refused(&["--config", file.to_str().unwrap()]);
    assert!(code == Some(2) && stdout.contains("did you mean zookeeper-port?"), "{stdout}");
    for (flag, value, text) in [
        ("--compaction-threads", "0", "--compaction-threads must be from 1 to 64"),
        ("--max-compaction-rate", "1", "--max-compaction-rate is 1 bytes per second, below comp"),
        ("--max-cell-size", "1", "--max-cell-size is 1, and rows of the server's own tables"),
        ("--max-connections-per-address", "1", "--max-connections-per-address is 1, and a client"),
        ("--max-call-queue-size", "1k", "--max-call-queue-size is 1024, and a larger call is"),
        ("--max-row-size", "4095", "give at least 4096, or 0 for no limit"),
        ("--idle-compaction-ratio", "1e400", "give a number above 0"),
        ("--io-threads", "0", "--io-threads must be from 1"),
    ] {
        let (code, stdout) = refused(&[flag, value]);
        assert!(code == Some(2) && stdout.contains(text), "{code:?} {stdout}");
    }
    let (code, stdout) = refused(&["--data", "x", "--ephemeral"]);
    assert!(code == Some(2) && stdout.contains("leave out --data or --ephemeral"), "{stdout}");
}
