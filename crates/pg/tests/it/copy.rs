//! COPY in both directions, by both protocols.

use halite_pg::{Access, Config, Users};

use crate::door::Door;
use crate::raw::{Answer, Raw, code_of, message};

/// Sends a COPY FROM as a simple query with these pieces of data, and returns the answers after
/// its beginning.
fn copy_in(raw: &mut Raw, statement: &str, pieces: &[&[u8]]) -> Vec<Answer> {
    raw.send(&message(b'Q', format!("{statement}\0").as_bytes()));
    raw.until(b'G');
    for piece in pieces {
        raw.send(&message(b'd', piece));
    }
    raw.send(&message(b'c', b""));
    raw.until(b'Z')
}

/// Returns the tag of a statement, or the code and the text of its error.
fn outcome(answers: &[Answer]) -> String {
    let (kind, body) =
        answers.iter().find(|(kind, _)| matches!(kind, b'C' | b'E')).expect("an end");
    if *kind == b'C' {
        return String::from_utf8_lossy(&body[..body.len() - 1]).into_owned();
    }
    let fields = body.split(|byte| *byte == 0);
    let text = fields.into_iter().find(|field| field.first() == Some(&b'M')).expect("a text");
    format!("{}: {}", code_of(body).expect("a code"), String::from_utf8_lossy(&text[1..]))
}

/// Returns the data of a COPY TO.
fn copied(answers: &[Answer]) -> Vec<u8> {
    let data = answers.iter().filter(|(kind, _)| *kind == b'd');
    data.flat_map(|(_, body)| body.clone()).collect()
}

fn copy_out(raw: &mut Raw, statement: &str) -> Vec<u8> {
    raw.send(&message(b'Q', format!("{statement}\0").as_bytes()));
    copied(&raw.until(b'Z'))
}

#[test]
fn rows_are_copied_in_and_out_in_every_form() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    let text = b"1\trow\\t1\t10\n2\t\\N\t-20\n-3\t\t\\N\n";
    let cut = text.chunks(5).collect::<Vec<_>>();
    assert_eq!(outcome(&copy_in(&mut raw, "COPY t FROM STDIN", &cut)), "COPY 3");
    let client = door.client();
    let rows = ["-3||NULL", "1|row\t1|10", "2|NULL|-20"];
    assert_eq!(door.rows(&client, "SELECT n, name, v FROM t"), rows);
    for (form, expected) in [
        ("", Some(&b"-3\t\t\\N\n1\trow\\t1\t10\n2\t\\N\t-20\n"[..])),
        ("(FORMAT csv, HEADER)", Some(b"n,name,v\n-3,\"\",\n1,row\t1,10\n2,,-20\n")),
        ("(FORMAT binary)", None),
    ] {
        let bytes = copy_out(&mut raw, &format!("COPY t TO STDOUT {form}"));
        if let Some(expected) = expected {
            assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(expected));
        }
        door.rows(&client, "DELETE FROM t");
        let pieces: Vec<&[u8]> = bytes.chunks(7).collect();
        let ended = copy_in(&mut raw, &format!("COPY t FROM STDIN {form}"), &pieces);
        assert_eq!(outcome(&ended), "COPY 3", "{form}");
        assert_eq!(door.rows(&client, "SELECT n, name, v FROM t"), rows, "{form}");
    }
    let query = "COPY (SELECT v, n FROM t WHERE n > 0) TO STDOUT (FORMAT csv)";
    assert_eq!(copy_out(&mut raw, query), b"10,1\n-20,2\n");
    assert_eq!(copy_out(&mut raw, "COPY t (name) TO STDOUT"), b"\nrow\\t1\n\\N\n");
    // The binary form begins with its signature in the message of the first row.
    raw.send(&message(b'Q', b"COPY t TO STDOUT BINARY\0"));
    let answers = raw.until(b'Z');
    let first = answers.iter().find(|(kind, _)| *kind == b'd').expect("a row");
    assert!(first.1.starts_with(b"PGCOPY\n\xff\r\n\0") && first.1.len() > 19);
}

