//! The client through the `Cluster` API: against a Halite server, and against scripted servers.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue must stop")]

mod admin;
mod aggregates;
mod data;
mod fake;
mod faults;
mod rpc;
mod scans;
mod server;
