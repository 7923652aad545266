//! Costs of a small table and of a file that HBase wrote.

use std::path::Path;

use halite::{FamilyDescriptor, Put, Store, TableDescriptor};
use halite_engine::env::Env;
use halite_engine::hfile::{DataBlockEncoding, StoreFileInfo, Writer, WriterOptions};
use halite_types::CellRef;
use halite_types::cell::make_key;

use super::*;

const SETTINGS: CostSettings =
    CostSettings { sample_bytes: 64 << 10, rounds: 1, slack: 0.15, json: true };

fn table(store: &Store, rows: usize) -> TableName {
    let name: TableName = "t".parse().unwrap();
    let descriptor = TableDescriptor::new(name.clone())
        .family(FamilyDescriptor::new("f"))
        .family(FamilyDescriptor::new("g"));
    store.create_table(descriptor, &[b"row-4", b"row-7"]).unwrap();
    let puts = (0..rows).map(|row| {
        Put::new(format!("row-{row:09}").replacen('0', &(row % 10).to_string(), 1))
            .add_at("f", "status", 5, row.to_string())
            .into()
    });
    for result in store.table("t").unwrap().batch(puts.collect()).unwrap() {
        result.unwrap();
    }
    name
}

fn sample(store: &Store, name: &TableName, bytes: u64) -> Sample {
    let regions = store.regions(name).unwrap();
    let table = store.cluster().table(name);
    sample::from_table(&table, &regions, &"f".into(), bytes, &ProgressBar::hidden()).unwrap()
}

#[test]
fn sample_has_sorted_runs_from_all_regions() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let name = table(&store, 5000);
    let whole = sample(&store, &name, 8 << 20);
    assert_eq!((whole.cells.len(), whole.is_whole), (5000, true));
    let part = sample(&store, &name, 40 << 10);
    assert!(!part.is_whole && part.runs >= 8 && part.cells.len() < 2500, "{}", part.describe());
    let keys: Vec<&[u8]> = part.cells.iter().map(|cell| cell.key()).collect();
    assert!(keys.is_sorted_by(|a, b| halite_types::cell::compare_keys(a, b).is_lt()));
    let first: std::collections::BTreeSet<u8> =
        part.cells.iter().map(|cell| cell.row()[4]).collect();
    assert_eq!(first.len(), 10, "{first:?}");
}

/// Writes `rows` rows of `cells` cells of `bytes` bytes.
fn wide_table(store: &Store, rows: usize, cells: usize, bytes: usize) -> TableName {
    let name: TableName = "w".parse().unwrap();
    let descriptor = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
    store.create_table(descriptor, &[b"row-3", b"row-6"]).unwrap();
    for row in 0..rows {
        let put = (0..cells).fold(Put::new(format!("row-{row}")), |put, cell| {
            put.add_at("f", format!("q{cell:05}"), 5, vec![b'v'; bytes])
        });
        store.table("w").unwrap().put(put).unwrap();
    }
    name
}

#[test]
fn sample_of_wide_rows_stays_within_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let name = wide_table(&store, 9, 200, 1024);
    let part = sample(&store, &name, 100 << 10);
    let cell = 1200;
    assert!(!part.is_whole && part.bytes < (100 << 10) + cell, "{}", part.describe());
    assert!(part.bytes > 50 << 10 && part.runs >= 3, "{}", part.describe());
    let whole = sample(&store, &name, 64 << 20);
    assert_eq!((whole.is_whole, whole.cells.len()), (true, 9 * 200));
    let half = sample(&store, &name, whole.bytes / 2);
    assert!(!half.is_whole && half.bytes > whole.bytes / 3, "{}", half.describe());
}

