//! Compares where a server runs calls. The same Gets from 1, 8 and 64 connections, alone and next
//! to a connection that scans without end, on a server that runs all calls on the connection's
//! task, all on other threads, or each where it belongs. The server is a separate process, so that
//! its processor time is measured alone, with as many I/O threads as `halite serve` has by default.
#![expect(clippy::print_stdout, reason = "a benchmark talks to the person at the terminal")]
#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures with the clock of the machine"
)]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use halite_engine::env::Env;
use halite_engine::{Engine, Options, WalSync};
use halite_server::{Config, DispatchMode, Server, default_io_threads};
use halite_types::{FamilyDescriptor, Get, Put, RowOp, Scan, TableDescriptor};
use halite_wire::convert;
use halite_wire::proto as pb;
use halite_wire::rpc::{
    Auth, FrameStatus, RequestOptions, RpcLimits, decode_response, encode_connection,
    encode_request, next_frame,
};
use halite_wire::service::{ClientGet, ClientScan, RpcMethod, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ROWS: usize = 200_000;
const CONNECTIONS: [usize; 3] = [1, 8, 64];
const HELP: &str = "usage: dispatch [SECONDS], of each measurement (3)";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", lanes, folder] => serve(mode_by_name(lanes)?, folder),
        [] => compare(Duration::from_secs(3)),
        [seconds] => compare(Duration::from_secs(seconds.parse().map_err(|_| HELP)?)),
        _ => Err(HELP.into()),
    }
}

const VARIANTS: [(&str, DispatchMode); 3] = [
    ("inline", DispatchMode::Inline),
    ("tiered", DispatchMode::Tiered),
    ("hop", DispatchMode::Hop),
];

fn mode_by_name(name: &str) -> Result<DispatchMode> {
    VARIANTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, lanes)| *lanes)
        .ok_or_else(|| HELP.into())
}

/// Child process: fills a table, serves it, prints the port and the name of the table's region, and
/// runs until its input ends.
fn serve(lanes: DispatchMode, folder: &str) -> Result<()> {
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    let engine = Engine::open(Env::os(folder)?, options)?;
    let descriptor = TableDescriptor::new("t".parse()?).family(FamilyDescriptor::new("f"));
    let name = descriptor.name().clone();
    engine.create_table(descriptor, Vec::new())?;
    let table = engine.table(&name)?;
    let rows: Vec<RowOp> =
        (0..ROWS).map(|row| Put::new(key(row)).add("f", "q", vec![b'v'; 100]).into()).collect();
    for chunk in rows.chunks(1000) {
        table.batch(chunk.to_vec())?;
    }
    engine.flush(&name)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(default_io_threads())
        .enable_all()
        .build()?;
    let mut config = Config::default();
    (
        config.master_port,
        config.regionserver_port,
        config.http_port,
        config.zookeeper_port,
        config.dispatch_mode,
    ) = (0, 0, None, None, lanes);
    let handle = runtime.block_on(Server::start(Arc::clone(&engine), config))?;
    println!("{} {}", handle.addresses().regionserver, table.region_infos()[0].encoded_name);
    std::io::stdin().lines().for_each(drop);
    runtime.block_on(handle.shutdown());
    Ok(engine.close()?)
}

fn key(row: usize) -> String {
    format!("row{row:013}")
}

struct ServerProcess {
    child: Child,
    address: SocketAddr,
    region: String,
    _folder: tempfile::TempDir,
}

fn start(lanes: &str) -> Result<ServerProcess> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", lanes]).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let (address, region) = line.trim().split_once(' ').ok_or("the server did not start")?;
    Ok(ServerProcess {
        address: address.parse()?,
        region: region.to_string(),
        child,
        _folder: folder,
    })
}

fn compare(time: Duration) -> Result<()> {
    // One thread is enough for clients that only wait, and leaves the other cores to the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!(
        "| calls | connections | beside | Gets/s | p50 us | p99 us | server CPU us/Get |\n\
         |---|---|---|---|---|---|---|"
    );
    for (name, _) in VARIANTS {
        let mut server = start(name)?;
        // Every block is in the cache afterwards.
        runtime.block_on(measure(&server, 8, false, Duration::from_secs(2)))?;
        for beside in [false, true] {
            for connections in CONNECTIONS {
                let measured = runtime.block_on(measure(&server, connections, beside, time))?;
                println!(
                    "| {name} | {connections} | {} | {measured} |",
                    if beside { "a scan" } else { "-" }
                );
            }
        }
        drop(server.child.stdin.take());
        server.child.wait()?;
    }
    Ok(())
}

