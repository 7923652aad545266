//! Snapshots: taken, listed, deleted, restored, and cloned into tables.

use std::sync::Arc;

use halite_engine::Engine;
use halite_types::{SnapshotDescriptor, SnapshotKind, TableName};
use halite_wire::convert::snapshot::{from_proto, to_proto};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::asked::{Asked, Failure, check_exists, check_namespace, nonce};
use super::faults::{not_disabled, table_exists};
use super::flush::SNAPSHOT;
use super::names::is_system;
use super::namespace_limits::{Wanted, with_room};
use super::procedures::Nonce;
use super::sanity::FILE_BYTES_MIN;
use crate::call::Fault;
use crate::context::Context;

/// What HBase says a client should wait for a snapshot, in milliseconds.
const EXPECTED_MS: i64 = 300_000;

/// `Snapshot`: asked for with a nonce since 2.6, and then waited for by its id.
pub(super) fn take(asked: &Asked<'_>, request: &pb::SnapshotRequest) -> Result<pb::SnapshotResponse, Fault> {
    // The owner is who asks.
    let snapshot = from_proto(&request.snapshot)?.owner(asked.peer.user.clone());
    let id = start(asked, snapshot, nonce(request.nonce_group(), request.nonce()))?;
    // Clients before 2.6 ask by the name whether it is done.
    let proc_id = if request.nonce() == 0 { None } else { i64::try_from(id).ok() };
    Ok(pb::SnapshotResponse { expected_timeout: EXPECTED_MS, proc_id })
}

/// Starts the procedure that takes a snapshot.
///
/// # Errors
/// What is wrong with the request.
pub(super) fn start(asked: &Asked<'_>, snapshot: SnapshotDescriptor, nonce: Nonce) -> Result<u64, Fault> {
    snapshot.check().map_err(|error| creation(error.message()))?;
    // It becomes the attribute of tables that are made of the snapshot.
    if (1..FILE_BYTES_MIN).contains(&snapshot.max_file_bytes) {
        let text = format!("the maximum file size of snapshot {}, {} bytes, is under {FILE_BYTES_MIN}", snapshot.name, snapshot.max_file_bytes);
        return Err(creation(&format!("{text}; tables made of it would split into unmanageably many regions, give more")));
    }
    let (name, table) = (snapshot.name.clone(), snapshot.table.clone());
    let id = asked.start("SnapshotProcedure", Some(&table), nonce, Failure::InCall, move |engine| take_now(engine, snapshot))?;
    asked.context.master.signed.remember(&asked.context.master.procedures, SNAPSHOT, &name, id);
    Ok(id)
}

fn take_now(engine: &Engine, snapshot: SnapshotDescriptor) -> Result<(), Fault> {
    if find(engine, &snapshot.name).is_some() {
        return Err(Fault::new(ExceptionKind::SnapshotExists, format!("Snapshot '{}' already stored on the filesystem.", snapshot.name)));
    }
    let Ok(enabled) = engine.is_enabled(&snapshot.table) else {
        return Err(creation(&format!("Table '{}' doesn't exist, can't take snapshot.", snapshot.table)));
    };
    // HBase goes by the state of the table, whatever kind was asked for.
    let kind = if enabled && snapshot.kind == SnapshotKind::Disabled { SnapshotKind::Flush } else { snapshot.kind };
    Ok(engine.take_snapshot(&snapshot.kind(kind))?)
}

/// Deletes the snapshots whose time to live is over, while the switch for that is on, and gives their names.
pub(crate) fn delete_expired(context: &Context) -> Vec<String> {
    if !context.master.switches.snapshot_cleanup.get() {
        return Vec::new();
    }
    match context.engine.remove_expired_snapshots() {
        Ok(names) => {
            names.iter().for_each(|name| tracing::info!("snapshot {name} is deleted: its time to live is over"));
            names
        }
        Err(error) => {
            tracing::warn!("deleting snapshots whose time to live is over: {error}");
            Vec::new()
        }
    }
}

/// `IsSnapshotDone`: done, still being taken, failed, or unknown.
pub(super) fn is_done(asked: &Asked<'_>, request: &pb::IsSnapshotDoneRequest) -> Result<pb::IsSnapshotDoneResponse, Fault> {
    let unknown = |text: String| Fault::new(ExceptionKind::UnknownSnapshot, text);
    let name = request.snapshot.as_ref().map(|snapshot| &snapshot.name[..]).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| unknown("No snapshot name passed in request, can't figure out which snapshot you want to check.".to_owned()))?;
    if !asked.context.master.signed.is_done(&asked.context.master.procedures, SNAPSHOT, name)? {
        return Ok(pb::IsSnapshotDoneResponse { done: Some(false), snapshot: request.snapshot.clone() });
    }
    match find(asked.engine(), name) {
        Some(found) => Ok(pb::IsSnapshotDoneResponse { done: Some(true), snapshot: Some(to_proto(&found)) }),
        None => Err(unknown(format!("Snapshot {name} is not currently running or one of the known completed snapshots."))),
    }
}

