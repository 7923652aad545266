//! EXPLAIN: what a statement did (`ANALYZE`), and its JSON, which is compared with the files of
//! `tests/explain`. `HALITE_UPDATE_GOLDEN` rewrites them.

use std::path::{Path, PathBuf};

use halite_sql::datafusion::common::ScalarValue;
use halite_sql::{Access, SqlContext, SqlState};
use serde_json::Value;

use crate::store::TestStore;

fn store() -> TestStore {
    let store = TestStore::new();
    for text in [
        "CREATE TABLE t (v I64 NOT NULL, w STRING, n I64 COUNTER, ROW KEY (k STRING, at I64)) \
         SPLIT AT ('m')",
        "CREATE TABLE u (note STRING, ROW KEY (id STRING))",
        "CREATE TABLE c (n I64 COUNTER, ROW KEY (id STRING))",
        "UPSERT INTO t (k, at, v, w) VALUES ('a', 1, 1, 'x'), ('a', 2, 2, 'y'), ('a', 3, 3, 'x'), \
         ('z', 1, 4, 'y')",
        "UPSERT INTO u (id, note) VALUES ('a', 'first'), ('z', 'last')",
    ] {
        store.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    store
}

fn explained(store: &TestStore, text: &str) -> String {
    store.rows(text).join("\n")
}

/// Returns the line that begins with a label.
fn line<'t>(text: &'t str, label: &str) -> &'t str {
    let found = text.lines().map(str::trim_start).find(|line| line.starts_with(label));
    found.unwrap_or_else(|| panic!("no {label} in\n{text}"))
}

fn json(store: &TestStore, text: &str) -> Value {
    let rows = store.rows(text);
    assert_eq!(rows.len(), 1, "{text}");
    serde_json::from_str(&rows[0]).unwrap_or_else(|error| panic!("{text}: {error}\n{}", rows[0]))
}

#[test]
fn writes_are_run_and_their_operations_counted() {
    let store = store();
    let cases = [
        (
            "UPSERT INTO t (k, at, v, w) VALUES ('b', 1, 1, NULL), ('b', 2, 2, 'x')",
            "2 rows: 2 puts, 1 deletes, 0 increments; 0 conditions failed; 0 rows examined; 1 batches",
            "INSERT 0 2, ",
        ),
        (
            "INSERT INTO t (k, at, v) VALUES ('b', 2, 9), ('b', 3, 3) ON CONFLICT DO NOTHING",
            "1 rows: 1 puts, 0 deletes, 0 increments; 1 conditions failed; 0 rows examined; 1 batches",
            "INSERT 0 1, ",
        ),
        (
            "INSERT INTO t (k, at, v) VALUES ('b', 3, 9) ON CONFLICT (k, at) DO UPDATE SET v = t.v + 1",
            "1 rows: 1 puts, 0 deletes, 0 increments; 1 conditions failed; 0 rows examined, 1 read; \
             2 batches",
            "INSERT 0 1, ",
        ),
        (
            "INSERT INTO c (id, n) VALUES ('x', 2) ON CONFLICT (id) DO UPDATE SET n = c.n + excluded.n",
            "1 rows: 1 puts, 0 deletes, 1 increments; 0 conditions failed; 0 rows examined; 1 batches",
            "INSERT 0 1, ",
        ),
        (
            "UPDATE t SET n = n + 1 WHERE k = 'b' AND at = 3",
            "1 rows: 0 puts, 0 deletes, 1 increments; 0 conditions failed; 0 rows examined; 1 batches",
            "UPDATE 1, ",
        ),
        (
            "UPDATE t SET w = 'q' WHERE k = 'a' AND v + at > 2",
            "2 rows: 2 puts, 0 deletes, 0 increments; 0 conditions failed; 3 rows examined; 1 batches",
            "UPDATE 2, ",
        ),
        (
            "UPDATE t SET w = 'q' WHERE k = 'a' AND at = 1 AND w = 'other'",
            "0 rows: 0 puts, 0 deletes, 0 increments; 1 conditions failed; 0 rows examined; 1 batches",
            "UPDATE 0, ",
        ),
        (
            "INSERT INTO u SELECT k || at::text, w FROM t WHERE k = 'a' ORDER BY at LIMIT 2",
            "2 rows: 2 puts, 0 deletes, 0 increments; 0 conditions failed; 2 rows examined; 1 batches",
            "INSERT 0 2, ",
        ),
        (
            "DELETE FROM t WHERE k = 'b' AND at < 3",
            "2 rows: 0 puts, 2 deletes, 0 increments; 0 conditions failed; 2 rows examined; 1 batches",
            "DELETE 2, ",
        ),
        (
            "MOVE ROW IN t (k = 'b', at = 3) TO (k = 'c', at = 3)",
            "1 rows: 1 puts, 1 deletes, 0 increments; 0 conditions failed; 0 rows examined; 0 batches",
            "MOVE ROW 1, ",
        ),
    ];
    for (text, wrote, tag) in cases {
        let plan = explained(&store, &format!("EXPLAIN ANALYZE {text}"));
        assert_eq!(line(&plan, "wrote"), format!("wrote    {wrote}"), "{text}\n{plan}");
        assert!(plan.lines().last().is_some_and(|last| last.starts_with(tag)), "{text}\n{plan}");
        assert!(line(&plan, "atomic").len() > 9);
    }
    assert_eq!(
        store.rows("SELECT k, at, v, w, n FROM t ORDER BY k, at"),
        ["a|1|1|x|0", "a|2|2|q|0", "a|3|3|q|0", "c|3|4|NULL|1", "z|1|4|y|0",]
    );
    assert_eq!(store.rows("SELECT id FROM u ORDER BY id"), ["a", "a1", "a2", "z"]);
}

