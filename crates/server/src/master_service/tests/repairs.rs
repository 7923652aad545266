//! Repairs that operators request, and locks that clients take.

use halite_wire::convert::region::specifier;
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::{
    HbckAssigns, HbckBypassProcedure, HbckFixMeta, HbckRunHbckChore,
    HbckScheduleSCPsForUnknownServers, HbckSetRegionStateInMeta, HbckSetTableStateInMeta,
    HbckUnassigns, LockLockHeartbeat, LockRequestLock, MasterGetLocks,
};
use pb::lock_heartbeat_response::LockStatus;
use pb::table_state::State;
use pb::{LockType, LockedResourceType};

use crate::testing::test_server::{TestServer, class, name, name_message};

#[test]
fn setting_table_state_returns_previous_state() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let set = |table: &str, state: State| {
        let table_state = pb::TableState { state: state.into() };
        rig.call::<HbckSetTableStateInMeta>(&pb::SetTableStateInMetaRequest {
            table_name: name_message(table),
            table_state,
        })
    };
    assert_eq!(set("t", State::Disabled).unwrap().table_state.state(), State::Enabled);
    assert!(!rig.context.engine.is_enabled(&name("t")).unwrap());
    assert_eq!(set("t", State::Disabled).unwrap().table_state.state(), State::Disabled);
    assert_eq!(set("t", State::Enabled).unwrap().table_state.state(), State::Disabled);
    assert!(rig.context.engine.is_enabled(&name("t")).unwrap());
    assert_eq!(class(set("t", State::Enabling)), "DoNotRetryIOException");
    assert_eq!(class(set("gone", State::Enabled)), "TableNotFoundException");
    assert_eq!(
        class(rig.call::<HbckSetRegionStateInMeta>(&pb::SetRegionStateInMetaRequest::default())),
        "DoNotRetryIOException"
    );
}

#[test]
fn hbck_assigns_starts_no_procedure_for_unknown_region() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let known = specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
    let unknown =
        pb::RegionSpecifier { r#type: 2, value: "33b36c58f0da118f6c22fc0c24d60bf4".into() };
    let region = vec![known, unknown];
    let unassigned = rig
        .call::<HbckUnassigns>(&pb::UnassignsRequest {
            region: region.clone(),
            ..Default::default()
        })
        .unwrap()
        .pid;
    let assigned =
        rig.call::<HbckAssigns>(&pb::AssignsRequest { region, ..Default::default() }).unwrap().pid;
    for pids in [unassigned, assigned] {
        rig.finish(Some(pids[0])).unwrap();
        assert_eq!(pids[1], u64::MAX);
    }
    assert!(rig.call::<HbckRunHbckChore>(&pb::RunHbckChoreRequest {}).unwrap().ran);
    rig.call::<HbckFixMeta>(&pb::FixMetaRequest {}).unwrap();
    let bypass = pb::BypassProcedureRequest { proc_id: vec![1, 2], ..Default::default() };
    assert_eq!(rig.call::<HbckBypassProcedure>(&bypass).unwrap().bypassed, [false, false]);
    let unknown = rig
        .call::<HbckScheduleSCPsForUnknownServers>(&pb::ScheduleScPsForUnknownServersRequest {})
        .unwrap();
    assert_eq!(unknown.pid, Vec::<u64>::new());
}

#[test]
fn repeated_region_gets_one_procedure() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let known = specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
    let unknown =
        |number: u32| pb::RegionSpecifier { r#type: 2, value: format!("{number:032x}").into() };
    let region = std::iter::repeat_n(known, 1_000).chain((0..1_000).map(unknown)).collect();
    let pid = rig
        .call::<HbckUnassigns>(&pb::UnassignsRequest { region, ..Default::default() })
        .unwrap()
        .pid;
    assert!(
        pid[..1_000].iter().all(|id| *id == pid[0])
            && pid[1_000..].iter().all(|id| *id == u64::MAX)
    );
    rig.finish(Some(pid[0])).unwrap();
}

fn request_lock(rig: &TestServer, lock_type: LockType, table: &str) -> Result<u64, Exception> {
    let request = pb::LockRequest {
        lock_type: lock_type.into(),
        table_name: Some(name_message(table)),
        description: Some("a test".to_owned()),
        ..Default::default()
    };
    rig.call::<LockRequestLock>(&request).map(|response| response.proc_id)
}

fn heartbeat(rig: &TestServer, proc_id: u64, keep_alive: bool) -> LockStatus {
    rig.call::<LockLockHeartbeat>(&pb::LockHeartbeatRequest {
        proc_id,
        keep_alive: Some(keep_alive),
    })
    .unwrap()
    .lock_status()
}

#[test]
fn heartbeats_hold_lock_while_next_request_waits() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let first = request_lock(&rig, LockType::Exclusive, "t").unwrap();
    let second = request_lock(&rig, LockType::Shared, "t").unwrap();
    assert_eq!(
        (heartbeat(&rig, first, true), heartbeat(&rig, second, true)),
        (LockStatus::Locked, LockStatus::Unlocked)
    );
    let [held] = &rig.call::<MasterGetLocks>(&pb::GetLocksRequest {}).unwrap().lock[..] else {
        panic!("one lock")
    };
    assert_eq!(
        (held.resource_type(), held.resource_name(), held.lock_type()),
        (LockedResourceType::Table, "t", LockType::Exclusive)
    );
    assert_eq!(
        (heartbeat(&rig, first, false), heartbeat(&rig, second, true)),
        (LockStatus::Unlocked, LockStatus::Locked)
    );
    assert_eq!(class(request_lock(&rig, LockType::Shared, "gone")), "TableNotFoundException");
    let nothing = pb::LockRequest {
        lock_type: LockType::Shared.into(),
        description: Some("nothing".to_owned()),
        ..Default::default()
    };
    assert!(
        rig.call::<LockRequestLock>(&nothing)
            .unwrap_err()
            .message()
            .ends_with("one of table/namespace/region should be specified")
    );
    let region =
        |id| pb::RegionInfo { region_id: id, table_name: name_message("t"), ..Default::default() };
    let gone =
        pb::RegionInfo { region_id: 1, table_name: name_message("gone"), ..Default::default() };
    assert_eq!(
        class(rig.call::<LockRequestLock>(&pb::LockRequest {
            region_info: vec![gone],
            ..nothing.clone()
        })),
        "TableNotFoundException"
    );
    let many = pb::LockRequest { region_info: (0..1001).map(region).collect(), ..nothing };
    assert!(
        rig.call::<LockRequestLock>(&many).unwrap_err().message().contains("1000 are the most")
    );
}
