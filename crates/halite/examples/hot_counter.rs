//! Increments of one counter by many threads at once: as one row, as sixteen, and as one row whose
//! cells the store merges.
//!
//! `cargo run --release -p halite --features client --example hot_counter [URI...]` measures an
//! embedded store, and the clusters `URI` after it; each counter must have the number of its
//! acknowledged increments at the end. A call waits for its log, as the store or server is set.
#![allow(clippy::print_stdout, reason = "it prints its measurements")]

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use halite::{
    BlockingCluster, BlockingTable, FamilyDescriptor, Result, ShardedCounters, TableDescriptor,
    block_on,
};

const THREADS: u64 = 32;
const DURATION: Duration = Duration::from_secs(3);
const SHARDS: u8 = 16;
/// Increments of a call.
const CALLS: [usize; 2] = [1, 100];
/// Names of the ways to count, their shards, and the family.
const WAYS: [(&str, u8, &str); 3] =
    [("one row", 1, "f"), ("16 rows", SHARDS, "f"), ("one row, merged", 1, "m")];

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
    println!("{name}, {THREADS} threads");
    println!(
        "{:<18}{:>10}{:>16}{:>10}{:>10}",
        "counter", "per call", "increments/s", "p50 ms", "p99 ms"
    );
    let splits: Vec<[u8; 1]> = (1..SHARDS).map(|shard| [shard]).collect();
    let splits: Vec<&[u8]> = splits.iter().map(|split| &split[..]).collect();
    let merged = FamilyDescriptor::new("m").set("MERGE", "SUM");
    let table = TableDescriptor::new("hot_counter".parse()?).family(FamilyDescriptor::new("f"));
    let merges = cluster.merges_cells()?;
    cluster.create_table(if merges { table.family(merged) } else { table }, &splits)?;
    let table = cluster.table("hot_counter")?;
    for (way, shards, family) in WAYS.into_iter().filter(|(.., family)| merges || *family == "f") {
        let counters = ShardedCounters::new(shards, family, "n")?;
        for per_call in CALLS {
            let counter = format!("{way} {per_call}");
            let (rate, p50, p99) = increment(&table, &counters, counter.as_bytes(), per_call)?;
            println!("{way:<18}{per_call:>10}{rate:>16.0}{p50:>10.2}{p99:>10.2}");
        }
    }
    cluster.disable_table("hot_counter")?;
    cluster.drop_table("hot_counter")
}

/// Increments a counter for a while. Returns increments per second, and quantiles of the durations
/// of calls in milliseconds.
fn increment(
    table: &BlockingTable,
    counters: &ShardedCounters,
    name: &[u8],
    per_call: usize,
) -> Result<(f64, f64, f64)> {
    let (start, acknowledged, calls) = (Instant::now(), AtomicI64::new(0), AtomicU64::new(0));
    let one_thread = || -> Result<Vec<f64>> {
        let mut durations = Vec::new();
        while start.elapsed() < DURATION {
            let began = Instant::now();
            let increments = (0..per_call).map(|_| counters.increment(name, 1)).collect();
            for result in table.batch(increments)? {
                result?;
                acknowledged.fetch_add(1, Relaxed);
            }
            calls.fetch_add(1, Relaxed);
            durations.push(began.elapsed().as_secs_f64() * 1e3);
        }
        Ok(durations)
    };
    let mut durations = std::thread::scope(|scope| -> Result<Vec<f64>> {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one_thread)).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().expect("no thread panics")?);
        }
        Ok(all)
    })?;
    let took = start.elapsed().as_secs_f64();
    let acknowledged = acknowledged.into_inner();
    let sum = block_on(counters.sum(&**table.inner(), name))?;
    assert_eq!(sum, acknowledged, "the counter has all acknowledged increments");
    durations.sort_by(f64::total_cmp);
    let quantile = |percent: usize| durations[durations.len() * percent / 100];
    #[expect(clippy::cast_precision_loss, reason = "a number of seconds' increments")]
    Ok((acknowledged as f64 / took, quantile(50), quantile(99)))
}
