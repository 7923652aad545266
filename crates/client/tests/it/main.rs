//! The client through the seam: against a server of ours, and against servers that do what they
//! like.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod admin;
mod data;
mod fake;
mod faults;
mod rpc;
mod scans;
mod server;
