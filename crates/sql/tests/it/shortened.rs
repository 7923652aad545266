//! Aggregates and joins that read a few rows of a table, and how many those are.

use crate::store::TestStore;

/// Readings of 50 devices, 100 of each.
fn readings(key: &str) -> TestStore {
    let store = TestStore::new();
    store.run(&format!("CREATE TABLE readings (v I64, ROW KEY ({key}))")).expect("a table");
    for device in 0..50 {
        let rows: Vec<String> =
            (0..100).map(|at| format!("('d{device:02}', {at}, {})", device * 1000 + at)).collect();
        let rows = rows.join(", ");
        store.run(&format!("LOAD INTO readings (device, at, v) VALUES {rows}")).expect("rows");
    }
    store
}

/// Returns the rows of a query, and the rows of the table that it examined.
fn counted(store: &TestStore, sql: &str) -> (Vec<String>, u64) {
    let before = store.examined("readings");
    let rows = store.rows(sql);
    (rows, store.examined("readings") - before)
}

#[test]
fn least_and_greatest_of_a_range_are_one_row_each() {
    let store = readings("device STRING, at I64 DESC");
    for (sql, row, most) in [
        ("SELECT max(at) FROM readings WHERE device = 'd07'", "99", 1),
        ("SELECT min(at) FROM readings WHERE device = 'd07'", "0", 1),
        ("SELECT min(at), max(at) FROM readings WHERE device = 'd07'", "0|99", 2),
        ("SELECT min(device), max(device) FROM readings", "d00|d49", 2),
    ] {
        let (rows, examined) = counted(&store, sql);
        assert_eq!(rows, [row], "{sql}");
        assert!(examined <= most, "{examined} rows examined: {sql}");
    }
    // The same of 4 salts are one row of each.
    let store = readings("SALT(4 BY device), device STRING, at I64");
    let (rows, examined) = counted(&store, "SELECT min(device) FROM readings");
    assert_eq!(rows, ["d00"]);
    assert!(examined <= 4, "{examined} rows examined");
}

#[test]
fn b9_latest_of_each_device_is_a_seek_for_each() {
    for key in ["device STRING, at I64 DESC", "SALT(4 BY device), device STRING, at I64"] {
        let store = readings(key);
        let latest = "SELECT device, max(at) FROM readings GROUP BY device ORDER BY device";
        let whole = "SELECT DISTINCT ON (device) device, at, v FROM readings ORDER BY device, \
                     at DESC";
        for (sql, first) in [
            (latest, "d00|99"),
            (whole, "d00|99|99"),
            ("SELECT DISTINCT device FROM readings ORDER BY device", "d00"),
            ("SELECT count(DISTINCT device) FROM readings", "50"),
        ] {
            let (rows, examined) = counted(&store, sql);
            assert_eq!(rows[0], first, "{sql}");
            assert!(rows.len() == 50 || rows == ["50"], "{sql}");
            // 20 rows of 8 devices are the sample.
            assert!(examined <= 8 * 20 + 50, "{examined} rows examined: {key}: {sql}");
            let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
            assert!(plan.contains("seek     first row of each (device)"), "{plan}");
        }
        // Conditions that are checked behind the scan need all rows.
        let odd = "SELECT device, max(at) FROM readings WHERE v % 2 = 0 GROUP BY device ORDER BY 1";
        let (rows, examined) = counted(&store, odd);
        assert_eq!((rows[0].as_str(), examined), ("d00|98", 5000));
        // Those that the regions check are examined there.
        let some = "SELECT device, max(at) FROM readings WHERE v >= 49050 GROUP BY device";
        assert_eq!(counted(&store, some).0, ["d49|99"]);
    }
}

#[test]
fn b7_join_by_the_whole_key_gets_its_rows() {
    for key in ["device STRING, at I64", "SALT(4 BY device), device STRING, at I64 DESC"] {
        let store = readings(key);
        store.run("CREATE TABLE wanted (d STRING, t I64, ROW KEY (n I64))").expect("a table");
        let rows: Vec<String> =
            (0..200).map(|n| format!("({n}, 'd{:02}', {})", n % 60, n % 7 * 10)).collect();
        store.run(&format!("LOAD INTO wanted (n, d, t) VALUES {}", rows.join(", "))).expect("rows");
        let pairs =
            "SELECT count(*), sum(v - at) FROM wanted JOIN readings ON d = device AND t = at";
        let (rows, examined) = counted(&store, pairs);
        // 170 of the rows are of a device that is there.
        let sum: i64 = (0..200).map(|n| n % 60).filter(|d| *d < 50).map(|d| d * 1000).sum();
        assert_eq!(rows, [format!("170|{sum}")]);
        assert!(examined <= 200, "{examined} rows examined");
        let plan = store.rows(&format!("EXPLAIN ANALYZE {pairs}")).join("\n");
        assert!(plan.contains("the other side's values left 200 gets"), "{plan}");
        // The beginning of the key bounds ranges.
        let some = "SELECT count(*) FROM wanted JOIN readings ON d = device WHERE n < 3";
        let (rows, examined) = counted(&store, some);
        assert_eq!(rows, ["300"]);
        assert_eq!(examined, 300);
        let inside =
            "SELECT count(*) FROM readings WHERE device IN (SELECT d FROM wanted WHERE n < 2)";
        assert_eq!(counted(&store, inside), (vec!["200".to_owned()], 200));
        // The rows of a join that keeps those without a partner are all read.
        let kept = "SELECT count(*) FROM readings LEFT JOIN wanted ON d = device AND n < 3";
        assert_eq!(counted(&store, kept), (vec!["5000".to_owned()], 5000));
    }
}
