//! The log of a store on the simulated disk.

use std::sync::Arc;

use halite_heat::operations::{Call, CallKind, LoggedCalls};
use halite_types::{
    Append, Bytes, CheckAndMutate, Delete, FamilyDescriptor, Get, Increment, Put, ReadTier, RowOp,
    Scan, TableDescriptor, TableName,
};

use super::buffer::CallBuffer;
use crate::caller::{Caller, with_caller};
use crate::env::sim::SimEnv;
use crate::options::{HeatLevel, Options};
use crate::{Engine, Table};

const MIN_BYTES: u64 = 1 << 20;
const ALWAYS: (i64, i64) = (i64::MIN, i64::MAX);

fn name() -> TableName {
    "t".parse().unwrap()
}

fn open(sim: &SimEnv, level: HeatLevel, rate: u64) -> Arc<Engine> {
    let options = Options {
        heat_level: level,
        operation_log_rate: rate,
        operation_log_bytes: MIN_BYTES,
        ..Options::default()
    };
    Engine::open(sim.env(), options).unwrap()
}

fn full(sim: &SimEnv) -> Arc<Engine> {
    let engine = open(sim, HeatLevel::Full, 1000);
    let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
    engine.create_table(table, vec![Bytes::from("m")]).unwrap();
    engine
}

fn table(engine: &Arc<Engine>) -> Arc<Table> {
    engine.table(&name()).unwrap()
}

fn apply(engine: &Arc<Engine>, op: impl Into<RowOp>) {
    for result in table(engine).batch(vec![op.into()]).unwrap() {
        result.unwrap();
    }
}

fn put(engine: &Arc<Engine>, row: &str) {
    apply(engine, Put::new(row.to_owned()).add("f", "q", "value"));
}

fn logged(engine: &Engine) -> LoggedCalls {
    engine.logged_calls(&name(), ALWAYS, usize::MAX).unwrap()
}

fn rows(engine: &Engine) -> Vec<String> {
    let text = |call: Call| String::from_utf8(call.row.into()).unwrap();
    logged(engine).calls.into_iter().map(text).collect()
}

fn log_files(sim: &SimEnv) -> Vec<(String, Vec<u8>)> {
    sim.fs.files().into_iter().filter(|(path, _)| path.starts_with("halite/oplog/")).collect()
}

#[test]
fn operation_is_logged_with_its_statement() {
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    put(&engine, "a");
    apply(&engine, Increment::new("b").add("f", "count", 1));
    apply(&engine, Append::new("c").add("f", "log", "x"));
    let then = Put::new("a").add("f", "q2", "v");
    apply(&engine, CheckAndMutate::if_equals("a", "f", "q", "value", then));
    apply(&engine, Delete::new("c"));
    table(&engine).get(&Get::new("a").column("f", "q"), ReadTier::Disk).unwrap();
    let mut scanner = table(&engine).scan(Scan::range("b", "x"), ReadTier::Disk);
    while !scanner.next_rows().unwrap().is_empty() {}
    drop(scanner);
    let found = logged(&engine).calls;
    let facts: Vec<(CallKind, &str)> =
        found.iter().map(|call| (call.kind, &*call.statement)).collect();
    assert_eq!(
        facts,
        [
            (CallKind::Put, "put f:q"),
            (CallKind::Increment, "increment f:count"),
            (CallKind::Append, "append f:log"),
            (CallKind::CheckAndMutate, "check_and_mutate f:q2"),
            (CallKind::Delete, "delete f"),
            (CallKind::Get, "get f:q"),
            (CallKind::Scan, "scan"),
            (CallKind::Scan, "scan"),
        ]
    );
    let scans: Vec<_> =
        found[6..].iter().map(|call| (&*call.row, call.stop.as_deref(), call.rows)).collect();
    assert_eq!(scans, [(&b"b"[..], Some(&b"m"[..]), 1), (b"m", Some(b"x"), 0)], "by region");
    assert_eq!((found[5].cells, &*found[5].client.address, found[5].weight), (1, "embedded", 1));
}

#[test]
fn client_is_that_of_the_call() {
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    let caller = Caller { address: "10.1.2.3".into(), user: "ann".into(), version: "2.6".into() };
    with_caller(&Arc::new(caller), || put(&engine, "a"));
    let client = &logged(&engine).calls[0].client;
    assert_eq!((&*client.address, &*client.user, &*client.version), ("10.1.2.3", "ann", "2.6"));
}

