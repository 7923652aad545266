//! HBase-compatible server over one engine, for unmodified HBase clients.
//!
//! [`Server::start`] binds the ports of a region server, a master, a ZooKeeper endpoint and an HTTP
//! endpoint, and serves them until [`ServerHandle::shutdown`]. The modules, in the order in which a
//! call passes them:
//!
//! ```text
//! net/            sockets, frames, handshakes        outside.rs       network, clock and threads
//! dispatch.rs     selects the thread of a call       services.rs      service that answers a call
//! client_service/ master_service/ admin_service/ registry.rs          RPC services
//! zookeeper/      cluster lookup for clients         http/            metrics, status, probes
//! base/           common parts of the services       config.rs        limits and addresses
//! chores.rs       periodic work                      health_check.rs  checks of the store
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod admin_service;
mod base;
mod chores;
mod client_service;
mod config;
mod dispatch;
mod health_check;
mod http;
mod master_service;
mod net;
pub mod outside;
mod registry;
mod server;
mod services;
#[cfg(test)]
mod testing;
mod zookeeper;

pub use base::slow_calls::{SlowCall, SlowCallLog};
pub use config::{
    Addresses, Advertise, Config, DispatchMode, Limits, SlowCallLimits, check_engine_options,
    default_io_threads,
};
pub use http::WebListener;
pub use server::{Server, ServerHandle};
