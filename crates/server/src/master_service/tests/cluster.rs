//! The state of the cluster, its switches, its servers.

use halite_wire::proto as pb;
use halite_wire::service::{
    MasterBalance, MasterClearDeadServers, MasterCreateTable, MasterDecommissionRegionServers,
    MasterEnableCatalogJanitor, MasterExecMasterService, MasterFlushTable, MasterGetClusterStatus,
    MasterGetLogEntries, MasterGetSecurityCapabilities, MasterIsBalancerEnabled,
    MasterIsCatalogJanitorEnabled, MasterIsMasterInMaintenanceMode, MasterIsMasterRunning,
    MasterIsSnapshotCleanupEnabled, MasterIsSplitOrMergeEnabled,
    MasterListDecommissionedRegionServers, MasterListRSGroupInfos, MasterNormalize,
    MasterRecommissionRegionServer, MasterRunCleanerChore, MasterSetBalancerRunning,
    MasterSetNormalizerRunning, MasterSetSplitOrMergeEnabled, MasterStopMaster,
    MasterSwitchSnapshotCleanup,
};
use pb::Option as Part;

use crate::testing::test_server::{TestServer, class, name_message, schema};

fn status(rig: &TestServer, options: &[Part]) -> pb::ClusterStatus {
    let options = options.iter().map(|part| i32::from(*part)).collect();
    rig.call::<MasterGetClusterStatus>(&pb::GetClusterStatusRequest { options })
        .unwrap()
        .cluster_status
}

#[test]
fn cluster_status_is_complete_without_options() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &["m"]);
    rig.create("off", &["f"], &[]);
    rig.disable("off");
    rig.put("t", &["a", "b", "z"]);
    rig.context.engine.flush(&crate::testing::test_server::name("t")).unwrap();
    let status = status(&rig, &[]);
    assert!(status.hbase_version.unwrap().version.starts_with("2.6.4-halite-"));
    assert_eq!(status.cluster_id.unwrap().cluster_id, rig.context.cluster_id);
    assert_eq!((status.balancer_on, status.master_info_port), (Some(true), Some(16_010)));
    assert_eq!((status.master.unwrap().port(), status.servers_name[0].port()), (16_000, 16_020));
    let [server] = &status.live_servers[..] else { panic!("one server") };
    let loads = &server.server_load.region_loads;
    let low = loads.iter().find(|load| load.region_specifier.value.starts_with(b"t,,")).unwrap();
    assert_eq!(
        (low.write_requests_count(), low.storefiles(), low.stores(), low.storefile_size_mb()),
        (2, 1, 1, 1)
    );
    assert_eq!(low.store_complete_sequence_id[0].family_name, "f");
    assert_eq!(loads.len(), 4);
    let counts: Vec<_> = status
        .table_region_states_count
        .iter()
        .map(|count| {
            (
                count.table_name.qualifier.clone(),
                count.region_states_count.open_regions,
                count.region_states_count.closed_regions,
            )
        })
        .collect();
    assert_eq!(
        counts,
        [
            ("off".into(), 0, 1),
            ("t".into(), 2, 0),
            ("meta".into(), 1, 0),
            ("namespace".into(), 1, 0)
        ]
    );
}

#[test]
fn cluster_status_has_only_requested_options() {
    let rig = TestServer::new();
    let part = status(&rig, &[Part::Master]);
    assert_eq!(part, pb::ClusterStatus { master: part.master.clone(), ..Default::default() });
    assert!(part.master.is_some());
}

#[test]
fn cluster_status_option_13_depends_on_client_version() {
    let rig = TestServer::new();
    let server_name =
        vec![rig.context.identity(rig.context.addresses.regionserver).region_server()];
    let listed =
        pb::DecommissionRegionServersRequest { server_name: server_name.clone(), offload: false };
    rig.call::<MasterDecommissionRegionServers>(&listed).unwrap();
    assert_eq!(status(&rig, &[Part::UnknownServers]).unknown_servers, []);
    let rig = rig.with_client(3, 0);
    assert_eq!(status(&rig, &[Part::UnknownServers]).unknown_servers, server_name);
}

