//! `halite bench`: HBase's PerformanceEvaluation and YCSB on an embedded store or a cluster.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use halite::{Builder, Options};

use crate::backend::{self, Backend};
use crate::bench::{Bench, BenchConfig, Distribution, Report, Workload, WriteDurability};

/// Measure the embedded store, or a cluster through the client, with HBase's PerformanceEvaluation
/// and YCSB
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Workloads, run in this order on one store; without any, all of PerformanceEvaluation
    #[arg(value_enum, ignore_case = true, value_name = "WORKLOAD")]
    workloads: Vec<Workload>,
    /// Rows in the data set
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Bytes per value; each family of a row has one value
    #[arg(long, default_value_t = 1000)]
    value_size: usize,
    /// Column families of the table
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    families: u8,
    /// Number of concurrent threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Operations of a YCSB workload [default: number of rows]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    operations: Option<u64>,
    /// Row distribution for YCSB [default: as defined by the workload]
    #[arg(long, value_enum)]
    distribution: Option<Distribution>,
    /// Durability of an acknowledged write [default: fsync for a store, default for a cluster]
    #[arg(long, value_enum)]
    durability: Option<WriteDurability>,
    /// Random seed; equal seeds choose equal rows
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the store in this directory and use its existing rows [default: a temporary store in
    /// the current directory, deleted at the end]
    #[arg(long, value_name = "DIR", conflicts_with = "connect")]
    data: Option<PathBuf>,
    /// HBase cluster or Halite server to measure instead: zk://HOST:PORT,...[/ZNODE],
    /// rpc://HOST:PORT,... or site:HBASE-SITE.XML
    #[arg(long, value_name = "URI")]
    connect: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl BenchArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(uri) = &self.connect {
            self.run_at(backend::connect(uri)?)?;
        } else if let Some(folder) = &self.data {
            self.run_in(folder)?;
        } else {
            // Not in the system's temporary directory, which is often a memory file system where a
            // sync costs nothing.
            let folder = tempfile::Builder::new()
                .prefix("halite-bench-")
                .tempdir_in(".")
                .context("making a directory for the store here")?;
            self.run_in(folder.path())?;
            folder.close().context("taking the store away")?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn run_in(&self, folder: &Path) -> anyhow::Result<()> {
        let mut options = Options::default();
        options.wal_sync = self.config().durability.wal_sync();
        self.run_at(Builder::new().options(options).open(folder)?.into())
    }

    fn run_at(&self, place: Backend) -> anyhow::Result<()> {
        let settings = self.config();
        let bench = Bench { backend: &place, config: &settings };
        let mut report = Report::new(std::io::stdout(), self.json);
        report.begin(&settings)?;
        let workloads =
            if self.workloads.is_empty() { &Workload::EVALUATION[..] } else { &self.workloads };
        for workload in workloads {
            report.add(&bench.run(*workload)?, &settings)?;
        }
        report.end()?;
        Ok(place.close()?)
    }

    fn config(&self) -> BenchConfig {
        BenchConfig {
            rows: self.rows,
            value_bytes: self.value_size,
            families: usize::from(self.families),
            threads: self.threads,
            operations: self.operations.unwrap_or(self.rows),
            distribution: self.distribution,
            durability: self.durability.unwrap_or(if self.connect.is_some() {
                WriteDurability::Default
            } else {
                WriteDurability::Fsync
            }),
            seed: self.seed,
        }
    }
}
