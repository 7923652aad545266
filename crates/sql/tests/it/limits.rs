//! Statements that would abort the process are refused or answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_sql::{Resources, SqlContext, SqlState};

use crate::store::TestStore;

fn chain(terms: usize, between: &str, term: impl Fn(usize) -> String) -> String {
    (0..terms).map(term).collect::<Vec<_>>().join(between)
}

#[test]
fn long_chains_are_refused_or_answered() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    store.run("LOAD INTO t (k, v) VALUES (1, 10), (4999, 20), (5000, 30)").expect("rows");
    let ors = |terms, term: fn(usize) -> String| {
        format!("SELECT k FROM t WHERE {}", chain(terms, " OR ", term))
    };
    // Of one column: a list.
    assert_eq!(store.rows(&ors(5000, |at| format!("k = {at}"))), ["1", "4999"]);
    // Of any columns: refused, with what to write instead.
    let error = store.run(&ors(5000, |at| format!("v + {at} = 11"))).expect_err("over the limit");
    assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
    let error = store.run(&format!("SELECT 1{}", " + 1".repeat(5000))).expect_err("over the limit");
    assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
    // As long as is permitted.
    assert_eq!(store.rows(&format!("SELECT 1{}", " + 1".repeat(1000))), ["1001"]);
    for operator in [" IS NULL", " = 1", "[1]", " COLLATE c"] {
        for terms in [2001, 33_000] {
            let text = format!("SELECT 1{}", operator.repeat(terms));
            let error = store.run(&text).expect_err("over the limit");
            assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
        }
    }
    assert_eq!(store.rows(&format!("SELECT 1{}", " IS NULL".repeat(2000))), ["false"]);
    assert_eq!(store.rows(&format!("SELECT true{}", " = true".repeat(500))), ["true"]);
    let longest = ors(500, |at| format!("v = {} AND k < 9", 10 * at + 10));
    assert_eq!(store.rows(&longest), ["1"]);
    let longest = ors(1000, |at| format!("v < {at} - 1000"));
    assert!(store.run(&longest).is_err_and(|error| error.state == SqlState::LimitExceeded));
    assert_eq!(store.rows(&ors(1000, |at| format!("abs(k) = {at}"))), ["1"]);
}

/// Planning takes the time of the length of a statement, and not of its square.
#[test]
fn long_statements_are_planned_in_little_time() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    store.run("UPSERT INTO t (k, v) VALUES (1, 1)").expect("a row");
    let ctes = |length: usize, from: fn(usize) -> String| {
        let ctes: Vec<String> =
            (1..length).map(|at| format!("q{at} AS (SELECT * FROM {})", from(at - 1))).collect();
        format!("WITH q0 AS (SELECT 1 AS x), {} SELECT x FROM q{}", ctes.join(", "), length - 1)
    };
    for (text, rows) in [
        (format!("SELECT {}", chain(1001, " AND ", |_| "true = true".to_owned())), 1),
        (format!("SELECT {}", chain(1001, " OR ", |at| format!("{at} = 2000"))), 1),
        (
            format!(
                "SELECT k FROM t WHERE {}",
                chain(1001, " AND ", |at| format!("k <> {}", at + 5))
            ),
            1,
        ),
        (format!("SELECT v{} FROM t", " + 1".repeat(400)), 1),
        (format!("SELECT true{}", " = true".repeat(500)), 1),
        (format!("SELECT 1{}", " IS NULL".repeat(2000)), 1),
        (ctes(400, |at| format!("q{at}")), 1),
        (
            format!(
                "WITH {} SELECT x FROM q999",
                chain(1000, ", ", |at| format!("q{at} AS (SELECT {at} AS x)"))
            ),
            1,
        ),
    ] {
        let started = Instant::now();
        assert_eq!(store.rows(&text).len(), rows, "{}", &text[..60]);
        let time = started.elapsed();
        assert!(time < Duration::from_secs(90), "{}: {time:?}", &text[..60]);
    }
    for text in [
        format!("SELECT true{}", " = true".repeat(2000)),
        ctes(10_000, |at| format!("q{at}")),
        ctes(40, |at| format!("q{at} AS a, q{at} AS b")),
        format!("WITH {} SELECT 1", chain(1001, ", ", |at| format!("q{at} AS (SELECT 1)"))),
    ] {
        let started = Instant::now();
        let error = store.run(&text).expect_err("over the limit");
        assert_eq!(error.state, SqlState::LimitExceeded, "{}: {error}", &text[..60]);
        assert!(started.elapsed() < Duration::from_mins(2), "{}", &text[..60]);
    }
}

