//! Region operations that a server uses: lookup by name, load statistics, compaction requests.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options, Region};
use halite_types::{
    Bytes, CompactionKind, CompactionState, Comparator, CompareOp, ErrorKind, FamilyDescriptor,
    Filter, Get, Put, ReadTier, RegionInfo, RowOp, Scan, TableDescriptor,
};

use crate::support::{apply, engine, name, put};

fn region(engine: &Engine, row: &str) -> Arc<Region> {
    engine.table(&name()).unwrap().region_for_row(row.as_bytes()).unwrap()
}

fn encoded(engine: &Engine) -> Vec<String> {
    engine.regions(&name()).unwrap().into_iter().map(|region| region.encoded_name).collect()
}

#[test]
fn region_is_found_by_name_while_open() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &["m"]);
    let kind = |encoded: &str| engine.region(encoded).err().map(|error| error.kind());
    let names = encoded(&engine);
    assert_eq!(
        names
            .iter()
            .map(|name| engine.region(name).unwrap().info().encoded_name.clone())
            .collect::<Vec<_>>(),
        names
    );
    assert_eq!(kind("no such region"), Some(ErrorKind::NoSuchRegion));

    let held = engine.region(&names[0]).unwrap();
    engine.disable_table(&name()).unwrap();
    assert_eq!(
        (kind(&names[0]), held.check_open().is_err()),
        (Some(ErrorKind::NoSuchRegion), true)
    );
    engine.enable_table(&name()).unwrap();
    assert_eq!(kind(&names[0]), None);

    engine.split_region(&names[1], Some(Bytes::from("t"))).unwrap();
    assert_eq!(kind(&names[1]), Some(ErrorKind::NoSuchRegion));
    let names = encoded(&engine);
    assert_eq!((names.len(), names.iter().filter_map(|name| kind(name)).count()), (3, 0));
    engine.merge_regions(&names[0], &names[1], false).unwrap();
    assert_eq!(
        names[..2].iter().map(|name| kind(name)).collect::<Vec<_>>(),
        [Some(ErrorKind::NoSuchRegion); 2]
    );
    assert_eq!(encoded(&engine).iter().filter_map(|name| kind(name)).count(), 0);

    engine.disable_table(&name()).unwrap();
    engine.truncate_table(&name(), true).unwrap();
    assert_eq!(encoded(&engine).iter().filter_map(|name| kind(name)).count(), 0);
    engine.disable_table(&name()).unwrap();
    let names = encoded(&engine);
    engine.drop_table(&name()).unwrap();
    assert_eq!(names.iter().filter_map(|name| kind(name)).count(), names.len());
}

#[test]
fn region_index_does_not_keep_dropped_engine_alive() {
    let sim = SimEnv::new(1);
    drop(engine(&sim, &["m"]));
    Engine::open(sim.env(), Options::default()).expect("the directory is no longer locked");
}

