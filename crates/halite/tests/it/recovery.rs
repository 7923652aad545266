//! Recovery after a crash or a failed call at a critical moment: no acknowledged write is lost, no
//! deleted cell reappears.

use std::io::ErrorKind::{Other, StorageFull};
use std::sync::mpsc;

use halite::{
    BlockingTable, Builder, Durability, ErrorKind, FamilyDescriptor, Get, Put, Scan, Store,
    TableDescriptor, TableName, WalSync,
};
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};

use crate::rename_hook::RenameHook;
use crate::{keys, reopen, small, store};

fn name() -> TableName {
    "t".parse().unwrap()
}

fn put(table: &BlockingTable, row: &str) -> halite::Result<()> {
    table.put(Put::new(row.to_owned()).add("f", "q", "v"))
}

#[test]
fn cells_read_after_process_crash_survive_power_loss() {
    let sim = SimEnv::new(1);
    let open = || {
        let mut options = small();
        options.wal_sync = WalSync::Flush;
        Builder::new().options(options).open_with_env(sim.env()).unwrap()
    };
    let store = open();
    store
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), &[])
        .unwrap();
    put(&store.table("t").unwrap(), "before").unwrap();
    drop(store);
    sim.fs.kill();
    let store = open();
    let table = store.table("t").unwrap();
    assert_eq!(keys(&table, Scan::all()), ["before"]);
    table.put(Put::new("after").add("f", "q", "v").durability(Durability::FsyncWal)).unwrap();
    drop((table, store));
    sim.fs.drop_unsynced();
    assert_eq!(keys(&open().table("t").unwrap(), Scan::all()), ["after", "before"]);
}

/// Fails the sync of the manifest's directory entry, which may or may not take effect: both
/// manifests must open, and no change may be acknowledged that only one of them contains.
fn after_a_manifest_of_unknown_fate(changes: u64, work: impl Fn(&Store) -> halite::Result<()>) {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let table = store.table("t").unwrap();
    for row in ["a", "b", "c", "d"] {
        put(&table, row).unwrap();
        store.flush(name()).unwrap();
    }
    put(&table, "e").unwrap();
    sim.fs.inject(InjectedFault::next(FsCall::SyncDir, "halite", Other).after(changes));
    work(&store).unwrap_err();
    sim.fs.clear_faults();
    let mut written = vec!["a", "b", "c", "d", "e"];
    match put(&table, "f") {
        Ok(()) => written.push("f"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Stopped, "{error}"),
    }
    assert_eq!(keys(&table, Scan::all()), written, "reads continue");
    drop((table, store));
    sim.fs.kill();
    assert_eq!(keys(&reopen(&sim).table("t").unwrap(), Scan::all()), written);
}

#[test]
fn manifest_write_of_unknown_outcome_loses_nothing() {
    after_a_manifest_of_unknown_fate(0, |store| store.flush(name()));
    after_a_manifest_of_unknown_fate(0, |store| {
        store.compact(name(), None, halite::CompactionKind::Major)
    });
    let split = |store: &Store| {
        store.engine().split_region(
            &store.table("t").unwrap().regions().unwrap()[0].encoded_name,
            Some("c".into()),
        )
    };
    // The flush before it, the numbers of the daughters, the daughters.
    after_a_manifest_of_unknown_fate(2, split);
}

#[test]
fn write_during_family_drop_stays_dropped_in_new_family() {
    let sim = SimEnv::new(1);
    let (meanwhile, env) = RenameHook::wrap(&sim);
    let both = TableDescriptor::new(name())
        .family(FamilyDescriptor::new("f"))
        .family(FamilyDescriptor::new("g"));
    let store = Builder::new().options(small()).open_with_env(env).unwrap();
    store.create_table(both.clone(), &[]).unwrap();
    let table = store.table("t").unwrap();
    let (sender, acknowledged) = mpsc::channel();
    let writer = table.clone();
    meanwhile.before_rename("MANIFEST", move || {
        sender.send(writer.put(Put::new("r").add("g", "q", "old"))).unwrap();
    });
    store.alter_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f"))).unwrap();
    let _ = acknowledged.recv().unwrap();
    store.alter_table(both).unwrap();
    drop((table, store));
    sim.fs.kill();
    assert_eq!(reopen(&sim).table("t").unwrap().get(Get::new("r")).unwrap().len(), 0);
}

#[test]
fn write_during_disable_on_full_disk_is_never_lost() {
    let sim = SimEnv::new(1);
    let (meanwhile, env) = RenameHook::wrap(&sim);
    let store = Builder::new().options(small()).open_with_env(env).unwrap();
    store
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), &[])
        .unwrap();
    let table = store.table("t").unwrap();
    put(&table, "early").unwrap();
    store.flush(name()).unwrap();
    let (sender, acknowledged) = mpsc::channel();
    let (writer, disk) = (table.clone(), sim.fs.clone());
    meanwhile.before_rename("MANIFEST", move || {
        let written = put(&writer, "late");
        disk.inject(InjectedFault::next(FsCall::Create, ".tmp", StorageFull).forever());
        sender.send(written).unwrap();
    });
    let disabled = store.disable_table(name());
    let written = acknowledged.recv().unwrap();
    sim.fs.clear_faults();
    if disabled.is_ok() || store.table("t").is_err() {
        store.enable_table(name()).unwrap();
    }
    let expected = if written.is_ok() { vec!["early", "late"] } else { vec!["early"] };
    let table = store.table("t").unwrap();
    assert_eq!(keys(&table, Scan::all()), expected);
    for row in ["x", "y", "z"] {
        put(&table, row).unwrap();
    }
    store.flush(name()).unwrap();
    drop((table, store));
    sim.fs.kill();
    assert_eq!(
        keys(&reopen(&sim).table("t").unwrap(), Scan::all()),
        [&expected[..], &["x", "y", "z"]].concat()
    );
}

#[test]
fn closed_region_is_not_compacted() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let table = store.table("t").unwrap();
    for row in ["a", "b", "c"] {
        put(&table, row).unwrap();
        store.flush(name()).unwrap();
    }
    let stale = std::sync::Arc::clone(&store.engine().table(&name()).unwrap().regions()[0]);
    store.disable_table(name()).unwrap();
    store.enable_table(name()).unwrap();
    let files = sim.fs.files().len();
    let error = stale.compact(None, halite::CompactionKind::Major).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchRegion, "the successor region lacks its writes");
    assert_eq!(sim.fs.files().len(), files);
}

#[test]
fn unawaited_write_survives_store_close() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let store = halite::open(directory.path()).unwrap();
        if round == 0 {
            store
                .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), &[])
                .unwrap();
        }
        let table = store.table("t").unwrap();
        assert_eq!(table.scan(Scan::all()).count(), round);
        table
            .put(Put::new(round.to_string()).add("f", "q", "v").durability(Durability::AsyncWal))
            .unwrap();
        drop((table, store));
    }
}

#[test]
fn table_enabled_after_restart_releases_compacted_files() {
    let sim = SimEnv::new(1);
    let first = store(&sim);
    for row in ["a", "b", "c"] {
        put(&first.table("t").unwrap(), row).unwrap();
        first.flush(name()).unwrap();
    }
    first.disable_table(name()).unwrap();
    drop(first);
    sim.fs.kill();
    let store = reopen(&sim);
    store.enable_table(name()).unwrap();
    store.compact(name(), None, halite::CompactionKind::Major).unwrap();
    assert_eq!(sim.fs.files().keys().filter(|path| path.contains("/f/")).count(), 1);
    assert_eq!(keys(&store.table("t").unwrap(), Scan::all()), ["a", "b", "c"]);
}
