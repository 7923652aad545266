//! Costs of a small table and of a file that HBase wrote.

use std::path::Path;

use halite::{FamilyDescriptor, Put, Store, TableDescriptor};

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
