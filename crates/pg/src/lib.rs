//! Door for clients of PostgreSQL: `psql`, drivers and tools ask SQL over their protocol.
//!
//! A message goes through `connection/` (sockets, TLS, startup, limits), `wire/` (bytes of
//! messages), `session/` (simple and extended queries, portals, settings, transactions) and
//! `halite-sql`; its rows come back through `values/`. `users/` checks passwords, and `catalog/` has
//! the tables and functions that clients ask about tables.
//!
//! The crate is empty without its feature `datafusion`, so that builds of the workspace do not
//! compile DataFusion. The feature `wire` alone is what the fuzzer builds.
#![cfg(any(feature = "datafusion", feature = "wire"))]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "datafusion")]
mod catalog;
#[cfg(feature = "datafusion")]
mod config;
#[cfg(feature = "datafusion")]
mod connection;
#[cfg(feature = "datafusion")]
mod error;
#[cfg(feature = "wire")]
pub mod fuzzing;
#[cfg(feature = "datafusion")]
mod server;
#[cfg(feature = "datafusion")]
mod session;
#[cfg(feature = "datafusion")]
mod users;
#[cfg(feature = "datafusion")]
mod values;
#[cfg(feature = "datafusion")]
mod version;
#[cfg_attr(
    not(feature = "datafusion"),
    expect(dead_code, unused_imports, reason = "the fuzzer reads messages, and answers none")
)]
mod wire;

#[cfg(feature = "datafusion")]
pub use config::{Config, Limits, TlsFiles};
#[cfg(feature = "datafusion")]
pub use halite_sql::Access;
#[cfg(feature = "datafusion")]
pub use server::{Server, ServerHandle};
#[cfg(feature = "datafusion")]
pub use users::{User, Users, Verifier, access};
