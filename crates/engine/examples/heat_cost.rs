//! Cost of recording the load by key: puts and gets with the levels `Off` and `Sub` beside each
//! other, in slices that alternate, so that other work on the machine meets both.
//!
//! `cargo run --release -p halite-engine --features heat --example heat_cost [SLICES [NOISE]]`
//!
//! On a machine whose noise is larger than the cost, instructions tell more:
//! `valgrind --tool=callgrind target/release/examples/heat_cost count LEVEL WORKLOAD CALLS` prints
//! them, and the difference between two numbers of calls is free of the beginning's.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "it is a program that prints small numbers and ends at an error"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_engine::env::Env;
use halite_engine::{Engine, HeatLevel, Options, Table, WalSync};
use halite_types::rng::SplitMix64;
use halite_types::{
    Bytes, FamilyDescriptor, Get, Put, ReadTier, RowOp, Scan, TableDescriptor, TableName,
};

const ROWS: u64 = 200_000;
const REGIONS: u64 = 16;
const SLICE: Duration = Duration::from_millis(200);

struct Side {
    name: &'static str,
    table: Arc<Table>,
    engine: Arc<Engine>,
    _directory: tempfile::TempDir,
    random: SplitMix64,
}

/// One call at a random row; returns its number of operations.
type One = fn(&Arc<Table>, u64) -> u64;

/// Throughput of the slices of one workload, and the durations of single operations.
#[derive(Default)]
struct Measured {
    rates: Vec<f64>,
    durations: Vec<u32>,
}

fn row(number: u64) -> Vec<u8> {
    format!("user{:016x}", halite_types::rng::split_mix(number)).into_bytes()
}

fn open(name: &'static str, heat_level: HeatLevel) -> Side {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    options.heat_level = heat_level;
    let engine = Engine::open(Env::os(directory.path()).unwrap(), options).unwrap();
    let table_name: TableName = "t".parse().unwrap();
    let table = TableDescriptor::new(table_name.clone()).family(FamilyDescriptor::new("f"));
    let split = |part: u64| Bytes::from(format!("user{:x}", part * 16 / REGIONS));
    engine.create_table(table, (1..REGIONS).map(split).collect()).unwrap();
    let table = engine.table(&table_name).unwrap();
    for first in (0..ROWS).step_by(100) {
        let put = |number| RowOp::Put(Put::new(row(number)).add("f", "q", [7; 100]));
        table.batch((first..first + 100).map(put).collect()).unwrap();
    }
    engine.flush(&table_name).unwrap();
    Side { name, table, engine, _directory: directory, random: SplitMix64::new(1) }
}

impl Side {
    fn slice(&mut self, measured: &mut Measured, one: One) {
        let (start, mut operations) = (Instant::now(), 0);
        while start.elapsed() < SLICE {
            let began = Instant::now();
            operations += one(&self.table, self.random.next_u64() % ROWS);
            measured.durations.push(began.elapsed().as_nanos() as u32);
        }
        measured.rates.push(operations as f64 / start.elapsed().as_secs_f64());
    }
}

fn put(table: &Arc<Table>, number: u64) -> u64 {
    let put = Put::new(row(number)).add("f", "q", [8; 100]);
    table.batch(vec![RowOp::Put(put)]).unwrap();
    1
}

fn put_batch(table: &Arc<Table>, number: u64) -> u64 {
    let put = |number| RowOp::Put(Put::new(row(number)).add("f", "q", [8; 100]));
    table.batch((number..number + 50).map(put).collect()).unwrap();
    50
}

fn get(table: &Arc<Table>, number: u64) -> u64 {
    assert!(!table.get(&Get::new(row(number)), ReadTier::Disk).unwrap().is_empty());
    1
}

fn scan(table: &Arc<Table>, number: u64) -> u64 {
    let scan = Scan::all().start(row(number)).limit(100);
    let mut scanner = table.scan(scan, ReadTier::Disk);
    let mut rows = 0;
    loop {
        let found = scanner.next_rows().unwrap().len() as u64;
        if found == 0 {
            return rows.max(1);
        }
        rows += found;
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Makes a number of calls of one workload with one level.
fn count(arguments: &[String]) {
    let [level, workload, calls] = arguments else { panic!("count LEVEL WORKLOAD CALLS") };
    let mut side = open("count", HeatLevel::from_name(level).unwrap());
    let (_, one) = WORKLOADS.iter().find(|(name, _)| name == workload).unwrap();
    for _ in 0..calls.parse().unwrap() {
        one(&side.table, side.random.next_u64() % ROWS);
    }
}

const WORKLOADS: [(&str, One); 4] =
    [("get", get), ("put", put), ("put of 50", put_batch), ("scan of 100", scan)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "count") {
        return count(&arguments[1..]);
    }
    let slices: usize = std::env::args().nth(1).map_or(60, |text| text.parse().unwrap());
    // With a second argument both sides record nothing: the noise of the measurement.
    let level = if std::env::args().nth(2).is_some() { HeatLevel::Off } else { HeatLevel::Sub };
    let mut sides = [open("off", HeatLevel::Off), open("sub", level)];
    println!(
        "{:<12}{:>12}{:>12}{:>10}{:>12}",
        "workload", "off op/s", "sub op/s", "ratio", "p99 ratio"
    );
    for (workload, one) in WORKLOADS {
        let mut measured = [Measured::default(), Measured::default()];
        for slice in 0..2 * slices {
            // The order changes, so that neither always follows the other.
            let side = (slice + slice / 2) % 2;
            sides[side].slice(&mut measured[side], one);
        }
        let [off, sub] = &mut measured;
        let p99 = |measured: &mut Measured| {
            measured.durations.sort_unstable();
            f64::from(measured.durations[measured.durations.len() * 99 / 100])
        };
        let p99 = p99(sub) / p99(off);
        let (off, sub) = (median(&mut off.rates), median(&mut sub.rates));
        println!("{workload:<12}{off:>12.0}{sub:>12.0}{:>10.3}{p99:>12.3}", sub / off);
    }
    for side in sides {
        assert!(side.engine.heat_failure().is_none(), "{}", side.name);
    }
}
