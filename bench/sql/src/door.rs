//! B1 and B10 through the ports of a server: SQL by PostgreSQL's protocol, and gets by HBase's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use halite::{Bytes, Get, RemoteCluster, Store, Table, TableExt as _, TableName};
use tokio_postgres::NoTls;

use crate::arguments::Arguments;
use crate::error::Result;
use crate::scanned::{Scanned, number};
use crate::scans::GROUPED;
use crate::store::{Numbers, Prepared, key};
use crate::timing::{Timed, middle, print, since};

/// Gets a second beside a statement.
const RATE: u32 = 1000;
/// Time of a round of gets.
const ROUND: Duration = Duration::from_secs(5);

/// Server of a store with both ports.
struct Ports {
    hbase: halite_server::ServerHandle,
    pg: Option<halite_pg::ServerHandle>,
    client: tokio_postgres::Client,
    remote: RemoteCluster,
}

impl Ports {
    async fn open(store: &Store) -> Result<Self> {
        let mut config = halite_server::Config::default();
        (config.master_port, config.regionserver_port) = (0, 0);
        (config.http_port, config.zookeeper_port) = (None, Some(0));
        let hbase = halite_server::Server::start(store.engine().clone(), config).await?;
        let zookeeper = hbase.addresses().zookeeper.ok_or("an address")?;
        let remote = halite::connect(&format!("zk://{zookeeper}/hbase")).await?;
        let mut config = halite_pg::Config::default();
        config.address.set_port(0);
        let cluster = Arc::clone(store.cluster());
        let start = move || halite_pg::Server::start(&cluster, &config);
        let pg = tokio::task::spawn_blocking(start).await??;
        let address = pg.address();
        let text = format!("host={} port={} user=bench", address.ip(), address.port());
        let (client, connection) = tokio_postgres::connect(&text, NoTls).await?;
        tokio::spawn(connection);
        Ok(Self { hbase, pg: Some(pg), client, remote })
    }

    async fn close(mut self) -> Result<()> {
        drop((self.client, self.remote));
        if let Some(pg) = self.pg.take() {
            tokio::task::spawn_blocking(move || pg.shutdown()).await?;
        }
        self.hbase.shutdown().await;
        Ok(())
    }
}

/// B1: a prepared SELECT by PostgreSQL's protocol beside a get by HBase's.
pub(crate) async fn by_key(store: &Prepared, arguments: &Arguments) -> Result<()> {
    let ports = Ports::open(&store.store).await?;
    let table = halite::Cluster::table(&ports.remote, &TableName::new("default", "t")?);
    let select = ports.client.prepare("SELECT name, n FROM t WHERE id = $1").await?;
    let mut timed = [Timed::new("get on HBase's port"), Timed::new("prepared SELECT by pgwire")];
    let count = (arguments.calls / 4).max(1);
    for round in 0..arguments.rounds {
        let ids = || {
            let mut numbers = Numbers::new(u64::from(round));
            (0..count).map(move |_| numbers.below(arguments.rows))
        };
        let mut calls = Vec::new();
        for id in ids() {
            let start = Instant::now();
            let get = Get::new(key(id)).column(store.family.clone(), "name");
            let row = table.get(get.column(store.family.clone(), "n")).await?;
            calls.push(since(start));
            if row.is_empty() {
                return Err("no row".into());
            }
        }
        timed[0].add(std::mem::take(&mut calls));
        for id in ids() {
            let start = Instant::now();
            let row = ports.client.query_one(&select, &[&i64::from(id)]).await?;
            calls.push(since(start));
            if row.try_get::<_, i64>(1)? != number(id) {
                return Err("another row".into());
            }
        }
        timed[1].add(calls);
    }
    print("B1: one row by its key, through the ports of a server (goal: 1.5)", &timed);
    ports.close().await
}

/// B10: gets on HBase's port while a statement groups a table again and again, and without it.
pub(crate) async fn gets_beside_groups(table: &Scanned, arguments: &Arguments) -> Result<()> {
    let ports = Arc::new(Ports::open(&table.store).await?);
    let read = halite::Cluster::table(&ports.remote, &TableName::new("default", "m")?);
    gets(&read, table, Duration::from_secs(1)).await?;
    let (mut idle, mut busy) = (Vec::new(), Vec::new());
    let mut statements = 0;
    for _ in 0..arguments.long_rounds {
        idle.push(gets(&read, table, ROUND).await?);
        let is_over = Arc::new(AtomicBool::new(false));
        let heavy = tokio::spawn({
            let (ports, is_over) = (Arc::clone(&ports), Arc::clone(&is_over));
            async move {
                let mut count = 0;
                while !is_over.load(Ordering::Relaxed) {
                    ports.client.query(GROUPED, &[]).await?;
                    count += 1;
                }
                Ok::<u32, tokio_postgres::Error>(count)
            }
        });
        busy.push(gets(&read, table, ROUND).await?);
        is_over.store(true, Ordering::Relaxed);
        statements += heavy.await??;
    }
    println!("B10: {RATE} gets/s on HBase's port while {statements} statements of B5 run");
    println!("  {:<38} {:>9} {:>9} {:>9}", "", "p50 us", "p99 us", "ratio");
    let mut base = None;
    for (name, rounds) in [("without a statement", &idle), ("beside statements", &busy)] {
        let p50 = middle(rounds.iter().map(|calls| quantile(calls, 50)));
        let p99 = middle(rounds.iter().map(|calls| quantile(calls, 99)));
        let ratio = p99 / *base.get_or_insert(p99);
        println!("  {name:<38} {p50:>9.1} {p99:>9.1} {ratio:>9.2}");
    }
    println!("  goal: a p99 of at most 2 times\n");
    drop(read);
    match Arc::try_unwrap(ports) {
        Ok(ports) => ports.close().await,
        Err(_) => Err("the ports are still in use".into()),
    }
}

/// Gets rows at a rate for some time, from a thread that does nothing else; returns the sorted
/// nanoseconds of each call.
async fn gets(read: &Arc<dyn Table>, table: &Scanned, time: Duration) -> Result<Vec<u64>> {
    let (read, family, rows) = (Arc::clone(read), table.family.clone(), table.rows);
    let handle = tokio::runtime::Handle::current();
    let calls = tokio::task::spawn_blocking(move || {
        let mut numbers = Numbers::new(3);
        let (start, mut calls) = (Instant::now(), Vec::new());
        while start.elapsed() < time {
            let due = Duration::from_secs(1) * u32::try_from(calls.len()).unwrap_or(0) / RATE;
            if let Some(wait) = due.checked_sub(start.elapsed()) {
                std::thread::sleep(wait);
            }
            let sent = Instant::now();
            let id = numbers.below(rows);
            let got = handle.block_on(read.get(one_column(id, &family)));
            calls.push(since(sent));
            match got {
                Ok(row) if !row.is_empty() => {}
                Ok(_) => return Err(halite::Error::invalid("no row")),
                Err(error) => return Err(error),
            }
        }
        Ok(calls)
    });
    let mut calls = calls.await??;
    calls.sort_unstable();
    Ok(calls)
}

fn one_column(id: u32, family: &Bytes) -> Get {
    Get::new(key(id)).column(family.clone(), "n")
}

/// Returns a quantile of sorted nanoseconds, in microseconds.
fn quantile(calls: &[u64], percent: usize) -> f64 {
    let at = (calls.len() * percent / 100).min(calls.len().saturating_sub(1));
    calls.get(at).map_or(0.0, |nanoseconds| *nanoseconds as f64 / 1e3)
}
