//! A log that is damaged at any byte, cut at any length, or read from unsynced memory. Either every
//! acknowledged write is present, or opening reports that the store is damaged.

use std::collections::BTreeMap;

use halite::{
    Builder, Durability, Error, ErrorKind, FamilyDescriptor, Options, Put, Scan, Store,
    TableDescriptor, TableName, WalRecovery, WalSync,
};
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};

use crate::small;

/// Shape of the writes before the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Writes one by one, each a group of the log.
    Single,
    /// Several writes in one group.
    Grouped,
    /// Many cells in one record.
    Batches,
    /// Values that resemble records of the log.
    Nested,
}

const SHAPES: [Shape; 4] = [Shape::Single, Shape::Grouped, Shape::Batches, Shape::Nested];

fn options(sync: WalSync) -> Options {
    let mut options = small();
    options.wal_sync = sync;
    options.wal_segment_bytes = 8192;
    options
}

fn open(sim: &SimEnv, options: Options) -> Result<Store, Error> {
    Builder::new().options(options).open_with_env(sim.env())
}

fn put(row: usize, value: Vec<u8>) -> Put {
    Put::new(format!("k{row}")).add_at("f", "q", 1, value)
}

/// Writes rows in the given shape and kills the process. Returns the number of rows before the last
/// group, and of those in it.
fn written(sim: &SimEnv, shape: Shape, sync: WalSync) -> (usize, usize) {
    let store = open(sim, options(sync)).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    let log = || {
        sim.fs
            .files()
            .into_iter()
            .find(|(path, _)| path.ends_with(".wal"))
            .map(|(_, bytes)| bytes[84..].to_vec())
    };
    let (before, last) = match shape {
        Shape::Single => (4, 1),
        Shape::Grouped | Shape::Batches => (3, 3),
        Shape::Nested => (2, 1),
    };
    let all = |from: usize, count: usize| -> Vec<Put> {
        let nested = log().filter(|_| shape == Shape::Nested).map(|log| log[..200].to_vec());
        (from..from + count)
            .map(|row| put(row, nested.clone().unwrap_or_else(|| vec![b'v'; 9])))
            .collect()
    };
    for (from, count) in [(0, before), (before, last)] {
        match shape {
            Shape::Single | Shape::Nested => {
                (from..from + count).for_each(|row| table.put(all(row, 1).remove(0)).unwrap());
            }
            Shape::Batches => {
                drop(table.batch(all(from, count).into_iter().map(Into::into).collect()).unwrap());
            }
            Shape::Grouped => {
                // No thread writes records that no caller waits for, so they are written with the
                // next awaited one.
                let mut puts = all(from, count).into_iter();
                let waited = puts.next_back().unwrap();
                puts.for_each(|put| table.put(put.durability(Durability::AsyncWal)).unwrap());
                table.put(waited).unwrap();
            }
        }
    }
    drop((table, store));
    sim.fs.kill();
    let last = if shape == Shape::Single || shape == Shape::Nested { 1 } else { last };
    let total = before + if shape == Shape::Single || shape == Shape::Nested { 1 } else { last };
    (total - last, last)
}

/// Returns a copy of the disk; with `restart`, as it is after the machine has restarted.
fn copy(files: &BTreeMap<String, Vec<u8>>, restart: bool) -> SimEnv {
    let sim = SimEnv::new(1);
    files.iter().for_each(|(path, bytes)| sim.fs.write(path, bytes.clone()).unwrap());
    if restart {
        sim.fs.drop_unsynced();
    }
    sim
}

/// Returns the offsets of a log, but only a few in the reserved space at its end.
fn offsets(files: &BTreeMap<String, Vec<u8>>) -> impl Iterator<Item = usize> {
    let (_, bytes) = files.iter().find(|(path, _)| path.ends_with(".wal")).unwrap();
    let written = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 16;
    (0..written).chain((written..bytes.len()).step_by(61))
}

fn find_log(files: &BTreeMap<String, Vec<u8>>) -> (String, usize) {
    let (path, bytes) = files.iter().find(|(path, _)| path.ends_with(".wal")).unwrap();
    (path.clone(), bytes.len())
}

fn rows(store: &Store) -> usize {
    store.table("t").unwrap().scan(Scan::all()).count()
}

