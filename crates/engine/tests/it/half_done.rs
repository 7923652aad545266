//! Changes that fail half-way: the table is as before, and no remains mislead a later opening or
//! repair.

use std::io::ErrorKind::{Other, StorageFull};

use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_engine::{Engine, Options};
use halite_types::{
    Bytes, ErrorKind, FamilyDescriptor, Get, ReadTier, Result, SnapshotDescriptor, TableDescriptor,
};

use crate::support::{engine, name, put, store_file};

fn paths(sim: &SimEnv) -> Vec<String> {
    sim.fs.files().into_keys().filter(|path| path.starts_with("data/")).collect()
}

fn has_row(engine: &Engine) -> bool {
    !engine.table(&name()).unwrap().get(&Get::new("row"), ReadTier::Disk).unwrap().is_empty()
}

#[test]
fn table_without_one_of_its_files_stays_disabled_and_store_opens() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "value");
    engine.disable_table(&name()).unwrap();
    let (path, bytes) = store_file(&sim);
    sim.env().fs.remove_file(&path).unwrap();
    assert_eq!(engine.enable_table(&name()).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(!engine.is_enabled(&name()).unwrap());
    drop(engine);
    sim.fs.kill();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    assert!(!engine.is_enabled(&name()).unwrap());
    sim.fs.write(&path, bytes).unwrap();
    engine.enable_table(&name()).unwrap();
    assert!(has_row(&engine));
    engine.close().unwrap();
}

#[test]
fn failed_split_leaves_no_directory_and_is_retryable() {
    for (call, path) in [
        (FsCall::CreateDir, "/.tmp"),
        (FsCall::Write, ".regioninfo"),
        (FsCall::Create, "/f/"),
        (FsCall::SyncDir, "data/default/t"),
        (FsCall::Create, "MANIFEST"),
    ] {
        let sim = SimEnv::new(1);
        let engine = engine(&sim, &[]);
        put(&engine, "row", "value");
        engine.flush(&name()).unwrap();
        let (before, region) =
            (paths(&sim), engine.regions(&name()).unwrap().remove(0).encoded_name);
        let split = || engine.split_region(&region, Some(Bytes::from("m")));
        sim.fs.inject(InjectedFault::next(call, path, StorageFull));
        assert!(split().is_err() && sim.fs.failures() == 1, "{call:?} {path}");
        assert_eq!(paths(&sim), before, "{call:?} {path}");
        split().unwrap();
        assert!(has_row(&engine) && engine.regions(&name()).unwrap().len() == 2);
        engine.close().unwrap();
    }
}

#[test]
fn failed_alter_keeps_effective_descriptor() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "value");
    engine.flush(&name()).unwrap();
    let before = paths(&sim);
    let less = TableDescriptor::new(name()).family(FamilyDescriptor::new("g"));
    sim.fs.inject(InjectedFault::next(FsCall::Create, "MANIFEST", Other));
    assert!(engine.alter_table(less.clone()).is_err());
    assert_eq!(paths(&sim), before);
    assert!(has_row(&engine));
    engine.alter_table(less).unwrap();
    let descriptors = paths(&sim).into_iter().filter(|path| path.contains(".tableinfo.")).count();
    assert_eq!(descriptors, 1);
    engine.close().unwrap();
}

#[test]
fn partial_quarantine_is_reported() {
    let sim = SimEnv::new(1);
    let first = engine(&sim, &[]);
    put(&first, "row", "value");
    first.flush(&name()).unwrap();
    first.close().unwrap();
    let (path, bytes) = store_file(&sim);
    let directory = path.rsplit_once('/').unwrap().0;
    // References to missing files: whatever they contain, only a store writes them.
    for digit in ["a", "b"] {
        sim.fs
            .add(&format!("{directory}/{}.{}", digit.repeat(32), "c".repeat(32)), bytes.clone())
            .unwrap();
    }
    sim.fs.inject(InjectedFault::next(FsCall::Rename, "halite/quarantine", StorageFull).after(1));
    let opened = Engine::open(sim.env(), Options::default()).unwrap();
    assert_eq!(opened.open_report().quarantined_files, 1);
    let aside =
        sim.fs.files().into_keys().filter(|path| path.starts_with("halite/quarantine/")).count();
    assert!(aside == 1 && opened.open_report().quarantine.is_some());
    opened.close().unwrap();
    assert_eq!(
        Engine::open(sim.env(), Options::default()).unwrap().open_report().quarantined_files,
        1
    );
}

