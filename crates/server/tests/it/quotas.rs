//! Request and space quotas as clients encounter them.

use halite_types::{Delete, Increment, Put, RowOp};
use halite_wire::convert::mutate::to_proto;
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service::{self, Service};
use pb::{SpaceViolationPolicy, ThrottleType, TimeUnit};

use crate::client::{Client, Kind, bytes};
use crate::server::{Server, name};

fn server() -> Server {
    Server::with(|config| config.quota_enabled = true)
}

fn master(server: &Server) -> Client {
    Client::to(server.master_port(), Service::Master, Kind::Java)
}

/// Sets a limit per hour, or removes it.
fn limit(server: &Server, kind: ThrottleType, limit: Option<u64>) {
    let timed_quota = limit.map(|limit| pb::TimedQuota {
        time_unit: TimeUnit::Hours.into(),
        soft_limit: Some(limit),
        ..Default::default()
    });
    let throttle = pb::ThrottleRequest { r#type: Some(kind.into()), timed_quota };
    let request = pb::SetQuotaRequest {
        table_name: Some(table_name_to_proto(&name())),
        throttle: Some(throttle),
        ..Default::default()
    };
    master(server).call::<service::MasterSetQuota>(&request).unwrap();
}

fn limit_space(server: &Server, bytes: u64, policy: SpaceViolationPolicy) {
    let quota = pb::SpaceQuota {
        soft_limit: Some(bytes),
        violation_policy: Some(policy.into()),
        remove: None,
    };
    let space_limit = Some(pb::SpaceLimitRequest { quota: Some(quota) });
    let request = pb::SetQuotaRequest {
        table_name: Some(table_name_to_proto(&name())),
        space_limit,
        ..Default::default()
    };
    master(server).call::<service::MasterSetQuota>(&request).unwrap();
}

fn write(server: &Server, client: &mut Client, op: impl Into<RowOp>) -> Result<(), Exception> {
    let request = pb::MutateRequest {
        region: server.region("a"),
        mutation: to_proto(&op.into()).unwrap(),
        ..Default::default()
    };
    client.call::<service::ClientMutate>(&request).map(|_| ())
}

fn put() -> Put {
    Put::new("a").add("f", "q", "v")
}

fn get(server: &Server, client: &mut Client) -> Result<(), Exception> {
    let request = pb::GetRequest {
        region: server.region("a"),
        get: pb::Get { row: bytes("a"), ..Default::default() },
    };
    client.call::<service::ClientGet>(&request).map(|_| ())
}

#[test]
fn throttled_client_receives_wait_time() {
    let server = server();
    let mut client = server.client();
    write(&server, &mut client, put()).unwrap();
    limit(&server, ThrottleType::WriteNumber, Some(3));
    for _ in 0..3 {
        write(&server, &mut client, put()).unwrap();
    }
    let refused = write(&server, &mut client, put()).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.is_do_not_retry()),
        (Some(ExceptionKind::RpcThrottling), false)
    );
    assert!(
        refused.message().starts_with("number of write requests exceeded - wait "),
        "{}",
        refused.message()
    );
    assert!(refused.wait_ms().is_some_and(|wait| wait > 1_000_000), "{:?}", refused.wait_ms());
    get(&server, &mut client).unwrap();
    let switch = |rpc_throttle_enabled| pb::SwitchRpcThrottleRequest { rpc_throttle_enabled };
    master(&server).call::<service::MasterSwitchRpcThrottle>(&switch(false)).unwrap();
    write(&server, &mut client, put()).unwrap();
    master(&server).call::<service::MasterSwitchRpcThrottle>(&switch(true)).unwrap();
    assert!(write(&server, &mut client, put()).is_err());
    limit(&server, ThrottleType::WriteNumber, None);
    write(&server, &mut client, put()).unwrap();
}

#[test]
fn read_modify_write_is_charged_to_atomic_quota() {
    let server = server();
    let mut client = server.client();
    limit(&server, ThrottleType::AtomicRequestNumber, Some(2));
    for _ in 0..5 {
        write(&server, &mut client, put()).unwrap();
    }
    let count = || Increment::new("b").add("f", "n", 1);
    write(&server, &mut client, count()).unwrap();
    let refused = write(&server, &mut client, count()).unwrap_err();
    assert!(
        refused.message().starts_with("atomic request number exceeded - wait "),
        "{}",
        refused.message()
    );
}

