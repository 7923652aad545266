//! Where a command works: a store in this process, or a cluster elsewhere.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use halite::{
    Append, Blocking, BlockingTable, Builder, CheckAndMutate, ClientConfig, Cluster, ClusterStatus, Get, Increment, OpResult, OpenReport, Options,
    Put, RegionInfo, Result, RetryObserver, Row, RowOp, Scan, Store, StoreTable, TableDescriptor, TableName, WalRecovery,
};

/// The options that say where.
#[derive(clap::Args)]
pub(crate) struct PlaceFlags {
    /// Directory of the store; `shell` and `demo` create it if it does not exist, other commands do not
    #[arg(long, value_name = "DIR", default_value = "halite-data", env = "HALITE_DATA")]
    data: PathBuf,
    /// HBase cluster or Halite server to work on instead: zk://HOST:PORT[,HOST:PORT...][/ZNODE], rpc://HOST:PORT[,HOST:PORT...] or site:HBASE-SITE.XML
    #[arg(long, value_name = "URI", env = "HALITE_CONNECT")]
    connect: Option<String>,
    /// What to do with damage in the log of the store
    #[arg(long, value_name = "MODE", default_value = "strict", env = "HALITE_WAL_RECOVERY")]
    wal_recovery: WalRecoveryMode,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum WalRecoveryMode {
    /// Refuse to open the store
    Strict,
    /// Leave the damaged bytes out and keep them in files next to the log; acknowledged writes may be missing
    SkipDamaged,
}

impl PlaceFlags {
    /// Opens the store or connects.
    ///
    /// # Errors
    /// The store's; nobody there.
    pub(crate) fn open(&self) -> anyhow::Result<Place> {
        match &self.connect {
            Some(uri) => connect(uri),
            None => Ok(Place::Here(open_store(&self.data, self.wal_recovery)?)),
        }
    }

    /// Opens a store that exists, or connects: for commands that read, or that need a table.
    ///
    /// # Errors
    /// As [`Self::open`]; a directory without a store, which is left as it is.
    pub(crate) fn open_existing(&self) -> anyhow::Result<Place> {
        if self.connect.is_none() {
            must_be_store(&self.data)?;
        }
        self.open()
    }

    /// The store's directory; `None` if it is a cluster.
    pub(crate) fn data(&self) -> Option<&Path> {
        self.connect.is_none().then_some(&self.data)
    }

    /// What to call it.
    pub(crate) fn name(&self) -> String {
        self.connect.clone().unwrap_or_else(|| self.data.display().to_string())
    }

    /// The options that lead another command to the same place.
    pub(crate) fn flags(&self) -> String {
        match &self.connect {
            Some(uri) => format!("--connect {uri}"),
            None => format!("--data {}", self.data.display()),
        }
    }
}

/// Opens a store and tells what was cut from its log.
fn open_store(path: &Path, recovery: WalRecoveryMode) -> anyhow::Result<Store> {
    let mut options = Options::default();
    options.wal_recovery = match recovery {
        WalRecoveryMode::Strict => WalRecovery::Strict,
        WalRecoveryMode::SkipDamaged => WalRecovery::SkipDamaged,
    };
    let store = Builder::new().options(options).open(path).with_context(|| format!("store {}", path.display()))?;
    report_losses(store.report(), path);
    Ok(store)
}

#[expect(clippy::print_stderr, reason = "a loss, or the end of a write that was never acknowledged, is told to the person who typed the command")]
fn report_losses(report: &OpenReport, path: &Path) {
    for cut in &report.cuts {
        eprintln!("halite: warning: {cut}");
    }
    let (files, root) = (report.unlogged_files, path.display());
    if files > 0 {
        eprintln!(
            "halite: warning: {files} files with cells that are nowhere else were set aside in {root}/{}: if the manifest is an older one, run: halite repair {root}",
            report.quarantine.as_deref().unwrap_or("halite/quarantine")
        );
    }
}

/// Whether a text is the address of a cluster; if not it is a directory.
fn is_address(text: &str) -> bool {
    text.contains("://") || text.starts_with("site:")
}

/// Refuses a directory that holds no store, because opening would make one there.
fn must_be_store(directory: &Path) -> anyhow::Result<()> {
    if directory.join("halite").is_dir() {
        return Ok(());
    }
    let state = if directory.is_dir() { "the directory holds none" } else { "no such directory" };
    bail!(
        "there is no store {}: {state}; give the directory of one, or the address of a cluster: zk://HOST:PORT, rpc://HOST:PORT or site:FILE",
        directory.display()
    )
}

/// Connects to a cluster.
///
/// # Errors
/// Text that is no address; nobody there.
pub(crate) fn connect(uri: &str) -> anyhow::Result<Place> {
    let connected = ClientConfig::from_uri(uri).and_then(|mut config| {
        config.retry_observer = Some(waits());
        Blocking::connect_with(config)
    });
    Ok(Place::There(connected.with_context(|| format!("cluster {uri}"))?))
}

/// An operation that has not come on for this long tells so.
const WAIT_TOLD_MS: u64 = 2_000;
/// Between two such lines.
const WAIT_LINES: Duration = Duration::from_secs(10);

/// Tells why a command takes long, while it does: a client tries for minutes before it gives up.
fn waits() -> RetryObserver {
    let last = Mutex::new(None::<Instant>);
    RetryObserver::new(move |retry| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if retry.elapsed_ms + retry.wait_ms < WAIT_TOLD_MS || last.is_some_and(|last| last.elapsed() < WAIT_LINES) {
            return;
        }
        *last = Some(Instant::now());
        let (tries, wait) = (if retry.tries == 1 { "1 try".to_owned() } else { format!("{} tries", retry.tries) }, shown_wait(retry.wait_ms));
        // Nobody may be there to read it any more, and the operation goes on.
        let _ = writeln!(std::io::stderr(), "halite: no success after {tries}, the next is in {wait} (Ctrl-C gives up): {}", retry.error);
    })
}

