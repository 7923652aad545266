//! Ranges of keys that several conditions give, counted by the rows that regions examine.

use halite::rowkey::language::ROW_STATS;
use halite_sql::datafusion::arrow::array::AsArray as _;
use halite_sql::datafusion::arrow::datatypes::Int32Type;
use halite_sql::datafusion::common::ScalarValue;

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

#[test]
fn pages_by_row_values_examine_their_rows_only() {
    // The key, a condition, and the fields and the order of the pages.
    let cases = [
        ("a STRING, b I32, c STRING", "true", "a, b, c", ""),
        ("a STRING, b I32, c STRING", "true", "a, b, c", " DESC"),
        ("SALT(3 BY a), a STRING, b I32, c STRING", "true", "a, b, c", ""),
        ("a STRING, b I32 DESC, c STRING DESC", "a = 'k3'", "b, c", " DESC"),
        ("SALT(4 BY a), a STRING, b I32 DESC, c STRING DESC", "a = 'k3'", "b, c", " DESC"),
        ("SALT(4 BY a), a STRING, b I32 DESC, c STRING DESC", "a = 'k3'", "b, c", ""),
        ("a STRING DESC, b I32 DESC, c STRING DESC", "true", "a, b, c", " DESC"),
    ];
    for (key, condition, fields, direction) in cases {
        let store = table(key);
        let order: Vec<String> =
            fields.split(", ").map(|field| format!("{field}{direction}")).collect();
        let order = order.join(", ");
        let op = if direction.is_empty() { ">" } else { "<" };
        let salts = if key.starts_with("SALT(3") { 3 } else { 1 };
        for (direct, size) in [("on", 7), ("off", 7), ("on", 50)] {
            let set = |settings: &mut halite_sql::Settings| settings.set("halite.direct", direct);
            store.sql.change(set).expect("a setting");
            let all = format!("SELECT {fields} FROM t WHERE {condition} ORDER BY {order}");
            let whole = store.rows(&all);
            let (mut pages, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
            loop {
                let behind = after.as_ref().map_or_else(String::new, |row: &String| {
                    let literal = |value: &str| match value.parse::<i32>() {
                        Ok(number) => number.to_string(),
                        Err(_) => format!("'{value}'"),
                    };
                    let values: Vec<String> = row.split('|').map(literal).collect();
                    format!(" AND ({fields}) {op} ({})", values.join(", "))
                });
                let sql = format!(
                    "SELECT {fields} FROM t WHERE {condition}{behind} ORDER BY {order} LIMIT {size}"
                );
                let before = store.examined("t");
                let page = store.rows(&sql);
                let examined = store.examined("t") - before;
                let explained = || store.rows(&format!("EXPLAIN {sql}")).join("\n");
                assert!(
                    examined <= salts * (size + 2),
                    "{key}, direct {direct}: {examined} rows of {sql}\n{}",
                    explained()
                );
                assert!(!explained().contains("Sort"), "{sql}\n{}", explained());
                assert_eq!(explained().starts_with("scan t, direct"), direct == "on", "{sql}");
                let Some(last) = page.last() else { break };
                after = Some(last.clone());
                pages.extend(page);
            }
            assert_eq!(pages, whole, "{key}, direct {direct}, pages of {size} by {order}");
        }
    }
}

#[test]
fn pages_take_parameters() {
    let store = table("SALT(4 BY a), a STRING, b I32 DESC, c STRING DESC");
    let text = "SELECT v, b, c FROM t WHERE a = $1 AND (b, c) < ($2, $3) ORDER BY b DESC, c DESC \
                LIMIT $4";
    let page = |b: i32, c: &str| {
        store.runtime.block_on(async {
            let prepared = store.sql.prepare(text).await.expect("a statement");
            let values: [ScalarValue; 4] = ["k3".into(), b.into(), c.into(), 5i64.into()];
            let mut answer = store.sql.run_prepared(&prepared, &values).await.expect("an answer");
            let batches = answer.batches().await.expect("rows");
            let rows = batches.iter().flat_map(|batch| {
                let (b, c) = (batch.column(1), batch.column(2));
                let at = |row: usize| {
                    let b = b.as_primitive::<Int32Type>().value(row);
                    (b, c.as_string_view().value(row).to_owned())
                };
                (0..batch.num_rows()).map(at).collect::<Vec<_>>()
            });
            rows.collect::<Vec<_>>()
        })
    };
    let (mut last, mut rows) = ((i32::MAX, String::new()), 0);
    loop {
        let before = store.examined("t");
        let found = page(last.0, &last.1);
        assert!(store.examined("t") - before <= 7, "{}", store.examined("t") - before);
        let Some(end) = found.last() else { break };
        assert!(found.iter().all(|row| *row < last || last.0 == i32::MAX), "{found:?}");
        assert!(found.is_sorted_by(|one, other| one > other), "{found:?}");
        rows += found.len();
        last = end.clone();
    }
    assert_eq!(rows, 60);
}

/// Creates a table of a reading an hour of 40 days, by a key whose first field is a device.
fn readings(key: &str) -> TestStore {
    let store = TestStore::new();
    store.run(&format!("CREATE TABLE t (v I32, note STRING, ROW KEY ({key}))")).expect("a table");
    let rows: Vec<String> = (0..960)
        .map(|hour: i64| {
            // From 1969-12-20 on.
            let ms = (hour - 12 * 24) * 3_600_000 + 1;
            let time = if key.contains("(us)") { ms * 1000 } else { ms };
            format!("('d{}', '{time}', {hour}, 'n')", hour % 2)
        })
        .collect();
    store
        .run(&format!("LOAD INTO t (device, ts, v, note) VALUES {}", rows.join(", ")))
        .expect("rows");
    store
}

#[test]
fn parts_of_times_are_ranges_of_the_key() {
    let keys = [
        "device STRING, ts TIMESTAMP",
        "SALT(4 BY device), device STRING, ts TIMESTAMP DESC",
        "device STRING, ts TIMESTAMP(us) DESC",
    ];
    for key in keys {
        let store = readings(key);
        for (condition, rows) in [
            ("date_trunc('hour', ts) = '1970-01-02T04:00:00Z'", 1),
            ("date_trunc('hour', ts) = '1970-01-02T04:00:01Z'", 0),
            ("date_trunc('day', ts) = '1969-12-31'", 12),
            ("ts::date = '1969-12-31'", 12),
            ("ts::date < '1969-12-22'", 24),
            ("ts::date <= DATE '1969-12-22'", 36),
            ("ts::date BETWEEN '1970-01-01' AND '1970-01-02'", 24),
            ("CAST(ts AS DATE) > '1970-01-26'", 24),
            ("date_trunc('month', ts) = '1969-12-01'", 144),
            ("date_trunc('week', ts) = '1969-12-29'", 84),
            ("date_trunc('year', ts) < '1970-01-01'", 144),
            ("date_trunc('hour', ts) IN ('1970-01-02T04:00:00Z', '1970-01-02T06:00:00Z')", 2),
            ("date_trunc('day', ts) = '1970-01-01' OR ts::date = '1970-01-05'", 24),
            ("date_trunc('quarter', ts) >= '1970-01-01' AND ts < '1970-01-02'", 12),
        ] {
            for direct in ["on", "off"] {
                let set =
                    |settings: &mut halite_sql::Settings| settings.set("halite.direct", direct);
                store.sql.change(set).expect("a setting");
                let sql = format!("SELECT v FROM t WHERE device = 'd0' AND ({condition})");
                let (found, examined) = counted(&store, &sql);
                let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
                assert_eq!((found.len(), examined), (rows, rows as u64), "{key}: {sql}\n{plan}");
                assert!(plan.contains("again    nothing"), "{sql}\n{plan}");
                // Another form of it, which is no range.
                let by_value = condition.replace("ts", "(ts + INTERVAL '0 hours')");
                let other = format!("SELECT v FROM t WHERE device = 'd0' AND ({by_value})");
                assert_eq!(counted(&store, &other).0, found, "{other}");
            }
        }
    }
}

#[test]
fn beginnings_of_text_are_ranges_in_any_order() {
    for key in ["a STRING, b I32", "a STRING DESC, b I32", "SALT(2 BY b), a STRING, b I32"] {
        let store = TestStore::new();
        store.run(&format!("CREATE TABLE t (v I32, ROW KEY ({key}))")).expect("a table");
        let rows: Vec<String> = (0..60).map(|at| format!("('n{at:02}', {at}, 1)")).collect();
        store.run(&format!("LOAD INTO t (a, b, v) VALUES {}", rows.join(", "))).expect("rows");
        let (found, examined) = counted(&store, "SELECT a FROM t WHERE a ^@ 'n1'");
        assert_eq!((found.len(), examined), (10, 10), "{key}");
        let (found, examined) = counted(&store, "SELECT a FROM t WHERE a ^@ 'n1' OR a ^@ 'n5'");
        assert_eq!((found.len(), examined), (20, 20), "{key}");
    }
}

/// Creates a table of texts, some of them missing.
fn texts() -> TestStore {
    let store = TestStore::new();
    store
        .run("CREATE TABLE t (w STRING, x STRING, n I32 NOT NULL, ROW KEY (k I32))")
        .expect("a table");
    let texts = [
        "'Alpha'",
        "'alpha beta'",
        "'ALPHA'",
        "'beta'",
        "NULL",
        "''",
        "'50%'",
        "'a_b'",
        "'ab'",
        "'\u{e9}'",
        "'x\u{e9}y'",
        "'\u{c9}'",
        "'\u{391}\u{3a3}'",
        "'\u{391}\u{3a3}\u{391}'",
        "'\u{17f}and'",
        "'\u{212a}ilo'",
        "E'a\\nb'",
        "E'end\\n'",
        "'end'",
        "'a.b'",
        "'aXb'",
        "'\u{10400}x'",
        "'long alpha with gamma'",
    ];
    let rows: Vec<String> =
        texts.iter().enumerate().map(|(at, text)| format!("({at}, {text}, 'x', {at})")).collect();
    store
        .run_text(&format!("INSERT INTO t (k, w, x, n) VALUES {}", rows.join(", ")))
        .expect("rows");
    store
}

#[test]
fn patterns_are_filtered_by_the_regions_and_checked_again() {
    let store = texts();
    for pattern in [
        "%alpha%",
        "%Alpha%",
        "%a%b%",
        "alpha%beta",
        "%b",
        "a_b",
        "%\u{e9}%",
        "%50\\%%",
        "_",
        "%\u{391}\u{3a3}%",
        "",
        "%\u{391}\u{3a3}",
        "%end",
        "end_",
        "%a.b%",
        "__",
        "%",
        "%sand%",
        "%ilo",
        "%a%m%",
        "\u{10400}%x",
        "%lph_",
    ] {
        for op in ["LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE"] {
            let sql = |column: &str| format!("SELECT k FROM t WHERE {column} {op} '{pattern}'");
            let found = counted(&store, &sql("w")).0;
            // An expression of the column, which is no column.
            let expected = counted(&store, &sql("(w || '')")).0;
            assert_eq!(found, expected, "{op} {pattern}");
        }
    }
    // Fewer rows come than are examined, and those that match are kept.
    for (condition, received, kept) in [
        ("w LIKE '%alpha%'", 4, 2),
        ("w LIKE 'alpha%beta'", 1, 1),
        ("w LIKE '%b' AND n > 5", 5, 5),
        ("w ILIKE '%LPHA%' OR n = 3", 5, 5),
    ] {
        let plan = store.rows(&format!("EXPLAIN ANALYZE SELECT k, x FROM t WHERE {condition}"));
        let plan = plan.join("\n");
        let expected = format!("23 rows examined, {received} received");
        assert!(plan.contains(&expected), "{condition}\n{plan}");
        assert!(plan.contains(&format!("rows {kept},")), "{condition}\n{plan}");
    }
    let plan = store.rows("EXPLAIN SELECT k FROM t WHERE w LIKE '%alpha%'").join("\n");
    assert!(plan.contains("'substring:alpha'") && plan.contains("again    w LIKE"), "{plan}");
    // Text that has to be absent, or that another column may replace, is no filter.
    let plan = store.rows("EXPLAIN SELECT k FROM t WHERE w NOT LIKE '%alpha%'").join("\n");
    assert!(!plan.contains("substring"), "{plan}");
}

/// Returns the notices of a query.
fn notices(store: &TestStore, sql: &str) -> Vec<String> {
    store.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).notices
}

