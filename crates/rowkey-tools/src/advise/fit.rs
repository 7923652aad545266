//! What to use for data of a size, a kind and a query: the tutorial's decision tree with its
//! verdict, and beside it what holds for Halite, which is one machine.

use halite_engine::Options;
use halite_types::cell::MAX_ROW_BYTES;

use super::measured::{Measured, measured};

/// Bytes of a terabyte, as the command counts it.
pub const TB: u64 = 1 << 40;
/// Size below which the tutorial uses `MySQL`.
const SMALL: u64 = TB;
/// Size above which the tutorial always uses HBase.
const LARGE: u64 = 100 * TB;
/// Bytes that a machine with several disks usually has. More needs several, which Halite does not
/// combine.
const ONE_MACHINE: u64 = 50 * TB;

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
    /// Bytes of all data.
    pub bytes: u64,
    /// Frequent query.
    pub query: Query,
    /// Kind of the data.
    pub data: Data,
    /// `true` if changes of several rows must be atomic.
    pub needs_transactions: bool,
    /// `true` if the data must stay available when a machine fails.
    pub needs_replicas: bool,
}

/// Advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Branch of the tutorial's tree, and its verdict.
    pub tutorial: String,
    /// What to use.
    pub advice: &'static str,
    /// `true` if Halite is the advice.
    pub is_halite: bool,
    /// Reasons for the advice.
    pub reasons: Vec<String>,
    /// What speaks against it.
    pub against: Vec<&'static str>,
    /// Measurements of Halite with such data, on two cores; the documents have the conditions.
    pub measured: Vec<&'static Measured>,
    /// Limits of Halite with its default options.
    pub limits: Vec<String>,
}

/// Returns the advice.
#[must_use]
pub fn fit(wanted: &Fit) -> Answer {
    let tutorial = tutorial(wanted);
    let (advice, reasons) = advice(wanted);
    let is_halite = advice.starts_with("Halite");
    let against = if is_halite { against_halite(wanted) } else { against_others(advice) };
    let (measured, limits) = (measured(wanted.data), limits(&Options::default()));
    Answer { tutorial, advice, is_halite, reasons, against, measured, limits }
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

fn tutorial(wanted: &Fit) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is shown with one decimal")]
    let terabytes = wanted.bytes as f64 / TB as f64;
    let size = if terabytes < 0.1 {
        format!("{:.1} GB", terabytes * 1024.0)
    } else {
        format!("{terabytes:.1} TB")
    };
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
    format!("{size}, {branch}: {verdict}")
}

fn advice(wanted: &Fit) -> (&'static str, Vec<String>) {
    let one = |advice, reason: &str| (advice, vec![reason.to_owned()]);
    if wanted.needs_transactions {
        return one(
            "a relational database, such as PostgreSQL",
            "changes of several rows are to be atomic; Halite and HBase change one row at a time",
        );
    }
    match wanted.query {
        Query::Analytics => {
            return one(
                "a column store, such as ClickHouse or DuckDB",
                "most of the data is read for each query, of which a column store reads the \
                 columns that count; Halite reads whole cells",
            );
        }
        Query::AdHoc => {
            return one(
                "a relational database, such as PostgreSQL",
                "a condition on columns outside of the key reads the whole table here: there are \
                 no secondary indexes",
            );
        }
        Query::PrimaryKey | Query::Range => {}
    }
    if wanted.data == Data::Objects {
        return one(
            "object storage for the contents, and Halite for their metadata",
            "a cell has 10 MB at most by default, and each compaction writes it again",
        );
    }
    if wanted.bytes > ONE_MACHINE {
        return one(
            "HBase, on several machines",
            "more than one machine holds; tables, keys and clients are the same, so that a design \
             can be tried on Halite first",
        );
    }
    if wanted.needs_replicas {
        return one(
            "HBase, on several machines",
            "the data is to be available when a machine fails; Halite is one process on one disk",
        );
    }
    ("Halite", halite_reasons(wanted))
}

fn halite_reasons(wanted: &Fit) -> Vec<String> {
    let mut reasons = vec![
        "one machine holds it, and each query is a range of keys or a few".to_owned(),
        "the same clients, keys and files as HBase, if it outgrows the machine".to_owned(),
    ];
    if matches!(wanted.data, Data::TimeSeries | Data::Monitoring) {
        let reason = "SERIES columns pack the points of a row into one cell (docs/rowkey.md)";
        reasons.push(reason.to_owned());
    }
    reasons
}

