//! Throughput and processor time of this client: one kind of operation, run by several callers for
//! some seconds. `cargo xtask bench client` runs it next to other clients; alone:
//! `cargo run --release -p halite-client --example load -- zk://localhost:2181/hbase prepare 1000000`,
//! then `... get 8 2 5 1000000`.
#![allow(clippy::print_stdout, reason = "it prints its measurements")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use halite_client::connect;
use halite_types::{
    Cluster, Error, FamilyDescriptor, Get, Put, Result, RowOp, Scan, Table, TableDescriptor,
    TableExt as _,
};

const TABLE: &str = "client_load";
/// Rows of one batch.
const BATCH: u64 = 100;
const VALUE: [u8; 100] = [b'v'; 100];

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [uri, "prepare", rows] => prepare(&connect(uri).await?, number(rows)?).await,
        [uri, work, callers, warm, seconds, rows] => {
            let load = Load {
                table: connect(uri).await?.table(&TABLE.parse()?),
                rows: number(rows)?,
                done: AtomicU64::new(0),
            };
            load.run(
                work,
                number(callers)?,
                Duration::from_secs(number(warm)?),
                Duration::from_secs(number(seconds)?),
            )
            .await
        }
        _ => Err(Error::invalid(
            "usage: load URI prepare ROWS | load URI get|put|gets|puts|scan CALLERS WARM_SECONDS SECONDS ROWS",
        )),
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::invalid(format!("{text:?} is no number")))
}

fn row(number: u64) -> String {
    format!("row{number:08}")
}

fn put(number: u64) -> RowOp {
    Put::new(row(number)).add("f", "q", VALUE).into()
}

/// Creates the table with eight regions and fills it.
async fn prepare(cluster: &impl Cluster, rows: u64) -> Result<()> {
    let (name, admin) = (TABLE.parse()?, cluster.admin());
    let splits = (1..8).map(|part| row(rows * part / 8).into()).collect();
    admin
        .create_table(
            TableDescriptor::new(TABLE.parse()?).family(FamilyDescriptor::new("f")),
            splits,
        )
        .await?;
    let table = cluster.table(&name);
    for first in (0..rows).step_by(5000) {
        for result in table.batch((first..rows.min(first + 5000)).map(put).collect()).await? {
            result?;
        }
    }
    admin.flush(&name).await
}

struct Load {
    table: Arc<dyn Table>,
    rows: u64,
    /// Rows read or written.
    done: AtomicU64,
}

impl Load {
    /// Runs the callers, and prints operations and processor time after the warm-up.
    async fn run(self, work: &str, callers: u64, warm: Duration, time: Duration) -> Result<()> {
        let load = Arc::new(self);
        let tasks: Vec<_> = (0..callers)
            .map(|caller| tokio::spawn(Arc::clone(&load).work(work.to_string(), caller)))
            .collect();
        tokio::time::sleep(warm).await;
        let (begin, cpu, done) = (Instant::now(), cpu_us(), load.done.load(Relaxed));
        tokio::time::sleep(time).await;
        let (seconds, cpu, done) =
            (begin.elapsed().as_secs_f64(), cpu_us() - cpu, load.done.load(Relaxed) - done);
        if let Some(failed) = tasks.into_iter().find(tokio::task::JoinHandle::is_finished) {
            return failed
                .await
                .map_err(|error| Error::invalid(format!("a caller broke off: {error}")))?;
        }
        println!("rows {done} seconds {seconds:.3} cpu_us {cpu}");
        Ok(())
    }

    /// Runs one caller indefinitely.
    async fn work(self: Arc<Self>, work: String, caller: u64) -> Result<()> {
        let mut random = caller * 7919 + 1;
        loop {
            random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
            let rows = (0..BATCH).map(|index| (random + index * 7919) % self.rows);
            let done = match &work[..] {
                "get" => found(self.table.get(Get::new(row(random % self.rows))).await?.len())?,
                "put" => self.table.mutate(put(random % self.rows)).await.map(|_| 1)?,
                "gets" => self
                    .table
                    .get_all(rows.map(|number| Get::new(row(number))).collect())
                    .await?
                    .len() as u64,
                "puts" => self
                    .table
                    .batch(rows.map(put).collect())
                    .await?
                    .into_iter()
                    .collect::<Result<Vec<_>>>()?
                    .len() as u64,
                "scan" => self.scan().await?,
                _ => return Err(Error::invalid(format!("there is no work {work:?}"))),
            };
            self.done.fetch_add(done, Relaxed);
        }
    }

    async fn scan(&self) -> Result<u64> {
        let (mut rows, mut count) = (self.table.scan(Scan::all()), 0);
        while let Some(row) = rows.next().await? {
            found(row.len())?;
            self.done.fetch_add(1, Relaxed);
            count += 1;
        }
        if count == self.rows {
            Ok(0)
        } else {
            Err(Error::invalid(format!("the scan found {count} rows and not {}", self.rows)))
        }
    }
}

fn found(cells: usize) -> Result<u64> {
    if cells == 1 {
        Ok(1)
    } else {
        Err(Error::invalid(format!("a row has {cells} cells and not one; prepare the table")))
    }
}

/// Processor time of this process, user and system, in microseconds; to ten milliseconds.
fn cpu_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<u64> = stat
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    fields.get(11..13).map_or(0, |times| times.iter().sum::<u64>() * 10_000)
}
