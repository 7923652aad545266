//! Logs: all five tables equal the model, and the check fails for the mistakes of the tutorials,
//! most of which are other declarations of the keys.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use halite::{BlockingCluster, Bytes, TableName};
use halite_recipes::logs::{Design, LOGS};
use halite_recipes::{
    Hook, HookedCluster, InProcessTarget, Load, Recipe as _, Site, check, explain,
};
use logs::{Found, Layout, Line, Logs, Question, TABLES};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 1_000 };

#[test]
fn p07_five_tables_equal_model_after_crash_at_each_write() {
    // A line is five writes, and 17 names of hosts and events are assigned numbers by three each
    // before.
    for batches in 700..705 {
        let report = backends::check_embedded(&LOGS, LOAD, batches).unwrap();
        assert!((130..140).contains(&report.acknowledged), "{report:?}");
        assert!(report.repaired < 5, "{report:?}");
    }
}

#[test]
fn p07_recipe_runs_through_client_and_server() {
    let load = Load { items: 300, ..LOAD };
    check(&LOGS, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 200)).unwrap();
}

#[test]
fn p07_each_key_has_its_fan_out_under_one_trace() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site { cluster: backends::open(&directory), namespace: "logs".to_owned() };
    let application = LOGS.open(&site, LOAD).unwrap();
    application.write(0..LOAD.items).unwrap();
    let mut out = Vec::new();
    explain(&*application, &site, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let plans: Vec<&str> = text.split("\n\n").filter(|plan| !plan.trim().is_empty()).collect();
    let fan_outs: Vec<&str> = plans
        .iter()
        .filter_map(|plan| plan.split("fan-out").nth(1)?.split_whitespace().next())
        .collect();
    assert_eq!(fan_outs, ["1", "1", "1", "1", "16", "1", "1"], "{text}");

    let mut out = Vec::new();
    application.measure(&mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    let number = |line: &str, column: usize| -> f64 {
        line.split_whitespace().nth(column).unwrap().parse().unwrap()
    };
    let lines: Vec<&str> = table.lines().skip(1).take(5).collect();
    let busiest: Vec<f64> = lines.iter().map(|line| number(line, 3)).collect();
    assert!(busiest[0] > 90.0 && busiest[1..].iter().all(|share| *share < 60.0), "{table}");
    // Numbers are shorter than names.
    assert!(number(lines[3], 1) < number(lines[2], 1), "{table}");
    let rows: Vec<f64> = lines.iter().map(|line| number(line, 5)).collect();
    // An hour of a host: all lines of the hour, only its own, or five quarters.
    assert!(rows[0] > 2.0 * rows[2] && rows[0] >= rows[1] && rows[4] <= 5.0, "{table}");
}

/// Lets the next scan of the lines fail.
#[derive(Default)]
struct OneFault(AtomicBool);

impl Hook for OneFault {
    fn before_scan(&self, table: &TableName) -> halite::Result<()> {
        if table.qualifier() == Layout::Code.table() && self.0.swap(false, Ordering::Relaxed) {
            return Err(halite::Error::new(halite::ErrorKind::Busy, "the server is overloaded"));
        }
        Ok(())
    }
}

/// Only numbers that are not known yet are a reason to read again.
#[test]
fn failed_reads_by_numbers_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let store = backends::open(&directory);
    let fault = Arc::new(OneFault::default());
    let cluster = HookedCluster::with_hook(Arc::clone(store.cluster()), Arc::clone(&fault));
    let logs = Logs::open(&BlockingCluster::new(Arc::new(cluster)), "logs").unwrap();
    let line = |host: &str| Line {
        host: host.to_owned(),
        event: "http".to_owned(),
        at_ms: 5_000,
        sequence: 1,
        message: "text".to_owned(),
    };
    logs.write(&[line("web-1")]).unwrap();
    let question = Question { at_ms: 0..i64::MAX, ..Question::default() };
    fault.0.store(true, Ordering::Relaxed);
    let error = logs.read(Layout::Code, &question).unwrap_err().to_string();
    assert!(error.contains("the server is overloaded"), "{error}");
    assert_eq!(logs.read(Layout::Code, &question).unwrap().lines.len(), 1);

    // Numbers that another program has assigned since are loaded.
    Logs::open(&store, "logs").unwrap().write(&[line("web-2")]).unwrap();
    assert_eq!(logs.read(Layout::Code, &question).unwrap().lines.len(), 2);
}

/// The right design on tables with other keys, or without its repair.
struct Naive {
    logs: Logs,
    repairs: bool,
}

impl Design for Naive {
    fn write(&self, lines: &[Line]) -> Result<()> {
        Ok(self.logs.write(lines)?)
    }

    fn read(&self, layout: Layout, question: &Question) -> Result<Found> {
        Ok(self.logs.read(layout, question)?)
    }

    fn row(&self, layout: Layout, line: &Line) -> Result<Bytes> {
        Ok(self.logs.row(layout, line)?)
    }

    fn repair(&self, at_ms: Range<i64>) -> Result<u64> {
        if self.repairs { Ok(self.logs.repair(at_ms)?) } else { Ok(0) }
    }
}

/// Opens the tables with a part of their text replaced.
fn open(site: &Site, from: &str, to: &str) -> Result<Box<dyn Design>> {
    assert!(TABLES.contains(from));
    let logs = Logs::open_tables(&site.cluster, &site.namespace, &TABLES.replace(from, to))?;
    Ok(Box::new(Naive { logs, repairs: true }))
}

/// Checks a design and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>) -> String {
    let checked = backends::check_embedded(&LOGS.with_design(design), LOAD, 702);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn e09_salt_of_times_in_whole_seconds_fails_check() {
    let why = failure(|site| open(site, "SALT(16)", "SALT(100 BY ts USING modulo)"));
    assert!(why.contains("by_salt: ") && why.contains("are in one of 16 regions"), "{why}");
}

#[test]
fn e08_time_bucket_in_front_fails_check() {
    let key = "host STRING, event STRING, BUCKET(ts, '15m') DESC";
    assert!(TABLES.contains(key));
    let why = failure(|site| {
        open(
            site,
            "host STRING, event STRING, BUCKET(ts, '15m') DESC",
            "BUCKET(ts, '15m') DESC, host STRING, event STRING",
        )
    });
    assert!(why.contains("by_quarter"), "{why}");
}

#[test]
fn e32_key_without_sequence_fails_check() {
    let why = failure(|site| {
        open(
            site,
            "host STRING, event STRING, ts TIMESTAMP DESC, sequence U32",
            "host STRING, event STRING, ts TIMESTAMP DESC",
        )
    });
    assert!(why.contains("of by_host: "), "{why}");
}

#[test]
fn e46_hash_instead_of_names_fails_check() {
    let why = failure(|site| {
        open(site, "DICT(host, 3), DICT(event, 2)", "HASH(host STRING BYTES 2), event STRING")
    });
    assert!(why.contains("by_code, row ") && why.contains("its key has no host"), "{why}");
}

#[test]
fn missing_repair_fails_check() {
    let why = failure(|site| {
        let logs = Logs::open(&site.cluster, &site.namespace)?;
        Ok(Box::new(Naive { logs, repairs: false }))
    });
    assert!(why.contains("lines, expected"), "{why}");
}
