//! Halite's server: what unmodified HBase clients talk to, over one engine.
//!
//! [`Server::start`] binds the ports of a region server, a master, a ZooKeeper and a web page and serves them until
//! [`Handle::shutdown`]. The rooms, along the way of a call:
//!
//! ```text
//! listener.rs    sockets, the limit on connections             connection.rs    preamble, frames in, answers out
//! dispatch.rs    which lane a call takes, and its answer       call.rs          a call, its peer, a reply, a fault
//! client_service/ master_service/ admin_service/ registry.rs   what is called
//! zookeeper/     where clients look the cluster up             http.rs          figures for people and dashboards
//! context.rs     what all of them share                        config.rs        limits and addresses
//! ```
#![forbid(unsafe_code)]
#![allow(dead_code, reason = "the rooms are filled one by one; this goes with the last of them")]
#![warn(missing_docs)]

mod admin_service;
mod call;
mod cluster_id;
mod config;
mod context;
mod http;
mod identity;
mod listener;
mod master_service;
mod metrics;
mod server;
mod shutdown;
mod zookeeper;

pub use cluster_id::{cluster_id_of, new_cluster_id};
pub use config::{Advertise, Config, Limits};
pub use server::{Addresses, Handle, Server};