#[test]
fn number_of_bulk_load_directories_is_limited() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    let token = engine.prepare_bulk_load(&name(), "me").unwrap();
    (0..10_000)
        .for_each(|number| sim.env().fs.create_dir_all(&format!("staging/{number}")).unwrap());
    let error = engine.prepare_bulk_load(&name(), "me").unwrap_err();
    assert!(
        error.kind() == ErrorKind::Busy && error.message().contains("10001 directories"),
        "{error}"
    );
    engine.clean_up_bulk_load(&token).unwrap();
}

#[test]
fn failed_create_or_truncate_is_retryable_without_leftovers() {
    for (call, path) in [
        (FsCall::Write, ".tableinfo"),
        (FsCall::SyncDir, ".tabledesc"),
        (FsCall::CreateDir, "/.tmp"),
        (FsCall::Write, ".regioninfo"),
        (FsCall::SyncDir, "data/default"),
        (FsCall::Create, "MANIFEST"),
    ] {
        let sim = SimEnv::new(1);
        let engine = engine(&sim, &[]);
        put(&engine, "row", "value");
        engine.create_snapshot(&SnapshotDescriptor::new("s", name())).unwrap();
        engine.disable_table(&name()).unwrap();
        let other = TableDescriptor::new("u".parse().unwrap()).family(FamilyDescriptor::new("f"));
        let create = || engine.create_table(other.clone(), vec![Bytes::from("m")]);
        let clone = || engine.clone_snapshot("s", &"v".parse().unwrap());
        let truncate = || engine.truncate_table(&name(), true);
        let works: [&dyn Fn() -> Result<()>; 3] = [&create, &clone, &truncate];
        for (number, work) in works.into_iter().enumerate() {
            let (before, directories) = (paths(&sim), directories(&sim));
            let failures = sim.fs.failures();
            // An existing descriptor is not rewritten.
            let is_written = number < 2 || path != ".tableinfo";
            sim.fs.inject(InjectedFault::next(call, path, StorageFull));
            if is_written {
                assert!(
                    work().is_err() && sim.fs.failures() == failures + 1,
                    "{number} {call:?} {path}"
                );
                assert_eq!(paths(&sim), before, "{number} {call:?} {path}");
                assert_eq!(self::directories(&sim), directories, "{number} {call:?} {path}");
            }
            sim.fs.clear_faults();
            work().unwrap();
        }
        engine.close().unwrap();
    }
}

/// Returns the directories of tables and of their regions.
fn directories(sim: &SimEnv) -> Vec<String> {
    let fs = sim.env().fs;
    let below = |path: &str| {
        fs.list(path)
            .unwrap()
            .into_iter()
            .filter(|entry| entry.is_dir)
            .map(|entry| format!("{path}/{}", entry.name))
            .collect()
    };
    let tables: Vec<String> = below("data/default");
    tables.iter().flat_map(|table| std::iter::once(table.clone()).chain(below(table))).collect()
}

type Work<'a> = &'a dyn Fn(&Engine) -> Result<()>;

fn table_infos(sim: &SimEnv) -> Vec<String> {
    paths(sim).into_iter().filter(|path| path.contains(".tableinfo.")).collect()
}