#[test]
fn full_name_contains_encoded_name() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &["a.b,c."]);
    for info in engine.regions(&name()).unwrap() {
        assert_eq!(RegionInfo::encoded_name_in(&info.full_name()), Some(&info.encoded_name[..]));
    }
    for text in ["", "t", "t,,1", "hbase:meta,,1", "t,,1.0123."] {
        assert_eq!(RegionInfo::encoded_name_in(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn open_sequence_id_never_decreases() {
    let sim = SimEnv::new(1);
    let mut engine = engine(&sim, &[]);
    let mut known = region(&engine, "a").open_sequence();
    assert_eq!(known, 1);
    for round in 0..3 {
        for row in ["a", "b", "p"] {
            put(&engine, row, "v");
        }
        if round == 1 {
            engine.flush(&name()).unwrap();
            put(&engine, "c", "v");
        }
        drop(engine);
        sim.fs.kill();
        engine = Engine::open(sim.env(), Options::default()).unwrap();
        let now = region(&engine, "a").open_sequence();
        assert!(now >= known + 3, "{now} after {known}");
        known = now;
    }
    engine.disable_table(&name()).unwrap();
    engine.enable_table(&name()).unwrap();
    assert!(region(&engine, "a").open_sequence() >= known);
    engine.split_region(&encoded(&engine)[0], Some(Bytes::from("m"))).unwrap();
    assert!(
        region(&engine, "a").open_sequence() >= known
            && region(&engine, "p").open_sequence() >= known
    );
}

#[test]
fn requested_compaction_runs_later() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    let region = region(&engine, "a");
    region.request_compaction(None, CompactionKind::Major).unwrap();
    assert_eq!(region.compaction_state(), CompactionState::None, "there is nothing to compact");
    assert_eq!(
        region.request_compaction(Some(b"no"), CompactionKind::Major).unwrap_err().kind(),
        ErrorKind::NoSuchFamily
    );

    for round in 0..2 {
        put(&engine, &format!("r{round}"), "v");
        engine.flush(&name()).unwrap();
    }
    while engine.run_one_job().unwrap() {}
    assert_eq!(region.load().store_files, 2);
    region.request_compaction(Some(b"f"), CompactionKind::Minor).unwrap();
    assert_eq!(
        region.compaction_state(),
        CompactionState::None,
        "two files are too few for a minor compaction"
    );
    region.request_compaction(Some(b"f"), CompactionKind::Major).unwrap();
    region.request_compaction(Some(b"f"), CompactionKind::Major).unwrap();
    assert_eq!(region.compaction_state(), CompactionState::Major);
    assert_eq!(region.load().store_files, 2);
    sim.clock.advance_ms(5);
    assert!(engine.run_one_job().unwrap());
    assert_eq!(
        (region.compaction_state(), region.load().store_files, region.load().compactions),
        (CompactionState::None, 1, 1)
    );
    assert_eq!((region.load().compacting_cells, region.load().compacted_cells), (0, 0));
    assert_eq!(region.last_major_compaction_ms(), 1_000_000_000_005);

    // The compaction requested twice ran once; a region that no longer exists is skipped.
    assert!(!engine.run_one_job().unwrap());
    region.request_compaction(None, CompactionKind::Major).unwrap();
    engine.disable_table(&name()).unwrap();
    assert!(engine.run_one_job().unwrap());
    assert_eq!(
        region.request_compaction(None, CompactionKind::Major).unwrap_err().kind(),
        ErrorKind::NoSuchRegion
    );
}

#[test]
fn region_load_matches_files_and_memstores() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    let empty = region(&engine, "a").load();
    assert_eq!(
        (
            empty.stores,
            empty.store_files,
            empty.flushed_sequence,
            empty.oldest_file_ms,
            empty.memstore_data_bytes
        ),
        (2, 0, None, 0, 0)
    );
    for row in 0..100 {
        put(&engine, &format!("row{row:03}"), "value");
    }
    let before = region(&engine, "a").load();
    // Flat key: 12 bytes around row, family and qualifier.
    assert_eq!(before.memstore_data_bytes, 100 * (12 + 6 + 1 + 1 + 5));
    assert!(before.memstore_bytes > before.memstore_data_bytes);
    engine.flush(&name()).unwrap();
    let load = region(&engine, "a").load();
    assert_eq!(
        (
            load.store_files,
            load.reference_files,
            load.store_file_cells,
            load.memstore_bytes,
            load.memstore_data_bytes
        ),
        (1, 0, 100, 0, 0)
    );
    assert_eq!(
        (load.flushed_sequence, load.oldest_file_ms, load.last_major_compaction_ms),
        (Some(100), 1_000_000_000_000, 0)
    );
    assert!(
        load.store_file_uncompressed_bytes > 100 * 25
            && load.store_file_uncompressed_bytes < load.store_file_bytes
    );
    assert!(
        load.static_index_bytes > 0 && load.static_bloom_bytes > 0 && load.root_index_bytes > 0
    );

    assert!(region(&engine, "a").is_splittable());
    engine.split_region(&encoded(&engine)[0], Some(Bytes::from("row050"))).unwrap();
    let half = region(&engine, "a");
    assert_eq!((half.load().reference_files, half.is_splittable()), (1, false));
    while engine.run_one_job().unwrap() {}
    assert_eq!(
        (half.load().reference_files, half.load().store_file_cells, half.is_splittable()),
        (0, 50, true)
    );
    assert!(half.middle_row().unwrap().is_none(), "a single block has no middle");
}

#[test]
fn requests_are_counted_as_hbase_counts_them() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    for row in 0..10 {
        put(&engine, &format!("row{row}"), "value");
    }
    let table = engine.table(&name()).unwrap();
    table.get(&Get::new("row1"), ReadTier::Disk).unwrap();
    let only = Filter::Row(CompareOp::Equal, Comparator::Binary("row5".into()));
    table
        .scan(Scan::all().filter(only), ReadTier::Disk)
        .for_each(|rows| assert_eq!(rows.unwrap().len(), 1));
    let load = region(&engine, "a").load();
    assert_eq!((load.write_requests, load.read_requests, load.filtered_read_requests), (10, 2, 9));
}

