//! Writes to several rows or tables that a program which stops leaves complete or repairable. A
//! store writes one row at once; these two order the writes so that nothing is lost in between.
//!
//! [`Outbox`]: the same facts in a few tables, one for each query. [`FanOut`]: one fact to any
//! number of rows, part by part. Both use tables through the traits only, so they work on every
//! cluster.

mod fan_out;
mod join;
mod outbox;

pub use fan_out::{FanOut, FanOutJob, FanOutParts};
pub use outbox::{Outbox, OutboxRepair};
