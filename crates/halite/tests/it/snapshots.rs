//! Snapshots and tables cloned or restored from them: their contents, file references, and every
//! rejection.

use halite::{
    BlockingTable, CompactionKind, Delete, ErrorKind, FamilyDescriptor, Put, Scan,
    SnapshotDescriptor, SnapshotType, Store, TableDescriptor, TableName,
};
use halite_engine::env::sim::SimEnv;

use crate::{keys, reopen, store};

fn name(text: &str) -> TableName {
    text.parse().unwrap()
}

fn put(store: &Store, table: &str, rows: std::ops::Range<usize>, value: &str) {
    let table = store.table(table).unwrap();
    for i in rows {
        table.put(Put::new(format!("k{i:03}")).add("f", "q", value).add("g", "q", value)).unwrap();
    }
}

fn take(store: &Store, snapshot: &str, table: &str) {
    store.create_snapshot(SnapshotDescriptor::new(snapshot, name(table))).unwrap();
}

/// Each row with the newest value of `f:q`.
fn content(store: &Store, table: &str) -> Vec<String> {
    let text =
        |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    store
        .table(table)
        .unwrap()
        .scan(Scan::all())
        .map(|row| row.map(|row| text(Some(row.key())) + "=" + &text(row.value("f", "q"))).unwrap())
        .collect()
}

fn drop_table(store: &Store, table: &str) {
    store.disable_table(name(table)).unwrap();
    store.drop_table(name(table)).unwrap();
}

/// Paths of all files below `directory`, store files, links and references only.
fn files(sim: &SimEnv, directory: &str) -> Vec<String> {
    sim.fs
        .files()
        .into_keys()
        .filter(|path| path.starts_with(directory) && !path.contains("/."))
        .collect()
}

#[test]
fn snapshot_keeps_rows_deleted_from_its_table() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..50, "old");
    take(&store, "s", "t");
    put(&store, "t", 25..75, "new");
    for i in 0..10 {
        store.table("t").unwrap().delete(Delete::new(format!("k{i:03}"))).unwrap();
    }
    store.flush(name("t")).unwrap();
    store.compact(name("t"), None, CompactionKind::Major).unwrap();
    assert_eq!(files(&sim, "archive").len(), 2, "one file of each family, kept for the snapshot");
    store.clone_snapshot("s", name("c")).unwrap();
    let old: Vec<String> = (0..50).map(|i| format!("k{i:03}=old")).collect();
    assert_eq!(content(&store, "c"), old);
    assert_eq!(content(&store, "t").len(), 65);
    // Both continue independently, across a restart.
    put(&store, "c", 40..60, "clone");
    store.close().unwrap();
    let store = reopen(&sim);
    assert_eq!(store.open_report().removed_files, 0);
    let changed: Vec<String> =
        (0..60).map(|i| format!("k{i:03}={}", if i < 40 { "old" } else { "clone" })).collect();
    assert_eq!(content(&store, "c"), changed);
    drop_table(&store, "t");
    store.compact(name("c"), None, CompactionKind::Major).unwrap();
    assert_eq!(content(&store, "c"), changed);
    store.clone_snapshot("s", name("t")).unwrap();
    assert_eq!(content(&store, "t"), old);
}

#[test]
fn dropping_snapshot_clone_and_table_leaves_no_files() {
    for order in [["s", "c", "t"], ["t", "c", "s"], ["c", "s", "t"], ["t", "s", "c"]] {
        let sim = SimEnv::new(1);
        let store = store(&sim);
        put(&store, "t", 0..20, "v");
        take(&store, "s", "t");
        store.clone_snapshot("s", name("c")).unwrap();
        put(&store, "t", 0..20, "w");
        store.flush(name("t")).unwrap();
        store.compact(name("t"), None, CompactionKind::Major).unwrap();
        for (at, what) in order.into_iter().enumerate() {
            if what == "s" {
                store.delete_snapshot("s").unwrap();
            } else {
                drop_table(&store, what);
            }
            for left in order[at + 1..].iter().filter(|left| **left != "s") {
                assert_eq!(content(&store, left).len(), 20, "{left} after {what}");
            }
        }
        assert_eq!(files(&sim, "data/default"), [""; 0], "{order:?}");
        assert_eq!(files(&sim, "archive"), [""; 0], "{order:?}");
        store.close().unwrap();
        assert_eq!(reopen(&sim).open_report().removed_files, 0);
    }
}

