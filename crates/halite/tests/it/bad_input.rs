//! Every invalid request returns an error that contains the cause, the location and the fix, and
//! changes nothing.

use halite::{
    CheckAndMutate, Delete, Error, ErrorKind, FamilyDescriptor, Get, Increment, Put, RowMutations,
    Scan, TableDescriptor, TimeRange,
};
use halite_engine::env::sim::SimEnv;

use crate::{small, store};

#[track_caller]
fn assert_error(error: Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.message().contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn rows_families_timestamps_and_sizes_are_validated() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let put = |put: Put| table.put(put).unwrap_err();
    let invalid = ErrorKind::InvalidRequest;
    assert_error(
        put(Put::new("").add("f", "q", "v")),
        invalid,
        &["row key is empty", "at least one byte"],
    );
    assert_error(
        put(Put::new(vec![b'x'; 32_768]).add("f", "q", "v")),
        invalid,
        &["32768 bytes", "32767", "shorten"],
    );
    table.put(Put::new(vec![b'x'; 32_767]).add("f", "q", "v")).unwrap();
    assert_error(
        put(Put::new("r").add("nope", "q", "v")),
        ErrorKind::NoSuchFamily,
        &["nope", "it has f, g"],
    );
    assert_error(put(Put::new("r").add("a:b", "q", "v")), invalid, &["a:b", "colon"]);
    assert_error(put(Put::new("r").add_at("f", "q", -5, "v")), invalid, &["-5", "negative", "f:q"]);
    assert_error(
        put(Put::new("r").add("f", "q", vec![0; (10 << 20) + 1])),
        invalid,
        &["row r", "f:q", "limit", "max_cell_bytes"],
    );
    assert_error(put(Put::new("r")), invalid, &["row r", "add a column"]);
    assert_error(table.get(Get::new("")).unwrap_err(), invalid, &["row key is empty"]);
    assert_error(table.get(Get::new(vec![b'x'; 32_768])).unwrap_err(), invalid, &["32767"]);
    assert_error(
        table.get(Get::new("r").family("nope")).unwrap_err(),
        ErrorKind::NoSuchFamily,
        &["nope", "f, g"],
    );
    assert_error(
        table.scan(Scan::all().column("nope", "q")).next().unwrap().unwrap_err(),
        ErrorKind::NoSuchFamily,
        &["nope"],
    );
    assert_error(table.get(Get::new("r").versions(0)).unwrap_err(), invalid, &["0 versions"]);
    assert_error(
        table.delete(Delete::new("r").column("nope", "q")).unwrap_err(),
        ErrorKind::NoSuchFamily,
        &["nope"],
    );
    assert_error(table.delete(Delete::new("r").up_to(-1)).unwrap_err(), invalid, &["-1"]);
    assert_error(TimeRange::new(5, 4).unwrap_err(), invalid, &["swap"]);
    assert_error(TimeRange::new(-1, 4).unwrap_err(), invalid, &["negative"]);
    assert_eq!(table.scan(Scan::all()).count(), 1, "only the longest legal row is there");
}

#[test]
fn m03_row_key_has_1_to_32767_bytes() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let longest = vec![b'x'; 32_767];
    table.put(Put::new(longest.clone()).add("f", "q", "v")).unwrap();
    assert_eq!(table.get(Get::new(longest)).unwrap().value("f", "q"), Some(&b"v"[..]));
    for (row, words) in [(vec![b'x'; 32_768], "more than 32767"), (Vec::new(), "at least one byte")]
    {
        let put = table.put(Put::new(row.clone()).add("f", "q", "v")).unwrap_err();
        for error in [put, table.get(Get::new(row)).unwrap_err()] {
            assert_error(error, ErrorKind::InvalidRequest, &[words]);
        }
    }
}

#[test]
fn invalid_read_modify_writes_change_nothing() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    table.put(Put::new("r").add("f", "q", "not a counter")).unwrap();
    let error = table.increment(Increment::new("r").add("f", "q", 1)).unwrap_err();
    assert_error(error, ErrorKind::InvalidRequest, &["row r", "f:q", "13 bytes", "8-byte"]);
    let other = CheckAndMutate::if_not_exists("r", "f", "x", Put::new("s").add("f", "q", "v"));
    assert_error(
        table.check_and_mutate(other).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["row r", "row s", "same row"],
    );
    let mixed = RowMutations::new("r").add(Put::new("r").add("f", "a", "v")).add(Delete::new("s"));
    assert_error(
        table.mutate_row(mixed).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["row r", "row s"],
    );
    let half = RowMutations::new("r")
        .add(Put::new("r").add("f", "a", "v"))
        .add(Put::new("r").add("nope", "a", "v"));
    assert_error(table.mutate_row(half).unwrap_err(), ErrorKind::NoSuchFamily, &["nope"]);
    assert_eq!(table.get(Get::new("r")).unwrap().len(), 1);
}

#[test]
fn invalid_operation_does_not_fail_its_batch() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let ops = vec![
        Put::new("a").add("f", "q", "v").into(),
        Put::new("").add("f", "q", "v").into(),
        Put::new("b").add("nope", "q", "v").into(),
        Increment::new("c").add("f", "n", 1).into(),
        Put::new("d").add("f", "q", "v").into(),
    ];
    let results = table.batch(ops).unwrap();
    assert_eq!(
        results.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, false, true, true]
    );
    assert_eq!(table.scan(Scan::all()).count(), 3);
}

