//! The server over real sockets, asked by a small client of the wire crate's own encoders.
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
mod writes;
