//! Regions split, merged, truncated and moved.

use halite_engine::Options;
use halite_types::{FamilyDescriptor, Get, ReadTier, RegionInfo, TableDescriptor};
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::{
    MasterAssignRegion, MasterCreateTable, MasterEnableCatalogJanitor,
    MasterGetLastMajorCompactionTimestamp, MasterMergeTableRegions, MasterModifyTable,
    MasterMoveRegion, MasterOfflineRegion, MasterRunCatalogScan, MasterSetSplitOrMergeEnabled,
    MasterSplitRegion, MasterTruncateRegion, MasterUnassignRegion,
};

use crate::testing::test_server::{TestServer, class, name, name_message, schema};
use halite_wire::convert::region::{meta, specifier, to_proto as region_message};

fn regions(rig: &TestServer, table: &str) -> Vec<RegionInfo> {
    rig.context.engine.regions(&name(table)).unwrap()
}

fn split_request(region: &RegionInfo, at: &str, nonce: u64) -> pb::SplitTableRegionRequest {
    let split_row = (!at.is_empty()).then(|| at.to_owned().into());
    pb::SplitTableRegionRequest {
        region_info: region_message(region),
        split_row,
        nonce_group: Some(1),
        nonce: Some(nonce),
    }
}

fn split(rig: &TestServer, at: &str) -> Result<(), Exception> {
    let region =
        regions(rig, "t").into_iter().find(|region| region.contains(at.as_bytes())).unwrap();
    rig.call::<MasterSplitRegion>(&split_request(&region, at, 0))
        .and_then(|response| rig.finish(response.proc_id))
}

fn merge(rig: &TestServer, which: &[&RegionInfo], forcible: bool) -> Result<(), Exception> {
    let encoded = |region: &&RegionInfo| pb::RegionSpecifier {
        r#type: 2,
        value: region.encoded_name.clone().into(),
    };
    let request = pb::MergeTableRegionsRequest {
        region: which.iter().map(encoded).collect(),
        forcible: Some(forcible),
        ..Default::default()
    };
    rig.call::<MasterMergeTableRegions>(&request).and_then(|response| rig.finish(response.proc_id))
}

fn switch(rig: &TestServer, switch: pb::MasterSwitchType, enabled: bool) {
    let request = pb::SetSplitOrMergeEnabledRequest {
        enabled,
        synchronous: Some(true),
        switch_types: vec![switch.into()],
    };
    rig.call::<MasterSetSplitOrMergeEnabled>(&request).unwrap();
}

#[test]
fn region_splits_at_given_row_or_midpoint() {
    let rig = TestServer::new();
    let mut table_schema = schema("t", &["f"]);
    table_schema.column_families[0].attributes =
        vec![pb::BytesBytesPair { first: "BLOCKSIZE".into(), second: "1024".into() }];
    let id = rig
        .call::<MasterCreateTable>(&pb::CreateTableRequest { table_schema, ..Default::default() })
        .unwrap()
        .proc_id;
    rig.finish(id).unwrap();
    split(&rig, "m").unwrap();
    assert_eq!(rig.starts("t"), ["", "m"]);
    assert!(
        split(&rig, "")
            .unwrap_err()
            .message()
            .starts_with("Region not splittable because bestSplitPoint = null")
    );
    let rows: Vec<String> = (0..100).map(|row| format!("a{row:03}")).collect();
    rig.put("t", &rows.iter().map(String::as_str).collect::<Vec<_>>());
    split(&rig, "").unwrap();
    let starts = rig.starts("t");
    assert!(starts.len() == 3 && rows.contains(&starts[1]), "{starts:?}");
}

#[test]
fn split_retried_with_nonce_runs_once() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let request = split_request(&regions(&rig, "t")[0], "m", 9);
    let first = rig.call::<MasterSplitRegion>(&request).unwrap().proc_id;
    assert_eq!(rig.call::<MasterSplitRegion>(&request).unwrap().proc_id, first);
    assert_eq!(rig.starts("t"), ["", "m"]);
}