#[test]
fn invalid_table_descriptors_are_rejected() {
    let store = store(&SimEnv::new(1));
    let table =
        |name: &str| TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f"));
    assert_error(
        store.create_table(table("t"), &[]).unwrap_err(),
        ErrorKind::TableExists,
        &["t exists"],
    );
    assert_error(
        store.table("absent").err().unwrap(),
        ErrorKind::NoSuchTable,
        &["absent", "create it"],
    );
    assert_error(
        store.create_table(TableDescriptor::new("x".parse().unwrap()), &[]).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["no family"],
    );
    assert_error(
        store.create_table(table("x"), &[b"5", b"5"]).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["split key 5", "twice"],
    );
    assert_error(
        store.create_table(table("x"), &[b""]).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["split key is empty"],
    );
    let colon = TableDescriptor::new("x".parse().unwrap()).family(FamilyDescriptor::new("a:b"));
    assert_error(
        store.create_table(colon, &[]).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["a:b", "colon"],
    );
    assert_error(
        "a b".parse::<halite::TableName>().unwrap_err(),
        ErrorKind::InvalidRequest,
        &["a b"],
    );
    store.create_table(table("split"), &[b"m"]).unwrap();
    let regions = store.table("split").unwrap().regions().unwrap();
    let split = |region: usize, at: &'static str| {
        store.engine().split_region(&regions[region].encoded_name, Some(at.into())).unwrap_err()
    };
    assert_error(split(0, "z"), ErrorKind::InvalidRequest, &["z", "outside", "'m'"]);
    assert_error(split(1, "m"), ErrorKind::InvalidRequest, &["begins"]);
    assert_error(
        store.engine().split_region("feed", None).unwrap_err(),
        ErrorKind::NoSuchRegion,
        &["feed"],
    );
    assert_error(
        store.engine().split_region(&regions[0].encoded_name, None).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["too little"],
    );
    assert_eq!(store.list_tables().unwrap().len(), 2);
}

#[test]
fn write_to_read_only_table_names_the_attribute() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let descriptor = (*table.descriptor().unwrap()).clone();
    store.alter_table(descriptor.clone().set("READONLY", "true")).unwrap();
    assert_error(
        table.put(Put::new("r").add("f", "q", "v")).unwrap_err(),
        ErrorKind::ReadOnly,
        &["read-only", "READONLY => 'false'"],
    );
    assert_error(
        table.increment(Increment::new("r").add("f", "q", 1)).unwrap_err(),
        ErrorKind::ReadOnly,
        &["read-only"],
    );
    store.alter_table(descriptor).unwrap();
    table.put(Put::new("r").add("f", "q", "v")).unwrap();
}

#[test]
fn inverted_scan_is_empty() {
    let store = store(&SimEnv::new(1));
    let scan = Scan::range("z", "a");
    let why = halite_engine::empty_range_hint(&scan.range).unwrap();
    assert!(why.contains("'z'") && why.contains("'a'"), "{why}");
    assert_eq!(store.table("t").unwrap().scan(scan).count(), 0);
}

#[test]
fn oversized_row_is_rejected_with_alternative_request() {
    let mut options = small();
    options.max_row_bytes = 10_000;
    let store =
        halite::Builder::new().options(options).open_with_env(SimEnv::new(1).env()).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    table
        .put(
            (0..20)
                .fold(Put::new("r"), |put, column| put.add("f", column.to_string(), vec![7; 1000])),
        )
        .unwrap();
    let words =
        ["row size allowed: 10000", "row r", "family f", "fewer of its columns", "max_row_bytes"];
    assert_error(table.get(Get::new("r")).unwrap_err(), ErrorKind::RowTooBig, &words);
    assert_error(
        table.scan(Scan::all()).next().unwrap().unwrap_err(),
        ErrorKind::RowTooBig,
        &words,
    );
    assert_eq!(table.get(Get::new("r").column("f", "7")).unwrap().len(), 1);
    assert_eq!(
        table.scan(Scan::all().batch(5)).map(|piece| piece.unwrap().len()).sum::<usize>(),
        20
    );
    assert!(!ErrorKind::RowTooBig.is_retryable());
}

/// Family names need be no text, and their directories are text.
#[test]
fn families_never_share_directory() {
    let store = store(&SimEnv::new(1));
    let table = |families: [&'static [u8]; 2]| {
        let table = TableDescriptor::new("pair".parse().unwrap());
        families.into_iter().fold(table, |table, name| table.family(FamilyDescriptor::new(name)))
    };
    assert_error(
        store.create_table(table([b"%FF", b"\xff"]), &[]).unwrap_err(),
        ErrorKind::InvalidRequest,
        &["%FF", "\\xFF", "one directory"],
    );
    store.create_table(table([b"%FE", b"\xff"]), &[]).unwrap();
    let both = store.table("pair").unwrap();
    both.put(Put::new("r").add(&b"\xff"[..], "q", "of bytes").add("%FE", "q", "of text")).unwrap();
    let row = both.get(Get::new("r")).unwrap();
    assert_eq!(row.value(b"\xff", b"q"), Some(&b"of bytes"[..]));
    assert_eq!(row.value(b"%FE", b"q"), Some(&b"of text"[..]));
}
