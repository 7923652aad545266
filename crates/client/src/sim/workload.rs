//! Programs that use the client under test: they put, count, append, read and scan for a fixed time
//! while faults occur.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use halite_types::{
    Append, Bytes, Cluster, Get, Increment, Put, Result, Row, RowOp, Scan, Table, TableExt,
};
use tokio::time::Instant;

use super::cluster::{FAMILY, TABLE};
use super::history::{History, SharedHistory, check_errors, timed};
use crate::{Config, RemoteCluster, connect_with};

/// Time for which callers run, in simulated time.
const DURATION: Duration = Duration::from_secs(12);
/// Maximum number of consecutive responses without a row. Each may take the operation timeout.
const MAX_EMPTY_RESPONSES: u32 = 4;

/// Caller: a table, its history, and its own random generator.
struct Caller {
    table: Arc<dyn Table>,
    history: SharedHistory,
    rng: Rng,
    limit: Duration,
    number: u32,
}

/// Runs all programs of one client; returns when the client is dropped and everything is checked.
pub(super) async fn run(
    told: SharedHistory,
    config: Config,
    seed: u64,
    servers: usize,
) -> turmoil::Result {
    let limit = Duration::from_millis(config.operation_timeout_ms);
    let cluster = connected(&told, &config).await;
    let until = Instant::now() + DURATION;
    let programs = (0..10).map(|number| {
        let caller = caller(&cluster, &told, seed, limit, number);
        tokio::task::spawn_local(caller.live(until))
    });
    for program in programs.collect::<Vec<_>>() {
        program.await?;
    }
    told.borrow_mut().is_quiet = true;
    while !told.borrow().is_healed {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    caller(&cluster, &told, seed, limit, 100).check_final_state().await;
    check_connections(&told, servers);
    drop(cluster);
    check_nothing_left(&told).await;
    told.borrow_mut().is_over = true;
    Ok(())
}

fn caller(
    cluster: &RemoteCluster,
    told: &SharedHistory,
    seed: u64,
    limit: Duration,
    number: u32,
) -> Caller {
    let table = cluster.table(&TABLE.parse().unwrap());
    Caller {
        table,
        history: Rc::clone(told),
        rng: Rng::with_seed(seed ^ u64::from(number) << 32),
        limit,
        number,
    }
}

/// Connects with retries: the registry may be unreachable at first.
async fn connected(told: &SharedHistory, config: &Config) -> RemoteCluster {
    let places = config.addresses().unwrap().len() as u64;
    loop {
        let begun = Instant::now();
        match connect_with(config.clone()).await {
            Ok(cluster) => return cluster,
            Err(error) => {
                let most = Duration::from_millis(config.connect_timeout_ms * places + 25);
                told.borrow_mut().expect(begun.elapsed() <= most, || {
                    format!("connecting took {:?}: {error}", begun.elapsed())
                });
                told.borrow_mut().expect(
                    error.message().contains("storm")
                        || error.message().contains("rs")
                        || error.message().contains("zk"),
                    || format!("connecting: the error does not say where: {error}"),
                );
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Checks that no connections to stopped servers remain: at most one for each of two services of
/// each running server.
fn check_connections(told: &SharedHistory, servers: usize) {
    let most = servers * 2;
    let connections = super::net::open_sockets();
    told.borrow_mut().expect(connections <= most, || {
        format!("{connections} connections are open to {servers} servers")
    });
}

/// Checks that no connections and tasks of a dropped client remain.
async fn check_nothing_left(told: &SharedHistory) {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (sockets, tasks) =
        (super::net::open_sockets(), tokio::runtime::Handle::current().metrics().num_alive_tasks());
    told.borrow_mut().expect(sockets == 0, || format!("{sockets} connections are left open"));
    told.borrow_mut().expect(tasks == 0, || format!("{tasks} tasks are left"));
}

impl Caller {
    async fn live(mut self, until: Instant) {
        let mut round = 0;
        while Instant::now() < until {
            round += 1;
            match self.number {
                0 | 1 => self.put(round).await,
                2 | 3 => self.batch(round).await,
                4 => self.count().await,
                5 => self.append(round).await,
                6 => self.read().await,
                7 => self.cancel_early(round).await,
                _ => self.scan().await,
            }
            tokio::time::sleep(Duration::from_millis(self.rng.u64(..60))).await;
        }
    }

    /// Returns a key that no other caller uses, anywhere in the table.
    fn new_key(&mut self, round: u32, index: usize) -> String {
        let key = format!(
            "{}{:02}-{}-{round}-{index}",
            char::from(b'a' + self.rng.u8(..26)),
            self.rng.u8(..100),
            self.number
        );
        self.history.borrow_mut().requested.insert(key.clone());
        key
    }

    async fn put(&mut self, round: u32) {
        let key = self.new_key(round, 0);
        let done =
            timed(&self.history, "put", self.limit, self.table.mutate(put_for_key(&key))).await;
        if done.is_ok() {
            self.history.borrow_mut().put.insert(key);
        }
    }

    /// Puts, increments and reads of many rows at once.
    async fn batch(&mut self, round: u32) {
        let keys: Vec<String> =
            (0..self.rng.usize(1..20)).map(|index| self.new_key(round, index)).collect();
        let counters: Vec<String> = (0..self.rng.usize(..3)).map(|_| self.counter()).collect();
        let ops = keys
            .iter()
            .map(|key| put_for_key(key))
            .chain(counters.iter().map(|row| increment_for_row(row)));
        let done = timed(&self.history, "batch", self.limit, self.table.batch(ops.collect()))
            .await
            .unwrap_or_default();
        check_errors(&self.history, "batch", &done);
        let mut told = self.history.borrow_mut();
        for (index, result) in done.iter().enumerate().filter(|(_, result)| result.is_ok()) {
            match (keys.get(index), counters.get(index.wrapping_sub(keys.len()))) {
                (Some(key), _) => drop(told.put.insert(key.clone())),
                (None, Some(row)) => {
                    told.counters.get_mut(row).unwrap().done += 1;
                    let is_there =
                        result.as_ref().is_ok_and(|result| result.row.value(FAMILY, "q").is_some());
                    told.expect(is_there, || format!("the increment of {row} has no value"));
                }
                (None, None) => {}
            }
        }
    }

    fn counter(&mut self) -> String {
        let row = format!("{}counter", char::from(b'a' + self.rng.u8(..5) * 5));
        self.history.borrow_mut().counters.entry(row.clone()).or_default().requested += 1;
        row
    }

    async fn count(&mut self) {
        let row = self.counter();
        if timed(&self.history, "increment", self.limit, self.table.mutate(increment_for_row(&row)))
            .await
            .is_ok()
        {
            self.history.borrow_mut().counters.get_mut(&row).unwrap().done += 1;
        }
    }

    async fn append(&mut self, round: u32) {
        let (row, token) =
            (format!("{}list", char::from(b'b' + self.rng.u8(..5) * 5)), format!("<{round}>"));
        let op = Append::new(row.clone()).add(FAMILY, "q", &token).into();
        let done = timed(&self.history, "append", self.limit, self.table.mutate(op)).await.is_ok();
        self.history.borrow_mut().appended.entry(row).or_default().push((token, done));
    }

    async fn read(&mut self) {
        let keys: Vec<String> = self.history.borrow().put.iter().cloned().collect();
        let keys: Vec<&String> = (0..self.rng.usize(1..6))
            .filter_map(|_| keys.get(self.rng.usize(..keys.len().max(1))))
            .collect();
        let gets = keys.iter().map(|key| Get::new((*key).clone())).collect();
        let Ok(rows) = timed(&self.history, "get", self.limit, self.table.get_all(gets)).await
        else {
            return;
        };
        let mut told = self.history.borrow_mut();
        for (key, row) in keys.iter().zip(rows) {
            told.expect(row.key() == key.as_bytes(), || {
                format!("row {key} was put, and a get finds {row:?}")
            });
            told.check_row(&row, true);
        }
    }

    /// Makes calls that are dropped before they finish.
    async fn cancel_early(&mut self, round: u32) {
        let key = self.new_key(round, 0);
        let patience = Duration::from_millis(self.rng.u64(..300));
        let scan = self.any_scan();
        let mut stream = self.table.scan(scan);
        let calls = async {
            let put = self.table.mutate(put_for_key(&key)).await;
            let _ = self.table.get_all(vec![Get::new(key.clone()); 20]).await;
            while let Ok(Some(_)) = stream.next().await {}
            put
        };
        if let Ok(Ok(_)) = tokio::time::timeout(patience, calls).await {
            self.history.borrow_mut().put.insert(key);
        }
    }

    fn any_scan(&mut self) -> Scan {
        let mut letter = || char::from(b'a' + self.rng.u8(..27)).to_string();
        let (first, second) = (letter(), letter());
        let mut scan = match self.rng.u8(..3) {
            0 => Scan::range(first.clone().min(second.clone()), first.max(second)),
            _ => Scan::all(),
        };
        scan = scan.reverse(self.rng.bool());
        if self.rng.bool() {
            // Causes cursors to be requested.
            scan = scan.family(FAMILY);
        }
        if self.rng.u8(..4) == 0 {
            scan = scan.batch(self.rng.usize(1..4));
        }
        if self.rng.u8(..4) == 0 {
            scan = scan.limit(self.rng.usize(1..60));
        }
        scan
    }

    async fn scan(&mut self) {
        let scan = self.any_scan();
        let before: Vec<String> = self
            .history
            .borrow()
            .put
            .iter()
            .filter(|key| scan.range.contains(key.as_bytes()))
            .cloned()
            .collect();
        let (reverse, limit, is_batched) = (scan.reverse, scan.limit, scan.batch.is_some());
        let what = format!(
            "scan {:?} reverse {reverse} limit {limit:?} batch {:?}",
            scan.range, scan.batch
        );
        let mut stream = self.table.scan(scan);
        let mut cells: BTreeMap<String, usize> = BTreeMap::new();
        let mut last = Bytes::new();
        loop {
            let row =
                match timed(&self.history, &what, self.limit * MAX_EMPTY_RESPONSES, stream.next())
                    .await
                {
                    Ok(Some(row)) => row,
                    Ok(None) => break,
                    Err(_) => return,
                };
            self.check_next(&what, &row, &last, (reverse, is_batched));
            last = Bytes::copy_from_slice(row.key());
            *cells.entry(String::from_utf8_lossy(&last).into_owned()).or_default() += row.len();
            if self.rng.u8(..150) == 0 {
                tokio::time::sleep(Duration::from_millis(self.rng.u64(..5_000))).await;
            }
        }
        self.check_scan(&what, &before, &cells, limit);
    }

    /// Checks that a row follows the previous one and has the cells that were put.
    fn check_next(&self, what: &str, row: &Row, last: &[u8], (reverse, is_batched): (bool, bool)) {
        let (mut history, key) = (self.history.borrow_mut(), row.key());
        let is_next = last.is_empty() || if reverse { key < last } else { key > last };
        history.expect(is_next || is_batched && key == last, || {
            format!("{what}: {} comes after {}", key.escape_ascii(), last.escape_ascii())
        });
        history.expect(is_batched || !row.is_partial(), || {
            format!("{what}: row {} is not whole", key.escape_ascii())
        });
        history.check_row(row, !is_batched);
    }

    /// Checks that the scan contains all rows that existed before it began, complete.
    fn check_scan(
        &self,
        what: &str,
        before: &[String],
        cells: &BTreeMap<String, usize>,
        limit: Option<usize>,
    ) {
        let mut history = self.history.borrow_mut();
        history.expect(limit.is_none_or(|limit| cells.len() <= limit), || {
            format!("{what}: {} rows", cells.len())
        });
        let is_cut = limit.is_some_and(|limit| cells.len() >= limit);
        for key in before.iter().filter(|_| !is_cut) {
            history.expect(cells.contains_key(key), || format!("{what}: row {key} is missing"));
        }
        for (key, count) in cells.iter().filter(|(key, _)| key.contains('-')) {
            let columns = History::columns_for(key).len();
            history.expect(*count == columns, || {
                format!("{what}: row {key} came with {count} cells of {columns}")
            });
        }
    }

    /// Checks the healthy cluster: every call must succeed, and all acknowledged operations must be
    /// present.
    async fn check_final_state(&mut self) {
        // A connection that has lost bytes is detected only by a call without a response, which may
        // take the whole operation timeout.
        for _ in 0..8 {
            if self.all_rows(false, "warm-up scan").await.is_ok() {
                break;
            }
        }
        for reverse in [false, true] {
            let what = format!("last scan, reverse {reverse}");
            match self.all_rows(reverse, &what).await {
                Ok(rows) => self.history.borrow_mut().check_end(&rows),
                Err(error) => self
                    .history
                    .borrow_mut()
                    .wrong
                    .push(format!("{what} of a cluster that is well: {error}")),
            }
        }
        let keys: Vec<String> = self.history.borrow().put.iter().cloned().collect();
        for keys in keys.chunks(4) {
            let gets = keys.iter().map(|key| Get::new(key.clone())).collect();
            let rows = timed(&self.history, "last get", self.limit, self.table.get_all(gets)).await;
            let mut history = self.history.borrow_mut();
            match rows {
                Ok(rows) => rows.iter().for_each(|row| history.check_row(row, true)),
                Err(error) => history.wrong.push(format!("get of a cluster that is well: {error}")),
            }
        }
    }

    async fn all_rows(&mut self, reverse: bool, what: &str) -> Result<BTreeMap<String, Row>> {
        let mut stream = self.table.scan(Scan::all().family(FAMILY).reverse(reverse));
        let mut rows = BTreeMap::new();
        while let Some(row) =
            timed(&self.history, what, self.limit * MAX_EMPTY_RESPONSES, stream.next()).await?
        {
            let key = String::from_utf8_lossy(row.key()).into_owned();
            self.history.borrow_mut().check_row(&row, true);
            let before = rows.insert(key.clone(), row);
            self.history
                .borrow_mut()
                .expect(before.is_none(), || format!("{what}: row {key} came twice"));
        }
        Ok(rows)
    }
}

fn put_for_key(key: &str) -> RowOp {
    History::columns_for(key)
        .iter()
        .fold(Put::new(key.to_string()), |put, (column, value)| put.add(FAMILY, column, value))
        .into()
}

fn increment_for_row(row: &str) -> RowOp {
    Increment::new(row.to_string()).add(FAMILY, "q", 1).into()
}
