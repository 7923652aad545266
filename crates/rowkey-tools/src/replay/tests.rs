//! Replays of loads whose result under another key is known.

use bytes::Bytes;
use halite_rowkey::schema::KeySchema;

use super::*;

fn key(text: &str) -> KeySchema {
    text.parse().unwrap()
}

fn encoded(key: &KeySchema, values: &[&str]) -> Bytes {
    let values = key.parse_values(values.iter().copied()).unwrap();
    Bytes::copy_from_slice(&key.encode(&values).unwrap())
}

fn options() -> ReplayOptions {
    ReplayOptions { boundaries: Vec::new(), assumed_regions: 16, counts_reads: false, seed: 7 }
}

fn write(time_ms: i64, row: Bytes) -> RecordedCall {
    RecordedCall { time_ms, is_read: false, row, stop: None, statement: "put d".into(), weight: 1 }
}

/// Rising order numbers, 100 per second.
fn frontier(from: &KeySchema) -> Vec<RecordedCall> {
    (0..40_000_i64).map(|at| write(at * 10, encoded(from, &[&format!("order_id={at}")]))).collect()
}

#[test]
fn salt_heals_frontier() {
    let from = key("ROW KEY (order_id U64)");
    let to = key("ROW KEY (SALT(16 BY order_id), order_id U64)");
    let calls = frontier(&from);
    let rekeyer = Rekeyer::new(&from, &to, 7).unwrap();
    let replay = replay(&calls, &rekeyer, &options()).unwrap();
    let (now, then) = &replay.skew;
    assert!(now.window_p99 > 15.0 && now.effective_regions < 1.5, "{now:?}");
    assert!(then.window_p99 < 1.6 && then.effective_regions > 14.0, "{then:?}");
    let interval = then.window_interval.unwrap();
    assert!(interval.low <= then.window_p99 && then.window_p99 <= interval.high);
    assert_eq!((replay.operations, replay.misfits, replay.is_assumed), (40_000, 0, true));
    assert!((replay.key_bytes.1 - replay.key_bytes.0 - 1.0).abs() < 1e-9, "one byte of salt");
    assert_eq!((replay.ranges, replay.worse.len()), (None, 0), "nothing was read");
    let shapes = (replay.verdicts.0.shape, replay.verdicts.1.shape);
    assert_eq!(shapes, (halite_heat::Shape::Frontier, halite_heat::Shape::Even));
}

/// A sampled operation is a part of the load that it is the sample of.
#[test]
fn sampled_operation_counts_as_all_of_its_sample() {
    let from = key("ROW KEY (id U32)");
    let to = key("ROW KEY (SALT(4 BY id), id U32)");
    let calls: Vec<RecordedCall> = (0..4000_i64)
        .map(|at| {
            let weight = if at % 4 == 0 { 5 } else { 1 };
            RecordedCall { weight, ..write(at * 10, encoded(&from, &[&format!("id={}", at % 4)])) }
        })
        .collect();
    let boundaries = (1..4).map(|id| encoded(&from, &[&format!("id={id}")])).collect();
    let rekeyer = Rekeyer::new(&from, &to, 7).unwrap();
    let options = ReplayOptions { boundaries, ..options() };
    let found = replay(&calls, &rekeyer, &options).unwrap();
    assert!((found.skew.0.window_p99 - 2.5).abs() < 0.01, "5 of 8: {:?}", found.skew.0);
    assert_eq!(found.verdicts.0.shape, halite_heat::Shape::HotRow, "{:?}", found.verdicts.0);
}

