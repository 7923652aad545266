//! Aggregates that regions compute: the answers are those of the rows, read without them. The other
//! session of each test reads the rows, because its tables compute no aggregates.
//! `HALITE_SQL_CASES` sets the number of queries, `HALITE_SQL_SEED` the first seed.

use std::sync::atomic::{AtomicBool, Ordering};

use halite::{Bytes, Delete, FamilyDescriptor, Put, TableDescriptor};
use halite_sql::{SqlContext, SqlState};

use crate::interposed::{Hook, session};
use crate::random::{KEYS, Seeded, number_of, tables};
use crate::store::{Rows, TestStore};

/// Changes nothing.
struct Nothing;

impl Hook for Nothing {}

/// Returns the rows and notices of a statement, or its error.
fn answer(store: &TestStore, sql: &SqlContext, text: &str) -> (String, Vec<String>) {
    store.runtime.block_on(async {
        let mut answer = match sql.run(text).await {
            Ok(answer) => answer,
            Err(error) => return (error.to_string(), Vec::new()),
        };
        match Rows::of(&mut answer).await {
            Ok(rows) => (format!("{:?}", rows.rows), rows.notices),
            Err(error) => (error.to_string(), answer.take_notices()),
        }
    })
}

fn is_in_regions(store: &TestStore, text: &str) -> bool {
    store.rows(&format!("EXPLAIN {text}")).iter().any(|line| line.contains("in the regions: "))
}