#[test]
fn sample_of_file_with_large_cells_stays_within_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let name = wide_table(&store, 1, 40, 20 << 10);
    store.flush(name).unwrap();
    store.close().unwrap();
    let mut files = vec![directory.path().join("data/default/w")];
    let mut found = Vec::new();
    while let Some(path) = files.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => files.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => found.extend(open(&path).ok()),
        }
    }
    let [reader] = &found[..] else { panic!("{found:?}") };
    let read = |budget| sample::from_file(reader, budget, &ProgressBar::hidden()).unwrap();
    let part = read(64 << 10);
    assert!(!part.is_whole && (1..=4).contains(&part.cells.len()), "{}", part.describe());
    assert_eq!((read(8 << 20).is_whole, read(8 << 20).cells.len()), (true, 40));
}

/// Encoded blocks are smaller than the cells in them by far if these have a long row.
#[test]
fn sample_of_file_with_small_encoded_blocks_stays_within_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wide");
    let options = WriterOptions {
        encoding: DataBlockEncoding::FastDiff,
        block_bytes: 4 << 20,
        ..WriterOptions::default()
    };
    let file = Env::os(directory.path()).unwrap().fs.create("wide").unwrap();
    let mut writer = Writer::create(file, "wide", options).unwrap();
    let row = vec![b'r'; 20_000];
    for cell in 0..400 {
        let key = make_key(&row, b"f", format!("q{cell:05}").as_bytes(), 5, 4);
        writer.append(CellRef::new(&key, b"v", b"", 0)).unwrap();
    }
    writer.finish(StoreFileInfo::default()).unwrap();
    let reader = open(&path).unwrap();
    let budget = 1 << 20;
    assert!(reader.trailer().total_uncompressed_bytes < budget, "the blocks are small");
    let sample = sample::from_file(&reader, budget, &ProgressBar::hidden()).unwrap();
    let cell = 20_100;
    assert!(!sample.is_whole && sample.bytes < budget + cell, "{}", sample.describe());
    assert!(sample.runs > 8, "{}", sample.describe());
}

#[test]
fn parts_are_measured_as_the_store_writes_them() {
    for (part_bytes, measured) in [(0, None), (1000, Some(1000))] {
        let directory = tempfile::tempdir().unwrap();
        let mut options = halite::Options::default();
        options.part_bytes = part_bytes;
        let store = halite::Builder::new().options(options).open(directory.path()).unwrap();
        let name = table(&store, 500);
        let costs = measure_table(&Backend::from(store), &name, None, SETTINGS).unwrap();
        assert_eq!(costs[0].options.part_bytes, measured);
    }
}

#[test]
fn families_without_cells_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    let name = table(&store, 500);
    let backend = Backend::from(store);
    let costs = measure_table(&backend, &name, None, SETTINGS).unwrap();
    assert_eq!(costs.len(), 1);
    assert_eq!(costs[0].measurements.len(), 25);
    let mut out = Vec::new();
    report::write(&mut out, &costs, Some(&name), SETTINGS).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["families"][0]["family"], "f");
    assert_eq!(json["families"][0]["current"]["codec"], "NONE");
    let bytes =
        |at: usize| json["families"][0]["measurements"][at]["bytes_per_cell"].as_f64().unwrap();
    // Measurement 15 is FAST_DIFF without compression.
    assert!(bytes(15) * 1.5 < bytes(0), "{} {}", bytes(15), bytes(0));
    let error = measure_table(&backend, &name, Some("h"), SETTINGS).err().unwrap();
    assert!(error.to_string().contains("there is no family h"), "{error}");
    let error = measure_table(&backend, &name, Some("g"), SETTINGS).err().unwrap();
    assert!(error.to_string().contains("no cells to measure"), "{error}");
}

#[test]
fn file_is_measured_as_a_table_is() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/testdata/hfile/index-4level.hfile");
    let mut out = Vec::new();
    cost_of_file(&mut out, &file, CostSettings { json: false, ..SETTINGS }).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with('*')).count(), 2, "{text}");
    assert!(text.contains("certainty ") && text.contains("the sample is small"), "{text}");
}
