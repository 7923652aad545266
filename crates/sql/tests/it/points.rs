//! Points of a SERIES: SQL reads what the row-key API reads, loose and packed.

use std::sync::Arc;

use halite::rowkey::KeyQuery;
use halite::rowkey::series::Series;
use halite::rowkey::value::Value;
use halite::{CompactionKind, TableName};

use crate::random::Seeded;
use crate::store::TestStore;

/// Returns the points of the API, as SQL prints them.
fn points(store: &TestStore) -> Vec<String> {
    let cluster = Arc::clone(store.store.cluster());
    let name = TableName::new("default", "m").expect("a name");
    store.runtime.block_on(async {
        let series = Series::for_table(cluster.as_ref(), &name, None).await.expect("a series");
        let mut points = series.read(&KeyQuery::all()).expect("points");
        let mut found = Vec::new();
        while let Some(point) = points.next().await.expect("a point") {
            let number = |value: &Value<'_>| match value {
                Value::Signed(number) => number.to_string(),
                Value::Unsigned(number) => number.to_string(),
                Value::Text(text) => text.clone().into_owned(),
                other => panic!("{other:?}"),
            };
            let fields: Vec<String> = point.fields.iter().map(number).collect();
            found.push(format!("{}|{}", fields.join("|"), point.value));
        }
        found
    })
}

/// Checks that the lists of WITH (BUCKETS) have the same points, each in the row of its bucket and
/// in order of time, and that a condition on the time is one on the start of the bucket.
#[track_caller]
fn check_lists(store: &TestStore, expected: &[String]) {
    let mut expected = expected.to_vec();
    expected.sort();
    let unnested = "SELECT device, u.ts, u.value FROM \
         (SELECT device, ts AS start, unnest(p) AS u FROM m WITH (BUCKETS)) \
         WHERE u.ts >= start AND u.ts < start + 100";
    let mut found = store.rows(unnested);
    found.sort();
    assert_eq!(found, expected);
    let times = store.rows(
        "SELECT array_sort(t) = t FROM (SELECT array_agg(u.ts) AS t FROM \
         (SELECT device, ts AS start, unnest(p) AS u FROM m WITH (BUCKETS)) GROUP BY device, start)",
    );
    assert!(times.iter().all(|is_sorted| is_sorted == "true"), "{times:?}");
    let mut starts = store.rows("SELECT device, ts FROM m WITH (BUCKETS)");
    starts.sort();
    let start = |row: &String| -> i64 {
        row.rsplit('|').next().and_then(|start| start.parse().ok()).expect("a start")
    };
    for (from, to) in [(0, 1), (99, 101), (250, 777), (300, 700), (1000, 2000)] {
        let mut within = store.rows(&format!(
            "SELECT device, ts FROM m WITH (BUCKETS) WHERE ts >= {from} AND ts < {to}"
        ));
        within.sort();
        let is_within = |row: &&String| (from..to).contains(&start(row));
        let wanted: Vec<String> = starts.iter().filter(is_within).cloned().collect();
        assert_eq!(within, wanted, "{from}..{to}");
    }
}

#[test]
fn packed_and_loose_points_are_rows() {
    for key in [
        "ROW KEY (device STRING, BUCKET(ts, 100) I64)",
        "ROW KEY (device STRING, BUCKET(ts, 100) I64 DESC)",
        "ROW KEY (SALT(3 BY device), device STRING, BUCKET(ts, 100) I64)",
        "ROW KEY (DICT(device, 2), BUCKET(ts, 100) I64)",
    ] {
        let store = TestStore::new();
        store.run(&format!("CREATE TABLE m (p SERIES(I32) FAMILY t, {key})")).expect(key);
        let mut random = Seeded(7);
        for round in 0..3 {
            for _ in 0..60 {
                let (device, ts, p) = (random.below(4), random.below(1000), random.below(50));
                let p = if p == 0 { "NULL".to_owned() } else { p.to_string() };
                store
                    .run(&format!("UPSERT INTO m (device, ts, p) VALUES ('d{device}', {ts}, {p})"))
                    .expect("a point");
            }
            let expected = points(&store);
            let read = store.rows("SELECT device, ts, p FROM m");
            assert_eq!(read, expected, "{key}, round {round}");
            let descending = key.contains("DESC");
            let order = if descending { "device, ts DESC" } else { "device, ts" };
            let mut ordered = store.rows(&format!("SELECT device, ts, p FROM m ORDER BY {order}"));
            let parts = |row: &String| -> (String, i64) {
                let mut parts = row.split('|');
                let device = parts.next().unwrap_or_default().to_owned();
                let ts: i64 = parts.next().and_then(|ts| ts.parse().ok()).expect("a time");
                (device, if descending { -ts } else { ts })
            };
            assert!(ordered.is_sorted_by_key(parts), "{key}: {ordered:?}");
            ordered.sort();
            let mut sorted = expected.clone();
            sorted.sort();
            assert_eq!(ordered, sorted, "{key}, round {round}");
            for (from, to) in [(0, 1), (99, 101), (250, 777), (1000, 2000)] {
                let within = store
                    .rows(&format!("SELECT device, ts, p FROM m WHERE ts >= {from} AND ts < {to}"));
                let is_within = |row: &&String| {
                    let ts = parts(row).1.abs();
                    (from..to).contains(&ts)
                };
                let wanted: Vec<&String> = expected.iter().filter(is_within).collect();
                assert_eq!(within.iter().collect::<Vec<_>>(), wanted, "{key}, {from}..{to}");
            }
            check_lists(&store, &expected);
            store.store.flush("m").expect("a flush");
            store.store.compact("m", None, CompactionKind::Major).expect("a compaction");
            assert_eq!(store.rows("SELECT device, ts, p FROM m"), expected, "{key}, packed");
            check_lists(&store, &expected);
        }
    }
}