#[test]
fn restored_table_has_its_earlier_rows_families_and_regions() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..40, "old");
    take(&store, "s", "t");
    let before = (store.list_tables().unwrap(), content(&store, "t"));
    let region = store.table("t").unwrap().regions().unwrap().remove(0);
    store.engine().split_region(&region.encoded_name, Some("k020".into())).unwrap();
    store
        .alter_table(
            TableDescriptor::new(name("t"))
                .family(FamilyDescriptor::new("f"))
                .family(FamilyDescriptor::new("h")),
        )
        .unwrap();
    store.table("t").unwrap().put(Put::new("k000").add("h", "q", "gone")).unwrap();
    assert_eq!(store.restore_snapshot("s").unwrap_err().kind(), ErrorKind::TableEnabled);
    let held = store.table("t").unwrap();
    store.disable_table(name("t")).unwrap();
    store.restore_snapshot("s").unwrap();
    assert_eq!(store.table("t").err().unwrap().kind(), ErrorKind::TableDisabled);
    store.enable_table(name("t")).unwrap();
    assert_eq!((store.list_tables().unwrap(), content(&store, "t")), before);
    assert_held_is_restored(&store, &held, &before.1);
    // Again, after writes to the restored table.
    put(&store, "t", 0..5, "later");
    store.disable_table(name("t")).unwrap();
    store.restore_snapshot("s").unwrap();
    store.delete_snapshot("s").unwrap();
    drop(store);
    sim.fs.kill();
    let store = reopen(&sim);
    store.enable_table(name("t")).unwrap();
    assert_eq!((store.list_tables().unwrap(), content(&store, "t")), before);
    assert_eq!(store.engine().table(&name("t")).unwrap().region_infos().len(), 1);
    store.compact(name("t"), None, CompactionKind::Major).unwrap();
    assert_eq!(files(&sim, "archive"), [""; 0]);
    assert_eq!(content(&store, "t"), before.1);
}

/// Asserts that a table held across the restoration reads and writes the restored regions: those of
/// the catalog, and the open ones of the engine.
fn assert_held_is_restored(store: &Store, held: &BlockingTable, rows: &[String]) {
    let regions = held.regions().unwrap();
    assert_eq!(regions.len(), 1);
    assert_eq!(store.engine().table(&name("t")).unwrap().region_infos(), regions);
    assert_eq!(keys(held, Scan::all()).len(), rows.len());
    let families = |table: &BlockingTable| table.descriptor().unwrap().families().count();
    assert_eq!((families(held), families(&store.table("t").unwrap())), (2, 2));
    let refused = held.put(Put::new("k000").add("h", "q", "gone")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NoSuchFamily);
    held.put(Put::new("k000").add("f", "q", "held")).unwrap();
    assert_eq!(content(store, "t")[0], "k000=held");
}

#[test]
fn clone_of_split_table_snapshot_can_split_again() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let table =
        TableDescriptor::clone(&store.list_tables().unwrap()[0]).set("COMPACTION_ENABLED", "false");
    store.alter_table(table).unwrap();
    put(&store, "t", 0..60, "v");
    store.flush(name("t")).unwrap();
    let all = content(&store, "t");
    let split = |table: &str, at: &str| {
        let region = store
            .table(table)
            .unwrap()
            .regions()
            .unwrap()
            .into_iter()
            .find(|region| region.contains(at.as_bytes()))
            .unwrap();
        store.engine().split_region(&region.encoded_name, Some(at.to_owned().into())).unwrap();
    };
    split("t", "k030");
    take(&store, "halves", "t");
    store.compact(name("t"), None, CompactionKind::Major).unwrap();
    assert_eq!(files(&sim, "archive").len(), 2, "the parent's files: {:?}", files(&sim, "archive"));
    store.clone_snapshot("halves", name("c")).unwrap();
    assert_eq!(
        (content(&store, "c"), store.table("c").unwrap().regions().unwrap().len()),
        (all.clone(), 2)
    );
    take(&store, "again", "c");
    store.clone_snapshot("again", name("d")).unwrap();
    drop_table(&store, "t");
    drop_table(&store, "c");
    store.delete_snapshot("halves").unwrap();
    store.delete_snapshot("again").unwrap();
    assert_eq!(content(&store, "d"), all);
    // A whole file in a clone is a link, and references to its halves use the name of the link.
    store.compact(name("d"), None, CompactionKind::Major).unwrap();
    assert_eq!(files(&sim, "archive"), [""; 0]);
    take(&store, "whole", "d");
    store.clone_snapshot("whole", name("e")).unwrap();
    drop_table(&store, "d");
    split("e", "k010");
    assert_eq!(content(&store, "e"), all);
    store.close().unwrap();
    let store = reopen(&sim);
    assert_eq!((store.open_report().removed_files, content(&store, "e")), (0, all));
}

#[test]
fn snapshot_without_flush_contains_only_store_files() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..5, "file");
    store.flush(name("t")).unwrap();
    put(&store, "t", 5..10, "memory");
    store
        .create_snapshot(SnapshotDescriptor::new("s", name("t")).kind(SnapshotType::SkipFlush))
        .unwrap();
    store
        .create_snapshot(SnapshotDescriptor::new("flushed", name("t")).max_file_bytes(1 << 30))
        .unwrap();
    store.clone_snapshot("s", name("c")).unwrap();
    store.clone_snapshot("flushed", name("d")).unwrap();
    assert_eq!((content(&store, "c").len(), content(&store, "d").len()), (5, 10));
    let limits: Vec<_> =
        store.list_tables().unwrap().iter().map(|table| table.max_file_size_bytes()).collect();
    assert_eq!(limits, [None, Some(1 << 30), None], "c, d and t");
}

