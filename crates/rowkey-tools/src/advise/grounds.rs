//! Statements for and against the leaves of the tree, with what was measured of Halite for them.

use super::fit::{Data, Ground, Query, Store};
use super::measured::{
    AGGREGATES, ALL_DEVICES, BESIDE_HBASE, LARGEST, METADATA, Measured, OTHER_COLUMNS, RESTART,
    SERIES_SCAN, SERVER_RATE, SEVERAL_ROWS, measured,
};
use super::tree::{Leaf, ONE_DATABASE, SMALL, objects, size};

fn ground(text: &str, measured: Option<&'static Measured>) -> Ground {
    Ground { text: text.to_owned(), measured }
}

/// Returns the reasons for the advice.
pub(super) fn reasons(leaf: &Leaf) -> Vec<Ground> {
    let mut reasons = of_objects(leaf);
    match leaf.store {
        Store::Halite => for_halite(leaf, &mut reasons),
        Store::Hbase => for_hbase(leaf, &mut reasons),
        _ => for_others(leaf, &mut reasons),
    }
    reasons
}

fn of_objects(leaf: &Leaf) -> Vec<Ground> {
    let wanted = &leaf.wanted;
    if wanted.data != Data::Objects {
        return Vec::new();
    }
    let count = format!(
        "there are {} objects of {}, whose metadata take {}",
        objects(wanted),
        size(wanted.object_bytes),
        size(leaf.stored_bytes)
    );
    vec![
        ground("a cell has 10 MB at most by default, and each compaction writes it again", None),
        Ground { text: count, measured: Some(&METADATA) },
    ]
}

fn for_halite(leaf: &Leaf, reasons: &mut Vec<Ground>) {
    reasons.push(ground("one machine holds it, and each query is a range of keys or a few", None));
    let growth = "the same clients, keys and files as HBase, if it outgrows the machine";
    reasons.push(ground(growth, None));
    if matches!(leaf.wanted.data, Data::TimeSeries | Data::Monitoring) {
        let series = "SERIES columns pack the points of a row into one cell (docs/rowkey.md)";
        reasons.push(ground(series, None));
    }
}

fn for_hbase(leaf: &Leaf, reasons: &mut Vec<Ground>) {
    if leaf.is_large() {
        let text = "more than one machine holds; tables, keys and clients are the same, so that a \
                    design can be tried on Halite first";
        reasons.push(ground(text, Some(&LARGEST)));
    }
    if leaf.wanted.needs_replicas {
        let text = "the data is to be available when a machine fails; Halite is one process on one \
                    disk, which is away until it is started again or restored";
        reasons.push(ground(text, Some(&RESTART)));
    }
}

/// Adds the reasons for stores that are neither Halite nor HBase.
fn for_others(leaf: &Leaf, reasons: &mut Vec<Ground>) {
    let wanted = &leaf.wanted;
    if wanted.needs_transactions {
        let text = "changes of several rows are to be atomic; Halite and HBase change one row at a \
                    time";
        reasons.push(ground(text, Some(&SEVERAL_ROWS)));
    }
    match wanted.query {
        Query::AdHoc | Query::Analytics if leaf.store == Store::TimeSeriesDatabase => {
            let text = "it has an index of the labels of its series, and computes over many of \
                        them; a label that is not in front of the key reads all of them here";
            reasons.push(ground(text, Some(&SERIES_SCAN)));
        }
        Query::AdHoc => {
            let text = "a condition on columns outside of the key reads the whole table in Halite \
                        and HBase: there are no secondary indexes";
            reasons.push(ground(text, Some(&OTHER_COLUMNS)));
        }
        Query::Analytics if leaf.store == Store::ColumnStore => {
            let text = "most of the data is read for each query, of which a column store reads the \
                        columns that count; Halite and HBase read whole cells";
            reasons.push(ground(text, Some(&AGGREGATES)));
        }
        _ => {}
    }
    if leaf.store == Store::DistributedSql {
        let text = format!(
            "one relational database is rarely run with more than {}; this one divides its tables \
             among machines",
            size(ONE_DATABASE)
        );
        reasons.push(Ground { text, measured: None });
    }
    if wanted.needs_replicas {
        let text = "the data is to be available when a machine fails; Halite has no replicas";
        reasons.push(ground(text, Some(&RESTART)));
    }
}

