//! Cache attributes of families: which blocks are in the block cache after writes, openings and
//! reads.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_engine::env::sim::SimEnv;
use halite_engine::hfile::BlockKind;
use halite_engine::scan::{ReadStats, ScanLimits};
use halite_engine::{Engine, Options, PartReads};
use halite_types::{
    CompactionKind, ErrorKind, FamilyDescriptor, Get, Put, ReadTier, RowOp, Scan, TableDescriptor,
};

use crate::support::{name, region};

const ROWS: usize = 400;

fn engine(sim: &SimEnv, family: FamilyDescriptor) -> Arc<Engine> {
    let mut options = Options::default();
    options.block_cache_bytes = 4 << 20;
    let engine = Engine::open(sim.env(), options).unwrap();
    let family = family.set("BLOCKSIZE", 1024);
    let other = FamilyDescriptor::new("other").set("BLOCKSIZE", 1024);
    let table = TableDescriptor::new(name()).family(family).family(other);
    engine.create_table(table, Vec::new()).unwrap();
    engine
}

/// Writes 100 bytes into each of the rows of a family.
fn write(engine: &Engine, family: &'static str, rows: usize) {
    let puts = (0..rows)
        .map(|row| RowOp::Put(Put::new(format!("r{row:06}")).add(family, "q", vec![b'v'; 100])));
    for result in engine.table(&name()).unwrap().batch(puts.collect()).unwrap() {
        result.unwrap();
    }
}

/// Returns the blocks that a get of every row of a family reads from the disk.
fn disk_reads(engine: &Engine, family: &'static str) -> u64 {
    let stats = Arc::new(ReadStats::default());
    for row in 0..ROWS {
        let get = Get::new(format!("r{row:06}")).family(family);
        assert_eq!(region(engine).get(&get, ReadTier::Disk, &stats).unwrap().len(), 1);
    }
    stats.blocks_read()
}

fn family(attributes: &[(&str, &str)]) -> FamilyDescriptor {
    attributes
        .iter()
        .fold(FamilyDescriptor::new("f"), |family, (name, value)| family.set(*name, value))
}

#[test]
fn flushed_blocks_are_cached_as_attributes_say() {
    let reads = |attributes: &[(&str, &str)]| {
        let sim = SimEnv::new(1);
        let engine = engine(&sim, family(attributes));
        write(&engine, "f", ROWS);
        engine.flush(&name()).unwrap();
        let misses = engine.status().block_cache_misses;
        assert_eq!(misses, 0, "filling the cache is no miss");
        disk_reads(&engine, "f")
    };
    let all = reads(&[]);
    assert!(all > 40, "{all}");
    assert_eq!(reads(&[("CACHE_DATA_ON_WRITE", "true")]), 0);
    assert_eq!(reads(&[("hbase.rs.cacheblocksonwrite", "true")]), 0);
    assert_eq!(reads(&[("CACHE_DATA_ON_WRITE", "true"), ("BLOCKCACHE", "false")]) / 100, 4);
    let without_bloom = reads(&[("CACHE_BLOOMS_ON_WRITE", "true")]);
    assert!(without_bloom < all, "{without_bloom} of {all}");
}

#[test]
fn compacted_blocks_are_cached_by_their_own_setting() {
    let reads = |attributes: &[(&str, &str)]| {
        let sim = SimEnv::new(1);
        let engine = engine(&sim, family(attributes));
        write(&engine, "f", ROWS);
        engine.flush(&name()).unwrap();
        region(&engine).compact(None, CompactionKind::Major).unwrap();
        disk_reads(&engine, "f")
    };
    assert!(reads(&[("CACHE_DATA_ON_WRITE", "true")]) > 40);
    assert_eq!(reads(&[("hbase.rs.cachecompactedblocksonwrite", "true")]), 0);
}

#[test]
fn compaction_above_threshold_caches_no_data() {
    let reads = |threshold: &str| {
        let sim = SimEnv::new(1);
        let setting = "hbase.rs.cachecompactedblocksonwrite";
        let limit = format!("{setting}.threshold");
        let engine = engine(&sim, family(&[(setting, "true"), (&limit, threshold)]));
        write(&engine, "f", ROWS);
        engine.flush(&name()).unwrap();
        region(&engine).compact(None, CompactionKind::Major).unwrap();
        disk_reads(&engine, "f")
    };
    assert!(reads("1000") > 40);
    assert_eq!(reads("1000000"), 0);
}

