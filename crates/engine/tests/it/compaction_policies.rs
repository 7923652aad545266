//! Compaction policies of families: the files that compactions leave, and what reads see.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options};
use halite_types::{
    CompactionKind, Delete, ErrorKind, FamilyDescriptor, Put, ReadTier, RowOp, Scan,
    TableDescriptor, TimeRange,
};

use crate::support::{apply, format_row, name, region};

const PACKAGE: &str = "org.apache.hadoop.hbase.regionserver.";
const HOUR_MS: i64 = 3_600_000;
/// Time of the simulated clock at the start, in milliseconds.
const NOW_MS: i64 = 1_000_000_000_000;

/// Returns an engine whose table has windows of an hour, and whose present window is merged from
/// three files on.
fn engine(sim: &SimEnv) -> Arc<Engine> {
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let prefix = "hbase.hstore.compaction.date.tiered";
    let family = FamilyDescriptor::new("f")
        .versions(3)
        .set("hbase.hstore.engine.class", format!("{PACKAGE}DateTieredStoreEngine"))
        .set(format!("{prefix}.base.window.millis"), HOUR_MS)
        .set(format!("{prefix}.incoming.window.min"), 3);
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    engine
}

/// Writes rows at some hours before the present into one file.
fn write(engine: &Engine, hours: &[i64], value: &'static str) {
    for hour in hours {
        let row = format!("r{hour:03}");
        apply(engine, RowOp::Put(Put::new(row).add_at("f", "q", NOW_MS - hour * HOUR_MS, value)));
    }
    engine.flush(&name()).unwrap();
}

fn files(engine: &Engine) -> u64 {
    region(engine).load().store_files
}

fn run_jobs(engine: &Engine) {
    while engine.run_one_job().unwrap() {}
}

fn rows(engine: &Engine, scan: &Scan) -> (Vec<String>, u64) {
    let mut scanner = region(engine).scan(scan, ReadTier::Disk).unwrap();
    let batch = scanner.next_rows(halite_engine::scan::ScanLimits::default()).unwrap();
    (batch.rows.iter().map(format_row).collect(), scanner.stats().files_out_of_range())
}

#[test]
fn files_of_other_windows_are_not_merged() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim);
    for days in [40, 20, 8] {
        write(&engine, &[24 * days], "old");
    }
    run_jobs(&engine);
    assert_eq!(files(&engine), 3, "one file in each window");
    for _ in 0..3 {
        write(&engine, &[0], "new");
    }
    run_jobs(&engine);
    assert_eq!(files(&engine), 4, "the files of the present are merged");
}

#[test]
fn major_compaction_leaves_file_per_window() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim);
    let hours: Vec<i64> = (0..60).map(|day| 24 * day).collect();
    write(&engine, &hours, "first");
    write(&engine, &hours, "second");
    apply(&engine, RowOp::Delete(Delete::new("r024").family("f")));
    engine.flush(&name()).unwrap();
    let (before, _) = rows(&engine, &Scan::all().all_versions());
    assert_eq!(before.len(), 59);
    region(&engine).compact(None, CompactionKind::Major).unwrap();
    let windows = files(&engine);
    assert!((4..20).contains(&windows), "{windows}");
    assert_eq!(rows(&engine, &Scan::all().all_versions()).0, before);
    // Nothing is left to do, and a read of the present skips the files of the past.
    run_jobs(&engine);
    assert_eq!(files(&engine), windows);
    let present = TimeRange::new(NOW_MS - 1, NOW_MS + 1).unwrap();
    let (found, skipped) = rows(&engine, &Scan::all().time_range(present));
    assert_eq!((found, skipped), (vec!["r000=second".to_owned()], windows - 1));
    engine.close().unwrap();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    assert_eq!((files(&engine), rows(&engine, &Scan::all().all_versions()).0), (windows, before));
}

#[test]
fn expired_files_of_fifo_family_are_dropped_and_not_merged() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let class = format!("{PACKAGE}compactions.FIFOCompactionPolicy");
    let family = FamilyDescriptor::new("f")
        .set("TTL", 36_000)
        .set("hbase.hstore.defaultengine.compactionpolicy.class", class);
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    for hour in [9, 8, 7, 6, 5] {
        write(&engine, &[hour], "value");
    }
    run_jobs(&engine);
    assert_eq!(files(&engine), 5);
    sim.clock.advance_ms(3 * 3_600_000 + 1);
    region(&engine).compact(None, CompactionKind::Minor).unwrap();
    assert_eq!(files(&engine), 2);
}

#[test]
fn unbuilt_or_misspelt_policies_are_refused_at_create_and_alter() {
    let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
    let table = || TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
    let custom =
        table().set("hbase.hstore.engine.class", format!("{PACKAGE}CustomTieredStoreEngine"));
    let error = engine.create_table(custom.clone(), Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let all = table().set("FLUSH_POLICY", format!("{PACKAGE}FlushAllStoresPolicy"));
    engine.create_table(all, Vec::new()).unwrap();
    assert_eq!(engine.alter_table(custom).unwrap_err().kind(), ErrorKind::Unsupported);
    let misspelt = table().set("FLUSH_POLICY", format!("{PACKAGE}FlushAllStorePolicy"));
    let error = engine.alter_table(misspelt).unwrap_err();
    assert!(error.message().contains("FlushAllStoresPolicy?"), "{error}");
}

#[test]
fn misspelt_setting_with_an_effect_is_refused() {
    let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
    let table = |setting: &str| {
        let family = FamilyDescriptor::new("f").set(setting, 3);
        TableDescriptor::new(name()).family(family)
    };
    let error = engine.create_table(table("hbase.hstore.compacton.min"), Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("did you mean hbase.hstore.compaction.min?"), "{error}");
    // HBase accepts any name, for classes of users.
    engine.create_table(table("my.own.setting"), Vec::new()).unwrap();
    assert!(engine.alter_table(table("hbase.hstore.compacton.min")).is_err());
}

/// Minor compactions then write two files with one sequence id, and later ones merge one of them.
#[test]
fn newest_value_is_read_after_minor_compactions_with_several_files() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let prefix = "hbase.hstore.compaction.date.tiered";
    let family = FamilyDescriptor::new("f")
        .set("hbase.hstore.engine.class", format!("{PACKAGE}DateTieredStoreEngine"))
        .set(format!("{prefix}.base.window.millis"), HOUR_MS)
        .set(format!("{prefix}.incoming.window.min"), 2)
        .set(format!("{prefix}.single.output.for.minor.compaction"), "false");
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    write(&engine, &[2000, 1000], "old");
    let hours = [0, 1, 3, 9, 30, 100];
    let mut expected = std::collections::BTreeMap::new();
    let mut compacted = 0;
    for round in 0..60_usize {
        let value: &'static str = format!("v{round}").leak();
        let chosen = [hours[round % 6], hours[(round / 2) % 6], hours[(round * 5 + 1) % 4]];
        write(&engine, &chosen, value);
        expected.extend(chosen.iter().map(|hour| (format!("r{hour:03}"), value)));
        let before = files(&engine);
        run_jobs(&engine);
        compacted += u32::from(files(&engine) < before);
        let found = rows(&engine, &Scan::all()).0;
        let wanted: Vec<String> =
            expected.iter().map(|(row, value)| format!("{row}={value}")).collect();
        let found: Vec<String> = found.into_iter().filter(|row| !row.ends_with("=old")).collect();
        assert_eq!(found, wanted, "after round {round}");
    }
    assert!(compacted > 10, "{compacted}");
}
