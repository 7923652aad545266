//! One battery of scripted cases with the answers of Apache HBase 2.6.4, and what runs it on an implementation.
//!
//! The format of the case files stands in this crate's `README.md`. [`script::Case::parse_file`] reads them into operations of
//! `halite-types`; [`runner::run`] runs one case on a [`runner::Subject`] and says where the answers differ. [`differ`] makes
//! up cases of its own and compares two implementations with each other.
#![forbid(unsafe_code)]

pub mod cluster;
pub mod differ;
pub mod runner;
pub mod script;
