//! Table in memory: every response is pending once, and requests are counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use halite_types::cell::CellParts;
use halite_types::{
    BoxFuture, Bytes, CellType, CellsBuilder, Error, Get, OpResult, RegionInfo, Result, Row, RowOp,
    RowSource, RowStream, Scan, Table, TableDescriptor, TableName,
};

/// Requests to the table.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) scans: AtomicUsize,
    pub(super) rows: AtomicUsize,
    pub(super) gets: AtomicUsize,
    /// Scans that are being read, and their maximum.
    pub(super) waiting: AtomicUsize,
    pub(super) max_waiting: AtomicUsize,
    /// Open scans.
    pub(super) open: AtomicUsize,
    /// Limit of each scan.
    pub(super) limits: Mutex<Vec<Option<usize>>>,
}

#[derive(Clone)]
pub(super) struct Fake {
    pub(super) name: TableName,
    rows: Arc<BTreeMap<Vec<u8>, Row>>,
    pub(super) counts: Arc<Counts>,
    /// Maximum rows per response.
    pub(super) batch: usize,
    /// Row whose read fails.
    pub(super) broken: Option<Vec<u8>>,
}

impl Fake {
    pub(super) fn new(keys: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let rows = keys.into_iter().map(|key| (key.clone(), row(&key))).collect();
        let name = "t".parse().expect("a name");
        Self { name, rows: Arc::new(rows), counts: Arc::default(), batch: 7, broken: None }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.rows.keys()
    }
}

fn row(key: &[u8]) -> Row {
    let mut cells = CellsBuilder::default();
    let parts = CellParts {
        row: key,
        family: b"f",
        qualifier: b"q",
        timestamp: 1,
        cell_type: CellType::Put,
        value: b"v",
        tags: b"",
    };
    cells.push_parts(parts);
    Row::new(cells.finish())
}

impl Table for Fake {
    fn name(&self) -> &TableName {
        &self.name
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        Box::pin(async { Err(Error::invalid("not of use here")) })
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.counts.gets.fetch_add(gets.len(), Ordering::Relaxed);
        Box::pin(async move {
            Ok(gets
                .iter()
                .map(|get| self.rows.get(&get.row()[..]).cloned().unwrap_or_default())
                .collect())
        })
    }

    fn batch(&self, _: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        Box::pin(async { Err(Error::invalid("not of use here")) })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.counts.scans.fetch_add(1, Ordering::Relaxed);
        self.counts.limits.lock().expect("a list").push(scan.limit);
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        let mut keys: Vec<_> =
            self.rows.keys().filter(|key| scan.range.contains(key)).cloned().collect();
        if scan.reverse {
            keys.reverse();
        }
        keys.truncate(scan.limit.unwrap_or(usize::MAX));
        RowStream::new(Reading { table: self.clone(), keys: keys.into_iter() })
    }
}

struct Reading {
    table: Fake,
    keys: std::vec::IntoIter<Vec<u8>>,
}

impl RowSource for Reading {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        let counts = Arc::clone(&self.table.counts);
        Box::pin(async move {
            let waiting = counts.waiting.fetch_add(1, Ordering::Relaxed) + 1;
            counts.max_waiting.fetch_max(waiting, Ordering::Relaxed);
            let _end = OnDrop(&counts);
            yield_once().await;
            let keys: Vec<_> = self.keys.by_ref().take(self.table.batch).collect();
            counts.rows.fetch_add(keys.len(), Ordering::Relaxed);
            if keys.iter().any(|key| Some(key) == self.table.broken.as_ref()) {
                return Err(Error::corrupt("the block is damaged"));
            }
            Ok(keys.iter().map(|key| self.table.rows[key].clone()).collect())
        })
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.table.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

struct OnDrop<'c>(&'c Counts);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until it is polled a second time.
async fn yield_once() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Returns the rows' keys.
pub(super) fn keys_of(rows: &[Row]) -> Vec<Bytes> {
    rows.iter().map(|row| Bytes::copy_from_slice(row.key())).collect()
}