#[test]
fn deep_nesting_is_refused_or_answered() {
    let store = TestStore::new();
    let nested = |depth: usize| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(store.rows(&nested(100)), ["1"]);
    for depth in [200, 50_000] {
        let error = store.run(&nested(depth)).expect_err("over the limit");
        assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
    }
    let subqueries = (0..60)
        .fold("SELECT 1 AS x".to_owned(), |inner, _| format!("SELECT x FROM ({inner}) AS t"));
    assert_eq!(store.rows(&subqueries), ["1"]);
    // The time of a query grows with its length, not with a power of two of its depth.
    store.run("CREATE TABLE t (v I64, s STRING, ROW KEY (k I64))").expect("a table");
    store.run("LOAD INTO t (k, v, s) VALUES (1, 1, 'x')").expect("a row");
    let sums = |depth: usize| (0..depth).fold("v".to_owned(), |inner, _| format!("(k + {inner})"));
    assert_eq!(store.rows(&format!("SELECT {} FROM t", sums(30))), ["31"]);
    assert_eq!(store.rows(&format!("SELECT {} FROM t", sums(100))), ["101"]);
    assert_eq!(store.rows(&format!("SELECT k FROM t WHERE {} > 0", sums(100))), ["1"]);
    let mixed = (0..30).fold("v".to_owned(), |inner, at| match at % 3 {
        0 => format!("abs({inner} - k)"),
        1 => format!("({inner} + CAST(k AS INT))"),
        _ => format!("(2 * {inner} - 1)"),
    });
    assert_eq!(store.rows(&format!("SELECT {mixed} FROM t")).len(), 1);
    let texts = (0..100).fold("s".to_owned(), |inner, _| format!("({inner} || s)"));
    assert_eq!(store.rows(&format!("SELECT length({texts}) FROM t")), ["101"]);
    let minus = format!("SELECT {}1", "- ".repeat(5000));
    assert!(store.run(&minus).is_err());
    let not = format!("SELECT {}true", "NOT ".repeat(5000));
    assert!(store.run(&not).is_err());
}

#[test]
fn odd_texts_are_answered_or_errors() {
    let store = TestStore::new();
    for text in ["", ";;", "-- only", "/* only */", " \t\r\n"] {
        assert!(store.run(text).expect(text).rows.is_empty(), "{text:?}");
    }
    for text in [
        "SELECT 'open",
        "SELECT \"open",
        "SELECT",
        "\u{feff}SELEC 1",
        "SELECT \0",
        "SELECT 1 1",
        "SELECT * FROM",
        "SELECT 1; SELECT 2",
        "\u{1f600}",
    ] {
        let error = store.run(text).expect_err(text);
        assert_eq!(error.state, SqlState::Syntax, "{text:?}: {error}");
    }
    assert_eq!(store.rows("SELECT 1\r\n, '\u{1f600}' AS \"\u{1f600}\""), ["1|\u{1f600}"]);
}

#[test]
fn guard_counts_rows_that_regions_examine_and_names_the_key_that_serves() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (w STRING, v I64, ROW KEY (k I64))").expect("a table");
    let rows: Vec<String> = (0..500).map(|k| format!("({k}, {k}, 'w{}')", k % 5)).collect();
    store.run(&format!("UPSERT INTO t (k, v, w) VALUES {}", rows.join(", "))).expect("rows");
    for direct in ["on", "off"] {
        store.run(&format!("SET halite.direct = '{direct}'")).expect("a setting");
        // No row comes, and all are compared.
        assert!(store.rows("SELECT k FROM t WHERE w = 'none'").is_empty());
        let last = "SELECT rows_examined FROM halite.queries WHERE query LIKE '%FROM t WHERE w = ?%' \
                    ORDER BY id DESC LIMIT 1";
        assert_eq!(store.rows(last), ["500"]);
        store.run("SET halite.max_rows_examined = 100").expect("a setting");
        let error = store.run("SELECT k FROM t WHERE w = 'none'").expect_err("a guard");
        assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
        for part in [
            "stopped after",
            "halite.max_rows_examined is 100",
            "Q-FULL",
            "ROW KEY (SALT(16 BY w), w STRING, k I64)",
        ] {
            assert!(error.message.contains(part), "{part}: {error}");
        }
        let error = store.run("SELECT v FROM t WHERE k > 5").expect_err("a guard");
        assert!(error.message.contains("EXPLAIN shows which condition"), "{error}");
        assert_eq!(store.rows("SELECT v FROM t WHERE k BETWEEN 5 AND 104").len(), 100);
        assert_eq!(store.rows("SELECT v FROM t WHERE k = 7"), ["7"]);
        store.run("SET halite.max_rows_examined = 0").expect("a setting");
    }
}

#[test]
fn time_of_functions_is_bounded() {
    let store = TestStore::new();
    for text in [
        "SELECT levenshtein(repeat('a', 30000000), repeat('b', 30000000))",
        "SELECT btrim(repeat('a', 15000000), repeat('b', 7000000))",
        "SELECT strpos(repeat('a', 15000000), repeat('a', 7000000) || 'b')",
        "SELECT array_has_all(range(0, 20000), range(-20000, 0))",
        "SELECT levenshtein(repeat('a', 20000 + value), repeat('b', 20000)) \
         FROM generate_series(1, 10)",
        "SELECT levenshtein(repeat('a', 6000), repeat('b', 6000)) \
         + levenshtein(repeat('c', 6000), repeat('b', 6000))",
    ] {
        let error = store.run(text).expect_err(text);
        assert_eq!(error.state, SqlState::LimitExceeded, "{text}: {error}");
        assert!(error.message.contains("steps"), "{text}: {error}");
    }
    // Many rows are computed some at a time, with the same results.
    let distances = "SELECT count(*), sum(levenshtein(repeat('b', 700 + value % 2), \
                     repeat('a', 700))) FROM generate_series(1, 100)";
    assert_eq!(store.rows(distances), ["100|70050"]);
    let short = "SELECT levenshtein('kitten', 'sitting'), btrim('xyabx', 'xy'), \
                 strpos('high', 'ig'), array_has_all([1, 2, 3], [3, 1]), trim('  a ')";
    assert_eq!(store.rows(short), ["3|ab|2|true|a"]);
}

