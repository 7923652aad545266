//! The server over real sockets, called by a small client based on the wire crate's encoders.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod client;
mod endpoints;
mod handshake;
mod limits;
mod meta;
mod multi;
mod quotas;
mod reads;
mod scans;
mod server;
mod slow_log;
mod writes;
