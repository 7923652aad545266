//! Logs from outside.
#![allow(clippy::unwrap_used, reason = "tests are short and fail by panic")]

use logs::{Found, Layout, Line, Logs, Question};

const T0: i64 = 1_710_460_800_000;

fn line(host: &str, event: &str, second: i64, sequence: u32) -> Line {
    let message = format!("{host} {event} {second} {sequence}");
    let (host, event) = (host.to_owned(), event.to_owned());
    Line { host, event, at_ms: T0 + second * 1_000, sequence, message }
}

#[test]
fn k30_a_quarter_of_an_hour_is_a_row_with_900_columns() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let logs = Logs::open(&store, "logs").unwrap();
    let lines: Vec<_> = (0..900).map(|second| line("web-1", "http", second, 0)).collect();
    logs.write(&lines).unwrap();
    let host = Some("web-1".to_owned());
    let all = Question { host, event: Some("http".to_owned()), at_ms: T0..T0 + 900_000 };
    for (layout, rows) in [(Layout::Host, 900), (Layout::Code, 900), (Layout::Quarter, 1)] {
        let found = logs.read(layout, &all).unwrap();
        assert_eq!((found.lines.len(), found.examined), (900, rows), "{layout:?}");
        assert!(found.lines.iter().eq(lines.iter().rev()));
    }
}

#[test]
fn names_of_another_program_are_found_by_their_codes() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let reader = Logs::open(&store, "logs").unwrap();
    let of = |host: &str| Question { host: Some(host.to_owned()), event: None, at_ms: 0..i64::MAX };
    let everything = Question { at_ms: 0..i64::MAX, ..Question::default() };
    assert_eq!(reader.read(Layout::Code, &of("web-1")).unwrap(), Found::default());
    let writer = Logs::open(&store, "logs").unwrap();
    let lines = [line("web-1", "http", 2, 0), line("web-10", "http.error", 1, 0)];
    writer.write(&lines).unwrap();
    assert_eq!(reader.read(Layout::Code, &everything).unwrap().lines, lines);
    assert_eq!(reader.read(Layout::Code, &of("web-1")).unwrap().lines, lines[..1]);
    assert_eq!(reader.read(Layout::Code, &of("web-2")).unwrap(), Found::default());
}
