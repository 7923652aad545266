//! Automatic and requested splits under the split policy of a table.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options};
use halite_types::{Bytes, ErrorKind, FamilyDescriptor, Put, RowOp, TableDescriptor};

use crate::support::{apply, name};

const PACKAGE: &str = "org.apache.hadoop.hbase.regionserver.";

fn table(policy: &str) -> TableDescriptor {
    TableDescriptor::new(name())
        .family(FamilyDescriptor::new("f").set("BLOCKSIZE", 1024))
        .set("SPLIT_POLICY", format!("{PACKAGE}{policy}"))
}

/// Returns an engine with 200 rows of users `1` to `4`, 100 bytes each, whose automatic splits are
/// done.
fn filled(table: TableDescriptor) -> Arc<Engine> {
    filled_with_splits(table, &[])
}

fn filled_with_splits(table: TableDescriptor, splits: &[&'static str]) -> Arc<Engine> {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let splits = splits.iter().map(|&key| Bytes::from(key)).collect();
    engine.create_table(table.set("MEMSTORE_FLUSHSIZE", 4096), splits).unwrap();
    for row in 0..200 {
        let put = Put::new(format!("u{}:{row:04}", 1 + row / 50)).add("f", "q", vec![b'v'; 100]);
        apply(&engine, RowOp::Put(put));
    }
    for region in engine.regions(&name()).unwrap() {
        engine.table(&name()).unwrap().region_for_row(&region.start).unwrap().flush().unwrap();
    }
    while engine.run_one_job().unwrap() {}
    engine
}

fn starts(engine: &Engine) -> Vec<String> {
    let regions = engine.regions(&name()).unwrap();
    regions.iter().map(|region| String::from_utf8_lossy(&region.start).into_owned()).collect()
}

#[test]
fn region_splits_at_twice_flush_size_by_stepping_policy() {
    assert_eq!(starts(&filled(table("SteppingSplitPolicy"))).len(), 2);
    assert_eq!(starts(&filled(table("ConstantSizeRegionSplitPolicy"))).len(), 1);
    let disabled = table("DisabledRegionSplitPolicy").set("MAX_FILESIZE", 4096);
    assert_eq!(starts(&filled(disabled)).len(), 1);
}

/// Writes 200 rows, 300 bytes each, and flushes every 25. Returns how many were written when there
/// were four regions, and the number of splits.
fn grow(splits: &[&'static str]) -> (Option<u32>, usize) {
    let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
    let policy = table("ConstantSizeRegionSplitPolicy").set("MAX_FILESIZE", 32_000);
    engine.create_table(policy, splits.iter().map(|&key| Bytes::from(key)).collect()).unwrap();
    let mut four_regions_at = None;
    for row in 0..200 {
        if four_regions_at.is_none() && starts(&engine).len() == 4 {
            four_regions_at = Some(row);
        }
        let put = Put::new(format!("u{}:{row:04}", 1 + row / 50)).add("f", "q", vec![b'v'; 300]);
        apply(&engine, RowOp::Put(put));
        if row % 25 == 24 {
            for region in engine.regions(&name()).unwrap() {
                let region = engine.table(&name()).unwrap().region_for_row(&region.start).unwrap();
                region.flush().unwrap();
            }
            while engine.run_one_job().unwrap() {}
        }
    }
    (four_regions_at, starts(&engine).len() - splits.len() - 1)
}

/// The same load: one region splits again and again while it is written, and serves all of it
/// alone at first; regions that were there from the beginning stay as they are.
#[test]
fn k36_one_region_splits_under_load_and_presplit_ones_do_not() {
    let (rows, splits) = grow(&[]);
    assert!(rows.is_some_and(|rows| rows >= 100) && splits >= 3, "{rows:?} {splits}");
    assert_eq!(grow(&["u2", "u3", "u4"]), (Some(0), 0));
}

#[test]
fn region_is_not_splittable_under_disabled_policy() {
    for (policy, splittable) in
        [("DisabledRegionSplitPolicy", false), ("ConstantSizeRegionSplitPolicy", true)]
    {
        let engine = filled(table(policy));
        let region = engine.table(&name()).unwrap().region_for_row(b"").unwrap();
        let is = (region.allows_splits(), region.is_splittable(), region.is_mergeable());
        assert_eq!(is, (splittable, splittable, true), "{policy}");
        engine.alter_table(table("SteppingSplitPolicy")).unwrap();
        assert!(region.allows_splits(), "the policy of the altered table applies");
    }
}

#[test]
fn group_of_rows_stays_in_one_region() {
    let prefix = table("KeyPrefixRegionSplitPolicy")
        .set("KeyPrefixRegionSplitPolicy.prefix_length", 2)
        .set("hbase.increasing.policy.initial.size", 1024);
    let delimited = table("DelimitedKeyPrefixRegionSplitPolicy")
        .set("DelimitedKeyPrefixRegionSplitPolicy.delimiter", ":")
        .set("hbase.increasing.policy.initial.size", 1024);
    for table in [prefix, delimited] {
        let starts = starts(&filled(table));
        assert!(starts.len() > 1, "{starts:?}");
        assert!(starts.iter().all(|start| start.is_empty() || start.len() == 2), "{starts:?}");
    }
}

#[test]
fn requested_split_point_is_restricted_by_table() {
    let restriction = "hbase.regionserver.region.split_restriction";
    let restricted = table("ConstantSizeRegionSplitPolicy")
        .set(format!("{restriction}.type"), "DelimitedKeyPrefix")
        .set(format!("{restriction}.delimiter"), ":");
    let engine = filled(restricted);
    let region = engine.regions(&name()).unwrap()[0].encoded_name.clone();
    engine.split_region(&region, Some(Bytes::from("u2:0070"))).unwrap();
    assert_eq!(starts(&engine), ["", "u2"]);
}

#[test]
fn unknown_split_policy_is_refused_at_create_and_alter() {
    let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
    let misspelt = table("SteppingSplitPolcy");
    let error = engine.create_table(misspelt.clone(), Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(
        error.message().contains(&format!("did you mean {PACKAGE}SteppingSplitPolicy?")),
        "{error}"
    );
    engine.create_table(table("SteppingSplitPolicy"), Vec::new()).unwrap();
    assert_eq!(engine.alter_table(misspelt).unwrap_err().kind(), ErrorKind::InvalidRequest);
}
