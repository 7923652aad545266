//! Temporary tables and views: who sees them, and what they may hold.

use halite_sql::datafusion::common::ScalarValue;
use halite_sql::{Resources, SqlContext, SqlState};

use crate::store::{Rows, TestStore};

#[test]
fn tables_and_views_of_a_session_are_seen_by_no_other() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    store.run("CREATE VIEW seen AS SELECT k FROM t").expect("a view");
    store.run("CREATE TEMP TABLE kept AS SELECT 1 AS a").expect("a table");
    let other = store.sql.another();
    store.runtime.block_on(async {
        for name in ["seen", "kept", "pg_temp.kept"] {
            let error = other.run(&format!("SELECT * FROM {name}")).await.err().expect("an error");
            assert_eq!(error.state, SqlState::UndefinedTable, "{name}: {error}");
        }
        other.run("CREATE VIEW seen AS SELECT 2 AS b").await.expect("a view");
    });
    assert_eq!(store.rows("SELECT * FROM kept"), ["1"]);
    let names: Vec<String> =
        store.sql.session_tables().iter().map(|table| table.name.to_string()).collect();
    assert_eq!(names, ["pg_temp:kept", "pg_temp:seen"]);
    store.sql.discard_tables(true);
    assert!(store.sql.session_tables().is_empty());
    assert_eq!(other.session_tables().len(), 1);
}

#[test]
fn prepared_statements_see_tables_that_take_the_place_of_others() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    store.run("UPSERT INTO t VALUES ('a', 1)").expect("a row");
    let text = "SELECT v FROM t WHERE k = $1";
    let run = |sql: &SqlContext| {
        store.runtime.block_on(async {
            let prepared = sql.prepare(text).await.expect("a statement");
            let values = [ScalarValue::from("a")];
            let mut answer = sql.run_prepared(&prepared, &values).await.expect("an answer");
            Rows::of(&mut answer).await.expect("rows").rows
        })
    };
    assert_eq!(run(&store.sql), [["1"]]);
    store.run("CREATE TEMP TABLE t (k STRING, v I64)").expect("a table");
    store.run("INSERT INTO t VALUES ('a', 2)").expect("a row");
    assert_eq!(run(&store.sql), [["2"]]);
    store.run("DROP TABLE t").expect("a table");
    assert_eq!(run(&store.sql), [["1"]]);
    // Parameters of a temporary table's rows.
    store.run("CREATE TEMP TABLE n (a I64)").expect("a table");
    store.runtime.block_on(async {
        let insert = store.sql.prepare("INSERT INTO n SELECT $1::bigint").await.expect("prepared");
        for number in [5i64, 6] {
            let values = [ScalarValue::from(number)];
            let answer = store.sql.run_prepared(&insert, &values).await.expect("a row");
            assert_eq!(answer.tag(), Some("INSERT 0 1"));
        }
    });
    assert_eq!(store.rows("SELECT sum(a) FROM n"), ["11"]);
}

#[test]
fn temporary_tables_end_where_the_memory_does() {
    let store = TestStore::new();
    let resources = Resources { memory_bytes: 4 << 20, ..Resources::default() };
    let cluster = std::sync::Arc::clone(store.store.cluster());
    let sql = SqlContext::with_resources(cluster, &resources).expect("a session");
    let run = |text: &str| {
        store.runtime.block_on(async {
            let mut answer = sql.run(text).await?;
            Rows::of(&mut answer).await
        })
    };
    let rows = |count: u32| {
        format!("SELECT n, repeat('x', 100) AS t FROM generate_series(1, {count}) AS s (n)")
    };
    let error = run(&format!("CREATE TEMP TABLE big AS {}", rows(100_000))).expect_err("too big");
    assert_eq!(error.state, SqlState::OutOfMemory, "{error}");
    assert!(sql.session_tables().is_empty());
    // What was held is free again.
    run(&format!("CREATE TEMP TABLE small AS {}", rows(15_000))).expect("a table");
    let error = run(&format!("INSERT INTO small {}", rows(100_000))).expect_err("too big");
    assert_eq!(error.state, SqlState::OutOfMemory, "{error}");
    assert_eq!(run("SELECT count(*) FROM small").expect("a count").rows, [["15000"]]);
    run("DROP TABLE small").expect("a table");
    run(&format!("CREATE TEMP TABLE again AS {}", rows(15_000))).expect("a table");
}

