//! Bytes that no client sends, clients that stall, and limits.

use std::io::Write as _;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use halite_pg::Limits;

use crate::door::{Door, PATIENT_STOP};
use crate::raw::{Raw, code_of, message, startup};

/// Returns the codes of the errors among answers.
fn codes(answers: &[(u8, Vec<u8>)]) -> Vec<String> {
    answers.iter().filter(|(kind, _)| *kind == b'E').filter_map(|(_, body)| code_of(body)).collect()
}

#[test]
fn bytes_that_are_no_protocol_end_the_connection_only() {
    let door = Door::new();
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        &[0xff; 64],
        &[0; 64],
        b"\0\0\0\x08\0\x02\0\0",
        b"\0\0\0\x08\0\x03\0\0",
        b"\0\0\0\x04",
        b"\0\0\0\x09\0\x03\0\0\0",
    ] {
        let mut raw = Raw::connect(&door);
        raw.send(bytes);
        let _ = raw.socket.shutdown(Shutdown::Write);
        let _ = raw.error_at_end();
    }
    // Still there for others.
    assert_eq!(door.rows(&door.client(), "SELECT 1"), ["1"]);
}

#[test]
fn malformed_messages_end_the_session_with_a_reason() {
    let door = Door::new();
    for bytes in [
        message(b'?', b""),
        message(b'Q', b"no end"),
        message(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"),
        message(b'B', b"\0\0\0\0\xff\xff\0\0"),
        message(b'P', b"\0SELECT 1\0\xff\xff"),
        message(b'E', b"\0\0"),
        message(b'D', b"X\0"),
        message(b'p', b"secret\0"),
        b"Q\0\0\0\x03".to_vec(),
        b"Q\xff\xff\xff\xff".to_vec(),
    ] {
        let mut raw = Raw::session(&door);
        raw.send(&bytes);
        assert_eq!(raw.error_at_end().as_deref(), Some("08P01"), "{bytes:?}");
    }
    assert_eq!(door.rows(&door.client(), "SELECT 1"), ["1"]);
}

#[test]
fn text_that_is_not_utf8_is_an_error_of_its_statement() {
    let door = Door::new();
    let mut raw = Raw::session(&door);
    let code = |answers: &[(u8, Vec<u8>)]| {
        let error = answers.iter().find(|(kind, _)| *kind == b'E').expect("an error");
        String::from_utf8_lossy(&error.1).contains("C22021\0")
    };
    raw.send(&message(b'Q', b"SELECT '\xff'\0"));
    assert!(code(&raw.until(b'Z')));
    // A series is passed over up to its Sync.
    let parse = message(b'P', b"\0SELECT '\xff'\0\0\0");
    raw.send(&[parse, message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat());
    assert!(code(&raw.until(b'Z')));
    raw.send(&message(b'Q', b"SELECT 1\0"));
    assert!(raw.until(b'Z').iter().any(|(kind, _)| *kind == b'D'));
}

#[test]
fn every_beginning_and_every_changed_byte_of_a_series_is_survived() {
    let door = Door::new();
    let parse = message(b'P', b"s\0SELECT $1::bigint\0\0\x01\0\0\0\x14");
    let bind = message(b'B', b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x05\0\x01\0\x01");
    let rest = [message(b'D', b"Pp\0"), message(b'E', b"p\0\0\0\0\0"), message(b'S', b"")].concat();
    let series = [parse, bind, rest].concat();
    let mut raw = Raw::session(&door);
    raw.send(&series);
    let answers = raw.until(b'Z');
    let kinds: Vec<u8> = answers.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, b"12TDCZ");
    assert_eq!(answers[3].1, b"\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x05");
    for at in (0..series.len()).step_by(3) {
        let mut changed = series.clone();
        changed[at] ^= 0x55;
        for bytes in [&series[..at], &changed] {
            let mut raw = Raw::session(&door);
            raw.send(bytes);
            let _ = raw.socket.shutdown(Shutdown::Write);
            let _ = raw.error_at_end();
        }
    }
    assert_eq!(door.rows(&door.client(), "SELECT 1"), ["1"]);
}

#[test]
fn statement_and_message_have_limits() {
    let door = Door::new();
    let mut raw = Raw::session(&door);
    // Over the limit of a statement: an error, and the session continues.
    let long = format!("SELECT '{}'\0", "x".repeat((1 << 20) + 1));
    raw.send(&message(b'Q', long.as_bytes()));
    assert_eq!(codes(&raw.until(b'Z')), ["54000"]);
    // Over the limit of a message: passed over.
    raw.send(&message(b'Q', &vec![b'x'; 17 << 20]));
    assert_eq!(codes(&raw.until(b'Z')), ["54000"]);
    raw.send(&[message(b'B', &vec![0; 17 << 20]), message(b'S', b"")].concat());
    assert_eq!(codes(&raw.until(b'Z')), ["54000"]);
    raw.send(&message(b'Q', b"SELECT 1\0"));
    assert!(codes(&raw.until(b'Z')).is_empty());
}

#[test]
fn parameters_have_a_limit() {
    let door = Door::new();
    let mut raw = Raw::session(&door);
    let prepare = |text: &str| {
        [message(b'P', format!("\0{text}\0\0\0").as_bytes()), message(b'S', b"")].concat()
    };
    raw.send(&prepare("SELECT $32768::bigint"));
    assert_eq!(codes(&raw.until(b'Z')), ["42P02"]);
    raw.send(&prepare("SELECT $0"));
    assert_eq!(codes(&raw.until(b'Z')).len(), 1);
    raw.send(&prepare("SELECT $32767::bigint"));
    assert!(codes(&raw.until(b'Z')).is_empty());
}

#[test]
fn bytes_of_statements_and_portals_have_a_limit() {
    let door = Door::with_limits(Limits { max_kept_bytes: 1 << 20, ..Limits::default() });
    let mut raw = Raw::session(&door);
    let parse = |name: &str| {
        let text = format!("{name}\0SELECT $1::text, '{}'\0\0\0", "x".repeat(200_000));
        [message(b'P', text.as_bytes()), message(b'S', b"")].concat()
    };
    for (name, expected) in [("a", &[][..]), ("b", &[]), ("c", &["53200"]), ("", &["53200"])] {
        raw.send(&parse(name));
        assert_eq!(codes(&raw.until(b'Z')), expected, "{name}");
    }
    raw.send(&[message(b'C', b"Sb\0"), parse("d")].concat());
    assert!(codes(&raw.until(b'Z')).is_empty());
    raw.send(&[message(b'C', b"Sd\0"), message(b'S', b"")].concat());
    raw.until(b'Z');
    // Values count as well, for as long as their portal is there.
    let bind = |portal: &str| {
        let value = vec![b'y'; 100_000];
        let body = [portal.as_bytes(), b"\0s\0\0\0\0\x01\0\x01\x86\xa0", &value, b"\0\0"];
        message(b'B', &body.concat())
    };
    raw.send(&message(b'P', b"s\0SELECT $1::text\0\0\0"));
    raw.send(&[(0..9).map(|at| bind(&format!("p{at}"))).collect::<Vec<_>>().concat()].concat());
    raw.send(&message(b'S', b""));
    assert_eq!(codes(&raw.until(b'Z')), ["53200"]);
    raw.send(&[bind("p"), message(b'E', b"p\0\0\0\0\0"), message(b'S', b"")].concat());
    assert!(codes(&raw.until(b'Z')).is_empty());
}

#[test]
fn values_of_prepared_statements_count_as_memory() {
    let limits = Limits { max_kept_bytes: 4 << 20, ..Limits::default() };
    let door = Door::with_limits(limits);
    door.add_rows(0);
    let mut raw = Raw::session(&door);
    // The text is short, and the plan that is kept has an expression for each of 12,000 values.
    let values = vec!["(1,2)"; 6000].join(",");
    let prepare = |name: &str| {
        let text = format!("{name}\0INSERT INTO t (n, v) VALUES {values}\0\0\0");
        [message(b'P', text.as_bytes()), message(b'S', b"")].concat()
    };
    for (name, expected) in [("a", &[][..]), ("b", &["53200"]), ("a", &["42P05"])] {
        raw.send(&prepare(name));
        assert_eq!(codes(&raw.until(b'Z')), expected, "{name}");
    }
    raw.send(&[message(b'C', b"Sa\0"), prepare("b")].concat());
    assert!(codes(&raw.until(b'Z')).is_empty());
}

#[test]
fn cursors_and_portals_that_wait_count_as_memory() {
    let limits = Limits { max_kept_bytes: 4 << 20, ..Limits::default() };
    let door = Door::with_limits(limits);
    door.add_rows(100);
    let client = door.client();
    let declare = |name: &str| format!("DECLARE {name} CURSOR WITH HOLD FOR SELECT n FROM t");
    for name in ["a", "b", "c"] {
        door.rows(&client, &declare(name));
    }
    assert_eq!(door.error(&client, &declare("d")), "53200");
    // One that is at its end, or closed, waits no more.
    assert_eq!(door.rows(&client, "FETCH ALL FROM a").len(), 100);
    door.rows(&client, &declare("d"));
    assert_eq!(door.error(&client, &declare("e")), "53200");
    door.rows(&client, "CLOSE b");
    door.rows(&client, &declare("e"));
    // Portals of the protocol, of which some rows are read.
    let mut raw = Raw::session(&door);
    raw.send(&message(b'Q', b"BEGIN\0"));
    raw.until(b'Z');
    raw.send(&message(b'P', b"s\0SELECT n FROM t\0\0\0"));
    let run = |portal: &str, rows: &[u8]| {
        let bind = message(b'B', format!("{portal}\0s\0\0\0\0\0\0\0").as_bytes());
        let execute = message(b'E', &[portal.as_bytes(), b"\0\0\0\0", rows].concat());
        [bind, execute].concat()
    };
    raw.send(&[run("p", b"\x05"), run("q", b"\x05"), run("r", b"\x05")].concat());
    // What is read to its end counts for nothing.
    raw.send(&[run("", b"\0"), message(b'S', b"")].concat());
    assert!(codes(&raw.until(b'Z')).is_empty());
    raw.send(&[run("u", b"\x05"), message(b'S', b"")].concat());
    assert_eq!(codes(&raw.until(b'Z')), ["53200"]);
    raw.send(&message(b'Q', b"ROLLBACK\0"));
    assert!(codes(&raw.until(b'Z')).is_empty());
}

#[test]
fn prepared_statements_and_portals_have_limits() {
    let door = Door::with_limits(Limits { max_statements: 3, max_portals: 2, ..Limits::default() });
    let mut raw = Raw::session(&door);
    for name in ["a", "b", "c"] {
        raw.send(&message(b'P', format!("{name}\0SELECT 1\0\0\0").as_bytes()));
    }
    raw.send(&[message(b'P', b"d\0SELECT 1\0\0\0"), message(b'S', b"")].concat());
    assert_eq!(codes(&raw.until(b'Z')), ["54000"]);
    for portal in ["p", "q"] {
        raw.send(&message(b'B', format!("{portal}\0a\0\0\0\0\0\0\0").as_bytes()));
    }
    raw.send(&[message(b'B', b"r\0a\0\0\0\0\0\0\0"), message(b'S', b"")].concat());
    assert_eq!(codes(&raw.until(b'Z')), ["54000"]);
    // A statement that is closed leaves its place.
    raw.send(
        &[message(b'C', b"Sa\0"), message(b'P', b"d\0SELECT 1\0\0\0"), message(b'S', b"")].concat(),
    );
    assert!(codes(&raw.until(b'Z')).is_empty());
}

#[test]
fn connections_have_a_limit() {
    let door = Door::with_limits(Limits { max_connections: 2, ..Limits::default() });
    let (one, _two) = (Raw::session(&door), Raw::session(&door));
    let mut third = Raw::connect(&door);
    third.send(&startup(&[("user", "ann")]));
    assert_eq!(third.error_at_end().as_deref(), Some("53300"));
    drop(one);
    // The place is free once the server has seen that the client is gone.
    let started = Instant::now();
    loop {
        let mut raw = Raw::connect(&door);
        let _ = raw.socket.write_all(&startup(&[("user", "ann")]));
        if raw.error_at_end_or(b'Z').is_none() {
            break;
        }
        assert!(started.elapsed() < Duration::from_mins(2), "the place stays taken");
    }
}

#[test]
fn connections_that_do_not_log_in_keep_no_one_out() {
    let limits = Limits { max_connections: 2, max_logins: 4, ..Limits::default() };
    let door = Door::with_limits(limits);
    // More than there are sessions, and less than may log in.
    let mut silent: Vec<Raw> = (0..3).map(|_| Raw::connect(&door)).collect();
    assert_eq!(door.rows(&door.client(), "SELECT 1"), ["1"]);
    // All that may log in: the first of them yields once it has had its time.
    silent.extend((0..3).map(|_| Raw::connect(&door)));
    let started = Instant::now();
    while door.try_client("ann", None).is_err() {
        assert!(started.elapsed() < Duration::from_mins(2), "no one comes in");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(silent[0].answer(), None);
}

#[test]
fn clients_that_stall_are_cut_off() {
    // In front of the login, and within a message. Those that log in have their usual time for it.
    let time = Duration::from_millis(200);
    let door = Door::with_limits(Limits { login: time, ..Limits::default() });
    let mut silent = Raw::connect(&door);
    assert_eq!(silent.answer(), None);
    let door = Door::with_limits(Limits { stall: time, ..Limits::default() });
    let mut within = Raw::session(&door);
    within.send(b"Q\0\0\0\x20SEL");
    assert_eq!(within.error_at_end(), None);
    // Between two messages there is no limit.
    let mut idle = Raw::session(&door);
    std::thread::sleep(Duration::from_millis(500));
    idle.send(&message(b'Q', b"SELECT 1\0"));
    assert!(codes(&idle.until(b'Z')).is_empty());
}

#[test]
fn client_that_takes_no_rows_does_not_hold_the_server() {
    let stall = Duration::from_millis(300);
    let limits = Limits { stall, stop: PATIENT_STOP, ..Limits::default() };
    let mut door = Door::with_limits(limits);
    let mut raw = Raw::session(&door);
    // More than the buffers of both sides hold.
    let text = "SELECT repeat('x', 10000) FROM generate_series(1, 20000)\0";
    raw.send(&message(b'Q', text.as_bytes()));
    std::thread::sleep(Duration::from_secs(1));
    door.stop_in_time();
}

#[test]
fn server_that_stops_tells_its_clients() {
    let mut door = Door::with_rows_and_patient_stop(2000);
    let mut idle = Raw::session(&door);
    let mut busy = Raw::session(&door);
    let heavy = b"SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.v + b.v + c.v < 0\0";
    busy.send(&message(b'Q', heavy));
    std::thread::sleep(Duration::from_millis(300));
    door.stop_in_time();
    assert_eq!(idle.error_at_end().as_deref(), Some("57P01"));
    assert_eq!(busy.error_at_end().as_deref(), Some("57P01"));
}

#[test]
fn client_that_leaves_ends_its_statement() {
    let mut door = Door::with_rows_and_patient_stop(2000);
    let mut raw = Raw::session(&door);
    let heavy = b"SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.v + b.v + c.v < 0\0";
    raw.send(&message(b'Q', heavy));
    std::thread::sleep(Duration::from_millis(300));
    drop(raw);
    std::thread::sleep(Duration::from_millis(500));
    // Nothing is left that has to be waited for.
    door.stop_in_time();
}