/// In seconds, and below one in milliseconds.
fn shown_wait(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{} s", ms.div_ceil(1000)) }
}

/// A store here, or a cluster elsewhere. Clones are the same place.
#[derive(Clone)]
pub(crate) enum Place {
    Here(Store),
    There(Blocking),
}

/// A table of it.
#[derive(Clone)]
pub(crate) enum PlaceTable {
    Here(StoreTable),
    There(BlockingTable),
}

/// What both have under the same name.
macro_rules! either {
    ($self:ident, $it:ident => $call:expr) => {
        match $self {
            Self::Here($it) => $call,
            Self::There($it) => $call,
        }
    };
}

impl Place {
    /// The place of a text: the address of a cluster, or the directory of a store.
    ///
    /// # Errors
    /// The store's; nobody there.
    pub(crate) fn named(text: &str) -> anyhow::Result<Self> {
        if is_address(text) {
            return connect(text);
        }
        Ok(Self::Here(open_store(Path::new(text), WalRecoveryMode::Strict)?))
    }

    /// As [`Place::named`], for what has to be there.
    ///
    /// # Errors
    /// As [`Place::named`]; a directory without a store.
    pub(crate) fn existing(text: &str) -> anyhow::Result<Self> {
        if !is_address(text) {
            must_be_store(Path::new(text))?;
        }
        Self::named(text)
    }

    /// The store, if it is one.
    pub(crate) fn store(&self) -> Option<&Store> {
        match self {
            Self::Here(store) => Some(store),
            Self::There(_) => None,
        }
    }

    /// The seam to it.
    pub(crate) fn cluster(&self) -> Arc<dyn Cluster> {
        match self {
            Self::Here(store) => Arc::new(store.clone()),
            Self::There(cluster) => Arc::clone(cluster.cluster()),
        }
    }

    pub(crate) fn has_table(&self, name: &TableName) -> Result<bool> {
        match self {
            Self::Here(store) => Ok(store.has_table(name)),
            Self::There(cluster) => cluster.has_table(name),
        }
    }

    pub(crate) fn create_table(&self, table: TableDescriptor, splits: &[&[u8]]) -> Result<()> {
        either!(self, place => place.create_table(table, splits))
    }

    pub(crate) fn table(&self, name: &str) -> Result<PlaceTable> {
        match self {
            Self::Here(store) => store.table(name).map(PlaceTable::Here),
            Self::There(cluster) => cluster.table(name).map(PlaceTable::There),
        }
    }

    pub(crate) fn flush(&self, name: &TableName) -> Result<()> {
        either!(self, place => place.flush(name))
    }

    pub(crate) fn status(&self) -> Result<ClusterStatus> {
        match self {
            Self::Here(store) => Ok(store.status()),
            Self::There(cluster) => cluster.status(),
        }
    }

    /// Closes a store; leaves a cluster alone.
    pub(crate) fn close(self) -> Result<()> {
        match self {
            Self::Here(store) => store.close(),
            Self::There(_) => Ok(()),
        }
    }
}

impl PlaceTable {
    pub(crate) fn descriptor(&self) -> Result<Arc<TableDescriptor>> {
        match self {
            Self::Here(table) => Ok(table.descriptor()),
            Self::There(table) => table.descriptor(),
        }
    }

    pub(crate) fn regions(&self) -> Result<Vec<RegionInfo>> {
        match self {
            Self::Here(table) => Ok(table.regions()),
            Self::There(table) => table.regions(),
        }
    }

    pub(crate) fn get(&self, get: Get) -> Result<Row> {
        either!(self, table => table.get(get))
    }

    pub(crate) fn exists(&self, get: Get) -> Result<bool> {
        either!(self, table => table.exists(get))
    }

    pub(crate) fn put(&self, put: Put) -> Result<()> {
        either!(self, table => table.put(put))
    }

    pub(crate) fn increment(&self, increment: Increment) -> Result<Row> {
        either!(self, table => table.increment(increment))
    }

    pub(crate) fn append(&self, append: Append) -> Result<Row> {
        either!(self, table => table.append(append))
    }

    pub(crate) fn check_and_mutate(&self, check: CheckAndMutate) -> Result<bool> {
        either!(self, table => table.check_and_mutate(check))
    }

    pub(crate) fn batch(&self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        either!(self, table => table.batch(ops))
    }

    pub(crate) fn scan(&self, scan: Scan) -> PlaceRows {
        match self {
            Self::Here(table) => PlaceRows::Here(Box::new(table.scan(scan))),
            Self::There(table) => PlaceRows::There(table.scan(scan)),
        }
    }
}

/// The rows of a scan.
pub(crate) enum PlaceRows {
    Here(Box<halite::Rows>),
    There(halite::BlockingRows),
}

impl Iterator for PlaceRows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        either!(self, rows => rows.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_below_a_second_is_told_in_milliseconds() {
        assert_eq!([1, 100, 999, 1000, 1001].map(shown_wait), ["1 ms", "100 ms", "999 ms", "1 s", "2 s"]);
    }
}