#[test]
fn many_rows_come_in_order_of_their_lines() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    let lines: Vec<String> = (0..3001).map(|n| format!("{n},row {n},{}\n", n * 2)).collect();
    let lines = lines.concat();
    let pieces: Vec<&[u8]> = lines.as_bytes().chunks(10_000).collect();
    assert_eq!(outcome(&copy_in(&mut raw, "COPY t FROM STDIN csv", &pieces)), "COPY 3001");
    let client = door.client();
    assert_eq!(door.rows(&client, "SELECT count(*), sum(v) FROM t"), ["3001|9003000"]);
    // One line of halite.queries, with the rows that were written.
    let shown = "SELECT state, rows_written, query FROM halite.queries WHERE query LIKE 'COPY%' \
                 OR query LIKE 'INSERT%'";
    assert_eq!(door.rows(&client, shown), ["done|3001|COPY t FROM STDIN csv"]);
}

#[test]
fn bad_line_ends_the_copy_behind_the_rows_before_it() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    for (lines, expected) in [
        ("1,a,1\n2,b,2\n3,c,x\n4,d,4\n", "22P02: line 3, column v: "),
        (
            "5,a,1\n6,b\n",
            "22P04: line 2: the line has 2 fields, and the row has 3 columns; 1 row(s) were written before",
        ),
        ("7,a,1\n,b,2\n", "23502: "),
        ("8,\"a\nb\",1\n9,b,99999999999999999999\n", "22003: line 3, column v: "),
        ("10,\"a,1\n", "22P04: line 1: a quote of the row is not closed"),
        ("11,a,1\n1,again,1\n", "23505: lines 1 to 2: "),
    ] {
        let ended = outcome(&copy_in(&mut raw, "COPY t FROM STDIN csv", &[lines.as_bytes()]));
        assert!(ended.starts_with(expected), "{ended}");
    }
    let client = door.client();
    let rows = door.rows(&client, "SELECT n FROM t WHERE n < 7");
    assert_eq!(rows, ["1", "2", "5"]);
    assert_eq!(door.rows(&client, "SELECT name FROM t WHERE n = 1"), ["a"]);
}

#[test]
fn statement_is_checked_before_rows_come() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    for (statement, code) in [
        ("COPY nothing FROM STDIN", "42P01"),
        ("COPY t (nothing) FROM STDIN", "42703"),
        ("COPY t FROM '/etc/passwd'", "42501"),
        ("COPY t TO '/tmp/x'", "42501"),
        ("COPY t TO PROGRAM 'cat'", "42501"),
        ("COPY (DELETE FROM t) TO STDOUT", "0A000"),
        ("BEGIN; COPY t FROM STDIN", "0A000"),
    ] {
        raw.send(&message(b'Q', format!("{statement}\0").as_bytes()));
        let answers = raw.until(b'Z');
        let error = answers.iter().find(|(kind, _)| *kind == b'E').expect("an error");
        assert_eq!(code_of(&error.1).as_deref(), Some(code), "{statement}");
        assert!(answers.iter().all(|(kind, _)| *kind != b'G'), "{statement}");
    }
    raw.send(&message(b'Q', b"ROLLBACK\0"));
    raw.until(b'Z');
    let header = "COPY t FROM STDIN (FORMAT csv, HEADER MATCH)";
    let ended = copy_in(&mut raw, header, &[b"n,v,name\n1,1,a\n"]);
    assert!(outcome(&ended).starts_with("22P04: line 1"), "{}", outcome(&ended));
    assert_eq!(outcome(&copy_in(&mut raw, header, &[b"n,name,v\n1,a,1\n"])), "COPY 1");
    let some = "COPY t (v, n) FROM STDIN";
    assert_eq!(outcome(&copy_in(&mut raw, some, &[b"5\t2\n\\.\n"])), "COPY 1");
    assert_eq!(door.rows(&door.client(), "SELECT n, name, v FROM t"), ["1|a|1", "2|NULL|5"]);
}

#[test]
fn only_writers_copy_rows_in() {
    let line = |name: &str, access| Users::line(name, access, "x").expect("a line");
    let users = [line("rob", Access::Read), line("ann", Access::Admin)].join("\n");
    let users = Some(Users::parse(&users).expect("users"));
    let door = Door::with(Config { users, ..Config::default() });
    let client = |user: &str| door.try_client(user, Some("x")).expect("a session");
    door.rows(&client("ann"), "CREATE TABLE t (name STRING, v I64, ROW KEY (n I64))");
    assert_eq!(door.error(&client("rob"), "COPY t FROM STDIN"), "42501");
}