#[test]
fn part_index_is_cached_with_the_index() {
    let sim = SimEnv::new(1);
    let mut options = Options::default();
    options.part_reads = PartReads::Always;
    let engine = Engine::open(sim.env(), options).unwrap();
    for (value, reads) in [("true", 0), ("false", 1)] {
        let family = family(&[("CACHE_INDEX_ON_WRITE", value), ("BLOCKSIZE", "16384")]);
        engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
        write(&engine, "f", ROWS);
        engine.flush(&name()).unwrap();
        let misses = || engine.block_cache_stats(BlockKind::Meta).misses.load(Ordering::Relaxed);
        let before = misses();
        // The last row is in a part; the first of a block is reached through the block before it.
        let (get, stats) = (Get::new("r000399").family("f"), Arc::new(ReadStats::default()));
        assert_eq!(region(&engine).get(&get, ReadTier::Disk, &stats).unwrap().len(), 1);
        assert_eq!(misses() - before, reads, "{value}");
        engine.disable_table(&name()).unwrap();
        engine.drop_table(&name()).unwrap();
    }
}

#[test]
fn blocks_are_prefetched_when_region_opens() {
    for (value, is_cached) in [("true", true), ("false", false)] {
        let sim = SimEnv::new(1);
        let first = engine(&sim, family(&[("PREFETCH_BLOCKS_ON_OPEN", value)]));
        write(&first, "f", ROWS);
        first.flush(&name()).unwrap();
        while first.run_one_job().unwrap() {}
        assert_eq!(disk_reads(&first, "f") == 0, is_cached, "a flushed file is opened");
        first.close().unwrap();
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        while engine.run_one_job().unwrap() {}
        assert_eq!(disk_reads(&engine, "f") == 0, is_cached);
        engine.disable_table(&name()).unwrap();
        assert_eq!(engine.status().block_cache_bytes, 0, "blocks of closed files are evicted");
        engine.enable_table(&name()).unwrap();
        while engine.run_one_job().unwrap() {}
        assert_eq!(disk_reads(&engine, "f") == 0, is_cached);
    }
}

#[test]
fn indexes_of_large_file_are_read_when_store_opens() {
    let sim = SimEnv::new(1);
    let first = engine(&sim, family(&[]));
    write(&first, "f", 80_000);
    first.flush(&name()).unwrap();
    first.close().unwrap();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let stats = Arc::new(ReadStats::default());
    for row in (0..80_000).step_by(10_000) {
        let get = Get::new(format!("r{row:06}")).family("f");
        assert_eq!(region(&engine).get(&get, ReadTier::Disk, &stats).unwrap().len(), 1);
    }
    for kind in [BlockKind::BloomChunk, BlockKind::LeafIndex, BlockKind::Meta] {
        let misses = engine.block_cache_stats(kind).misses.load(Ordering::Relaxed);
        assert_eq!(misses, 0, "{}", kind.name());
    }
    assert_eq!(stats.blocks_read(), 8, "data blocks");
}

#[test]
fn scan_of_other_family_leaves_in_memory_blocks() {
    let reads_after_scan = |in_memory: &str| {
        let sim = SimEnv::new(1);
        let engine = engine(&sim, family(&[("IN_MEMORY", in_memory)]));
        write(&engine, "f", ROWS);
        write(&engine, "other", 60_000);
        engine.flush(&name()).unwrap();
        disk_reads(&engine, "f");
        for _ in 0..2 {
            let scan = Scan::all().family("other");
            let mut scanner = region(&engine).scan(&scan, ReadTier::Disk).unwrap();
            while !scanner.next_rows(ScanLimits::default()).unwrap().rows.is_empty() {}
            let stats = Arc::new(ReadStats::default());
            for row in 0..60_000 {
                let get = Get::new(format!("r{row:06}")).family("other");
                region(&engine).get(&get, ReadTier::Disk, &stats).unwrap();
            }
        }
        assert!(engine.status().block_cache_bytes <= 4 << 20);
        disk_reads(&engine, "f")
    };
    assert_eq!(reads_after_scan("true"), 0);
    assert!(reads_after_scan("false") > 40);
}

#[test]
fn misspelt_cache_attribute_is_refused() {
    let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
    let refusal = |attributes: &[(&str, &str)]| {
        let table = TableDescriptor::new(name()).family(family(attributes));
        engine.create_table(table, Vec::new()).unwrap_err()
    };
    let error = refusal(&[("IN_MEMORY_COMPACTION", "EAGRE")]);
    assert!(
        error
            .message()
            .ends_with("(did you mean EAGER?): expected one of NONE, BASIC, EAGER, ADAPTIVE"),
        "{error}"
    );
    let error = refusal(&[("CACHE_DATA_ON_WRITE", "ture")]);
    assert!(error.message().contains("(did you mean TRUE?)"), "{error}");
    let error = refusal(&[("hbase.rs.cachecompactedblocksonwrite.threshold", "1g")]);
    assert!(error.message().contains("family f: invalid hbase.rs.cachecompacted"), "{error}");
    let error = refusal(&[("INDEX_BLOCK_ENCODING", "PREFIX_TREE")]);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = refusal(&[("INDEX_BLOCK_ENCODING", "PREFIX")]);
    assert!(error.message().ends_with("expected one of NONE"), "{error}");
}