#[test]
fn sample_has_its_rate_and_weight() {
    let sim = SimEnv::new(1);
    full(&sim).close().unwrap();
    let engine = open(&sim, HeatLevel::Sub, 10);
    for at in 0..2000 {
        put(&engine, &format!("{}{at:05}", if at % 2 == 0 { 'a' } else { 'z' }));
    }
    let LoggedCalls { calls, rate, dropped, .. } = logged(&engine);
    assert!((190..=210).contains(&calls.len()), "{}", calls.len());
    assert!(calls.iter().all(|call| call.weight == 10));
    assert_eq!((rate, dropped), (10, 0));
}

#[test]
fn level_region_has_no_log() {
    let engine = open(&SimEnv::new(1), HeatLevel::Region, 10);
    let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
    engine.create_table(table, Vec::new()).unwrap();
    let error = engine.logged_calls(&name(), ALWAYS, 1).unwrap_err();
    assert!(error.to_string().contains("heat_level Sub"), "{error}");
}

#[test]
fn log_has_strict_bound_of_bytes() {
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    let count = 30_000;
    for at in 0..count {
        put(&engine, &format!("row{at:05}{:0100}", 0));
        if at % 100 == 0 {
            sim.clock.advance_ms(1000);
            engine.record_heat();
            let total: usize = log_files(&sim).iter().map(|(_, bytes)| bytes.len()).sum();
            assert!(total as u64 <= MIN_BYTES, "{total}");
        }
    }
    let rows = rows(&engine);
    let last = format!("row{:05}", count - 1);
    assert!(rows.last().unwrap().starts_with(&last), "the newest are there");
    assert!((4000..count).contains(&rows.len()), "most of the bound is used: {}", rows.len());
    let first: usize = rows[0][3..8].parse().unwrap();
    assert_eq!(first + rows.len(), count, "the oldest are gone, and no other");
    assert_eq!(engine.heat_failure(), None);
}

#[test]
fn log_outlives_process() {
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    put(&engine, "a");
    engine.close().unwrap();
    let engine = open(&sim, HeatLevel::Full, 1);
    put(&engine, "b");
    assert_eq!(rows(&engine), ["a", "b"]);
    let since = logged(&engine).since_ms;
    assert_eq!(since, Some(logged(&engine).calls[0].time_ms));
    // Asked by time.
    let at = sim.env().clock.now_ms() + 1;
    sim.clock.advance_ms(10);
    put(&engine, "c");
    let later = engine.logged_calls(&name(), (at, i64::MAX), 10).unwrap().calls;
    assert_eq!(later.len(), 1);
}

/// Each opening begins a segment: many of them must not fill the directory.
#[test]
fn number_of_segments_is_bounded() {
    let sim = SimEnv::new(1);
    full(&sim).close().unwrap();
    for round in 0..80 {
        let engine = open(&sim, HeatLevel::Full, 1);
        put(&engine, &format!("r{round:02}"));
        engine.close().unwrap();
    }
    assert!(log_files(&sim).len() <= 64);
    let engine = open(&sim, HeatLevel::Full, 1);
    assert_eq!(rows(&engine).last().unwrap(), "r79");
}

#[test]
fn crash_leaves_prefix_of_each_segment() {
    for seed in 0..40 {
        let sim = SimEnv::new(seed);
        let engine = full(&sim);
        let mut written = Vec::new();
        for at in 0..30 {
            let row = format!("row{at:02}");
            put(&engine, &row);
            written.push(row);
            if at % 3 == 0 {
                engine.record_heat();
            }
        }
        if seed % 2 == 0 {
            sim.fs.kill();
        } else {
            sim.fs.crash(seed);
        }
        drop(engine);
        let engine = open(&sim, HeatLevel::Full, 1);
        let found = rows(&engine);
        assert!(written.starts_with(&found), "seed {seed}: {found:?}");
        assert!(seed % 2 == 1 || found.len() >= 28, "a killed process has written: {found:?}");
        put(&engine, "new");
        assert_eq!(rows(&engine).last().map(String::as_str), Some("new"), "seed {seed}");
        assert_eq!(engine.heat_failure(), None);
    }
}

