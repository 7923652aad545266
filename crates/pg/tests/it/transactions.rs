//! BEGIN and COMMIT: no write hides from the refusal, and no word is passed over.

use crate::door::{Door, code};

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
