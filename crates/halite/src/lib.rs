//! Halite: HBase's sorted, versioned wide-column store in your own process.
//!
//! ```
//! # fn main() -> halite::Result<()> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! # let path = directory.path();
//! use halite::{FamilyDescriptor, Get, Put, Scan, TableDescriptor};
//!
//! let store = halite::open(path)?;
//! store.create_table(TableDescriptor::new("users".parse()?).family(FamilyDescriptor::new("info").versions(3)), &[])?;
//! let users = store.table("users")?;
//! users.put(Put::new("user_12345").add("info", "name", "Ada").add("info", "age", "36"))?;
//! let row = users.get(Get::new("user_12345"))?;
//! assert_eq!(row.value("info", "name"), Some(&b"Ada"[..]));
//! for row in users.scan(Scan::prefix("user_")) {
//!     println!("{}", halite::print_bytes(row?.key()));
//! }
//! store.close()
//! # }
//! ```
//!
//! Keys of several fields are declared, and `halite::RowKey` makes a struct of them:
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use halite::RowKey;
//! use halite::rowkey::typed::TsMillis;
//!
//! #[derive(RowKey)]
//! #[row_key(salt(16, by = "device_id"))]
//! struct SensorKey<'a> {
//!     device_id: &'a str,
//!     #[key(desc)]
//!     ts: TsMillis,
//! }
//! assert_eq!(SensorKey::SCHEMA, "ROW KEY (SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)");
//! # }
//! ```
//!
//! [`open`] gives a [`Store`]. Its own methods are synchronous and need no runtime. It is also a [`Cluster`]: what is
//! written against that trait works here and on a cluster elsewhere: `halite::connect("zk://host:2181/hbase")`, with the feature
//! `client`. [`Blocking`] gives any cluster synchronous calls.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod blocking;
mod calls;
mod cluster;
mod move_row;
mod pool;
mod store;

pub use blocking::{Blocking, BlockingRows, BlockingTable};
#[cfg(feature = "client")]
pub use halite_client::{Config as ClientConfig, RemoteCluster, Retry, RetryObserver, connect, connect_with};
pub use halite_engine::env::DiskSpace;
pub use halite_engine::{Health, LogCut, OpenReport, Options, StoreState, WalRecovery, WalSync};
pub use halite_rowkey as rowkey;
#[cfg(feature = "derive")]
pub use halite_rowkey_derive::RowKey;
pub use halite_types::key::{parse_bytes, print_bytes};
pub use halite_types::*;
pub use move_row::{Moved, move_row};
pub use store::{Builder, Rows, Store, StoreTable};

/// Opens the store in a directory, or creates one in an empty or new directory, with the default [`Options`].
///
/// # Errors
/// `Locked` if another process holds it, `ReadOnly`, `Corrupt`, `NewerFormat`, `InvalidRequest` if the directory holds
/// something else, or the file system's.
pub fn open(path: impl AsRef<std::path::Path>) -> Result<Store> {
    Builder::new().open(path)
}

/// The README's program, run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
