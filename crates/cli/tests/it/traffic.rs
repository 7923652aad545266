//! `halite traffic` as a process: its list, Ctrl-C, and the end of a run.

use std::time::{Duration, SystemTime};

use halite_patience::Program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::program::{self, LIMIT, ended, output};
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
        .map(|(shape, _)| start_on(&server, &format!("{shape} --rate 200 --period 30s")))
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

#[test]
fn server_names_no_shape_of_even_traffic() {
    let server = TestServer::start(&["--ephemeral"]);
    let tables: Vec<String> = (1..=20).map(|seed| format!("even{seed}")).collect();
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

#[test]
fn list_has_one_line_for_each_shape() {
    let output = output(program::halite().args(["traffic", "--list"]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(0), 10), "{text}");
    assert!(text.lines().any(|line| line.starts_with("tombstone-head")), "{text}");
}

#[test]
fn interrupt_ends_run_with_summary_and_closed_store() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let mut traffic = Program::start(program::halite().args([
        "traffic",
        "hot-row",
        "--data",
        data,
        "--duration",
        "forever",
        "--regions",
        "3",
    ]))
    .unwrap();
    let is_running = |text: &str| text.contains("p99 ms").then_some(());
    assert!(traffic.stdout().find(LIMIT, is_running).is_some(), "{}", traffic.stdout().text());
    kill_process(Pid::from_child(traffic.child()), Signal::INT).unwrap();
    let output = ended(traffic);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains(" operations in ") && text.contains(" 0 errors"), "{text}");

    // The next run finds the table in the closed store, and drops it.
    let output = program::output(program::halite().args([
        "traffic",
        "hot-row",
        "--data",
        data,
        "--duration",
        "100ms",
        "--regions",
        "3",
        "--drop-at-end",
    ]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains(": exists, and has its rows"), "{text}");
    let listed = program::output_of(program::halite().args(["shell", "--data", data]), "list\n");
    assert!(!String::from_utf8_lossy(&listed.stdout).contains("traffic_hot_row"));
}

#[test]
fn shape_is_required_and_misspelt_one_is_refused() {
    for arguments in [&["traffic"][..], &["traffic", "hot-rwo"]] {
        assert_eq!(output(program::halite().args(arguments)).status.code(), Some(2));
    }
}
