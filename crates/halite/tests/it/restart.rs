//! Closing, kills and power loss: every acknowledged write is present.

use halite::{Get, Put, Scan};
use halite_engine::env::sim::SimEnv;

use crate::{reopen, store};

#[test]
fn clean_close_leaves_only_live_files_and_empty_log() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let table = store.table("t").unwrap();
    for i in 0..2000 {
        table.put(Put::new(format!("k{i:04}")).add("f", "q", "v".repeat(300))).unwrap();
        while store.engine().run_one_job().unwrap() {}
    }
    drop(table);
    store.close().unwrap();
    let files = sim.fs.files();
    assert!(
        !files.keys().any(|path| path.ends_with(".wal") || path.contains(".tmp/")),
        "{:?}",
        files.keys()
    );
    let store = reopen(&sim);
    assert_eq!((store.open_report().replayed_writes, store.open_report().removed_files), (0, 0));
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 2000);
}

#[test]
fn acknowledged_writes_survive_repeated_power_loss() {
    let sim = SimEnv::new(7);
    let mut store = store(&sim);
    let mut written = 0;
    for round in 0..8 {
        let table = store.table("t").unwrap();
        for _ in 0..150 {
            table
                .put(
                    Put::new(format!("k{written:05}"))
                        .add("f", "q", "v".repeat(500))
                        .add("g", "q", "w"),
                )
                .unwrap();
            written += 1;
            if written % 60 == 0 {
                while store.engine().run_one_job().unwrap() {}
            }
        }
        drop((table, store));
        sim.fs.crash(round);
        store = reopen(&sim);
        let table = store.table("t").unwrap();
        assert_eq!(
            table.scan(Scan::all()).map(|row| row.unwrap().len()).collect::<Vec<_>>(),
            vec![2; written],
            "round {round}"
        );
    }
}

#[test]
fn directory_cannot_be_opened_by_two_processes() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let error = halite::open(directory.path()).err().unwrap();
    assert_eq!(error.kind(), halite::ErrorKind::Locked);
    assert!(error.message().contains("another process"), "{error}");
    store.close().unwrap();
    halite::open(directory.path()).unwrap();
}

#[test]
fn store_on_real_disk_survives_drop_without_close() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    store
        .create_table(
            halite::TableDescriptor::new("t".parse().unwrap())
                .family(halite::FamilyDescriptor::new("f")),
            &[b"5"],
        )
        .unwrap();
    let table = store.table("t").unwrap();
    for i in 0..10 {
        table.put(Put::new(i.to_string()).add("f", "q", "v")).unwrap();
    }
    drop((table, store));
    let store = halite::open(directory.path()).unwrap();
    assert_eq!(store.open_report().replayed_writes, 10);
    let table = store.table("t").unwrap();
    assert_eq!(table.scan(Scan::all()).count(), 10);
    assert_eq!(table.get(Get::new("7")).unwrap().value("f", "q"), Some(&b"v"[..]));
}
