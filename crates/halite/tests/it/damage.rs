//! Disks that are full, read-only, damaged, or contain foreign files.

use std::io;

use halite::{
    Builder, CompactionKind, Error, ErrorKind, FamilyDescriptor, Get, Options, Put, Scan, Store,
    StoreState, TableDescriptor, WalRecovery,
};
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};

use crate::{reopen, small, store};

fn open(sim: &SimEnv) -> Result<Store, Error> {
    Builder::new().options(small()).open_with_env(sim.env())
}

/// A store with `rows` rows in a file, closed.
fn closed(sim: &SimEnv, rows: usize) {
    let store = store(sim);
    let table = store.table("t").unwrap();
    for i in 0..rows {
        table.put(Put::new(format!("k{i:04}")).add("f", "q", "v".repeat(100))).unwrap();
    }
    drop(table);
    store.close().unwrap();
}

pub(crate) fn find(sim: &SimEnv, part: &str, not: &str) -> String {
    sim.fs.files().into_keys().find(|path| path.contains(part) && !path.contains(not)).unwrap()
}

#[track_caller]
fn assert_error(error: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.message().contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn full_disk_rejects_writes_until_space_is_freed() {
    for reserve in [None, Some(0), Some(5000)] {
        let sim = SimEnv::new(1);
        let mut options = Options::default();
        options.disk_reserve_bytes = reserve;
        let store = Builder::new().options(options).open_with_env(sim.env()).unwrap();
        store
            .create_table(
                TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f")),
                &[],
            )
            .unwrap();
        let table = store.table("t").unwrap();
        sim.fs.set_capacity(Some(sim.fs.used_bytes() + 20_000));
        let put =
            |row: usize| table.put(Put::new(format!("k{row:04}")).add("f", "q", "v".repeat(300)));
        let mut acknowledged = 0;
        let error = loop {
            match put(acknowledged) {
                Ok(()) => acknowledged += 1,
                Err(error) => break error,
            }
            sim.clock.advance_ms(100);
            store.health();
        };
        match reserve {
            // The log holds the write, but cannot write it to disk.
            Some(0) => assert_error(&error, ErrorKind::Io, &["make room", "not known yet"]),
            _ => assert_error(&error, ErrorKind::DiskFull, &["make room", "go on by themselves"]),
        }
        assert!(acknowledged > 10, "{acknowledged}");
        assert_error(&put(9000).unwrap_err(), ErrorKind::DiskFull, &["writes are refused"]);
        assert_eq!(store.health().state, StoreState::Refusing);
        assert_eq!(
            table.scan(Scan::all()).count(),
            acknowledged,
            "reads continue and return acknowledged writes"
        );
        sim.fs.set_capacity(None);
        sim.clock.advance_ms(100);
        put(9001).unwrap();
        assert_eq!(store.health().state, StoreState::Open);
        let rows = table.scan(Scan::all()).count();
        let kept = acknowledged + 1;
        // Without a reserve, the write that waited for the log is present now; the rejected one is
        // not.
        assert!(rows == kept || (rows == kept + 1 && reserve == Some(0)), "{rows} of {kept}");
        drop((table, store));
        sim.fs.kill();
        let table = reopen(&sim).table("t").unwrap();
        assert_eq!(table.scan(Scan::all()).count(), rows);
        assert!(table.get(Get::new("k9000")).unwrap().is_empty());
    }
}

#[test]
fn full_disk_allows_flushes_and_drops_but_postpones_compactions() {
    let sim = SimEnv::new(1);
    let mut options = Options::default();
    options.disk_reserve_bytes = Some(200_000);
    let store = Builder::new().options(options).open_with_env(sim.env()).unwrap();
    let name = |text: &str| text.parse().unwrap();
    for text in ["t", "u"] {
        store
            .create_table(TableDescriptor::new(name(text)).family(FamilyDescriptor::new("f")), &[])
            .unwrap();
        for round in 0..2 {
            (0..100).for_each(|row| {
                store
                    .table(text)
                    .unwrap()
                    .put(Put::new(format!("k{row}")).add("f", "q", vec![round; 300]))
                    .unwrap();
            });
            if text == "t" {
                store.flush(name(text)).unwrap();
            }
        }
    }
    sim.fs.set_capacity(Some(sim.fs.used_bytes() + 150_000));
    assert_eq!(store.health().state, StoreState::Refusing);
    let files = sim.fs.files().len();
    let error = store.compact(name("t"), None, CompactionKind::Major).unwrap_err();
    assert_error(
        &error,
        ErrorKind::DiskFull,
        &["compacting region t,", "nothing is lost", "make room"],
    );
    assert_eq!(sim.fs.files().len(), files, "nothing was begun");
    store.flush(name("u")).unwrap();
    store.disable_table(name("u")).unwrap();
    store.drop_table(name("u")).unwrap();
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 100);
    sim.fs.set_capacity(None);
    store.compact(name("t"), None, CompactionKind::Major).unwrap();
    store.close().unwrap();
}