#[test]
fn copy_is_given_up_and_cancelled() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    let begin = |raw: &mut Raw, text: &str| {
        raw.send(&message(b'Q', format!("{text}\0").as_bytes()));
        raw.until(b'G');
    };
    begin(&mut raw, "COPY t FROM STDIN csv");
    raw.send(&[message(b'd', b"1,a,1\n"), message(b'f', b"no more\0")].concat());
    let ended = outcome(&raw.until(b'Z'));
    assert!(ended.starts_with("57014: ") && ended.contains("no more"), "{ended}");
    // A cancel while nothing comes.
    begin(&mut raw, "COPY t FROM STDIN csv");
    let client = door.client();
    let pid = "SELECT pid FROM halite.queries WHERE state = 'running' AND query LIKE 'COPY%'";
    let pid = door.rows(&client, pid).pop().expect("a running COPY");
    assert_eq!(door.rows(&client, &format!("SELECT pg_cancel_backend({pid})")), ["t"]);
    let ended = outcome(&raw.until(b'Z'));
    assert_eq!(
        ended,
        "57014: the statement was cancelled by its user; 0 row(s) were written before"
    );
    // What the client sends meanwhile belongs to no statement.
    raw.send(&[message(b'd', b"1,a,1\n"), message(b'c', b"")].concat());
    raw.send(&message(b'Q', b"SET statement_timeout = 2000\0"));
    raw.until(b'Z');
    begin(&mut raw, "COPY t FROM STDIN csv");
    assert!(outcome(&raw.until(b'Z')).starts_with("57014: "));
    raw.send(&message(b'Q', b"SET statement_timeout = 0\0"));
    raw.until(b'Z');
    // Another message ends the session.
    begin(&mut raw, "COPY t FROM STDIN csv");
    raw.send(&message(b'Q', b"SELECT 1\0"));
    assert_eq!(raw.error_at_end().as_deref(), Some("08P01"));
    assert_eq!(door.rows(&client, "SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn extended_protocol_copies_too() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    let execute = |text: &str| {
        let parse = message(b'P', format!("\0{text}\0\0\0").as_bytes());
        let bind = message(b'B', b"\0\0\0\0\0\0\0\0");
        [parse, bind, message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat()
    };
    // As tokio-postgres does: its Sync comes before the rows, and is passed over.
    raw.send(&execute("COPY t FROM STDIN csv"));
    raw.until(b'G');
    raw.send(&[message(b'd', b"1,a,1\n2,"), message(b'd', b"b,2"), message(b'c', b"")].concat());
    raw.send(&message(b'S', b""));
    assert_eq!(outcome(&raw.until(b'Z')), "COPY 2");
    raw.send(&execute("COPY t FROM STDIN csv"));
    raw.until(b'G');
    raw.send(&[message(b'd', b"3,c,3\nx,"), message(b'd', b"d,4\n"), message(b'c', b"")].concat());
    raw.send(&message(b'S', b""));
    assert!(outcome(&raw.until(b'Z')).starts_with("22P02: line 2, column n: "));
    raw.send(&execute("COPY t TO STDOUT csv"));
    assert_eq!(copied(&raw.until(b'Z')), b"1,a,1\n2,b,2\n3,c,3\n");
}

#[test]
fn malformed_binary_rows_are_errors() {
    let door = Door::with_rows(0);
    let mut raw = Raw::session(&door);
    let head = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
    let row = b"\0\x03\0\0\0\x08\0\0\0\0\0\0\0\x01\xff\xff\xff\xff\0\0\0\x08\0\0\0\0\0\0\0\x02";
    let other = b"\0\x03\0\0\0\x08\0\0\0\0\0\0\0\x09\xff\xff\xff\xff\xff\xff\xff\xff";
    for (bytes, code) in [
        ([&head[..], row, b"\xff\xff"].concat(), "COPY 1"),
        (b"1,a,1\n".to_vec(), "22P04"),
        // Without the mark of the end, as pgx ends it.
        ([&head[..], other].concat(), "COPY 1"),
        (other.to_vec(), "22P04"),
        ([&head[..], &other[..9]].concat(), "22P04"),
        ([&head[..], b"\0\x02\0\0\0\0"].concat(), "22P04"),
        ([&head[..], b"\xff\xffx"].concat(), "22P04"),
        ([&head[..], b"\0\x03\x7f\xff\xff\xff"].concat(), "22P04"),
        ([&head[..], b"\0\x03\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0"].concat(), "22P04"),
        ([&head[..15], b"\0\0\0\x04xxxx"].concat(), "22P04"),
    ] {
        let ended = outcome(&copy_in(&mut raw, "COPY t FROM STDIN BINARY", &[&bytes]));
        assert!(ended.starts_with(code), "{bytes:?}: {ended}");
    }
}
