//! Messages of the extended protocol in the order in which drivers send them, which need not end in
//! Sync.

use crate::door::Door;
use crate::raw::{Answer, Raw, code_of, message};

fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

fn bind(portal: &str, statement: &str) -> Vec<u8> {
    message(b'B', format!("{portal}\0{statement}\0\0\0\0\0\0\0").as_bytes())
}

fn execute(portal: &str, rows: u8) -> Vec<u8> {
    message(b'E', format!("{portal}\0\0\0\0{}", char::from(rows)).as_bytes())
}

fn flush() -> Vec<u8> {
    message(b'H', b"")
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// Returns the code of the last answer, which is an error.
fn code(answers: &[Answer]) -> String {
    answers.last().and_then(|(_, body)| code_of(body)).expect("an error")
}

#[test]
fn error_is_sent_before_the_sync() {
    let door = Door::with_rows(3);
    let mut raw = Raw::session(&door);
    // As asyncpg prepares a statement.
    let describe = message(b'D', b"Sa\0");
    raw.send(&[parse("a", "SELECT nope FROM t"), describe, flush()].concat());
    assert_eq!(code(&raw.until(b'E')), "42703");
    raw.send(&sync());
    assert_eq!(raw.until(b'Z').len(), 1);
    // As node-postgres reads a cursor.
    let begun = [parse("", "SELECT 1 / (n - 1) FROM t"), bind("", ""), message(b'D', b"P\0")];
    raw.send(&[begun.concat(), flush()].concat());
    raw.until(b'T');
    raw.send(&[execute("", 2), flush()].concat());
    assert_eq!(code(&raw.until(b'E')), "22012");
    raw.send(&sync());
    raw.until(b'Z');
    // Without a Flush as well, and what follows up to the Sync is passed over.
    raw.send(&[parse("", "SELEC 1"), bind("", ""), execute("", 0)].concat());
    assert_eq!(code(&raw.until(b'E')), "42601");
    raw.send(&[parse("", "SELECT 1"), bind("", ""), execute("", 0), sync()].concat());
    assert_eq!(raw.until(b'Z').len(), 1);
}

#[test]
fn bad_line_of_a_copy_is_told_while_the_client_sends() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    let begun = [parse("", "COPY t FROM STDIN csv"), bind("", ""), execute("", 0)];
    raw.send(&begun.concat());
    raw.until(b'G');
    raw.send(&message(b'd', b"x,a,1\n"));
    assert_eq!(code(&raw.until(b'E')), "22P02");
    // The rest of the file, as of a client that has not looked.
    raw.send(&[message(b'd', b"2,b,2\n"), message(b'c', b""), sync()].concat());
    assert_eq!(raw.until(b'Z').len(), 1);
    assert_eq!(door.rows(&door.client(), "SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn failed_cursor_is_not_at_its_end() {
    let door = Door::with_rows(2000);
    let client = door.client();
    let heavy = "SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.v + b.v + c.v < 0";
    let text = format!("SET statement_timeout = 2000; DECLARE c CURSOR WITH HOLD FOR {heavy}");
    door.rows(&client, &text);
    assert_eq!(door.error(&client, "FETCH 1 FROM c"), "57014");
    door.rows(&client, "SET statement_timeout = 0");
    for text in ["FETCH ALL FROM c", "FETCH 1 FROM c", "MOVE ALL IN c"] {
        assert_eq!(door.error(&client, text), "55000", "{text}");
    }
    door.rows(&client, "CLOSE c; DECLARE c CURSOR WITH HOLD FOR SELECT 1 / (n - 9) FROM t");
    assert_eq!(door.error(&client, "MOVE 1 IN c"), "22012");
    assert_eq!(door.error(&client, "FETCH ALL FROM c"), "55000");
}

#[test]
fn portal_of_a_failed_transaction_gives_no_rows() {
    let door = Door::with_rows(10);
    let mut raw = Raw::session(&door);
    let ends = |raw: &mut Raw, messages: &[Vec<u8>]| {
        raw.send(&[messages.concat(), sync()].concat());
        let answers = raw.until(b'Z');
        let error = answers.iter().find(|(kind, _)| *kind == b'E');
        let rows = answers.iter().filter(|(kind, _)| *kind == b'D').count();
        (rows, error.map(|(_, body)| code_of(body).expect("a code")))
    };
    raw.send(&message(b'Q', b"BEGIN; SAVEPOINT a\0"));
    raw.until(b'Z');
    let begun = [parse("", "SELECT n FROM t"), bind("p", ""), execute("p", 2)];
    assert_eq!(ends(&mut raw, &begun), (2, None));
    let failing = [parse("", "SELECT 1 / (n - 9) FROM t"), bind("f", ""), execute("f", 2)];
    assert_eq!(ends(&mut raw, &failing).1.as_deref(), Some("22012"));
    assert_eq!(ends(&mut raw, &[execute("p", 2)]), (0, Some("25P02".to_owned())));
    // One that failed gives none when the transaction has gone back, either.
    raw.send(&message(b'Q', b"ROLLBACK TO a\0"));
    raw.until(b'Z');
    assert_eq!(ends(&mut raw, &[execute("f", 2)]), (0, Some("55000".to_owned())));
}
