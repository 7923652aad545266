//! Halite's storage engine: regions of sorted, versioned cells on a local disk, with HBase's
//! semantics and file formats.
//!
//! The engine is synchronous and has no async runtime. [`Engine`] owns a directory. [`Table`] reads
//! and writes across its regions. [`Region`] implements the operations. Files, time, randomness and
//! threads enter only through [`env::Env`].

mod atomics;
mod block_cache;
mod caller;
mod catalog;
mod commit;
mod compaction;
mod disk_room;
mod engine;
pub mod env;
mod events;
mod heal;
mod health;
pub mod hfile;
mod histogram;
pub mod inspect;
#[cfg(all(test, halite_loom))]
mod interleavings;
mod maintenance_stats;
pub mod memstore;
#[cfg(not(feature = "heat"))]
#[path = "no_operation_log.rs"]
mod operation_log;
#[cfg(feature = "heat")]
mod operation_log;
mod options;
mod part_failures;
mod ranked_lock;
mod region;
pub mod scan;
mod scheduler;
mod sequential_read;
mod shared;
mod store;
mod store_lock;
mod table_class;
mod wal;

pub use block_cache::{CacheEvictionStats, CacheStats};
pub use caller::{Caller, with_caller};
pub use commit::CommitTicket;
pub use disk_room::writable_bytes;
pub use engine::{
    Engine, ExportFile, ImportFile, ImportRegion, ImportReport, MetaView, OpenReport,
    SnapshotExport, Table, TableScanner,
};
pub use events::{Event, EventFilter, EventKind};
#[cfg(feature = "heat")]
pub use halite_heat as heat;
pub use health::{Health, StoreState};
pub use histogram::Histogram;
pub use maintenance_stats::{CompactionStats, MaintenanceStats};
#[cfg(feature = "heat")]
pub use operation_log::MAX_CALLS_PER_SECOND;
#[cfg(feature = "heat")]
pub use options::HeatLevel;
pub use options::{FlushPolicyClass, Options, PartReads, WalRecovery, WalSync};
pub use part_failures::PartFailures;
pub use region::{BatchResult, Region, empty_range_hint, split_policy_classes};
pub use store::BloomFailures;
pub use wal::{Nonce, WalStats, WalTruncation};
