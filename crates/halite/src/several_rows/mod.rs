//! Writes to several rows or tables that a program which stops leaves complete or repairable. A
//! store writes one row at once; these order the writes so that nothing is lost in between.
//!
//! [`Outbox`]: the same facts in a few tables, one for each query. [`FanOut`]: one fact to any
//! number of rows, part by part. [`CountedRows`]: a row and its counter. [`IndexedRows`]: a row and
//! the rows that lead to it. All use tables through the traits only, so they work on every cluster.

mod counted_rows;
mod fan_out;
mod index;
mod indexed_rows;
mod join;
mod outbox;

pub use counted_rows::CountedRows;
pub use fan_out::{FanOut, FanOutJob, FanOutParts};
pub use index::Index;
pub use indexed_rows::{IndexedRow, IndexedRows};
pub use outbox::{Outbox, OutboxRepair};