#[test]
fn invalid_split_is_rejected_with_hbase_message() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["m"]);
    let [low, _] = &regions(&rig, "t")[..] else { panic!("two regions") };
    let refusal =
        |request: &pb::SplitTableRegionRequest| rig.call::<MasterSplitRegion>(request).unwrap_err();
    assert!(
        refusal(&split_request(low, "x", 0))
            .message()
            .starts_with("Split row is not inside region key range splitKey:x")
    );
    assert!(
        split(&rig, "m").unwrap_err().message().starts_with("Split row is equal to startkey: m")
    );
    let mut gone = split_request(low, "c", 0);
    gone.region_info.region_id += 1;
    assert_eq!(class::<()>(Err(refusal(&gone))), "UnknownRegionException");
    let mut replica = split_request(low, "c", 0);
    replica.region_info.replica_id = Some(1);
    assert!(refusal(&replica).message().starts_with("Can't invoke split on non-default regions"));
    switch(&rig, pb::MasterSwitchType::Split, false);
    assert!(
        refusal(&split_request(low, "c", 0)).message().ends_with("failed due to split switch off")
    );
    switch(&rig, pb::MasterSwitchType::Split, true);
    let mut table_schema = schema("t", &["f"]);
    table_schema.attributes =
        vec![pb::BytesBytesPair { first: "SPLIT_ENABLED".into(), second: "false".into() }];
    rig.call::<MasterModifyTable>(&pb::ModifyTableRequest {
        table_name: name_message("t"),
        table_schema,
        ..Default::default()
    })
    .unwrap();
    assert!(
        refusal(&split_request(low, "c", 0))
            .message()
            .ends_with("failed as region split is disabled for the table")
    );
}

#[test]
fn requested_split_is_refused_under_disabled_split_policy() {
    let rig = TestServer::new();
    let mut table_schema = schema("t", &["f"]);
    let policy = "org.apache.hadoop.hbase.regionserver.DisabledRegionSplitPolicy";
    table_schema.attributes =
        vec![pb::BytesBytesPair { first: "SPLIT_POLICY".into(), second: policy.into() }];
    let id = rig
        .call::<MasterCreateTable>(&pb::CreateTableRequest { table_schema, ..Default::default() })
        .unwrap()
        .proc_id;
    rig.finish(id).unwrap();
    rig.put("t", &["a", "n"]);
    let encoded = regions(&rig, "t")[0].encoded_name.clone();
    for at in ["m", ""] {
        let error = split(&rig, at).unwrap_err();
        assert!(error.message().starts_with(&format!("{encoded} NOT splittable")), "{error:?}");
        assert_eq!(class::<()>(Err(error)), "DoNotRetryIOException");
    }
    assert_eq!(rig.starts("t"), [""]);
}

#[test]
fn adjacent_regions_are_merged() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["b", "c", "d"]);
    let all = regions(&rig, "t");
    merge(&rig, &[&all[1], &all[0]], false).unwrap();
    assert_eq!(rig.starts("t"), ["", "c", "d"]);
    let all = regions(&rig, "t");
    merge(&rig, &[&all[0], &all[1], &all[2]], false).unwrap();
    assert_eq!(rig.starts("t"), [""]);
}

#[test]
fn invalid_merge_returns_merge_region_exception() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["b", "c", "d"]);
    rig.create("u", &["f"], &[]);
    let (all, other) = (regions(&rig, "t"), regions(&rig, "u"));
    for wrong in [&[&all[0]][..], &[&all[0], &all[0]], &[&all[0], &all[2]], &[&all[0], &other[0]]] {
        assert_eq!(class(merge(&rig, wrong, false)), "MergeRegionException", "{wrong:?}");
    }
    switch(&rig, pb::MasterSwitchType::Merge, false);
    let (low, high) = (&all[0].encoded_name, &all[1].encoded_name);
    let text = merge(&rig, &[&all[0], &all[1]], false).unwrap_err().message().to_owned();
    assert_eq!(text, format!("Merge of [{low}, {high}] failed because merge switch is off"));
    switch(&rig, pb::MasterSwitchType::Merge, true);
    merge(&rig, &[&all[0], &all[2]], true).unwrap();
    assert_eq!(rig.starts("t"), ["", "d"]);
    assert_eq!(class(merge(&rig, &[&all[0], &all[1]], false)), "UnknownRegionException");
    rig.disable("t");
    let all = regions(&rig, "t");
    assert_eq!(class(merge(&rig, &[&all[0], &all[1]], false)), "MergeRegionException");
}