/// Returns what speaks against the advice: mostly when another store is better.
pub(super) fn against(leaf: &Leaf) -> Vec<Ground> {
    match leaf.store {
        Store::Halite => against_halite(leaf),
        Store::Hbase => against_hbase(leaf),
        _ => against_others(leaf),
    }
}

fn against_halite(leaf: &Leaf) -> Vec<Ground> {
    let lost = "a machine that is lost is restored from a backup; HBase on several machines, or \
                PostgreSQL with a standby, is available meanwhile";
    let other = "a query that the key was not made for reads the table; a relational database has \
                 indexes for it";
    let rate = "HBase or ScyllaDB divide a load among machines, which one machine bounds here";
    let mut against = vec![
        ground(lost, Some(&RESTART)),
        ground(other, Some(&OTHER_COLUMNS)),
        ground(rate, Some(&SERVER_RATE)),
    ];
    if leaf.stored_bytes < SMALL {
        let text = "PostgreSQL or MySQL hold this much as well, with transactions and secondary \
                    indexes; choose by the queries, not by the size";
        against.push(ground(text, Some(&SEVERAL_ROWS)));
    }
    match leaf.wanted.data {
        Data::Monitoring => {
            let text = "Prometheus, VictoriaMetrics and InfluxDB come with collectors, alerts and \
                        dashboards, and answer over all hosts from an index of labels; they are \
                        better if that is all";
            against.push(ground(text, Some(&SERIES_SCAN)));
        }
        Data::TimeSeries => {
            let text = "a column store such as ClickHouse, or a time-series database, is better for \
                        many devices at once";
            against.push(ground(text, Some(&ALL_DEVICES)));
        }
        Data::Messages => {
            let text = "words inside of texts are found by a search engine such as OpenSearch; here \
                        every text is read";
            against.push(ground(text, None));
        }
        Data::Objects => {
            let text = "object stores such as Ceph and MinIO have metadata of their own, which is \
                        enough if lists by prefix are";
            against.push(ground(text, measured(Data::Objects).first().copied()));
        }
        Data::Rows => {}
    }
    if leaf.stored_bytes > ONE_DATABASE {
        against.push(ground("no table of this size was measured", Some(&LARGEST)));
    }
    against
}

fn against_hbase(leaf: &Leaf) -> Vec<Ground> {
    let cluster = "a cluster needs HDFS, ZooKeeper and people who run them, and more processors \
                   than one Halite";
    let writable = "ScyllaDB and Cassandra take writes also where a machine is unreachable, if a \
                    read may return an older value";
    let mut against = vec![ground(cluster, Some(&BESIDE_HBASE)), ground(writable, None)];
    if leaf.stored_bytes <= ONE_DATABASE {
        let text = "PostgreSQL with a standby holds this much on two machines, with transactions \
                    and secondary indexes";
        against.push(ground(text, None));
    }
    if leaf.wanted.data == Data::Monitoring {
        let text = "VictoriaMetrics on several machines comes with collectors, alerts and \
                    dashboards; it is better if that is all";
        against.push(ground(text, Some(&SERIES_SCAN)));
    }
    against
}

fn against_others(leaf: &Leaf) -> Vec<Ground> {
    let by_key = "frequent queries by one key, at high rates of writes, are what Halite and HBase \
                  are made for";
    let mut against = vec![ground(by_key, measured(leaf.wanted.data).first().copied())];
    if leaf.wanted.needs_transactions && leaf.wanted.query == Query::Analytics {
        let text = "aggregates over most of the data are faster in a copy of it, in a column store \
                    such as ClickHouse";
        against.push(ground(text, Some(&AGGREGATES)));
    }
    if leaf.wanted.data == Data::Messages && leaf.wanted.query == Query::AdHoc {
        let text = "words inside of texts are found by a search engine such as OpenSearch";
        against.push(ground(text, None));
    }
    if leaf.wanted.needs_transactions && leaf.wanted.data == Data::Objects {
        let text = "the contents are not part of a transaction: write them before their metadata";
        against.push(ground(text, None));
    }
    against
}
