//! Workloads that measure a store: HBase's PerformanceEvaluation and YCSB, on the embedded engine or on a cluster.
//!
//! `workload.rs` names them, `evaluation.rs` and `ycsb.rs` do one operation after another, `run.rs` runs them on threads
//! and measures, `report.rs` prints. The data comes from `rows.rs`, chance from `chance.rs`.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are rounded for people, and row numbers fit in memory's addresses"
)]

mod chance;
mod evaluation;
mod report;
mod rows;
mod run;
mod workload;
mod ycsb;

use halite::{Durability, WalSync};

pub(crate) use chance::{Chance, Distribution};
pub(crate) use report::Report;
pub(crate) use run::{Bench, Measured};
pub(crate) use workload::Workload;

/// What all workloads of one run have in common.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Rows of the data set.
    pub(crate) rows: u64,
    /// Bytes of one family's value in a row.
    pub(crate) value_bytes: usize,
    /// Families of a table, each with a value in every row.
    pub(crate) families: usize,
    /// Threads that work at the same time.
    pub(crate) threads: u64,
    /// Operations of a YCSB workload, all threads together.
    pub(crate) operations: u64,
    /// How YCSB chooses rows; `None` for what the workload is defined with.
    pub(crate) distribution: Option<Distribution>,
    /// What an acknowledged write has reached.
    pub(crate) durability: Reached,
    /// Where chance begins.
    pub(crate) seed: u64,
}

/// What an acknowledged write has reached, in the words of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Reached {
    /// The disk, by fdatasync in groups
    Fsync,
    /// The operating system
    Flush,
    /// The log's buffer, which is written soon (`ASYNC_WAL`)
    Async,
    /// Memory only, until the next flush (`SKIP_WAL`)
    Skip,
    /// What the store, the table or the server does by itself
    Default,
}

impl Reached {
    /// As written on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Flush => "flush",
            Self::Async => "async",
            Self::Skip => "skip",
            Self::Default => "default",
        }
    }

    /// How the store has to be opened for it.
    pub(crate) fn wal_sync(self) -> WalSync {
        if matches!(self, Self::Fsync | Self::Default) { WalSync::Fsync } else { WalSync::Flush }
    }

    /// What each write has to ask for.
    fn of_write(self) -> Durability {
        match self {
            Self::Fsync => Durability::FsyncWal,
            Self::Flush => Durability::SyncWal,
            Self::Default => Durability::UseDefault,
            Self::Async => Durability::AsyncWal,
            Self::Skip => Durability::SkipWal,
        }
    }
}