#[test]
fn region_truncation_keeps_other_regions() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["m"]);
    rig.put("t", &["a", "z"]);
    let low = regions(&rig, "t")[0].clone();
    let request = |region_info| pb::TruncateRegionRequest { region_info, ..Default::default() };
    rig.finish(rig.call::<MasterTruncateRegion>(&request(region_message(&low))).unwrap().proc_id)
        .unwrap();
    let table = rig.context.engine.table(&name("t")).unwrap();
    let rows: Vec<_> =
        table.scan(halite_types::Scan::all(), ReadTier::Disk).flat_map(Result::unwrap).collect();
    assert_eq!(rows.iter().map(|row| row.key().to_vec()).collect::<Vec<_>>(), [b"z"]);
    let meta = region_message(&meta());
    let refused =
        rig.finish(rig.call::<MasterTruncateRegion>(&request(meta)).unwrap().proc_id).unwrap_err();
    assert_eq!(
        (refused.class(), refused.message()),
        ("java.io.IOException", "Can't truncate region in catalog tables")
    );
    let replica = pb::RegionInfo { replica_id: Some(1), ..region_message(&low) };
    assert!(
        rig.call::<MasterTruncateRegion>(&request(replica))
            .unwrap_err()
            .message()
            .starts_with("Can't truncate replicas directly")
    );
}

#[test]
fn region_move_accepts_only_its_own_server() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let region = specifier(&regions(&rig, "t")[0]);
    let own = rig.context.identity(rig.context.addresses.regionserver).region_server();
    let to = |dest_server_name| pb::MoveRegionRequest { region: region.clone(), dest_server_name };
    rig.call::<MasterMoveRegion>(&to(None)).unwrap();
    rig.call::<MasterMoveRegion>(&to(Some(own.clone()))).unwrap();
    let other = pb::ServerName { port: Some(1), ..own };
    assert_eq!(class(rig.call::<MasterMoveRegion>(&to(Some(other)))), "DoNotRetryIOException");
    let gone = pb::MoveRegionRequest {
        region: pb::RegionSpecifier { r#type: 2, value: "0".repeat(32).into() },
        dest_server_name: None,
    };
    assert_eq!(class(rig.call::<MasterMoveRegion>(&gone)), "UnknownRegionException");
}

#[test]
fn open_region_is_assigned_only_after_unassign() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let region = specifier(&regions(&rig, "t")[0]);
    let assign = pb::AssignRegionRequest { region: region.clone(), ..Default::default() };
    assert_eq!(class(rig.call::<MasterAssignRegion>(&assign)), "DoNotRetryRegionException");
    rig.call::<MasterUnassignRegion>(&pb::UnassignRegionRequest {
        region: region.clone(),
        force: None,
    })
    .unwrap();
    rig.call::<MasterAssignRegion>(&assign).unwrap();
    assert_eq!(class(rig.call::<MasterAssignRegion>(&assign)), "DoNotRetryRegionException");
    rig.call::<MasterOfflineRegion>(&pb::OfflineRegionRequest { region }).unwrap();
    let odd =
        pb::OfflineRegionRequest { region: pb::RegionSpecifier { r#type: 1, value: "odd".into() } };
    assert_eq!(class(rig.call::<MasterOfflineRegion>(&odd)), "UnknownRegionException");
}

#[test]
fn table_major_compaction_timestamp_is_oldest_of_its_regions() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let last = || {
        let request = pb::MajorCompactionTimestampRequest { table_name: name_message("t") };
        rig.call::<MasterGetLastMajorCompactionTimestamp>(&request).unwrap().compaction_timestamp
    };
    rig.put("t", &["a"]);
    rig.context.engine.flush(&name("t")).unwrap();
    assert_eq!(last(), 0);
    rig.context.engine.compact(&name("t"), None, halite_types::CompactionKind::Major).unwrap();
    assert!(last() > 0);
}

