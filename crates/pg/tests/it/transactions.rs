//! BEGIN and COMMIT: no write hides from the refusal, and no word is passed over.

use crate::door::{Door, code};
use crate::raw::{Raw, code_of, message};

#[test]
fn writes_in_a_transaction_are_refused_however_they_come() {
    let door = Door::with_rows(3);
    let client = door.client();
    let comment = format!("/*{}*/", "x".repeat(5000));
    for text in [
        "DELETE FROM t WHERE n = 1",
        "DECLARE c CURSOR FOR DELETE FROM t WHERE n = 1",
        &format!("DECLARE {comment} c CURSOR FOR DELETE FROM t WHERE n = 1"),
        "DECLARE c CURSOR FOR DELETE FROM t WHERE n = 1 RETURNING n",
        &format!("{comment} DELETE FROM t WHERE n = 1"),
        "DELETE FROM t WHERE n = 1 RETURNING n",
        "MOVE ROW IN t (n = 1) TO (n = 9)",
        "CREATE TABLE u (ROW KEY (k I64))",
        "ALTER TABLE t ADOPT ROW KEY (n I32) FORCE",
        "ALTER TABLE t ADD COLUMN c I64",
        "TRUNCATE TABLE t",
        "DROP TABLE t",
        "DROP SCHEMA nothing",
    ] {
        door.rows(&client, &format!("{comment} BEGIN"));
        assert_eq!(door.error(&client, text), "0A000", "{text}");
        door.rows(&client, "ROLLBACK; BEGIN");
        let error = door.runtime.block_on(client.query(text, &[])).expect_err(text);
        assert_eq!(code(&error), "0A000", "{text}");
        door.rows(&client, "ROLLBACK");
    }
    assert_eq!(door.rows(&client, "SELECT n FROM t ORDER BY n"), ["0", "1", "2"]);
}

#[test]
fn what_ends_no_transaction_leaves_it_open() {
    let door = Door::with_rows(3);
    let client = door.client();
    for text in [
        "SAVEPOINT a; ROLLBACK TO a",
        "SAVEPOINT a; ROLLBACK WORK TO SAVEPOINT a; RELEASE SAVEPOINT a",
        "SELECT 1",
    ] {
        door.rows(&client, &format!("BEGIN; {text}"));
        assert_eq!(door.error(&client, "DELETE FROM t WHERE n = 1"), "0A000", "{text}");
        door.rows(&client, "ROLLBACK");
    }
    for (text, expected) in [
        ("COMMIT AND CHAIN", "0A000"),
        ("ROLLBACK AND CHAIN", "0A000"),
        ("COMMIT PREPARED 'x'", "0A000"),
        ("COMMIT and nothing", "42601"),
        ("ROLLBACK TO a b", "42601"),
        ("BEGIN READ", "42601"),
    ] {
        door.rows(&client, "BEGIN");
        assert_eq!(door.error(&client, text), expected, "{text}");
        assert_eq!(door.error(&client, "DELETE FROM t WHERE n = 1"), "25P02", "{text}");
        door.rows(&client, "ROLLBACK");
    }
    assert_eq!(door.rows(&client, "SELECT count(*) FROM t"), ["3"]);
}

#[test]
fn setting_of_transactions_is_one() {
    let door = Door::with_rows(3);
    let client = door.client();
    assert_eq!(door.rows(&client, "SHOW halite.transactions"), ["refuse"]);
    door.rows(&client, "SET halite.transactions = 'statement'");
    let shown = "SELECT value FROM halite.settings WHERE name = 'halite.transactions'";
    assert_eq!(door.rows(&client, shown), ["statement"]);
    door.rows(&client, "BEGIN; DELETE FROM t WHERE n = 1; ROLLBACK");
    assert_eq!(door.rows(&client, "SELECT n FROM t ORDER BY n"), ["0", "2"]);
    assert_eq!(door.error(&client, "SET halite.transactions = 'maybe'"), "22023");
    door.rows(&client, "RESET halite.transactions; BEGIN");
    assert_eq!(door.error(&client, "DELETE FROM t WHERE n = 2"), "0A000");
    door.rows(&client, "ROLLBACK");
}