#[test]
fn offset_tells_the_condition_that_reads_less() {
    let store = table("a STRING, b I32 DESC, c STRING");
    let told =
        notices(&store, "SELECT a FROM t WHERE a = 'k1' ORDER BY b DESC, c LIMIT 5 OFFSET 10");
    assert_eq!(
        told,
        [
            "Q-OFFSET: OFFSET reads 10 rows of table t and drops them; the next page begins behind the \
          last row of this: WHERE b < $1 OR b = $1 AND c > $2 ORDER BY b DESC, c"
        ]
    );
    let explained = store.rows("EXPLAIN SELECT a FROM t LIMIT 5 OFFSET 10").join("\n");
    assert!(
        explained.contains("note     Q-OFFSET: OFFSET reads 10 rows of table t"),
        "{explained}"
    );
    let plain = table("a STRING, b I32, c STRING");
    let told = notices(&plain, "SELECT a FROM t ORDER BY a, b, c LIMIT 5 OFFSET 10").remove(0);
    assert!(told.ends_with("WHERE (a, b, c) > ($1, $2, $3) ORDER BY a, b, c"), "{told}");
    // Sorted rows, those of a group, and no rows are dropped for nothing.
    for sql in [
        "SELECT a FROM t ORDER BY v OFFSET 10",
        "SELECT a, count(*) FROM t GROUP BY a ORDER BY a OFFSET 1",
        "SELECT a FROM t ORDER BY a, b, c LIMIT 5 OFFSET 0",
        "SELECT * FROM (VALUES (1), (2)) AS x OFFSET 1",
    ] {
        assert_eq!(notices(&plain, sql), [""; 0], "{sql}");
    }
}

