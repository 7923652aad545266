//! Snapshots taken, listed, restored, cloned and deleted.

use halite_engine::env::sim::SimEnv;
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::{
    MasterDeleteSnapshot, MasterExecProcedure, MasterGetCompletedSnapshots, MasterIsProcedureDone,
    MasterIsSnapshotDone, MasterRestoreSnapshot, MasterSnapshot, MasterSwitchSnapshotCleanup,
};
use pb::snapshot_description::Type;

use crate::master_service::delete_expired_snapshots;
use crate::testing::test_server::{TestServer, class, name};

fn description(name: &str, table: &str) -> pb::SnapshotDescription {
    pb::SnapshotDescription {
        name: name.to_owned(),
        table: Some(table.to_owned()),
        ..Default::default()
    }
}

fn take(rig: &TestServer, snapshot: pb::SnapshotDescription) -> Result<(), Exception> {
    let request = pb::SnapshotRequest { snapshot, nonce_group: Some(1), nonce: Some(next_nonce()) };
    rig.call::<MasterSnapshot>(&request)
        .and_then(|response| rig.finish(response.proc_id.map(i64::unsigned_abs)))
}

fn next_nonce() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn restore(rig: &TestServer, snapshot: &str, table: &str) -> Result<(), Exception> {
    let request =
        pb::RestoreSnapshotRequest { snapshot: description(snapshot, table), ..Default::default() };
    rig.call::<MasterRestoreSnapshot>(&request)
        .and_then(|response| rig.finish(Some(response.proc_id)))
}

fn rows(rig: &TestServer, table: &str) -> usize {
    let table = rig.context.engine.table(&name(table)).unwrap();
    table
        .scan(halite_types::Scan::all(), halite_types::ReadTier::Disk)
        .map(|rows| rows.unwrap().len())
        .sum()
}

fn list(rig: &TestServer) -> Vec<pb::SnapshotDescription> {
    rig.call::<MasterGetCompletedSnapshots>(&pb::GetCompletedSnapshotsRequest {}).unwrap().snapshots
}

#[test]
fn snapshot_list_has_hbase_fields() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a"]);
    take(&rig, pb::SnapshotDescription { ttl: Some(-1), ..description("s", "t") }).unwrap();
    let [snapshot] = &list(&rig)[..] else { panic!("one snapshot") };
    assert_eq!((&snapshot.name[..], snapshot.table(), snapshot.r#type()), ("s", "t", Type::Flush));
    assert_eq!((snapshot.version(), snapshot.ttl(), snapshot.owner()), (2, 0, "tester"));
    assert!(snapshot.creation_time() > 0);
    assert_eq!(class(take(&rig, description("s", "t"))), "SnapshotExistsException");
    assert_eq!(class(take(&rig, description("s2", "gone"))), "SnapshotCreationException");
    let tiny = pb::SnapshotDescription { max_file_size: Some(1), ..description("s2", "t") };
    assert_eq!(class(take(&rig, tiny)), "SnapshotCreationException");
}

#[test]
fn snapshot_completion_is_queried_by_name_before_2_6() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let response = rig
        .call::<MasterSnapshot>(&pb::SnapshotRequest {
            snapshot: description("s", "t"),
            ..Default::default()
        })
        .unwrap();
    assert_eq!((response.proc_id, response.expected_timeout), (None, 300_000));
    let ask = |name: &str| {
        rig.call::<MasterIsSnapshotDone>(&pb::IsSnapshotDoneRequest {
            snapshot: Some(description(name, "t")),
        })
    };
    assert!(ask("s").unwrap().done());
    assert_eq!(class(ask("gone")), "UnknownSnapshotException");
    assert_eq!(class(ask("")), "UnknownSnapshotException");
}

#[test]
fn snapshot_restore_needs_disabled_table_and_clone_creates_one() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a", "b"]);
    take(&rig, description("s", "t")).unwrap();
    rig.put("t", &["c"]);
    restore(&rig, "s", "u").unwrap();
    assert_eq!((rows(&rig, "t"), rows(&rig, "u")), (3, 2));
    assert_eq!(class(restore(&rig, "s", "t")), "TableNotDisabledException");
    rig.disable("t");
    restore(&rig, "s", "t").unwrap();
    rig.context.engine.enable_table(&name("t")).unwrap();
    assert_eq!(rows(&rig, "t"), 2);
    assert_eq!(class(restore(&rig, "gone", "v")), "SnapshotDoesNotExistException");
    assert_eq!(class(restore(&rig, "s", "nowhere:v")), "NamespaceNotFoundException");
    assert_eq!(class(restore(&rig, "s", "u")), "RestoreSnapshotException");
}

