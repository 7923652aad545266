//! Slow readers and hostile frames: thousands of connections that read nothing, send one byte per
//! second, random bytes, huge lengths, partial frames, or valid requests with changed bytes. A
//! well-behaved client must receive its responses meanwhile, and the server must stay within its
//! memory limit.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use halite::{
    Cluster as _, FamilyDescriptor, Get, Put, RemoteCluster, Scan, TableDescriptor, TableExt as _,
};
use halite_wire::convert;
use halite_wire::proto as pb;
use halite_wire::rpc::{Auth, RequestOptions, encode_connection, encode_request};
use halite_wire::service::{
    ClientGet, ClientMulti, ClientMutate, ClientScan, MasterGetClusterStatus,
    MasterGetTableDescriptors, RpcMethod, Service,
};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use tokio::time::timeout;

use crate::context::Context;
use crate::faults::expect_right;
use crate::kills::{self, Failed, end_cleanly, expect_no_panic, record_load, unexpected};
use crate::load::{self, Load};
use crate::report::FindingKind;
use crate::served::{Ports, Served, ServerSetup, ms_since, resident_bytes};

const PART: &str = "hostile";

/// Maximum resident memory of the server. Its limits are lower: 32 MiB of blocks, memstores of a
/// few, 64 MiB for the network and the same for queued calls.
const MAX_RESIDENT_BYTES: u64 = 512 << 20;
/// Duration of one attack.
const BOUT_TIME: Duration = Duration::from_secs(8);
/// Maximum wait of a well-behaved client for a row.
const PROBE_LIMIT: Duration = Duration::from_secs(30);
/// Concurrent attackers.
const ATTACKERS: u8 = 8;
/// Idle connections that one attacker opens at once.
const CROWD: usize = 600;
/// Socket timeout of an attacker, so that it notices the end of the attack.
const SOCKET_LIMIT: Duration = Duration::from_millis(200);
/// Bytes of the tags of an append; the tags of more than two do not fit into a cell.
const MAX_TAG_BYTES: usize = 50_000;

/// Runs attacks until the time is over.
pub(crate) fn turn(context: &Context, seed: u64, until: Instant) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = context.folder(PART);
    let mut setting = kills::setting(context, &mut rng, folder.path());
    let more = [
        ("block-cache-size", "32m"),
        ("max-network-buffer-size", "64m"),
        ("max-call-queue-size", "64m"),
        ("max-request-size", "16m"),
    ];
    setting
        .flags
        .extend(more.into_iter().flat_map(|(name, value)| [format!("--{name}"), value.to_owned()]));
    setting.flags.extend(["--max-connections-per-address".to_owned(), "400".to_owned()]);
    let mut hostile = Hostile { context, seed, setting: &setting, rng };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| unexpected(&error));
    if let Err((fault, text)) = runtime.and_then(|runtime| runtime.block_on(hostile.run(until))) {
        context.report.find(PART, fault, seed, Some(&setting.data), text);
    }
}

struct Hostile<'a> {
    context: &'a Context,
    seed: u64,
    setting: &'a ServerSetup,
    rng: fastrand::Rng,
}