/// Opening rewrites the last WAL segment, and only flushing frees the space of the log.
#[test]
fn store_that_filled_its_disk_opens_and_flushes() {
    let sim = SimEnv::new(1);
    sim.fs.set_capacity(Some(64 << 20));
    let store = store(&sim);
    let table = store.table("t").unwrap();
    let put = |row: usize| {
        let put = table.put(Put::new(format!("k{row:05}")).add("f", "q", vec![7; 50_000]));
        while store.engine().run_one_job().is_ok_and(|worked| worked) {}
        put
    };
    let taken = (0..2000).take_while(|row| put(*row).is_ok()).count();
    assert!((900..1100).contains(&taken), "{taken}");
    assert_eq!(put(taken).unwrap_err().kind(), ErrorKind::DiskFull);
    drop((table, store));
    for round in 0..3 {
        sim.fs.crash(round);
        let store = reopen(&sim);
        let table = store.table("t").unwrap();
        assert_eq!(table.scan(Scan::all()).count(), taken);
        let error = table.put(Put::new("late").add("f", "q", "v")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DiskFull);
        drop((table, store));
    }
    let store = reopen(&sim);
    store.flush("t").unwrap();
    store.close().unwrap();
    assert_eq!(reopen(&sim).table("t").unwrap().scan(Scan::all()).count(), taken);
}

/// The log is full of one table, and its oldest segment is needed by another that is hardly written
/// to.
#[test]
fn regions_holding_log_segments_flush_when_disk_fills() {
    let sim = SimEnv::new(1);
    sim.fs.set_capacity(Some(64 << 20));
    let store = store(&sim);
    store
        .create_table(
            TableDescriptor::new("idle".parse().unwrap()).family(FamilyDescriptor::new("f")),
            &[],
        )
        .unwrap();
    store.table("idle").unwrap().put(Put::new("only").add("f", "q", "v")).unwrap();
    let table = store.table("t").unwrap();
    // Rows that are written again and again: there is little to keep of them.
    for row in 0..4000 {
        table.put(Put::new(format!("k{}", row % 100)).add("f", "q", vec![7; 50_000])).unwrap();
        while store.engine().run_one_job().is_ok_and(|worked| worked) {}
    }
    assert_eq!(
        (table.scan(Scan::all()).count(), store.table("idle").unwrap().scan(Scan::all()).count()),
        (100, 1)
    );
}

/// Nothing is flushed in the background, as if writers were faster than that.
#[test]
fn memstores_stay_within_free_disk_space() {
    let sim = SimEnv::new(1);
    sim.fs.set_capacity(Some(64 << 20));
    let store = store(&sim);
    let table = store.table("t").unwrap();
    let taken = (0..2000)
        .take_while(|row| {
            table.put(Put::new(format!("k{row:05}")).add("f", "q", vec![7; 50_000])).is_ok()
        })
        .count();
    assert!((600..1100).contains(&taken), "{taken}");
    store.flush("t").unwrap();
    drop((table, store));
    sim.fs.crash(1);
    assert_eq!(reopen(&sim).table("t").unwrap().scan(Scan::all()).count(), taken);
}

