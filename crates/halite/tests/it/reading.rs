//! Gets and scans: order, ranges, versions, limits, batches, snapshots.

use std::sync::Arc;

use halite::{ErrorKind, Filter, Get, Put, Scan, ScanMeter, TimeRange};
use halite_engine::env::sim::SimEnv;

use crate::{format_row, keys, store};

#[test]
fn m02_rows_are_returned_in_unsigned_byte_order() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for key in [&b"b"[..], b"a", b"B", b"10", b"9", b"\xff", b"\x00"] {
        table.put(Put::new(key.to_vec()).add("f", "q", "v")).unwrap();
    }
    let seen = |scan| table.scan(scan).map(|row| row.unwrap().key().to_vec()).collect::<Vec<_>>();
    let sorted: Vec<Vec<u8>> =
        [&b"\x00"[..], b"10", b"9", b"B", b"a", b"b", b"\xff"].map(<[u8]>::to_vec).into();
    assert_eq!(seen(Scan::all()), sorted);
    let reversed: Vec<Vec<u8>> = sorted.iter().rev().cloned().collect();
    assert_eq!(seen(Scan::all().reverse(true)), reversed);
    store.flush("t").unwrap();
    assert_eq!(seen(Scan::all()), sorted);
    assert_eq!(seen(Scan::all().reverse(true)), reversed);
}

#[test]
fn meter_counts_rows_that_a_filter_leaves_out_and_ends_the_scan() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for i in 0..200 {
        table.put(Put::new(format!("k{i:03}")).add("f", "q", "v")).unwrap();
        if i == 100 {
            store.flush("t").unwrap();
        }
    }
    let none = || {
        let filter = Filter::parse_bytes(b"SingleColumnValueFilter('f', 'q', =, 'binary:w')");
        Scan::all().filter(filter.unwrap())
    };
    let read = |scan: Scan| {
        table.scan(scan).map(|row| row.map(|_| ())).collect::<halite::Result<Vec<()>>>()
    };
    let meter = Arc::new(ScanMeter::default());
    assert!(read(none().meter(Arc::clone(&meter))).unwrap().is_empty());
    assert_eq!(meter.examined(), 200);
    // Another scan of the same question.
    assert_eq!(read(Scan::all().limit(3).meter(Arc::clone(&meter))).unwrap().len(), 3);
    assert_eq!(meter.examined(), 203);
    let least = Arc::new(ScanMeter::new(100));
    let error = read(none().meter(Arc::clone(&least))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    assert!(least.is_exceeded());
    meter.stop();
    assert_eq!(read(none().meter(meter)).unwrap_err().kind(), ErrorKind::Stopped);
}

#[test]
fn m01_columns_of_a_row_are_returned_in_byte_order() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let name = "\u{5f20}\u{4e09}";
    let put = Put::new("user_12345").add("f", "name", name).add("f", "age", "30");
    table.put(put.add("f", "email", "zhangsan@example.com")).unwrap();
    let row = table.get(Get::new("user_12345")).unwrap();
    let qualifiers: Vec<&[u8]> = row.iter().map(|cell| cell.qualifier()).collect();
    assert_eq!(qualifiers, [&b"age"[..], b"email", b"name"]);
    assert_eq!(row.value("f", "name"), Some(&b"\xe5\xbc\xa0\xe4\xb8\x89"[..]));
}

#[test]
fn m05_condition_on_a_column_examines_every_row_and_a_key_one() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for user in 0..100 {
        let city = format!("city {}", user % 10);
        table.put(Put::new(format!("user_{user:03}")).add("f", "city", city)).unwrap();
    }
    let examined = || -> u64 {
        let status = store.cluster_status().unwrap();
        status.regions.iter().map(|region| region.rows_examined).sum()
    };
    for flushed in [false, true] {
        if flushed {
            store.flush("t").unwrap();
        }
        let before = examined();
        let text = b"SingleColumnValueFilter('f', 'city', =, 'binary:city 7')";
        let filter = Filter::parse_bytes(text).unwrap();
        assert_eq!(table.scan(Scan::all().filter(filter)).count(), 10);
        assert_eq!(examined() - before, 100);
        assert!(table.exists(Get::new("user_007")).unwrap());
        assert_eq!(examined() - before, 101);
    }
}

