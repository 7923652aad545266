//! Imports of files that lie outside the store, on the simulated disk.

use halite_types::{
    CompactionKind, ErrorKind, FamilyDescriptor, Put, ReadTier, RowOp, Scan, TableName,
};

use super::*;
use crate::Options;
use crate::env::sim::SimEnv;
use crate::hfile::{StoreFileInfo, Writer, WriterOptions};

fn name() -> TableName {
    "t".parse().unwrap()
}

fn table() -> TableDescriptor {
    TableDescriptor::new(name()).family(FamilyDescriptor::new("f").versions(3))
}

/// Writes a file of such rows with one value as of a sequence id, where the process finds it as
/// `/in/NAME`.
fn write(sim: &SimEnv, file: &str, sequence: u64, rows: &[&'static str], value: &'static str) {
    let fs = sim.env().fs;
    fs.create_dir_all("outside/in").unwrap();
    let options = WriterOptions { block_bytes: 16, ..WriterOptions::default() };
    let path = format!("outside/in/{file}");
    let mut writer = Writer::create(fs.create(&path).unwrap(), file, options).unwrap();
    for row in rows {
        let put = Put::new(*row).add_at("f", "q", 5, value);
        let mutation = put.mutation();
        mutation
            .cells()
            .iter()
            .for_each(|cell| writer.append(cell.with_sequence_id(sequence)).unwrap());
    }
    writer.finish(StoreFileInfo::flushed(sequence)).unwrap();
}

fn file(name: &str) -> ImportFile {
    ImportFile {
        family: "f".into(),
        path: format!("/in/{name}"),
        loaded_sequence: None,
        rows: None,
    }
}

fn region(start: &'static str, end: &'static str, files: Vec<ImportFile>) -> ImportRegion {
    ImportRegion { start: start.into(), end: end.into(), files }
}

fn import(engine: &Engine, regions: &[ImportRegion]) -> Result<ImportReport> {
    engine.import_table(table(), regions, true, &mut |_| {})
}

/// Returns the rows of the table with their newest values.
fn rows(engine: &Engine) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let table = engine.table(&name()).unwrap();
    let mut scanner = table.scan(Scan::all(), ReadTier::Disk);
    let mut found = Vec::new();
    loop {
        let rows = scanner.next_rows().unwrap();
        if rows.is_empty() {
            return found;
        }
        found.extend(rows.iter().map(|row| (text(row.key()), text(row.value("f", "q").unwrap()))));
    }
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(row, value)| ((*row).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn imported_halves_survive_compaction_and_reopening() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    write(&sim, "parent", 7, &["a", "b", "m", "z"], "old");
    write(&sim, "own", 9, &["b"], "new");
    let halves = [Some(("", "m")), Some(("m", ""))].map(|rows| ImportFile {
        rows: rows.map(|(start, end)| (start.into(), end.into())),
        ..file("parent")
    });
    let [bottom, top] = halves;
    let regions = [region("", "m", vec![bottom, file("own")]), region("m", "", vec![top])];
    let before = sim.fs.files();
    let report = import(&engine, &regions).unwrap();
    assert_eq!((report.linked_files, report.copied_files), (2, 0), "the halves share one file");
    for path in ["outside/in/parent", "outside/in/own"] {
        assert_eq!(sim.fs.files().get(path), before.get(path));
    }
    let all = pairs(&[("a", "old"), ("b", "new"), ("m", "old"), ("z", "old")]);
    assert_eq!(rows(&engine), all);
    let put = Put::new("a").add_at("f", "q", 5, "latest");
    engine.table(&name()).unwrap().batch(vec![RowOp::Put(put)]).unwrap();
    engine.close().unwrap();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let all = pairs(&[("a", "latest"), ("b", "new"), ("m", "old"), ("z", "old")]);
    assert_eq!(rows(&engine), all);
    for region in engine.table(&name()).unwrap().regions().iter() {
        region.compact(None, CompactionKind::Major).unwrap();
    }
    assert_eq!(rows(&engine), all);
    let left: Vec<String> =
        sim.fs.files().into_keys().filter(|path| path.starts_with("archive/")).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn equal_cells_are_ordered_as_in_hbase() {
    let sim = SimEnv::new(2);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    write(&sim, "a", 5, &["r"], "cells as of five");
    write(&sim, "b_SeqId_6_", 0, &["r", "s"], "loaded as of six, the larger file");
    write(&sim, "c_SeqId_6_", 0, &["r"], "as of six");
    write(&sim, "d", 3, &["r"], "as of three");
    let loaded = |name: &str| ImportFile { loaded_sequence: Some(6), ..file(name) };
    let files = vec![loaded("c_SeqId_6_"), file("a"), loaded("b_SeqId_6_"), file("d")];
    import(&engine, &[region("", "", files)]).unwrap();
    let all = pairs(&[("r", "as of six"), ("s", "loaded as of six, the larger file")]);
    assert_eq!(rows(&engine), all);
}

#[test]
fn parts_and_whole_files_have_one_order() {
    // New names are random, so that one seed could be right by accident.
    for seed in 10..18 {
        let sim = SimEnv::new(seed);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        // The larger file is older. In the first region it is alone, which must not matter.
        write(&sim, "a_SeqId_6_", 0, &["a", "n", "o"], "older");
        write(&sim, "b_SeqId_6_", 0, &["n"], "newer");
        let loaded = |name: &str| ImportFile { loaded_sequence: Some(6), ..file(name) };
        let half = |start: &'static str, end: &'static str| ImportFile {
            rows: Some((start.into(), end.into())),
            ..loaded("a_SeqId_6_")
        };
        let top = vec![half("m", ""), loaded("b_SeqId_6_")];
        import(&engine, &[region("", "m", vec![half("", "m")]), region("m", "", top)]).unwrap();
        let all = pairs(&[("a", "older"), ("n", "newer"), ("o", "older")]);
        assert_eq!(rows(&engine), all, "seed {seed}");
    }
}

#[test]
fn failed_import_leaves_nothing_of_the_table() {
    let sim = SimEnv::new(3);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    write(&sim, "good", 7, &["a", "n"], "v");
    write(&sim, "damaged", 8, &["a", "b", "c"], "damage");
    let bytes = sim.fs.files().remove("outside/in/damaged").unwrap();
    let at = bytes.windows(6).position(|value| value == b"damage").unwrap();
    sim.fs.corrupt("outside/in/damaged", at, 1).unwrap();
    let before: Vec<String> = sim.fs.files().into_keys().collect();
    let regions = |second: &str| {
        [region("", "m", vec![file("good")]), region("m", "", vec![file("good"), file(second)])]
    };
    for (second, kind) in [
        ("damaged", ErrorKind::Corrupt),
        ("missing", ErrorKind::InvalidRequest),
        ("good", ErrorKind::Corrupt),
    ] {
        let error = import(&engine, &regions(second)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(&format!("/in/{second}")), "{error}");
        let left: Vec<String> = sim.fs.files().into_keys().collect();
        assert_eq!(left, before, "{second}");
    }
    assert_eq!(engine.table(&name()).err().map(|error| error.kind()), Some(ErrorKind::NoSuchTable));
}

#[test]
fn wrong_regions_and_families_are_refused() {
    let sim = SimEnv::new(4);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    write(&sim, "file", 7, &["a", "n"], "v");
    let of_g = ImportFile { family: "g".into(), ..file("file") };
    let half = ImportFile { rows: Some(("c".into(), "d".into())), ..file("file") };
    for regions in [
        vec![],
        vec![region("", "m", vec![])],
        vec![region("", "m", vec![]), region("n", "", vec![])],
        vec![region("", "m", vec![]), region("k", "", vec![])],
        vec![region("", "", vec![]), region("", "", vec![])],
        vec![region("", "", vec![of_g])],
        vec![region("", "", vec![half])],
    ] {
        let error = import(&engine, &regions).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    }
    import(&engine, &[region("", "", vec![file("file")])]).unwrap();
    let error = import(&engine, &[region("", "", vec![])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TableExists);
}

#[test]
fn crash_leaves_all_or_nothing_of_the_table() {
    for calls in 0.. {
        let sim = SimEnv::new(5);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        write(&sim, "file", 7, &["a", "n"], "v");
        let half = |start: &'static str, end: &'static str| ImportFile {
            rows: Some((start.into(), end.into())),
            ..file("file")
        };
        let regions = [region("", "m", vec![half("", "m")]), region("m", "", vec![half("m", "")])];
        sim.fs.crash_at_call(sim.fs.calls() + calls);
        let imported = import(&engine, &regions);
        let is_whole = !sim.fs.is_gone();
        sim.fs.crash(calls);
        drop(engine);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        match engine.table(&name()) {
            Ok(_) => assert_eq!(rows(&engine), pairs(&[("a", "v"), ("n", "v")])),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NoSuchTable),
        }
        if imported.is_ok() {
            assert!(engine.table(&name()).is_ok());
        }
        if is_whole {
            assert!(imported.is_ok());
            break;
        }
    }
}