/// Opens a damaged copy. Returns `None` if it is rejected as damaged; otherwise the number of rows,
/// which are the first ones, and `true` if opening reported a loss.
fn opened(sim: &SimEnv, sync: WalSync, case: &str) -> Option<(usize, bool)> {
    match open(sim, options(sync)) {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{case}: {error}");
            assert!(error.message().contains("nothing has been changed"), "{case}: {error}");
            None
        }
        Ok(store) => {
            let table = store.table("t").unwrap();
            let found: Vec<String> = table
                .scan(Scan::all())
                .map(|row| String::from_utf8_lossy(row.unwrap().key()).into_owned())
                .collect();
            assert_eq!(
                found,
                (0..found.len()).map(|row| format!("k{row}")).collect::<Vec<_>>(),
                "{case}"
            );
            Some((found.len(), store.open_report().truncated_wal_bytes > 0))
        }
    }
}

fn each_case(mut check: impl FnMut(Shape, WalSync, bool)) {
    for shape in SHAPES {
        for sync in [WalSync::Fsync, WalSync::Flush] {
            [false, true].into_iter().for_each(|restart| check(shape, sync, restart));
        }
    }
}

#[test]
fn flipped_log_byte_is_rejected_or_harmless() {
    each_case(|shape, sync, restart| {
        let sim = SimEnv::new(1);
        let (before, last) = written(&sim, shape, sync);
        let files = sim.fs.files();
        let (log, length) = find_log(&files);
        let (mut refused, mut lost) = (0, 0);
        for at in offsets(&files) {
            let sim = copy(&files, restart);
            sim.fs.corrupt(&log, at, 1 << (at % 8)).unwrap();
            let case = format!("{shape:?}, {sync:?}, restarted {restart}, byte {at} of {length}");
            match opened(&sim, sync, &case) {
                None => refused += 1,
                Some((found, _)) if found == before + last => {}
                // After a restart nothing proves that the last group was synced; the loss is
                // reported.
                Some((found, is_reported)) => {
                    lost += 1;
                    assert!(
                        restart && sync == WalSync::Fsync && is_reported && found >= before,
                        "{case}: {found} of {before} + {last} rows"
                    );
                }
            }
        }
        assert!(refused > 84, "{shape:?}, {sync:?}: {refused}");
        assert_eq!(lost > 0, restart && sync == WalSync::Fsync, "{shape:?}, {sync:?}");
    });
}

#[test]
fn log_truncated_anywhere_is_rejected_or_harmless() {
    each_case(|shape, sync, restart| {
        let sim = SimEnv::new(1);
        let (before, last) = written(&sim, shape, sync);
        let files = sim.fs.files();
        let (log, length) = find_log(&files);
        for to in offsets(&files) {
            let sim = copy(&files, restart);
            sim.fs.cut(&log, to).unwrap();
            let case = format!("{shape:?}, {sync:?}, restarted {restart}, cut to {to} of {length}");
            let found = opened(&sim, sync, &case);
            assert!(found.is_none_or(|(found, _)| found == before + last), "{case}: {found:?}");
        }
    });
}

#[test]
fn skipped_damage_loses_one_record_and_is_reported() {
    for shape in SHAPES {
        let sim = SimEnv::new(1);
        let (before, last) = written(&sim, shape, WalSync::Flush);
        let files = sim.fs.files();
        let (log, _) = find_log(&files);
        for at in offsets(&files) {
            let sim = copy(&files, false);
            sim.fs.corrupt(&log, at, 0x10).unwrap();
            let mut skipping = options(WalSync::Flush);
            skipping.wal_recovery = WalRecovery::SkipDamaged;
            let store = open(&sim, skipping).unwrap();
            let found = rows(&store);
            let record = if shape == Shape::Batches { last } else { 1 };
            assert!(
                found + record >= before + last,
                "{shape:?}, byte {at}: {found} of {before} + {last}"
            );
            assert!(
                found == before + last
                    || store
                        .open_report()
                        .wal_truncations
                        .iter()
                        .any(|cut| cut.is_damage && cut.bytes > 0),
                "{shape:?}, byte {at}"
            );
            drop(store);
            sim.fs.drop_unsynced();
            assert_eq!(
                rows(&open(&sim, options(WalSync::Flush)).unwrap()),
                found,
                "{shape:?}, byte {at}: what was found stays"
            );
        }
    }
}