/// Gets of random rows for a while, one at a time on each connection.
async fn measure(
    server: &ServerProcess,
    connections: usize,
    beside: bool,
    time: Duration,
) -> Result<String> {
    let stop = Arc::new(AtomicBool::new(false));
    let scanner = beside
        .then(|| tokio::spawn(scan(server.address, server.region.clone(), Arc::clone(&stop))));
    let (start, cpu_before) = (Instant::now(), cpu_us(server.child.id())?);
    let tasks: Vec<_> = (0..connections)
        .map(|seed| tokio::spawn(gets(server.address, server.region.clone(), seed, start + time)))
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    let (spent, elapsed) = (cpu_us(server.child.id())? - cpu_before, start.elapsed());
    stop.store(true, Relaxed);
    if let Some(scanner) = scanner {
        scanner.await??;
    }
    latencies.sort_unstable();
    let count = u32::try_from(latencies.len())?;
    let percentile = |of_100: usize| {
        latencies.get(latencies.len() * of_100 / 100).copied().unwrap_or_default().as_micros()
    };
    let cpu = if beside { "-".to_string() } else { format!("{:.1}", spent / f64::from(count)) };
    Ok(format!(
        "{:.0} | {} | {} | {cpu}",
        f64::from(count) / elapsed.as_secs_f64(),
        percentile(50),
        percentile(99)
    ))
}

async fn gets(
    address: SocketAddr,
    region: String,
    seed: usize,
    end: Instant,
) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(address).await?;
    let mut latencies = Vec::new();
    let mut random = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while Instant::now() < end {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let row = usize::try_from(random % ROWS as u64)?;
        let get = convert::get::to_proto(&Get::new(key(row)))?;
        let start = Instant::now();
        connection.call::<ClientGet>(&pb::GetRequest { region: specifier(&region), get }).await?;
        latencies.push(start.elapsed());
    }
    Ok(latencies)
}

/// Scans all rows repeatedly, a thousand per response.
async fn scan(address: SocketAddr, region: String, stop: Arc<AtomicBool>) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    let query = convert::scan::to_proto(&Scan::all().into())?;
    while !stop.load(Relaxed) {
        let open = pb::ScanRequest {
            region: Some(specifier(&region)),
            scan: Some(query.clone()),
            number_of_rows: Some(1000),
            ..Default::default()
        };
        let mut answer: pb::ScanResponse = connection.call::<ClientScan>(&open).await?;
        let id = answer.scanner_id;
        let mut call = 0;
        while answer.more_results_in_region() && !stop.load(Relaxed) {
            let next = pb::ScanRequest {
                scanner_id: id,
                number_of_rows: Some(1000),
                next_call_seq: Some(call),
                ..Default::default()
            };
            answer = connection.call::<ClientScan>(&next).await?;
            call += 1;
        }
    }
    Ok(())
}

fn specifier(region: &str) -> pb::RegionSpecifier {
    let encoded = pb::region_specifier::RegionSpecifierType::EncodedRegionName;
    pb::RegionSpecifier { r#type: encoded.into(), value: region.to_string().into() }
}

struct Connection {
    stream: TcpStream,
    received: BytesMut,
    calls: u32,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let header = pb::ConnectionHeader {
            user_info: Some(pb::UserInformation {
                effective_user: "bench".to_string(),
                real_user: None,
            }),
            service_name: Some(Service::Client.name().to_string()),
            cell_block_codec_class: Some("org.apache.hadoop.hbase.codec.KeyValueCodec".to_string()),
            version_info: Some(pb::VersionInfo {
                version: "2.6.4".to_string(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut out = BytesMut::new();
        encode_connection(Auth::Simple, &header, &mut out)?;
        stream.write_all(&out).await?;
        Ok(Self { stream, received: BytesMut::new(), calls: 0 })
    }

    async fn call<C: RpcMethod>(&mut self, request: &C::Request) -> Result<C::Response> {
        self.calls += 1;
        let mut out = BytesMut::new();
        encode_request::<C>(self.calls, request, RequestOptions::default(), None, &mut out)?;
        self.stream.write_all(&out).await?;
        loop {
            match next_frame(&mut self.received, &RpcLimits::default())
                .map_err(|fault| fault.to_string())?
            {
                FrameStatus::Frame(frame) => {
                    let response = decode_response(&frame).map_err(|fault| fault.to_string())?;
                    let answer = response.result.map_err(|exception| format!("{exception:?}"))?;
                    return Ok(answer.message().map_err(|fault| fault.to_string())?);
                }
                FrameStatus::Need(bytes) => {
                    self.received.reserve(bytes);
                    if self.stream.read_buf(&mut self.received).await? == 0 {
                        return Err("the server closed the connection".into());
                    }
                }
                _ => return Err("an answer that cannot be".into()),
            }
        }
    }
}

/// Processor time of a process in microseconds.
fn cpu_us(process: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> =
        text.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields.get(11).ok_or("no time")?.parse::<f64>()?
        + fields.get(12).ok_or("no time")?.parse::<f64>()?;
    #[expect(clippy::cast_precision_loss, reason = "a hundred or so")]
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Ok(ticks / per_second * 1e6)
}