/// Creates a table of numbers with missing, deleted, old and odd cells, and odd keys.
fn numbers(store: &TestStore, random: &mut Seeded) {
    let columns = "v I64, w I32, s I8, x STRING, b BYTES, n I64 COUNTER, o I64 ENCODING BIN";
    let key = random.pick(&["ROW KEY (k STRING)", "ROW KEY (SALT(4 BY k), k STRING)"]);
    store.run(&format!("CREATE TABLE t ({columns}, {key})")).expect("a table");
    let number = |random: &mut Seeded| {
        ["NULL", "0", "-1", "7", "9223372036854775807", "-9223372036854775808"][random.below(6)]
    };
    let small = |random: &mut Seeded| ["NULL", "0", "-128", "127"][random.below(4)];
    for _ in 0..60 {
        let (key, v, s) = (random.below(40), number(random), small(random));
        let text = format!(
            "UPSERT INTO t (k, v, w, s, x, b, o) VALUES ('k{key}', {v}, {s}, {s}, 'x', '\\x00', {v})"
        );
        store.run(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        match random.below(6) {
            0 => drop(store.run(&format!("DELETE FROM t WHERE k = 'k{key}'")).expect("a delete")),
            1 => {
                let add = format!("UPDATE t SET n = n + {} WHERE k = 'k{key}'", random.below(9));
                drop(store.run(&add).expect("a number"));
            }
            2 => store.store.flush("t").expect("a flush"),
            _ => {}
        }
    }
}

/// Adds cells that are none of their type, and a key that is none of the table's.
fn odd_ones(store: &TestStore, random: &mut Seeded) {
    let (table, family) = (store.store.table("t").expect("a table"), store.family("t"));
    let rows: Vec<Bytes> = table
        .scan(halite::Scan::all())
        .map(|row| Bytes::copy_from_slice(row.expect("a row").key()))
        .collect();
    let column = random.pick(&["v", "w", "s", "x", "n"]);
    let row = rows[random.below(rows.len())].clone();
    let value: &[u8] = if column == "x" { b"\xff" } else { b"odd" };
    table.put(Put::new(row).add(family.clone(), column, value)).expect("a put");
    if random.below(2) == 0 {
        let odd = Put::new(&b"\xff\xfe"[..]).add(family, "v", 5_i64.to_be_bytes());
        table.put(odd).expect("a put");
    }
}

const AGGREGATES: [&str; 14] = [
    "count(*)",
    "count(1), count(v)",
    "sum(w), min(v), max(v)",
    "count(*), min(w), max(s), sum(s)",
    "sum(v)",
    "count(x), count(b)",
    "sum(n), min(n), max(n), count(n)",
    "max(n)",
    "min(v) - max(w)",
    "avg(v), count(*)",
    "count(DISTINCT v)",
    "count(o), sum(w)",
    "count(*) FILTER (WHERE v > 0)",
    "sum(w), count(NULL)",
];
const CONDITIONS: [&str; 9] = [
    "",
    "",
    " WHERE v > 0",
    " WHERE v IS NULL",
    " WHERE w <= 0 AND s IS NOT NULL",
    " WHERE k LIKE 'k1%'",
    " WHERE k > 'k2' AND v < 9",
    " WHERE k IN ('k1', 'k2', 'k3')",
    " WHERE k = 'k7'",
];

#[test]
fn regions_compute_what_the_rows_give() {
    let (cases, first) = (number_of("HALITE_SQL_CASES", 400), number_of("HALITE_SQL_SEED", 1));
    let mut in_regions = 0;
    for seed in (first..first + cases).step_by(40) {
        let (store, mut random) = (TestStore::new(), Seeded(seed));
        numbers(&store, &mut random);
        let by_rows = session(&store, Nothing);
        for case in 0..40 {
            if case == 20 {
                odd_ones(&store, &mut random);
            }
            let (keys, cells) =
                (random.pick(&["count", "fail", "null"]), random.pick(&["fail", "null"]));
            for sql in [store.sql.as_ref(), &by_rows] {
                let set = |name, value| sql.change(|settings| settings.set(name, value));
                set("halite.unreadable_keys", keys).expect("a setting");
                set("halite.bad_cells", cells).expect("a setting");
            }
            let (of, condition) = (random.pick(&AGGREGATES), random.pick(&CONDITIONS));
            let history = random.pick(&["", "", "", " AS OF TIMESTAMP '1990-01-01'"]);
            let text = format!("SELECT {of} FROM t{history}{condition}");
            let expected = answer(&store, &by_rows, &text);
            let context = format!("seed {seed}, keys {keys}, cells {cells}: {text}");
            assert_eq!(answer(&store, &store.sql, &text), expected, "{context}");
            in_regions += u64::from(is_in_regions(&store, &text));
        }
    }
    assert!(in_regions * 4 > cases, "{in_regions} of {cases} queries were computed in regions");
}

#[test]
fn regions_compute_what_rows_of_salted_and_hashed_keys_give() {
    let store = TestStore::new();
    tables(&store);
    let by_rows = session(&store, Nothing);
    let mut random = Seeded(7);
    let mut in_regions = 0;
    for case in 0..120 {
        let (table, condition) = (case % KEYS.len(), random.condition(1));
        let of = random.pick(&["count(*)", "count(v), sum(v)", "min(v), max(v)", "count(w)"]);
        let text = format!("SELECT {of} FROM t{table} WHERE {condition}");
        let expected = answer(&store, &by_rows, &text);
        assert_eq!(answer(&store, &store.sql, &text), expected, "{text}");
        in_regions += usize::from(is_in_regions(&store, &text));
    }
    assert!(in_regions > 20, "{in_regions} queries were computed in regions");
}

#[test]
fn sums_outside_of_their_type_are_errors_and_no_rows_give_null() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I32))").expect("a table");
    assert!(is_in_regions(&store, "SELECT sum(v) FROM t"));
    assert_eq!(store.rows("SELECT count(*), sum(v), min(v), max(v) FROM t"), ["0|NULL|NULL|NULL"]);
    let most = i64::MAX;
    store.run(&format!("UPSERT INTO t (k, v) VALUES (1, {most}), (2, 1)")).expect("rows");
    assert_eq!(store.run("SELECT sum(v) FROM t").expect_err("22003").state, SqlState::OutOfRange);
    store.run("UPSERT INTO t (k, v) VALUES (3, -1)").expect("a row");
    assert_eq!(store.rows("SELECT sum(v), max(v) FROM t"), [format!("{most}|{most}")]);
}

#[test]
fn guard_ends_aggregates_in_regions() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    let rows = "SELECT value, value FROM generate_series(1, 3000)";
    store.run(&format!("UPSERT INTO t (k, v) {rows}")).expect("rows");
    assert!(is_in_regions(&store, "SELECT count(*) FROM t"));
    store.run("SET halite.max_rows_examined = 3000").expect("a setting");
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["3000"]);
    store.run("SET halite.max_rows_examined = 2999").expect("a setting");
    let error = store.run("SELECT count(*) FROM t").expect_err("a guard");
    assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
    assert!(error.message.contains("Q-FULL"), "{error}");
    let ran = {
        store.run("SET halite.max_rows_examined = 0").expect("a setting");
        store.rows("EXPLAIN ANALYZE SELECT count(*), sum(v) FROM t WHERE v <= 10").join("\n")
    };
    assert!(ran.contains("3000 rows examined") && ran.contains(" 10 kept"), "{ran}");
}

