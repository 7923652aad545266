//! HBase's protobuf messages, package `hbase.pb`, with the numbers of HBase 2.6 where versions disagree.
//!
//! Import it as `pb`: several messages share a name with something in every prelude (`Option`, `Result`).
//! Byte strings are `Bytes` that share the frame they were decoded from. Required fields that did not come are their
//! default, and an enumeration's number stays a number until its getter or `try_from` is asked, so a value from a
//! newer version is neither an error nor a panic; the getter then gives the field's default.

pub mod magic;

// The code that prost writes keeps its own style.
#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, missing_docs, reason = "generated code")]
mod generated;

pub use generated::*;

#[cfg(test)]
mod tests;
