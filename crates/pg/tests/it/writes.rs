//! Statements that write: tags, RETURNING, parameters, roles, and what ends them.

use std::time::{Duration, Instant};

use halite_pg::{Access, Config, Users};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::door::{Door, cancelled, code};
use crate::raw::{Raw, message};

/// Returns the number of rows of the tag of a statement.
fn count(door: &Door, client: &Client, text: &str) -> u64 {
    door.runtime.block_on(client.execute(text, &[])).unwrap_or_else(|error| {
        panic!("{text}: {error:?}");
    })
}

#[test]
fn tags_count_the_rows() {
    let door = Door::with_rows(3);
    let client = door.client();
    assert_eq!(count(&door, &client, "INSERT INTO t (n, v) VALUES (7, 70), (8, 80)"), 2);
    assert_eq!(count(&door, &client, "UPDATE t SET v = v + 1 WHERE n >= 7"), 2);
    assert_eq!(count(&door, &client, "DELETE FROM t WHERE n = 8"), 1);
    assert_eq!(count(&door, &client, "DELETE FROM t WHERE n = 8 AND v = 81"), 0);
    assert_eq!(door.error(&client, "INSERT INTO t (n, v) VALUES (7, 1)"), "23505");
    assert_eq!(door.rows(&client, "SELECT n, v FROM t WHERE n > 2"), ["7|71"]);
    let mut raw = Raw::session(&door);
    let text = b"INSERT INTO t (n) VALUES (9); UPDATE t SET v = 1 WHERE n = 9; \
                 DELETE FROM t WHERE n = 9\0";
    raw.send(&message(b'Q', text));
    let answers = raw.until(b'Z');
    let tags = answers.iter().filter(|(kind, _)| *kind == b'C').map(|(_, body)| body.as_slice());
    let expected: [&[u8]; 3] = [b"INSERT 0 1\0", b"UPDATE 1\0", b"DELETE 1\0"];
    assert_eq!(tags.collect::<Vec<_>>(), expected);
}