fn against_halite(wanted: &Fit) -> Vec<&'static str> {
    let mut against = vec![
        "a machine that is lost is restored from a backup; there are no replicas",
        "a query that the key was not made for reads the table",
    ];
    if wanted.bytes < SMALL {
        against.push(
            "PostgreSQL or MySQL hold this much as well, with transactions and secondary indexes; \
             choose by the queries, not by the size",
        );
    }
    if wanted.data == Data::Monitoring {
        against.push("Prometheus and InfluxDB come with collectors, alerts and dashboards");
    }
    if wanted.bytes > 10 * TB {
        against
            .push("no table of this size was measured; the largest of docs/bench.md have some GB");
    }
    against
}

fn against_others(advice: &str) -> Vec<&'static str> {
    if advice.starts_with("HBase") {
        vec!["a cluster needs HDFS, ZooKeeper and people who run them"]
    } else {
        vec!["frequent queries by one key, at high rates of writes, are what Halite is made for"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Fit = Fit {
        bytes: 5 * TB,
        query: Query::PrimaryKey,
        data: Data::Rows,
        needs_transactions: false,
        needs_replicas: false,
    };

    #[test]
    fn w02_branches_of_the_tutorial() {
        let verdict = |wanted: Fit| fit(&wanted).tutorial;
        assert_eq!(verdict(Fit { bytes: TB / 2, ..PLAIN }), "0.5 TB, less than 1 TB: MySQL");
        let of_key = verdict(Fit { bytes: 50 * TB, ..PLAIN });
        assert_eq!(of_key, "50.0 TB, 1 to 100 TB, queries by key: HBase");
        let largest = verdict(Fit { bytes: 100 * TB, ..PLAIN });
        assert!(largest.ends_with("1 to 100 TB, queries by key: HBase"), "{largest}");
        let larger = Fit { bytes: 100 * TB + 1, query: Query::AdHoc, ..PLAIN };
        assert!(verdict(larger).ends_with("more than 100 TB: HBase"));
        let small = Fit { bytes: TB - 1, query: Query::Analytics, ..PLAIN };
        assert!(verdict(small).ends_with("less than 1 TB: MySQL"));
        let columns = verdict(Fit { query: Query::Analytics, ..PLAIN });
        assert!(columns.ends_with("analytics: a column store"), "{columns}");
        assert!(verdict(Fit { data: Data::Monitoring, ..PLAIN }).contains("OpenTSDB or InfluxDB"));
        assert!(verdict(Fit { data: Data::Objects, ..PLAIN }).contains("object storage"));
        let adhoc = verdict(Fit { bytes: 5 * TB, query: Query::AdHoc, ..PLAIN });
        assert!(adhoc.ends_with("queries by other columns: a sharded SQL database"), "{adhoc}");
        assert!(verdict(Fit { data: Data::TimeSeries, ..PLAIN }).ends_with("time series: HBase"));
        assert!(verdict(Fit { data: Data::Messages, ..PLAIN }).ends_with("messages: HBase"));
    }

    #[test]
    fn w02_each_verdict_has_measured_limits_beside_it() {
        for data in [Data::Rows, Data::TimeSeries, Data::Messages, Data::Objects, Data::Monitoring]
        {
            let answer = fit(&Fit { data, ..PLAIN });
            assert!(!answer.measured.is_empty(), "{data:?}");
            let limits = answer.limits.join("\n");
            assert!(limits.contains("32767 bytes at most, a cell 10 MB"), "{limits}");
            assert!(limits.contains("10000 regions") && limits.contains(": 97 TB"), "{limits}");
        }
    }

    #[test]
    fn advice_is_another_store_where_that_is_better() {
        let is_halite = |wanted: Fit| {
            let answer = fit(&wanted);
            assert!(!answer.reasons.is_empty() && !answer.against.is_empty(), "{answer:?}");
            answer.is_halite
        };
        assert!(is_halite(PLAIN));
        assert!(is_halite(Fit { query: Query::Range, data: Data::TimeSeries, ..PLAIN }));
        assert!(!is_halite(Fit { query: Query::AdHoc, ..PLAIN }));
        assert!(!is_halite(Fit { query: Query::Analytics, ..PLAIN }));
        assert!(!is_halite(Fit { needs_transactions: true, ..PLAIN }));
        assert!(!is_halite(Fit { needs_replicas: true, ..PLAIN }));
        assert!(!is_halite(Fit { bytes: 200 * TB, ..PLAIN }));
        assert!(!is_halite(Fit { data: Data::Objects, ..PLAIN }));
    }

    #[test]
    fn small_data_is_told_about_relational_databases() {
        let answer = fit(&Fit { bytes: TB / 10, ..PLAIN });
        assert!(answer.against.iter().any(|text| text.contains("PostgreSQL")), "{answer:?}");
    }
}