#[test]
fn damaged_log_never_prevents_opening() {
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    for at in 0..20 {
        put(&engine, &format!("row{at:02}"));
        engine.record_heat();
    }
    engine.close().unwrap();
    let (path, whole) = log_files(&sim).remove(0);
    let mut random = halite_types::rng::SplitMix64::new(7);
    for round in 0..60 {
        let mut bytes = whole.clone();
        match round % 4 {
            0 => bytes.truncate(usize::try_from(random.next_u64()).unwrap() % bytes.len()),
            1 => bytes.extend_from_slice(&[0xff; 40]),
            2 => bytes[..8].copy_from_slice(&random.next_u64().to_le_bytes()),
            _ => {
                let at = usize::try_from(random.next_u64() % bytes.len() as u64).unwrap();
                bytes[at] ^= 0x55;
            }
        }
        sim.fs.write(&path, bytes).unwrap();
        sim.fs.write("halite/oplog/notes.txt", "no segment").unwrap();
        let engine = open(&sim, HeatLevel::Full, 1);
        let found = rows(&engine);
        assert!(found.len() <= 20, "{found:?}");
        assert_eq!(engine.heat_failure(), None);
        drop(engine);
        for (other, _) in log_files(&sim) {
            sim.env().fs.remove_file(&other).unwrap();
        }
    }
}

#[test]
fn failed_write_loses_operations_only() {
    use crate::env::sim::{FsCall, InjectedFault};
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    put(&engine, "a");
    sim.fs.inject(InjectedFault::next(
        FsCall::Create,
        "halite/oplog",
        std::io::ErrorKind::PermissionDenied,
    ));
    engine.record_heat();
    assert!(engine.heat_failure().unwrap().to_string().contains("operation log"));
    put(&engine, "b");
    assert_eq!(rows(&engine), ["b"]);
    assert_eq!(engine.heat_failure(), None);
}

#[test]
fn refused_files_keep_earlier_log() {
    use crate::env::sim::{FsCall, InjectedFault};
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    put(&engine, "a");
    engine.close().unwrap();
    let engine = open(&sim, HeatLevel::Full, 1);
    let value = "v".repeat(30_000);
    // As many bytes as twice the bound.
    for _ in 0..70 {
        apply(&engine, Put::new(value.clone()).add("f", "q", "v"));
        sim.fs.inject(InjectedFault::next(
            FsCall::Create,
            "halite/oplog",
            std::io::ErrorKind::StorageFull,
        ));
        engine.record_heat();
    }
    put(&engine, "b");
    assert_eq!(rows(&engine), ["a", "b"]);
}

#[test]
fn asked_operations_are_newest_of_all() {
    let sim = SimEnv::new(1);
    let engine = full(&sim);
    for at in 0..40 {
        sim.clock.advance_ms(1);
        put(&engine, &format!("r{at:02}"));
        engine.record_heat();
    }
    let newest = engine.logged_calls(&name(), ALWAYS, 3).unwrap().calls;
    let rows: Vec<&[u8]> = newest.iter().map(|call| &*call.row).collect();
    assert_eq!(rows, [b"r37", b"r38", b"r39"]);
}

#[test]
fn buffer_without_room_drops_and_counts() {
    let buffer = CallBuffer::default();
    let call = |time_ms, bytes| Call {
        time_ms,
        kind: CallKind::Put,
        weight: 1,
        table: "t".into(),
        row: vec![0; bytes].into(),
        stop: None,
        cells: 1,
        rows: 1,
        bytes: 1,
        client: super::OperationLog::client(),
        statement: "put f".into(),
    };
    (0..100).for_each(|_| buffer.add(call(0, 30_000), 1000));
    let (calls, dropped) = buffer.take();
    assert!(calls.len() < 80 && calls.len() as u64 + dropped == 100);
    (0..100).for_each(|at| buffer.add(call(1000 + at, 10), 5));
    (0..100).for_each(|at| buffer.add(call(2000 + at, 10), 5));
    let (calls, dropped) = buffer.take();
    assert_eq!((calls.len(), dropped), (10, 190), "five of each second");
}

/// A table that was created with the name of a dropped one had its operations.
#[test]
fn new_table_has_no_operations_of_a_dropped_one() {
    let sim = SimEnv::new(1);
    let mut engine = full(&sim);
    for is_killed in [false, true] {
        put(&engine, "old");
        engine.record_heat();
        put(&engine, "older");
        engine.disable_table(&name()).unwrap();
        engine.drop_table(&name()).unwrap();
        let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, Vec::new()).unwrap();
        assert_eq!(rows(&engine), Vec::<String>::new());
        put(&engine, "new");
        assert_eq!(rows(&engine), ["new"]);
        if is_killed {
            sim.fs.kill();
            drop(engine);
        } else {
            engine.close().unwrap();
        }
        engine = open(&sim, HeatLevel::Full, 1000);
        assert!(rows(&engine).iter().all(|row| row == "new"), "{:?}", rows(&engine));
    }
}
