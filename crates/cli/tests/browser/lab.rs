//! The server of all tests with its tables, and the traffic of known shapes on it.
//!
//! Columns of a heat map are ten seconds wide and time is real here, so the traffic of all shapes
//! runs at once, from the first test on.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::chromium::{Browser, browser};
use crate::guarded::Guarded;
use crate::heat_answer::{steady_columns, table_of};
use crate::http;
use crate::program::{LIMIT, halite, output_of};
use crate::tab::Tab;

/// Width of a column, in milliseconds.
pub(crate) const COLUMN_MS: i64 = 10_000;
/// Time of the traffic of each shape: six columns and their edges.
const TRAFFIC: Duration = Duration::from_secs(75);
const RATE: &str = "150";
/// Operations of which one is recorded, so that there are some hundreds of each shape.
const OPERATION_LOG_RATE: &str = "10";
/// A third of the batch job's period is busy: the columns alternate.
const PERIOD: &str = "30s";
/// Columns of a span that a test needs, at least.
const MIN_STEADY_COLUMNS: usize = 4;
/// Runs of the traffic of a shape, at most.
const MAX_RUNS: usize = 6;
const SHAPES: [&str; 9] = [
    "even",
    "frontier",
    "hot-row",
    "hot-prefix",
    "hot-range",
    "periodic",
    "sweep",
    "salt-imbalance",
    "tombstone-head",
];

/// Regions of the table `many`.
pub(crate) const MANY: u64 = 2000;

/// Requests of the regions of `testtable`, as the tutorials show them.
pub(crate) const REQUESTS: [u64; 4] = [21, 22, 31, 23];

/// Server of the tests: one for all, and those of [`Lab::serve`].
pub(crate) struct Lab {
    _server: Guarded,
    http: SocketAddr,
    master: SocketAddr,
    traffic: Vec<Mutex<Traffic>>,
}

/// Traffic of one shape.
struct Traffic {
    _process: Guarded,
    /// Time of its end in milliseconds since the epoch, or its output if that was not a summary.
    end: Arc<OnceLock<Result<i64, String>>>,
}

/// Returns the server and the browser, or `None` if there is no browser and that is allowed.
pub(crate) fn lab() -> Option<(&'static Lab, &'static Browser)> {
    static LAB: OnceLock<Lab> = OnceLock::new();
    let browser = browser()?;
    Some((LAB.get_or_init(Lab::start), browser))
}

/// Opens a tab on the server of all tests, or returns `None` as [`lab`].
pub(crate) fn tab() -> Option<(&'static Lab, Tab)> {
    let (lab, browser) = lab()?;
    Some((lab, Tab::open(browser, &lab.origin())))
}

pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

impl Lab {
    fn start() -> Self {
        let arguments = ["--ephemeral", "--operation-log-rate", OPERATION_LOG_RATE];
        let mut lab = Self::serve(&arguments, &folder("server"));
        lab.traffic = SHAPES.iter().map(|shape| Mutex::new(lab.send(shape))).collect();
        lab.shell(&tables());
        lab
    }

    /// Starts a server without tables; `folder` is removed after its end.
    pub(crate) fn serve(options: &[&str], folder: &Path) -> Self {
        const PORTS: [&str; 4] =
            ["--zookeeper-port", "--master-port", "--regionserver-port", "--http-port"];
        let ports = PORTS.iter().flat_map(|port| [*port, "0"]);
        let arguments: Vec<&str> =
            std::iter::once("serve").chain(ports).chain(options.iter().copied()).collect();
        let server = Guarded::start(env!("CARGO_BIN_EXE_halite"), &arguments, folder);
        let ready = server.stdout().find(LIMIT, |text| {
            let line = text.lines().find(|line| line.starts_with("ready "))?;
            line.contains("http=").then(|| line.to_owned())
        });
        let Some(ready) = ready else {
            panic!("{}", server.failure_message("did not become ready"));
        };
        let address = |name: &str| -> SocketAddr {
            let mut words = ready.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)).unwrap().parse().unwrap()
        };
        let (http, master) = (address("http="), address("master="));
        Self { _server: server, http, master, traffic: Vec::new() }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.http)
    }

    fn uri(&self) -> String {
        format!("rpc://{}", self.master)
    }

    /// Runs lines of the shell.
    #[track_caller]
    pub(crate) fn shell(&self, lines: &str) {
        let output = output_of(halite().args(["shell", "--connect", &self.uri()]), lines);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !text.contains("ERROR"), "{text}");
    }

    /// Starts the traffic of a shape.
    fn send(&self, shape: &str) -> Traffic {
        let (uri, duration) = (self.uri(), format!("{}s", TRAFFIC.as_secs()));
        let arguments = [
            "traffic",
            shape,
            "--connect",
            &uri,
            "--rate",
            RATE,
            "--period",
            PERIOD,
            "--duration",
            &duration,
            "--threads",
            "4",
        ];
        let process = Guarded::start(
            env!("CARGO_BIN_EXE_halite"),
            &arguments,
            &folder(&format!("traffic-{shape}")),
        );
        let output = process.stdout().clone();
        let end = Arc::new(OnceLock::new());
        let told = Arc::clone(&end);
        std::thread::spawn(move || {
            let ended = output.find(LIMIT, |text| text.contains(" operations in ").then_some(()));
            told.set(ended.map(|()| now_ms()).ok_or_else(|| output.text()))
        });
        Traffic { _process: process, end }
    }

    /// Waits for the end of the traffic of a shape; returns from when to when it filled columns,
    /// in milliseconds since the epoch. Traffic that a machine interrupted too often is sent again.
    #[track_caller]
    pub(crate) fn span_of(&self, shape: &str) -> (i64, i64) {
        let at = SHAPES.iter().position(|name| *name == shape).unwrap();
        let mut traffic = self.traffic[at].lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_RUNS {
            let span = traffic.await_span(shape);
            if self.steady_columns(shape, span).len() >= MIN_STEADY_COLUMNS {
                return span;
            }
            if shape == "tombstone-head" {
                // A queue of another run would begin with its tombstones.
                let table = table_of(shape);
                self.shell(&format!("disable '{table}'\ndrop '{table}'\n"));
            }
            *traffic = self.send(shape);
        }
        panic!("the traffic of {shape} was interrupted in each of {MAX_RUNS} runs");
    }

    /// Returns the numbers of the columns of a span of [`Lab::span_of`] in which the traffic had its
    /// rate: all of traffic that pauses.
    pub(crate) fn steady_columns(&self, shape: &str, span: (i64, i64)) -> Vec<u64> {
        let (steady, columns) = steady_columns(|path| self.json(path), &table_of(shape), span);
        if shape == "periodic" { (0..columns as u64).collect() } else { steady }
    }

    /// Returns the body of an answer of the server.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> String {
        http::get(self.http, path)
    }

    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path)).unwrap()
    }
}

