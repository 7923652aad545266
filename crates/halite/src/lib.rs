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
//! # Tables
//!
//! A write returns when it has reached its durability. Several operations go in one batch; counters
//! and conditions are evaluated where the row is:
//!
//! ```
//! # fn main() -> halite::Result<()> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! use halite::{
//!     CheckAndMutate, Delete, FamilyDescriptor, Get, Increment, Put, Scan, TableDescriptor,
//! };
//!
//! let store = halite::open(directory.path())?;
//! store.create_table(TableDescriptor::new("users".parse()?).family(FamilyDescriptor::new("info")), &[])?;
//! let users = store.table("users")?;
//!
//! // Operations on many rows: one result for each, in order.
//! let results = users.batch(vec![
//!     Put::new("ada").add("info", "born", "1815").into(),
//!     Put::new("grace").add("info", "born", "1906").into(),
//!     Delete::new("charles").into(),
//! ])?;
//! assert!(results.iter().all(Result::is_ok));
//!
//! // A counter, and its new value.
//! let row = users.increment(Increment::new("ada").add("info", "visits", 2))?;
//! assert_eq!(row.value("info", "visits"), Some(&2_i64.to_be_bytes()[..]));
//!
//! // A write that happens only if a condition holds, atomically.
//! let named = Put::new("ada").add("info", "name", "Ada Lovelace");
//! let is_first = CheckAndMutate::if_not_exists("ada", "info", "name", named);
//! assert!(users.check_and_mutate(is_first)?);
//!
//! // One row, several rows, a range of rows.
//! assert_eq!(users.get(Get::new("ada").column("info", "born"))?.len(), 1);
//! assert!(users.get_all(vec![Get::new("grace"), Get::new("charles")])?[1].is_empty());
//! let keys = users.scan(Scan::all()).map(|row| row.map(|row| row.key().to_vec()));
//! assert_eq!(keys.collect::<halite::Result<Vec<_>>>()?, [&b"ada"[..], b"grace"]);
//! # store.close()
//! # }
//! ```
//!
//! # Administration
//!
//! A snapshot keeps the state of a table without copying its files; a clone of it is a table:
//!
//! ```
//! # fn main() -> halite::Result<()> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! use halite::{FamilyDescriptor, Get, Put, SnapshotDescriptor, TableDescriptor, TableName};
//!
//! let store = halite::open(directory.path())?;
//! let (users, copy): (TableName, TableName) = ("users".parse()?, "users_of_monday".parse()?);
//! store.create_table(TableDescriptor::new(users.clone()).family(FamilyDescriptor::new("info")), &[])?;
//! store.table("users")?.put(Put::new("ada").add("info", "born", "1815"))?;
//! store.create_snapshot(SnapshotDescriptor::new("monday", users))?;
//! store.clone_snapshot("monday", &copy)?;
//! assert!(store.table("users_of_monday")?.exists(Get::new("ada"))?);
//! # store.close()
//! # }
//! ```
//!
//! # Clusters
//!
//! [`open`] returns a [`Store`], which dereferences to a [`BlockingCluster`]; with the feature
//! `client`, [`BlockingCluster`]`::connect` returns the same type for a remote cluster, so code
//! takes either:
//!
#![cfg_attr(feature = "client", doc = "```no_run")]
#![cfg_attr(not(feature = "client"), doc = "```ignore")]
//! use halite::{BlockingCluster, Get, Row};
//!
//! fn user(cluster: &BlockingCluster, key: &str) -> halite::Result<Row> {
//!     cluster.table("users")?.get(Get::new(key.to_owned()))
//! }
//!
//! # fn main() -> halite::Result<()> {
//! let store = halite::open("data")?;
//! user(&store, "ada")?;
//! user(&BlockingCluster::connect("zk://localhost:2181/hbase")?, "ada")?;
//! # Ok(())
//! # }
//! ```
//!
//! Tasks of an async runtime use the traits [`Cluster`], [`Table`] and [`Admin`], with the same
//! names of calls: `store.cluster()` and `halite::connect("zk://host:2181/hbase").await` implement
//! them.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod blocking;
mod cluster;
mod declared_tables;
#[cfg(feature = "heat")]
pub mod heat;
mod pool;
mod several_rows;
mod store;

pub use blocking::{
    BlockingCluster, BlockingRows, BlockingTable, IntoTableName, MergedPages, Pages, QueryRows,
};
pub use declared_tables::{DeclaredTable, declare_tables};
#[cfg(feature = "client")]
pub use halite_client::{
    Config as ClientConfig, RemoteCluster, Retry, RetryObserver, connect, connect_with,
};
pub use halite_engine::env::DiskSpace;
pub use halite_engine::{
    Event, EventFilter, EventKind, FlushPolicyClass, Health, OpenReport, Options, PartReads,
    StoreState, WalRecovery, WalSync, WalTruncation,
};
pub use halite_rowkey as rowkey;
pub use halite_rowkey::move_row::{MoveResult, move_row};
#[cfg(feature = "derive")]
pub use halite_rowkey_derive::RowKey;
#[cfg(feature = "sql")]
pub use halite_sql::{self as sql, SqlContext};
pub use halite_types::key::{to_bytes_binary, to_string_binary};
pub use halite_types::*;
pub use several_rows::{
    CountedRows, FanOut, FanOutJob, FanOutParts, Index, IndexedRow, IndexedRows, Outbox,
    OutboxRepair,
};
pub use store::{Builder, Store};

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
