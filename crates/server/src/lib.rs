//! HBase-compatible server over one engine, for unmodified HBase clients.
//!
//! [`Server::start`] binds the ports of a region server, a master, a ZooKeeper endpoint and an HTTP
//! endpoint, and serves them until [`ServerHandle::shutdown`]. The modules, in the order in which a
//! call passes them:
//!
//! ```text
//! listener.rs     sockets, connection limit        connection.rs     reads frames, sends responses
//! read_buffer.rs  partially received frames        send_queue.rs     unsent responses
//! handshake.rs    preamble, connection header      stall_detector.rs slow clients
//! outside.rs      network, clock and threads       handler_pool.rs   threads for blocking calls
//! dispatch.rs     selects the thread of a call     call.rs           call, peer, reply, error
//! client_service/ master_service/ admin_service/ registry.rs         RPC services
//! zookeeper/      cluster lookup for clients       http/             metrics, status, probes
//! context.rs      shared state                     config.rs         limits and addresses
//! quota/          quotas                           health.rs         store health
//! chores.rs       periodic work                    metrics.rs        counters, with operations.rs
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
mod handler_pool;
mod handshake;
mod health;
mod http;
mod identity;
mod listener;
mod master_service;
mod metrics;
mod nonces;
mod operations;
pub mod outside;
mod quota;
mod read_buffer;
mod registry;
mod scanners;
mod send_queue;
mod server;
mod shutdown;
mod stall_detector;
#[cfg(test)]
mod testing;
mod zookeeper;

pub use config::{Advertise, Config, DispatchMode, Limits, default_io_threads};
pub use server::{Addresses, Server, ServerHandle};