impl Hostile<'_> {
    async fn run(&mut self, until: Instant) -> Result<(), Failed> {
        let mut served = self.setting.start(&[]).map_err(|text| (FindingKind::Died, text))?;
        let config = load::config(&self.setting.ports.uri()).map_err(|error| unexpected(&error))?;
        let cluster = halite::connect_with(config).await.map_err(|error| unexpected(&error))?;
        load::create(&cluster, &mut self.rng).await.map_err(|error| unexpected(&error))?;
        let frames = Arc::new(self.frames(&cluster).await?);
        let mut load = Load::new(std::slice::from_ref(&cluster), 2, 300, &mut self.rng);
        while Instant::now() < until {
            load = self.bout(load, &mut served, &cluster, &frames, until).await?;
        }
        expect_no_panic(&served.log())?;
        end_cleanly(self.context, served, self.setting).map_err(|text| unexpected(&text))
    }

    /// Returns valid requests, to be sent damaged, on a table with large responses.
    async fn frames(&self, cluster: &RemoteCluster) -> Result<Frames, Failed> {
        let bulk = TableDescriptor::new(
            "bulk".parse().map_err(|error: halite::Error| unexpected(&error))?,
        )
        .family(FamilyDescriptor::new("f"));
        let name = bulk.name().clone();
        cluster.admin().create_table(bulk, Vec::new()).await.map_err(|error| unexpected(&error))?;
        let table = cluster.table(&name);
        for batch in 0..20 {
            let puts = (0..10)
                .map(|row| {
                    Put::new(format!("row-{batch:02}{row}"))
                        .add("f", "q", vec![b'x'; 20_000])
                        .into()
                })
                .collect();
            for result in table.batch(puts).await.map_err(|error| unexpected(&error))? {
                result.map_err(|error| unexpected(&error))?;
            }
        }
        let region =
            table.regions().await.map_err(|error| unexpected(&error))?.remove(0).full_name();
        Frames::new(&region).map_err(|error| unexpected(&error))
    }

    /// Attacks for some seconds, with concurrent well-behaved callers.
    async fn bout(
        &mut self,
        load: Load,
        served: &mut Served,
        cluster: &RemoteCluster,
        frames: &Arc<Frames>,
        until: Instant,
    ) -> Result<Load, Failed> {
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AttackCounters::default());
        let attackers: Vec<_> = (0..ATTACKERS)
            .map(|number| {
                let attacker = Attacker {
                    number,
                    ports: self.setting.ports,
                    frames: Arc::clone(frames),
                    rng: self.rng.fork(),
                    stop: Arc::clone(&stop),
                };
                let done = Arc::clone(&done);
                std::thread::spawn(move || attacker.attack(&done))
            })
            .collect();
        let running = load.start();
        let end = until.min(Instant::now() + BOUT_TIME);
        let watched = self.watch(served, cluster, end).await;
        stop.store(true, Relaxed);
        for attacker in attackers {
            // Each of its waits has a timeout, so the attacker ends.
            attacker.join().map_err(|_| unexpected(&"an attacker thread panicked"))?;
        }
        let mut load = running.stop().await.map_err(|text| (FindingKind::Hung, text))?;
        for (what, count) in [
            ("connections", &done.connections),
            ("frames and fragments sent", &done.sent),
            ("bytes answered", &done.received_bytes),
        ] {
            self.context.report.count(PART, what, count.load(Relaxed));
        }
        record_load(self.context, PART, self.seed, &load.metrics);
        watched?;
        let faults =
            timeout(Duration::from_mins(2), load.compare(&load::table(cluster), true)).await;
        let faults = faults
            .map_err(|_| (FindingKind::Hung, "a scan after an attack did not finish".to_owned()))?;
        expect_right(&faults.map_err(|error| unexpected(&error))?, "after an attack")?;
        expect_no_panic(&served.log())?;
        self.expect_no_panic_counted()?;
        self.context.report.count(PART, "bouts", 1);
        Ok(load)
    }

    /// Monitors the process and reads a row repeatedly.
    async fn watch(
        &self,
        served: &mut Served,
        cluster: &RemoteCluster,
        end: Instant,
    ) -> Result<(), Failed> {
        let table =
            cluster.table(&"bulk".parse().map_err(|error: halite::Error| unexpected(&error))?);
        while Instant::now() < end {
            if served.has_ended() {
                return Err((FindingKind::Died, served.failure_message("exited unexpectedly")));
            }
            let bytes = resident_bytes(served.id()).unwrap_or(0);
            self.context.report.largest(PART, "largest resident memory, MiB", bytes >> 20);
            if bytes > MAX_RESIDENT_BYTES {
                return Err(unexpected(&format!(
                    "{} MiB are resident, limit {} MiB",
                    bytes >> 20,
                    MAX_RESIDENT_BYTES >> 20
                )));
            }
            let begun = Instant::now();
            let row = timeout(PROBE_LIMIT, table.get(Get::new("row-107"))).await;
            match row.map_err(|_| {
                (
                    FindingKind::Hung,
                    format!(
                        "a get did not finish within {} s during an attack",
                        PROBE_LIMIT.as_secs()
                    ),
                )
            })? {
                Ok(row) if row.value("f", "q").is_some_and(|value| value.len() == 20_000) => {}
                Ok(row) => {
                    return Err((
                        FindingKind::Lost,
                        format!("a get during an attack returned {row:?}"),
                    ));
                }
                Err(error) => {
                    return Err(unexpected(&format!("a get during an attack failed: {error}")));
                }
            }
            self.context.report.largest(
                PART,
                "slowest get of a regular client, ms",
                ms_since(begun),
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Checks that the server's metrics count no panic, if they include panics.
    fn expect_no_panic_counted(&self) -> Result<(), Failed> {
        let page = page(self.setting.ports.http())
            .map_err(|error| unexpected(&format!("/metrics: {error}")))?;
        let is_above_zero =
            |line: &&str| line.contains("panic") && !line.starts_with('#') && !line.ends_with(" 0");
        match page.lines().find(is_above_zero) {
            Some(line) => Err((FindingKind::Died, format!("/metrics counts a panic: {line}"))),
            None if page.contains("halite_") => Ok(()),
            None => Err(unexpected(&format!(
                "/metrics contains no metrics: {}",
                halite_patience::tail(&page)
            ))),
        }
    }
}

fn page(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

/// Connection preambles and requests, with their lengths, for each service.
struct Frames {
    client: (Vec<u8>, Vec<Vec<u8>>),
    master: (Vec<u8>, Vec<Vec<u8>>),
}

impl Frames {
    fn new(region: &[u8]) -> halite::Result<Self> {
        let region = pb::RegionSpecifier {
            r#type: pb::region_specifier::RegionSpecifierType::RegionName.into(),
            value: Bytes::copy_from_slice(region),
        };
        let get = convert::get::to_proto(&Get::new("row-001"))?;
        let scan = convert::scan::to_proto(&Scan::all().into())?;
        let scan = pb::ScanRequest {
            region: Some(region.clone()),
            scan: Some(scan),
            number_of_rows: Some(1000),
            ..Default::default()
        };
        let action =
            |index| pb::Action { index: Some(index), get: Some(get.clone()), ..Default::default() };
        let gets = pb::RegionAction {
            region: region.clone(),
            atomic: Some(false),
            action: (0..22).map(action).collect(),
            ..Default::default()
        };
        let append = |row: &str, bytes: usize| {
            mutate(&region, pb::mutation_proto::MutationType::Append, row, bytes)
        };
        let client = vec![
            frame::<ClientGet>(&pb::GetRequest { region: region.clone(), get: get.clone() })?,
            frame::<ClientScan>(&scan)?,
            frame::<ClientMulti>(&pb::MultiRequest {
                region_action: vec![gets],
                ..Default::default()
            })?,
            frame::<ClientMutate>(&append("tagged", 100))?,
            frame::<ClientMutate>(&append("heavy", MAX_TAG_BYTES))?,
            frame::<ClientMutate>(&mutate(
                &region,
                pb::mutation_proto::MutationType::Put,
                "put",
                0,
            ))?,
        ];
        let master = vec![
            frame::<MasterGetClusterStatus>(&pb::GetClusterStatusRequest::default())?,
            frame::<MasterGetTableDescriptors>(&pb::GetTableDescriptorsRequest::default())?,
        ];
        Ok(Self {
            client: (beginning(Service::Client)?, client),
            master: (beginning(Service::Master)?, master),
        })
    }
}

/// Returns a mutation of one cell with this many bytes of tags.
fn mutate(
    region: &pb::RegionSpecifier,
    kind: pb::mutation_proto::MutationType,
    row: &str,
    tag_bytes: usize,
) -> pb::MutateRequest {
    let mut tags = Vec::new();
    if tag_bytes > 0 {
        halite_types::cell::write_tag(&mut tags, 70, &vec![7; tag_bytes]);
    }
    let value = pb::mutation_proto::column_value::QualifierValue {
        qualifier: Some("t".into()),
        value: Some("piece".into()),
        tags: Some(tags.into()),
        ..Default::default()
    };
    let mutation = pb::MutationProto {
        row: Some(Bytes::copy_from_slice(row.as_bytes())),
        mutate_type: Some(kind.into()),
        column_value: vec![pb::mutation_proto::ColumnValue {
            family: "f".into(),
            qualifier_value: vec![value],
        }],
        ..Default::default()
    };
    pb::MutateRequest { region: region.clone(), mutation, ..Default::default() }
}

fn frame<C: RpcMethod>(message: &C::Request) -> halite::Result<Vec<u8>> {
    let mut out = BytesMut::new();
    encode_request::<C>(1, message, RequestOptions::default(), None, &mut out)
        .map_err(|fault| halite::Error::invalid(fault.to_string()))?;
    Ok(out.to_vec())
}

fn beginning(service: Service) -> halite::Result<Vec<u8>> {
    let header = pb::ConnectionHeader {
        user_info: Some(pb::UserInformation {
            effective_user: "stranger".to_owned(),
            real_user: None,
        }),
        service_name: Some(service.name().to_owned()),
        cell_block_codec_class: Some("org.apache.hadoop.hbase.codec.KeyValueCodec".to_owned()),
        ..Default::default()
    };
    let mut out = BytesMut::new();
    encode_connection(Auth::Simple, &header, &mut out)
        .map_err(|fault| halite::Error::invalid(fault.to_string()))?;
    Ok(out.to_vec())
}

/// Counters of the attackers.
#[derive(Default)]
struct AttackCounters {
    connections: AtomicU64,
    sent: AtomicU64,
    received_bytes: AtomicU64,
}

struct Attacker {
    number: u8,
    ports: Ports,
    frames: Arc<Frames>,
    rng: fastrand::Rng,
    stop: Arc<AtomicBool>,
}

impl Attacker {
    fn attack(mut self, done: &AttackCounters) {
        while !self.is_stopped() {
            // The server may reject or close a connection.
            let _ = match self.rng.u32(..9) {
                0 => self.read_nothing(done),
                1 => self.drip(done),
                2 => self.send_noise(done),
                3 => self.announce(done),
                4 => self.send_half(done),
                5 => self.crowd(done),
                6 => self.send_http(done),
                _ => self.send_changed(done),
            };
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Connects from a separate address: limits apply per address, and well-behaved callers use
    /// another one.
    fn connect(&mut self, to: SocketAddr, done: &AttackCounters) -> std::io::Result<TcpStream> {
        let SocketAddr::V4(to) = to else { return Err(ErrorKind::Unsupported.into()) };
        if self.is_stopped() {
            return Err(ErrorKind::Interrupted.into());
        }
        let own = SocketAddrV4::new([127, 0, 0, 2 + self.number].into(), 0);
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        // The timeout applies to connecting, too.
        set_socket_timeout(&socket, Timeout::Send, Some(SOCKET_LIMIT))?;
        bind(&socket, &own)?;
        connect(&socket, &to)?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(SOCKET_LIMIT))?;
        done.connections.fetch_add(1, Relaxed);
        Ok(stream)
    }

    /// Opens a connection to a service, and returns it with a request of that service.
    fn begin(&mut self, done: &AttackCounters) -> std::io::Result<(TcpStream, Vec<u8>)> {
        let is_client = self.rng.u32(..4) > 0;
        let mut stream = self.connect(
            if is_client { self.ports.regionserver() } else { self.ports.master() },
            done,
        )?;
        let (beginning, frames) = if is_client { &self.frames.client } else { &self.frames.master };
        let frame = frames[self.rng.usize(..frames.len())].clone();
        stream.write_all(beginning)?;
        Ok((stream, frame))
    }

    fn read_nothing(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        let mut held = Vec::new();
        for _ in 0..6 {
            let (mut stream, frame) = self.begin(done)?;
            for _ in 0..200 {
                if self.is_stopped() || stream.write_all(&frame).is_err() {
                    break;
                }
                done.sent.fetch_add(1, Relaxed);
            }
            held.push(stream);
        }
        self.wait(Duration::from_secs(2));
        Ok(())
    }

    fn drip(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        let (mut stream, frame) = self.begin(done)?;
        for byte in frame.chunks(1).take(8) {
            stream.write_all(byte)?;
            done.sent.fetch_add(1, Relaxed);
            self.wait(Duration::from_millis(500));
        }
        Ok(())
    }

    fn send_noise(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        for _ in 0..20 {
            let port = [self.ports.regionserver(), self.ports.master()][self.rng.usize(..2)];
            let mut stream = self.connect(port, done)?;
            let noise: Vec<u8> = (0..self.rng.usize(1..20_000)).map(|_| self.rng.u8(..)).collect();
            if self.rng.bool() {
                stream.write_all(&self.frames.client.0.clone())?;
            }
            let _ = stream.write_all(&noise);
            done.sent.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Sends a length that is followed by fewer bytes, or none.
    fn announce(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        let mut held = Vec::new();
        for _ in 0..30 {
            let (mut stream, frame) = self.begin(done)?;
            let length = [u32::MAX, i32::MAX.cast_unsigned(), 1 << 30, 16 << 20, (16 << 20) + 1, 0]
                [self.rng.usize(..6)];
            stream.write_all(&length.to_be_bytes())?;
            let _ = stream.write_all(&frame);
            done.sent.fetch_add(1, Relaxed);
            held.push(stream);
        }
        self.wait(Duration::from_secs(1));
        Ok(())
    }

    fn send_half(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        let mut held = Vec::new();
        for _ in 0..50 {
            let (mut stream, frame) = self.begin(done)?;
            stream.write_all(&frame[..self.rng.usize(1..frame.len())])?;
            done.sent.fetch_add(1, Relaxed);
            held.push(stream);
        }
        self.wait(Duration::from_secs(1));
        Ok(())
    }

    fn crowd(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        let mut held = Vec::new();
        for _ in 0..CROWD {
            let port = [self.ports.regionserver(), self.ports.master(), self.ports.http()]
                [self.rng.usize(..3)];
            held.push(self.connect(port, done)?);
        }
        self.wait(Duration::from_secs(1));
        Ok(())
    }

    fn send_http(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        for _ in 0..20 {
            let mut stream = self.connect(self.ports.http(), done)?;
            let whole = b"GET /jmx?qry=Hadoop:* HTTP/1.1\r\nHost: x\r\nX-Long: \
                          aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n";
            let request = self.changed(whole);
            stream.write_all(&request)?;
            self.read_some(&mut stream, done);
        }
        Ok(())
    }

    /// Sends requests with changed bytes, in frames of the correct length.
    fn send_changed(&mut self, done: &AttackCounters) -> std::io::Result<()> {
        for _ in 0..20 {
            let (mut stream, _) = self.begin(done)?;
            for _ in 0..self.rng.usize(1..20) {
                let frames = &self.frames.client.1;
                let frame = frames[self.rng.usize(..frames.len())].clone();
                let changed = if self.rng.u32(..4) == 0 {
                    frame[4..].to_vec()
                } else {
                    self.changed(&frame[4..])
                };
                let length = u32::try_from(changed.len()).unwrap_or(0);
                stream.write_all(&[&length.to_be_bytes()[..], &changed].concat())?;
                done.sent.fetch_add(1, Relaxed);
            }
            if self.rng.bool() {
                self.read_some(&mut stream, done);
            }
        }
        Ok(())
    }

    /// Returns bytes of which some are changed, removed, doubled or added.
    fn changed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        for _ in 0..self.rng.usize(1..6) {
            if changed.is_empty() {
                break;
            }
            let at = self.rng.usize(..changed.len());
            match self.rng.u32(..6) {
                0 => changed.truncate(at),
                1 => changed.insert(at, self.rng.u8(..)),
                2 => drop(changed.remove(at)),
                // An unterminated varint, or the largest number.
                3 => drop(changed.splice(at..=at, [0xff; 9])),
                4 => changed[at] = [0, 0x7f, 0x80, 0xff][self.rng.usize(..4)],
                _ => changed[at] ^= 1 << self.rng.u32(..8),
            }
        }
        changed
    }

    fn read_some(&self, stream: &mut TcpStream, done: &AttackCounters) {
        let mut buffer = [0; 16 << 10];
        while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
            done.received_bytes.fetch_add(bytes as u64, Relaxed);
            if self.is_stopped() {
                return;
            }
        }
    }

    fn wait(&self, time: Duration) {
        let _ = halite_patience::poll_until(time, || self.is_stopped().then_some(()));
    }
}
