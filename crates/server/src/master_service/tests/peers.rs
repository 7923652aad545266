//! Replication peers added, changed, listed and removed; and what outlives the process.

use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::{
    MasterAddReplicationPeer, MasterDisableReplicationPeer, MasterEnableReplicationPeer,
    MasterGetReplicationPeerConfig, MasterGrant, MasterHasUserPermissions, MasterIsBalancerEnabled,
    MasterIsCatalogJanitorEnabled, MasterIsReplicationPeerEnabled,
    MasterIsReplicationPeerModificationEnabled, MasterListReplicationPeers,
    MasterRemoveReplicationPeer, MasterReplicationPeerModificationSwitch, MasterSetBalancerRunning,
    MasterSetSplitOrMergeEnabled, MasterUpdateReplicationPeerConfig,
};
use pb::replication_state::State;

use crate::testing::test_server::{TestServer, class, name_message};

const KEY: &str = "other:2181:/hbase";

fn config(key: &str) -> pb::ReplicationPeer {
    pb::ReplicationPeer {
        clusterkey: Some(key.to_owned()),
        replicate_all: Some(true),
        ..Default::default()
    }
}

fn add(rig: &TestServer, id: &str, peer_config: pb::ReplicationPeer) -> Result<(), Exception> {
    let peer_state = pb::ReplicationState { state: State::Enabled.into() };
    let request = pb::AddReplicationPeerRequest { peer_id: id.to_owned(), peer_config, peer_state };
    rig.call::<MasterAddReplicationPeer>(&request).and_then(|response| rig.finish(response.proc_id))
}

fn update(rig: &TestServer, id: &str, peer_config: pb::ReplicationPeer) -> Result<(), Exception> {
    let request = pb::UpdateReplicationPeerConfigRequest { peer_id: id.to_owned(), peer_config };
    rig.call::<MasterUpdateReplicationPeerConfig>(&request)
        .and_then(|response| rig.finish(response.proc_id))
}

fn remove(rig: &TestServer, id: &str) -> Result<(), Exception> {
    let response = rig
        .call::<MasterRemoveReplicationPeer>(&pb::RemoveReplicationPeerRequest {
            peer_id: id.to_owned(),
        })
        .unwrap();
    rig.finish(response.proc_id)
}

fn ids(rig: &TestServer, regex: Option<&str>) -> Vec<String> {
    let request = pb::ListReplicationPeersRequest { regex: regex.map(str::to_owned) };
    rig.call::<MasterListReplicationPeers>(&request)
        .unwrap()
        .peer_desc
        .into_iter()
        .map(|peer| peer.id)
        .collect()
}

#[test]
fn peers_are_added_listed_and_removed() {
    let rig = TestServer::new();
    add(&rig, "1", config(KEY)).unwrap();
    assert!(
        add(&rig, "1", config(KEY))
            .unwrap_err()
            .message()
            .ends_with("Replication peer 1 already exists")
    );
    add(&rig, "two", config(KEY)).unwrap();
    assert_eq!(
        (ids(&rig, None), ids(&rig, Some("t.*"))),
        (vec!["1".to_owned(), "two".to_owned()], vec!["two".to_owned()])
    );
    assert_eq!(class(remove(&rig, "3")), "ReplicationPeerNotFoundException");
    remove(&rig, "1").unwrap();
    assert_eq!(ids(&rig, None), ["two"]);
}

