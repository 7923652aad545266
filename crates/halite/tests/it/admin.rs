//! Tables, regions and namespaces: every administrative call and what it does to the data.

use halite::{
    CompactionKind, Delete, ErrorKind, FamilyDescriptor, Get, Put, Scan, Store, TableDescriptor,
    TableName,
};
use halite_engine::env::sim::SimEnv;

use crate::{keys, reopen, store};

fn name() -> TableName {
    "t".parse().unwrap()
}

fn fill(store: &Store, rows: usize) {
    let table = store.table("t").unwrap();
    for i in 0..rows {
        table
            .put(Put::new(format!("k{i:03}")).add("f", "q", "x".repeat(200)).add("g", "q", "y"))
            .unwrap();
    }
}

#[test]
fn disabled_table_rejects_calls_and_keeps_its_rows() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    fill(&store, 50);
    let table = store.table("t").unwrap();
    store.disable_table(name()).unwrap();
    assert_eq!(store.table("t").err().unwrap().kind(), ErrorKind::TableDisabled);
    assert_eq!(
        table.put(Put::new("r").add("f", "q", "v")).unwrap_err().kind(),
        ErrorKind::TableDisabled
    );
    assert_eq!(table.get(Get::new("r")).unwrap_err().kind(), ErrorKind::TableDisabled);
    assert_eq!(store.disable_table(name()).unwrap_err().kind(), ErrorKind::TableDisabled);
    drop((table, store));
    sim.fs.kill();
    let store = reopen(&sim);
    assert_eq!(store.table("t").err().unwrap().kind(), ErrorKind::TableDisabled);
    store.enable_table(name()).unwrap();
    assert_eq!(store.enable_table(name()).unwrap_err().kind(), ErrorKind::TableEnabled);
    let held = store.table("t").unwrap();
    store.disable_table(name()).unwrap();
    assert_eq!(held.get(Get::new("k000")).unwrap_err().kind(), ErrorKind::TableDisabled);
    store.enable_table(name()).unwrap();
    held.put(Put::new("k000").add("f", "q", "again")).unwrap();
    assert_eq!(held.scan(Scan::all()).count(), 50);
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 50);
}

#[test]
fn truncated_region_stays_empty_and_neighbors_keep_rows() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    fill(&store, 50);
    let region = |store: &Store, at: usize| store.engine().regions(&name()).unwrap()[at].clone();
    store.engine().split_region(&region(&store, 0).encoded_name, Some("k025".into())).unwrap();
    fill(&store, 50);
    let before = region(&store, 1);
    store.engine().truncate_region(&before.encoded_name).unwrap();
    let after = region(&store, 1);
    assert_eq!((&after.start, &after.end), (&before.start, &before.end));
    assert_ne!(after.encoded_name, before.encoded_name);
    assert_eq!(
        store.engine().truncate_region(&before.encoded_name).unwrap_err().kind(),
        ErrorKind::NoSuchRegion
    );
    drop(store);
    sim.fs.kill();
    let store = reopen(&sim);
    assert_eq!(
        keys(&store.table("t").unwrap(), Scan::all()),
        (0..25).map(|i| format!("k{i:03}")).collect::<Vec<_>>()
    );
    store.table("t").unwrap().put(Put::new("k040").add("f", "q", "new")).unwrap();
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 26);
}

#[test]
fn settings_are_durable_atomic_and_limited_in_size() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let engine = store.engine();
    let set = |name: &str, value: Vec<u8>| {
        let (name, value) = (name.to_owned(), halite::Bytes::from(value));
        engine.update_properties(move |settings| Ok(settings.insert(name, value).is_some()))
    };
    assert!(
        !set("a/1", vec![1]).unwrap()
            && !set("a/2", vec![2]).unwrap()
            && !set("b/1", vec![3]).unwrap()
    );
    assert!(set("a/1", vec![9]).unwrap());
    let failed = engine.update_properties::<()>(|settings| {
        settings.clear();
        Err(halite::Error::invalid("no"))
    });
    assert_eq!(failed.unwrap_err().message(), "no");
    assert_eq!(set("large", vec![0; 1 << 20]).unwrap_err().kind(), ErrorKind::InvalidRequest);
    drop(store);
    sim.fs.kill();
    let store = reopen(&sim);
    let names = |prefix: &str| {
        store
            .engine()
            .properties(prefix)
            .into_iter()
            .map(|(name, value)| (name, value[0]))
            .collect::<Vec<_>>()
    };
    assert_eq!(names("a/"), [("a/1".to_owned(), 9), ("a/2".to_owned(), 2)]);
    assert_eq!((names("").len(), names("c").len()), (3, 0));
    assert_eq!(store.engine().property("b/1").as_deref(), Some(&[3][..]));
    assert_eq!(store.engine().property("large"), None);
}