#[test]
fn missing_middle_segment_is_detected() {
    let sim = SimEnv::new(1);
    let store = open(&sim, options(WalSync::Fsync)).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    (0..60).for_each(|row| table.put(put(row, vec![b'v'; 500])).unwrap());
    drop((table, store));
    sim.fs.kill();
    let files = sim.fs.files();
    let logs: Vec<&String> = files.keys().filter(|path| path.ends_with(".wal")).collect();
    assert!(logs.len() > 3, "{logs:?}");
    for missing in &logs[1..logs.len() - 1] {
        let sim = copy(&files, false);
        sim.env().fs.remove_file(missing).unwrap();
        let error = open(&sim, options(WalSync::Fsync)).err().unwrap();
        assert!(
            error.kind() == ErrorKind::Corrupt
                && error.message().contains(&***missing)
                && error.message().contains("is missing"),
            "{error}"
        );
    }
    assert_eq!(rows(&open(&sim, options(WalSync::Fsync)).unwrap()), 60);
}

#[test]
fn missing_segment_after_obsolete_one_is_detected() {
    let sim = SimEnv::new(1);
    let store = open(&sim, options(WalSync::Fsync)).unwrap();
    let name: TableName = "t".parse().unwrap();
    store
        .create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")), &[])
        .unwrap();
    let table = store.table("t").unwrap();
    table.put(put(0, vec![b'v'; 500])).unwrap();
    store.engine().roll_wal().unwrap();
    sim.fs.inject(InjectedFault {
        times: u64::MAX,
        ..InjectedFault::next(FsCall::RemoveFile, ".wal", std::io::ErrorKind::Other)
    });
    store.flush(&name).unwrap();
    (1..60).for_each(|row| table.put(put(row, vec![b'v'; 500])).unwrap());
    drop((table, store));
    sim.fs.clear_faults();
    sim.fs.kill();
    let files = sim.fs.files();
    let logs: Vec<&String> = files.keys().filter(|path| path.ends_with(".wal")).collect();
    assert!(logs.len() > 3 && logs[0].ends_with("01.wal"), "{logs:?}");
    sim.env().fs.remove_file(logs[1]).unwrap();
    let found = halite_engine::inspect::check(&sim.env()).unwrap();
    assert!(
        found.findings.iter().any(|found| found.text.contains("is missing in front of it")),
        "{found:?}"
    );
    let error = open(&sim, options(WalSync::Fsync)).err().unwrap();
    assert!(
        error.kind() == ErrorKind::Corrupt
            && error.message().contains(&**logs[1])
            && error.message().contains("is missing"),
        "{error}"
    );
}

#[test]
fn damage_in_closed_segment_is_skipped_on_request() {
    let sim = SimEnv::new(1);
    let store = open(&sim, options(WalSync::Fsync)).unwrap();
    store
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    (0..60).for_each(|row| table.put(put(row, vec![b'v'; 500])).unwrap());
    drop((table, store));
    sim.fs.kill();
    let files = sim.fs.files();
    for (log, bytes) in files.iter().filter(|(path, _)| path.ends_with(".wal")) {
        for at in [0, 50, 90, 1000, bytes.len() / 2] {
            let sim = copy(&files, true);
            sim.fs.corrupt(log, at, 0xff).unwrap();
            let mut skipping = options(WalSync::Fsync);
            skipping.wal_recovery = WalRecovery::SkipDamaged;
            let store = open(&sim, skipping).unwrap();
            let found = rows(&store);
            assert!(
                found >= 59 && store.open_report().wal_truncations.len() == 1,
                "{log}, byte {at}: {found}, {:?}",
                store.open_report().wal_truncations
            );
            store.table("t").unwrap().put(put(70, b"more".to_vec())).unwrap();
            drop(store);
            sim.fs.drop_unsynced();
            assert_eq!(
                rows(&open(&sim, options(WalSync::Fsync)).unwrap()),
                found + 1,
                "{log}, byte {at}"
            );
        }
    }
}

