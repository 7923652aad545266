//! Rows that are read, and notices about keys and cells that do not fit their declaration.

use halite::Put;
use halite_sql::SqlState;

use crate::store::TestStore;

/// Messages of ten users, a hundred of each, with a text of their time.
fn messages() -> TestStore {
    let store = TestStore::new();
    store
        .run(
            "CREATE TABLE messages (content STRING, likes I32, \
             ROW KEY (SALT(4 BY receiver), receiver STRING, created_at TIMESTAMP DESC, \
             sender STRING)) SPLIT BY SALT",
        )
        .expect("a table");
    for user in 0..10 {
        let rows: Vec<String> = (0..100)
            .map(|at| {
                let time = 1_700_000_000_000i64 + at * 1000;
                format!("('user_{user}', '{time}', 's{}', 'm{at}', {})", at % 7, at % 10 - 5)
            })
            .collect();
        let text = format!(
            "LOAD INTO messages (receiver, created_at, sender, content, likes) VALUES {}",
            rows.join(", ")
        );
        store.run(&text).expect("rows");
    }
    store
}

/// Returns the rows of a query, and the rows that it examined.
fn counted(store: &TestStore, sql: &str) -> (Vec<String>, u64) {
    let before = store.examined("messages");
    let rows = store.rows(sql);
    (rows, store.examined("messages") - before)
}

#[test]
fn newest_messages_of_a_user_are_one_range_of_as_many_rows() {
    let store = messages();
    let sql = "SELECT content FROM messages WHERE receiver = 'user_3' ORDER BY created_at DESC \
               LIMIT 10";
    let (rows, examined) = counted(&store, sql);
    assert_eq!(rows[..2], ["m99", "m98"]);
    assert_eq!((rows.len(), examined), (10, 10));
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(plan.contains("ranges   1\n") && !plan.contains("Sort"), "{plan}");
    // The other end of the range, by a scan in reverse.
    let (rows, examined) = counted(&store, &sql.replace("DESC", "ASC"));
    assert_eq!(rows[..2], ["m0", "m1"]);
    assert_eq!((rows.len(), examined), (10, 10));
}

#[test]
fn whole_keys_are_gets() {
    let store = messages();
    let sql = "SELECT content FROM messages WHERE receiver = 'user_3' AND created_at = \
               '2023-11-14T22:13:25Z' AND sender = 's5'";
    let (rows, examined) = counted(&store, sql);
    assert_eq!((rows, examined), (vec!["m5".to_owned()], 1));
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(plan.contains("gets     1"), "{plan}");
}

#[test]
fn conditions_on_cells_are_checked_by_the_regions() {
    let store = messages();
    let sql = "SELECT receiver, likes FROM messages WHERE likes < -3 AND receiver = 'user_7'";
    let (rows, examined) = counted(&store, sql);
    assert_eq!((rows.len(), examined), (20, 100));
    let plan = store.rows(&format!("EXPLAIN ANALYZE {sql}")).join("\n");
    assert!(plan.contains("100 rows examined, 20 received, 20 kept"), "{plan}");
    assert!(plan.contains("again    nothing"), "{plan}");
}

#[test]
fn condition_behind_the_key_reads_the_whole_table_and_says_so() {
    let store = messages();
    let sql = "SELECT content FROM messages WHERE sender = 's3'";
    let (rows, examined) = counted(&store, sql);
    assert_eq!((rows.len(), examined), (140, 1000));
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(plan.contains("Q-FULL"), "{plan}");
    store.run("SET halite.full_scan = 'refuse'").expect("a setting");
    let error = store.run(sql).expect_err("a full scan");
    assert!(error.message.contains("receiver"), "{error}");
    store.run("SELECT content FROM messages WHERE receiver = 'user_1'").expect("one range");
}

#[test]
fn guard_ends_a_statement_by_the_rows_it_examined() {
    let store = messages();
    store.run("SET halite.max_rows_examined = 500").expect("a setting");
    assert_eq!(store.rows("SELECT count(*) FROM messages WHERE receiver = 'user_1'"), ["100"]);
    let error = store.run("SELECT count(*) FROM messages").expect_err("over the guard");
    assert_eq!(error.state, SqlState::LimitExceeded);
    store.run("RESET halite.max_rows_examined").expect("a setting");
    assert_eq!(store.rows("SELECT count(*) FROM messages"), ["1000"]);
}

#[test]
fn rows_with_other_keys_are_left_out_and_counted() {
    let store = messages();
    let family = store.family("messages");
    let table = store.store.table("messages").expect("a table");
    for at in 0..20 {
        let key = [&[0u8][..], format!("!{at}").as_bytes()].concat();
        table.put(Put::new(key).add(family.clone(), "x", "y")).expect("a put");
    }
    let answer = store.run("SELECT count(*) FROM messages").expect("a count");
    assert_eq!(answer.rows, [["1000"]]);
    assert!(answer.notices[0].contains("20 row(s) of table messages"), "{:?}", answer.notices);
    // Rows that are left out do not use up a limit.
    assert_eq!(store.rows("SELECT receiver FROM messages LIMIT 900").len(), 900);
    let ordered = "SELECT receiver FROM messages ORDER BY receiver, created_at DESC LIMIT 7";
    assert_eq!(store.rows(ordered), ["user_0"; 7]);
    store.run("SET halite.unreadable_keys = 'null'").expect("a setting");
    assert_eq!(store.rows("SELECT count(*) FROM messages WHERE receiver IS NULL"), ["20"]);
    assert_eq!(store.rows("SELECT count(*) FROM messages"), ["1020"]);
    store.run("SET halite.unreadable_keys = 'fail'").expect("a setting");
    assert!(store.run("SELECT count(*) FROM messages").is_err());
}