#[test]
fn m06_get_of_missing_row_is_empty_and_no_error() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    table.put(Put::new("user_1").add("f", "q", "v")).unwrap();
    for flushed in [false, true] {
        if flushed {
            store.flush("t").unwrap();
        }
        assert_eq!(table.get(Get::new("user_1")).unwrap().value("f", "q"), Some(&b"v"[..]));
        // Neither a prefix of the key nor a key after it is the row.
        for missing in ["user_", "user_10", "user_2"] {
            assert!(table.get(Get::new(missing)).unwrap().is_empty(), "{missing}");
        }
    }
}

#[test]
fn range_limit_and_direction_agree_across_storage_layouts() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for i in (0..100).step_by(2) {
        table.put(Put::new(format!("k{i:02}")).add("f", "q", "v")).unwrap();
    }
    store.flush("t").unwrap();
    let region = table.regions().unwrap()[0].encoded_name.clone();
    store.engine().split_region(&region, Some("k50".into())).unwrap();
    for i in (1..100).step_by(2) {
        table.put(Put::new(format!("k{i:02}")).add("g", "q", "v")).unwrap();
    }
    let all: Vec<String> = (0..100).map(|i| format!("k{i:02}")).collect();
    assert_eq!(table.regions().unwrap().len(), 2);
    for (from, to) in
        [(0, 100), (10, 20), (45, 55), (50, 51), (49, 50), (99, 100), (0, 50), (50, 100)]
    {
        let key = |i: usize| format!("k{i:02}");
        let scan = || Scan::range(key(from), if to == 100 { "l".into() } else { key(to) });
        assert_eq!(keys(&table, scan()), all[from..to], "{from}..{to}");
        let backwards: Vec<String> = all[from..to].iter().rev().cloned().collect();
        assert_eq!(keys(&table, scan().reverse(true)), backwards, "{from}..{to} backwards");
        assert_eq!(keys(&table, scan().limit(3)), all[from..to.min(from + 3)]);
        assert_eq!(
            keys(&table, scan().reverse(true).limit(3)),
            backwards[..backwards.len().min(3)]
        );
        assert_eq!(keys(&table, scan().max_result_bytes(1)), all[from..to]);
    }
    assert_eq!(keys(&table, Scan::all().start_exclusive("k97")), ["k98", "k99"]);
    assert_eq!(keys(&table, Scan::all().start("k97").stop_inclusive("k98")), ["k97", "k98"]);
    assert_eq!(
        keys(&table, Scan::all().start("k49").stop_inclusive("k50").reverse(true)),
        ["k50", "k49"]
    );
    assert_eq!(keys(&table, Scan::range("k20", "k10")), [""; 0]);
    assert_eq!(keys(&table, Scan::prefix("k4")), all[40..50]);
}

/// As HBase 2.6.4 does, found by the differential fuzzer: the filter ends the region's response;
/// only an empty response ends the scan.
#[test]
fn filter_can_end_scan_without_returning_row() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for (row, qualifier) in [("a", "x"), ("b", "stop"), ("m", "x"), ("n", "stop"), ("o", "x")] {
        table.put(Put::new(row).add("f", qualifier, "v")).unwrap();
    }
    store
        .engine()
        .split_region(&table.regions().unwrap()[0].encoded_name.clone(), Some("m".into()))
        .unwrap();
    let scan = || {
        let no_stop = Filter::parse_bytes(b"WHILE QualifierFilter(!=, 'binary:stop')").unwrap();
        Scan::all().filter(no_stop)
    };
    assert_eq!(keys(&table, scan()), ["a", "m"]);
    assert_eq!(keys(&table, scan().start("b")), [""; 0]);
    assert_eq!(keys(&table, scan().reverse(true)), ["o"]);
}

