//! Shapes that a server names while `halite traffic` runs.
//!
//! Each test waits for more than two minutes of columns. By its name this module starts early, so
//! that others run beside it.

use std::time::{Duration, SystemTime};

use halite_patience::Program;
use rustix::process::Signal;
use serde_json::Value;

use crate::program::{self, ended};
use crate::serve::TestServer;
use crate::web::json;

/// Time of a run on a server: the columns of the diagnosis and their edges.
const RUN: Duration = Duration::from_secs(140);

/// Returns what a server says about the shape of the load of a table, in the whole columns of the
/// last run.
fn diagnosis(server: &TestServer, table: &str, end_ms: u128) -> Value {
    let from = (end_ms - RUN.as_millis()) / 10_000 * 10_000 + 10_000;
    let path = format!("/api/tables/{table}/diagnosis?from={from}&to={end_ms}");
    json(server.address("http"), &path)["findings"][0].clone()
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()
}

/// Starts traffic on a server; the words of `run` are its shape and options.
fn start_on(server: &TestServer, run: &str) -> Program {
    let uri = format!("rpc://{}", server.address("master"));
    let duration = format!("{}s", RUN.as_secs());
    let mut command = program::halite();
    command.arg("traffic").args(run.split_whitespace());
    command.args(["--connect", &uri, "--duration", &duration, "--threads", "2"]);
    Program::start(&mut command).unwrap()
}

#[track_caller]
fn end_of(traffic: Program) {
    let output = ended(traffic);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains(" 0 errors"), "{text}");
}

/// Runs the traffic of all shapes at once, each on its table.
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
    let started: Vec<Program> = shapes
        .map(|(shape, _)| start_on(&server, &format!("{shape} --rate 200 --period 40s")))
        .into();
    started.into_iter().for_each(end_of);
    let end_ms = now_ms();
    for (shape, expected) in shapes {
        let table = format!("traffic_{}", shape.replace('-', "_"));
        let finding = diagnosis(&server, &table, end_ms);
        assert_eq!(finding["shape"], expected, "{shape}: {finding}");
    }
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}

/// The program's own tests have more seeds, on a simulated store.
#[test]
fn server_names_no_shape_of_even_traffic() {
    let server = TestServer::start(&["--ephemeral"]);
    let tables: Vec<String> = (1..=8).map(|seed| format!("even{seed}")).collect();
    let start = |(seed, table): (usize, &String)| {
        start_on(&server, &format!("even --rate 40 --table {table} --seed {}", seed + 1))
    };
    let started: Vec<Program> = tables.iter().enumerate().map(start).collect();
    started.into_iter().for_each(end_of);
    let end_ms = now_ms();
    for table in tables {
        let finding = diagnosis(&server, &table, end_ms);
        assert_eq!(
            (&finding["shape"], &finding["severity"]),
            (&"even".into(), &"ok".into()),
            "{table}: {finding}"
        );
    }
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}
