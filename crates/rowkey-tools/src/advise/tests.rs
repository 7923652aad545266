//! Tests of the decision tree: its leaves as a table, and what holds for all requirements.

use super::fit::{Data, Fit, Query, Store, TB, fit};
use super::measured::METADATA_BYTES;
use super::*;

const PLAIN: Fit = Fit {
    bytes: 5 * TB,
    query: Query::PrimaryKey,
    data: Data::Rows,
    object_bytes: 1 << 20,
    needs_transactions: false,
    needs_replicas: false,
};
const KINDS: [Data; 5] =
    [Data::Rows, Data::TimeSeries, Data::Messages, Data::Objects, Data::Monitoring];
const QUERIES: [Query; 4] = [Query::PrimaryKey, Query::Range, Query::AdHoc, Query::Analytics];
const SIZES: [u64; 7] = [1, TB / 2, 5 * TB, 20 * TB, 60 * TB, 1_500 * TB, u64::MAX];

/// Returns all combinations.
fn all() -> impl Iterator<Item = Fit> {
    let kinds =
        KINDS.into_iter().flat_map(|data| QUERIES.map(|query| Fit { query, data, ..PLAIN }));
    let sized = kinds.flat_map(|wanted| SIZES.map(|bytes| Fit { bytes, ..wanted }));
    sized.flat_map(|wanted| {
        [(false, false), (false, true), (true, false), (true, true)].map(
            |(needs_transactions, needs_replicas)| Fit {
                needs_transactions,
                needs_replicas,
                ..wanted
            },
        )
    })
}

#[test]
fn w02_branches_of_the_tutorial() {
    use Data::{Messages, Monitoring, Objects, Rows, TimeSeries};
    use Query::{AdHoc, Analytics, PrimaryKey, Range};
    let by_key = "1 to 100 TB, queries by key: HBase";
    let sharded = "1 to 100 TB, queries by other columns: a sharded SQL database";
    let objects = "object storage: HBase for the metadata, object storage for the contents";
    for (bytes, data, query, expected) in [
        (1, Rows, PrimaryKey, "1 bytes, less than 1 TB: MySQL"),
        (10 << 20, Rows, Range, "10.0 MB, less than 1 TB: MySQL"),
        (3 << 29, Rows, AdHoc, "1.5 GB, less than 1 TB: MySQL"),
        (TB / 2, Rows, PrimaryKey, "0.5 TB, less than 1 TB: MySQL"),
        (TB - 1, Rows, Analytics, "1.0 TB, less than 1 TB: MySQL"),
        (TB, Rows, Range, &format!("1.0 TB, {by_key}")),
        (50 * TB, Rows, PrimaryKey, &format!("50.0 TB, {by_key}")),
        (100 * TB, Rows, Range, &format!("100.0 TB, {by_key}")),
        (5 * TB, Rows, AdHoc, &format!("5.0 TB, {sharded}")),
        (5 * TB, Rows, Analytics, "5.0 TB, 1 to 100 TB, analytics: a column store"),
        (100 * TB + 1, Rows, AdHoc, "100.0 TB, more than 100 TB: HBase"),
        (1_536 * TB, Rows, Analytics, "1.5 PB, more than 100 TB: HBase"),
        (5 * TB, TimeSeries, Analytics, "5.0 TB, time series: HBase"),
        (5 * TB, Messages, Range, "5.0 TB, messages: HBase"),
        (5 * TB, Objects, AdHoc, &format!("5.0 TB, {objects}")),
        (5 * TB, Monitoring, Range, "5.0 TB, monitoring: OpenTSDB or InfluxDB"),
    ] {
        assert_eq!(fit(&Fit { bytes, query, data, ..PLAIN }).tutorial, expected);
    }
}