#[test]
fn peer_is_enabled_or_disabled_once() {
    let rig = TestServer::new();
    add(&rig, "1", config(KEY)).unwrap();
    let enable = |id: &str| {
        let response = rig.call::<MasterEnableReplicationPeer>(&pb::EnableReplicationPeerRequest {
            peer_id: id.to_owned(),
        });
        rig.finish(response.unwrap().proc_id)
    };
    let disable = |id: &str| {
        let response =
            rig.call::<MasterDisableReplicationPeer>(&pb::DisableReplicationPeerRequest {
                peer_id: id.to_owned(),
            });
        rig.finish(response.unwrap().proc_id)
    };
    let is_enabled = |id: &str| {
        rig.call::<MasterIsReplicationPeerEnabled>(&pb::GetReplicationPeerStateRequest {
            peer_id: id.to_owned(),
        })
    };
    assert!(enable("1").unwrap_err().message().ends_with("has already been enabled"));
    disable("1").unwrap();
    assert!(!is_enabled("1").unwrap().is_enabled);
    assert!(disable("1").unwrap_err().message().ends_with("has already been disabled"));
    enable("1").unwrap();
    assert!(is_enabled("1").unwrap().is_enabled);
    assert_eq!(class(is_enabled("2")), "DoNotRetryIOException");
    assert_eq!(class(disable("2")), "ReplicationPeerNotFoundException");
}

#[test]
fn peer_config_update_replaces_all_but_cluster_key() {
    let rig = TestServer::new();
    add(&rig, "1", config(KEY)).unwrap();
    let listed = pb::ReplicationPeer {
        replicate_all: Some(false),
        table_cfs: vec![pb::TableCf { table_name: Some(name_message("t")), families: Vec::new() }],
        ..config(KEY)
    };
    update(&rig, "1", listed.clone()).unwrap();
    let told = rig
        .call::<MasterGetReplicationPeerConfig>(&pb::GetReplicationPeerConfigRequest {
            peer_id: "1".to_owned(),
        })
        .unwrap();
    assert_eq!(told.peer_config, listed);
    assert!(
        update(&rig, "1", config("third:2181:/hbase"))
            .unwrap_err()
            .message()
            .starts_with("Changing the cluster key on an existing peer")
    );
    assert_eq!(class(update(&rig, "2", config(KEY))), "ReplicationPeerNotFoundException");
    let gone = rig.call::<MasterGetReplicationPeerConfig>(&pb::GetReplicationPeerConfigRequest {
        peer_id: "2".to_owned(),
    });
    assert_eq!(class(gone), "ReplicationPeerNotFoundException");
}

#[test]
fn invalid_peer_is_rejected_with_hbase_message() {
    let rig = TestServer::new();
    let endpoint = |class: &str| pb::ReplicationPeer {
        replication_endpoint_impl: Some(class.to_owned()),
        ..config(KEY)
    };
    let table_cfs =
        vec![pb::TableCf { table_name: Some(name_message("ns:t")), families: Vec::new() }];
    let conflict = pb::ReplicationPeer {
        replicate_all: Some(false),
        namespaces: vec!["ns".into()],
        table_cfs: table_cfs.clone(),
        ..config(KEY)
    };
    let name = "hbase.replication.source.custom.walentryfilters".to_owned();
    let filters = pb::NameStringPair { name, value: "org.example.Filter".to_owned() };
    let filtered = pb::ReplicationPeer { configuration: vec![filters], ..config(KEY) };
    let cases = [
        ("a-b", config(KEY), "Found invalid peer name: a-b"),
        ("1", config("nonsense"), "Invalid cluster key: nonsense"),
        (
            "1",
            endpoint("whatever"),
            "Can not instantiate configured replication endpoint class=whatever",
        ),
        (
            "1",
            pb::ReplicationPeer { table_cfs: table_cfs.clone(), ..config(KEY) },
            "Need clean namespaces or table-cfs config firstly",
        ),
        ("1", filtered, "Configured WALEntryFilter org.example.Filter could not be created"),
        ("1", conflict, "Table-cfs ns:t is conflict with namespaces ns in peer config"),
        (
            "1",
            pb::ReplicationPeer {
                replicate_all: Some(false),
                exclude_table_cfs: table_cfs,
                ..config(KEY)
            },
            "Need clean exclude-namespaces or exclude-table-cfs config firstly",
        ),
    ];
    for (id, config, expected) in cases {
        let refused = add(&rig, id, config).unwrap_err();
        assert!(refused.message().starts_with(expected), "{refused}");
    }
    assert_eq!(ids(&rig, None), Vec::<String>::new());
}

