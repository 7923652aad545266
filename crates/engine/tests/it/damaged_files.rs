//! Store files with damaged blocks: what is still read, what is refused, and what is kept.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::inspect::{self, Severity};
use halite_engine::scan::ReadStats;
use halite_engine::{Engine, Options, Region};
use halite_types::{
    CompactionKind, Delete, Error, ErrorKind, Get, Put, ReadTier, RowOp, Scan, SnapshotDescriptor,
    TableName,
};

use crate::support::{apply, engine, format_row, name, put};

/// Magic bytes of the blocks that opening reads. The first root index is that of the data.
const LOAD_ON_OPEN: [&[u8]; 5] = [b"IDXROOT2", b"FILEINF2", b"BLMFMET2", b"DFBLMET2", b"TRABLK\"$"];

fn write(engine: &Engine, row: &str, value: &str) {
    apply(engine, RowOp::Put(Put::new(row.to_owned()).add("f", "q", value).add("g", "q", value)));
}

/// Returns a closed store whose table has two regions, with one file in each family; and the path
/// and bytes of that of `f` with row `a`.
fn filled() -> (SimEnv, String, Vec<u8>) {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &["m"]);
    for row in ["a", "b", "x"] {
        write(&engine, row, "old");
    }
    apply(&engine, RowOp::Delete(Delete::new("c")));
    engine.flush(&name()).unwrap();
    let path = file_of(&sim, &engine);
    engine.close().unwrap();
    let whole = sim.fs.read(&path).unwrap();
    (sim, path, whole)
}

/// Returns the path of the file of `f` with row `a`.
fn file_of(sim: &SimEnv, engine: &Engine) -> String {
    let directory = format!("{}/f/", first(engine).info().encoded_name);
    sim.fs.files().into_keys().find(|path| path.contains(&directory)).unwrap()
}

fn open(sim: &SimEnv) -> Arc<Engine> {
    Engine::open(sim.env(), Options::default()).unwrap()
}

/// Returns the region of row `a`.
fn first(engine: &Engine) -> Arc<Region> {
    engine.table(&name()).unwrap().region_for_row(b"a").unwrap()
}

fn get_of(engine: &Engine, get: &Get) -> Result<String, Error> {
    let region = engine.table(&name()).unwrap().region_for_row(get.row()).unwrap();
    let row = region.get(get, ReadTier::Disk, &Arc::new(ReadStats::default()))?;
    Ok(format_row(&row))
}

fn get(engine: &Engine, row: &str, family: &str) -> Result<String, Error> {
    get_of(engine, &Get::new(row.to_owned()).family(family.to_owned()))
}

/// Returns the position of the first block with this magic in the file of the first region.
fn position(bytes: &[u8], magic: &[u8]) -> usize {
    bytes.windows(magic.len()).position(|window| window == magic).unwrap()
}