#[test]
fn row_existence_is_checked_without_copying() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &["m"]);
    put(&engine, "a", "v");
    engine.flush(&name()).unwrap();
    engine
        .table(&name())
        .unwrap()
        .batch(vec![RowOp::Put(Put::new("b").add("g", "q", "v"))])
        .unwrap();
    let region = region(&engine, "a");
    let exists = |get: Get| {
        region.exists(&get, ReadTier::Disk, &Arc::default()).map_err(|error| error.kind())
    };
    assert_eq!(
        [exists(Get::new("a")), exists(Get::new("b")), exists(Get::new("c"))],
        [Ok(true), Ok(true), Ok(false)]
    );
    assert_eq!(
        [exists(Get::new("b").family("f")), exists(Get::new("b").column("g", "q"))],
        [Ok(false), Ok(true)]
    );
    assert_eq!(exists(Get::new("a").filter(Filter::Prefix("b".into()))), Ok(false));
    assert_eq!(
        [exists(Get::new("z")), exists(Get::new("a").family("x"))],
        [Err(ErrorKind::WrongRegion), Err(ErrorKind::NoSuchFamily)]
    );
    assert_eq!(region.load().cells_returned, 0);
}

#[test]
fn regions_of_large_table_are_found_by_every_name() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
    engine
        .create_table(table, (1..300).map(|at| Bytes::from(format!("{at:03}"))).collect())
        .unwrap();
    let infos = engine.regions(&name()).unwrap();
    assert_eq!(infos.len(), 300);
    assert!(infos.iter().all(|info| {
        engine.region(&info.encoded_name).is_ok_and(|region| **region.info() == *info)
    }));
}

#[test]
fn split_row_too_long_for_region_name_is_rejected() {
    let engine = engine(&SimEnv::new(1), &[]);
    let table = |qualifier: &str| {
        TableDescriptor::new(qualifier.parse().unwrap()).family(FamilyDescriptor::new("f"))
    };
    let long = Bytes::from(vec![b'r'; 32_767]);
    let error = engine.create_table(table("long"), vec![long.clone()]).unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidRequest && error.message().contains("32699"),
        "{error}"
    );
    let region = &encoded(&engine)[0];
    assert_eq!(
        engine.split_region(region, Some(long.clone())).unwrap_err().kind(),
        ErrorKind::InvalidRequest
    );
    engine.create_table(table("long"), vec![long.slice(..32_699)]).unwrap();
    let names = engine.regions(&"long".parse().unwrap()).unwrap();
    assert!(names.iter().all(|region| region.full_name().len() <= 32_767));
    // A growing region is not split there, either.
    for at in 0..4 {
        let row = [&long[..32_766], &[at][..]].concat();
        apply(&engine, RowOp::Put(Put::new(row).add("f", "q", vec![7; 100_000])));
    }
    engine.flush(&name()).unwrap();
    assert_eq!(engine.region(region).unwrap().middle_row().unwrap(), None);
}
