//! Many keys of one region, read by gets and by scans with a `MultiRowRangeFilter`.
//!
//! `cargo run --release -p halite --features client --example point_reads [URI...]` measures an
//! embedded store, and the clusters `URI` after it. It prints the median of seven rounds, in which
//! the two take turns.
#![allow(clippy::print_stdout, reason = "it prints its measurements")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite::rowkey::plan::{KeyQuery, Plan, PlanLimits, PlanOptions};
use halite::rowkey::{KeySchema, Scatter, ScatterOptions, Value};
use halite::{
    BlockingCluster, FamilyDescriptor, Put, Result, RowOp, Scan, Table, TableDescriptor, block_on,
};

const ROWS: i64 = 1_000_000;
const VALUE_BYTES: usize = 100;
const ROUNDS: usize = 7;
const KEYS: [i64; 6] = [250, 1000, 2500, 10_000, 50_000, 200_000];

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = halite::open(directory.path())?;
    measure("embedded", &store)?;
    for uri in std::env::args().skip(1) {
        measure(&uri, &BlockingCluster::connect(&uri)?)?;
    }
    Ok(())
}

fn measure(name: &str, cluster: &BlockingCluster) -> Result<()> {
    let schema: Arc<KeySchema> = Arc::new("ROW KEY (id I64)".parse().expect("a key"));
    let descriptor = TableDescriptor::new("point_reads".parse()?);
    cluster.create_table(descriptor.family(FamilyDescriptor::new("f")), &[])?;
    let table = cluster.table("point_reads")?;
    for first in (0..ROWS).step_by(1000) {
        let put = |id| {
            let key = schema.encode(&[Value::Signed(id)]).expect("a key").to_vec();
            RowOp::from(Put::new(key).add("f", "q", vec![b'v'; VALUE_BYTES]))
        };
        table.apply_all((first..first + 1000).map(put).collect())?;
    }
    cluster.flush("point_reads")?;
    println!("{name}, {ROWS} rows of {VALUE_BYTES} bytes in one region");
    println!("{:>8}{:>10}{:>12}{:>12}{:>10}", "keys", "of rows", "gets ms", "scan ms", "ratio");
    for keys in KEYS {
        let ids = (0..keys).map(|at| Value::Signed(at * (ROWS / keys)));
        let query = KeyQuery::all().is_in(0, ids);
        let limits = PlanLimits { ranges: u64::MAX, ..PlanLimits::default() };
        let options = PlanOptions { limits, ..PlanOptions::default() };
        let plan = Arc::new(Plan::new(&schema, &query, &options).expect("a plan"));
        let runs = plan.point_runs(&[]).expect("keys");
        let scans = ScatterOptions { point_runs: runs, ..ScatterOptions::default() };
        let read = |options: &ScatterOptions| -> Result<Duration> {
            let began = Instant::now();
            let inner: Arc<dyn Table> = Arc::clone(table.inner());
            let mut rows = Scatter::new(inner, Arc::clone(&plan), Scan::all(), options, None)?;
            let mut found = 0;
            while let Some(_row) = block_on(rows.next())? {
                found += 1;
            }
            assert_eq!(found, keys, "each key has a row");
            Ok(began.elapsed())
        };
        let (mut of_gets, mut of_scans) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_gets.push(read(&ScatterOptions::default())?);
            of_scans.push(read(&scans)?);
        }
        let (gets, scan) = (median(of_gets), median(of_scans));
        let share = keys * 100_000 / ROWS;
        let share = format!("{}.{:03} %", share / 1000, share % 1000);
        let ratio = gets / scan;
        println!("{keys:>8}{share:>10}{gets:>12.1}{scan:>12.1}{ratio:>10.2}");
    }
    cluster.disable_table("point_reads")?;
    cluster.drop_table("point_reads")
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1000.0
}
