//! Histories from outside.
#![allow(clippy::unwrap_used, reason = "tests are short and fail by panic")]

use halite::rowkey::Page;
use halite::rowkey::typed::TsMillis;
use user_ops::{History, Operation, OperationKey, PageRequest, user_id};

fn operation(user: &str, at_ms: i64, sequence: u32) -> Operation {
    let user = user_id(user).unwrap();
    Operation { user, at_ms, sequence, kind: "login".to_owned(), detail: String::new() }
}

#[test]
fn k26_times_between_two_are_returned_newest_first() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let history = History::open(&store, "user_ops").unwrap();
    let recorded: Vec<_> = (0..6).map(|hour| operation("12345", hour * 100, 0)).collect();
    history.record(&recorded).unwrap();
    history.record(&recorded[..2]).unwrap();
    history.record(&[operation("612345", 200, 0), operation("12345", 200, 1)]).unwrap();
    let read = |at_ms, limit, after| {
        history.page("00012345", &PageRequest { at_ms, limit, after }).unwrap()
    };
    let times = |page: &Page<Operation>| -> Vec<(i64, u32)> {
        page.items.iter().map(|found| (found.at_ms, found.sequence)).collect()
    };
    assert_eq!(times(&read(100..300, 10, None)), [(200, 0), (200, 1), (100, 0)]);
    let first = read(0..i64::MAX, 3, None);
    assert_eq!(times(&first), [(500, 0), (400, 0), (300, 0)]);
    assert_eq!(times(&read(0..i64::MAX, 2, first.next)), [(200, 0), (200, 1)]);
}

#[test]
fn ids_of_other_lengths_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let history = History::open(&store, "user_ops").unwrap();
    let short = Operation { user: "12345".to_owned(), ..operation("1", 5, 0) };
    let error = history.record(&[operation("1", 5, 0), short]).unwrap_err().to_string();
    assert!(error.contains("use an id from user_id"), "{error}");
}

#[test]
fn ids_have_one_length() {
    assert_eq!(user_id("12345").unwrap(), "00012345");
    assert_eq!(user_id("N14228").unwrap(), "00N14228");
    for name in ["", "123456789", "\u{e9}"] {
        assert!(user_id(name).is_err(), "{name}");
    }
}

#[test]
fn k25_key_begins_with_reversed_user() {
    let key = OperationKey {
        user_id: user_id("12345").unwrap().into(),
        ts: TsMillis(1_710_460_800_000),
        sequence: 7,
    };
    let expected = b"54321000\x7f\xff\xfe\x71\xc0\x97\x73\xff\x00\x00\x00\x07";
    assert_eq!(&key.encode().unwrap()[..], expected);
}
