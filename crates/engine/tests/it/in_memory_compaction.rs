//! In-memory compaction of memstores whose cells are mostly overwritten.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options};
use halite_types::{Delete, FamilyDescriptor, Get, Put, ReadTier, Scan, TableDescriptor};

use crate::support::{apply, format_row, name, put, region};

/// Returns an engine with families `f` (one version) and `g` (three versions); in-memory compaction
/// starts at 16 KiB.
fn engine(sim: &SimEnv) -> Arc<Engine> {
    let mut options = Options::default();
    (options.in_memory_compaction_bytes, options.memstore_chunk_bytes) = (16 << 10, 4096);
    let engine = Engine::open(sim.env(), options).unwrap();
    let table = TableDescriptor::new(name())
        .family(FamilyDescriptor::new("f"))
        .family(FamilyDescriptor::new("g").versions(3));
    engine.create_table(table, Vec::new()).unwrap();
    engine
}

fn rows(engine: &Engine, scan: Scan) -> Vec<String> {
    let mut scanner = engine.table(&name()).unwrap().scan(scan, ReadTier::Disk);
    let mut shown = Vec::new();
    loop {
        let rows = scanner.next_rows().unwrap();
        if rows.is_empty() {
            return shown;
        }
        shown.extend(rows.iter().map(format_row));
    }
}

/// Returns the most bytes in memory during overwrites of one row in a family with this policy.
fn most_bytes_of_overwrites(policy: Option<&str>) -> u64 {
    let mut options = Options::default();
    (options.in_memory_compaction_bytes, options.memstore_chunk_bytes) = (8 << 10, 4096);
    let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
    let family = FamilyDescriptor::new("f");
    let family = match policy {
        Some(policy) => family.set("IN_MEMORY_COMPACTION", policy),
        None => family,
    };
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    let region = region(&engine);
    let mut most = 0;
    for round in 0..400 {
        put(&engine, "row", &format!("v{round}"));
        while engine.run_one_job().unwrap() {}
        most = most.max(region.load().memstore_bytes);
    }
    assert_eq!(rows(&engine, Scan::all()), ["row=v399"]);
    most
}

#[test]
fn policy_of_family_decides_when_memstore_is_compacted() {
    let default = most_bytes_of_overwrites(None);
    let none = most_bytes_of_overwrites(Some("NONE"));
    assert!(default < none, "{default} of {none}");
    assert_eq!(most_bytes_of_overwrites(Some("BASIC")), none);
    assert_eq!(most_bytes_of_overwrites(Some("ADAPTIVE")), default);
    let eager = most_bytes_of_overwrites(Some("EAGER"));
    assert!(eager < default, "{eager} of {default}");
}

#[test]
fn overwritten_rows_use_memory_of_one_version() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim);
    let memory = || region(&engine).load().memstore_bytes;
    (0..50).for_each(|row| put(&engine, &format!("r{row:02}"), "first"));
    let mut old = region(&engine).scan(&Scan::all(), ReadTier::Disk).unwrap();
    let of_one = memory();
    for round in 0..40 {
        (0..50).for_each(|row| put(&engine, &format!("r{row:02}"), &format!("v{round}")));
        while engine.run_one_job().unwrap() {}
    }
    assert!(memory() < of_one * 8, "{} bytes, and {of_one} of one version", memory());
    assert_eq!(
        rows(&engine, Scan::all()),
        (0..50).map(|row| format!("r{row:02}=v39")).collect::<Vec<_>>()
    );
    // An open scan still returns the cells of its read point.
    let seen = old.next_rows(halite_engine::scan::ScanLimits::default()).unwrap();
    assert!(
        seen.rows.iter().all(|row| format_row(row).ends_with("=first")) && seen.rows.len() == 50
    );
    // The log contains all cells.
    drop((old, engine));
    sim.fs.kill();
    let mut options = Options::default();
    options.in_memory_compaction_bytes = 0;
    let engine = Engine::open(sim.env(), options).unwrap();
    assert_eq!(
        rows(&engine, Scan::all()),
        (0..50).map(|row| format!("r{row:02}=v39")).collect::<Vec<_>>()
    );
}

#[test]
fn in_memory_compaction_keeps_required_versions_and_deletes() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim);
    for round in 0..400 {
        sim.clock.advance_ms(1);
        apply(
            &engine,
            Put::new("r")
                .add("g", "q", format!("v{round}"))
                .add("f", "q", format!("v{round}"))
                .into(),
        );
        if round == 398 {
            apply(&engine, Delete::new("r").column("f", "q").into());
        }
        while engine.run_one_job().unwrap() {}
    }
    let get =
        |get: Get| format_row(&engine.table(&name()).unwrap().get(&get, ReadTier::Disk).unwrap());
    assert_eq!(get(Get::new("r").versions(5)), "r=v399,v399,v398,v397");
}
