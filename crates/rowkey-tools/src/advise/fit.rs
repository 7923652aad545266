//! What to use for data of a size, a kind and a query: the tutorial's decision tree with its
//! verdict, and beside it what holds for Halite, which is one machine.

use halite_engine::Options;
use halite_types::cell::MAX_ROW_BYTES;

use super::grounds::{against, reasons};
use super::measured::{Measured, measured};
use super::tree::{Leaf, tutorial};

/// Bytes of a terabyte, as the command counts it.
pub const TB: u64 = 1 << 40;

/// Kind of the data, where it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Rows that nothing else describes.
    #[default]
    Rows,
    /// Points of time series.
    TimeSeries,
    /// Messages or feeds of users.
    Messages,
    /// Files, with their contents.
    Objects,
    /// Metrics of machines.
    Monitoring,
}

/// Query that is frequent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// Rows by their key.
    PrimaryKey,
    /// Ranges of keys, such as the newest of a user.
    Range,
    /// Conditions on any columns, joins.
    AdHoc,
    /// Aggregates over most of the data.
    Analytics,
}

/// Requirements.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// Bytes of all data; of objects, of their contents.
    pub bytes: u64,
    /// Frequent query; of objects, to their metadata.
    pub query: Query,
    /// Kind of the data.
    pub data: Data,
    /// Mean bytes of an object, which decide how many there are; only [`Data::Objects`] have them.
    pub object_bytes: u64,
    /// `true` if changes of several rows must be atomic.
    pub needs_transactions: bool,
    /// `true` if the data must stay available when a machine fails.
    pub needs_replicas: bool,
}

/// Store of the rows, or of the metadata of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Halite.
    Halite,
    /// HBase on several machines.
    Hbase,
    /// Relational database on one machine, optionally with a standby.
    Relational,
    /// SQL database on several machines.
    DistributedSql,
    /// Store of columns for aggregates.
    ColumnStore,
    /// Store of metrics with their labels.
    TimeSeriesDatabase,
}

/// Statement for or against an advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The statement.
    pub text: String,
    /// Measurement of Halite that shows it, if there is one.
    pub measured: Option<&'static Measured>,
}

/// Advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Branch of the tutorial's tree, and its verdict.
    pub tutorial: String,
    /// What to use, in words.
    pub advice: String,
    /// Store of the rows; of objects, of their metadata.
    pub store: Store,
    /// Reasons for the advice.
    pub reasons: Vec<Ground>,
    /// What speaks against it, and when another store is better.
    pub against: Vec<Ground>,
    /// Measurements of Halite with such data, on two cores; the documents have the conditions.
    pub measured: Vec<&'static Measured>,
    /// Limits of Halite with its default options.
    pub limits: Vec<String>,
}

/// Returns the advice.
#[must_use]
pub fn fit(wanted: &Fit) -> Answer {
    let leaf = Leaf::of(wanted);
    Answer {
        tutorial: tutorial(wanted),
        advice: leaf.advice(),
        store: leaf.store,
        reasons: reasons(&leaf),
        against: against(&leaf),
        measured: measured(wanted.data),
        limits: limits(&Options::default()),
    }
}

/// Returns the limits that decide whether data fits, as the options of a store have them.
fn limits(options: &Options) -> Vec<String> {
    let megabytes = |bytes: u64| bytes >> 20;
    let cell = megabytes(options.max_cell_bytes as u64);
    let (regions, region) =
        (options.max_regions_per_table as u64, megabytes(options.max_region_file_bytes) >> 10);
    vec![
        format!("a key has {MAX_ROW_BYTES} bytes at most, a cell {cell} MB"),
        format!("a row has {} MB at most when it is read whole", megabytes(options.max_row_bytes)),
        format!(
            "a new table has {regions} regions at most, which are split at {region} GB: {} TB",
            (regions * region) >> 10
        ),
    ]
}
