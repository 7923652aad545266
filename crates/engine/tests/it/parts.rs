//! Reads of parts of data blocks through the engine: what they read, and damage of the part index.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::scan::{ReadStats, ScanLimits};
use halite_engine::{Engine, Options, PartReads};
use halite_types::{Bytes, FamilyDescriptor, Get, ReadTier, Row, Scan, TableDescriptor};

use crate::support::{format_row, name, put, region, store_file};

const ROWS: usize = 400;

fn options() -> Options {
    let mut options = Options::default();
    options.part_reads = PartReads::Always;
    options.block_cache_bytes = 0;
    options
}

fn row(number: usize) -> String {
    format!("row{number:05}")
}

/// Returns a store whose table has one file of several blocks of many parts.
fn filled(sim: &SimEnv) -> Arc<Engine> {
    let engine = Engine::open(sim.env(), options()).unwrap();
    let family = FamilyDescriptor::new("f").set("BLOCKSIZE", "16384");
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    for number in 0..ROWS {
        put(&engine, &row(number), &format!("{number}").repeat(40));
    }
    region(&engine).flush().unwrap();
    engine
}

fn get(engine: &Engine, number: usize) -> (Row, Arc<ReadStats>) {
    let stats = Arc::new(ReadStats::default());
    (region(engine).get(&Get::new(row(number)), ReadTier::Disk, &stats).unwrap(), stats)
}

fn scan(engine: &Engine, scan: &Scan) -> Vec<String> {
    let mut scanner = region(engine).scan(scan, ReadTier::Disk).unwrap();
    let batch = scanner.next_rows(ScanLimits::default()).unwrap();
    batch.rows.iter().map(format_row).collect()
}

fn expected(number: usize) -> String {
    format!("{}={}", row(number), format!("{number}").repeat(40))
}

fn all() -> Vec<String> {
    (0..ROWS).map(expected).collect()
}

#[test]
fn gets_and_scans_over_parts_return_every_row() {
    let engine = filled(&SimEnv::new(1));
    for number in 0..ROWS {
        let (found, stats) = get(&engine, number);
        assert_eq!(format_row(&found), expected(number));
        assert!(stats.block_bytes_read() < 3 * 16384, "{stats:?}");
    }
    assert_eq!(scan(&engine, &Scan::all()), all());
    let mut backward = scan(&engine, &Scan::all().reverse(true));
    backward.reverse();
    assert_eq!(backward, all());
    for start in (0..ROWS).step_by(13) {
        let some = Scan::all().start(Bytes::from(row(start)));
        assert_eq!(scan(&engine, &some), all()[start..]);
    }
}

#[test]
fn damaged_part_index_does_not_stop_reads() {
    let sim = SimEnv::new(1);
    drop(filled(&sim));
    let (path, bytes) = store_file(&sim);
    let magic = b"HLTPARTS";
    let places: Vec<usize> =
        (0..bytes.len() - magic.len()).filter(|&at| bytes[at..].starts_with(magic)).collect();
    assert!(!places.is_empty(), "the file has a part index");
    for at in places {
        sim.fs.corrupt(&path, at + 40, 0x10).unwrap();
    }
    let engine = Engine::open(sim.env(), options()).unwrap();
    for number in 0..ROWS {
        assert_eq!(format_row(&get(&engine, number).0), expected(number));
    }
    assert_eq!(scan(&engine, &Scan::all()), all());
    let failures = engine.health().part_failures;
    // The first row is found without the index.
    assert!(failures.reads >= ROWS as u64 - 1, "{failures:?}");
    assert!(!failures.first.is_empty() && failures.first.len() < 10, "{failures:?}");
    for error in failures.first {
        let text = error.message();
        assert!(text.contains(&path) && text.contains("meta block at "), "{text}");
    }
}

#[test]
fn damaged_cell_is_an_error_that_names_the_file() {
    let sim = SimEnv::new(1);
    drop(filled(&sim));
    let (path, bytes) = store_file(&sim);
    let value = "137".repeat(40);
    let at = bytes.windows(value.len()).position(|window| window == value.as_bytes()).unwrap();
    sim.fs.corrupt(&path, at + 5, 0x01).unwrap();
    let engine = Engine::open(sim.env(), options()).unwrap();
    let stats = Arc::new(ReadStats::default());
    let error =
        region(&engine).get(&Get::new(row(137)), ReadTier::Disk, &stats).map(drop).unwrap_err();
    assert!(error.message().contains(&path), "{error}");
    let failures = engine.health().part_failures;
    assert_eq!((failures.reads, failures.first.len()), (1, 1), "{failures:?}");
    assert!(failures.first[0].message().contains("part of a data block at "), "{failures:?}");
    // A part is read alone, so damage elsewhere in its block does not concern it.
    assert_eq!(format_row(&get(&engine, 3).0), expected(3));
}

/// The cache has room for the block, of which few reads at random would find another cell.
#[test]
fn first_get_reads_part_if_files_are_far_larger_than_cache() {
    for (cache_megabytes, in_memory, reads_part) in
        [(1, "false", true), (64, "false", false), (1, "true", false)]
    {
        let sim = SimEnv::new(1);
        let mut options = Options::default();
        options.block_cache_bytes = cache_megabytes << 20;
        let engine = Engine::open(sim.env(), options).unwrap();
        let family = FamilyDescriptor::new("f").set("IN_MEMORY", in_memory);
        engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
        let value = "v".repeat(2_000);
        for number in 0..2_500 {
            put(&engine, &row(number), &value);
        }
        region(&engine).flush().unwrap();
        let (found, stats) = get(&engine, 1_234);
        assert_eq!(format_row(&found), format!("{}={value}", row(1_234)));
        let bytes = stats.data_block_bytes();
        assert_eq!(
            bytes < 32 << 10,
            reads_part,
            "{bytes} bytes of cells, {cache_megabytes} MB {in_memory}"
        );
    }
}