/// A value of a query may be much smaller than that of the table.
#[test]
fn rows_are_counted_as_the_table_has_them() {
    let store = TestStore::new();
    let resources = Resources { memory_bytes: 4 << 20, ..Resources::default() };
    let cluster = std::sync::Arc::clone(store.store.cluster());
    let sql = SqlContext::with_resources(cluster, &resources).expect("a session");
    let run = |text: &str| {
        store.runtime.block_on(async {
            let mut answer = sql.run(text).await?;
            Rows::of(&mut answer).await
        })
    };
    run("CREATE TEMP TABLE t (a BIGINT)").expect("a table");
    let text = "INSERT INTO t SELECT n > 0 FROM generate_series(1, 10000000) AS s (n)";
    let error = run(text).expect_err("too big");
    assert_eq!(error.state, SqlState::OutOfMemory, "{error}");
    assert_eq!(run("SELECT count(*) FROM t").expect("a count").rows, [["0"]]);
    let text = "INSERT INTO t SELECT n > 5 FROM generate_series(1, 10) AS s (n)";
    assert_eq!(run(text).expect("rows").tag.as_deref(), Some("INSERT 0 10"));
    assert_eq!(run("SELECT sum(a) FROM t").expect("a sum").rows, [["5"]]);
    run("DROP TABLE t").expect("a table");
    // Views are kept too.
    let view = |name: &str| {
        format!("CREATE VIEW {name} AS SELECT 1 AS a WHERE 1 IN (1{})", ", 1".repeat(2500))
    };
    run(&view("first")).expect("a view");
    let error = run(&view("second")).expect_err("too big");
    assert_eq!(error.state, SqlState::OutOfMemory, "{error}");
    run("DROP VIEW first").expect("a view");
    run(&view("second")).expect("a view");
    assert_eq!(run("SELECT a FROM second").expect("a row").rows, [["1"]]);
}

#[test]
fn views_have_the_limits_of_a_text() {
    let store = TestStore::new();
    let exceeded = |text: &str, part: &str| {
        let error = store.run(text).expect_err("over a limit");
        assert_eq!(error.state, SqlState::LimitExceeded, "{error}");
        assert!(error.message.contains(part), "{part}: {error}");
    };
    let numbers = ", 1".repeat(5000);
    store.run(&format!("CREATE VIEW wide AS SELECT 1 AS a WHERE 1 IN (1{numbers})")).expect("view");
    let from = |count: usize| {
        let from: Vec<String> = (0..count).map(|at| format!("wide AS w{at}")).collect();
        format!("SELECT count(*) FROM {}", from.join(", "))
    };
    assert_eq!(store.rows(&from(3)), ["1"]);
    exceeded(&from(12), "words and signs");
    // Parentheses of the view are in those of the statement.
    let (open, close) = ("(".repeat(80), ")".repeat(80));
    store.run(&format!("CREATE VIEW deep AS SELECT {open}1{close} AS a")).expect("a view");
    assert_eq!(store.rows("SELECT a FROM deep"), ["1"]);
    let within = |depth: usize| {
        let from = |inner: String, _| format!("SELECT a FROM ({inner}) AS t");
        (0..depth).fold("SELECT a FROM deep".to_owned(), from)
    };
    assert_eq!(store.rows(&within(20)), ["1"]);
    exceeded(&within(60), "nested");
    store.run("CREATE VIEW v0 AS SELECT 1 AS a").expect("a view");
    for at in 1..=32 {
        let text = format!("CREATE VIEW v{at} AS SELECT a FROM v{}", at - 1);
        store.run(&text).expect("a view");
    }
    assert_eq!(store.rows("SELECT a FROM v31"), ["1"]);
    exceeded("SELECT a FROM v32", "32 views");
    exceeded("CREATE VIEW v33 AS SELECT a FROM v32", "32 views");
}

