//! A client of HBase clusters in Rust: `halite-types`' `Cluster`, `Table` and `Admin` over HBase's own protocol.
//!
//! ```no_run
//! # async fn run() -> halite_types::Result<()> {
//! use halite_types::{Cluster, Get, Put, TableExt};
//!
//! let cluster = halite_client::connect("zk://localhost:2181/hbase").await?;
//! let users = cluster.table(&"users".parse()?);
//! users.apply_one(Put::new("user_12345").add("info", "name", "Ada").into()).await?;
//! let row = users.get_one(Get::new("user_12345")).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The rooms, along the way of a call:
//!
//! ```text
//! config/       where the cluster is, deadlines and limits      cluster.rs    the client as a whole
//! table/        gets and changes, alone and in batches          scanner/      scans
//! admin/        what a master does, and procedures              retry.rs      the one loop in which things are tried again
//! meta/         where regions are                               registry/     where the master and meta are
//! connection/   calls and answers on sockets                    failure.rs    what went wrong, and what that means
//! runtime.rs    whose threads the sockets live on               nonce.rs      numbers that make a repeated call known
//! net.rs        the door to the network                         storm/        a simulated network and cluster, for tests
//! ```
//! What the bytes mean is in `halite-wire`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod admin;
mod cluster;
mod config;
mod connection;
mod deadline;
mod failure;
mod meta;
pub mod net;
mod nonce;
mod registry;
mod retry;
mod runtime;
mod scanner;
mod shared;
#[cfg(test)]
mod storm;
mod table;

pub use cluster::{RemoteCluster, connect, connect_over, connect_with};
pub use config::{Config, Lookup};
pub use halite_wire::cellblock::Compressor;
pub use retry::{Retry, RetryObserver};