#[test]
fn switches_return_previous_state_and_persist() {
    let rig = TestServer::new();
    let balancer = |on| {
        rig.call::<MasterSetBalancerRunning>(&pb::SetBalancerRunningRequest {
            on,
            synchronous: None,
        })
        .unwrap()
        .prev_balance_value()
    };
    let ran = || rig.call::<MasterBalance>(&pb::BalanceRequest::default()).unwrap().balancer_ran;
    assert!(ran() && balancer(false) && !ran() && !balancer(false));
    assert!(
        !rig.call::<MasterIsBalancerEnabled>(&pb::IsBalancerEnabledRequest {}).unwrap().enabled
    );
    let both = pb::SetSplitOrMergeEnabledRequest {
        enabled: false,
        synchronous: None,
        switch_types: vec![1],
    };
    assert_eq!(rig.call::<MasterSetSplitOrMergeEnabled>(&both).unwrap().prev_value, [true]);
    let both = pb::SetSplitOrMergeEnabledRequest {
        enabled: true,
        synchronous: None,
        switch_types: vec![0, 1],
    };
    assert_eq!(rig.call::<MasterSetSplitOrMergeEnabled>(&both).unwrap().prev_value, [true, false]);
    let is_on = |switch_type| {
        rig.call::<MasterIsSplitOrMergeEnabled>(&pb::IsSplitOrMergeEnabledRequest { switch_type })
    };
    assert!(is_on(0).unwrap().enabled && is_on(1).unwrap().enabled);
    assert_eq!(class(is_on(7)), "DoNotRetryIOException");
    let normalize = |names: &[&str]| {
        let table_names = names.iter().map(|table| name_message(table)).collect();
        rig.call::<MasterNormalize>(&pb::NormalizeRequest { table_names, ..Default::default() })
    };
    rig.create("plain", &["f"], &[]);
    assert!(normalize(&[]).unwrap().normalizer_ran);
    let mut table_schema = schema("wants", &["f"]);
    table_schema.attributes =
        vec![pb::BytesBytesPair { first: "NORMALIZATION_ENABLED".into(), second: "true".into() }];
    rig.call::<MasterCreateTable>(&pb::CreateTableRequest { table_schema, ..Default::default() })
        .unwrap();
    assert!(
        normalize(&[])
            .unwrap_err()
            .message()
            .starts_with("table wants: its regions are not normalized by Halite")
    );
    assert!(normalize(&["plain"]).unwrap().normalizer_ran);
    rig.call::<MasterSetNormalizerRunning>(&pb::SetNormalizerRunningRequest { on: false }).unwrap();
    assert!(!rig.call::<MasterNormalize>(&pb::NormalizeRequest::default()).unwrap().normalizer_ran);
    rig.call::<MasterEnableCatalogJanitor>(&pb::EnableCatalogJanitorRequest { enable: false })
        .unwrap();
    assert!(
        !rig.call::<MasterIsCatalogJanitorEnabled>(&pb::IsCatalogJanitorEnabledRequest {})
            .unwrap()
            .value
    );
    assert!(
        rig.call::<MasterRunCleanerChore>(&pb::RunCleanerChoreRequest {})
            .unwrap()
            .cleaner_chore_ran
    );
    let cleanup = pb::SetSnapshotCleanupRequest { enabled: false, synchronous: None };
    assert!(rig.call::<MasterSwitchSnapshotCleanup>(&cleanup).unwrap().prev_snapshot_cleanup);
    assert!(
        !rig.call::<MasterIsSnapshotCleanupEnabled>(&pb::IsSnapshotCleanupEnabledRequest {})
            .unwrap()
            .enabled
    );
}