#[test]
fn scan_over_salted_field_gets_worse() {
    let from = key("ROW KEY (device STRING, ts TIMESTAMP)");
    let to = key("ROW KEY (SALT(16), device STRING, ts TIMESTAMP)");
    let mut calls = Vec::new();
    for at in 0..300 {
        let device = format!("device=s{:03}", at % 50);
        let row = encoded(&from, &[&device, &format!("ts={}", 1_700_000_000_000_i64 + at)]);
        let prefix = row.slice(..row.len() - 8);
        let mut stop = prefix.to_vec();
        *stop.last_mut().unwrap() += 1;
        calls.push(write(at * 50, row.clone()));
        calls.push(RecordedCall { is_read: true, statement: "get d".into(), ..write(at, row) });
        calls.push(RecordedCall {
            is_read: true,
            stop: Some(stop.into()),
            statement: "scan d".into(),
            ..write(at * 50, prefix)
        });
    }
    let rekeyer = Rekeyer::new(&from, &to, 7).unwrap();
    let replay = replay(&calls, &rekeyer, &options()).unwrap();
    let worse: Vec<(&str, f64, bool)> = replay
        .worse
        .iter()
        .map(|query| (query.statement.as_str(), query.ranges, query.reads_all))
        .collect();
    assert_eq!(worse, [("scan d", 16.0, false)], "a get knows the salt of its row");
    let by_device = key("ROW KEY (SALT(16 BY device), device STRING, ts TIMESTAMP)");
    let rekeyer = Rekeyer::new(&from, &by_device, 7).unwrap();
    assert!(super::replay(&calls, &rekeyer, &options()).unwrap().worse.is_empty());
    let swapped = key("ROW KEY (ts TIMESTAMP, device STRING)");
    let rekeyer = Rekeyer::new(&from, &swapped, 7).unwrap();
    let worse = super::replay(&calls, &rekeyer, &options()).unwrap().worse;
    assert!(worse.len() == 1 && worse[0].reads_all, "{worse:?}");
}

#[test]
fn rows_of_no_schema_are_counted_apart() {
    let from = key("ROW KEY (id U32)");
    let to = key("ROW KEY (SALT(16 BY id), id U32)");
    let mut calls: Vec<RecordedCall> =
        (0..200).map(|at| write(at, encoded(&from, &[&format!("id={at}")]))).collect();
    calls.extend((0..5).map(|at| write(at, Bytes::from_static(b"no number"))));
    let rekeyer = Rekeyer::new(&from, &to, 7).unwrap();
    let found = replay(&calls, &rekeyer, &options()).unwrap();
    assert_eq!((found.operations, found.misfits), (200, 5));
    let error = replay(&calls[200..], &rekeyer, &options()).unwrap_err();
    assert!(error.contains("none of the 5"), "{error}");
    assert!(Rekeyer::new(&from, &key("ROW KEY (other U32)"), 7).is_err());
}

#[test]
fn rows_that_cannot_be_divided_are_uneven() {
    let from = key("ROW KEY (id U32, kind U8)");
    let to = key("ROW KEY (kind U8, id U32)");
    // One row has all writes: no boundary divides them, whatever the key.
    let row = encoded(&from, &["id=7", "kind=1"]);
    let calls: Vec<RecordedCall> = (0..200).map(|at| write(at, row.clone())).collect();
    let rekeyer = Rekeyer::new(&from, &to, 7).unwrap();
    let (now, then) = replay(&calls, &rekeyer, &options()).unwrap().skew;
    for skew in [now, then] {
        assert_eq!((skew.window_p99, skew.effective_regions, skew.regions), (16.0, 1.0, 16));
    }
}

#[test]
fn whole_scan_stays_one_scan() {
    let from = key("ROW KEY (id U32)");
    let to = key("ROW KEY (SALT(16 BY id), id U32)");
    let mut calls: Vec<RecordedCall> =
        (0..200).map(|at| write(at, encoded(&from, &[&format!("id={at}")]))).collect();
    calls.push(RecordedCall {
        is_read: true,
        stop: Some(Bytes::new()),
        statement: "scan".into(),
        ..write(5, Bytes::new())
    });
    let rekeyer = Rekeyer::new(&from, &to, 7).unwrap();
    let found = replay(&calls, &rekeyer, &options()).unwrap();
    assert_eq!((found.ranges, found.worse.len(), found.misfits), (Some((1.0, 1.0)), 0, 0));
}

#[test]
fn candidates_are_keys_with_the_same_fields() {
    for text in [
        "ROW KEY (order_id U64)",
        "ROW KEY (device STRING, ts TIMESTAMP DESC)",
        "ROW KEY (SALT(8 BY device), device STRING, ts TIMESTAMP)",
        "ROW KEY (row BYTES)",
    ] {
        let from = key(text);
        let found = candidates(&from);
        assert!(found.len() >= 3, "{text}: {found:?}");
        for candidate in found {
            let printed = candidate.key.to_text();
            assert_ne!(printed, from.to_text());
            Rekeyer::new(&from, &printed.parse().unwrap(), 1).unwrap();
        }
    }
    assert!(!candidates(&opaque_key()).is_empty());
}
