//! psql. Where it is not installed, the tests say so and pass, except in CI.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::door::Door;

#[expect(clippy::print_stderr, reason = "who runs the tests should know what did not run")]
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// Returns `true` if a program is there.
pub(crate) fn has(program: &str) -> bool {
    let version = if program == "go" { "version" } else { "--version" };
    let found = Command::new(program).arg(version).stdout(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    if !is_there {
        assert!(
            std::env::var_os("CI").is_none(),
            "{program} is not installed, and CI skips nothing"
        );
        skipped(&format!("{program} is not installed"));
    }
    is_there
}

fn psql(door: &Door, arguments: &[&str]) -> Command {
    let mut command = Command::new("psql");
    command.args(["-X", "-w", "-h", "127.0.0.1", "-U", "ann", "-d", "halite", "-p"]);
    command.arg(door.address.port().to_string()).args(arguments);
    command.env("PSQL_PAGER", "").env("LC_ALL", "C.UTF-8");
    command
}

pub(crate) fn text(output: &Output) -> String {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}

/// Runs psql, which must succeed, and returns what it prints.
pub(crate) fn printed(door: &Door, arguments: &[&str]) -> String {
    let output = psql(door, arguments).output().expect("psql runs");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    text(&output)
}

#[test]
fn psql_describes_what_is_there() {
    if !has("psql") {
        return;
    }
    let door = Door::with_rows(3);
    door.rows(&door.client(), "UPSERT INTO t (n, name) VALUES (9, NULL)");
    for (command, expected) in [
        ("\\l", "halite"),
        ("\\dn", "public"),
        ("\\dt", "t"),
        ("\\d", "t"),
        ("\\d t", "bigint"),
        ("\\d+ t", "bigint"),
        ("\\di", "t"),
        ("\\dv", ""),
        ("\\du", ""),
        ("\\df", ""),
        ("\\conninfo", "halite"),
        ("SELECT n, name FROM t WHERE n > 1", "9 |"),
        ("EXPLAIN SELECT * FROM t WHERE n = 1", "gets"),
        ("UPDATE t SET v = 5 WHERE n = 1", "UPDATE 1"),
        ("EXPLAIN ANALYZE UPDATE t SET v = 6 WHERE n = 1", "1 rows: 1 puts, 0 deletes"),
        ("SELECT query FROM halite.queries", "SELECT query FROM halite.queries"),
    ] {
        let shown = printed(&door, &["-c", command]);
        assert!(shown.contains(expected) && !shown.contains("ERROR"), "{command}: {shown}");
    }
    assert!(printed(&door, &["-x", "-c", "SELECT 1 AS one"]).contains("one | 1"));
    // One value, whose lines psql prints as they are.
    let json = printed(&door, &["-At", "-c", "EXPLAIN (FORMAT json) SELECT v FROM t WHERE n = 1"]);
    assert!(json.starts_with("{\n  \"version\": 1,\n") && json.ends_with("\n}\n"), "{json}");
    assert!(json.contains("\"gets\": 1,"), "{json}");
    let of_write = "EXPLAIN (ANALYZE, FORMAT json) DELETE FROM t WHERE n = 9";
    let json = printed(&door, &["-At", "-c", of_write]);
    assert!(json.contains("\"tag\": \"DELETE 1\",") && json.contains("\"deletes\": 1,"), "{json}");
    let left = printed(&door, &["-At", "-c", "SELECT count(*) FROM t WHERE n = 9"]);
    assert_eq!(left, "0\n");
    let failed = psql(&door, &["-c", "SELEC nothing\nFROM t"]).output().expect("psql runs");
    let shown = text(&failed);
    assert!(!failed.status.success() && shown.contains("LINE 1: SELEC nothing"), "{shown}");
}

#[test]
fn psql_copies_files() {
    if !has("psql") {
        return;
    }
    let door = Door::with_rows(0);
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    let rows: Vec<String> = (0..5000).map(|n| format!("{n},\"row, {n}\",{}\n", 2 * n)).collect();
    let lines = format!("n,name,v\n{}", rows.concat());
    std::fs::write(file("in.csv"), &lines).expect("a file");
    let copied = format!("\\copy t from '{}' with (format csv, header match)", file("in.csv"));
    assert_eq!(printed(&door, &["-c", &copied]), "COPY 5000\n");
    printed(&door, &["-c", &format!("\\copy t to '{}' csv header", file("out.csv"))]);
    assert_eq!(std::fs::read_to_string(file("out.csv")).expect("a file"), lines);
    let binary = format!("\\copy t to '{}' binary", file("out.bin"));
    assert_eq!(printed(&door, &["-c", &binary]), "COPY 5000\n");
    printed(&door, &["-c", "DELETE FROM t"]);
    printed(&door, &["-c", &format!("\\copy t from '{}' binary", file("out.bin"))]);
    let sum = printed(&door, &["-At", "-c", "SELECT count(*), sum(v) FROM t"]);
    assert_eq!(sum, "5000|24995000\n");
    std::fs::write(file("bad.csv"), "9000,a,1\n9001,b,x\n").expect("a file");
    let bad = psql(&door, &["-c", &format!("\\copy t from '{}' csv", file("bad.csv"))]).output();
    let bad = text(&bad.expect("psql runs"));
    assert!(bad.contains("line 2, column v") && bad.contains("1 row(s) were written"), "{bad}");
}

#[test]
fn psql_cancels_by_an_interrupt() {
    if !has("psql") {
        return;
    }
    let door = Door::with_rows(2000);
    let heavy = "SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.v + b.v + c.v < 0";
    let mut command = psql(&door, &["-c", heavy]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("psql runs");
    let client = door.client();
    let running = "SELECT 1 FROM halite.queries WHERE state = 'running' AND rows_examined > 0 AND \
                   query LIKE 'SELECT count(*) FROM t AS a%'";
    let started = Instant::now();
    while door.rows(&client, running).is_empty() {
        assert!(started.elapsed() < Duration::from_mins(2), "it does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("a signal");
    let shown = text(&child.wait_with_output().expect("psql ends"));
    assert!(shown.contains("the statement was cancelled by its user"), "{shown}");
}

/// Page of the documentation.
fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md")
}

/// Returns the code blocks of the first section of the page: what is typed, and what psql answers.
fn first_steps(page: &str) -> Vec<(&str, &str)> {
    let (_, section) = page.split_once("\n## First steps\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    let blocks = section.split("```sql\n").skip(1).map(|block| {
        let (typed, rest) = block.split_once("```\n").expect("the end of the statements");
        let (_, answer) = rest.split_once("```text\n").expect("an answer follows");
        let (answer, _) = answer.split_once("```\n").expect("the end of the answer");
        (typed, answer)
    });
    blocks.collect()
}

/// Types text into psql, and returns what it shows: its output, then its messages.
fn typed_into_psql(door: &Door, typed: &str) -> String {
    let mut command = psql(door, &[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("psql runs");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(typed.as_bytes()).expect("psql reads");
    drop(input);
    let shown = text(&child.wait_with_output().expect("psql ends"));
    let lines = shown.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// `HALITE_UPDATE_GOLDEN` rewrites the answers on the page.
#[test]
fn first_steps_of_the_page_are_typed_into_psql() {
    let page_text = std::fs::read_to_string(page()).expect("the page");
    let steps = first_steps(&page_text);
    assert!(steps.len() >= 6, "{} blocks", steps.len());
    if !has("psql") {
        return;
    }
    let door = Door::new();
    let shown = steps.iter().map(|(typed, _)| typed_into_psql(&door, typed)).collect::<Vec<_>>();
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        let mut updated = page_text.clone();
        for ((typed, answer), shown) in steps.iter().zip(&shown) {
            let block = |answer: &str| format!("{typed}```\n\n```text\n{answer}```\n");
            updated = updated.replacen(&block(answer), &block(shown), 1);
        }
        std::fs::write(page(), updated).expect("the page");
        return;
    }
    for ((typed, answer), shown) in steps.iter().zip(&shown) {
        assert_eq!(shown, answer, "{typed}");
    }
}
