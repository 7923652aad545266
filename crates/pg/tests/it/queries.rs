//! `halite.queries`, what ends statements and sessions from outside, and sessions that idle.

use std::time::{Duration, Instant};

use halite_pg::{Access, Config, Users};
use tokio_postgres::SimpleQueryMessage;

use crate::door::{Door, code};
use crate::raw::{Raw, code_of, message};

/// A statement that computes for minutes.
const HEAVY: &str = "SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.v + b.v + c.v < 0";

/// Asks until a statement with these beginning letters is in a state.
fn wait_for(door: &Door, query: &str, state: &str, examined: u64) -> String {
    let client = door.client();
    let text = format!(
        "SELECT pid FROM halite.queries WHERE query LIKE '{query}%' AND state = '{state}' \
         AND rows_examined >= {examined} ORDER BY id DESC LIMIT 1"
    );
    let started = Instant::now();
    loop {
        if let Some(pid) = door.rows(&client, &text).pop() {
            return pid;
        }
        assert!(started.elapsed() < Duration::from_mins(2), "no {state} statement {query}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn client_that_sent_ahead_and_leaves_ends_its_statement() {
    let door = Door::with_rows(2000);
    let mut raw = Raw::session(&door);
    let parse = message(b'P', format!("\0{HEAVY}\0\0\0").as_bytes());
    let bind = message(b'B', b"\0\0\0\0\0\0\0\0");
    let rest = [message(b'D', b"P\0"), message(b'E', b"\0\0\0\0\0"), message(b'S', b"")];
    // More messages than are read ahead.
    raw.send(&[parse, bind, rest.concat()].concat().repeat(3));
    wait_for(&door, "SELECT count(*) FROM t AS a", "running", 4000);
    drop(raw);
    wait_for(&door, "SELECT count(*) FROM t AS a", "stopped", 0);
}

#[test]
fn running_statement_is_listed_and_cancelled_by_its_number() {
    let door = Door::with_rows(2000);
    let (one, other) = (door.client(), door.client());
    let pid = door.rows(&one, "SELECT pg_backend_pid()").pop().expect("a number");
    let running = door.runtime.spawn(async move { one.simple_query(HEAVY).await });
    assert_eq!(wait_for(&door, "SELECT count(*) FROM t AS a", "running", 4000), pid);
    let shown = door.rows(
        &other,
        "SELECT user_name, rows_returned, query FROM halite.queries \
         WHERE state = 'running' AND rows_examined >= 4000",
    );
    assert_eq!(shown, [format!("ann|0|{}", HEAVY.replace("< 0", "< ?"))]);
    let started = Instant::now();
    assert_eq!(door.rows(&other, &format!("SELECT pg_cancel_backend({pid})")), ["t"]);
    let ended = door.runtime.block_on(running).expect("a task");
    assert_eq!(code(&ended.expect_err("a cancelled statement")), "57014");
    assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
    wait_for(&door, "SELECT count(*) FROM t AS a", "stopped", 0);
    assert_eq!(door.rows(&other, "SELECT pg_cancel_backend(2000000000)"), ["f"]);
    assert_eq!(door.rows(&other, "SELECT pg_cancel_backend(NULL)"), ["NULL"]);
}

#[test]
fn ended_statements_are_remembered_without_their_values() {
    let door = Door::with_rows(20);
    let client = door.client();
    door.rows(&client, "SELECT n FROM t WHERE n < 15 AND name <> 'secret'");
    door.rows(&client, "UPSERT INTO t (n, v) VALUES (100, 1), (101, 2)");
    assert_eq!(door.error(&client, "SELECT nothing FROM t WHERE v = 5"), "42703");
    door.runtime.block_on(async {
        client.query("SELECT v FROM t WHERE n = $1", &[&3i64]).await.expect("a row");
    });
    let lines = door.rows(
        &client,
        "SELECT state, error, rows_examined, rows_returned, rows_written, query \
         FROM halite.queries WHERE state <> 'running' AND query NOT LIKE 'CREATE%' ORDER BY id",
    );
    assert_eq!(
        lines,
        [
            "done|NULL|15|15|0|SELECT n FROM t WHERE n < ? AND name <> ?",
            "done|NULL|0|0|2|UPSERT INTO t (n, v) VALUES (?, ?), (?, ?)",
            "failed|42703|0|0|0|SELECT nothing FROM t WHERE v = ?",
            "done|NULL|1|1|0|SELECT v FROM t WHERE n = $1",
        ]
    );
}

#[test]
fn sessions_are_ended_by_their_user_and_by_admins() {
    let line = |name: &str, access| Users::line(name, access, "x").expect("a line");
    let users = [line("ann", Access::Read), line("bob", Access::Read), line("eve", Access::Admin)];
    let users = Users::parse(&users.join("\n")).expect("users");
    let door = Door::with(Config { users: Some(users), ..Config::default() });
    let client = |user: &str| door.try_client(user, Some("x")).expect("a session");
    let (ann, bob, eve) = (client("ann"), client("bob"), client("eve"));
    let pid = door.rows(&ann, "SELECT pg_backend_pid()").pop().expect("a number");
    for function in ["pg_cancel_backend", "pg_terminate_backend"] {
        assert_eq!(door.error(&bob, &format!("SELECT {function}({pid})")), "42501");
    }
    assert_eq!(door.rows(&ann, "SELECT 1"), ["1"]);
    assert_eq!(door.rows(&client("ann"), &format!("SELECT pg_cancel_backend({pid})")), ["t"]);
    // It idled, so there was nothing to cancel.
    assert_eq!(door.rows(&ann, "SELECT 1"), ["1"]);
    assert_eq!(door.rows(&eve, &format!("SELECT pg_terminate_backend({pid})")), ["t"]);
    let started = Instant::now();
    while !ann.is_closed() {
        assert!(started.elapsed() < Duration::from_mins(2), "the session is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn session_that_idles_is_ended_when_it_says_so() {
    let door = Door::new();
    let end = |statements: &[&str]| {
        let mut raw = Raw::session(&door);
        for statement in statements {
            raw.send(&message(b'Q', format!("{statement}\0").as_bytes()));
            raw.until(b'Z');
        }
        raw.error_at_end()
    };
    assert_eq!(end(&["SET idle_session_timeout = '100ms'"]).as_deref(), Some("57P05"));
    let in_transaction = ["SET idle_in_transaction_session_timeout = 100", "BEGIN"];
    assert_eq!(end(&in_transaction).as_deref(), Some("25P03"));
    // That of transactions is not that of sessions.
    let client = door.client();
    door.rows(&client, "SET idle_in_transaction_session_timeout = 50");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(door.rows(&client, "SHOW idle_in_transaction_session_timeout"), ["50ms"]);
    assert_eq!(door.error(&client, "SET idle_session_timeout = 'soon'"), "22023");
}

#[test]
fn transaction_does_not_idle_for_ever() {
    let door = Door::with_rows(3);
    let client = door.client();
    assert_eq!(door.rows(&client, "SHOW idle_in_transaction_session_timeout"), ["10min"]);
    // A cursor that outlives its transaction waits as long, and its session continues.
    let begin = "SET idle_in_transaction_session_timeout = 100; \
                 DECLARE c CURSOR WITH HOLD FOR SELECT n FROM t; FETCH 1 FROM c";
    assert_eq!(door.rows(&client, begin), ["0"]);
    wait_for(&door, "SELECT n FROM t", "stopped", 0);
    assert_eq!(door.error(&client, "FETCH 1 FROM c"), "55000");
    // One that is used, and one without such a limit, continues.
    let begin = "SET idle_in_transaction_session_timeout = 0; \
                 DECLARE d CURSOR WITH HOLD FOR SELECT n FROM t; FETCH 1 FROM d";
    assert_eq!(door.rows(&client, begin), ["0"]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(door.rows(&client, "FETCH 1 FROM d"), ["1"]);
}

#[test]
fn statement_whose_client_takes_no_rows_is_cancelled() {
    let door = Door::new();
    let mut raw = Raw::session(&door);
    // More than the buffers of both sides hold.
    let text = "SELECT repeat('x', 10000) FROM generate_series(1, 100000)";
    raw.send(&message(b'Q', format!("{text}\0").as_bytes()));
    let pid = wait_for(&door, "SELECT repeat", "waiting", 0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(door.rows(&door.client(), &format!("SELECT pg_cancel_backend({pid})")), ["t"]);
    wait_for(&door, "SELECT repeat", "stopped", 0);
    // What had been collected is sent, and then the error.
    let answers = raw.until(b'Z');
    let (kind, body) = &answers[answers.len() - 2];
    assert_eq!((*kind, code_of(body).as_deref()), (b'E', Some("57014")));
    assert!(answers.len() < 50_000, "{} messages", answers.len());
}

#[test]
fn timeout_begins_anew_with_each_part_of_the_rows() {
    let door = Door::with_rows(20_000);
    let client = door.client();
    door.rows(&client, "SET statement_timeout = '5s'");
    // The number of rows; `None` if the time is up.
    let rows = |text: &str| match door.runtime.block_on(client.simple_query(text)) {
        Ok(messages) => {
            let is_row =
                |message: &&SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(_));
            Some(messages.iter().filter(is_row).count())
        }
        Err(error) => {
            assert_eq!(code(&error), "57014", "{text}");
            None
        }
    };
    let read = || {
        rows("BEGIN")?;
        rows("DECLARE c CURSOR FOR SELECT n FROM t")?;
        for _ in 0..3 {
            assert_eq!(rows("FETCH 9000 FROM c")?.min(2000), 2000);
            std::thread::sleep(Duration::from_secs(3));
        }
        Some(())
    };
    // One part takes longer than the timeout if the machine stops it; then all begin again.
    let is_read = (0..5).any(|_| {
        let all = read();
        if all.is_none() {
            rows("ROLLBACK");
        }
        all.is_some()
    });
    assert!(is_read, "the time is up though each part took less");
}