#[test]
fn full_scans_are_permitted_told_or_refused() {
    let store = table("a STRING, b I32, c STRING");
    let (full, range) = ("SELECT a, v FROM t WHERE v = 7", "SELECT a FROM t WHERE a = 'k1'");
    let write = "UPDATE t SET w = 'x' WHERE v = 7";
    // Nothing is known of the number of its rows.
    assert_eq!(notices(&store, full), [""; 0]);
    for (setting, is_refused) in [("allow", false), ("warn", false), ("refuse", true)] {
        store.run(&format!("SET halite.full_scan = '{setting}'")).expect("a setting");
        for direct in ["on", "off"] {
            let set = |settings: &mut halite_sql::Settings| settings.set("halite.direct", direct);
            store.sql.change(set).expect("a setting");
            for sql in [full, "SELECT * FROM t", "SELECT count(*) FROM t", write] {
                match store.run(sql) {
                    Err(error) => {
                        assert!(is_refused, "{sql}: {error}");
                        assert_eq!(error.state.code(), "54000", "{error}");
                        assert!(error.message.starts_with("Q-FULL: "), "{error}");
                    }
                    Ok(_) => assert!(!is_refused, "{sql}"),
                }
            }
            // A LIMIT that ends the scan, the ends of the key, a range; EXPLAIN reads nothing.
            for sql in [
                "SELECT * FROM t LIMIT 5",
                "SELECT min(a) FROM t",
                range,
                "EXPLAIN SELECT * FROM t",
            ] {
                store.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
        let filtered = store.run(&format!("{full} LIMIT 1"));
        assert_eq!(filtered.is_err(), is_refused, "a filter may pass over all rows");
    }
    let error = store.run(full).expect_err("a full scan");
    assert!(error.message.contains("would serve the statement"), "{error}");
    assert!(error.message.contains("ROW KEY (SALT(16 BY v), v I32, "), "{error}");
}

#[test]
fn full_scans_of_many_rows_give_a_notice() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I32, ROW KEY (SALT(300 BY a), a STRING, b I32))").expect("t");
    store.run("LOAD INTO t (a, b, v) VALUES ('x', 1, 1), ('y', 2, 2)").expect("rows");
    store.run("ANALYZE t").expect("statistics");
    assert_eq!(notices(&store, "SELECT v FROM t"), [""; 0]);
    // As if ANALYZE had found more.
    let descriptor = store.store.descriptor("t").expect("t");
    let found = descriptor.attributes.get(ROW_STATS).cloned().expect("statistics");
    let text = found.replacen("rows=2", "rows=2000000", 1);
    assert!(text.contains("2000000"), "{text}");
    store.store.alter_table(descriptor.as_ref().clone().set(ROW_STATS, text)).expect("a change");
    let told = notices(&store, "SELECT v FROM t WHERE v > 0").remove(0);
    assert!(told.starts_with("Q-FULL: nothing in front of the key of table t is known"), "{told}");
    assert!(told.contains("about 2000000 rows are read; ROW KEY (v "), "{told}");
    let told = notices(&store, "SELECT v FROM t WHERE a > 'a'").remove(0);
    assert!(told.starts_with("Q-FAN: not which of 300 salts of table t is known"), "{told}");
    assert_eq!(notices(&store, "SELECT v FROM t WHERE a > 'a' LIMIT 3"), [""; 0]);
    assert_eq!(notices(&store, "SELECT v FROM t WHERE a = 'x'"), [""; 0]);
    let plan = store.rows("EXPLAIN SELECT v FROM t WHERE a > 'a'").join("\n");
    assert!(plan.contains("note     Q-FAN: 300 ranges are read at once"), "{plan}");
    store.run("SET halite.full_scan = 'refuse'").expect("a setting");
    let error = store.run("SELECT v FROM t WHERE a > 'a'").expect_err("a fan-out");
    assert!(error.message.starts_with("Q-FAN: 300 ranges of table t"), "{error}");
    store.run("SELECT v FROM t WHERE a > 'a' LIMIT 3").expect("some rows");
}

