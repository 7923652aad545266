//! Halite's server: what unmodified HBase clients talk to, over one engine.
//!
//! [`Server::start`] binds the ports of a region server, a master, a ZooKeeper and a web page and serves them until
//! [`Handle::shutdown`]. The rooms, along the way of a call:
//!
//! ```text
//! listener.rs    sockets, the limit on connections             connection.rs    frames in, answers out
//! input.rs       what is no frame yet                          output.rs        what is not sent yet, pace.rs: how fast
//! handshake.rs   preamble and connection header                lanes.rs         the threads calls may wait on
//! outside.rs     whose sockets, clock and threads these are
//! dispatch.rs    which lane a call takes, and its answer       call.rs          a call, its peer, a reply, a fault
//! client_service/ master_service/ admin_service/ registry.rs   what is called
//! zookeeper/     where clients look the cluster up             http.rs          figures for people and dashboards
//! context.rs     what all of them share                        config.rs        limits and addresses
//! quota/         who may do how much
//! health.rs      whether the store takes writes
//! chores.rs      what is done now and then                     metrics.rs       what is counted, with operations.rs
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod admin_service;
mod buffers;
mod call;
mod chores;
mod client_service;
mod config;
mod connection;
mod context;
mod dispatch;
mod handshake;
mod health;
mod http;
mod identity;
mod input;
mod lanes;
mod listener;
mod master_service;
mod metrics;
mod nonces;
mod operations;
mod output;
pub mod outside;
mod pace;
mod quota;
mod registry;
mod scanners;
mod server;
mod shutdown;
#[cfg(test)]
mod testing;
mod zookeeper;

pub use config::{Advertise, Config, Lanes, Limits, default_io_threads};
pub use server::{Addresses, Handle, Server};