#[test]
fn statements_that_ended_compute_no_more_rows() {
    let store = TestStore::new();
    store.run("SET statement_timeout = 100").expect("a setting");
    // An hour of work for each thread of the runtime.
    let text = "SELECT sum(levenshtein(repeat('a', 8000 + value % 2), repeat('b', 8000))) \
                FROM generate_series(1, 8000)";
    for _ in 0..4 {
        let error = store.run(text).expect_err(text);
        assert_eq!(error.state, SqlState::Cancelled, "{error}");
    }
    store.run("SET statement_timeout = 0").expect("a setting");
    assert_eq!(store.rows("SELECT 1"), ["1"]);
}

#[test]
fn rows_that_a_write_keeps_take_memory() {
    let store = TestStore::new();
    for table in ["t", "u"] {
        let text = format!("CREATE TABLE {table} (v STRING, ROW KEY (k I64))");
        store.run(&text).expect("a table");
    }
    let fill = "UPSERT INTO t SELECT value, repeat('x', 100) FROM generate_series(1, 10000)";
    store.run(fill).expect("rows");
    let limited =
        |kib: usize| SqlContext::with_memory(Arc::clone(store.store.cluster()), kib << 10);
    let small = limited(64);
    for text in [
        "INSERT INTO t SELECT k + 100000, v FROM t",
        "UPSERT INTO t SELECT k, v FROM t RETURNING v",
        "INSERT INTO u SELECT k, v FROM t WHERE k < 9000 ON CONFLICT (k) DO UPDATE SET v = 'y'",
        "UPDATE t SET v = 'y' RETURNING k",
        "DELETE FROM t WHERE v IS NOT NULL LIMIT 9000",
    ] {
        let error = store.runtime.block_on(small.run(text)).err().expect(text);
        assert_eq!(error.state, SqlState::OutOfMemory, "{text}: {error}");
    }
    // Rows that conflict are changed in parts.
    let text = "INSERT INTO u SELECT value, repeat('z', 100) FROM generate_series(1, 20000) \
                ON CONFLICT (k) DO UPDATE SET v = excluded.v || 'z'";
    store.run("DELETE FROM u WHERE k > 0").expect("an empty table");
    let large = limited(6 << 10);
    for _ in 0..2 {
        let answer = store.runtime.block_on(large.run(text)).expect("written");
        assert_eq!(answer.tag(), Some("INSERT 0 20000"));
    }
    let changed = "SELECT count(*), min(length(v)), max(length(v)) FROM u";
    assert_eq!(store.rows(changed), ["20000|101|101"]);
}

#[test]
fn temporary_files_are_in_the_directory_of_the_store() {
    let store = TestStore::new();
    let directory = tempfile::tempdir().expect("a directory");
    let files = directory.path().join(".tmp/sql");
    std::fs::create_dir_all(files.join("datafusion-old")).expect("what a killed process left");
    std::fs::write(files.join("datafusion-old/1"), "rows").expect("a file");
    let resources = Resources { memory_bytes: 24 << 20, ..Resources::of_store(directory.path()) };
    assert_eq!(resources.disk_bytes, 10 << 30);
    let cluster = Arc::clone(store.store.cluster());
    let sql = SqlContext::with_resources(cluster, &resources).expect("a session");
    assert!(!files.join("datafusion-old").exists());
    let runtime = sql.session().runtime_env();
    let disk = &runtime.disk_manager;
    assert_eq!(disk.max_temp_directory_size(), 10 << 30);
    let text = "SELECT value, repeat('x', 200 + value % 2) AS t FROM generate_series(1, 200000) \
                ORDER BY t, value DESC";
    let mut answer = store.runtime.block_on(sql.run(text)).expect("sorted rows");
    let first = store.runtime.block_on(answer.next_batch()).expect("rows");
    assert!(first.is_some_and(|rows| rows.num_rows() > 0));
    assert!(disk.used_disk_space() > 0, "the sort spilled");
    let folders = std::fs::read_dir(&files).expect("the directory").count();
    assert_eq!(folders, 1);
    let file = directory.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let resources = Resources::of_store(&file);
    let cluster = Arc::clone(store.store.cluster());
    let error = SqlContext::with_resources(cluster, &resources).err().expect("no directory");
    assert!(error.message.contains("temporary files of SQL"), "{error}");
}