#[test]
fn clone_uses_requested_tracker() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    take(&rig, description("s", "t")).unwrap();
    let request = |tracker: &str| pb::RestoreSnapshotRequest {
        snapshot: description("s", "u"),
        custom_sft: Some(tracker.to_owned()),
        ..Default::default()
    };
    assert_eq!(
        class(rig.call::<MasterRestoreSnapshot>(&request("whatever"))),
        "DoNotRetryIOException"
    );
    rig.finish(Some(rig.call::<MasterRestoreSnapshot>(&request("FILE")).unwrap().proc_id)).unwrap();
    assert_eq!(
        rig.context.engine.descriptor(&name("u")).unwrap().attributes["hbase.store.file-tracker.impl"],
        "FILE"
    );
}

#[test]
fn restore_retried_with_nonce_runs_once() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    take(&rig, description("s", "t")).unwrap();
    let request = pb::RestoreSnapshotRequest {
        snapshot: description("s", "u"),
        nonce_group: Some(2),
        nonce: Some(5),
        ..Default::default()
    };
    let first = rig.call::<MasterRestoreSnapshot>(&request).unwrap();
    assert_eq!(rig.call::<MasterRestoreSnapshot>(&request).unwrap(), first);
}

#[test]
fn expired_snapshot_is_deleted_while_cleanup_is_on() {
    let sim = SimEnv::new(1);
    let rig = TestServer::simulated(&sim);
    rig.create("t", &["f"], &[]);
    take(&rig, pb::SnapshotDescription { ttl: Some(60), ..description("short", "t") }).unwrap();
    take(&rig, pb::SnapshotDescription { ttl: Some(3600), ..description("long", "t") }).unwrap();
    take(&rig, description("ever", "t")).unwrap();
    assert_eq!(delete_expired_snapshots(&rig.services.master), Vec::<String>::new());
    sim.clock.advance_ms(61_000);
    let switch = |enabled| {
        rig.call::<MasterSwitchSnapshotCleanup>(&pb::SetSnapshotCleanupRequest {
            enabled,
            synchronous: None,
        })
        .unwrap();
    };
    switch(false);
    assert_eq!(delete_expired_snapshots(&rig.services.master), Vec::<String>::new());
    assert_eq!(class(restore(&rig, "short", "u")), "SnapshotTTLExpiredException");
    switch(true);
    assert_eq!(delete_expired_snapshots(&rig.services.master), ["short"]);
    assert_eq!(
        list(&rig).into_iter().map(|snapshot| snapshot.name).collect::<Vec<_>>(),
        ["ever", "long"]
    );
}

#[test]
fn snapshot_is_deleted_once() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    rig.disable("t");
    take(&rig, description("s", "t")).unwrap();
    assert_eq!(list(&rig)[0].r#type(), Type::Disabled);
    let delete = pb::DeleteSnapshotRequest { snapshot: description("s", "") };
    rig.call::<MasterDeleteSnapshot>(&delete).unwrap();
    assert_eq!(class(rig.call::<MasterDeleteSnapshot>(&delete)), "SnapshotDoesNotExistException");
}

#[test]
fn signed_procedures_start_flushes_and_snapshots() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    rig.put("t", &["a"]);
    let procedure = |signature: &str, instance: &str, configuration| pb::ProcedureDescription {
        signature: signature.to_owned(),
        instance: Some(instance.to_owned()),
        configuration,
        ..Default::default()
    };
    let exec = |procedure| rig.call::<MasterExecProcedure>(&pb::ExecProcedureRequest { procedure });
    let is_done = |procedure| {
        rig.call::<MasterIsProcedureDone>(&pb::IsProcedureDoneRequest {
            procedure: Some(procedure),
        })
    };
    let setting = |value: &str| {
        vec![pb::NameStringPair { name: "table".to_owned(), value: value.to_owned() }]
    };
    exec(procedure("flush-table-proc", "t", Vec::new())).unwrap();
    assert!(is_done(procedure("flush-table-proc", "t", Vec::new())).unwrap().done());
    assert_eq!(rig.context.engine.status().regions[0].store_files, 1);
    exec(procedure("online-snapshot", "s", setting("t"))).unwrap();
    assert!(is_done(procedure("online-snapshot", "s", setting("t"))).unwrap().done());
    assert_eq!(list(&rig).len(), 1);
    assert_eq!(
        class(exec(procedure("flush-table-proc", "gone", Vec::new()))),
        "TableNotFoundException"
    );
    assert!(
        exec(procedure("fake", "x", Vec::new()))
            .unwrap_err()
            .message()
            .starts_with("The procedure is not registered:")
    );
    assert!(
        is_done(procedure("fake", "x", Vec::new()))
            .unwrap_err()
            .message()
            .starts_with("The procedure is not registered:")
    );
}
