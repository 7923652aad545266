//! System tables whose rows follow from what the tables are and from what was done with them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halite::Put;
use halite_engine::env::sim::SimEnv;
use halite_rowkey_tools::lint::TableRules;
use halite_sql::{SqlContext, SqlState};

use crate::store::{Rows, TestStore};

/// Runs a statement in a session with the rules of lint.
fn run(store: &TestStore, sql: &SqlContext, text: &str) -> Rows {
    store.runtime.block_on(async {
        let mut answer = sql.run(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
        Rows::of(&mut answer).await.unwrap_or_else(|error| panic!("{text}: {error}"))
    })
}

fn with_lint(store: &TestStore) -> SqlContext {
    SqlContext::new(Arc::clone(store.store.cluster())).with_lint(Arc::new(TableRules))
}

#[test]
fn w01_regions_show_their_bounds_and_requests() {
    let store = TestStore::new();
    store
        .run("CREATE TABLE testtable (v I64, ROW KEY (k STRING)) SPLIT AT ('1', '2', '3')")
        .expect("a table");
    for (first, count) in [("0", 21), ("1", 22), ("2", 31), ("3", 23)] {
        for at in 0..count {
            let text = format!("UPSERT INTO testtable (k, v) VALUES ('{first}{at:02}', {at})");
            store.run(&text).expect("a row");
        }
    }
    let shown = store.rows(
        "SELECT start_fields, end_fields, reads + writes, state, locality IS NULL \
         FROM halite.regions WHERE table_name = 'testtable' ORDER BY start_key",
    );
    let expected = [
        "NULL|k = 1|21|open|true",
        "k = 1|k = 2|22|open|true",
        "k = 2|k = 3|31|open|true",
        "k = 3|NULL|23|open|true",
    ];
    // Other clusters count what the session reads, and know servers and locality.
    if std::env::var("HALITE_SLT_CLUSTER").is_ok_and(|uri| !uri.is_empty()) {
        return assert_eq!(shown.len(), 4);
    }
    assert_eq!(shown, expected);
    let sum =
        "SELECT sum(writes), count(server) FROM halite.regions WHERE table_name = 'testtable'";
    assert_eq!(store.rows(sum), ["97|0"]);
    store.store.disable_table("testtable").expect("a table");
    let states = "SELECT DISTINCT state FROM halite.regions WHERE table_name = 'testtable'";
    let states = store.rows(states);
    assert!(states.is_empty() || states == ["disabled"], "{states:?}");
}

#[test]
fn lint_speaks_after_statements_that_declare_tables() {
    let store = TestStore::new();
    let sql = with_lint(&store);
    let growing = "CREATE TABLE log (line STRING, ROW KEY (ts TIMESTAMP, host STRING))";
    let notices = run(&store, &sql, growing).notices;
    let told = notices.iter().find(|notice| notice.contains("error[K-MONO]"));
    let told = told.unwrap_or_else(|| panic!("{notices:?}"));
    assert!(told.starts_with("lint of log: "), "{told}");
    assert!(told.contains("Instead: ROW KEY (SALT(16 BY host), host STRING, ts TIMESTAMP)"));
    let altered = run(&store, &sql, "ALTER TABLE log ADD COLUMN level I32").notices;
    assert!(altered.iter().any(|notice| notice.contains("K-MONO")), "{altered:?}");
    // Other sessions of the same program have the rules too.
    let other = sql.another();
    let rows = run(
        &store,
        &other,
        "SELECT rule, severity, fix FROM halite.lint WHERE table_name = 'log' AND rule = 'K-MONO'",
    );
    let fix = "ROW KEY (SALT(16 BY host), host STRING, ts TIMESTAMP)";
    assert_eq!(rows.rows, [["K-MONO", "error", fix]]);
    assert_eq!(rows.notices, [""; 0]);
    // Without rules there is nothing, and a notice says so.
    let none = store.run("SELECT count(*) FROM halite.lint").expect("a count");
    assert_eq!(none.rows, [["0"]]);
    assert!(none.notices[0].contains("has no rules of lint"), "{:?}", none.notices);
    let silent = store.run(&growing.replace("log", "quiet")).expect("a table");
    assert_eq!(silent.notices, [""; 0]);
}

#[test]
fn e22_lint_of_a_statement_names_the_key_that_serves_it() {
    let store = TestStore::new();
    let text = "CREATE TABLE messages (msg_id VARCHAR, receiver_id VARCHAR, content VARCHAR, \
                created_at TIMESTAMP, PRIMARY KEY (msg_id)) WITH (COLUMN_FAMILY='msg')";
    store.run(text).expect("a table");
    let lint = |query: &str| {
        let query = query.replace('\'', "''");
        store.rows(&format!(
            "SELECT table_name, rule, severity, fix FROM halite_lint('{query}') ORDER BY rule"
        ))
    };
    let query = "SELECT content FROM messages WHERE receiver_id = 'user_001' \
                 ORDER BY created_at DESC LIMIT 100";
    let key = "a table with ROW KEY (SALT(16 BY receiver_id), receiver_id STRING, \
               created_at TIMESTAMP DESC, msg_id STRING)";
    let found = lint(query);
    let line = |rule: &str| format!("messages|{rule}|warning|{key}");
    assert_eq!(found, [line("Q-FILTER"), line("Q-FULL"), line("Q-SORT")]);
    assert_eq!(lint("SELECT content FROM messages WHERE msg_id = 'm1'"), [""; 0]);
    let paged = lint("SELECT msg_id FROM messages WHERE msg_id > 'm' ORDER BY msg_id OFFSET 10");
    assert!(paged[0].starts_with("messages|Q-OFFSET|warning|"), "{paged:?}");
    // Nothing was read.
    assert_eq!(store.examined("messages"), 0);
    for (text, state) in [
        ("SELECT * FROM halite_lint('DELETE FROM messages')", SqlState::NotSupported),
        ("SELECT * FROM halite_lint('SELECT x FROM messages')", SqlState::UndefinedColumn),
        ("SELECT * FROM halite_lint('SELECT 1', 2)", SqlState::InvalidParameter),
    ] {
        assert_eq!(store.run(text).expect_err(text).state, state, "{text}");
    }
}

#[test]
fn hot_keys_are_those_that_are_read_most() {
    let sim = SimEnv::new(1);
    let (store, engine) = TestStore::simulated(&sim);
    let engine = engine.engine();
    // The session looks at the minutes before its own present.
    let present = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_millis();
    let begin = u64::try_from(present).expect("a time") - 25_000;
    while let Some(behind) = begin.checked_sub(engine.now_ms()) {
        sim.clock.advance_ms(u32::try_from(behind.clamp(1, 1 << 31)).expect("a step"));
    }
    let tick = || {
        sim.clock.advance_ms(10_000);
        engine.record_heat();
    };
    store.run("CREATE TABLE t (v I64, ROW KEY (a STRING, b I32))").expect("a table");
    store.run("CREATE TABLE bare (v I64, ROW KEY (k BYTES))").expect("a table");
    tick();
    // A simulation has no thread for the log of tasks: rows are written by calls that block.
    let (table, family) = (store.store.table("t").expect("a table"), store.family("t"));
    let put = |key: &[u8]| {
        let put = Put::new(key.to_vec()).add(family.clone(), "v", 1_i64.to_be_bytes());
        table.put(put).expect("a row");
    };
    for at in 0..40_u8 {
        put(&[&b"x\x00\x01\x80\x00\x00"[..], &[at]].concat());
        put(b"hot\x00\x01\x80\x00\x00\x07");
    }
    tick();
    let rows = "SELECT rank, fields, count >= 40, count - error <= 40 FROM halite.hot_keys \
                WHERE table_name = 't' AND window = '1m' ORDER BY rank LIMIT 1";
    assert_eq!(store.rows(rows), ["1|a = hot, b = 7|true|true"]);
    let windows = "SELECT DISTINCT window FROM halite.hot_keys ORDER BY window";
    assert_eq!(store.rows(windows), ["10m", "1m", "5m"]);
    let counted = store.run("SELECT count(*) FROM halite.hot_keys").expect("a count");
    assert_eq!(counted.notices, [""; 0]);
}

#[test]
fn statements_are_the_queries_by_another_name() {
    let store = TestStore::new();
    store.run("SELECT 1 + 41").expect("a row");
    let of = |table: &str| {
        store.rows(&format!("SELECT state, query FROM halite.{table} WHERE query = 'SELECT ? + ?'"))
    };
    assert_eq!(of("statements"), ["done|SELECT ? + ?"]);
    assert_eq!(of("queries"), of("statements"));
}