#[test]
fn flush_on_full_disk_can_be_retried() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let table = store.table("t").unwrap();
    for i in 0..100 {
        table.put(Put::new(format!("k{i:04}")).add("f", "q", "v".repeat(300))).unwrap();
    }
    sim.fs.set_capacity(Some(sim.fs.used_bytes() + 1000));
    assert_eq!(store.flush("t").unwrap_err().kind(), ErrorKind::DiskFull);
    assert_eq!(table.scan(Scan::all()).count(), 100);
    sim.fs.set_capacity(None);
    store.flush("t").unwrap();
    assert_eq!(table.scan(Scan::all()).count(), 100);
    drop(table);
    store.close().unwrap();
    assert_eq!(reopen(&sim).table("t").unwrap().scan(Scan::all()).count(), 100);
}

#[test]
fn read_only_directory_is_reported() {
    let sim = SimEnv::new(1);
    closed(&sim, 1);
    sim.fs.set_read_only(true);
    assert_error(&open(&sim).err().unwrap(), ErrorKind::ReadOnly, &["halite", "write permission"]);
    sim.fs.set_read_only(false);
    assert_eq!(reopen(&sim).table("t").unwrap().scan(Scan::all()).count(), 1);
}

#[test]
fn damaged_manifest_is_rejected_and_newer_version_named() {
    for byte in [3, 15, 60] {
        let sim = SimEnv::new(1);
        closed(&sim, 1);
        sim.fs.corrupt("halite/MANIFEST", byte, 1).unwrap();
        assert_error(
            &open(&sim).err().unwrap(),
            ErrorKind::Corrupt,
            &["halite/MANIFEST", "CRC32C", "restore"],
        );
        sim.fs.corrupt("halite/MANIFEST", byte, 1).unwrap();
        reopen(&sim);
    }
    let sim = SimEnv::new(1);
    closed(&sim, 1);
    sim.fs.cut("halite/MANIFEST", 40).unwrap();
    assert_error(&open(&sim).err().unwrap(), ErrorKind::Corrupt, &["cut short"]);
    let sim = SimEnv::new(1);
    closed(&sim, 1);
    make_manifest_newer(&sim);
    assert_error(&open(&sim).err().unwrap(), ErrorKind::NewerFormat, &["version 7", "newer"]);
}

/// Sets the format version of the manifest to one of a future program.
pub(crate) fn make_manifest_newer(sim: &SimEnv) {
    let mut bytes = sim.fs.read("halite/MANIFEST").unwrap();
    bytes[11] = 7;
    let end = bytes.len() - 4;
    let crc = crc32c::crc32c(&bytes[..end]);
    bytes[end..].copy_from_slice(&crc.to_be_bytes());
    sim.fs.write("halite/MANIFEST", bytes).unwrap();
}

#[test]
fn missing_manifest_next_to_tables_is_not_new_store() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    store.create_namespace("ns", halite::Attributes::new()).unwrap();
    store.close().unwrap();
    sim.env().fs.remove_file("halite/MANIFEST").unwrap();
    assert_error(&open(&sim).err().unwrap(), ErrorKind::Corrupt, &["no manifest", "restore"]);
}

#[test]
fn damaged_store_file_error_names_file_and_block() {
    let sim = SimEnv::new(1);
    closed(&sim, 2000);
    let file = find(&sim, "/f/", "halite/");
    sim.fs.corrupt(&file, 100_000, 4).unwrap();
    let store = reopen(&sim);
    let table = store.table("t").unwrap();
    let error = table.scan(Scan::all()).find_map(Result::err).unwrap();
    assert_error(&error, ErrorKind::Corrupt, &[&file, "block at", "damaged"]);
    assert!(table.get(Get::new("k0000")).is_ok(), "the other blocks can be read");
    drop((table, store));
    sim.fs.kill();
    let length = sim.fs.read(&file).unwrap().len();
    sim.fs.cut(&file, length - 10).unwrap();
    let store = reopen(&sim);
    let error = store.table("t").unwrap().get(Get::new("k0000")).unwrap_err();
    assert_error(&error, ErrorKind::Corrupt, &[&file, "restore"]);
    drop(store);
    sim.env().fs.remove_file(&file).unwrap();
    assert_error(
        &open(&sim).err().unwrap(),
        ErrorKind::Corrupt,
        &[&file, "manifest names it", "restore"],
    );
}