#[test]
fn queries_of_writes_are_shown_with_what_they_read() {
    let store = store();
    let plan =
        explained(&store, "EXPLAIN ANALYZE UPDATE t SET w = 'q' WHERE k = 'a' AND v + at > 2");
    assert!(line(&plan, "ran ").contains("3 rows examined, 3 received, 3 kept"), "{plan}");
    assert!(line(&plan, "FilterExec").contains(", rows 2"), "{plan}");
    // Whole keys are not read.
    let plan = explained(&store, "EXPLAIN ANALYZE DELETE FROM t WHERE k = 'a' AND at = 1");
    assert!(!plan.contains("  ran "), "{plan}");
    assert!(line(&plan, "rows").contains("1 whole key(s), which are not read"), "{plan}");
}

#[test]
fn analyzed_writes_are_writes_for_roles_blocks_and_guards() {
    let store = store();
    let delete = "EXPLAIN (ANALYZE, FORMAT json) DELETE FROM t WHERE k = 'a'";
    let run = |sql: &SqlContext, text: &str| store.runtime.block_on(sql.run(text)).map(drop);
    let reader = store.sql.another().with_access(Access::Read);
    assert!(run(&reader, "EXPLAIN DELETE FROM t WHERE k = 'a'").is_ok());
    let refused = |sql: &SqlContext, text: &str| run(sql, text).expect_err(text).state;
    assert_eq!(refused(&reader, delete), SqlState::NotPermitted);
    let writer = store.sql.another().with_access(Access::Write);
    run(&writer, "BEGIN").expect("a block");
    assert_eq!(refused(&writer, delete), SqlState::NotSupported);
    run(&writer, "COMMIT").expect("its end");
    writer.set_read_only(true);
    assert_eq!(refused(&writer, delete).code(), "25006");
    writer.set_read_only(false);
    run(&writer, "SET halite.max_rows_written = 2").expect("a setting");
    assert_eq!(refused(&writer, delete), SqlState::LimitExceeded);
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["4"]);
    run(&writer, "SET halite.max_rows_written = 0").expect("a setting");
    run(&writer, delete).expect("deleted");
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["1"]);
    let last = "SELECT rows_written FROM halite.queries WHERE query LIKE 'EXPLAIN (ANALYZE, FORMAT \
                json) DELETE%' AND state = 'done'";
    assert_eq!(store.rows(last), ["3"]);
    // The row that is there ends the statement, as without EXPLAIN.
    let insert = "EXPLAIN ANALYZE INSERT INTO t (k, at, v) VALUES ('z', 1, 1)";
    assert_eq!(store.run(insert).expect_err("it is there").state, SqlState::RowExists);
    // Parameters are those of the statement.
    let text = "EXPLAIN ANALYZE UPDATE t SET w = $1 WHERE k = $2 AND at = $3";
    let values = [ScalarValue::from("new"), ScalarValue::from("z"), ScalarValue::from(1i64)];
    store.runtime.block_on(async {
        let prepared = store.sql.prepare(text).await.expect("a statement");
        store.sql.run_prepared(&prepared, &values).await.expect("updated");
    });
    assert_eq!(store.rows("SELECT w FROM t WHERE k = 'z'"), ["new"]);
}

