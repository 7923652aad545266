//! Latency of small gets with and without clients that read large rows from memory.
//! `cargo run --release -p halite-client --example neighbors -- zk://localhost:2181/hbase 2 5 3`:
//! two such clients, five seconds a phase, three rounds.
#![allow(clippy::print_stdout, reason = "it prints its measurements")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use halite_client::connect;
use halite_types::{
    Cluster, Error, ErrorKind, FamilyDescriptor, Get, Put, Result, RowOp, Table, TableDescriptor,
    TableExt as _, TableName,
};

const LARGE_BYTES: usize = 9 << 20;
/// Gets of the large row in one call.
const LARGE_GETS: usize = 25;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [uri, readers, seconds, rounds] = words[..] else {
        return Err(Error::invalid("usage: neighbors URI READERS SECONDS ROUNDS"));
    };
    let number = |text: &str| {
        text.parse::<u64>().map_err(|_| Error::invalid(format!("invalid number {text:?}")))
    };
    let (readers, time, rounds) =
        (number(readers)?, Duration::from_secs(number(seconds)?), number(rounds)?);
    let table = prepare(uri).await?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        alone.push(measure_round("alone", round, &table, time).await?);
        let load = Arc::new(Load::default());
        let mut tasks = Vec::new();
        for _ in 0..readers {
            // Connections of their own, as other clients have them.
            tasks.push(tokio::spawn(read_large(
                connect(uri).await?.table(&name()?),
                Arc::clone(&load),
            )));
        }
        beside.push(measure_round("beside", round, &table, time).await?);
        load.is_over.store(true, Relaxed);
        for task in tasks {
            task.await.map_err(|error| Error::invalid(format!("a reader failed: {error}")))??;
        }
        println!("round {round} read MB {}", load.bytes.load(Relaxed) >> 20);
    }
    let (alone, beside) = (median(alone), median(beside));
    println!(
        "median p99 alone {alone} us, beside {readers} readers {beside} us, ratio {:.2}",
        ratio(beside, alone)
    );
    Ok(())
}

#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    bytes: AtomicU64,
}

fn name() -> Result<TableName> {
    "neighbors".parse()
}

/// Returns a table with one large row and small ones, in memory.
async fn prepare(uri: &str) -> Result<Arc<dyn Table>> {
    let cluster = connect(uri).await?;
    let admin = cluster.admin();
    let made = admin
        .create_table(TableDescriptor::new(name()?).family(FamilyDescriptor::new("f")), Vec::new())
        .await;
    if let Err(error) = made
        && error.kind() != ErrorKind::TableExists
    {
        return Err(error);
    }
    let table = cluster.table(&name()?);
    let small =
        (0..1000).map(|row| RowOp::from(Put::new(small_row(row)).add("f", "q", "v"))).collect();
    table.batch(small).await?.into_iter().try_for_each(|result| result.map(drop))?;
    table.mutate(Put::new("large").add("f", "q", vec![b'x'; LARGE_BYTES]).into()).await?;
    Ok(table)
}

fn small_row(number: u64) -> String {
    format!("row{number:04}")
}

/// Gets a small row repeatedly from one caller; returns the 99th percentile in microseconds.
async fn measure_round(
    phase: &str,
    round: u64,
    table: &Arc<dyn Table>,
    time: Duration,
) -> Result<u64> {
    let (end, mut times, mut row) = (Instant::now() + time, Vec::new(), 0);
    while Instant::now() < end {
        let begin = Instant::now();
        table.get(Get::new(small_row(row % 1000))).await?;
        times.push(u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX));
        row += 7;
    }
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or(0);
    println!(
        "round {round} {phase} gets {} p50_us {} p99_us {} max_us {}",
        times.len(),
        at(50),
        at(99),
        times.last().copied().unwrap_or(0)
    );
    Ok(at(99))
}

async fn read_large(table: Arc<dyn Table>, load: Arc<Load>) -> Result<()> {
    while !load.is_over.load(Relaxed) {
        let rows = table.get_all((0..LARGE_GETS).map(|_| Get::new("large")).collect()).await?;
        let bytes: usize = rows.iter().map(|row| row.cells().bytes().len()).sum();
        load.bytes.fetch_add(bytes as u64, Relaxed);
    }
    Ok(())
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of latencies")]
fn ratio(of: u64, to: u64) -> f64 {
    of as f64 / to.max(1) as f64
}