#[test]
fn throttled_region_actions_fail_without_affecting_other_regions() {
    let server = server();
    let mut client = server.client();
    limit(&server, ThrottleType::WriteNumber, Some(3));
    let action = |row: &str| pb::RegionAction {
        region: server.region(row),
        action: (0..2)
            .map(|index| pb::Action {
                index: Some(index),
                mutation: Some(
                    to_proto(&Put::new(row.to_owned()).add("f", "q", "v").into()).unwrap(),
                ),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    let request =
        pb::MultiRequest { region_action: vec![action("a"), action("z")], ..Default::default() };
    let told = client.call::<service::ClientMulti>(&request).unwrap().message;
    let [first, second] = &told.region_action_result[..] else {
        panic!("a result for each region")
    };
    assert_eq!((first.result_or_exception.len(), first.exception.is_none()), (2, true));
    assert!(second.exception.as_ref().unwrap().name.ends_with("RpcThrottlingException"));
    assert_eq!((server.value("a").as_deref(), server.value("z")), (Some("v"), None));
}

#[test]
fn throttled_scan_resumes_at_its_position() {
    let server = server();
    server.put(&[("a", "1"), ("b", "2"), ("c", "3")]);
    let mut client = server.client();
    limit(&server, ThrottleType::ReadNumber, Some(2));
    let scan = pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(1),
        ..Default::default()
    };
    let told = client.call::<service::ClientScan>(&scan).unwrap().message;
    let next = |call| pb::ScanRequest {
        scanner_id: told.scanner_id,
        number_of_rows: Some(1),
        next_call_seq: Some(call),
        ..Default::default()
    };
    client.call::<service::ClientScan>(&next(0)).unwrap();
    let refused = client.call::<service::ClientScan>(&next(1)).unwrap_err();
    assert_eq!(refused.kind(), Some(ExceptionKind::RpcThrottling));
    limit(&server, ThrottleType::ReadNumber, None);
    let last = client.call::<service::ClientScan>(&next(1)).unwrap().cells.unwrap();
    assert_eq!(last.iter().map(|cell| cell.row().to_vec()).collect::<Vec<_>>(), [b"c".to_vec()]);
}

#[test]
fn table_over_space_quota_allows_operations_by_policy() {
    let server = server();
    let mut client = server.client();
    server.put(&[("a", "1")]);
    server.engine.flush(&name()).unwrap();
    limit_space(&server, 1, SpaceViolationPolicy::NoInserts);
    let refused = write(&server, &mut client, put()).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.is_do_not_retry()),
        (Some(ExceptionKind::SpaceLimiting), true)
    );
    assert_eq!(refused.message(), "NO_INSERTS Puts are disallowed due to a space quota.");
    write(&server, &mut client, Delete::new("b")).unwrap();
    limit_space(&server, 1, SpaceViolationPolicy::NoWrites);
    assert_eq!(
        write(&server, &mut client, Delete::new("b")).unwrap_err().message(),
        "NO_WRITES Deletes are disallowed due to a space quota."
    );
    get(&server, &mut client).unwrap();
    limit_space(&server, 1 << 30, SpaceViolationPolicy::NoWrites);
    write(&server, &mut client, put()).unwrap();
}

#[test]
fn table_disabled_by_space_quota_returns_after_raise() {
    let server = server();
    server.put(&[("a", "1")]);
    server.engine.flush(&name()).unwrap();
    limit_space(&server, 1, SpaceViolationPolicy::Disable);
    assert!(!server.engine.is_enabled(&name()).unwrap());
    let enable =
        pb::EnableTableRequest { table_name: table_name_to_proto(&name()), ..Default::default() };
    let id = master(&server).call::<service::MasterEnableTable>(&enable).unwrap().message.proc_id;
    let result = pb::GetProcedureResultRequest { proc_id: id.unwrap() };
    let told = loop {
        let told =
            master(&server).call::<service::MasterGetProcedureResult>(&result).unwrap().message;
        if told.state() != pb::get_procedure_result_response::State::Running {
            break told;
        }
    };
    let why = told.exception.unwrap().generic_exception.unwrap();
    assert_eq!(
        why.message(),
        "Enabling the table 't' is disallowed due to a violated space quota."
    );
    let set = pb::SetTableStateInMetaRequest {
        table_name: table_name_to_proto(&name()),
        table_state: pb::TableState { state: pb::table_state::State::Enabled.into() },
    };
    let mut hbck = Client::to(server.master_port(), Service::Hbck, Kind::Java);
    let refused = hbck.call::<service::HbckSetTableStateInMeta>(&set).unwrap_err();
    assert_eq!(refused.kind(), Some(ExceptionKind::AccessDenied));
    limit_space(&server, 1 << 30, SpaceViolationPolicy::Disable);
    assert!(server.engine.is_enabled(&name()).unwrap());
}

#[test]
fn table_disabled_by_client_ignores_space_quota_changes() {
    let server = server();
    server.put(&[("a", "1")]);
    server.engine.flush(&name()).unwrap();
    limit_space(&server, 1 << 30, SpaceViolationPolicy::Disable);
    server.engine.disable_table(&name()).unwrap();
    limit_space(&server, 1, SpaceViolationPolicy::Disable);
    limit_space(&server, 1 << 30, SpaceViolationPolicy::Disable);
    assert!(!server.engine.is_enabled(&name()).unwrap());
}