impl Traffic {
    /// Waits for its end; returns from when to when it filled columns.
    #[track_caller]
    fn await_span(&self, shape: &str) -> (i64, i64) {
        let end = halite_patience::poll_until(LIMIT, || self.end.get().cloned());
        let end = end.unwrap().unwrap_or_else(|output| panic!("traffic of {shape}: {output}"));
        let start = end - i64::try_from(TRAFFIC.as_millis()).unwrap();
        // Threads are late by moments at both ends.
        let first = (start + 2000) / COLUMN_MS + 1;
        (first * COLUMN_MS, (end - 1000) / COLUMN_MS * COLUMN_MS)
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// Texts that would be markup, or that a terminal or an editor would act on.
pub(crate) const HOSTILE: [&str; 5] = [
    "<script>window.ran = 1</script>",
    "<img src=x onerror=window.ran=1>",
    "'\"><svg onload=window.ran=1>",
    "\u{202e}txt.exe\u{200b}",
    "javascript:window.ran=1",
];

/// Lines of the shell that make the tables.
fn tables() -> String {
    let mut lines = "create 'testtable', 'common', 'data', SPLITS => ['1', '2', '3']\n".to_owned();
    // Writing to a string cannot fail.
    for (region, count) in REQUESTS.iter().enumerate() {
        for row in 0..*count {
            let _ = writeln!(lines, "put 'testtable', '{region}{row:02}', 'data:q', '{row}'");
        }
    }
    lines += "CREATE TABLE users (name STRING FAMILY info QUALIFIER name, age STRING FAMILY info \
              QUALIFIER age, email STRING FAMILY info QUALIFIER email, ROW KEY TEXT \
              'user_{user_id:5}');\n";
    for (qualifier, value) in
        [("name", "\u{5f20}\u{4e09}"), ("age", "25"), ("email", "zhangsan@example.com")]
    {
        let _ = writeln!(lines, "put 'users', 'user_12345', 'info:{qualifier}', '{value}'");
    }
    for user in 0..40 {
        let _ = writeln!(lines, "put 'users', 'user_{user:05}', 'info:name', 'user {user}'");
    }
    lines += &hostile();
    let _ =
        writeln!(lines, "create 'many', 'f', NUMREGIONS => {MANY}, SPLITALGO => 'HexStringSplit'");
    lines
}

/// Rows whose keys, qualifiers and values are the hostile texts, and bytes that are no text.
fn hostile() -> String {
    let quoted = |text: &str| {
        let mut out = String::new();
        for byte in text.bytes() {
            let _ = write!(out, "\\x{byte:02x}");
        }
        out
    };
    let mut lines = "create 'hostile', 'f'\n".to_owned();
    for text in HOSTILE {
        let text = quoted(text);
        let _ = writeln!(lines, "put 'hostile', \"{text}\", \"f:{text}\", \"{text}\"");
    }
    let long = "\\xfe".repeat(32_000);
    for key in ["\\x00\\x01\\x1b[31m", "\\xff\\xc3\\x28\\xfe", long.as_str()] {
        let _ = writeln!(lines, "put 'hostile', \"{key}\", \"f:\\xff\", \"{key}\"");
    }
    lines
}