#[test]
fn cells_of_failed_sync_are_rewritten_before_acknowledgment() {
    for later in [WalSync::Fsync, WalSync::Flush] {
        let sim = SimEnv::new(1);
        let store = open(&sim, options(WalSync::Fsync)).unwrap();
        store
            .create_table(
                TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
                &[],
            )
            .unwrap();
        let table = store.table("t").unwrap();
        table.put(put(0, b"v".to_vec())).unwrap();
        sim.fs.inject(InjectedFault::next(FsCall::Sync, ".wal", std::io::ErrorKind::Other));
        assert!(table.put(put(1, b"v".to_vec())).is_err());
        drop((table, store));
        sim.fs.clear_faults();
        sim.fs.kill();
        let store = open(&sim, options(later)).unwrap();
        assert_eq!(rows(&store), 2, "the machine runs on and has the bytes");
        drop(store);
        sim.fs.drop_unsynced();
        assert_eq!(
            rows(&open(&sim, options(later)).unwrap()),
            2,
            "cells that a client may have read are durable"
        );
    }
}

/// Opens the store and kills the process at each file-system call; the next opening must find all
/// rows.
fn dies_at_every_call(files: &BTreeMap<String, Vec<u8>>, how: &Options, expected: usize) {
    let (mut calls, mut at) = (u64::MAX, 0);
    while at <= calls {
        for power in [None, Some(at * 4), Some(at * 4 + 1), Some(at * 28 + 2)] {
            let sim = copy(files, false);
            let from = sim.fs.calls();
            sim.fs.crash_at_call(from + at);
            let result = open(&sim, how.clone());
            if calls == u64::MAX && !sim.fs.is_gone() {
                calls = sim.fs.calls() - from;
            }
            drop(result);
            match power {
                None => sim.fs.kill(),
                Some(seed) if seed % 4 == 0 => sim.fs.drop_unsynced(),
                Some(seed) => sim.fs.crash(seed),
            }
            let again = open(&sim, how.clone())
                .unwrap_or_else(|error| panic!("call {at}, {power:?}: {error}"));
            assert_eq!(rows(&again), expected, "call {at}, {power:?}");
            drop(again);
            sim.fs.drop_unsynced();
            let strict = open(&sim, options(WalSync::Fsync))
                .unwrap_or_else(|error| panic!("call {at}, {power:?}, strictly: {error}"));
            assert_eq!(rows(&strict), expected, "call {at}, {power:?}, strictly");
            assert!(
                !sim.fs.files().keys().any(|path| path.ends_with(".new")),
                "call {at}, {power:?}"
            );
        }
        at += 1;
    }
    assert!(calls > 10, "{calls}");
}

#[test]
fn crash_at_any_call_of_replay_loses_nothing() {
    let sim = SimEnv::new(1);
    let (before, last) = written(&sim, Shape::Single, WalSync::Fsync);
    let files = sim.fs.files();
    dies_at_every_call(&files, &options(WalSync::Fsync), before + last);
    let (log, _) = find_log(&files);
    let mut damaged = files.clone();
    damaged.get_mut(&log).unwrap()[100] ^= 1;
    let mut skipping = options(WalSync::Fsync);
    skipping.wal_recovery = WalRecovery::SkipDamaged;
    dies_at_every_call(&damaged, &skipping, before + last - 1);
}

#[test]
fn truncated_log_bytes_are_kept_once_oldest_removed_first() {
    let sim = SimEnv::new(1);
    open(&sim, options(WalSync::Fsync))
        .unwrap()
        .create_table(
            TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    sim.fs.kill();
    let kept = |sim: &SimEnv| {
        sim.fs.files().into_keys().filter(|path| path.ends_with(".torn")).collect::<Vec<_>>()
    };
    for round in 0..12 {
        let store = open(&sim, options(WalSync::Fsync)).unwrap();
        // The put in progress may have been written completely.
        assert!((round..=round + 1).contains(&rows(&store)));
        store.table("t").unwrap().put(put(100 + round, b"v".to_vec())).unwrap();
        // The process dies within a write.
        sim.fs.crash_at_call(sim.fs.calls());
        assert!(store.table("t").unwrap().put(put(999, vec![b'v'; 600])).is_err());
        drop(store);
        sim.fs.kill();
    }
    let last = open(&sim, options(WalSync::Fsync)).unwrap();
    let cuts = last.open_report().wal_truncations.clone();
    assert!(
        cuts.iter().all(|cut| !cut.is_damage && cut.writes == 0)
            && kept(&sim).len() <= 8
            && kept(&sim).len() > 3,
        "{cuts:?} {:?}",
        kept(&sim)
    );
}