#[test]
fn peer_count_and_bytes_are_limited() {
    let rig = TestServer::new();
    let described = |bytes: usize| pb::ReplicationPeer {
        configuration: vec![pb::NameStringPair {
            name: "note".to_owned(),
            value: "x".repeat(bytes),
        }],
        ..config(KEY)
    };
    for id in ["1", "2"] {
        add(&rig, id, described(200_000)).unwrap();
    }
    let refused = add(&rig, "3", described(200_000)).unwrap_err();
    assert!(
        refused.is_do_not_retry() && refused.message().contains("524288 are kept at most"),
        "{refused}"
    );
    assert!(
        update(&rig, "2", described(400_000))
            .unwrap_err()
            .message()
            .contains("524288 are kept at most")
    );
    // As if they were created earlier.
    let many =
        (0..1_000).map(|at| (format!("peer/many{at}"), bytes::Bytes::new())).collect::<Vec<_>>();
    let add_many = |settings: &mut std::collections::BTreeMap<_, _>| {
        settings.extend(many);
        Ok(())
    };
    rig.context.engine.update_properties(add_many).unwrap();
    let refused = add(&rig, "3", config(KEY)).unwrap_err();
    assert!(
        refused
            .message()
            .starts_with("there would be 1003 replication peers; 1000 are kept at most"),
        "{refused}"
    );
    update(&rig, "2", config(KEY)).unwrap();
    for id in ["1", "2", "many0"] {
        remove(&rig, id).unwrap();
    }
    add(&rig, "3", config(KEY)).unwrap();
}

#[test]
fn peers_do_not_change_while_their_switch_is_off() {
    let rig = TestServer::new();
    let switch = |on| {
        let request = pb::ReplicationPeerModificationSwitchRequest { on };
        rig.call::<MasterReplicationPeerModificationSwitch>(&request).unwrap().previous_value
    };
    assert!(switch(false));
    assert!(
        !rig.call::<MasterIsReplicationPeerModificationEnabled>(
            &pb::IsReplicationPeerModificationEnabledRequest {}
        )
        .unwrap()
        .enabled
    );
    assert_eq!(
        add(&rig, "1", config(KEY)).unwrap_err().message(),
        "Replication peer modification disabled"
    );
    assert!(!switch(true));
    add(&rig, "1", config(KEY)).unwrap();
}

#[test]
fn peers_and_switches_survive_restart() {
    let rig = TestServer::new();
    add(&rig, "1", config(KEY)).unwrap();
    rig.call::<MasterSetBalancerRunning>(&pb::SetBalancerRunningRequest {
        on: false,
        synchronous: None,
    })
    .unwrap();
    let split = pb::SetSplitOrMergeEnabledRequest {
        enabled: false,
        synchronous: None,
        switch_types: vec![0],
    };
    rig.call::<MasterSetSplitOrMergeEnabled>(&split).unwrap();
    let rig = rig.restarted();
    assert_eq!(ids(&rig, None), ["1"]);
    assert!(
        !rig.call::<MasterIsBalancerEnabled>(&pb::IsBalancerEnabledRequest {}).unwrap().enabled
    );
    assert!(!rig.context.engine.set_splits_enabled(true), "splits were switched off");
    assert!(
        rig.call::<MasterIsCatalogJanitorEnabled>(&pb::IsCatalogJanitorEnabledRequest {})
            .unwrap()
            .value
    );
}

#[test]
fn permission_calls_fail_without_access_controller() {
    let rig = TestServer::new();
    let refused = rig.call::<MasterGrant>(&pb::GrantRequest::default()).unwrap_err();
    assert!(refused.message().ends_with("AccessController is not loaded"));
    assert_eq!(
        class(rig.call::<MasterHasUserPermissions>(&pb::HasUserPermissionsRequest::default())),
        "DoNotRetryIOException"
    );
}