#[track_caller]
fn assert_names(error: &Error, path: &str) {
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error:?}");
    for part in [path, "region t,,", "family f", "once it is restored, disable and enable"] {
        assert!(error.message().contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn damaged_load_on_open_block_stops_reads_of_its_family_only() {
    for magic in LOAD_ON_OPEN {
        let (sim, path, whole) = filled();
        sim.fs.corrupt(&path, position(&whole, magic) + 36, 0x10).unwrap();
        let damaged = sim.fs.read(&path).unwrap();
        let engine = open(&sim);
        let report = engine.open_report();
        assert_eq!(report.damaged_files.len(), 1, "{magic:?}");
        assert_names(&report.damaged_files[0], &path);
        assert_names(&get(&engine, "a", "f").unwrap_err(), &path);
        assert_names(&get_of(&engine, &Get::new("ano")).unwrap_err(), &path);
        assert_eq!(get(&engine, "a", "g").unwrap(), "a=old");
        assert_eq!(get(&engine, "x", "f").unwrap(), "x=old");
        let scan = first(&engine).scan(&Scan::all(), ReadTier::Disk);
        assert_names(&scan.map(drop).unwrap_err(), &path);

        write(&engine, "a", "new");
        engine.flush(&name()).unwrap();
        assert_names(&get(&engine, "a", "f").unwrap_err(), &path);
        assert_eq!(get(&engine, "a", "g").unwrap(), "a=new");
        assert_eq!(engine.health().damaged_files.len(), 1);
        engine.close().unwrap();
        assert_eq!(sim.fs.read(&path).unwrap(), damaged, "nothing changes the file");

        // The id of the restored file's cells is below that of later writes.
        sim.fs.write(&path, whole).unwrap();
        let engine = open(&sim);
        assert!(engine.open_report().damaged_files.is_empty());
        assert_eq!(get(&engine, "a", "f").unwrap(), "a=new");
        assert_eq!(get(&engine, "b", "f").unwrap(), "b=old");
        engine.close().unwrap();
    }
}

#[test]
fn store_with_damaged_file_is_neither_compacted_nor_split() {
    let (sim, path, whole) = filled();
    sim.fs.corrupt(&path, position(&whole, b"FILEINF2") + 36, 0x10).unwrap();
    let engine = open(&sim);
    for row in ["a", "b", "c", "d", "e"] {
        write(&engine, row, "new");
        engine.flush(&name()).unwrap();
    }
    let region = first(&engine);
    for kind in [CompactionKind::Major, CompactionKind::Minor] {
        assert_names(&region.request_compaction(Some(b"f"), kind).unwrap_err(), &path);
    }
    assert_names(&region.compact(None, CompactionKind::Major).unwrap_err(), &path);
    region.compact(None, CompactionKind::Minor).unwrap();
    let files = |family: &'static str| {
        let files = sim.fs.files().into_keys();
        let directory = format!("{}/{family}/", region.info().encoded_name);
        files.filter(|path| path.contains(&directory)).count()
    };
    assert_eq!((files("f"), files("g")), (6, 1), "the other family is compacted");
    let encoded = region.info().encoded_name.clone();
    assert_names(&engine.split_region(&encoded, Some("b".into())).unwrap_err(), &path);
    let other = engine.table(&name()).unwrap().region_for_row(b"x").unwrap();
    let other = other.info().encoded_name.clone();
    assert_names(&engine.merge_regions(&encoded, &other, false).unwrap_err(), &path);
    assert!(!region.is_splittable());

    // A table that is enabled opens its files again.
    engine.disable_table(&name()).unwrap();
    sim.fs.write(&path, whole).unwrap();
    engine.enable_table(&name()).unwrap();
    assert_eq!(get(&engine, "b", "f").unwrap(), "b=new");
    first(&engine).compact(None, CompactionKind::Major).unwrap();
    assert_eq!(get(&engine, "a", "f").unwrap(), "a=new");
    engine.close().unwrap();
}

#[test]
fn quarantine_is_kept_while_a_file_is_damaged() {
    let (sim, path, whole) = filled();
    let directory = path.rsplit_once('/').unwrap().0;
    let reference = format!("{directory}/{}.{}", "a".repeat(32), "c".repeat(32));
    sim.fs.add(&reference, whole.clone()).unwrap();
    sim.fs.corrupt(&path, position(&whole, b"FILEINF2") + 36, 0x10).unwrap();
    let quarantined =
        || sim.fs.files().into_keys().filter(|path| path.contains("quarantine/")).count();
    for _ in 0..3 {
        open(&sim).close().unwrap();
        assert_eq!(quarantined(), 1);
    }
    sim.fs.write(&path, whole).unwrap();
    let engine = open(&sim);
    while engine.run_one_job().unwrap() {}
    assert_eq!(quarantined(), 0);
    engine.close().unwrap();
}

#[test]
fn check_finds_damaged_file_and_snapshot_retains_it() {
    let (sim, path, whole) = filled();
    sim.fs.corrupt(&path, position(&whole, b"IDXROOT2") + 36, 0x10).unwrap();
    let report = inspect::check(&sim.env()).unwrap();
    assert!(
        report.findings.iter().any(|finding| finding.severity == Severity::Error
            && finding.text.contains(&path)
            && finding.text.contains("root index")),
        "{report:?}"
    );
    let engine = open(&sim);
    engine.create_snapshot(&SnapshotDescriptor::new("s", name())).unwrap();
    let clone: TableName = "c".parse().unwrap();
    let error = engine.clone_snapshot("s", &clone).unwrap_err();
    assert!(error.message().contains(&path), "{error}");
    engine.disable_table(&name()).unwrap();
    engine.drop_table(&name()).unwrap();
    let archived = format!("archive/{path}");
    let damaged = sim.fs.read(&archived).unwrap();
    assert_eq!(damaged.len(), whole.len());
    sim.fs.write(&archived, whole).unwrap();
    engine.clone_snapshot("s", &clone).unwrap();
    engine.close().unwrap();
}

#[test]
fn damaged_bloom_chunk_does_not_stop_gets() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    for row in 0..50 {
        put(&engine, &format!("row{row:02}"), "value");
    }
    engine.flush(&name()).unwrap();
    let path = file_of(&sim, &engine);
    engine.close().unwrap();
    let whole = sim.fs.read(&path).unwrap();
    sim.fs.corrupt(&path, position(&whole, b"BLMFBLK2") + 40, 0x10).unwrap();
    let engine = open(&sim);
    for row in 0..50 {
        let row = format!("row{row:02}");
        assert_eq!(get(&engine, &row, "f").unwrap(), format!("{row}=value"));
    }
    assert_eq!(get(&engine, "nosuch", "f").unwrap(), "=");
    let failures = engine.health().bloom_failures;
    assert_eq!((failures.files, failures.first.len()), (1, 1), "one for the file");
    assert!(failures.first[0].message().contains(&path));
    engine.close().unwrap();
}
