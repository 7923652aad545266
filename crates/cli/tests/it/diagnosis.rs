//! Shapes that a server names while `halite traffic` runs.
//!
//! Each test waits for more than two minutes of columns. By its name this module starts early, so
//! that others run beside it.

use std::process::Output;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use halite_patience::Program;
use rustix::process::Signal;
use serde_json::Value;

use crate::heat_answer::{steady_columns, table_of};
use crate::program::{self, ended};
use crate::serve::TestServer;
use crate::web::json;

/// Time of a run on a server: the columns of the diagnosis and their edges.
const RUN: Duration = Duration::from_secs(140);
/// Runs of a shape, at most.
const MAX_RUNS: usize = 3;

/// Traffic on a table of a server.
struct Traffic {
    /// Waits for its end, and returns its output and the time.
    ended: JoinHandle<(Output, i64)>,
    table: String,
}

impl Traffic {
    /// Starts it; the words of `run` are its shape and options.
    fn start(server: &TestServer, table: &str, run: &str) -> Self {
        let uri = format!("rpc://{}", server.address("master"));
        let duration = format!("{}s", RUN.as_secs());
        let mut command = program::halite();
        command.arg("traffic").args(run.split_whitespace());
        command.args(["--table", table, "--connect", &uri, "--duration", &duration]);
        command.args(["--threads", "2"]);
        let program = Program::start(&mut command).unwrap();
        let ended = std::thread::spawn(|| (ended(program), now_ms()));
        Self { ended, table: table.to_owned() }
    }

    /// Waits for its end, and returns what the server says about the shape of the load in its whole
    /// columns, and whether all of these had the rate of the traffic.
    #[track_caller]
    fn diagnosis(self, server: &TestServer) -> (Value, bool) {
        let (output, end_ms) = self.ended.join().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(" 0 errors"), "{text}");
        let run_ms = i64::try_from(RUN.as_millis()).unwrap();
        let from = (end_ms - run_ms) / 10_000 * 10_000 + 10_000;
        let ask = |path: &str| json(server.address("http"), path);
        let path = format!("/api/tables/{}/diagnosis?from={from}&to={end_ms}", self.table);
        let finding = ask(&path)["findings"][0].clone();
        // Threads are late by moments at both ends.
        let whole = (from + 10_000, end_ms / 10_000 * 10_000 - 10_000);
        let (steady, columns) = steady_columns(ask, &self.table, whole);
        (finding, steady.len() == columns)
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// Runs traffic of these shapes, with these options, each on its table and all at once. Those whose
/// diagnosis is not the expected one run again, on another table, if the machine interrupted them.
/// The first shape, which has no pauses, runs again with them and tells whether it did.
fn expect_diagnoses(server: &TestServer, runs: &[(String, String)], expected: &[&str]) {
    let mut left: Vec<usize> = (0..runs.len()).collect();
    for number in 0..MAX_RUNS {
        let start = |at: usize| {
            let (table, run) = &runs[at];
            (at, Traffic::start(server, &format!("{table}_{number}"), run))
        };
        let started: Vec<(usize, Traffic)> = left.iter().map(|at| start(*at)).collect();
        let (mut wrong, mut is_interrupted) = (Vec::new(), false);
        left.clear();
        for (at, traffic) in started {
            let (finding, is_steady) = traffic.diagnosis(server);
            // What is periodic pauses by itself.
            is_interrupted |= !is_steady && expected[at] != "periodic";
            let is_ok = finding["severity"] == "ok";
            if finding["shape"] != expected[at] || is_ok != (expected[at] == "even") {
                wrong.push(format!("{}, expected {}: {finding}", runs[at].1, expected[at]));
                left.push(at);
            }
        }
        if left.is_empty() {
            return;
        }
        assert!(is_interrupted, "{wrong:#?}");
        if left[0] != 0 {
            left.insert(0, 0);
        }
    }
    panic!("interrupted in each of {MAX_RUNS} runs, with another diagnosis: {left:?}");
}

#[test]
fn server_names_each_shape() {
    let server = TestServer::start(&["--ephemeral"]);
    let shapes = [
        ("even", "even"),
        ("frontier", "frontier"),
        ("hot-row", "hot_row"),
        ("hot-prefix", "hot_prefix"),
        ("hot-range", "hot_range"),
        ("periodic", "periodic"),
        ("sweep", "sweep"),
        ("salt-imbalance", "salt_imbalance"),
        ("tombstone-head", "tombstone_head"),
    ];
    let run = |(shape, _)| (table_of(shape), format!("{shape} --rate 200 --period 40s"));
    expect_diagnoses(&server, &shapes.map(run), &shapes.map(|(_, expected)| expected));
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}

/// The program's own tests have more seeds, on a simulated store.
#[test]
fn server_names_no_shape_of_even_traffic() {
    let server = TestServer::start(&["--ephemeral"]);
    let runs = [1, 2, 3, 4, 5, 6, 7, 8]
        .map(|seed| (format!("even{seed}"), format!("even --rate 40 --seed {seed}")));
    expect_diagnoses(&server, &runs, &["even"; 8]);
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}
