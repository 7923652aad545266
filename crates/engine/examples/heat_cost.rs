//! Cost of recording the load by key: puts and gets with the levels `Off` and `Sub` beside each
//! other, in slices that alternate, so that other work on the machine meets both.
//!
//! `cargo run --release -p halite-engine --features heat --example heat_cost [ROUNDS [SIDE]]`
//!
//! `SIDE` is the level beside `off`, `sub` unless given; with `off` the ratios are the noise.
//!
//! The throughput is that of the calling thread's own processor time, which other programs disturb
//! less than the time of the clock. Two equal stores in one process differ by several percent, as
//! their memory lies: each round opens both again, in the other order. A slice and the one after it
//! are compared, and the median of these ratios is the round's. Printed are the medians of the
//! rounds and, after the sign, half the distance of their quartiles divided by the root of their
//! number: about the error of the median.
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
    clippy::cast_sign_loss,
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
const REGIONS: u64 = 4;
const SLICE: Duration = Duration::from_millis(50);
/// Time of a workload before it is measured: more than a column of the heat map, whose load decides
/// the rate at which the next one is recorded.
const WARM: Duration = Duration::from_secs(11);
/// Slices of each side and workload in a round.
const SLICES: usize = 20;

struct Side {
    name: &'static str,
    table: Arc<Table>,
    engine: Arc<Engine>,
    _directory: tempfile::TempDir,
    random: SplitMix64,
}

/// One call at a random row; returns its number of operations.
type One = fn(&Arc<Table>, u64) -> u64;

/// Slices of one workload.
#[derive(Default)]
struct Measured {
    /// Operations per second of the thread's processor time.
    rates: Vec<f64>,
    /// 99th percentile of the durations of single calls, in nanoseconds.
    p99s: Vec<f64>,
}

/// Processor time of this thread, as Linux reports it.
fn processor_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds: f64 = times.split_whitespace().next().unwrap().parse().unwrap();
    nanoseconds / 1e9
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
        let (start, processor, mut operations) = (Instant::now(), processor_seconds(), 0);
        let mut durations = Vec::with_capacity(1 << 18);
        while start.elapsed() < SLICE {
            let began = Instant::now();
            operations += one(&self.table, self.random.next_u64() % ROWS);
            durations.push(began.elapsed().as_nanos() as u32);
        }
        measured.rates.push(operations as f64 / (processor_seconds() - processor));
        durations.sort_unstable();
        measured.p99s.push(f64::from(durations[durations.len() * 99 / 100]));
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

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Value at a part of the rising values, between two of them if it falls there: the higher of the
/// two in the middle would make every ratio too large.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = part * (values.len() - 1) as f64;
    let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Median of the rounds' ratios of neighbouring slices, and about its error.
fn ratio(off: &[f64], sub: &[f64]) -> String {
    // The logarithm of a ratio and that of its reverse are equally far from 0.
    let ratios: Vec<f64> = off.iter().zip(sub).map(|(off, sub)| (sub / off).ln()).collect();
    let ratios: Vec<f64> = ratios.chunks(SLICES).map(median).collect();
    let spread = quantile(&ratios, 0.75) - quantile(&ratios, 0.25);
    let error = spread / 2.0 / (ratios.len() as f64).sqrt();
    format!("{:.3} \u{b1} {:.3}", median(&ratios).exp(), error)
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
    [("get", get), ("scan of 100", scan), ("put", put), ("put of 50", put_batch)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "count") {
        return count(&arguments[1..]);
    }
    let rounds: usize = arguments.first().map_or(12, |text| text.parse().unwrap());
    let level = arguments.get(1).map(|name| HeatLevel::from_name(name).unwrap());
    let level = level.unwrap_or(HeatLevel::Sub);
    let mut measured: [[Measured; 2]; WORKLOADS.len()] = Default::default();
    for round in 0..rounds {
        measure_round(round, level, &mut measured);
    }
    println!(
        "{:<12}{:>12}{:>12}{:>16}{:>16}",
        "workload",
        "off op/s",
        format!("{} op/s", level.name()),
        "ratio",
        "p99 ratio"
    );
    for ((workload, _), [off, sub]) in WORKLOADS.iter().zip(&measured) {
        println!(
            "{workload:<12}{:>12.0}{:>12.0}{:>16}{:>16}",
            median(&off.rates),
            median(&sub.rates),
            ratio(&off.rates, &sub.rates),
            ratio(&off.p99s, &sub.p99s)
        );
    }
}

/// Opens both stores and runs all workloads on them.
fn measure_round(round: usize, level: HeatLevel, measured: &mut [[Measured; 2]; WORKLOADS.len()]) {
    let mut levels = [HeatLevel::Off, level];
    levels.rotate_left(round % 2);
    let mut sides = levels.map(|level| open(level.name(), level));
    sides.rotate_left(round % 2);
    for ((_, one), measured) in WORKLOADS.iter().zip(measured) {
        let begin = Instant::now();
        while begin.elapsed() < WARM {
            sides.iter_mut().for_each(|side| side.slice(&mut Measured::default(), *one));
        }
        for slice in 0..2 * SLICES {
            // The order changes, so that neither always follows the other.
            let side = (slice + slice / 2) % 2;
            sides[side].slice(&mut measured[side], *one);
        }
    }
    for side in sides {
        assert!(side.engine.heat_failure().is_none(), "{}", side.name);
    }
}