#[test]
fn returned_rows_come_by_both_protocols() {
    let door = Door::with_rows(3);
    let mut client = door.client();
    let text = "UPDATE t SET v = v + 5 WHERE n < 2 RETURNING n, v";
    let mut rows = door.rows(&client, text);
    rows.sort();
    assert_eq!(rows, ["0|5", "1|15"]);
    door.runtime.block_on(async {
        let text = "INSERT INTO t (n, name, v) VALUES ($1, $2, $3) RETURNING v * 2 AS w, name";
        let statement = client.prepare(text).await.expect("a statement");
        assert_eq!(statement.params(), [Type::INT8, Type::TEXT, Type::INT8]);
        let columns = statement.columns();
        assert_eq!((columns[0].name(), columns[0].type_()), ("w", &Type::INT8));
        for n in [10i64, 11] {
            let row = client.query_one(&statement, &[&n, &"new", &(n * 3)]).await.expect("a row");
            assert_eq!((row.get::<_, i64>(0), row.get::<_, &str>(1)), (n * 6, "new"));
        }
        // In parts, by a portal; the rows are written whatever the client takes.
        client.batch_execute("SET halite.transactions = 'statement'").await.expect("a setting");
        let transaction = client.transaction().await.expect("a transaction");
        let portal = transaction.bind("DELETE FROM t RETURNING n", &[]).await.expect("a portal");
        let mut found = Vec::new();
        for count in [2, 2, 1] {
            let rows = transaction.query_portal(&portal, 2).await.expect("rows");
            assert_eq!(rows.len(), count);
            found.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
        }
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 10, 11]);
        transaction.commit().await.expect("the end");
    });
    assert_eq!(door.rows(&client, "SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn parameters_have_the_types_of_their_columns() {
    let door = Door::with_rows(3);
    let client = door.client();
    door.runtime.block_on(async {
        let update = client.prepare("UPDATE t SET name = $2 WHERE n = $1").await.expect("update");
        assert_eq!(update.params(), [Type::INT8, Type::TEXT]);
        assert_eq!(client.execute(&update, &[&1i64, &"one"]).await.expect("a tag"), 1);
        assert_eq!(client.execute(&update, &[&1i64, &None::<&str>]).await.expect("a tag"), 1);
        assert_eq!(client.execute(&update, &[&9i64, &"nine"]).await.expect("a tag"), 0);
        let delete = client.prepare_typed("DELETE FROM t WHERE n = $1", &[Type::INT4]).await;
        assert_eq!(client.execute(&delete.expect("delete"), &[&2i32]).await.expect("a tag"), 1);
        // A type for a parameter that there is not: the ones between are text.
        let types = [Type::INT8, Type::UNKNOWN, Type::INT4];
        let more = client.prepare_typed("DELETE FROM t WHERE n = $1", &types).await;
        assert_eq!(more.expect("delete").params(), [Type::INT8, Type::TEXT, Type::INT4]);
    });
    assert_eq!(door.rows(&client, "SELECT n, name FROM t"), ["0|row 0", "1|NULL"]);
}

#[test]
fn only_writers_write() {
    let line =
        |name, access| Users::line(name, access, &format!("secret of {name}")).expect("a line");
    let lines = [line("ann", Access::Admin), line("wil", Access::Write), line("rob", Access::Read)];
    let users = Some(Users::parse(&lines.join("\n")).expect("users"));
    let door = Door::with(Config { users, ..Config::default() });
    let client =
        |user: &str| door.try_client(user, Some(&format!("secret of {user}"))).expect("a session");
    door.rows(&client("ann"), "CREATE TABLE t (v I64, ROW KEY (n I64))");
    let (reader, writer) = (client("rob"), client("wil"));
    let writes = [
        "INSERT INTO t (n, v) VALUES (1, 2)",
        "UPSERT INTO t (n, v) VALUES (1, 2)",
        "UPDATE t SET v = 3 WHERE n = 1",
        "MOVE ROW IN t (n = 1) TO (n = 2)",
        "DELETE FROM t WHERE n = 2",
    ];
    for text in writes {
        assert_eq!(door.error(&reader, text), "42501", "{text}");
        let hidden = format!("/*{}*/{text}", "x".repeat(5000));
        assert_eq!(door.error(&reader, &hidden), "42501", "{text}");
        let error = door.runtime.block_on(reader.prepare(text)).expect_err("no statement");
        assert_eq!(code(&error), "42501", "{text}");
        door.rows(&writer, text);
    }
    assert_eq!(door.rows(&reader, "SELECT count(*) FROM t"), ["0"]);
}

/// Statement whose query would take minutes before it gives a row.
const HEAVY: &str = "INSERT INTO u (n) SELECT a.n FROM t a, t b, t c WHERE a.v + b.v + c.v < 0";

fn door_of_two() -> Door {
    let door = Door::with_rows_and_patient_stop(2000);
    door.rows(&door.client(), "CREATE TABLE u (v I64, ROW KEY (n I64))");
    door
}

#[test]
fn timeout_and_cancel_end_the_query_of_a_write() {
    let door = door_of_two();
    let client = door.client();
    let started = Instant::now();
    door.rows(&client, "SET statement_timeout = 300");
    assert_eq!(door.error(&client, HEAVY), "57014");
    door.rows(&client, "SET statement_timeout = 0");
    let done = door.runtime.block_on(cancelled(&client, HEAVY));
    assert_eq!(code(&done.expect_err("a cancelled statement")), "57014");
    assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
    // The session, and its next query, run on.
    assert_eq!(count(&door, &client, "INSERT INTO u (n) SELECT n FROM t WHERE n < 5"), 5);
}

#[test]
fn client_that_leaves_ends_the_query_of_its_write() {
    let mut door = door_of_two();
    let mut raw = Raw::session(&door);
    raw.send(&message(b'Q', format!("{HEAVY}\0").as_bytes()));
    std::thread::sleep(Duration::from_millis(300));
    drop(raw);
    std::thread::sleep(Duration::from_millis(500));
    // Nothing is left that has to be waited for.
    door.stop_in_time();
}
