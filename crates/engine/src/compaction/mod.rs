//! Compaction: fewer, larger files without what nobody can see any more.
//!
//! `select` decides from plain figures which files; `run` merges them.

mod rewrite;
mod run;
mod select;
mod under_way;

pub(crate) use select::{FileFacts, Plan, Policy, select};
pub(crate) use under_way::{Requested, UnderWay};
