//! Latency of a load like YCSB B through HBase's protocol, with five open pages and without any.
//!
//! `cargo bench -p halite-cli --bench open_pages -- [PAIRS [SECONDS [RATE]]]`
//!
//! A server has the load the whole time. In every other round five clients ask for what the open
//! pages ask for, at the pages' intervals: the overview, the tables, the regions, the heat map and
//! the hot keys of the table. A round and the one after it are compared, in an order that changes;
//! printed are the medians of these ratios and about their errors. The goal is a ratio of the p99
//! of at most 1.05.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "it is a program that prints small numbers and ends at an error"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use halite::{BlockingCluster, BlockingTable, FamilyDescriptor, Get, Put, RowOp, TableDescriptor};

const ROWS: u64 = 100_000;
const REGIONS: u64 = 16;
const THREADS: u64 = 4;
const TABLE: &str = "usertable";
/// Interval of the requests of a page.
const PERIOD: Duration = Duration::from_secs(10);
/// Intervals between the requests for what changes slowly.
const SLOW: usize = 6;

/// Page of a browser: what it asks for in every interval, and by turns.
struct OpenPage {
    always: &'static [&'static str],
    by_turns: &'static [&'static str],
}

const INFO: &str = "/api/tables/usertable";
const FINDINGS: &str = "/api/tables/usertable/diagnosis";
const FRAME: &[&str] = &[INFO, FINDINGS, "/api/cluster"];

const PAGES: [OpenPage; 5] = [
    OpenPage {
        always: &["/api/cluster"],
        by_turns: &[
            "/api/tables?sort=-writes&limit=8&thumb=160x24",
            "/api/diagnosis",
            "/api/tasks",
            "/api/events?limit=8",
            "/api/cluster",
        ],
    },
    OpenPage {
        always: &["/api/tables?limit=100&thumb=104x20"],
        by_turns: &["/api/diagnosis", "/api/cluster"],
    },
    OpenPage { always: &["/api/tables/usertable/regions?limit=100&series=1"], by_turns: FRAME },
    // The last ten minutes, in a window of 1366 x 900.
    OpenPage { always: &["HEAT"], by_turns: FRAME },
    OpenPage {
        always: &["/api/tables/usertable/hot-keys?of=rows&limit=200&window=10m"],
        by_turns: FRAME,
    },
];