#[test]
fn cells_of_other_types_fail_or_are_null() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I32, w STRING, ROW KEY (k STRING))").expect("a table");
    store.run("LOAD INTO t (k, v, w) VALUES ('a', 1, 'x'), ('b', 2, 'y')").expect("rows");
    let table = store.store.table("t").expect("a table");
    table.put(Put::new("b").add(store.family("t"), "v", "12345")).expect("a put");
    let error = store.run("SELECT k, v FROM t").expect_err("a bad cell");
    assert_eq!(error.state, SqlState::InvalidValue);
    for part in ["table t", "row b", ":v", "I32 has 4 bytes", "12345"] {
        assert!(error.message.contains(part), "{part}: {error}");
    }
    // A column that is not read cannot fail.
    assert_eq!(store.rows("SELECT k, w FROM t"), ["a|x", "b|y"]);
    store.run("SET halite.bad_cells = 'null'").expect("a setting");
    let answer = store.run("SELECT k, v FROM t").expect("rows");
    assert_eq!(answer.rows, [["a", "1"], ["b", "NULL"]]);
    assert!(answer.notices[0].contains("1 cell(s)"), "{:?}", answer.notices);
}

#[test]
fn rows_with_cells_of_other_types_are_changed_where_these_are_null() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I32, n I64 COUNTER, w STRING, ROW KEY (k STRING))").expect("t");
    store.run("LOAD INTO t (k, v, w) VALUES ('a', 1, 'x'), ('b', 2, 'y')").expect("rows");
    let table = store.store.table("t").expect("a table");
    let family = store.family("t");
    let put = Put::new("b").add(family.clone(), "v", "12345").add(family, "n", "1");
    table.put(put).expect("a put");
    store.run("SET halite.bad_cells = 'null'").expect("a setting");
    assert_eq!(store.rows("SELECT k, v, n FROM t"), ["a|1|0", "b|NULL|NULL"]);
    assert_eq!(store.rows("SELECT k FROM t WHERE n IS NULL"), ["b"]);
    for text in [
        "UPDATE t SET w = coalesce(v, 0) || w WHERE k >= 'a'",
        "UPDATE t SET w = coalesce(n, 7) || w WHERE k >= 'a'",
    ] {
        assert_eq!(store.run(text).expect(text).tag.as_deref(), Some("UPDATE 2"));
    }
    assert_eq!(store.rows("SELECT w FROM t"), ["01x", "70y"]);
    let text = "DELETE FROM t WHERE v + 1 IS NULL AND n IS NULL";
    assert_eq!(store.run(text).expect(text).tag.as_deref(), Some("DELETE 1"));
}

#[test]
fn programs_join_their_own_tables() {
    let store = messages();
    store.runtime.block_on(async {
        let session = store.sql.session();
        let frame = session.sql("SELECT 'user_4' AS name, 7 AS rank").await.expect("a query");
        session.register_table("ranks", frame.into_view()).expect("a table");
    });
    let sql = "SELECT rank, count(*) FROM ranks JOIN messages ON name = receiver GROUP BY rank";
    assert_eq!(store.rows(sql), ["7|100"]);
}

#[test]
fn slow_statements_end_at_their_timeout() {
    let store = messages();
    store.run("SET statement_timeout = 1").expect("a setting");
    let sql = "SELECT count(*) FROM messages a, messages b, messages c WHERE a.likes < b.likes \
               AND b.content < c.content";
    let error = store.run(sql).expect_err("over the timeout");
    assert_eq!(error.state, SqlState::Cancelled, "{error}");
}

/// Logins of a day counted as rows, and as a counter (P12).
#[test]
fn a_counter_is_one_row_where_counting_examines_all() {
    let store = TestStore::new();
    store
        .run("CREATE TABLE logins (ip STRING, ROW KEY (user STRING, day DATE, at TIMESTAMP))")
        .expect("a table");
    store
        .run("CREATE TABLE per_day (logins I64 COUNTER, ROW KEY (user STRING, day DATE))")
        .expect("a table");
    let rows: Vec<String> = (0..1000)
        .map(|at| format!("('ada', '2024-03-15', to_timestamp_millis({at}), '10.0.0.1')"))
        .collect();
    store
        .run(&format!("INSERT INTO logins (user, day, at, ip) VALUES {}", rows.join(", ")))
        .expect("rows");
    for _ in 0..1000 {
        store
            .run(
                "INSERT INTO per_day (user, day, logins) VALUES ('ada', '2024-03-15', 1) \
                 ON CONFLICT DO UPDATE SET logins = per_day.logins + 1",
            )
            .expect("a login");
    }
    let of_day = "WHERE user = 'ada' AND day = '2024-03-15'";
    for (table, column, examined) in [("logins", "count(*)", 1000), ("per_day", "logins", 1)] {
        let before = store.examined(table);
        assert_eq!(store.rows(&format!("SELECT {column} FROM {table} {of_day}")), ["1000"]);
        assert_eq!(store.examined(table) - before, examined, "{table}");
    }
}

#[test]
fn a_table_that_is_dropped_meanwhile_is_an_error() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    let text = "UPSERT INTO t VALUES ('a', 1)";
    let plan = store.runtime.block_on(store.sql.prepare(text)).expect("a plan");
    store.store.disable_table("t").expect("a table");
    let run = || store.runtime.block_on(store.sql.run_prepared(&plan, &[])).err();
    assert_eq!(run().expect("disabled").state, SqlState::NotInState);
    store.store.drop_table("t").expect("a table");
    assert_eq!(run().expect("no table").state, SqlState::UndefinedTable);
}