#[test]
fn read_only_is_held() {
    let door = Door::with_rows(3);
    let client = door.client();
    let write = "DELETE FROM t WHERE n = 1";
    // Whatever else the settings permit.
    door.rows(&client, "SET halite.transactions = 'statement'");
    for begin in
        ["BEGIN READ ONLY", "START TRANSACTION READ ONLY", "BEGIN; SET TRANSACTION READ ONLY"]
    {
        door.rows(&client, begin);
        assert_eq!(door.rows(&client, "SHOW transaction_read_only"), ["on"], "{begin}");
        assert_eq!(door.rows(&client, "SELECT count(*) FROM t"), ["3"], "{begin}");
        assert_eq!(door.error(&client, write), "25006", "{begin}");
        door.rows(&client, "ROLLBACK");
    }
    door.rows(&client, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY");
    assert_eq!(door.rows(&client, "SHOW default_transaction_read_only"), ["on"]);
    assert_eq!(door.error(&client, write), "25006");
    assert_eq!(door.error(&client, "CREATE TABLE u (ROW KEY (k I64))"), "25006");
    door.rows(&client, "BEGIN");
    assert_eq!(door.error(&client, write), "25006");
    door.rows(&client, "COMMIT; BEGIN READ WRITE; UPDATE t SET v = 1 WHERE n = 0; COMMIT");
    assert_eq!(door.error(&client, write), "25006");
    door.rows(&client, "SET default_transaction_read_only = off");
    door.rows(&client, write);
    assert_eq!(door.rows(&client, "SELECT n FROM t ORDER BY n"), ["0", "2"]);
    door.rows(
        &client,
        "SET default_transaction_read_only = on; RESET ALL; DELETE FROM t WHERE n = 2",
    );
    assert_eq!(door.error(&client, "SET default_transaction_read_only = maybe"), "22023");
}

#[test]
fn local_setting_ends_with_its_transaction() {
    let door = Door::with_rows(3);
    let client = door.client();
    let shown = |name: &str| door.rows(&client, &format!("SHOW {name}")).concat();
    for end in ["COMMIT", "ROLLBACK"] {
        let begin = "BEGIN; SET LOCAL halite.insert = 'upsert'; \
                     SET LOCAL statement_timeout = '50s'; \
                     SET LOCAL halite.transactions = 'statement'; SET LOCAL application_name = 'x'";
        door.rows(&client, begin);
        assert_eq!([shown("halite.insert"), shown("application_name")], ["upsert", "x"], "{end}");
        door.rows(&client, "INSERT INTO t (n, v) VALUES (1, 7)");
        door.rows(&client, end);
        assert_eq!([shown("statement_timeout"), shown("application_name")], ["5min", ""], "{end}");
        assert_eq!(door.error(&client, "INSERT INTO t (n, v) VALUES (1, 8)"), "23505", "{end}");
        door.rows(&client, "BEGIN");
        assert_eq!(door.error(&client, "DELETE FROM t WHERE n = 1"), "0A000", "{end}");
        door.rows(&client, "ROLLBACK");
    }
    // What is set for the session meanwhile stays, whichever of both comes last.
    door.rows(&client, "BEGIN; SET statement_timeout = '1s'; SET LOCAL statement_timeout = '2s'");
    assert_eq!(shown("statement_timeout"), "2s");
    door.rows(
        &client,
        "SET LOCAL halite.bad_cells = 'null'; SET halite.bad_cells = 'fail'; COMMIT",
    );
    assert_eq!([shown("statement_timeout"), shown("halite.bad_cells")], ["1s", "fail"]);
    // Outside of a transaction nothing changes, and the value is checked.
    door.rows(&client, "SET LOCAL statement_timeout = '9s'");
    assert_eq!(shown("statement_timeout"), "1s");
    assert_eq!(door.error(&client, "SET LOCAL statement_timeout = 'soon'"), "22023");
    let mut raw = Raw::session(&door);
    raw.send(&message(b'Q', b"SET LOCAL application_name = 'y'\0"));
    let answers = raw.until(b'Z');
    assert!(answers.iter().all(|(kind, _)| *kind != b'S'), "{answers:?}");
    let warning = answers.iter().find(|(kind, _)| *kind == b'N').expect("a warning");
    assert_eq!(code_of(&warning.1).as_deref(), Some("25P01"));
}

#[test]
fn rollback_restores_settings() {
    let door = Door::with_rows(3);
    let client = door.client();
    let shown = |name: &str| door.rows(&client, &format!("SHOW {name}")).concat();
    door.rows(&client, "SET application_name = 'a'");
    door.rows(
        &client,
        "BEGIN; SET application_name = 'b'; SET halite.bad_cells = 'null'; ROLLBACK",
    );
    assert_eq!([shown("application_name"), shown("halite.bad_cells")], ["a", "fail"]);
    // COMMIT of what has failed is ROLLBACK.
    door.rows(&client, "BEGIN; RESET ALL; SET default_transaction_read_only = on");
    assert_eq!(door.error(&client, "SELECT * FROM missing"), "42P01");
    door.rows(&client, "COMMIT");
    assert_eq!([shown("application_name"), shown("transaction_read_only")], ["a", "off"]);
    // So is what follows a savepoint.
    door.rows(
        &client,
        "BEGIN; SET application_name = 'c'; SAVEPOINT s; SET application_name = 'd'",
    );
    door.rows(&client, "SET LOCAL statement_timeout = '9s'; SET TRANSACTION READ ONLY");
    assert_eq!(door.error(&client, "SELECT * FROM missing"), "42P01");
    door.rows(&client, "ROLLBACK TO s");
    assert_eq!([shown("application_name"), shown("statement_timeout")], ["c", "5min"]);
    assert_eq!(shown("transaction_read_only"), "off");
    door.rows(&client, "SET application_name = 'e'; ROLLBACK TO s; COMMIT");
    assert_eq!(shown("application_name"), "c");
    // The client receives values that it wants to know.
    let mut raw = Raw::session(&door);
    raw.send(&message(b'Q', b"BEGIN; SET application_name = 'f'; ROLLBACK\0"));
    let answers = raw.until(b'Z');
    let told = answers.iter().filter(|(kind, _)| *kind == b'S').map(|(_, body)| body.as_slice());
    let expected: [&[u8]; 2] = [b"application_name\0f\0", b"application_name\0\0"];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