#[test]
fn ranges_of_a_query_are_rows() {
    let store = table("SALT(4 BY a), a STRING, b I32 DESC, c STRING");
    let of = |query: &str, columns: &str| {
        let quoted = query.replace('\'', "''");
        store.rows(&format!("SELECT {columns} FROM halite_ranges('{quoted}') ORDER BY scan, range"))
    };
    let columns = "scan, table_name, range, kind, start_fields, end_fields";
    assert_eq!(
        of("SELECT * FROM t WHERE a = 'k1' AND b BETWEEN 3 AND 100", columns),
        ["1|t|1|range|a = 'k1', b = 100|before a = 'k1', b = 2"]
    );
    assert_eq!(
        of("SELECT * FROM t WHERE a = 'k1'", columns),
        ["1|t|1|range|a = 'k1'|through a = 'k1'"]
    );
    assert_eq!(
        of("SELECT count(*) FROM t WHERE a = 'k1' AND b = 2 AND c IN ('c1', 'c2')", columns),
        [
            "1|t|1|get|a = 'k1', b = 2, c = 'c1'|a = 'k1', b = 2, c = 'c1'",
            "1|t|2|get|a = 'k1', b = 2, c = 'c2'|a = 'k1', b = 2, c = 'c2'",
        ]
    );
    let keys = of("SELECT * FROM t WHERE a = 'k1'", "salt, start_key, end_key, region");
    let region = store.store.regions("t").expect("regions").remove(0).encoded_name;
    assert!(keys[0].ends_with(&region), "{keys:?}");
    assert_eq!(of("SELECT * FROM t", "salt, start_fields, end_fields").len(), 4);
    assert_eq!(of("SELECT * FROM t", "salt")[3], "3");
    assert_eq!(of("SELECT * FROM t x JOIN t y ON x.v = y.v WHERE x.a = 'k1'", "scan").len(), 5);
    assert_eq!(of("SELECT 1", "scan"), [""; 0]);
    // Nothing is run, and errors of the query are those of the statement.
    store.run("SET halite.full_scan = 'refuse'").expect("a setting");
    let before = store.examined("t");
    assert_eq!(of("SELECT * FROM t WHERE v = 1", "scan").len(), 4);
    assert_eq!(store.examined("t"), before);
    for (sql, state) in [
        ("SELECT * FROM halite_ranges('SELECT nothing FROM t')", "42703"),
        ("SELECT * FROM halite_ranges('DELETE FROM t')", "42601"),
        ("SELECT * FROM halite_ranges(5)", "42601"),
        ("SELECT * FROM halite_ranges('SELECT * FROM t WHERE a = $1')", "42P02"),
    ] {
        assert_eq!(store.run(sql).expect_err(sql).state.code(), state, "{sql}");
    }
}
