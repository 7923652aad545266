//! Quotas set, merged and removed, as stored in `hbase:quota`.

use halite_types::{Attributes, FamilyDescriptor, ReadTier, Scan, TableDescriptor};
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::{
    MasterDeleteNamespace, MasterDeleteTable, MasterEnableTable, MasterGetQuotaStates,
    MasterGetSpaceQuotaRegionSizes, MasterIsRpcThrottleEnabled, MasterSetQuota,
    MasterSwitchExceedThrottleQuota, MasterSwitchRpcThrottle,
};
use pb::{ThrottleType, TimeUnit};
use prost::Message;

use crate::testing::test_server::{TestServer, class, name, name_message};

fn throttle(kind: ThrottleType, limit: u64, unit: TimeUnit) -> pb::ThrottleRequest {
    let timed_quota =
        pb::TimedQuota { time_unit: unit.into(), soft_limit: Some(limit), ..Default::default() };
    pb::ThrottleRequest { r#type: Some(kind.into()), timed_quota: Some(timed_quota) }
}

fn user(throttle: Option<pb::ThrottleRequest>) -> pb::SetQuotaRequest {
    pb::SetQuotaRequest { user_name: Some("u1".to_owned()), throttle, ..Default::default() }
}

fn set(rig: &TestServer, request: &pb::SetQuotaRequest) -> Result<(), Exception> {
    rig.call::<MasterSetQuota>(request).map(|_| ())
}

/// Returns row, qualifier and value of every quota.
fn stored(rig: &TestServer) -> Vec<(String, String, pb::Quotas)> {
    let table = rig.context.engine.table(&name("hbase:quota")).unwrap();
    let rows = table.scan(Scan::all(), ReadTier::Disk).flat_map(Result::unwrap).collect::<Vec<_>>();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let cells = rows.iter().flat_map(|row| row.cells().iter());
    cells
        .map(|cell| {
            (
                text(cell.row()),
                text(cell.qualifier()),
                pb::Quotas::decode(cell.value().strip_prefix(b"PBUF").unwrap()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn server_starts_with_unreadable_quota_table() {
    let rig = TestServer::with_quotas();
    let table = name("hbase:quota");
    rig.context.engine.disable_table(&table).unwrap();
    assert!(crate::master_service::put_quotas_in_force(&rig.services.master).is_err());
    let rig = rig.restarted();
    rig.context.engine.enable_table(&table).unwrap();
    rig.context
        .engine
        .alter_table(TableDescriptor::new(table.clone()).family(FamilyDescriptor::new("u")))
        .unwrap();
    let rig = rig.restarted();
    rig.context.engine.disable_table(&table).unwrap();
    rig.context.engine.drop_table(&table).unwrap();
    set(&rig.restarted(), &user(Some(throttle(ThrottleType::ReadNumber, 6, TimeUnit::Minutes))))
        .unwrap();
}

#[test]
fn user_quotas_are_merged_and_removed_individually() {
    let rig = TestServer::with_quotas();
    set(&rig, &user(Some(throttle(ThrottleType::ReadNumber, 6, TimeUnit::Minutes)))).unwrap();
    set(&rig, &user(Some(throttle(ThrottleType::WriteNumber, 12, TimeUnit::Minutes)))).unwrap();
    set(&rig, &pb::SetQuotaRequest { bypass_globals: Some(true), ..user(None) }).unwrap();
    let [(row, qualifier, quotas)] = &stored(&rig)[..] else { panic!("one quota") };
    let limits = quotas.throttle.unwrap();
    assert_eq!((&row[..], &qualifier[..], quotas.bypass_globals()), ("u.u1", "s", true));
    assert_eq!(
        (limits.read_num.unwrap().soft_limit(), limits.write_num.unwrap().soft_limit()),
        (6, 12)
    );
    let one =
        pb::ThrottleRequest { r#type: Some(ThrottleType::ReadNumber.into()), timed_quota: None };
    set(&rig, &user(Some(one))).unwrap();
    assert_eq!(stored(&rig)[0].2.throttle.as_ref().unwrap().read_num, None);
    set(&rig, &user(Some(pb::ThrottleRequest::default()))).unwrap();
    assert_eq!(stored(&rig)[0].2, pb::Quotas { bypass_globals: Some(true), ..Default::default() });
    set(&rig, &pb::SetQuotaRequest { bypass_globals: Some(false), ..user(None) }).unwrap();
    assert_eq!(stored(&rig), []);
}

#[test]
fn each_quota_scope_has_its_own_row() {
    let rig = TestServer::with_quotas();
    let limit = || Some(throttle(ThrottleType::RequestNumber, 1, TimeUnit::Seconds));
    let table_name = || Some(name_message("ns:t"));
    let namespace = || Some("ns".to_owned());
    set(&rig, &pb::SetQuotaRequest { table_name: table_name(), ..user(limit()) }).unwrap();
    set(&rig, &pb::SetQuotaRequest { namespace: namespace(), ..user(limit()) }).unwrap();
    set(
        &rig,
        &pb::SetQuotaRequest { table_name: table_name(), throttle: limit(), ..Default::default() },
    )
    .unwrap();
    set(
        &rig,
        &pb::SetQuotaRequest { namespace: namespace(), throttle: limit(), ..Default::default() },
    )
    .unwrap();
    set(
        &rig,
        &pb::SetQuotaRequest {
            region_server: Some("all".to_owned()),
            throttle: limit(),
            ..Default::default()
        },
    )
    .unwrap();
    let places: Vec<_> =
        stored(&rig).into_iter().map(|(row, qualifier, _)| (row, qualifier)).collect();
    let expected =
        [("n.ns", "s"), ("r.all", "s"), ("t.ns:t", "s"), ("u.u1", "s.ns:"), ("u.u1", "s.ns:t")];
    assert_eq!(places, expected.map(|(row, qualifier)| (row.to_owned(), qualifier.to_owned())));
    set(
        &rig,
        &pb::SetQuotaRequest {
            namespace: namespace(),
            remove_all: Some(true),
            ..Default::default()
        },
    )
    .unwrap();
    assert_eq!(stored(&rig).len(), 4);
}

#[test]
fn removing_user_quota_removes_its_table_quotas() {
    let rig = TestServer::with_quotas();
    let limit = || Some(throttle(ThrottleType::RequestNumber, 1, TimeUnit::Seconds));
    let on_table = |name: &str, throttle| pb::SetQuotaRequest {
        table_name: Some(name_message(name)),
        ..user(throttle)
    };
    set(&rig, &on_table("t", limit())).unwrap();
    set(&rig, &on_table("u", limit())).unwrap();
    set(&rig, &on_table("u", Some(pb::ThrottleRequest::default()))).unwrap();
    assert_eq!(stored(&rig).len(), 1);
    set(&rig, &user(Some(pb::ThrottleRequest::default()))).unwrap();
    assert_eq!(stored(&rig), []);
}

#[test]
fn space_quota_is_set_and_removed() {
    let rig = TestServer::with_quotas();
    let request = |quota| pb::SetQuotaRequest {
        table_name: Some(name_message("t")),
        space_limit: Some(pb::SpaceLimitRequest { quota: Some(quota) }),
        ..Default::default()
    };
    set(
        &rig,
        &request(pb::SpaceQuota {
            soft_limit: Some(1 << 30),
            violation_policy: Some(3),
            remove: None,
        }),
    )
    .unwrap();
    assert_eq!(stored(&rig)[0].2.space.as_ref().unwrap().soft_limit(), 1 << 30);
    set(&rig, &request(pb::SpaceQuota { remove: Some(true), ..Default::default() })).unwrap();
    assert_eq!(stored(&rig), []);
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a"]);
    rig.context.engine.flush(&name("t")).unwrap();
    let sizes = rig
        .call::<MasterGetSpaceQuotaRegionSizes>(&pb::GetSpaceQuotaRegionSizesRequest {})
        .unwrap()
        .sizes;
    let of_t = sizes.iter().find(|size| size.table_name == Some(name_message("t"))).unwrap();
    assert!(of_t.size() > 0);
}

#[test]
fn stored_size_is_compared_with_space_quota() {
    let rig = TestServer::with_quotas();
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a"]);
    rig.context.engine.flush(&name("t")).unwrap();
    let limit = |bytes| {
        let quota =
            pb::SpaceQuota { soft_limit: Some(bytes), violation_policy: Some(2), remove: None };
        Some(pb::SpaceLimitRequest { quota: Some(quota) })
    };
    set(
        &rig,
        &pb::SetQuotaRequest {
            table_name: Some(name_message("t")),
            space_limit: limit(1),
            ..Default::default()
        },
    )
    .unwrap();
    set(
        &rig,
        &pb::SetQuotaRequest {
            namespace: Some("default".to_owned()),
            space_limit: limit(1 << 40),
            ..Default::default()
        },
    )
    .unwrap();
    let states = rig.call::<MasterGetQuotaStates>(&pb::GetQuotaStatesRequest {}).unwrap();
    let table = states.table_snapshots[0].snapshot.unwrap();
    let namespace = states.ns_snapshots[0].snapshot.unwrap();
    assert_eq!((states.table_snapshots.len(), states.ns_snapshots.len()), (1, 1));
    assert!(table.quota_usage() > 0 && table.quota_usage == namespace.quota_usage);
    assert_eq!((table.quota_limit(), namespace.quota_limit()), (1, 1 << 40));
    let status = |snapshot: pb::SpaceQuotaSnapshot| {
        (
            snapshot.quota_status.unwrap().in_violation(),
            snapshot.quota_status.unwrap().violation_policy,
        )
    };
    assert_eq!((status(table), status(namespace)), ((true, Some(2)), (false, None)));
    // The shell reads it from the table.
    let written = || {
        let quotas = rig.context.engine.table(&"hbase:quota".parse().unwrap()).unwrap();
        let row =
            quotas.get(&halite_types::Get::new("t.t").column("u", "p"), ReadTier::Disk).unwrap();
        row.value("u", "p").map(|value| pb::SpaceQuotaSnapshot::decode(value).unwrap())
    };
    assert_eq!(written(), None);
    crate::master_service::measure_tables(&rig.services.master).unwrap();
    assert_eq!(written(), Some(table));
    set(
        &rig,
        &pb::SetQuotaRequest {
            table_name: Some(name_message("t")),
            space_limit: limit(1 << 20),
            ..Default::default()
        },
    )
    .unwrap();
    crate::master_service::measure_tables(&rig.services.master).unwrap();
    assert_eq!(
        written().map(|snapshot| (snapshot.quota_limit(), status(snapshot))),
        Some((1 << 20, (false, None)))
    );
    let none = pb::SpaceLimitRequest {
        quota: Some(pb::SpaceQuota { remove: Some(true), ..Default::default() }),
    };
    set(
        &rig,
        &pb::SetQuotaRequest {
            table_name: Some(name_message("t")),
            space_limit: Some(none),
            ..Default::default()
        },
    )
    .unwrap();
    crate::master_service::measure_tables(&rig.services.master).unwrap();
    assert_eq!(written(), None);
}

fn limit_space(rig: &TestServer, bytes: u64) {
    let quota = pb::SpaceQuota {
        soft_limit: Some(bytes),
        violation_policy: Some(pb::SpaceViolationPolicy::Disable.into()),
        remove: None,
    };
    let space_limit = Some(pb::SpaceLimitRequest { quota: Some(quota) });
    set(
        rig,
        &pb::SetQuotaRequest {
            namespace: Some("default".to_owned()),
            space_limit,
            ..Default::default()
        },
    )
    .unwrap();
}

#[test]
fn tables_disabled_by_space_quota_are_known_after_restart() {
    let rig = TestServer::with_quotas();
    for table in ["grown", "also", "left"] {
        rig.create(table, &["f"], &[]);
        rig.put(table, &["a"]);
        rig.context.engine.flush(&name(table)).unwrap();
    }
    rig.context.engine.disable_table(&name("left")).unwrap();
    limit_space(&rig, 1);
    let rig = rig.restarted();
    let are_enabled = |rig: &TestServer| {
        ["grown", "also", "left"].map(|table| rig.context.engine.is_enabled(&name(table)).unwrap())
    };
    crate::master_service::measure_tables(&rig.services.master).unwrap();
    assert_eq!(are_enabled(&rig), [false; 3]);
    let enable = pb::EnableTableRequest { table_name: name_message("grown"), ..Default::default() };
    assert_eq!(
        class(rig.finish(rig.call::<MasterEnableTable>(&enable).unwrap().proc_id)),
        "AccessDeniedException"
    );
    // Enabling it manually removes the quota's effect.
    rig.context.engine.enable_table(&name("also")).unwrap();
    rig.context.engine.disable_table(&name("also")).unwrap();
    limit_space(&rig, 1 << 30);
    assert_eq!(are_enabled(&rig), [true, false, false]);
}

#[test]
fn table_is_enabled_at_start_without_space_quota() {
    let rig = TestServer::with_quotas();
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a"]);
    rig.context.engine.flush(&name("t")).unwrap();
    limit_space(&rig, 1);
    let quotas = rig.context.engine.table(&name("hbase:quota")).unwrap();
    quotas.batch(vec![halite_types::Delete::new("n.default").into()]).unwrap();
    drop(quotas);
    assert!(rig.restarted().context.engine.is_enabled(&name("t")).unwrap());
}

#[test]
fn quotas_are_deleted_with_table_and_namespace() {
    let rig = TestServer::with_quotas();
    let limit = || Some(throttle(ThrottleType::RequestNumber, 1, TimeUnit::Seconds));
    rig.create("t", &["f"], &[]);
    rig.context.engine.create_namespace("ns", Attributes::default()).unwrap();
    set(
        &rig,
        &pb::SetQuotaRequest {
            table_name: Some(name_message("t")),
            throttle: limit(),
            ..Default::default()
        },
    )
    .unwrap();
    set(
        &rig,
        &pb::SetQuotaRequest {
            namespace: Some("ns".to_owned()),
            throttle: limit(),
            ..Default::default()
        },
    )
    .unwrap();
    set(&rig, &user(limit())).unwrap();
    rig.context.engine.disable_table(&name("t")).unwrap();
    let dropped = rig
        .call::<MasterDeleteTable>(&pb::DeleteTableRequest {
            table_name: name_message("t"),
            ..Default::default()
        })
        .unwrap();
    rig.finish(dropped.proc_id).unwrap();
    let dropped = rig
        .call::<MasterDeleteNamespace>(&pb::DeleteNamespaceRequest {
            namespace_name: "ns".to_owned(),
            ..Default::default()
        })
        .unwrap();
    rig.finish(dropped.proc_id).unwrap();
    assert_eq!(stored(&rig).into_iter().map(|(row, _, _)| row).collect::<Vec<_>>(), ["u.u1"]);
}

#[test]
fn invalid_quota_or_disabled_quotas_are_rejected() {
    let rig = TestServer::with_quotas();
    let limit = |number| Some(throttle(ThrottleType::ReadNumber, number, TimeUnit::Hours));
    assert_eq!(
        class(set(&rig, &pb::SetQuotaRequest { throttle: limit(1), ..Default::default() })),
        "DoNotRetryIOException"
    );
    assert_eq!(class(set(&rig, &user(limit(0)))), "DoNotRetryIOException");
    assert_eq!(class(set(&rig, &user(None))), "DoNotRetryIOException");
    let off = TestServer::new();
    assert!(set(&off, &user(limit(1))).unwrap_err().message().ends_with("quota support disabled"));
    assert!(off.context.engine.descriptor(&name("hbase:quota")).is_err());
    let throttled =
        off.call::<MasterIsRpcThrottleEnabled>(&pb::IsRpcThrottleEnabledRequest {}).unwrap();
    assert!(!throttled.rpc_throttle_enabled);
}

#[test]
fn exceed_throttle_switch_requires_region_server_quotas() {
    let rig = TestServer::with_quotas();
    let switch = |on| {
        rig.call::<MasterSwitchRpcThrottle>(&pb::SwitchRpcThrottleRequest {
            rpc_throttle_enabled: on,
        })
        .unwrap()
    };
    assert!(
        switch(false).previous_rpc_throttle_enabled && !switch(true).previous_rpc_throttle_enabled
    );
    let exceed = |on| {
        let request = pb::SwitchExceedThrottleQuotaRequest { exceed_throttle_quota_enabled: on };
        rig.call::<MasterSwitchExceedThrottleQuota>(&request)
            .map(|response| response.previous_exceed_throttle_quota_enabled)
    };
    assert!(!exceed(false).unwrap());
    assert!(exceed(true).unwrap_err().message().starts_with("Please set region server quota"));
    let servers = |kind, unit| pb::SetQuotaRequest {
        region_server: Some("all".to_owned()),
        throttle: Some(throttle(kind, 5, unit)),
        ..Default::default()
    };
    set(&rig, &servers(ThrottleType::ReadNumber, TimeUnit::Seconds)).unwrap();
    assert!(
        exceed(true)
            .unwrap_err()
            .message()
            .starts_with("Please set at least one write region server quota")
    );
    set(&rig, &servers(ThrottleType::WriteSize, TimeUnit::Hours)).unwrap();
    assert!(
        exceed(true)
            .unwrap_err()
            .message()
            .starts_with("All region server quota must be in seconds")
    );
    set(&rig, &servers(ThrottleType::WriteSize, TimeUnit::Seconds)).unwrap();
    assert!(!exceed(true).unwrap() && exceed(false).unwrap() && !exceed(false).unwrap());
}