#[test]
fn snapshot_of_disabled_table_leaves_it_disabled() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..5, "v");
    store.disable_table(name("t")).unwrap();
    take(&store, "s", "t");
    let [snapshot] = &store.list_snapshots().unwrap()[..] else {
        panic!("{:?}", store.list_snapshots().unwrap())
    };
    assert_eq!((snapshot.kind, snapshot.created_ms), (SnapshotType::Disabled, 1_000_000_000_000));
    assert!(!store.engine().is_enabled(&name("t")).unwrap());
    store.drop_table(name("t")).unwrap();
    store.restore_snapshot("s").unwrap();
    assert_eq!(content(&store, "t").len(), 5, "a dropped table is recreated");
}

#[test]
fn impossible_snapshot_operations_are_rejected_without_leftovers() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..5, "v");
    let kind = |result: halite::Result<()>| result.unwrap_err().kind();
    let descriptor = |snapshot: &str, table: &str| SnapshotDescriptor::new(snapshot, name(table));
    assert_eq!(kind(store.create_snapshot(descriptor("s", "nosuch"))), ErrorKind::NoSuchTable);
    assert_eq!(kind(store.create_snapshot(descriptor("-s", "t"))), ErrorKind::InvalidRequest);
    assert_eq!(
        kind(store.create_snapshot(descriptor("s", "hbase:meta"))),
        ErrorKind::InvalidRequest
    );
    take(&store, "s", "t");
    assert_eq!(kind(store.create_snapshot(descriptor("s", "t"))), ErrorKind::SnapshotExists);
    assert_eq!(kind(store.clone_snapshot("nosuch", name("c"))), ErrorKind::NoSuchSnapshot);
    assert_eq!(kind(store.clone_snapshot("s", name("t"))), ErrorKind::TableExists);
    assert_eq!(kind(store.clone_snapshot("s", name("none:c"))), ErrorKind::NoSuchNamespace);
    assert_eq!(kind(store.restore_snapshot("nosuch")), ErrorKind::NoSuchSnapshot);
    assert_eq!(kind(store.delete_snapshot("nosuch")), ErrorKind::NoSuchSnapshot);
    assert!(
        files(&sim, "data/default").iter().all(|path| path.starts_with("data/default/t/")),
        "{:?}",
        files(&sim, "data")
    );
}

#[test]
fn clone_of_damaged_files_fails_without_leftovers() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..5, "v");
    take(&store, "s", "t");
    drop_table(&store, "t");
    store.close().unwrap();
    let file = files(&sim, "archive").pop().unwrap();
    sim.fs.cut(&file, 10).unwrap();
    let store = reopen(&sim);
    let error = store.clone_snapshot("s", name("c")).unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.message().contains(&file), "{error}");
    assert!(!store.table_exists(name("c")).unwrap());
    assert!(
        !sim.fs.files().keys().any(|path| path.starts_with("data/default")),
        "{:?}",
        sim.fs.files().keys()
    );
    store.delete_snapshot("s").unwrap();
    assert_eq!(files(&sim, "archive"), [""; 0]);
}

#[test]
fn expired_snapshot_is_rejected_and_removed() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..5, "v");
    store.create_snapshot(SnapshotDescriptor::new("short", name("t")).ttl_seconds(10)).unwrap();
    store.create_snapshot(SnapshotDescriptor::new("long", name("t")).ttl_seconds(1000)).unwrap();
    assert_eq!(store.delete_expired_snapshots().unwrap(), [""; 0]);
    sim.clock.advance_ms(10_001);
    assert_eq!(
        store.clone_snapshot("short", name("c")).unwrap_err().kind(),
        ErrorKind::SnapshotExpired
    );
    store.disable_table(name("t")).unwrap();
    assert_eq!(store.restore_snapshot("short").unwrap_err().kind(), ErrorKind::SnapshotExpired);
    assert_eq!(store.delete_expired_snapshots().unwrap(), ["short"]);
    assert_eq!(
        store
            .list_snapshots()
            .unwrap()
            .into_iter()
            .map(|snapshot| snapshot.name)
            .collect::<Vec<_>>(),
        ["long"]
    );
}

#[test]
fn dropped_family_stays_in_snapshot() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put(&store, "t", 0..5, "v");
    take(&store, "s", "t");
    store.alter_table(TableDescriptor::new(name("t")).family(FamilyDescriptor::new("g"))).unwrap();
    assert_eq!(files(&sim, "archive").len(), 1);
    store.disable_table(name("t")).unwrap();
    store.engine().truncate_table(&name("t"), false).unwrap();
    store.clone_snapshot("s", name("c")).unwrap();
    assert_eq!(content(&store, "c"), ["k000=v", "k001=v", "k002=v", "k003=v", "k004=v"]);
}
