//! Messages of the extended protocol in the order in which drivers send them, which need not end in
//! Sync.

use std::time::Duration;

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
    raw.socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
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
    raw.socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
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