/// `GetCompletedSnapshots`.
pub(super) fn list(asked: &Asked<'_>, _: &pb::GetCompletedSnapshotsRequest) -> Result<pb::GetCompletedSnapshotsResponse, Fault> {
    Ok(pb::GetCompletedSnapshotsResponse { snapshots: asked.engine().snapshots().iter().map(to_proto).collect() })
}

/// `DeleteSnapshot`.
pub(super) fn delete(asked: &Asked<'_>, request: &pb::DeleteSnapshotRequest) -> Result<pb::DeleteSnapshotResponse, Fault> {
    let name = &request.snapshot.name;
    if find(asked.engine(), name).is_none() {
        return Err(missing(name));
    }
    asked.engine().delete_snapshot(name)?;
    Ok(pb::DeleteSnapshotResponse {})
}

/// `RestoreSnapshot`: into the table it was taken of if that is disabled, or into a table that does not exist yet, which is
/// HBase's clone.
pub(super) fn restore(asked: &Asked<'_>, request: &pb::RestoreSnapshotRequest) -> Result<pb::RestoreSnapshotResponse, Fault> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    if let Some(proc_id) = asked.repeated(nonce) {
        return Ok(pb::RestoreSnapshotResponse { proc_id });
    }
    let name = request.snapshot.name.clone();
    let snapshot = find(asked.engine(), &name).ok_or_else(|| missing(&name))?;
    let table: TableName = match request.snapshot.table() {
        "" => snapshot.table.clone(),
        table => table.parse()?,
    };
    check_namespace(asked.engine(), table.namespace())?;
    let id = if check_exists(asked.engine(), &table).is_ok() {
        restore_in_place(asked, &snapshot, &table, nonce)?
    } else {
        clone_into(asked, name, table, request.custom_sft(), nonce)?
    };
    Ok(pb::RestoreSnapshotResponse { proc_id: id })
}

fn restore_in_place(asked: &Asked<'_>, snapshot: &SnapshotDescriptor, table: &TableName, nonce: Nonce) -> Result<u64, Fault> {
    if *table != snapshot.table {
        let text = format!("table {table} exists, and snapshot {} is of table {}; clone it into a new table", snapshot.name, snapshot.table);
        return Err(Fault::new(ExceptionKind::RestoreSnapshot, text));
    }
    let name = snapshot.name.clone();
    let restored = table.clone();
    let context = Arc::clone(asked.context);
    asked.start("RestoreSnapshotProcedure", Some(table), nonce, Failure::InResult, move |engine| {
        if engine.is_enabled(&restored)? {
            return Err(not_disabled(&restored));
        }
        let wanted = Wanted::Regions(engine.snapshot_regions(&name).unwrap_or_default());
        with_room(&context, &restored, wanted, || Ok(engine.restore_snapshot(&name)?))
    })
}

fn clone_into(asked: &Asked<'_>, name: String, table: TableName, tracker: &str, nonce: Nonce) -> Result<u64, Fault> {
    let tracker = if tracker.is_empty() { None } else { Some(super::families::check_target(tracker)?) };
    if is_system(&table) {
        return Err(Fault::new(ExceptionKind::RestoreSnapshot, format!("{table} would be a table of HBase itself; give it another name")));
    }
    let context = Arc::clone(asked.context);
    asked.start("CloneSnapshotProcedure", Some(&table.clone()), nonce, Failure::InResult, move |engine| {
        if check_exists(engine, &table).is_ok() {
            return Err(table_exists(&table));
        }
        let wanted = Wanted::Table { regions: engine.snapshot_regions(&name).unwrap_or_default() };
        with_room(&context, &table, wanted, || Ok(engine.clone_snapshot(&name, &table)?))?;
        tracker.map_or(Ok(()), |tracker| super::families::set_tracker(engine, &table, &tracker))
    })
}

fn find(engine: &Engine, name: &str) -> Option<SnapshotDescriptor> {
    engine.snapshots().into_iter().find(|snapshot| snapshot.name == name)
}

fn creation(text: &str) -> Fault {
    Fault::new(ExceptionKind::SnapshotCreation, text)
}

fn missing(name: &str) -> Fault {
    Fault::new(ExceptionKind::SnapshotDoesNotExist, name)
}
