//! Changes that fail half-way: the table is as before, and nothing of them is left that a later opening or repair would believe.

use std::io::ErrorKind::{Other, StorageFull};

use halite_engine::env::sim::{Call, Fault, SimEnv};
use halite_engine::{Engine, Options};
use halite_types::{Bytes, ErrorKind, FamilyDescriptor, Get, TableDescriptor, Tier};

use crate::support::{engine, name, put, store_file};

fn paths(sim: &SimEnv) -> Vec<String> {
    sim.fs.files().into_keys().filter(|path| path.starts_with("data/")).collect()
}

fn has_row(engine: &Engine) -> bool {
    !engine.table(&name()).unwrap().get(&Get::new("row"), Tier::Disk).unwrap().is_empty()
}

#[test]
fn a_table_whose_files_cannot_be_opened_stays_disabled_and_the_store_can_be_opened() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "value");
    engine.disable_table(&name()).unwrap();
    let (path, bytes) = store_file(&sim);
    sim.fs.write(&path, b"no store file".to_vec()).unwrap();
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
fn a_split_that_fails_leaves_no_directory_and_can_be_tried_again() {
    for (call, path) in [
        (Call::CreateDir, "/.tmp"),
        (Call::Write, ".regioninfo"),
        (Call::Create, "/f/"),
        (Call::SyncDir, "data/default/t"),
        (Call::Create, "MANIFEST"),
    ] {
        let sim = SimEnv::new(1);
        let engine = engine(&sim, &[]);
        put(&engine, "row", "value");
        engine.flush(&name()).unwrap();
        let (before, region) = (paths(&sim), engine.regions(&name()).unwrap().remove(0).encoded_name);
        let split = || engine.split_region(&region, Some(Bytes::from("m")));
        sim.fs.inject(Fault::next(call, path, StorageFull));
        assert!(split().is_err() && sim.fs.failures() == 1, "{call:?} {path}");
        assert_eq!(paths(&sim), before, "{call:?} {path}");
        split().unwrap();
        assert!(has_row(&engine) && engine.regions(&name()).unwrap().len() == 2);
        engine.close().unwrap();
    }
}

#[test]
fn an_alteration_that_fails_leaves_the_descriptor_that_counts() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "row", "value");
    engine.flush(&name()).unwrap();
    let before = paths(&sim);
    let less = TableDescriptor::new(name()).family(FamilyDescriptor::new("g"));
    sim.fs.inject(Fault::next(Call::Create, "MANIFEST", Other));
    assert!(engine.alter_table(less.clone()).is_err());
    assert_eq!(paths(&sim), before);
    assert!(has_row(&engine));
    engine.alter_table(less).unwrap();
    let descriptors = paths(&sim).into_iter().filter(|path| path.contains(".tableinfo.")).count();
    assert_eq!(descriptors, 1);
    engine.close().unwrap();
}

#[test]
fn what_could_not_all_be_set_aside_is_told_as_far_as_it_was() {
    let sim = SimEnv::new(1);
    let first = engine(&sim, &[]);
    put(&first, "row", "value");
    first.flush(&name()).unwrap();
    first.close().unwrap();
    let (path, bytes) = store_file(&sim);
    let directory = path.rsplit_once('/').unwrap().0;
    // References to files that are gone: whatever is in them, only a store makes them.
    for digit in ["a", "b"] {
        sim.fs.add(&format!("{directory}/{}.{}", digit.repeat(32), "c".repeat(32)), bytes.clone()).unwrap();
    }
    sim.fs.inject(Fault::next(Call::Rename, "halite/quarantine", StorageFull).after(1));
    let opened = Engine::open(sim.env(), Options::default()).unwrap();
    assert_eq!(opened.report().quarantined_files, 1);
    let aside = sim.fs.files().into_keys().filter(|path| path.starts_with("halite/quarantine/")).count();
    assert!(aside == 1 && opened.report().quarantine.is_some());
    opened.close().unwrap();
    assert_eq!(Engine::open(sim.env(), Options::default()).unwrap().report().quarantined_files, 1);
}

#[test]
fn directories_of_bulk_loads_have_a_limit() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    let token = engine.prepare_bulk_load(&name(), "me").unwrap();
    (0..10_000).for_each(|number| sim.env().fs.create_dir_all(&format!("staging/{number}")).unwrap());
    let error = engine.prepare_bulk_load(&name(), "me").unwrap_err();
    assert!(error.kind() == ErrorKind::Busy && error.message().contains("10001 directories"), "{error}");
    engine.clean_up_bulk_load(&token).unwrap();
}
