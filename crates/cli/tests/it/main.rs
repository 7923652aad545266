//! The `halite` command as a process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod advise;
mod bulkload;
mod connect;
mod copy;
mod damage;
mod demo;
mod diagnosis;
mod directory;
mod explain;
mod export;
mod heat_answer;
mod http;
mod import;
mod key;
mod killed_exchange;
mod program;
mod questions;
mod recipe;
mod recipe_faults;
mod series;
mod serve;
#[cfg(feature = "sql")]
mod sql;
mod traffic;
mod unexpected_files;
mod web;