#[test]
fn reads_tell_bytes_blocks_calls_and_where_a_limit_ended_them() {
    let store = store();
    let ran = |text: &str| json(&store, &format!("EXPLAIN (ANALYZE, FORMAT json) {text}"));
    let scan = |plan: &Value| -> Value {
        let mut node = &plan["plan"];
        while node["step"] != "scan" {
            node = &node["inputs"][0];
        }
        node["scan"]["ran"].clone()
    };
    let whole = scan(&ran("SELECT v, w FROM t WHERE k = 'a'"));
    assert_eq!(whole["rows_examined"], 3, "{whole}");
    assert_eq!(whole["stopped_early"], false, "{whole}");
    let bytes = whole["bytes"].as_u64().expect("bytes");
    // Six cells of some 40 bytes.
    assert!((100..1000).contains(&bytes), "{whole}");
    assert!(whole["first_row_ms"].as_f64() <= whole["all_ms"].as_f64(), "{whole}");
    let first = scan(&ran("SELECT v, w FROM t WHERE k = 'a' LIMIT 1"));
    assert_eq!(
        (&first["rows_kept"], &first["stopped_early"]),
        (&Value::from(1), &Value::from(true)),
        "{first}"
    );
    assert!(first["bytes"].as_u64().is_some_and(|less| less < bytes), "{first}");
    // Rows that regions leave out are examined, and not received.
    let none = scan(&ran("SELECT v FROM t WHERE k = 'a' AND v = 77"));
    assert_eq!(
        (&none["rows_examined"], &none["bytes"]),
        (&Value::from(3), &Value::from(0)),
        "{none}"
    );
    assert!(none.get("first_row_ms").is_none(), "{none}");
    if std::env::var_os("HALITE_SLT_CLUSTER").is_some() {
        assert!(whole["calls"].as_u64().is_some_and(|calls| calls > 0), "{whole}");
        return;
    }
    // A store in this process is not called; it tells its blocks.
    assert!(whole.get("calls").is_none(), "{whole}");
    store.store.flush("t").expect("a file");
    let read = scan(&ran("SELECT v, w FROM t WHERE k = 'a'"));
    let blocks = |of: &Value| of["blocks_read"].as_u64().zip(of["blocks_cached"].as_u64());
    let (from_disk, cached) = blocks(&read).expect("blocks");
    assert!(from_disk + cached > 0, "{read}");
    let again = blocks(&scan(&ran("SELECT v, w FROM t WHERE k = 'a'"))).expect("blocks");
    assert!(again.0 == 0 && again.1 > 0, "{again:?}");
    let text = explained(&store, "EXPLAIN ANALYZE SELECT v, w FROM t WHERE k = 'a'");
    assert!(line(&text, "ran ").contains(" blocks, "), "{text}");
    // The side of a join that nothing asks for is not read.
    let text = explained(
        &store,
        "EXPLAIN ANALYZE SELECT t.v FROM u JOIN t ON t.k = u.id WHERE u.id = 'none'",
    );
    assert!(text.contains("ran      not read"), "{text}");
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain").join(format!("{name}.json"))
}

