//! The `halite` command as a process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod connect;
mod copy;
mod demo;
mod directory;
mod key;
mod series;
mod serve;