#[test]
fn store_file_of_newer_version_is_named() {
    let sim = SimEnv::new(1);
    closed(&sim, 1);
    let file = find(&sim, "/f/", "halite/");
    let mut bytes = sim.fs.read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] = 4;
    sim.fs.write(&file, bytes).unwrap();
    assert_error(&open(&sim).err().unwrap(), ErrorKind::NewerFormat, &[&file]);
}

/// Returns a store with `rows` rows in the log only, killed.
fn killed(sim: &SimEnv, rows: usize) -> String {
    let store = store(sim);
    let table = store.table("t").unwrap();
    for i in 0..rows {
        table.put(Put::new(format!("k{i:04}")).add("f", "q", "v")).unwrap();
    }
    drop((table, store));
    sim.fs.kill();
    find(sim, ".wal", "data/")
}

/// Returns the length of a log without the reserved space at its end, which is zeros.
fn written_bytes(sim: &SimEnv, log: &str) -> usize {
    sim.fs.read(log).unwrap().iter().rposition(|&byte| byte != 0).unwrap() + 1
}

/// Maximum zero bytes at the end of a sync marker with small numbers.
const SYNC_MARKER_ZEROS: usize = 8;

#[test]
fn flipped_log_bit_is_damage_unless_record_was_unacknowledged() {
    let sim = SimEnv::new(1);
    let log = killed(&sim, 20);
    let length = written_bytes(&sim, &log);
    sim.fs.corrupt(&log, length / 2, 1).unwrap();
    let before = sim.fs.files();
    assert_error(
        &open(&sim).err().unwrap(),
        ErrorKind::Corrupt,
        &[&log, "damaged at byte", "restore"],
    );
    sim.fs.kill();
    assert_eq!(sim.fs.files()[&log], before[&log], "nothing was changed");
    sim.fs.corrupt(&log, length / 2, 1).unwrap();
    assert_eq!(reopen(&sim).table("t").unwrap().scan(Scan::all()).count(), 20);
}

#[test]
fn truncated_log_is_rejected_or_opened_with_complete_records() {
    let sim = SimEnv::new(1);
    let log = killed(&sim, 20);
    let length = written_bytes(&sim, &log);
    // Before the sync marker at the end.
    sim.fs.cut(&log, length - 50).unwrap();
    assert_error(
        &open(&sim).err().unwrap(),
        ErrorKind::Corrupt,
        &[&log, "cut short", "wal-recovery = skip-damaged", "nothing has been changed"],
    );
    sim.fs.kill();
    let mut options = small();
    options.wal_recovery = WalRecovery::SkipDamaged;
    let store = Builder::new().options(options).open_with_env(sim.env()).unwrap();
    let report = store.open_report();
    assert!(report.truncated_wal_bytes > 0 && report.wal_truncations[0].is_damage, "{report:?}");
    assert_eq!(
        sim.fs
            .read(report.wal_truncations[0].kept.strip_prefix("simulated disk/").unwrap())
            .unwrap()
            .len() as u64,
        report.truncated_wal_bytes
    );
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 19);
    drop(store);
    sim.fs.kill();
    assert_eq!(reopen(&sim).open_report().wal_truncations, [], "damage is skipped once");
}

#[test]
fn preallocated_log_space_is_neither_read_nor_reported() {
    let sim = SimEnv::new(1);
    let log = killed(&sim, 20);
    let written = written_bytes(&sim, &log);
    assert!(
        sim.fs.read(&log).unwrap().len() > written,
        "space is preallocated, so that syncs do not change the file length"
    );
    let store = reopen(&sim);
    assert_eq!(store.open_report().truncated_wal_bytes, 0);
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 20);
    let now = sim.fs.read(&log).unwrap().len();
    assert!(
        now < written + 2 * SYNC_MARKER_ZEROS,
        "the next log segment contains the length of this one: {now}, {written}"
    );
    // If the disk cannot reserve space, the log continues without it.
    sim.fs.inject(InjectedFault {
        times: u64::MAX,
        ..InjectedFault::next(FsCall::Preallocate, "", io::ErrorKind::StorageFull)
    });
    store.table("t").unwrap().put(Put::new("k9999").add("f", "q", "v")).unwrap();
    let log = sim.fs.files().into_keys().rfind(|path| path.starts_with("halite/wal/")).unwrap();
    assert!(
        sim.fs.read(&log).unwrap().len() <= written_bytes(&sim, &log) + SYNC_MARKER_ZEROS,
        "preallocated space is released"
    );
    drop(store);
    sim.fs.crash(7);
    sim.fs.clear_faults();
    assert_eq!(reopen(&sim).table("t").unwrap().scan(Scan::all()).count(), 21);
}

