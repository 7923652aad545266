//! Door for clients of PostgreSQL: `psql`, drivers and tools ask SQL over their protocol.
//!
//! A message goes through `connection/` (sockets, TLS, startup, limits), `wire/` (bytes of
//! messages), `session/` (simple and extended queries, portals, settings, transactions) and
//! `halite-sql`; its rows come back through `values/`. `users/` checks passwords, and `catalog/` has
//! the tables and functions that clients ask about tables.
//!
//! The crate is empty without its feature `datafusion`, so that builds of the workspace do not
//! compile DataFusion.
#![cfg(feature = "datafusion")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod catalog;
mod config;
mod connection;
mod error;
mod server;
mod session;
mod users;
mod values;
mod version;
mod wire;

pub use config::{Config, Limits, TlsFiles};
pub use halite_sql::Access;
pub use server::{Server, ServerHandle};
pub use users::{User, Users, Verifier, access};
