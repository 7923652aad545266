//! Halite's storage engine: regions of sorted, versioned cells on a local disk, with HBase's semantics and files.
//!
//! Synchronous, without a runtime. [`Engine`] owns a directory, [`Table`] reads and writes across its regions,
//! [`Region`] is where the work happens. Files, time, chance and threads enter only through [`env::Env`].

mod atomics;
mod background;
mod cache;
mod catalog;
mod commit;
mod compaction;
mod disk_room;
mod engine;
pub mod env;
mod heal;
mod health;
pub mod hfile;
mod histogram;
pub mod inspect;
#[cfg(all(test, halite_loom))]
mod interleavings;
pub mod memstore;
mod options;
mod region;
pub mod scan;
mod shared;
mod store;
mod store_lock;
mod upkeep;
mod wal;

pub use cache::{BlockLookups, Evicted};
pub use catalog::meta::ServerIdentity;
pub use commit::CommitTicket;
pub use engine::{Engine, MetaView, OpenReport, Table, TableScanner};
pub use health::{Health, StoreState};
pub use histogram::Histogram;
pub use options::{Options, WalRecovery, WalSync};
pub use region::{Applied, Region, explain_empty};
pub use upkeep::{CompactionFigures, UpkeepFigures};
pub use wal::{LogCut, LogFigures, Nonce};