#[test]
fn expired_and_older_versions_do_not_count() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    store.run("CREATE TABLE u (v I64, ROW KEY (k STRING)) WITH (TTL = 3600)").expect("a table");
    let (table, family) = (store.store.table("t").expect("a table"), store.family("t"));
    let put = |key: &'static str, ts: i64, value: i64| {
        let put = Put::new(key).add_at(family.clone(), "v", ts, value.to_be_bytes());
        table.put(put).expect("a put");
    };
    put("a", 10, 100);
    put("a", 20, 1);
    put("b", 10, 100);
    table.delete(Delete::new("b")).expect("a delete");
    put("c", 10, 5);
    let text = "SELECT count(*), sum(v), max(v) FROM t";
    assert!(is_in_regions(&store, text));
    let by_rows = session(&store, Nothing);
    assert_eq!(store.rows(text), ["2|6|5"]);
    store.store.flush("t").expect("a flush");
    assert_eq!(answer(&store, &by_rows, text), answer(&store, &store.sql, text));
    store.run("UPSERT INTO u (k, v) VALUES ('new', 2)").expect("a row");
    let old = Put::new("old").add_at(store.family("u"), "v", 10, 5_i64.to_be_bytes());
    store.store.table("u").expect("a table").put(old).expect("a put");
    assert_eq!(store.rows("SELECT count(*), sum(v), max(v) FROM u"), ["1|2|2"]);
}

#[test]
fn rows_without_a_declared_key_are_counted_in_their_regions() {
    const ENDPOINT: &str = "|org.apache.hadoop.hbase.coprocessor.AggregateImplementation|1001|";
    let store = TestStore::new();
    let by_rows = session(&store, Nothing);
    for (name, endpoint) in [("plain", None), ("listed", Some(ENDPOINT))] {
        let table = TableDescriptor::new(name.parse().expect("a name"));
        let table = table.family(FamilyDescriptor::new("f"));
        let table = endpoint.into_iter().fold(table, |table, it| table.set("coprocessor$1", it));
        store.store.create_table(table, &[b"m"]).expect("a table");
        let rows = store.store.table(name).expect("a table");
        for number in 0..30_u8 {
            let row = [b'a' + number % 26, number];
            rows.put(Put::new(row.to_vec()).add("f", "a", "1").add("f", "b", "2")).expect("a put");
        }
        rows.delete(Delete::new(&b"c\x02"[..])).expect("a delete");
        for condition in ["", " WHERE _row > 'c'", " WHERE _row >= 'b' AND _row < 'n'"] {
            let text = format!("SELECT count(*) FROM {name}{condition}");
            assert!(is_in_regions(&store, &text), "{text}");
            assert_eq!(
                answer(&store, &store.sql, &text),
                answer(&store, &by_rows, &text),
                "{text}"
            );
        }
        assert_eq!(store.rows(&format!("SELECT count(*) FROM {name}")), ["29"]);
    }
}

#[test]
fn no_row_counts_twice_while_regions_split() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k CHAR(4)))").expect("a table");
    let rows = "SELECT lpad(cast(value AS varchar), 4, '0'), value FROM generate_series(0, 4999)";
    store.run(&format!("UPSERT INTO t (k, v) {rows}")).expect("rows");
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for number in (200_u32..4800).step_by(150) {
                let at = Bytes::from(format!("{number:04}"));
                let regions = store.store.regions("t").expect("regions");
                let region = regions.iter().find(|one| one.contains(&at)).expect("a region");
                let _ = store.store.split_region(&region.encoded_name, Some(at));
            }
            done.store(true, Ordering::Release);
        });
        let mut answers = 0;
        while !done.load(Ordering::Acquire) || answers < 5 {
            assert_eq!(store.rows("SELECT count(*), sum(v) FROM t"), ["5000|12497500"]);
            answers += 1;
        }
    });
    assert!(store.store.regions("t").expect("regions").len() > 20);
}
