//! `halite traffic` as a process: its list, Ctrl-C, and the end of a run.

use halite_patience::Program;
use rustix::process::{Pid, Signal, kill_process};

use crate::program::{self, LIMIT, ended, output};

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