#[test]
fn versions_time_ranges_and_family_limits() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for stamp in 1..=5 {
        table
            .put(
                Put::new("r")
                    .add_at("f", "q", stamp, format!("v{stamp}"))
                    .add_at("f", "p", stamp, "x"),
            )
            .unwrap();
    }
    table.put(Put::new("r").add_at("g", "q", 9, "g")).unwrap();
    let get = || Get::new("r");
    assert_eq!(format_row(&table.get(get()).unwrap()), ["f:p@5=x", "f:q@5=v5", "g:q@9=g"]);
    assert_eq!(
        format_row(&table.get(get().column("f", "q").all_versions()).unwrap()),
        ["f:q@5=v5", "f:q@4=v4", "f:q@3=v3"]
    );
    assert_eq!(
        format_row(&table.get(get().column("f", "q").versions(2)).unwrap()),
        ["f:q@5=v5", "f:q@4=v4"]
    );
    assert_eq!(
        format_row(
            &table.get(get().family("f").time_range(TimeRange::new(2, 4).unwrap())).unwrap()
        ),
        ["f:p@3=x", "f:q@3=v3"]
    );
    assert_eq!(
        format_row(&table.get(get().all_versions().family_limit(2).family_offset(1)).unwrap()),
        ["f:p@4=x", "f:p@3=x"]
    );
    assert_eq!(
        format_row(&table.get(get().family_time_range("g", TimeRange::at(1).unwrap())).unwrap()),
        ["f:p@5=x", "f:q@5=v5"]
    );
    assert_eq!(
        format_row(&table.get(get().filter(Filter::KeyOnly(false)).family("g")).unwrap()),
        ["g:q@9="]
    );
    assert!(!table.exists(Get::new("absent")).unwrap());
}

#[test]
fn wide_row_is_returned_in_batches() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let put = (0..10).fold(Put::new("r"), |put, i| put.add_at("f", format!("q{i}"), 1, "v"));
    table.put((0..3).fold(put, |put, i| put.add_at("g", format!("q{i}"), 1, "v"))).unwrap();
    table.put(Put::new("s").add_at("f", "q", 1, "v")).unwrap();
    let pieces: Vec<(Vec<u8>, usize)> = table
        .scan(Scan::all().batch(4))
        .map(|row| row.unwrap())
        .map(|row| (row.key().to_vec(), row.len()))
        .collect();
    let r = |cells| (b"r".to_vec(), cells);
    assert_eq!(pieces, [r(4), r(4), r(4), r(1), (b"s".to_vec(), 1)]);
    let limited: usize =
        table.scan(Scan::all().batch(4).limit(1)).map(|row| row.unwrap().len()).sum();
    assert_eq!(limited, 13, "the limit counts rows, not partial rows");
    // Also if the last partial row is full.
    table.delete(halite::Delete::new("r").column("g", "q2")).unwrap();
    for (batch, bytes) in [(4, 2 << 20), (6, 2 << 20), (12, 2 << 20), (4, 1)] {
        let limited: usize = table
            .scan(Scan::all().batch(batch).limit(1).max_result_bytes(bytes))
            .map(|row| row.unwrap().len())
            .sum();
        assert_eq!(limited, 12, "batch {batch}");
    }
}

#[test]
fn scan_sees_its_read_point_despite_concurrent_changes() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for i in 0..50 {
        table.put(Put::new(format!("k{i:02}")).add_at("f", "q", 1, "old")).unwrap();
    }
    let mut rows = table.scan(Scan::all().max_result_bytes(1));
    let first = rows.next().unwrap().unwrap();
    assert_eq!(format_row(&first), ["f:q@1=old"]);
    for i in 0..50 {
        table
            .put(Put::new(format!("k{i:02}")).add_at("f", "q", 2, "new").add("g", "q", "new"))
            .unwrap();
    }
    store.flush("t").unwrap();
    for i in 0..50 {
        table.delete(halite::Delete::new(format!("k{i:02}"))).unwrap();
    }
    store.compact("t", None, halite::CompactionKind::Major).unwrap();
    let rest: Vec<_> = rows.map(|row| format_row(&row.unwrap())).collect();
    assert_eq!(rest, vec![vec!["f:q@1=old".to_owned()]; 49]);
    assert_eq!(table.scan(Scan::all()).count(), 0);
}

#[test]
fn scan_limit_counts_partial_rows_once() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    for row in ["a", "b", "c"] {
        for value in ["old", "new"] {
            table.put(Put::new(row).add("f", "1", value).add("f", "2", value)).unwrap();
        }
    }
    for (batch, limit, expected) in
        [(2, 1, "a"), (1, 1, "aa"), (1, 2, "aabb"), (2, 2, "ab"), (3, 2, "ab"), (1, 9, "aabbcc")]
    {
        let rows: String = table
            .scan(Scan::all().batch(batch).limit(limit))
            .map(|row| String::from_utf8(row.unwrap().key().to_vec()).unwrap())
            .collect();
        assert_eq!(rows, expected, "batch {batch}, limit {limit}");
    }
}
