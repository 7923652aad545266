//! One world: the real client, the real server and the real engine in one thread, with a network, a disk and a time that follow
//! from one seed.
//!
//! ```text
//!   client c0   client c1  ...   admin        auditor            turmoil's hosts, each with a clock and a runtime of its own
//!      |            |              |             |
//!      +------------+--- net.rs ---+-------------+               turmoil's network: delays, losses, partitions, held messages;
//!                         |                                      connections that break in the middle of an answer
//!                    server.rs: halite-server                    what would block a thread is done by tasks, each after a while
//!                         |
//!                    halite-engine                               no threads: flushes, compactions and the log's turns by tasks
//!                         |
//!              clock.rs, halite_engine::env::sim                 the time of the network; a disk that forgets what was not synced
//! ```
//! `callers.rs` puts, counts, appends, deletes, sets under conditions, reads and scans; `admin.rs` splits, merges, flushes, compacts and takes
//! tables out of service under them; `trouble.rs` cuts connections and links, stalls the server, kills it and cuts its power. What
//! everybody was told is kept in `history.rs`, and `check.rs` says of each row whether it can be true (`model.rs` is what a row is).
//! `run.rs` plays one seed.
//!
//! Two kinds of clients. *Once* clients never try again: what they were not told may have happened once or never, and what they were
//! told is exact. *Patient* clients try again as long as they may: their increments, appends and conditional changes carry nonces and
//! count once, across crashes too; their puts have timestamps of their own, because a put that is tried again may be done
//! twice, in HBase as here, and the second time may come late.

pub mod admin;
pub mod callers;
pub mod check;
pub mod clock;
pub mod history;
pub mod model;
pub mod net;
pub mod run;
pub mod server;
#[cfg(test)]
mod tests;
pub mod trouble;
