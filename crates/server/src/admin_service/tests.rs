//! Tests of the region server's handlers, called as by a client but without sockets.

use halite_types::RegionInfo;
use halite_wire::convert::region::{meta, specifier};
use halite_wire::proto as pb;
use halite_wire::service::{
    AdminClearCompactionQueues, AdminClearRegionBlockCache, AdminClearSlowLogsResponses,
    AdminCompactRegion, AdminCompactionSwitch, AdminFlushRegion, AdminGetLogEntries,
    AdminGetOnlineRegion, AdminGetRegionInfo, AdminGetRegionLoad, AdminGetServerInfo,
    AdminGetStoreFile, AdminOpenRegion, AdminRollWALWriter, AdminStopServer,
    AdminUpdateConfiguration,
};
use pb::get_region_info_response::CompactionState;

use crate::testing::test_server::{TestServer, class, name, name_message};

fn only_region(rig: &TestServer, table: &str) -> RegionInfo {
    rig.context.engine.regions(&name(table)).unwrap()[0].clone()
}

fn info(
    rig: &TestServer,
    region: pb::RegionSpecifier,
) -> Result<pb::GetRegionInfoResponse, halite_wire::exception::Exception> {
    rig.call::<AdminGetRegionInfo>(&pb::GetRegionInfoRequest {
        region,
        compaction_state: Some(true),
        best_split_row: Some(true),
    })
}

fn large_values(table: &str) -> pb::RegionSpecifier {
    pb::RegionSpecifier { r#type: 1, value: format!("{table},.mob,0.{}.", "a".repeat(32)).into() }
}

#[test]
fn region_info_is_returned_or_not_serving() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let region = only_region(&rig, "t");
    let response = info(&rig, specifier(&region)).unwrap();
    assert_eq!(
        (response.region_info.region_id, response.compaction_state()),
        (region.region_id, CompactionState::None)
    );
    assert_eq!(
        (response.splittable, response.mergeable, response.best_split_row),
        (Some(true), Some(true), None)
    );
    assert_eq!(info(&rig, specifier(&meta())).unwrap().splittable, Some(false));
    rig.disable("t");
    let gone = info(&rig, specifier(&region)).unwrap_err();
    assert!(
        gone.message().ends_with(" is not online on 127.0.0.1,16020,1700000000000"),
        "{}",
        gone.message()
    );
    assert_eq!(class::<()>(Err(gone)), "NotServingRegionException");
}

#[test]
fn mob_region_represents_whole_table() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["m"]);
    rig.put("t", &["a", "z"]);
    rig.context.engine.flush(&name("t")).unwrap();
    let response = info(&rig, large_values("t")).unwrap();
    assert_eq!(
        (response.region_info.start_key(), response.compaction_state()),
        (&b".mob"[..], CompactionState::None)
    );
    rig.call::<AdminCompactRegion>(&pb::CompactRegionRequest {
        region: large_values("t"),
        major: Some(true),
        family: None,
    })
    .unwrap();
    assert_eq!(info(&rig, large_values("t")).unwrap().compaction_state(), CompactionState::Major);
    rig.wait_until(|status| {
        status
            .regions
            .iter()
            .filter(|load| load.region.table == name("t"))
            .all(|load| load.compactions == 1)
    });
    assert_eq!(class(info(&rig, large_values("gone"))), "NotServingRegionException");
}

#[test]
fn online_regions_are_listed_with_load() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["m"]);
    rig.create("off", &["f"], &[]);
    rig.disable("off");
    rig.put("t", &["a"]);
    let online =
        rig.call::<AdminGetOnlineRegion>(&pb::GetOnlineRegionRequest {}).unwrap().region_info;
    let tables: Vec<_> = online.iter().map(|region| &region.table_name.qualifier[..]).collect();
    assert_eq!(tables, [&b"meta"[..], b"t", b"t", b"namespace"]);
    let loads = |table: Option<&str>| {
        let request = pb::GetRegionLoadRequest { table_name: table.map(name_message) };
        rig.call::<AdminGetRegionLoad>(&request).unwrap().region_loads
    };
    assert_eq!(
        (
            loads(None).len(),
            loads(Some("t")).len(),
            loads(Some("gone")).len(),
            loads(Some("hbase:meta")).len()
        ),
        (4, 2, 0, 1)
    );
    assert_eq!(loads(Some("t"))[0].write_requests_count(), 1);
}

#[test]
fn region_is_flushed_and_store_files_are_listed() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a"]);
    let region = specifier(&only_region(&rig, "t"));
    let flush = |family: Option<&str>| pb::FlushRegionRequest {
        region: region.clone(),
        family: family.map(|family| family.to_owned().into()),
        ..Default::default()
    };
    assert_eq!(
        class(rig.call::<AdminFlushRegion>(&flush(Some("x")))),
        "NoSuchColumnFamilyException"
    );
    let response = rig.call::<AdminFlushRegion>(&flush(None)).unwrap();
    assert!(response.flushed() && response.last_flush_time > rig.context.start_code);
    assert!(!rig.call::<AdminFlushRegion>(&flush(None)).unwrap().flushed());
    rig.create("two", &["f", "g"], &[]);
    rig.put("two", &["a"]);
    let other = specifier(&only_region(&rig, "two"));
    let flushed = ["g", "f", "f"].map(|family| {
        let request = pb::FlushRegionRequest { region: other.clone(), ..flush(Some(family)) };
        rig.call::<AdminFlushRegion>(&request).unwrap().flushed()
    });
    assert_eq!(flushed, [false, true, false], "the row is in f only");
    let files = |family: &str| {
        let family = if family.is_empty() { Vec::new() } else { vec![family.to_owned().into()] };
        rig.call::<AdminGetStoreFile>(&pb::GetStoreFileRequest { region: region.clone(), family })
    };
    let all = files("").unwrap().store_file;
    assert!(
        all.len() == 1
            && all[0].contains("/data/default/t/")
            && std::path::Path::new(&all[0]).exists(),
        "{all:?}"
    );
    assert_eq!(files("f").unwrap().store_file, all);
    assert_eq!(class(files("x")), "NoSuchColumnFamilyException");
}

