//! Rust client of HBase clusters: `halite-types`' `Cluster`, `Table` and `Admin` over HBase's own
//! protocol.
//!
//! ```no_run
//! # async fn run() -> halite_types::Result<()> {
//! use halite_types::{Cluster, Get, Put, TableExt};
//!
//! let cluster = halite_client::connect("zk://localhost:2181/hbase").await?;
//! let users = cluster.table(&"users".parse()?);
//! users.mutate(Put::new("user_12345").add("info", "name", "Ada").into()).await?;
//! let row = users.get(Get::new("user_12345")).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Modules, in the order of a call:
//!
//! ```text
//! config/       cluster addresses, timeouts and limits          cluster.rs    the client of a cluster
//! table/        reads and mutations, single and batched         scanner/      scans
//! admin/        calls to the master, and procedures             retry.rs      the only retry loop
//! meta/         region locations                                registry/     location of the master and meta
//! connection/   calls and responses on sockets                  error.rs      failed attempts, and their consequences
//! runtime.rs    the runtime of sockets and timers               nonce.rs      numbers that identify a repeated call
//! net.rs        the only access to the network                  sim/          a simulated network and cluster, for tests
//! ```
//! The encoding is in `halite-wire`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod admin;
mod cluster;
mod config;
mod connection;
mod deadline;
mod error;
mod meta;
pub mod net;
mod nonce;
mod registry;
mod retry;
mod runtime;
mod scanner;
mod shared;
#[cfg(test)]
mod sim;
mod table;

pub use cluster::{RemoteCluster, connect, connect_over, connect_with};
pub use config::{Config, RegistryKind};
pub use halite_wire::cellblock::Compressor;
pub use retry::{Retry, RetryObserver};
