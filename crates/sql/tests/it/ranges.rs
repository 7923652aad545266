//! Ranges of keys that several conditions give, counted by the rows that regions examine.


use crate::store::TestStore;

/// Returns the rows of a query, sorted, and the rows that it examined.
fn counted(store: &TestStore, sql: &str) -> (Vec<String>, u64) {
    let before = store.examined("t");
    let mut rows = store.rows(sql);
    rows.sort();
    (rows, store.examined("t") - before)
}

/// Creates a table of 10 values of `a` with 20 of `b` and 3 of `c` each.
fn table(key: &str) -> TestStore {
    let store = TestStore::new();
    store.run(&format!("CREATE TABLE t (v I32, w STRING, ROW KEY ({key}))")).expect("a table");
    let mut rows = Vec::new();
    for a in 0..10 {
        for b in 0..20 {
            for c in 0..3 {
                rows.push(format!("('k{a}', {b}, 'c{c}', {}, 'w')", a * 100 + b));
            }
        }
    }
    store.run(&format!("LOAD INTO t (a, b, c, v, w) VALUES {}", rows.join(", "))).expect("rows");
    store
}

const KEYS: [&str; 3] = [
    "a STRING, b I32, c STRING",
    "SALT(4 BY a), a STRING, b I32 DESC, c STRING",
    "HASH(a), a STRING, b I32, c STRING DESC",
];

#[test]
fn or_of_ranges_examines_their_rows_only() {
    for key in KEYS {
        let store = table(key);
        for (condition, rows) in [
            ("a = 'k1' AND b > 15 OR a = 'k3'", 4 * 3 + 60),
            ("a = 'k1' AND (b < 3 OR b > 17 OR b = 7)", 6 * 3),
            ("a = 'k1' AND b = 2 OR a = 'k2' AND b = 3 OR a = 'k2' AND b = 5", 9),
            ("(a, b) IN (('k1', 2), ('k3', 4))", 6),
            ("(a, b) IN (('k1', 2), ('k1', 4), ('none', 4))", 6),
            ("(a, b) = ('k1', 2)", 3),
            ("a = 'k1' AND (b < 15 OR b >= 15)", 60),
            ("a = 'k4' AND b IN (3, 4) AND (c = 'c1' OR c = 'c2')", 4),
            ("(a = 'k1' OR a = 'k2' AND b > 5) AND (b < 3 OR b > 16)", 3 * 6 + 3 * 3),
            ("a = 'k1' AND a = 'k2' OR a = 'k3' AND b = 1", 3),
            ("a = 'k1' AND b > 5 AND b = 3 OR a = 'k1' AND b = 20", 0),
        ] {
            for direct in ["on", "off"] {
                let set =
                    |settings: &mut halite_sql::Settings| settings.set("halite.direct", direct);
                store.sql.change(set).expect("a setting");
                let sql = format!("SELECT a, b, c FROM t WHERE {condition}");
                let (found, examined) = counted(&store, &sql);
                assert_eq!(found.len(), rows, "{key}: {condition}");
                assert!(
                    examined <= rows as u64,
                    "{key}, direct {direct}: {condition}: {examined} rows\n{}",
                    store.rows(&format!("EXPLAIN {sql}")).join("\n")
                );
                assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), rows);
            }
        }
    }
}

#[test]
fn limit_and_order_end_a_union_early() {
    let store = table(KEYS[0]);
    let condition = "a = 'k1' AND (b < 5 OR b > 10)";
    let sql = format!("SELECT b, c FROM t WHERE {condition} ORDER BY b DESC, c DESC LIMIT 4");
    let before = store.examined("t");
    assert_eq!(store.rows(&sql), ["19|c2", "19|c1", "19|c0", "18|c2"]);
    assert!(store.examined("t") - before <= 8, "{}", store.examined("t") - before);
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(!plan.contains("Sort") && plan.contains("query 2 of 2"), "{plan}");
    // Both parts of the OR have one value of a.
    let (_, examined) = counted(&store, &format!("SELECT min(b) FROM t WHERE {condition}"));
    assert!(examined <= 2, "{examined}");
}

#[test]
fn what_is_beyond_the_queries_of_a_union_is_checked() {
    let store = table(KEYS[0]);
    // 8 times 9 queries: of the first field's, each checks the second.
    let any = |field: &str, ranges: &[String]| {
        let of = |range: &String| format!("{field} {range}");
        format!("({})", ranges.iter().map(of).collect::<Vec<_>>().join(" OR "))
    };
    let a: Vec<String> = (0..9).map(|at| format!("BETWEEN 'k{at}' AND 'k{at}x'")).collect();
    let b: Vec<String> =
        (0..9).map(|at| format!("BETWEEN {} AND {}", 2 * at, 2 * at + 1)).collect();
    let sql = format!("SELECT a, b, c FROM t WHERE {} AND {}", any("a", &a), any("b", &b));
    let (rows, examined) = counted(&store, &sql);
    assert_eq!((rows.len(), examined), (9 * 18 * 3, 9 * 60));
    let (limited, _) = counted(&store, &format!("{sql} LIMIT 7"));
    assert_eq!(limited.len(), 7);
    // A list of more rows than queries: its values of each field.
    let pairs: Vec<String> = (0..100).map(|at| format!("('k{}', {})", at % 3, at % 20)).collect();
    let sql = format!("SELECT a, b, c FROM t WHERE (a, b) IN ({})", pairs.join(", "));
    let (rows, examined) = counted(&store, &sql);
    assert_eq!((rows.len(), examined), (180, 180));
}