#[test]
fn failed_restore_keeps_effective_descriptor() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "value");
    engine.create_snapshot(&SnapshotDescriptor::new("s", name())).unwrap();
    engine
        .alter_table(
            TableDescriptor::clone(&engine.descriptor(&name()).unwrap())
                .family(FamilyDescriptor::new("h")),
        )
        .unwrap();
    engine.disable_table(&name()).unwrap();
    let before = paths(&sim);
    sim.fs.inject(InjectedFault::next(FsCall::Create, "MANIFEST", Other));
    assert!(engine.restore_snapshot("s").is_err());
    assert_eq!(paths(&sim), before);
    engine.restore_snapshot("s").unwrap();
    assert!(engine.descriptor(&name()).unwrap().find_family(b"h").is_none());
    assert_eq!(table_infos(&sim).len(), 1);
    engine.close().unwrap();
}

#[test]
fn descriptor_matches_manifest_after_crash_at_any_call() {
    let alter = |engine: &Engine| {
        engine.alter_table(
            TableDescriptor::clone(&*engine.descriptor(&name())?)
                .family(FamilyDescriptor::new("h")),
        )
    };
    let restore = |engine: &Engine| engine.restore_snapshot("s");
    let truncate = |engine: &Engine| engine.truncate_table(&name(), true);
    let works: [(Work<'_>, bool); 3] = [(&alter, false), (&restore, true), (&truncate, true)];
    for (number, (work, is_disabled)) in works.into_iter().enumerate() {
        for call in 0.. {
            let sim = SimEnv::new(1);
            let engine = engine(&sim, &[]);
            engine.create_snapshot(&SnapshotDescriptor::new("s", name())).unwrap();
            if is_disabled {
                alter(&engine).unwrap();
                engine.disable_table(&name()).unwrap();
            }
            sim.fs.crash_at_call(sim.fs.calls() + call);
            let is_over = work(&engine).is_ok() && !sim.fs.is_gone();
            drop(engine);
            sim.fs.crash(call);
            let engine = Engine::open(sim.env(), Options::default()).unwrap();
            let has_family = engine.descriptor(&name()).unwrap().find_family(b"h").is_some();
            let infos = table_infos(&sim);
            let [info] = &infos[..] else { panic!("{number} {call} {infos:?}") };
            let bytes = sim.fs.read(info).unwrap();
            assert_eq!(
                bytes.windows(3).any(|window| window == b"\x0a\x01h"),
                has_family,
                "{number} {call} {info}"
            );
            engine.close().unwrap();
            if is_over {
                break;
            }
        }
    }
}

#[test]
fn disk_reserve_rejects_creation_and_allows_deletion() {
    let sim = SimEnv::new(1);
    let mut options = Options::default();
    options.disk_reserve_bytes = Some(1 << 20);
    let engine = Engine::open(sim.env(), options).unwrap();
    let table =
        |name: &str| TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f"));
    engine.create_table(table("t"), Vec::new()).unwrap();
    put(&engine, "row", "value");
    engine.create_snapshot(&SnapshotDescriptor::new("s", name())).unwrap();
    let region = engine.regions(&name()).unwrap().remove(0).encoded_name;
    sim.fs.set_capacity(Some(sim.fs.used_bytes() + (1 << 19)));
    engine.health();
    let refused = |result: Result<()>| assert_eq!(result.unwrap_err().kind(), ErrorKind::DiskFull);
    refused(engine.create_table(table("u"), Vec::new()));
    refused(engine.create_namespace("ns", halite_types::Attributes::new()));
    refused(engine.clone_snapshot("s", &"v".parse().unwrap()));
    refused(engine.split_region(&region, Some(Bytes::from("m"))));
    engine.disable_table(&name()).unwrap();
    refused(engine.restore_snapshot("s"));
    engine.truncate_table(&name(), false).unwrap();
    engine.delete_snapshot("s").unwrap();
    engine.disable_table(&name()).unwrap();
    engine.drop_table(&name()).unwrap();
    sim.fs.set_capacity(None);
    engine.health();
    engine.create_table(table("u"), Vec::new()).unwrap();
    engine.close().unwrap();
}