#[test]
fn operator_can_disable_splits_roll_log_and_evict_blocks() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let engine = store.engine();
    assert!(engine.set_splits_enabled(false) && !engine.set_splits_enabled(true));
    assert!(engine.set_compactions_enabled(false) && !engine.set_compactions_enabled(false));
    for _ in 0..4 {
        fill(&store, 10);
        store.flush(name()).unwrap();
    }
    while engine.run_one_job().unwrap() {}
    let files = |engine: &halite_engine::Engine| engine.status().regions[0].store_files;
    let region = engine.regions(&name()).unwrap()[0].encoded_name.clone();
    assert_eq!((files(engine), engine.store_files(&region, &["f".into()]).unwrap().len()), (8, 4));
    assert_eq!(
        engine.store_files(&region, &["x".into()]).unwrap_err().kind(),
        ErrorKind::NoSuchFamily
    );
    assert!(!engine.set_compactions_enabled(true));
    engine.region(&region).unwrap().request_compaction(None, CompactionKind::Major).unwrap();
    while engine.run_one_job().unwrap() {}
    assert_eq!(files(engine), 2);
    fill(&store, 5);
    engine.roll_wal().unwrap();
    fill(&store, 5);
    let segments = sim.fs.files().into_keys().filter(|path| path.contains("wal")).count();
    assert!(segments > 1, "{segments}");
    store.table("t").unwrap().get(Get::new("k001")).unwrap();
    let evicted = engine.evict_blocks(&region).unwrap();
    assert!(evicted.blocks > 0 && evicted.bytes > 0, "{evicted:?}");
    assert_eq!(engine.evict_blocks(&region).unwrap().blocks, 0);
}

#[test]
fn drop_and_truncate_leave_no_files() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    fill(&store, 50);
    assert_eq!(store.drop_table(name()).unwrap_err().kind(), ErrorKind::TableEnabled);
    store.disable_table(name()).unwrap();
    store.engine().truncate_table(&name(), false).unwrap();
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 0);
    fill(&store, 10);
    store.disable_table(name()).unwrap();
    store.drop_table(name()).unwrap();
    assert_eq!(store.table("t").err().unwrap().kind(), ErrorKind::NoSuchTable);
    store.close().unwrap();
    let left: Vec<String> =
        sim.fs.files().into_keys().filter(|path| path.starts_with("data/default")).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn split_is_refused_by_disabled_split_policy() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let policy = "org.apache.hadoop.hbase.regionserver.DisabledRegionSplitPolicy";
    let table = TableDescriptor::new("u".parse().unwrap())
        .family(FamilyDescriptor::new("f"))
        .set("SPLIT_POLICY", policy);
    store.create_table(table, &[]).unwrap();
    let region = store.table("u").unwrap().regions().unwrap()[0].encoded_name.clone();
    let error = store.split_region(&region, Some("m".into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("with another SPLIT_POLICY"), "{error}");
    assert_eq!(store.table("u").unwrap().regions().unwrap().len(), 1);
}

#[test]
fn split_and_merge_keep_rows_and_finally_remove_files() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    fill(&store, 300);
    store.flush(name()).unwrap();
    let table = store.table("t").unwrap();
    let all = keys(&table, Scan::all());
    let region = table.regions().unwrap()[0].encoded_name.clone();
    store.engine().split_region(&region, None).unwrap();
    let regions = table.regions().unwrap();
    assert_eq!(regions.len(), 2);
    assert_eq!(regions[0].end, regions[1].start);
    assert_eq!(keys(&table, Scan::all()), all);
    table.put(Put::new("k000").add("g", "q", "new")).unwrap();
    // Again while the daughters still refer to the parent's files.
    store.engine().split_region(&regions[1].encoded_name, Some("k290".into())).unwrap();
    assert_eq!(keys(&table, Scan::all()), all);
    drop((table, store));
    sim.fs.kill();
    let store = reopen(&sim);
    let table = store.table("t").unwrap();
    assert_eq!(keys(&table, Scan::all()), all);
    let regions = table.regions().unwrap();
    assert_eq!(regions.len(), 3);
    let error = store
        .engine()
        .merge_regions(&regions[0].encoded_name, &regions[2].encoded_name, false)
        .unwrap_err();
    assert!(error.message().contains("not neighbours"), "{error}");
    store
        .engine()
        .merge_regions(&regions[1].encoded_name, &regions[0].encoded_name, false)
        .unwrap();
    assert_eq!(keys(&table, Scan::all()), all);
    let regions = table.regions().unwrap();
    store.engine().merge_regions(&regions[0].encoded_name, &regions[1].encoded_name, true).unwrap();
    assert_eq!(table.regions().unwrap().len(), 1);
    assert_eq!(
        keys(&table, Scan::all().reverse(true)),
        all.iter().rev().cloned().collect::<Vec<_>>()
    );
    assert_eq!(table.get(Get::new("k000")).unwrap().value("g", "q"), Some(&b"new"[..]));
    store.compact(name(), None, CompactionKind::Major).unwrap();
    drop(table);
    store.close().unwrap();
    let region_directories: std::collections::BTreeSet<String> = sim
        .fs
        .files()
        .keys()
        .filter(|path| path.starts_with("data/default/t/") && !path.contains(".tabledesc"))
        .map(|path| path.split('/').nth(3).unwrap().to_owned())
        .collect();
    assert_eq!(region_directories.len(), 1, "{:?}", sim.fs.files().keys());
    assert_eq!(keys(&reopen(&sim).table("t").unwrap(), Scan::all()), all);
}