/// A row is: terabytes, kind, query, transactions, replicas, and the advice.
#[test]
fn w02_each_leaf_of_the_tree_has_its_advice() {
    use Data::{Messages, Monitoring, Objects, Rows, TimeSeries};
    use Query::{AdHoc, Analytics, PrimaryKey, Range};
    let (no, yes) = (false, true);
    for (terabytes, data, query, needs_transactions, needs_replicas, expected) in [
        (1, Rows, PrimaryKey, no, no, "Halite"),
        (50, Rows, Range, no, no, "Halite"),
        (51, Rows, Range, no, no, "HBase, on several machines"),
        (1, Rows, PrimaryKey, no, yes, "HBase, on several machines"),
        (51, Rows, PrimaryKey, no, yes, "HBase, on several machines"),
        (50, TimeSeries, Range, no, no, "Halite"),
        (51, TimeSeries, Range, no, no, "HBase, on several machines"),
        (1, Messages, Range, no, no, "Halite"),
        (1, Messages, Range, no, yes, "HBase, on several machines"),
        (1, Monitoring, Range, no, no, "Halite"),
        (1, Monitoring, PrimaryKey, no, yes, "HBase, on several machines"),
        (10, Rows, AdHoc, no, no, "a relational database, such as PostgreSQL"),
        (10, Rows, AdHoc, no, yes, "a relational database with a standby, such as PostgreSQL"),
        (11, Rows, AdHoc, no, no, "a distributed SQL database, such as CockroachDB or TiDB"),
        (11, Rows, AdHoc, no, yes, "a distributed SQL database, such as CockroachDB or TiDB"),
        (
            1,
            TimeSeries,
            AdHoc,
            no,
            no,
            "a relational database, such as PostgreSQL with TimescaleDB",
        ),
        (
            1,
            TimeSeries,
            AdHoc,
            no,
            yes,
            "a relational database with a standby, such as PostgreSQL with TimescaleDB",
        ),
        (
            1,
            Monitoring,
            AdHoc,
            no,
            no,
            "a time-series database, such as Prometheus, VictoriaMetrics or InfluxDB",
        ),
        (
            1,
            Monitoring,
            Analytics,
            no,
            yes,
            "a time-series database on several machines, such as VictoriaMetrics",
        ),
        (
            51,
            Monitoring,
            AdHoc,
            no,
            no,
            "a time-series database on several machines, such as VictoriaMetrics",
        ),
        (50, Rows, Analytics, no, no, "a column store, such as ClickHouse or DuckDB"),
        (51, Rows, Analytics, no, no, "a column store on several machines, such as ClickHouse"),
        (1, Rows, Analytics, no, yes, "a column store on several machines, such as ClickHouse"),
        (1, Rows, PrimaryKey, yes, no, "a relational database, such as PostgreSQL"),
        (1, Messages, Range, yes, yes, "a relational database with a standby, such as PostgreSQL"),
        (11, Rows, Analytics, yes, no, "a distributed SQL database, such as CockroachDB or TiDB"),
        (51, Rows, PrimaryKey, yes, yes, "a distributed SQL database, such as CockroachDB or TiDB"),
    ] {
        let bytes = terabytes * TB;
        let wanted = Fit { bytes, query, data, needs_transactions, needs_replicas, ..PLAIN };
        assert_eq!(fit(&wanted).advice, expected, "{wanted:?}");
        // The contents of objects are elsewhere, and their metadata are rows.
        if data == Rows {
            let object_bytes = METADATA_BYTES;
            let bytes = bytes / object_bytes * object_bytes;
            let objects = Fit { bytes, data: Objects, object_bytes, ..wanted };
            let expected =
                format!("object storage for the contents, and {expected} for their metadata");
            assert_eq!(fit(&objects).advice, expected, "{objects:?}");
        }
    }
}

#[test]
fn number_of_objects_decides_where_their_metadata_are() {
    let store = |bytes: u64, object_bytes: u64| {
        fit(&Fit { bytes, object_bytes, data: Data::Objects, ..PLAIN }).store
    };
    assert_eq!(store(1_000 * TB, 1 << 20), Store::Halite);
    assert_eq!(store(1_000 * TB, 1 << 10), Store::Hbase);
    let answer = fit(&Fit { bytes: TB, data: Data::Objects, ..PLAIN });
    let counted = &answer.reasons[1];
    let expected = "there are 1048576 objects of 1.0 MB, whose metadata take 175.0 MB";
    assert_eq!(counted.text, expected);
    assert_eq!(counted.measured.unwrap().document, "docs/recipes.md");
}

