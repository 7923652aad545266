//! Command backend: an embedded store or a remote cluster.

use std::io::Write as _;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};
use halite::{
    BlockingCluster, Builder, ClientConfig, OpenReport, Options, Result, RetryObserver, Store,
    WalRecovery,
};

/// Options that select the backend: a directory or a cluster. An option of the command line comes
/// before an environment variable.
pub(crate) struct BackendArgs {
    data: PathBuf,
    connect: Option<String>,
    wal_recovery: WalRecoveryMode,
}

/// The options as they are given.
#[derive(clap::Args)]
struct BackendFlags {
    /// Directory of the store; `shell`, `demo`, `traffic` and the steps of `recipe` that write
    /// create it if it does not exist, other commands do not
    #[arg(long, value_name = "DIR", default_value = "halite-data", env = "HALITE_DATA")]
    data: PathBuf,
    /// HBase cluster or Halite server to work on instead: zk://HOST:PORT,...[/ZNODE],
    /// rpc://HOST:PORT,... or site:HBASE-SITE.XML
    #[arg(long, value_name = "URI", env = "HALITE_CONNECT")]
    connect: Option<String>,
    /// Action for damaged WAL records
    #[arg(long, value_name = "MODE", default_value = "strict", env = "HALITE_WAL_RECOVERY")]
    wal_recovery: WalRecoveryMode,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum WalRecoveryMode {
    /// Refuse to open the store
    Strict,
    /// Skip damaged bytes and save them in files next to the log; acknowledged writes may be
    /// missing
    SkipDamaged,
}

impl FromArgMatches for BackendArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_typed = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let (has_data, has_connect) = (is_typed("data"), is_typed("connect"));
        if has_data && has_connect {
            return Err(clap::Error::raw(
                ErrorKind::ArgumentConflict,
                "--data is the directory of a store and --connect a cluster to use instead; leave \
                 out one of them\n",
            ));
        }
        let BackendFlags { data, connect, wal_recovery } = BackendFlags::from_arg_matches(matches)?;
        Ok(Self { data, connect: connect.filter(|_| has_connect || !has_data), wal_recovery })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for BackendArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        BackendFlags::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        BackendFlags::augment_args_for_update(command)
    }
}

impl BackendArgs {
    /// Opens the store or connects to the cluster.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened or the cluster cannot be reached.
    pub(crate) fn open(&self) -> anyhow::Result<Backend> {
        match &self.connect {
            Some(uri) => connect(uri),
            None => Ok(open_store(&self.data, self.wal_recovery)?.into()),
        }
    }

    /// Opens an existing store or connects, for commands that read or that need a table.
    ///
    /// # Errors
    /// As [`Self::open`]. Fails without changes if the directory does not contain a store.
    pub(crate) fn open_existing(&self) -> anyhow::Result<Backend> {
        if self.connect.is_none() {
            must_be_store(&self.data)?;
        }
        self.open()
    }

    /// Returns `true` if there is a store in the directory, and for a cluster.
    pub(crate) fn exists(&self) -> bool {
        self.connect.is_some() || is_store(&self.data)
    }

    /// Returns the directory of the store, or `None` for a cluster.
    pub(crate) fn data(&self) -> Option<&Path> {
        self.connect.is_none().then_some(&self.data)
    }

    /// Returns the display name of the backend: its URI or directory.
    pub(crate) fn name(&self) -> String {
        self.connect.clone().unwrap_or_else(|| self.data.display().to_string())
    }

    /// Returns the options that select the same backend in another command.
    pub(crate) fn flags(&self) -> String {
        match &self.connect {
            Some(uri) => format!("--connect {uri}"),
            None => format!("--data {}", self.data.display()),
        }
    }
}

/// Opens an existing store to read its log of operations, which stays as large as it is.
///
/// # Errors
/// Returns an error if there is no store, or another process has it open.
pub(crate) fn open_stopped(path: &Path) -> anyhow::Result<Store> {
    must_be_store(path)?;
    let mut options = Options::default();
    options.operation_log_bytes = 1 << 40;
    open_with(path, options)
}

/// Opens a store and reports what was cut from its log.
fn open_store(path: &Path, recovery: WalRecoveryMode) -> anyhow::Result<Store> {
    let mut options = Options::default();
    options.wal_recovery = match recovery {
        WalRecoveryMode::Strict => WalRecovery::Strict,
        WalRecoveryMode::SkipDamaged => WalRecovery::SkipDamaged,
    };
    open_with(path, options)
}

fn open_with(path: &Path, options: Options) -> anyhow::Result<Store> {
    let store = Builder::new()
        .options(options)
        .open(path)
        .with_context(|| format!("store {}", path.display()))?;
    report_losses(store.open_report(), path);
    Ok(store)
}