/// Returns JSON without what differs between runs and clusters.
fn without_times(text: &str) -> String {
    let kept = text.lines().filter(|line| {
        let name = line.trim_start();
        !["\"calls\"", "\"blocks_read\"", "\"blocks_cached\""]
            .iter()
            .any(|other| name.starts_with(other))
    });
    let masked = kept.map(|line| match line.split_once("ms\": ") {
        Some((name, value)) => {
            let end = if value.ends_with(',') { "," } else { "" };
            format!("{name}ms\": 0{end}\n")
        }
        None => format!("{line}\n"),
    });
    masked.collect()
}

#[test]
fn json_is_that_of_the_files() {
    let store = store();
    let cases = [
        ("range", "EXPLAIN (FORMAT json) SELECT v FROM t WHERE k = 'a' ORDER BY at DESC LIMIT 2"),
        ("filter", "EXPLAIN (FORMAT json) SELECT k, v FROM t WHERE w = 'x' AND v + at > 2"),
        (
            "join",
            "EXPLAIN (FORMAT json) SELECT u.note, count(*) FROM u JOIN t ON t.k = u.id GROUP BY u.note",
        ),
        ("count", "EXPLAIN (FORMAT json) SELECT count(*) FROM t"),
        ("analyzed", "EXPLAIN (FORMAT json, ANALYZE) SELECT v FROM t WHERE k = 'a' AND at > 1"),
        ("nothing", "EXPLAIN (FORMAT json) SELECT v FROM t WHERE k = 'a' AND k = 'b'"),
        ("upsert", "EXPLAIN (FORMAT json) UPSERT INTO t (k, at, v) VALUES ('b', 1, 1)"),
        (
            "update",
            "EXPLAIN (FORMAT json) UPDATE t SET w = 'y' WHERE k = 'a' AND at = 1 AND w = 'x'",
        ),
        ("deleted", "EXPLAIN (FORMAT json, ANALYZE) DELETE FROM t WHERE k = 'a' AND at < 3"),
        ("moved", "EXPLAIN (FORMAT json) MOVE ROW IN t (k = 'z', at = 1) TO (k = 'y', at = 1)"),
    ];
    let mut differing = Vec::new();
    for (name, text) in cases {
        let rows = store.rows(text);
        assert_eq!(rows.len(), 1, "{text}");
        let parsed: Value = serde_json::from_str(&rows[0]).expect(text);
        assert_eq!(parsed["version"], 1, "{text}");
        let found = without_times(&rows[0]);
        if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
            std::fs::write(golden(name), &found).expect("a file");
        } else if std::fs::read_to_string(golden(name)).ok().as_deref() != Some(&found) {
            differing.push(format!("{name}: {found}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    // VERBOSE adds DataFusion's plans.
    let verbose = json(&store, "EXPLAIN (FORMAT json, VERBOSE) SELECT v FROM t");
    assert!(
        verbose["datafusion"]["physical"].as_str().is_some_and(|plan| plan.contains("ScanExec"))
    );
}

#[test]
fn progress_tells_rows_and_regions_while_the_answer_is_read() {
    let store = store();
    let progress = |text: &str| {
        store.runtime.block_on(async {
            let mut answer = store.sql.run(text).await.expect(text);
            answer.batches().await.expect(text);
            store.sql.progress().expect("it is still there")
        })
    };
    for direct in ["on", "off"] {
        store.sql.change(|settings| settings.set("halite.direct", direct)).expect("a setting");
        for text in ["SELECT sum(v + at) FROM t", "SELECT count(*) FROM t"] {
            let found = progress(text);
            assert_eq!((found.rows_examined, found.regions), (4, Some((2, 2))), "{text}");
        }
        let found = progress("SELECT sum(v) FROM t WHERE k = 'a'");
        assert_eq!((found.rows_examined, found.regions), (3, Some((1, 1))));
        // A statement that bypasses DataFusion does not look for the regions.
        let found = progress("SELECT v FROM t");
        let regions = if direct == "on" { None } else { Some((2, 2)) };
        assert_eq!((found.rows_examined, found.regions), (4, regions));
        // A limit ends it anywhere.
        assert_eq!(progress("SELECT v FROM t LIMIT 1").regions, None);
    }
    assert_eq!(progress("UPSERT INTO u (id) VALUES ('c'), ('d')").rows_written, 2);
    assert_eq!(store.sql.progress(), None);
}