#[test]
fn decommissioned_server_is_listed_and_keeps_regions() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let own = rig.context.identity(rig.context.addresses.regionserver).region_server();
    let list = || {
        rig.call::<MasterListDecommissionedRegionServers>(
            &pb::ListDecommissionedRegionServersRequest {},
        )
        .unwrap()
        .server_name
    };
    let request =
        |offload| pb::DecommissionRegionServersRequest { server_name: vec![own.clone()], offload };
    assert_eq!(
        class(rig.call::<MasterDecommissionRegionServers>(&request(true))),
        "DoNotRetryIOException"
    );
    rig.call::<MasterDecommissionRegionServers>(&request(false)).unwrap();
    assert_eq!(list(), std::slice::from_ref(&own));
    rig.call::<MasterRecommissionRegionServer>(&pb::RecommissionRegionServerRequest {
        server_name: own.clone(),
        region: Vec::new(),
    })
    .unwrap();
    assert_eq!(list(), []);
    let dead = pb::ClearDeadServersRequest { server_name: vec![own.clone()] };
    assert_eq!(rig.call::<MasterClearDeadServers>(&dead).unwrap().server_name, [own]);
}

#[test]
fn master_reports_no_security_and_no_endpoints() {
    let rig = TestServer::new();
    assert!(
        rig.call::<MasterIsMasterRunning>(&pb::IsMasterRunningRequest {})
            .unwrap()
            .is_master_running
    );
    assert!(
        !rig.call::<MasterIsMasterInMaintenanceMode>(&pb::IsInMaintenanceModeRequest {})
            .unwrap()
            .in_maintenance_mode
    );
    assert_eq!(
        rig.call::<MasterGetSecurityCapabilities>(&pb::SecurityCapabilitiesRequest {})
            .unwrap()
            .capabilities,
        [0]
    );
    let call = pb::CoprocessorServiceCall { service_name: "Foo".to_owned(), ..Default::default() };
    let request = pb::CoprocessorServiceRequest { call, ..Default::default() };
    let refused = rig.call::<MasterExecMasterService>(&request).unwrap_err();
    assert_eq!(
        refused.message(),
        "No registered Master Coprocessor Endpoint found for Foo. Has it been enabled?"
    );
    assert_eq!(
        class(rig.call::<MasterListRSGroupInfos>(&pb::ListRsGroupInfosRequest {})),
        "DoNotRetryIOException"
    );
    let log = pb::LogRequest {
        log_class_name: "a.MasterProtos$BalancerDecisionsRequest".to_owned(),
        log_message: bytes::Bytes::new(),
    };
    assert_eq!(
        rig.call::<MasterGetLogEntries>(&log).unwrap().log_class_name,
        "a.MasterProtos$BalancerDecisionsResponse"
    );
}

#[test]
fn flush_requires_enabled_table_and_existing_families() {
    let rig = TestServer::new();
    rig.create("t", &["f", "g"], &[]);
    rig.put("t", &["a"]);
    let flush = |table: &str, family: &str| pb::FlushTableRequest {
        table_name: name_message(table),
        column_family: vec![family.to_owned().into()],
        ..Default::default()
    };
    for (family, flushes) in [("g", 0), ("f", 1), ("f", 1)] {
        rig.finish(rig.call::<MasterFlushTable>(&flush("t", family)).unwrap().proc_id).unwrap();
        assert_eq!(rig.context.engine.status().regions[0].flushes, flushes, "{family}");
    }
    assert_eq!(
        class(rig.call::<MasterFlushTable>(&flush("t", "x"))),
        "NoSuchColumnFamilyException"
    );
    assert_eq!(class(rig.call::<MasterFlushTable>(&flush("gone", "f"))), "TableNotFoundException");
    rig.disable("t");
    assert_eq!(class(rig.call::<MasterFlushTable>(&flush("t", "f"))), "TableNotEnabledException");
}

#[tokio::test]
async fn stop_request_is_returned_to_waiter() {
    let rig = TestServer::new();
    rig.call::<MasterStopMaster>(&pb::StopMasterRequest {}).unwrap();
    assert_eq!(rig.context.stop.requested().await, "tester asked the master to stop");
}