#[expect(
    clippy::print_stderr,
    reason = "a loss, or the end of a write that was never acknowledged, is reported to the caller \
              of the command"
)]
fn report_losses(report: &OpenReport, path: &Path) {
    for cut in &report.wal_truncations {
        eprintln!("halite: warning: {cut}");
    }
    for family in &report.unknown_encodings {
        eprintln!(
            "halite: warning: unknown data block encoding, so new files are written without one; \
             alter DATA_BLOCK_ENCODING of {family}"
        );
    }
    for damage in &report.damaged_files {
        eprintln!("halite: warning: {damage}");
    }
    let (files, root) = (report.unlogged_files, path.display());
    if files > 0 {
        eprintln!(
            "halite: warning: {files} files with cells that are nowhere else were moved to \
             {root}/{}: if the manifest is an older one, run: halite repair {root}",
            report.quarantine.as_deref().unwrap_or("halite/quarantine")
        );
    }
}

/// Returns `true` if the text is a cluster URI rather than a directory.
fn is_address(text: &str) -> bool {
    text.contains("://") || text.starts_with("site:")
}

fn is_store(directory: &Path) -> bool {
    directory.join("halite").is_dir()
}

/// Rejects a directory without a store, because opening would create one in it.
fn must_be_store(directory: &Path) -> anyhow::Result<()> {
    if is_store(directory) {
        return Ok(());
    }
    let state = if directory.is_dir() { "the directory holds none" } else { "no such directory" };
    bail!(
        "there is no store {}: {state}; give the directory of one, or the address of a cluster: \
         zk://HOST:PORT, rpc://HOST:PORT or site:FILE",
        directory.display()
    )
}

/// Connects to a cluster.
///
/// # Errors
/// Returns an error if the URI is invalid or the cluster cannot be reached.
pub(crate) fn connect(uri: &str) -> anyhow::Result<Backend> {
    let connected = ClientConfig::from_uri(uri).and_then(|mut config| {
        config.retry_observer = Some(wait_reporter());
        BlockingCluster::connect_with(config)
    });
    Ok(connected.with_context(|| format!("cluster {uri}"))?.into())
}

/// Minimum time without progress after which an operation is reported, in milliseconds.
const MIN_REPORTED_WAIT_MS: u64 = 2_000;
/// Interval between two such reports.
const WAIT_REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Returns an observer that reports why an operation is retried. A client retries for minutes
/// before it gives up.
fn wait_reporter() -> RetryObserver {
    let last = Mutex::new(None::<Instant>);
    RetryObserver::new(move |retry| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if retry.elapsed_ms + retry.wait_ms < MIN_REPORTED_WAIT_MS
            || last.is_some_and(|last| last.elapsed() < WAIT_REPORT_INTERVAL)
        {
            return;
        }
        *last = Some(Instant::now());
        let (tries, wait) = (
            if retry.tries == 1 { "1 try".to_owned() } else { format!("{} tries", retry.tries) },
            format_wait(retry.wait_ms),
        );
        // Standard error may be closed; the operation continues.
        let _ = writeln!(
            std::io::stderr(),
            "halite: no success after {tries}, the next is in {wait} (Ctrl-C gives up): {}",
            retry.error
        );
    })
}

/// Formats a duration in seconds, or in milliseconds below one second.
fn format_wait(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{} s", ms.div_ceil(1000)) }
}

/// Cluster on which a command works, and the store if it is embedded. Clones refer to the same one.
#[derive(Clone)]
pub(crate) struct Backend {
    cluster: BlockingCluster,
    store: Option<Store>,
}

impl Deref for Backend {
    type Target = BlockingCluster;

    fn deref(&self) -> &BlockingCluster {
        &self.cluster
    }
}

impl From<Store> for Backend {
    fn from(store: Store) -> Self {
        Self { cluster: BlockingCluster::clone(&store), store: Some(store) }
    }
}

impl From<BlockingCluster> for Backend {
    fn from(cluster: BlockingCluster) -> Self {
        Self { cluster, store: None }
    }
}

impl Backend {
    /// Opens the backend that a text names: the URI of a cluster or the directory of a store.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened or the cluster cannot be reached.
    pub(crate) fn open(text: &str) -> anyhow::Result<Self> {
        if is_address(text) {
            return connect(text);
        }
        Ok(open_store(Path::new(text), WalRecoveryMode::Strict)?.into())
    }

    /// As [`Backend::open`], for a store that must exist.
    ///
    /// # Errors
    /// As [`Backend::open`]. Fails if the directory does not contain a store.
    pub(crate) fn open_existing(text: &str) -> anyhow::Result<Self> {
        if !is_address(text) {
            must_be_store(Path::new(text))?;
        }
        Self::open(text)
    }

    /// Returns the embedded store, if the backend is one.
    pub(crate) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Closes a store; does nothing for a cluster.
    pub(crate) fn close(self) -> Result<()> {
        self.store.map_or(Ok(()), Store::close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_below_one_second_prints_milliseconds() {
        assert_eq!(
            [1, 100, 999, 1000, 1001].map(format_wait),
            ["1 ms", "100 ms", "999 ms", "1 s", "2 s"]
        );
    }
}
