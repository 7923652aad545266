//! The tutorial's decision tree, and the one for Halite.

use super::fit::{Data, Fit, Query, Store, TB};
use super::measured::METADATA_BYTES;

/// Size below which the tutorial uses `MySQL`.
pub(super) const SMALL: u64 = TB;
/// Size above which the tutorial always uses HBase.
const LARGE: u64 = 100 * TB;
/// Bytes that a machine with several disks usually has. More needs several, which Halite does not
/// combine.
pub(super) const ONE_MACHINE: u64 = 50 * TB;
/// Bytes up to which a relational database is usually run on one machine.
pub(super) const ONE_DATABASE: u64 = 10 * TB;

/// Leaf of the tree for Halite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) wanted: Fit,
    /// Bytes that the store contains: of objects their metadata, as measured.
    pub(super) stored_bytes: u64,
    pub(super) store: Store,
}

impl Leaf {
    pub(super) fn of(wanted: &Fit) -> Self {
        let stored_bytes = match wanted.data {
            Data::Objects => objects(wanted).saturating_mul(METADATA_BYTES),
            _ => wanted.bytes,
        };
        let leaf = Self { wanted: *wanted, stored_bytes, store: Store::Halite };
        let sql =
            if stored_bytes > ONE_DATABASE { Store::DistributedSql } else { Store::Relational };
        let store = match (wanted.query, wanted.data) {
            _ if wanted.needs_transactions => sql,
            (Query::AdHoc | Query::Analytics, Data::Monitoring) => Store::TimeSeriesDatabase,
            (Query::Analytics, _) => Store::ColumnStore,
            (Query::AdHoc, _) => sql,
            (Query::PrimaryKey | Query::Range, _) if leaf.needs_machines() => Store::Hbase,
            (Query::PrimaryKey | Query::Range, _) => Store::Halite,
        };
        Self { store, ..leaf }
    }

    /// Returns `true` if one machine is not enough.
    pub(super) fn needs_machines(&self) -> bool {
        self.is_large() || self.wanted.needs_replicas
    }

    /// Returns `true` if one machine does not hold the data.
    pub(super) fn is_large(&self) -> bool {
        self.stored_bytes > ONE_MACHINE
    }

    /// Returns what to use.
    pub(super) fn advice(&self) -> String {
        let several = self.needs_machines();
        let store = match self.store {
            Store::Halite => "Halite",
            Store::Hbase => "HBase, on several machines",
            Store::Relational => match (self.wanted.data, self.wanted.needs_replicas) {
                (Data::TimeSeries | Data::Monitoring, false) => {
                    "a relational database, such as PostgreSQL with TimescaleDB"
                }
                (Data::TimeSeries | Data::Monitoring, true) => {
                    "a relational database with a standby, such as PostgreSQL with TimescaleDB"
                }
                (_, false) => "a relational database, such as PostgreSQL",
                (_, true) => "a relational database with a standby, such as PostgreSQL",
            },
            Store::DistributedSql => "a distributed SQL database, such as CockroachDB or TiDB",
            Store::ColumnStore if several => {
                "a column store on several machines, such as ClickHouse"
            }
            Store::ColumnStore => "a column store, such as ClickHouse or DuckDB",
            Store::TimeSeriesDatabase if several => {
                "a time-series database on several machines, such as VictoriaMetrics"
            }
            Store::TimeSeriesDatabase => {
                "a time-series database, such as Prometheus, VictoriaMetrics or InfluxDB"
            }
        };
        if self.wanted.data == Data::Objects {
            return format!("object storage for the contents, and {store} for their metadata");
        }
        store.to_owned()
    }
}

/// Returns the number of objects.
pub(super) fn objects(wanted: &Fit) -> u64 {
    wanted.bytes.div_ceil(wanted.object_bytes.max(1))
}

/// Returns the branch of the tutorial's tree, and its verdict.
pub(super) fn tutorial(wanted: &Fit) -> String {
    let (branch, verdict) = match (wanted.data, wanted.bytes, wanted.query) {
        (Data::Monitoring, ..) => ("monitoring", "OpenTSDB or InfluxDB"),
        (Data::Objects, ..) => {
            ("object storage", "HBase for the metadata, object storage for the contents")
        }
        (Data::TimeSeries, ..) => ("time series", "HBase"),
        (Data::Messages, ..) => ("messages", "HBase"),
        (_, ..SMALL, _) => ("less than 1 TB", "MySQL"),
        (_, bytes, _) if bytes > LARGE => ("more than 100 TB", "HBase"),
        (_, _, Query::PrimaryKey | Query::Range) => ("1 to 100 TB, queries by key", "HBase"),
        (_, _, Query::AdHoc) => ("1 to 100 TB, queries by other columns", "a sharded SQL database"),
        (_, _, Query::Analytics) => ("1 to 100 TB, analytics", "a column store"),
    };
    format!("{}, {branch}: {verdict}", size(wanted.bytes))
}

/// Formats a size with one decimal; from 0.1 TB on in terabytes, as the tree has them, and from
/// 1,000 on in petabytes.
pub(super) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is shown with one decimal")]
    let terabytes = bytes as f64 / TB as f64;
    match terabytes {
        1_000.0.. => format!("{:.1} PB", terabytes / 1_024.0),
        0.1.. => format!("{terabytes:.1} TB"),
        _ if bytes >= 1 << 30 => format!("{:.1} GB", terabytes * 1_024.0),
        _ if bytes >= 1 << 20 => format!("{:.1} MB", terabytes * 1_048_576.0),
        _ => format!("{bytes} bytes"),
    }
}
