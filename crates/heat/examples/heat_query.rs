//! Time and memory of heat maps of a table with 100,000 regions whose history is full: all columns
//! of the six layers.
//!
//! `cargo run --release -p halite-heat --example heat_query [REGIONS [ROUNDS]]` prints the median
//! time of a query of 1,024 ranges of keys for each span of time. The load moves, so that the
//! columns have different boundaries and values. With few regions, each has ranges of its own in
//! each column, as those with new rows do.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "it is a program that prints small numbers and ends at an error"
)]

use std::time::{Duration, Instant};

use halite_heat::{
    BASE_MS, Column, ColumnTime, HeatMap, HeatQuery, History, LAYERS, Load, MAX_BUCKETS,
    MAX_COLUMNS, Metric, Region,
};

/// Base columns between two that have load, before the last ten minutes: five weeks of all of them
/// would take long to make, and longer layers have the same columns.
const STRIDE: i64 = 12;
/// Regions that have 64 ranges each.
const MAX_REFINED: u64 = 16;
const WEEKS_MS: i64 = 35 * 24 * 3_600_000;

/// Regions with a load at a moving place, and a little everywhere.
fn column(number: i64, regions: u64, random: &mut fastrand::Rng) -> Column {
    let hot = u64::try_from(number).unwrap() * 37 % regions;
    let region = |at: u64| {
        let near = at.abs_diff(hot) < regions / 200 + 1;
        let amount = random.u64(..20) + if near { 500 } else { 0 };
        let load = Load::new([amount, amount * 2, 0, amount * 3, amount * 900, amount * 100]);
        let start: Box<[u8]> = if at == 0 { Box::default() } else { at.to_be_bytes().into() };
        let mut boundaries: Vec<Box<[u8]>> = Vec::new();
        if regions <= MAX_REFINED {
            let inside = || [&at.to_be_bytes()[..], &random.u32(..).to_be_bytes()].concat().into();
            boundaries = std::iter::repeat_with(inside).take(63).collect();
            boundaries.sort();
        }
        Region { start, loads: vec![load; boundaries.len() + 1], boundaries }
    };
    let regions: Vec<Region> = (0..regions).map(region).collect();
    Column::of_regions(ColumnTime::exact(number * BASE_MS, (number + 1) * BASE_MS), &regions)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let regions: u64 = arguments.next().map_or(100_000, |text| text.parse().unwrap());
    let rounds: usize = arguments.next().map_or(21, |text| text.parse().unwrap());
    let (mut history, mut times) = (History::default(), History::default());
    let mut random = fastrand::Rng::with_seed(1);
    // A few columns of all regions serve for all times: to make one takes as long as a query.
    let made: Vec<Column> = (0..64).map(|at| column(at, regions, &mut random)).collect();
    let last = WEEKS_MS / BASE_MS;
    for number in 0..last {
        let (from_ms, to_ms) = (number * BASE_MS, (number + 1) * BASE_MS);
        if number % STRIDE == 0 || last - number <= 360 {
            let column = &made[usize::try_from(number).unwrap() % made.len()];
            history.push(&Column { from_ms, to_ms, ..column.clone() });
        }
        times.push(&Column::of_time(ColumnTime::exact(from_ms, to_ms)));
    }
    let columns: usize =
        (0..LAYERS.len()).map(|layer| history.columns(layer, i64::MIN, i64::MAX).len()).sum();
    let memory = history.memory_bytes() as f64 / 1_048_576.0;
    println!("{regions} regions, {columns} columns, {memory:.1} MB of history");
    println!(
        "{:>8} {:>6} {:>7} {:>10} {:>10}",
        "span", "layer", "columns", "median ms", "largest ms"
    );
    for (name, span) in [
        ("10 min", 600_000),
        ("1 h", 3_600_000),
        ("6 h", 21_600_000),
        ("14 h", 50_400_000),
        ("5 d", 432_000_000),
        ("5 weeks", WEEKS_MS),
    ] {
        let query = HeatQuery {
            from_ms: last * BASE_MS - span,
            to_ms: last * BASE_MS,
            metric: Metric::Writes,
            start: Box::default(),
            end: None,
            max_rows: MAX_BUCKETS,
            max_columns: MAX_COLUMNS,
        };
        let mut taken: Vec<Duration> = Vec::new();
        let mut map = HeatMap::default();
        for _ in 0..rounds {
            let began = Instant::now();
            // The server copies the history, so that the recorder does not wait.
            map = HeatMap::new(&history.clone(), &times.clone(), &query);
            taken.push(began.elapsed());
        }
        taken.sort();
        let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
        println!(
            "{name:>8} {:>6} {:>7} {:>10.1} {:>10.1}",
            LAYERS[map.layer].name,
            map.columns,
            ms(taken[rounds / 2]),
            ms(*taken.last().unwrap()),
        );
        assert!(map.bounds.len() > MAX_BUCKETS / 2, "a picture of many ranges");
    }
}