#[test]
fn log_of_newer_version_is_named() {
    let sim = SimEnv::new(1);
    let log = killed(&sim, 1);
    let mut bytes = sim.fs.read(&log).unwrap();
    bytes[11] = 9;
    let crc = crc32c::crc32c(&bytes[..80]);
    bytes[80..84].copy_from_slice(&crc.to_be_bytes());
    sim.fs.write(&log, bytes).unwrap();
    assert_error(&open(&sim).err().unwrap(), ErrorKind::NewerFormat, &[&log, "version 9"]);
}

#[test]
fn foreign_files_are_reported_and_kept() {
    let sim = SimEnv::new(1);
    closed(&sim, 1);
    let file = find(&sim, "/f/", "halite/");
    let directory = file.rsplit_once('/').unwrap().0;
    for (path, words) in [
        (format!("{directory}/notes.txt"), ["notes.txt", "move it"]),
        (
            format!("{directory}/0123456789abcdef0123456789abcdef"),
            ["0123456789abcdef", "not a file of this store"],
        ),
        ("data/readme".to_owned(), ["data/readme", "move it"]),
        ("halite/wal/odd".to_owned(), ["halite/wal/odd", "move it"]),
    ] {
        sim.fs.write(&path, "foreign").unwrap();
        assert_error(&open(&sim).err().unwrap(), ErrorKind::Corrupt, &words);
        sim.fs.kill();
        assert_eq!(sim.fs.read(&path).unwrap(), b"foreign");
        sim.env().fs.remove_file(&path).unwrap();
    }
    sim.fs.write(&format!("{directory}/.hidden"), "foreign").unwrap();
    reopen(&sim);
}

#[test]
fn directory_with_foreign_files_does_not_become_store() {
    for path in
        ["photos/holiday.jpg", ".hidden", "halite", "data/default/t/readme", "halite/notes.txt"]
    {
        let sim = SimEnv::new(1);
        sim.fs.write(path, "...").unwrap();
        let error = open(&sim).err().unwrap();
        assert!(
            error.message().contains(path.split('/').next().unwrap())
                && error.message().contains("nothing has been changed"),
            "{error}"
        );
        assert_eq!(sim.fs.files().into_keys().collect::<Vec<_>>(), [path]);
        assert_eq!(sim.env().fs.list("").unwrap().len(), 1, "no directory was made");
    }
}

#[test]
fn store_files_without_manifest_are_kept() {
    let lost: [(&str, &dyn Fn(&str) -> bool, _); 3] = [
        (
            "a root directory of HBase",
            &|path| !path.starts_with("halite/") && !path.starts_with("manifests/"),
            ErrorKind::InvalidRequest,
        ),
        ("a store without halite", &|path| !path.starts_with("halite/"), ErrorKind::InvalidRequest),
        ("a store without its manifest", &|path| path != "halite/MANIFEST", ErrorKind::Corrupt),
    ];
    for (name, stays, kind) in lost {
        let sim = SimEnv::new(1);
        closed(&sim, 10);
        // Some rows are in the log, and nowhere else.
        let store = reopen(&sim);
        store.table("t").unwrap().put(Put::new("later").add("f", "q", "v")).unwrap();
        drop(store);
        sim.fs.kill();
        let copy = SimEnv::new(2);
        sim.fs
            .files()
            .into_iter()
            .filter(|(path, _)| stays(path))
            .for_each(|(path, bytes)| copy.fs.write(&path, bytes).unwrap());
        let before = copy.fs.files();
        for _ in 0..2 {
            assert_error(
                &open(&copy).err().unwrap(),
                kind,
                &["nothing has been changed", "halite repair"],
            );
            copy.fs.kill();
            assert_eq!(copy.fs.files(), before, "{name}");
            assert_eq!(
                copy.env().fs.exists("halite").unwrap(),
                before.keys().any(|path| path.starts_with("halite/")),
                "{name}"
            );
        }
    }
}

