//! Store benchmarks: HBase's PerformanceEvaluation and YCSB, on the embedded engine or on a
//! cluster.
//!
//! `workload.rs` defines the workloads, `performance_evaluation.rs` and `ycsb.rs` execute single
//! operations, `run.rs` runs them on threads and measures them, `report.rs` prints the results.
//! `rows.rs` generates the data and `rng.rs` the random numbers.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "statistics are rounded for readers, and row numbers fit in memory's addresses"
)]

mod performance_evaluation;
mod report;
mod rng;
mod rows;
mod run;
mod workload;
mod ycsb;

use halite::{Durability, WalSync};

pub(crate) use report::Report;
pub(crate) use rng::{Distribution, SeededRng};
pub(crate) use run::{Bench, WorkloadResult};
pub(crate) use workload::Workload;

/// Settings common to all workloads of one run.
#[derive(Clone, Debug)]
pub(crate) struct BenchConfig {
    /// Rows in the data set.
    pub(crate) rows: u64,
    /// Bytes per value; each family of a row has one value.
    pub(crate) value_bytes: usize,
    /// Column families of the table, each with a value in every row.
    pub(crate) families: usize,
    /// Concurrent threads.
    pub(crate) threads: u64,
    /// Operations of a YCSB workload, summed over all threads.
    pub(crate) operations: u64,
    /// Row distribution for YCSB; `None` for the default of the workload.
    pub(crate) distribution: Option<Distribution>,
    /// Durability of an acknowledged write.
    pub(crate) durability: WriteDurability,
    /// Random seed.
    pub(crate) seed: u64,
}

/// Durability of an acknowledged write, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WriteDurability {
    /// Disk, by grouped fdatasync
    Fsync,
    /// Operating system
    Flush,
    /// WAL buffer, which is written soon (`ASYNC_WAL`)
    Async,
    /// Memory only, until the next flush (`SKIP_WAL`)
    Skip,
    /// Default of the store, the table or the server
    Default,
}

impl WriteDurability {
    /// Returns the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Flush => "flush",
            Self::Async => "async",
            Self::Skip => "skip",
            Self::Default => "default",
        }
    }

    /// Returns the WAL sync mode that the store must be opened with.
    pub(crate) fn wal_sync(self) -> WalSync {
        if matches!(self, Self::Fsync | Self::Default) { WalSync::Fsync } else { WalSync::Flush }
    }

    /// Returns the durability that each write must request.
    fn mutation_durability(self) -> Durability {
        match self {
            Self::Fsync => Durability::FsyncWal,
            Self::Flush => Durability::SyncWal,
            Self::Default => Durability::UseDefault,
            Self::Async => Durability::AsyncWal,
            Self::Skip => Durability::SkipWal,
        }
    }
}