#[test]
fn compaction_runs_in_background_while_switch_is_on() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let region = specifier(&only_region(&rig, "t"));
    let switch = |enabled| {
        rig.call::<AdminCompactionSwitch>(&pb::CompactionSwitchRequest { enabled })
            .unwrap()
            .prev_state
    };
    let compact = || {
        rig.call::<AdminCompactRegion>(&pb::CompactRegionRequest {
            region: region.clone(),
            major: Some(true),
            family: None,
        })
        .unwrap()
    };
    for row in ["a", "b"] {
        rig.put("t", &[row]);
        rig.context.engine.flush(&name("t")).unwrap();
    }
    assert!(switch(false) && !switch(false));
    compact();
    assert_eq!(info(&rig, region.clone()).unwrap().compaction_state(), CompactionState::None);
    assert!(!switch(true));
    compact();
    assert_eq!(info(&rig, region.clone()).unwrap().compaction_state(), CompactionState::Major);
    rig.wait_until(|status| status.regions[0].store_files == 1);
    let odd = pb::ClearCompactionQueuesRequest { queue_name: vec!["odd".to_owned()] };
    assert_eq!(class(rig.call::<AdminClearCompactionQueues>(&odd)), "DoNotRetryIOException");
    let both = pb::ClearCompactionQueuesRequest {
        queue_name: vec!["long".to_owned(), "short".to_owned()],
    };
    rig.call::<AdminClearCompactionQueues>(&both).unwrap();
}

#[test]
fn block_cache_clear_reports_unknown_regions() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a"]);
    rig.context.engine.flush(&name("t")).unwrap();
    let table = rig.context.engine.table(&name("t")).unwrap();
    table.get(&halite_types::Get::new("a"), halite_types::ReadTier::Disk).unwrap();
    let gone = pb::RegionSpecifier { r#type: 2, value: "0".repeat(32).into() };
    let request = pb::ClearRegionBlockCacheRequest {
        region: vec![specifier(&only_region(&rig, "t")), gone.clone()],
    };
    let stats = rig.call::<AdminClearRegionBlockCache>(&request).unwrap().stats;
    assert!(
        stats.evicted_blocks() > 0
            && stats.bytes_evicted() > 0
            && stats.max_cache_size() > stats.bytes_evicted(),
        "{stats:?}"
    );
    assert_eq!((stats.exception.len(), &stats.exception[0].region), (1, &gone));
}

#[test]
fn number_of_reported_unknown_regions_is_limited() {
    let rig = TestServer::new();
    let gone =
        |number: u32| pb::RegionSpecifier { r#type: 2, value: format!("{number:032x}").into() };
    let clear = |region: Vec<pb::RegionSpecifier>| {
        rig.call::<AdminClearRegionBlockCache>(&pb::ClearRegionBlockCacheRequest { region })
    };
    assert_eq!(clear(vec![gone(1); 2_000]).unwrap().stats.exception.len(), 1);
    assert_eq!(clear((0..1_000).map(gone).collect()).unwrap().stats.exception.len(), 1_000);
    assert_eq!(class(clear((0..1_001).map(gone).collect())), "DoNotRetryIOException");
}

#[test]
fn server_reports_its_name_and_accepts_commands() {
    let rig = TestServer::new();
    let info = rig.call::<AdminGetServerInfo>(&pb::GetServerInfoRequest {}).unwrap().server_info;
    assert_eq!((info.server_name.port(), info.webui_port()), (16_020, 16_010));
    rig.call::<AdminRollWALWriter>(&pb::RollWalWriterRequest {}).unwrap();
    assert_eq!(
        class(rig.call::<AdminUpdateConfiguration>(&pb::UpdateConfigurationRequest {})),
        "DoNotRetryIOException"
    );
    assert!(
        rig.call::<AdminClearSlowLogsResponses>(&pb::ClearSlowLogResponseRequest {})
            .unwrap()
            .is_cleaned
    );
    let log = |class: &str| pb::LogRequest {
        log_class_name: class.to_owned(),
        log_message: bytes::Bytes::new(),
    };
    let response =
        rig.call::<AdminGetLogEntries>(&log("a.AdminProtos$SlowLogResponseRequest")).unwrap();
    assert_eq!(response.log_class_name, "a.AdminProtos$SlowLogResponses");
    assert_eq!(class(rig.call::<AdminGetLogEntries>(&log("odd"))), "DoNotRetryIOException");
    assert_eq!(
        class(rig.call::<AdminOpenRegion>(&pb::OpenRegionRequest::default())),
        "DoNotRetryIOException"
    );
}

#[tokio::test]
async fn stop_request_returns_its_reason() {
    let rig = TestServer::new();
    rig.call::<AdminStopServer>(&pb::StopServerRequest { reason: "upgrade".to_owned() }).unwrap();
    assert_eq!(rig.context.stop.requested().await, "tester asked the server to stop: upgrade");
}