struct Server {
    child: Child,
    http: SocketAddr,
    master: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_halite"));
        command.arg("serve").arg("--data").arg(directory.path());
        for port in ["--zookeeper-port", "--master-port", "--regionserver-port", "--http-port"] {
            command.args([port, "0"]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let ready = lines.into_iter().find(|line| line.starts_with("ready ")).unwrap();
        let address = |name: &str| {
            let found = ready.split_whitespace().find_map(|word| word.strip_prefix(name));
            found.unwrap().parse().unwrap()
        };
        Self { child, http: address("http="), master: address("master="), _directory: directory }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn row(number: u64) -> Vec<u8> {
    format!("user{:016x}", halite_types::rng::split_mix(number)).into_bytes()
}

fn put(number: u64) -> Put {
    Put::new(row(number)).add("f", "field0", [7; 100])
}

fn load(cluster: &BlockingCluster) -> BlockingTable {
    let descriptor =
        TableDescriptor::new(TABLE.parse().unwrap()).family(FamilyDescriptor::new("f"));
    let splits: Vec<String> = (1..REGIONS).map(|part| format!("user{part:x}")).collect();
    let splits: Vec<&[u8]> = splits.iter().map(String::as_bytes).collect();
    cluster.create_table(descriptor, &splits).unwrap();
    let table = cluster.table(TABLE).unwrap();
    for first in (0..ROWS).step_by(1000) {
        let puts = (first..first + 1000).map(|number| RowOp::Put(put(number)));
        table.batch(puts.collect()).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
    }
    table
}

/// Load of all threads: the durations of the calls of the current round, in nanoseconds.
struct Load {
    durations: Arc<Mutex<Vec<u64>>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    /// Starts `rate` calls per second: 95 gets of 100, 5 puts.
    fn start(uri: &str, rate: u64) -> Self {
        let durations = Arc::<Mutex<Vec<u64>>>::default();
        let is_over = Arc::<AtomicBool>::default();
        let pause = Duration::from_secs(THREADS) / u32::try_from(rate).unwrap();
        let threads = (0..THREADS).map(|seed| {
            let table = BlockingCluster::connect(uri).unwrap().table(TABLE).unwrap();
            let (durations, is_over) = (Arc::clone(&durations), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut random = halite_types::rng::SplitMix64::new(seed);
                let mut due = Instant::now();
                while !is_over.load(Relaxed) {
                    due += pause;
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    let number = random.next_u64() % ROWS;
                    let began = Instant::now();
                    if random.next_u64().is_multiple_of(20) {
                        table.put(put(number)).unwrap();
                    } else {
                        assert!(!table.get(Get::new(row(number))).unwrap().is_empty());
                    }
                    let took = began.elapsed();
                    // Calls that a pause of the machine delayed are not made up for.
                    due = due.max(began);
                    durations.lock().unwrap().push(u64::try_from(took.as_nanos()).unwrap());
                }
            })
        });
        let threads = threads.collect();
        Self { durations, is_over, threads }
    }

    /// Returns the median and the p99 of a time, in microseconds.
    fn measure(&self, time: Duration) -> (f64, f64) {
        self.durations.lock().unwrap().clear();
        std::thread::sleep(time);
        let mut durations = std::mem::take(&mut *self.durations.lock().unwrap());
        durations.sort_unstable();
        let quantile = |part: usize| durations[durations.len() * part / 100] as f64 / 1000.0;
        (quantile(50), quantile(99))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// Sends a request and reads its answer.
fn ask(http: SocketAddr, path: &str) -> usize {
    let mut stream = TcpStream::connect(http).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let line = answer.split(|byte| *byte == b'\r').next().unwrap();
    // A server with too much to do sends pages away, which ask again later.
    let line = String::from_utf8_lossy(line).into_owned();
    assert!(line.contains(" 200 ") || line.contains(" 503 "), "{path}: {line}");
    answer.len()
}

fn heat_path() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let from = now - 600_000;
    format!(
        "/api/tables/{TABLE}/heat?metric=reads&order=physical&scale=region&rows=640&cols=880&from={from}&to={now}"
    )
}

/// Pages that ask while they are open.
struct OpenPages {
    are_open: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    _threads: Vec<std::thread::JoinHandle<()>>,
}

impl OpenPages {
    fn start(http: SocketAddr) -> Self {
        let are_open = Arc::<AtomicBool>::default();
        let requests = Arc::<AtomicU64>::default();
        let threads = PAGES.iter().enumerate().map(|(at, page)| {
            let (are_open, requests) = (Arc::clone(&are_open), Arc::clone(&requests));
            std::thread::spawn(move || {
                // Pages are not opened at one time.
                std::thread::sleep(PERIOD * u32::try_from(at).unwrap() / 5);
                for turn in 0.. {
                    if are_open.load(Relaxed) {
                        requests.fetch_add(run(http, page, turn), Relaxed);
                    }
                    std::thread::sleep(PERIOD);
                }
            })
        });
        let threads = threads.collect();
        Self { are_open, requests, _threads: threads }
    }
}

/// Sends the requests of one interval of a page; returns their number.
fn run(http: SocketAddr, page: &OpenPage, turn: usize) -> u64 {
    let of_turn = page.by_turns.iter().enumerate().filter(|(at, _)| turn % SLOW == (at + 1) % SLOW);
    let paths = page.always.iter().chain(of_turn.map(|(_, path)| path));
    let asked = paths.map(|path| match *path {
        "HEAT" => ask(http, &heat_path()),
        path => ask(http, path),
    });
    asked.count() as u64
}

fn quantile(values: &[f64], part: usize, parts: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() * part / parts]
}

/// Median of the ratios of neighbouring rounds, and about its error.
fn ratio(without: &[f64], with: &[f64]) -> String {
    let ratios: Vec<f64> = without.iter().zip(with).map(|(without, with)| with / without).collect();
    let spread = quantile(&ratios, 3, 4) - quantile(&ratios, 1, 4);
    let error = spread / 2.0 / (ratios.len() as f64).sqrt();
    format!("{:.3} \u{b1} {error:.3}", quantile(&ratios, 1, 2))
}

fn main() {
    let arguments: Vec<u64> = std::env::args().filter_map(|text| text.parse().ok()).collect();
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let argument = |at: usize, other| arguments.get(at).copied().unwrap_or(other);
    // `cargo test --benches` runs this too, to see that it works.
    let (pairs, seconds) = if is_bench { (argument(0, 30), argument(1, 10)) } else { (1, 1) };
    let server = Server::start();
    let uri = format!("rpc://{}", server.master);
    let cluster = BlockingCluster::connect(&uri).unwrap();
    drop(load(&cluster));
    let load = Load::start(&uri, argument(2, 2000));
    let pages = OpenPages::start(server.http);
    // The first columns of the heat map.
    load.measure(Duration::from_secs(if is_bench { 30 } else { 1 }));
    let mut rounds = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for round in 0..2 * usize::try_from(pairs).unwrap() {
        let are_open = (round + round / 2) % 2 == 1;
        pages.are_open.store(are_open, Relaxed);
        let (median, p99) = load.measure(Duration::from_secs(seconds));
        let (medians, p99s) = &mut rounds[usize::from(are_open)];
        medians.push(median);
        p99s.push(p99);
    }
    let [without, with] = &rounds;
    println!("{pairs} pairs of {seconds} s, {} requests of pages", pages.requests.load(Relaxed));
    println!("{:<6}{:>16}{:>16}{:>16}", "", "without us", "five pages us", "ratio");
    for (name, without, with) in [("p50", &without.0, &with.0), ("p99", &without.1, &with.1)] {
        let (a, b) = (quantile(without, 1, 2), quantile(with, 1, 2));
        println!("{name:<6}{a:>16.0}{b:>16.0}{:>16}", ratio(without, with));
    }
}
