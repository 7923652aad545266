//! Versions of cells, earlier states of tables, and cells as rows.

use halite::{Delete, Put};
use halite_sql::SqlState;

use crate::store::TestStore;

/// Returns the key of message 1 of a receiver.
fn key(receiver: &str) -> Vec<u8> {
    [receiver.as_bytes(), &[0, 1], &0x8000_0001_u32.to_be_bytes()].concat()
}

/// Table with edited messages: user a wrote at 10, 20 and 30, and b at 15.
fn inbox() -> TestStore {
    let store = TestStore::new();
    store
        .run(
            "CREATE TABLE inbox (body STRING FAMILY m VERSIONS 10, likes I32 FAMILY m, \
             ROW KEY (receiver STRING, id I32)) WITH (KEEP_DELETED_CELLS = 'TRUE')",
        )
        .expect("a table");
    let table = store.store.table("inbox").expect("a table");
    let put = |receiver: &str, time: i64, cells: &[(&str, &[u8])]| {
        let put = Put::new(key(receiver));
        let put = cells.iter().fold(put, |put, (name, value)| put.add_at("m", *name, time, value));
        table.put(put).expect("a put");
    };
    put("a", 10, &[("body", b"one"), ("likes", &[0, 0, 0, 1])]);
    put("a", 20, &[("body", b"two")]);
    put("a", 30, &[("likes", &[0, 0, 0, 7])]);
    put("b", 15, &[("body", b"other")]);
    store
}

#[test]
fn each_time_at_which_a_column_was_written_is_a_row() {
    let store = inbox();
    let sql = "SELECT receiver, body, likes, _version, to_unixtime(_ts) = 0, _ts FROM inbox \
               VERSIONS ALL WHERE receiver = 'a'";
    let rows = store.rows(sql);
    let shown: Vec<(&str, bool)> =
        rows.iter().map(|row| (&row[..row.find("|true").unwrap_or(0)], true)).collect();
    assert_eq!(
        shown,
        [("a|NULL|7|1", true), ("a|two|NULL|2", true), ("a|one|1|3", true)],
        "{rows:?}"
    );
    // At most n versions of each column, and only of those that are read.
    assert_eq!(store.rows("SELECT body FROM inbox VERSIONS 1 WHERE receiver = 'a'"), ["two"]);
    assert_eq!(
        store.rows("SELECT body FROM inbox VERSIONS 5 WHERE receiver = 'a'"),
        ["two", "one"]
    );
    assert_eq!(
        store.rows("SELECT id FROM inbox VERSIONS ALL BETWEEN 10 AND 20 WHERE receiver = 'a'"),
        ["1", "1"],
        "without a column that is read, those of all declared ones"
    );
    // A condition on cells holds for versions, not for the newest cells of the row.
    assert_eq!(
        store.rows("SELECT x.body FROM inbox VERSIONS ALL AS x WHERE x.body = 'one'"),
        ["one"]
    );
    assert_eq!(
        store.rows("SELECT body FROM inbox WHERE receiver = 'a' ORDER BY id LIMIT 1 VERSIONS 2"),
        ["two"],
        "the limit is one of versions"
    );
    assert_eq!(
        store.rows(
            "SELECT count(*) FROM inbox VERSIONS ALL v JOIN inbox n ON v.receiver = n.receiver"
        ),
        ["4"]
    );
}

#[test]
fn table_is_read_as_it_was() {
    let store = inbox();
    let as_of = |time: &str| {
        store.rows(&format!("SELECT receiver, body, likes FROM inbox AS OF TIMESTAMP {time}"))
    };
    assert_eq!(as_of("9"), Vec::<String>::new());
    assert_eq!(as_of("10"), ["a|one|1"]);
    assert_eq!(as_of("'1970-01-01T00:00:00.019Z'"), ["a|one|1", "b|other|NULL"]);
    assert_eq!(as_of("'1970-01-01T00:00:00.020Z'"), ["a|two|1", "b|other|NULL"]);
    assert_eq!(as_of("now() + interval '1 hour'"), ["a|two|7", "b|other|NULL"]);
    let table = store.store.table("inbox").expect("a table");
    table.delete(Delete::new(key("a")).up_to(25)).expect("a delete");
    assert_eq!(as_of("20"), ["a|two|1", "b|other|NULL"], "the family keeps deleted cells");
    // Conditions on cells and whole keys see the earlier state too.
    let sql = "SELECT receiver FROM inbox FOR SYSTEM_TIME AS OF 10 WHERE likes < 5";
    assert_eq!(store.rows(sql), ["a"]);
    let sql = "SELECT body FROM inbox AS OF SYSTEM TIME 10 WHERE receiver = 'a' AND id = 1";
    assert_eq!(store.rows(sql), ["one"]);
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(plan.contains("history  newest cells, until 10"), "{plan}");
}

#[test]
fn earlier_state_that_is_not_kept_is_told() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I32, ROW KEY (k STRING))").expect("a table");
    let answer = store.run("SELECT * FROM t AS OF TIMESTAMP 5").expect("no row");
    assert!(answer.notices[0].contains("KEEP_DELETED_CELLS"), "{:?}", answer.notices);
    assert!(store.run("SELECT * FROM t").expect("no row").notices.is_empty());
}