#[test]
fn store_creation_is_repeated_after_crash_at_any_call() {
    let calls = {
        let sim = SimEnv::new(1);
        open(&sim).unwrap();
        sim.fs.calls()
    };
    assert!(calls > 15, "{calls}");
    for at in 0..calls {
        for seed in 0..12 {
            let sim = SimEnv::new(seed);
            sim.fs.crash_at_call(at);
            assert!(open(&sim).is_err());
            match seed {
                0 => sim.fs.kill(),
                1 => sim.fs.drop_unsynced(),
                seed => sim.fs.crash(seed * 1000 + at),
            }
            open(&sim).unwrap_or_else(|error| {
                panic!("died at call {at}, seed {seed}: {error}; {:?}", sim.fs.files().keys())
            });
        }
    }
}

#[test]
fn store_that_lost_its_lock_changes_nothing() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let table = store.table("t").unwrap();
    table.put(Put::new("k").add("f", "q", "v")).unwrap();
    sim.env().fs.remove_file("halite/LOCK").unwrap();
    assert_error(&open(&sim).err().unwrap(), ErrorKind::Locked, &["another process"]);
    table.put(Put::new("l").add("f", "q", "v")).unwrap();
    store.flush("t").unwrap();
    sim.fs.lose_lock();
    // A recent check of the lock is not repeated; a second later every caller checks it again.
    sim.clock.advance_ms(2000);
    let before = sim.fs.files();
    let put = || table.put(Put::new("m").add("f", "q", "v"));
    assert_error(&put().unwrap_err(), ErrorKind::Stopped, &["lock", "another process"]);
    assert_error(&store.flush("t").unwrap_err(), ErrorKind::Stopped, &["lock", "another process"]);
    let other = TableDescriptor::new("other".parse().unwrap()).family(FamilyDescriptor::new("f"));
    assert_error(&store.create_table(other, &[]).unwrap_err(), ErrorKind::Stopped, &["lock"]);
    assert_error(&store.disable_table("t").unwrap_err(), ErrorKind::Stopped, &["lock"]);
    assert_eq!(store.health().state, StoreState::Stopped);
    assert_eq!(sim.fs.files(), before);
    // Another process may have changed the store: a regained lock does not help.
    sim.fs.regain_lock("halite/LOCK");
    assert_error(&put().unwrap_err(), ErrorKind::Stopped, &["lock"]);
    assert!(!table.get(Get::new("k")).unwrap().is_empty());
    drop(table);
    assert_error(&store.close().unwrap_err(), ErrorKind::Stopped, &["lock"]);
    assert_eq!(sim.fs.files(), before);
}

/// By then the path contains another store's files, including a WAL segment with the same number.
#[test]
fn close_with_unnoticed_lost_lock_keeps_segments() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    store.table("t").unwrap().put(Put::new("k").add("f", "q", "v")).unwrap();
    store.flush("t").unwrap();
    sim.fs.lose_lock();
    let names = || sim.fs.files().into_keys().collect::<Vec<_>>();
    let before = names();
    assert!(before.iter().any(|path| path.starts_with("halite/wal/0")));
    assert_error(&store.close().unwrap_err(), ErrorKind::Stopped, &["lock"]);
    assert_eq!(names(), before);
}

#[test]
fn settings_are_not_written_after_lock_loss() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    sim.fs.lose_lock();
    let before = sim.fs.files();
    let altered =
        store.table("t").unwrap().descriptor().unwrap().as_ref().clone().set("READONLY", "true");
    assert_error(&store.alter_table(altered).unwrap_err(), ErrorKind::Stopped, &["lock"]);
    assert_error(&store.delete_snapshot("none").unwrap_err(), ErrorKind::Stopped, &["lock"]);
    assert_eq!(sim.fs.files(), before);
}
