//! Families that a filter does not need to decide on rows are read for included rows only, with
//! the results of reading them always.

use std::sync::Arc;

use halite_engine::Engine;
use halite_engine::Options;
use halite_engine::env::sim::SimEnv;
use halite_engine::scan::{ScanLimits, StopReason};
use halite_types::{
    Comparator, CompareOp, Delete, FamilyDescriptor, Filter, Put, ReadTier, RowOp, Scan,
    TableDescriptor,
};
use proptest::prelude::*;

use crate::support::{apply, format_row, name, region};

fn engine(sim: &SimEnv) -> Arc<Engine> {
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let family = |name: &'static str| {
        FamilyDescriptor::new(name).versions(2).set("BLOCKSIZE", 1024).set("BLOCKCACHE", false)
    };
    let families = ["a", "f", "z"].into_iter().map(family);
    let table = families.fold(TableDescriptor::new(name()), TableDescriptor::family);
    engine.create_table(table, Vec::new()).unwrap();
    engine
}

/// Returns the filter that includes rows with `f:q` = `value`.
fn has_value(value: &'static str, latest_version_only: bool, exclude: bool) -> Filter {
    Filter::SingleColumnValue {
        family: "f".into(),
        qualifier: "q".into(),
        op: CompareOp::Equal,
        comparator: Comparator::Binary(value.into()),
        filter_if_missing: true,
        latest_version_only,
        exclude,
    }
}

/// Returns the rows of a scan with these limits per call, and the blocks read.
fn rows(engine: &Engine, scan: &Scan, limits: &ScanLimits) -> (Vec<String>, u64) {
    let mut scanner = region(engine).scan(scan, ReadTier::Disk).unwrap();
    let mut found = Vec::new();
    loop {
        let batch = scanner.next_rows(*limits).unwrap();
        found.extend(batch.rows.iter().map(format_row));
        if matches!(batch.stopped, StopReason::RegionEnd | StopReason::FilterEnd) {
            return (found, scanner.stats().blocks_read());
        }
    }
}

#[test]
fn blocks_of_family_are_not_read_for_excluded_rows() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim);
    for row in 0..200 {
        let value = if row == 150 { "yes" } else { "no" };
        let put = Put::new(format!("r{row:03}")).add("f", "q", value);
        apply(&engine, RowOp::Put(put.add("z", "big", vec![b'z'; 1000])));
    }
    engine.flush(&name()).unwrap();
    let blocks = |on_demand: bool, value: &'static str| {
        let filter = has_value(value, true, false);
        let scan = Scan::all().filter(filter).load_families_on_demand(on_demand);
        let (rows, blocks) = rows(&engine, &scan, &ScanLimits::default());
        (rows.len(), blocks)
    };
    let (none, some, always) = (blocks(true, "?"), blocks(true, "yes"), blocks(false, "yes"));
    assert_eq!((none.0, some.0, always.0), (0, 1, 1));
    // The data block of the included row, and the index of the family.
    assert!(some.1 - none.1 <= 2, "{some:?} of {always:?}, {none:?} without a row");
    assert!(always.1 - none.1 >= 200, "{always:?}");
}

#[test]
fn setting_of_table_and_scan_decide() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim);
    apply(&engine, RowOp::Put(Put::new("r").add("f", "q", "no").add("z", "q", "1")));
    engine.flush(&name()).unwrap();
    let reads = |scan: Scan| {
        rows(&engine, &scan.filter(has_value("?", true, false)), &ScanLimits::default()).1
    };
    let on_demand = reads(Scan::all());
    assert_eq!(reads(Scan::all().load_families_on_demand(true)), on_demand);
    let always = reads(Scan::all().load_families_on_demand(false));
    assert!(always > on_demand);
    let table = TableDescriptor::clone(&engine.table(&name()).unwrap().descriptor());
    let setting = "hbase.hregion.scan.loadColumnFamiliesOnDemand";
    engine.alter_table(table.set(setting, false)).unwrap();
    assert_eq!(reads(Scan::all()), always);
    assert_eq!(reads(Scan::all().load_families_on_demand(true)), on_demand);
    // A reverse scan reads all families.
    assert_eq!(reads(Scan::all().reverse(true).load_families_on_demand(true)), always);
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, &'static str, &'static str, &'static str),
    DeleteFamily(u8, &'static str),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    let family = || prop::sample::select(vec!["a", "f", "z"]);
    let put = (0..12_u8, family(), prop::sample::select(vec!["p", "q", "r"]), {
        prop::sample::select(vec!["yes", "no"])
    });
    prop_oneof![
        8 => put.prop_map(|(row, family, qualifier, value)| Step::Put(row, family, qualifier, value)),
        1 => (0..12_u8, family()).prop_map(|(row, family)| Step::DeleteFamily(row, family)),
        1 => Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn families_on_demand_do_not_change_rows(
        steps in prop::collection::vec(step(), 1..60),
        latest in any::<bool>(),
        exclude in any::<bool>(),
        wrapped in 0..4_u8,
        limits in (1..4_usize, 1..200_usize, any::<bool>()),
        start in 0..12_u8,
    ) {
        let sim = SimEnv::new(1);
        let engine = engine(&sim);
        for step in steps {
            let row = |row: u8| format!("r{row:02}");
            match step {
                Step::Put(at, family, qualifier, value) => {
                    apply(&engine, RowOp::Put(Put::new(row(at)).add(family, qualifier, value)));
                }
                Step::DeleteFamily(at, family) => {
                    apply(&engine, RowOp::Delete(Delete::new(row(at)).family(family)));
                }
                Step::Flush => engine.flush(&name()).unwrap(),
            }
        }
        let tested = has_value("yes", latest, exclude);
        let filter = match wrapped {
            0 => tested,
            1 => Filter::All(vec![tested, has_value("yes", latest, false)]),
            2 => Filter::One(vec![has_value("no", true, false), tested]),
            _ => Filter::All(vec![tested, Filter::Page(3)]),
        };
        let mut budget = ScanLimits::default();
        (budget.rows, budget.bytes, budget.cut_rows) = limits;
        let scan = Scan::all().start(format!("r{start:02}")).all_versions().filter(filter);
        let on_demand = rows(&engine, &scan.clone().load_families_on_demand(true), &budget);
        let always = rows(&engine, &scan.load_families_on_demand(false), &budget);
        prop_assert_eq!(on_demand.0, always.0);
    }
}