#[test]
fn cells_are_rows_with_the_fields_of_their_key() {
    let store = inbox();
    let sql = "SELECT receiver, family, qualifier, value FROM cells(inbox) WHERE receiver = 'a'";
    assert_eq!(store.rows(sql), [r"a|m|\x626f6479|\x74776f", r"a|m|\x6c696b6573|\x00000007"]);
    assert_eq!(store.rows("SELECT count(*) FROM cells(inbox) VERSIONS ALL"), ["5"]);
    assert_eq!(store.rows("SELECT count(*) FROM cells(inbox) LIMIT 1"), ["3"]);
    assert_eq!(store.rows("SELECT c.family FROM Cells(Inbox) AS c LIMIT 1"), ["m"]);
    assert_eq!(store.rows("SELECT count(*) FROM cells(public.inbox) WHERE family = 'm'"), ["3"]);
    let star = store.run("SELECT * FROM cells(inbox)").expect("rows");
    let names = ["receiver", "id", "_row", "family", "qualifier", "ts", "type", "value"];
    assert_eq!(star.columns, names);
    let table = store.store.table("inbox").expect("a table");
    table.delete(Delete::new(key("b"))).expect("a delete");
    let sql = "SELECT type, count(*) FROM cells(inbox) VERSIONS ALL GROUP BY type ORDER BY type";
    assert_eq!(store.rows(sql), ["DeleteFamily|1", "Put|5"]);
    assert_eq!(store.rows("SELECT value FROM cells(inbox) WHERE receiver = 'b'").len(), 0);
}

#[test]
fn wide_row_comes_in_pieces() {
    let store = TestStore::new();
    store.run("CREATE TABLE wide (v I32, ROW KEY (k STRING))").expect("a table");
    let family = store.family("wide");
    let put =
        (0..3500).fold(Put::new("w"), |put, at| put.add(family.clone(), format!("q{at:04}"), "x"));
    store.store.table("wide").expect("a table").put(put).expect("a put");
    let sql = "SELECT count(*), count(DISTINCT qualifier), max(k) FROM cells(wide)";
    assert_eq!(store.rows(sql), ["3500|3500|w"]);
    let sql = "SELECT qualifier FROM cells(wide) ORDER BY k LIMIT 2 OFFSET 1500";
    assert_eq!(store.rows(sql), [r"\x7131353030", r"\x7131353031"]);
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let store = inbox();
    for (sql, state, says) in [
        ("SELECT body FROM inbox VERSIONS 0", SqlState::InvalidValue, "from 1 on"),
        ("SELECT body FROM inbox AS OF TIMESTAMP 'soon'", SqlState::InvalidValue, "is no time"),
        ("SELECT body FROM inbox AS OF TIMESTAMP body", SqlState::UndefinedColumn, "body"),
        ("SELECT _cells FROM inbox VERSIONS 2", SqlState::NotSupported, "cells(t)"),
        ("SELECT _version FROM cells(inbox)", SqlState::NotSupported, "_version"),
        ("SELECT * FROM cells(nothing)", SqlState::UndefinedTable, "nothing"),
        ("WITH w AS (SELECT 1) SELECT * FROM w VERSIONS 2", SqlState::NotSupported, "no table"),
        ("SELECT * FROM cells(w) AS w", SqlState::UndefinedTable, "w"),
    ] {
        let error = store.run(sql).err().unwrap_or_else(|| panic!("{sql} is answered"));
        assert_eq!(error.state, state, "{sql}: {error}");
        assert!(error.to_string().contains(says), "{sql}: {error}");
    }
}

#[test]
fn counters_have_no_value_at_times_of_other_cells() {
    let store = TestStore::new();
    store
        .run("CREATE TABLE c (n I64 COUNTER, v I64, ROW KEY (k STRING)) WITH (VERSIONS = 5)")
        .expect("a table");
    let family = store.family("c");
    let table = store.store.table("c").expect("a table");
    let put = Put::new("a").add_at(family.clone(), "n", 10, 7i64.to_be_bytes()).add_at(
        family.clone(),
        "v",
        20,
        1i64.to_be_bytes(),
    );
    table.put(put).expect("a put");
    table.put(Put::new("b").add_at(family, "v", 10, 2i64.to_be_bytes())).expect("a put");
    assert_eq!(store.rows("SELECT k, n, v FROM c"), ["a|7|1", "b|0|2"]);
    let versions = store.rows("SELECT k, n, v FROM c VERSIONS ALL");
    assert_eq!(versions, ["a|NULL|1", "a|7|NULL", "b|NULL|2"]);
    let sums = store.rows("SELECT count(*), count(n), sum(n), sum(v) FROM c VERSIONS ALL");
    assert_eq!(sums, ["3|1|7|3"]);
    assert_eq!(store.rows("SELECT k, v FROM c VERSIONS ALL WHERE n IS NULL"), ["a|1", "b|2"]);
    assert!(store.rows("SELECT k FROM c WHERE n IS NULL").is_empty());
}
