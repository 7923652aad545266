//! Simulation of the real client, the real server and the real engine in one thread, with a
//! network, a disk and a time that are determined by one seed.
//!
//! ```text
//! client c0   client c1  ...   admin        auditor            turmoil's hosts, each with a separate clock and runtime
//!    |            |              |             |
//!    +------------+--- net.rs ---+-------------+               turmoil's network: delays, losses, partitions, held messages;
//!                        |                                      connections that break in the middle of a reply
//!           server.rs: halite-server                    blocking work is done by tasks, each after a delay
//!                        |
//!                 halite-engine                               no threads: flushes, compactions and log steps run as tasks
//!                        |
//! clock.rs, halite_engine::env::sim                 the time of the network; a disk that loses unsynced data
//! ```
//! `workload.rs` puts, counts, appends, deletes, sets under conditions, reads and scans; `admin.rs`
//! concurrently splits, merges, flushes, compacts and disables tables; `faults.rs` cuts connections
//! and links, stalls the server, kills it and cuts its power. `history.rs` stores all results, and
//! `check.rs` checks for each row that they are possible (`model.rs` models a row). `run.rs` runs
//! one seed.
//!
//! There are two kinds of clients. *Once* clients never retry: an operation without a reply may
//! have been applied once or never, and replies are exact. *Patient* clients retry within their
//! limits. Their increments, appends and conditional changes carry nonces and count once, across
//! crashes too. Their puts have explicit timestamps, because a retried put may be applied twice, in
//! HBase as here, and the second time may be late.

pub mod admin;
pub mod check;
pub mod clock;
pub mod faults;
pub mod history;
pub mod model;
pub mod net;
pub mod run;
pub mod server;
#[cfg(test)]
mod tests;
pub mod workload;
