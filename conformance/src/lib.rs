//! Conformance suite: scripted cases with the recorded results of Apache HBase 2.6.4, and their
//! runner.
//!
//! This crate's `README.md` documents the format of the case files. [`script::Case::parse_file`]
//! parses them to operations of `halite-types`; [`runner::run`] runs one case on a
//! [`runner::SystemUnderTest`] and returns the differences. [`differential`] generates its own
//! cases and compares two implementations with each other.
#![forbid(unsafe_code)]

pub mod cluster;
pub mod differential;
pub mod runner;
pub mod script;