#[test]
fn altered_family_takes_effect_and_dropped_family_stays_dropped() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    fill(&store, 10);
    let table = store.table("t").unwrap();
    let mut descriptor = (*table.descriptor().unwrap()).clone();
    descriptor.remove_family(b"g").unwrap();
    descriptor.set_family(FamilyDescriptor::new("h"));
    store.alter_table(descriptor.clone()).unwrap();
    assert_eq!(
        table.put(Put::new("r").add("g", "q", "v")).unwrap_err().kind(),
        ErrorKind::NoSuchFamily
    );
    table.put(Put::new("r").add("h", "q", "v")).unwrap();
    store.alter_table(descriptor.family(FamilyDescriptor::new("g"))).unwrap();
    assert_eq!(table.get(Get::new("k000")).unwrap().len(), 1);
    drop((table, store));
    sim.fs.kill();
    let store = reopen(&sim);
    let table = store.table("t").unwrap();
    assert_eq!(table.get(Get::new("k000").family("g")).unwrap().len(), 0);
    assert_eq!(table.get(Get::new("r")).unwrap().value("h", "q"), Some(&b"v"[..]));
    assert_eq!(table.descriptor().unwrap().family_count(), 3);
}

#[test]
fn namespaces_contain_separate_tables() {
    let store = store(&SimEnv::new(1));
    let table = TableDescriptor::new("ns:t".parse().unwrap()).family(FamilyDescriptor::new("f"));
    assert_eq!(
        store.create_table(table.clone(), &[]).unwrap_err().kind(),
        ErrorKind::NoSuchNamespace
    );
    store.create_namespace("ns", halite::Attributes::new()).unwrap();
    assert_eq!(
        store.create_namespace("ns", halite::Attributes::new()).unwrap_err().kind(),
        ErrorKind::NamespaceExists
    );
    store.create_table(table, &[]).unwrap();
    store.table("ns:t").unwrap().put(Put::new("r").add("f", "q", "v")).unwrap();
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 0);
    assert_eq!(
        store.engine().drop_namespace("ns").unwrap_err().kind(),
        ErrorKind::NamespaceNotEmpty
    );
    store.disable_table("ns:t").unwrap();
    store.drop_table("ns:t").unwrap();
    store.engine().drop_namespace("ns").unwrap();
}

#[test]
fn region_load_counts_are_exact() {
    let store = store(&SimEnv::new(1));
    fill(&store, 20);
    let table = store.table("t").unwrap();
    table.delete(Delete::new("k000")).unwrap();
    assert_eq!(table.scan(Scan::all()).count(), 19);
    table.get(Get::new("k001")).unwrap();
    table.get(Get::new("absent")).unwrap();
    let load = store.cluster_status().unwrap().regions.remove(0);
    assert_eq!((load.write_requests, load.read_requests), (21, 21));
    assert_eq!((load.rows_returned, load.cells_returned, load.rows_examined), (20, 40, 22));
    assert_eq!((load.store_files, load.flushes), (0, 0));
    assert!(
        load.memstore_bytes > 20 * 200
            && load.bytes_written > 20 * 200
            && load.bytes_returned > 19 * 200
    );
    store.flush(name()).unwrap();
    let load = store.cluster_status().unwrap().regions.remove(0);
    assert_eq!((load.store_files, load.flushes, load.store_file_cells), (2, 1, 40));
}

/// No other event would compact a table whose memstores never fill up.
#[test]
fn files_of_requested_flushes_are_compacted() {
    let store = store(&SimEnv::new(1));
    for _ in 0..50 {
        fill(&store, 2);
        store.flush(name()).unwrap();
        while store.engine().run_one_job().unwrap() {}
    }
    let load = store.cluster_status().unwrap().regions.remove(0);
    assert!(load.flushes == 50 && load.store_files < 10, "{load:?}");
    store.close().unwrap();
}