#[test]
fn rows_that_are_kept_are_read_as_the_settings_say() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    store.run("UPSERT INTO t VALUES ('a', 1), ('b', 2)").expect("rows");
    store.run("CREATE TEMP TABLE kept (v I64)").expect("a table");
    let paged = store.run("INSERT INTO kept SELECT v FROM t ORDER BY k LIMIT 1 OFFSET 1");
    let notices = paged.expect("a row").notices;
    assert!(notices.iter().any(|notice| notice.contains("Q-OFFSET")), "{notices:?}");
    store.run("SET halite.full_scan = 'refuse'").expect("a setting");
    for text in [
        "CREATE TEMP TABLE other AS SELECT v FROM t",
        "INSERT INTO kept SELECT v FROM t",
        "CREATE TABLE other (v I64, ROW KEY (k STRING)) AS SELECT k, v FROM t",
    ] {
        let error = store.run(text).expect_err(text);
        assert_eq!(error.state, SqlState::LimitExceeded, "{text}: {error}");
        assert!(error.message.contains("Q-FULL"), "{text}: {error}");
    }
    store.run("INSERT INTO kept SELECT v FROM t WHERE k = 'a'").expect("a row");
    assert_eq!(store.rows("SELECT v FROM kept ORDER BY v"), ["1", "2"]);
    let error = store.run("SELECT * FROM other").expect_err("no table");
    assert_eq!(error.state, SqlState::UndefinedTable, "{error}");
}

#[test]
fn wrong_rows_of_a_new_table_leave_none() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    store.run("UPSERT INTO t VALUES ('a', 1)").expect("a row");
    for (declared, query, state) in [
        ("v DATE, ROW KEY (k STRING)", "SELECT k, v FROM t", SqlState::WrongType),
        ("v I64, ROW KEY (k STRING, m STRING)", "SELECT k, v FROM t", SqlState::NotNull),
        ("v I64, w I64 NOT NULL, ROW KEY (k STRING)", "SELECT k, v FROM t", SqlState::NotNull),
        ("ROW KEY (k STRING)", "SELECT k FROM t", SqlState::NotSupported),
    ] {
        let text = format!("CREATE TABLE bad ({declared}) AS {query}");
        let error = store.run(&text).expect_err(&text);
        assert_eq!(error.state, state, "{text}: {error}");
        let error = store.run("SELECT * FROM bad").expect_err("no table");
        assert_eq!(error.state, SqlState::UndefinedTable, "{text}: {error}");
    }
    let text = "CREATE TABLE bad (n I64, ROW KEY (k STRING)) AS \
                SELECT 'a' AS k, count(*) AS n FROM halite_ranges('SELECT * FROM t')";
    assert!(store.run(text).is_err());
    let error = store.run("SELECT * FROM bad").expect_err("no table");
    assert_eq!(error.state, SqlState::UndefinedTable, "{error}");
    // What is not given and need not be, is none of it.
    let text = "CREATE TABLE good (v I64, w I64 NOT NULL DEFAULT 3, ROW KEY (k STRING)) AS \
                SELECT k, v FROM t";
    store.run(text).expect("a table");
    assert_eq!(store.rows("SELECT k, v, w FROM good"), ["a|1|3"]);
}

#[test]
fn schemas_of_the_dialect_are_no_namespaces() {
    let store = TestStore::new();
    for name in ["pg_temp", "PG_CATALOG", "information_schema", "halite", "public"] {
        let error = store.run(&format!("CREATE SCHEMA {name}")).expect_err(name);
        assert_eq!(error.state, SqlState::DuplicateSchema, "{name}: {error}");
    }
    // One that another program created.
    store.store.create_namespace("pg_temp", halite::Attributes::new()).expect("a namespace");
    store.run("CREATE TABLE pg_temp.x (v I64, ROW KEY (k STRING))").expect("a table");
    for text in [
        "SELECT * FROM pg_temp.x",
        "UPSERT INTO pg_temp.x VALUES ('a', 1)",
        "DELETE FROM pg_temp.x WHERE k = 'a'",
        "DROP TABLE pg_temp.x",
    ] {
        let error = store.run(text).expect_err(text);
        assert_eq!(error.state, SqlState::UndefinedTable, "{text}: {error}");
    }
}

#[test]
fn failed_rows_of_a_new_table_are_told() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    store.run("UPSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 0)").expect("rows");
    let error = store
        .run("CREATE TABLE u (w I64, ROW KEY (k STRING)) AS SELECT k, 10 / v AS w FROM t")
        .expect_err("a division by zero");
    assert_eq!(error.state, SqlState::DivisionByZero, "{error}");
    assert!(error.message.contains("table u was created and stays"), "{error}");
    let made = store
        .run("CREATE TABLE w (w I64, ROW KEY (k STRING)) AS SELECT k, 10 / v AS w FROM t WHERE v > 0")
        .expect("a table");
    assert_eq!(made.tag.as_deref(), Some("SELECT 2"));
    assert_eq!(store.rows("SELECT k, w FROM w"), ["a|10", "b|5"]);
}
