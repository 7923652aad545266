//! Halite: HBase's sorted, versioned wide-column store, embedded in your process.
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
//!     println!("{}", halite::to_string_binary(row?.key()));
//! }
//! store.close()
//! # }
//! ```
//!
//! Row keys of several fields are declared, and `halite::RowKey` derives a struct for them:
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
//! [`open`] returns a [`Store`]. Its own methods are synchronous and need no runtime. It is also a
//! [`Cluster`]: code written against that trait works with the embedded store and with a remote
//! cluster: `halite::connect("zk://host:2181/hbase")`, with the feature `client`.
//! [`BlockingCluster`] adds synchronous calls to any cluster.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod blocking;
mod cluster;
mod move_row;
mod pool;
mod row_ops;
mod store;

pub use blocking::{BlockingCluster, BlockingRows, BlockingTable};
#[cfg(feature = "client")]
pub use halite_client::{
    Config as ClientConfig, RemoteCluster, Retry, RetryObserver, connect, connect_with,
};
pub use halite_engine::env::DiskSpace;
pub use halite_engine::{
    Health, OpenReport, Options, StoreState, WalRecovery, WalSync, WalTruncation,
};
pub use halite_rowkey as rowkey;
#[cfg(feature = "derive")]
pub use halite_rowkey_derive::RowKey;
pub use halite_types::key::{to_bytes_binary, to_string_binary};
pub use halite_types::*;
pub use move_row::{MoveResult, move_row};
pub use store::{Builder, Store, StoreRows, StoreTable};

/// Opens the store in a directory, or creates one in an empty or new directory, with the default
/// [`Options`].
///
/// # Errors
/// `Locked` if another process holds the store; `ReadOnly`, `Corrupt`, `NewerFormat`;
/// `InvalidRequest` if the directory contains foreign data; or an error of the file system.
pub fn open(path: impl AsRef<std::path::Path>) -> Result<Store> {
    Builder::new().open(path)
}

/// The README's program, run with the doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
