//! `halite bench`: HBase's PerformanceEvaluation and YCSB on a store in this process.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use halite::{Builder, Options};

use crate::bench::{Bench, Distribution, Reached, Report, Settings, Workload};
use crate::place::{self, Place};

/// Measure the embedded store, or a cluster through the client, with HBase's PerformanceEvaluation and YCSB.
#[derive(clap::Args)]
pub(crate) struct BenchCommand {
    /// Workloads, run in this order on one store; all of PerformanceEvaluation if none is named
    #[arg(value_enum, ignore_case = true, value_name = "WORKLOAD")]
    workloads: Vec<Workload>,
    /// Rows of the data set
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Bytes of the value each family has in a row
    #[arg(long, default_value_t = 1000)]
    value_size: usize,
    /// Column families of the table
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    families: u8,
    /// Threads that work at the same time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Operations of a YCSB workload; as many as rows if not given
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    operations: Option<u64>,
    /// How YCSB chooses rows, instead of as the workload is defined
    #[arg(long, value_enum)]
    distribution: Option<Distribution>,
    /// What an acknowledged write has reached; fsync for a store, default for a cluster
    #[arg(long, value_enum)]
    durability: Option<Reached>,
    /// Where chance begins; the same seed chooses the same rows
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the store in this directory and use the rows that are there; otherwise it is made in the current directory and taken away
    #[arg(long, value_name = "DIR", conflicts_with = "connect")]
    data: Option<PathBuf>,
    /// HBase cluster or Halite server to measure instead: zk://HOST:PORT[,HOST:PORT...][/ZNODE], rpc://HOST:PORT[,HOST:PORT...] or site:HBASE-SITE.XML
    #[arg(long, value_name = "URI")]
    connect: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl BenchCommand {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(uri) = &self.connect {
            self.run_at(place::connect(uri)?)?;
        } else if let Some(folder) = &self.data {
            self.run_in(folder)?;
        } else {
            // Not in the system's temporary folder, which often lies in memory and would make every sync free.
            let folder = tempfile::Builder::new().prefix("halite-bench-").tempdir_in(".").context("making a directory for the store here")?;
            self.run_in(folder.path())?;
            folder.close().context("taking the store away")?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn run_in(&self, folder: &Path) -> anyhow::Result<()> {
        let mut options = Options::default();
        options.wal_sync = self.settings().durability.wal_sync();
        self.run_at(Place::Here(Builder::new().options(options).open(folder)?))
    }

    fn run_at(&self, place: Place) -> anyhow::Result<()> {
        let settings = self.settings();
        let bench = Bench { place: &place, settings: &settings };
        let mut report = Report::new(std::io::stdout(), self.json);
        report.begin(&settings)?;
        let workloads = if self.workloads.is_empty() { &Workload::EVALUATION[..] } else { &self.workloads };
        for workload in workloads {
            report.add(&bench.run(*workload)?, &settings)?;
        }
        report.end()?;
        Ok(place.close()?)
    }

    fn settings(&self) -> Settings {
        Settings {
            rows: self.rows,
            value_bytes: self.value_size,
            families: usize::from(self.families),
            threads: self.threads,
            operations: self.operations.unwrap_or(self.rows),
            distribution: self.distribution,
            durability: self.durability.unwrap_or(if self.connect.is_some() { Reached::Default } else { Reached::Fsync }),
            seed: self.seed,
        }
    }
}
