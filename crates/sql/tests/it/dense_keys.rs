//! Many keys, read by scans where ANALYZE tells that they are many of the rows, and by gets.

use halite::rowkey::language::ROW_STATS;
use halite::rowkey::{KeySchema, Value};

use crate::store::TestStore;

const ROWS: i64 = 9000;

/// Creates the tables of the keys, one with salts and one with regions, and a list of keys.
fn store() -> TestStore {
    let store = TestStore::new();
    let columns = "v I64, note STRING";
    for (table, key) in [
        ("plain", "ROW KEY (id I64)"),
        ("salted", "ROW KEY (SALT(3 BY id), id I64)"),
        ("split", "ROW KEY (id I64)"),
    ] {
        store.run(&format!("CREATE TABLE {table} ({columns}, {key})")).expect("a table");
        let rows = format!(
            "UPSERT INTO {table} (id, v, note) SELECT i, i % 10, CASE WHEN i % 4 = 0 THEN 'four' END \
             FROM generate_series(1, {ROWS}) AS s (i)"
        );
        store.run(&rows).expect("rows");
    }
    let key: KeySchema = "ROW KEY (id I64)".parse().expect("a key");
    let regions = store.store.table("split").expect("a table").regions().expect("regions");
    let at = key.encode(&[Value::Signed(4000)]).expect("a key").to_vec();
    store.store.split_region(&regions[0].encoded_name, Some(at.into())).expect("a split");
    store.run("CREATE TABLE wanted (v I64, ROW KEY (id I64))").expect("a table");
    let wanted = "UPSERT INTO wanted (id) SELECT 2 * i FROM generate_series(1, 4200) AS s (i)";
    store.run(wanted).expect("rows");
    store.run("ANALYZE wanted").expect("statistics");
    store
}

fn forget(store: &TestStore, table: &str) {
    let mut descriptor = store.store.descriptor(table).expect("a descriptor").as_ref().clone();
    descriptor.attributes.remove(ROW_STATS);
    store.store.alter_table(descriptor).expect("a change");
}

/// Keys of which some have no row.
fn list(count: i64) -> String {
    (0..count).map(|at| (at * 2 + 1).to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn groups_of_keys_are_sought_among_the_keys() {
    let store = TestStore::new();
    store.run("CREATE TABLE g (v I64, ROW KEY (a I64, b I64))").expect("a table");
    let rows = "UPSERT INTO g (a, b, v) SELECT x, y, 0 FROM generate_series(1, 100) AS p (x), \
                generate_series(1, 99) AS q (y)";
    store.run(rows).expect("rows");
    let list = |step: i64, most: i64| {
        let values = (1..=most / step).map(|at| (at * step).to_string());
        values.collect::<Vec<_>>().join(", ")
    };
    let condition = format!("a IN ({}) AND b IN ({})", list(2, 100), list(3, 99));
    for sql in [
        format!("SELECT a, min(b) FROM g WHERE {condition} GROUP BY a ORDER BY a"),
        format!("SELECT a, max(b) FROM g WHERE {condition} GROUP BY a ORDER BY a"),
        format!("SELECT DISTINCT a FROM g WHERE {condition} ORDER BY a"),
        format!("SELECT count(DISTINCT a) FROM g WHERE {condition}"),
        format!("SELECT DISTINCT ON (a) a, b FROM g WHERE {condition} ORDER BY a, b"),
        format!("SELECT a, b FROM g WHERE {condition} ORDER BY a, b"),
    ] {
        forget(&store, "g");
        let by_gets = store.rows(&sql);
        store.run("ANALYZE g").expect("statistics");
        assert_eq!(store.rows(&sql), by_gets, "{}", &sql[..40]);
    }
}

#[test]
fn keys_are_scanned_where_they_are_many_of_the_rows() {
    let store = store();
    let keys = list(4600);
    let few = list(900);
    for table in ["plain", "salted", "split"] {
        let queries = [
            format!("SELECT id, v, note FROM {table} WHERE id IN ({keys}) ORDER BY id"),
            format!("SELECT id, note FROM {table} WHERE id IN ({keys}) ORDER BY id DESC"),
            format!("SELECT id, v FROM {table} WHERE id IN ({keys}) AND v > 6 ORDER BY id"),
            format!("SELECT id FROM {table} WHERE id IN ({keys}) AND note = 'four' ORDER BY id"),
            format!("SELECT id FROM {table} WHERE id IN ({keys}) AND note IS NULL ORDER BY id"),
            format!("SELECT count(*), sum(v), count(note) FROM {table} WHERE id IN ({keys})"),
            format!("SELECT id FROM {table} WHERE id IN ({keys}) ORDER BY id LIMIT 5"),
            format!("SELECT id, v FROM {table} WHERE id IN ({few}) ORDER BY id"),
            format!("SELECT t.id, t.v FROM wanted w JOIN {table} t ON t.id = w.id ORDER BY t.id"),
        ];
        let answers = || queries.iter().map(|sql| store.rows(sql)).collect::<Vec<_>>();
        let plan = |at: usize| store.rows(&format!("EXPLAIN {}", queries[at])).join("\n");
        let by_gets = answers();
        assert_eq!(by_gets[0].len(), 4500, "{table}");
        assert!(!plan(0).contains("  scans "), "{table}: {}", plan(0));
        store.run(&format!("ANALYZE {table}")).expect("statistics");
        assert!(plan(0).contains("  scans "), "{table}: {}", plan(0));
        // A limit may end early, and gets are read in order backwards.
        for at in [6, 7] {
            assert!(!plan(at).contains("  scans "), "{table}: {}", plan(at));
        }
        for (sql, (found, wanted)) in queries.iter().zip(answers().iter().zip(&by_gets)) {
            assert_eq!(found, wanted, "{table}: {}", &sql[sql.len() - 40..]);
        }
        let joined = store.rows(&format!("EXPLAIN ANALYZE {}", queries[8])).join("\n");
        assert!(joined.contains("left 4200 keys, which scans read"), "{table}: {joined}");
        // Far more rows than keys.
        let text = "rows=100000000 sampled=10000 at=0 distinct=100000000";
        let descriptor = store.store.descriptor(table).expect("a descriptor");
        let changed = descriptor.as_ref().clone().set(ROW_STATS, text);
        store.store.alter_table(changed).expect("a change");
        assert!(!plan(0).contains("  scans "), "{table}: {}", plan(0));
        forget(&store, table);
        assert_eq!(answers(), by_gets, "{table}");
    }
}