#[test]
fn region_replica_is_alias_of_primary() {
    let rig = TestServer::new();
    let attribute = pb::BytesBytesPair { first: "REGION_REPLICATION".into(), second: "3".into() };
    let table_schema = pb::TableSchema { attributes: vec![attribute], ..schema("t", &["f"]) };
    let created = rig
        .call::<MasterCreateTable>(&pb::CreateTableRequest { table_schema, ..Default::default() })
        .unwrap();
    rig.finish(created.proc_id).unwrap();
    let region = regions(&rig, "t").remove(0);
    let row = rig
        .context
        .meta(&rig.peer, ReadTier::Disk)
        .unwrap()
        .get(&Get::new(region.full_name()).family("info"))
        .unwrap();
    let columns: Vec<_> = row
        .cells()
        .iter()
        .map(|cell| String::from_utf8(cell.qualifier().to_vec()).unwrap())
        .collect();
    let numbered =
        |name: &'static str| ["", "_0001", "_0002"].map(|number| format!("{name}{number}"));
    let expected = ["seqnumDuringOpen", "server", "serverstartcode", "sn", "state"]
        .into_iter()
        .flat_map(numbered);
    let mut expected: Vec<_> = std::iter::once("regioninfo".to_owned()).chain(expected).collect();
    expected.sort();
    assert_eq!(columns, expected);
    let replica = [&region.name_prefix()[..], b"_0002.33b36c58f0da118f6c22fc0c24d60bf4."].concat();
    assert_eq!(
        rig.context.engine.region_by_name(&replica).unwrap().info().encoded_name,
        region.encoded_name
    );
    assert!(
        rig.context.engine.region_by_name(b"t,,1_0002.33b36c58f0da118f6c22fc0c24d60bf4.").is_err()
    );
}

#[test]
fn catalog_scan_removes_merge_parents() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["m"]);
    rig.put("t", &["a", "z"]);
    let all = regions(&rig, "t");
    merge(&rig, &[&all[0], &all[1]], false).unwrap();
    let parents = || {
        let meta = rig.context.meta(&rig.peer, ReadTier::Disk).unwrap();
        let row = meta.get(&Get::new(regions(&rig, "t")[0].full_name())).unwrap();
        row.iter().filter(|cell| cell.qualifier().starts_with(b"merge")).count()
    };
    let scan =
        || rig.call::<MasterRunCatalogScan>(&pb::RunCatalogScanRequest {}).unwrap().scan_result();
    assert_eq!(parents(), 2);
    // The periodic janitor runs only while it is switched on, but a requested scan always runs.
    rig.context.engine.compact(&name("t"), None, halite_types::CompactionKind::Major).unwrap();
    rig.call::<MasterEnableCatalogJanitor>(&pb::EnableCatalogJanitorRequest { enable: false })
        .unwrap();
    crate::master_service::clean_catalog(&rig.services.master);
    assert_eq!(parents(), 2);
    assert_eq!((scan(), parents(), scan()), (1, 0, 0));
}

fn rolling(rig: &TestServer, attributes: &[(&str, &str)]) {
    let mut table = TableDescriptor::new(name("t")).family(FamilyDescriptor::new("f"));
    for (attribute, value) in [
        ("ROW_KEY", "(SALT(4 BY id), ts TIMESTAMP, id STRING)"),
        ("ROW_SCHEMA", "SPLIT ROLLING '1d'"),
    ]
    .iter()
    .chain(attributes)
    {
        table = table.set(*attribute, *value);
    }
    rig.context.engine.create_table(table, Vec::new()).unwrap();
}

fn roll(rig: &TestServer, is_ending: bool) -> usize {
    let (sender, shutdown) = crate::base::shutdown::channel();
    if is_ending {
        sender.request();
    }
    crate::master_service::roll_regions(&rig.services.master, &shutdown);
    rig.context.engine.regions(&name("t")).unwrap().len()
}

#[test]
fn future_regions_are_created_up_to_region_limit() {
    let mut options = Options::default();
    options.max_regions_per_table = 5;
    let rig = TestServer::over_options(options);
    rolling(&rig, &[]);
    assert_eq!(roll(&rig, true), 1);
    assert_eq!(roll(&rig, false), 5);
    let rig = TestServer::new();
    rolling(&rig, &[]);
    assert_eq!(roll(&rig, false), 13);
    // That policy refuses what clients request, as in HBase, not what the table declares.
    let rig = TestServer::new();
    let policy = "org.apache.hadoop.hbase.regionserver.DisabledRegionSplitPolicy";
    rolling(&rig, &[("SPLIT_POLICY", policy)]);
    assert_eq!(roll(&rig, false), 13);
    let rig = TestServer::new();
    rolling(&rig, &[("SPLIT_ENABLED", "false")]);
    assert_eq!(roll(&rig, false), 1);
}
