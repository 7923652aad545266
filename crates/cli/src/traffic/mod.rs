//! Traffic of known shapes, for demonstrations and tests of heat maps and of their diagnosis.
//!
//! ```text
//! shape.rs      the shapes: names, tables, and what a diagnosis says about each
//! patterns/     operations of each shape, from a seed; no clock and no store
//! schedule.rs   when each operation is due
//! table.rs      the table: created from its declaration, or an earlier one used again; loaded
//! run.rs        threads that execute the operations; stop; measurements
//! report.rs     printed lines
//! interrupt.rs  Ctrl-C
//! ```
//!
//! One generator, behind a lock, feeds all threads: the sequence of operations depends on the seed
//! and on the rows that the table had, not on the number of threads.

#[cfg(test)]
mod diagnosis_tests;
mod interrupt;
mod patterns;
mod report;
mod run;
mod schedule;
mod shape;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use halite::TableName;

pub(crate) use interrupt::StopRequest;
pub(crate) use report::TrafficReport;
pub(crate) use run::TrafficRun;
pub(crate) use schedule::Schedule;
pub(crate) use shape::Shape;
pub(crate) use table::{TrafficTable, drop_table};

/// Settings of one run.
#[derive(Clone, Debug)]
pub(crate) struct TrafficConfig {
    pub(crate) shape: Shape,
    pub(crate) table: TableName,
    /// Operations per second; of a sweep, rows per second.
    pub(crate) rate: u64,
    /// `None` until stopped.
    pub(crate) duration: Option<Duration>,
    pub(crate) seed: u64,
    pub(crate) threads: u64,
    /// Regions of a table that is created.
    pub(crate) regions: u64,
    /// Rows that are loaded.
    pub(crate) rows: u64,
    /// Time from the start of one batch job to the start of the next, of a periodic load.
    pub(crate) period: Duration,
    /// Interval of the printed lines.
    pub(crate) report_interval: Duration,
}
