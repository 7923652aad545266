//! Writes, counts and scans while servers of the cluster start and stop, then verifies that all
//! acknowledged writes are present:
//! `cargo run --release -p halite-client --example survive -- zk://localhost:2181/hbase 30`.
//! Kill a region server during the run.
#![allow(clippy::print_stdout, reason = "it talks to the person at the terminal")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use halite_client::connect;
use halite_types::{
    Bytes, Cluster, Error, FamilyDescriptor, Increment, Put, Result, RowOp, Scan, Table,
    TableDescriptor, TableExt as _, TableName,
};

const TABLE: &str = "halite_survive";
/// Regions, so that each server has some.
const REGIONS: u64 = 12;
/// Callers that write batches, and as many that count.
const CALLERS: u64 = 4;
/// Rows of a batch, some for each region.
const BATCH: u64 = 2 * REGIONS;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (uri, seconds) = (arguments.next(), arguments.next().and_then(|text| text.parse().ok()));
    let (Some(uri), Some(seconds)) = (uri, seconds) else {
        return Err(Error::invalid("usage: survive URI SECONDS"));
    };
    let (cluster, name) = (connect(&uri).await?, TABLE.parse::<TableName>()?);
    let admin = cluster.admin();
    let splits = (1..REGIONS).map(|region| Bytes::from(format!("{region:02}"))).collect();
    admin
        .create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")), splits)
        .await?;
    println!("begun");
    let load = Arc::new(Load {
        table: cluster.table(&name),
        until: Instant::now() + Duration::from_secs(seconds),
        ..Load::empty(&cluster, &name)
    });
    load.run().await?;
    load.check().await?;
    admin.disable_table(&name).await?;
    admin.drop_table(&name).await
}

struct Load {
    table: Arc<dyn Table>,
    until: Instant,
    rows: AtomicU64,
    counts: AtomicU64,
    /// Of one call, in milliseconds.
    slowest: AtomicU64,
    has_failed: AtomicBool,
}

impl Load {
    fn empty(cluster: &impl Cluster, name: &TableName) -> Self {
        let zero = AtomicU64::default;
        let table = cluster.table(name);
        Self {
            table,
            until: Instant::now(),
            rows: zero(),
            counts: zero(),
            slowest: zero(),
            has_failed: AtomicBool::new(false),
        }
    }

    async fn run(self: &Arc<Self>) -> Result<()> {
        let mut tasks = vec![tokio::spawn(Arc::clone(self).scan())];
        for caller in 0..CALLERS {
            tasks.push(tokio::spawn(Arc::clone(self).write(caller)));
            tasks.push(tokio::spawn(Arc::clone(self).count(caller)));
        }
        for task in tasks {
            task.await
                .map_err(|error| Error::invalid(format!("a caller broke off: {error}")))??;
        }
        Ok(())
    }

    fn should_continue(&self) -> bool {
        Instant::now() < self.until && !self.has_failed.load(Relaxed)
    }

    /// Records the duration of a call and its failure. Every call must succeed: the client has to
    /// tolerate any failure of the servers.
    fn record_call<T>(&self, begun: Instant, result: Result<T>) -> Result<T> {
        self.slowest
            .fetch_max(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
        result.inspect_err(|_| self.has_failed.store(true, Relaxed))
    }

    async fn write(self: Arc<Self>, caller: u64) -> Result<()> {
        let mut round = 0;
        while self.should_continue() {
            let put = |index: u64| {
                RowOp::from(
                    Put::new(format!("{:02}-{caller}-{round:06}-{index:02}", index % REGIONS))
                        .add("f", "q", "v"),
                )
            };
            let begun = Instant::now();
            let results =
                self.record_call(begun, self.table.batch((0..BATCH).map(put).collect()).await)?;
            self.record_call(begun, results.into_iter().collect::<Result<Vec<_>>>())?;
            self.rows.fetch_add(BATCH, Relaxed);
            round += 1;
        }
        Ok(())
    }

    async fn count(self: Arc<Self>, caller: u64) -> Result<()> {
        let mut round = 0;
        while self.should_continue() {
            let row = format!("{:02}-count", (round * 5 + caller) % REGIONS);
            let begun = Instant::now();
            self.record_call(
                begun,
                self.table.mutate(Increment::new(row).add("f", "n", 1).into()).await,
            )?;
            self.counts.fetch_add(1, Relaxed);
            round += 1;
        }
        Ok(())
    }

    /// No scan sees fewer rows than the one before it, and each sees them in order.
    async fn scan(self: Arc<Self>) -> Result<()> {
        let mut before = 0;
        while self.should_continue() {
            let begun = Instant::now();
            let (rows, _) = self.record_call(begun, self.rows_and_sum().await)?;
            if rows < before {
                return self.record_call(
                    begun,
                    Err(Error::invalid(format!(
                        "a scan saw {rows} rows after one that saw {before}"
                    ))),
                );
            }
            before = rows;
        }
        Ok(())
    }

    /// Rows that were put, and the sum of all counters.
    async fn rows_and_sum(&self) -> Result<(u64, u64)> {
        let mut stream = self.table.scan(Scan::all().max_result_bytes(20_000));
        let (mut rows, mut sum, mut last) = (0, 0, Bytes::new());
        while let Some(row) = stream.next().await? {
            if row.key() <= &last[..] {
                return Err(Error::invalid("a scan saw a row twice, or rows out of order"));
            }
            last = Bytes::copy_from_slice(row.key());
            match row.value("f", "n").map(<[u8; 8]>::try_from) {
                Some(Ok(count)) => sum += u64::from_be_bytes(count),
                Some(Err(_)) => return Err(Error::invalid("a counter has not 8 bytes")),
                None => rows += 1,
            }
        }
        Ok((rows, sum))
    }

    async fn check(&self) -> Result<()> {
        let (rows, sum) = self.rows_and_sum().await?;
        let (written, counted, slowest) =
            (self.rows.load(Relaxed), self.counts.load(Relaxed), self.slowest.load(Relaxed));
        println!(
            "{written} rows acknowledged and {rows} found; {counted} increments acknowledged and {sum} counted; slowest call {slowest} ms"
        );
        if (rows, sum) == (written, counted) && written > 0 && counted > 0 {
            Ok(())
        } else {
            Err(Error::invalid("they differ"))
        }
    }
}