#[test]
fn w02_each_verdict_has_measured_limits_beside_it() {
    for wanted in all() {
        let answer = fit(&wanted);
        assert!(!answer.measured.is_empty(), "{wanted:?}");
        let limits = answer.limits.join("\n");
        assert!(limits.contains("32767 bytes at most, a cell 10 MB"), "{limits}");
        assert!(limits.contains("10000 regions") && limits.contains(": 97 TB"), "{limits}");
    }
}

#[test]
fn no_advice_leaves_out_an_answer() {
    for wanted in all() {
        let Answer { advice, store, .. } = fit(&wanted);
        let is_sql = matches!(store, Store::Relational | Store::DistributedSql);
        assert!(!wanted.needs_transactions || is_sql, "{wanted:?}: {advice}");
        let is_by_key = matches!(wanted.query, Query::PrimaryKey | Query::Range);
        let is_of_keys = matches!(store, Store::Halite | Store::Hbase);
        assert_eq!(is_of_keys, is_by_key && !wanted.needs_transactions, "{wanted:?}: {advice}");
        let is_safe = advice.contains("several machines")
            || advice.contains("a standby")
            || store == Store::DistributedSql;
        assert!(!wanted.needs_replicas || is_safe, "{wanted:?}: {advice}");
        let is_of_objects = advice.starts_with("object storage for the contents, and ");
        assert_eq!(is_of_objects, wanted.data == Data::Objects, "{wanted:?}: {advice}");
        let is_one = matches!(store, Store::Halite | Store::Relational);
        let is_large = wanted.bytes > 50 * TB && wanted.data != Data::Objects;
        assert!(!(is_one && is_large), "{wanted:?}: {advice}");
        assert!(!advice.contains("DuckDB") || !is_large, "{wanted:?}: {advice}");
    }
}

/// Each leaf has reasons, names a store that is better for something, and says by which
/// measurement.
#[test]
fn each_leaf_says_what_is_better_and_what_was_measured() {
    for wanted in all() {
        let Answer { advice, store, reasons, against, .. } = fit(&wanted);
        assert!(!reasons.is_empty() && !against.is_empty(), "{wanted:?}");
        let joined = |grounds: &[Ground]| {
            grounds.iter().map(|ground| &ground.text[..]).collect::<Vec<_>>().join("\n")
        };
        let (reasons_text, against_text) = (joined(&reasons), joined(&against));
        let mut measured = reasons.iter().chain(&against).filter_map(|ground| ground.measured);
        assert!(measured.next().is_some(), "{wanted:?}: {reasons_text}\n{against_text}");
        let others: &[&str] = match store {
            Store::Halite => &["HBase on several machines", "PostgreSQL with a standby"],
            Store::Hbase => &["ScyllaDB and Cassandra", "one Halite"],
            _ => &["what Halite and HBase are made for"],
        };
        for other in others {
            assert!(against_text.contains(other), "{wanted:?}, {advice}: {against_text}");
        }
        let expected = [
            (wanted.needs_transactions, "changes of several rows are to be atomic"),
            (wanted.needs_replicas, "is to be available when a machine fails"),
        ];
        for (_, text) in expected.iter().filter(|(given, _)| *given) {
            assert!(reasons_text.contains(text), "{wanted:?}: {reasons_text}");
        }
    }
}

#[test]
fn small_data_is_told_about_relational_databases() {
    let answer = fit(&Fit { bytes: TB / 10, ..PLAIN });
    let names = |ground: &Ground| ground.text.contains("PostgreSQL or MySQL hold this much");
    assert!(answer.against.iter().any(names), "{answer:?}");
    let answer = fit(&Fit { bytes: 2 * TB, ..PLAIN });
    assert!(!answer.against.iter().any(names), "{answer:?}");
}
