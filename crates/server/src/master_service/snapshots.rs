//! Handlers that take, list, delete, restore and clone snapshots.

use std::sync::Arc;

use halite_engine::Engine;
use halite_types::{SnapshotDescriptor, SnapshotType, TableName};
use halite_wire::convert::snapshot::{from_proto, to_proto};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::errors::{not_disabled, table_exists};
use super::lookup::{check_exists, check_namespace};
use super::request_context::{Failure, RequestContext, nonce};
use super::sanity::MIN_REGION_FILE_BYTES;
use super::state::namespace_limits::NewResource;
use super::state::procedures::Nonce;
use super::state::signed_procedures::SNAPSHOT;
use crate::base::call::CallError;
use crate::base::names::is_system;

/// HBase's suggested wait for a snapshot, in milliseconds.
const EXPECTED_MS: i64 = 300_000;

/// Handles `Snapshot`. Since 2.6 clients send a nonce, and then wait for the id.
pub(super) fn take(
    request_context: &RequestContext<'_>,
    request: &pb::SnapshotRequest,
) -> Result<pb::SnapshotResponse, CallError> {
    // The owner is the requesting user.
    let snapshot = from_proto(&request.snapshot)?.owner(request_context.peer.user.clone());
    let id = start(request_context, snapshot, nonce(request.nonce_group(), request.nonce()))?;
    // Clients before 2.6 poll by name.
    let proc_id = if request.nonce() == 0 { None } else { i64::try_from(id).ok() };
    Ok(pb::SnapshotResponse { expected_timeout: EXPECTED_MS, proc_id })
}

/// Starts the procedure that takes a snapshot.
///
/// # Errors
/// If the request is invalid.
pub(super) fn start(
    request_context: &RequestContext<'_>,
    snapshot: SnapshotDescriptor,
    nonce: Nonce,
) -> Result<u64, CallError> {
    snapshot.check().map_err(|error| creation(error.message()))?;
    // It becomes an attribute of tables created from the snapshot.
    if (1..MIN_REGION_FILE_BYTES).contains(&snapshot.max_file_bytes) {
        let text = format!(
            "the maximum file size of snapshot {}, {} bytes, is under {MIN_REGION_FILE_BYTES}",
            snapshot.name, snapshot.max_file_bytes
        );
        return Err(creation(&format!(
            "{text}; tables made of it would split into unmanageably many regions, give more"
        )));
    }
    let (name, table) = (snapshot.name.clone(), snapshot.table.clone());
    let id = request_context.start(
        "SnapshotProcedure",
        Some(&table),
        nonce,
        Failure::InCall,
        move |engine| take_now(engine, snapshot),
    )?;
    request_context.state.signed_procedures.record(
        &request_context.state.procedures,
        SNAPSHOT,
        &name,
        id,
    );
    Ok(id)
}

fn take_now(engine: &Engine, snapshot: SnapshotDescriptor) -> Result<(), CallError> {
    if find(engine, &snapshot.name).is_some() {
        return Err(CallError::new(
            ExceptionKind::SnapshotExists,
            format!("Snapshot '{}' already stored on the filesystem.", snapshot.name),
        ));
    }
    let Ok(enabled) = engine.is_enabled(&snapshot.table) else {
        return Err(creation(&format!(
            "Table '{}' doesn't exist, can't take snapshot.",
            snapshot.table
        )));
    };
    // HBase uses the state of the table, whatever kind was requested.
    let kind = if enabled && snapshot.kind == SnapshotType::Disabled {
        SnapshotType::Flush
    } else {
        snapshot.kind
    };
    Ok(engine.create_snapshot(&snapshot.kind(kind))?)
}

/// Handles `IsSnapshotDone`: the snapshot is done, in progress, failed or unknown.
pub(super) fn is_done(
    request_context: &RequestContext<'_>,
    request: &pb::IsSnapshotDoneRequest,
) -> Result<pb::IsSnapshotDoneResponse, CallError> {
    let unknown = |text: String| CallError::new(ExceptionKind::UnknownSnapshot, text);
    let name = request
        .snapshot
        .as_ref()
        .map(|snapshot| &snapshot.name[..])
        .filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
        unknown(
            "No snapshot name passed in request, can't figure out which snapshot you want to check."
                .to_owned(),
        )
    })?;
    if !request_context.state.signed_procedures.is_done(
        &request_context.state.procedures,
        SNAPSHOT,
        name,
    )? {
        return Ok(pb::IsSnapshotDoneResponse {
            done: Some(false),
            snapshot: request.snapshot.clone(),
        });
    }
    match find(request_context.engine(), name) {
        Some(found) => {
            Ok(pb::IsSnapshotDoneResponse { done: Some(true), snapshot: Some(to_proto(&found)) })
        }
        None => Err(unknown(format!(
            "Snapshot {name} is not currently running or one of the known completed snapshots."
        ))),
    }
}

/// Handles `GetCompletedSnapshots`.
pub(super) fn list(
    request_context: &RequestContext<'_>,
    _: &pb::GetCompletedSnapshotsRequest,
) -> Result<pb::GetCompletedSnapshotsResponse, CallError> {
    Ok(pb::GetCompletedSnapshotsResponse {
        snapshots: request_context.engine().snapshots().iter().map(to_proto).collect(),
    })
}

/// Handles `DeleteSnapshot`.
pub(super) fn delete(
    request_context: &RequestContext<'_>,
    request: &pb::DeleteSnapshotRequest,
) -> Result<pb::DeleteSnapshotResponse, CallError> {
    let name = &request.snapshot.name;
    if find(request_context.engine(), name).is_none() {
        return Err(missing(name));
    }
    request_context.engine().delete_snapshot(name)?;
    Ok(pb::DeleteSnapshotResponse {})
}

/// Handles `RestoreSnapshot`: restores into the original table if that is disabled, or into a table
/// that does not exist yet, which is HBase's clone.
pub(super) fn restore(
    request_context: &RequestContext<'_>,
    request: &pb::RestoreSnapshotRequest,
) -> Result<pb::RestoreSnapshotResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    if let Some(proc_id) = request_context.repeated(nonce) {
        return Ok(pb::RestoreSnapshotResponse { proc_id });
    }
    let name = request.snapshot.name.clone();
    let snapshot = find(request_context.engine(), &name).ok_or_else(|| missing(&name))?;
    let table: TableName = match request.snapshot.table() {
        "" => snapshot.table.clone(),
        table => table.parse()?,
    };
    check_namespace(request_context.engine(), table.namespace())?;
    let id = if check_exists(request_context.engine(), &table).is_ok() {
        restore_in_place(request_context, &snapshot, &table, nonce)?
    } else {
        clone_into(request_context, name, table, request.custom_sft(), nonce)?
    };
    Ok(pb::RestoreSnapshotResponse { proc_id: id })
}

fn restore_in_place(
    request_context: &RequestContext<'_>,
    snapshot: &SnapshotDescriptor,
    table: &TableName,
    nonce: Nonce,
) -> Result<u64, CallError> {
    if *table != snapshot.table {
        let text = format!(
            "table {table} exists, and snapshot {} is of table {}; clone it into a new table",
            snapshot.name, snapshot.table
        );
        return Err(CallError::new(ExceptionKind::RestoreSnapshot, text));
    }
    let name = snapshot.name.clone();
    let restored = table.clone();
    let master = Arc::clone(request_context.state);
    request_context.start(
        "RestoreSnapshotProcedure",
        Some(table),
        nonce,
        Failure::InResult,
        move |engine| {
            if engine.is_enabled(&restored)? {
                return Err(not_disabled(&restored));
            }
            let new_regions =
                NewResource::Regions(engine.snapshot_regions(&name).unwrap_or_default());
            master.with_room(&restored, new_regions, || Ok(engine.restore_snapshot(&name)?))
        },
    )
}

fn clone_into(
    request_context: &RequestContext<'_>,
    name: String,
    table: TableName,
    tracker: &str,
    nonce: Nonce,
) -> Result<u64, CallError> {
    let tracker =
        if tracker.is_empty() { None } else { Some(super::trackers::check_target(tracker)?) };
    if is_system(&table) {
        return Err(CallError::new(
            ExceptionKind::RestoreSnapshot,
            format!("{table} would be a table of HBase itself; give it another name"),
        ));
    }
    let master = Arc::clone(request_context.state);
    request_context.start(
        "CloneSnapshotProcedure",
        Some(&table.clone()),
        nonce,
        Failure::InResult,
        move |engine| {
            if check_exists(engine, &table).is_ok() {
                return Err(table_exists(&table));
            }
            let new_regions =
                NewResource::Table { regions: engine.snapshot_regions(&name).unwrap_or_default() };
            master.with_room(&table, new_regions, || Ok(engine.clone_snapshot(&name, &table)?))?;
            tracker.map_or(Ok(()), |tracker| super::trackers::set_tracker(engine, &table, &tracker))
        },
    )
}

fn find(engine: &Engine, name: &str) -> Option<SnapshotDescriptor> {
    engine.snapshots().into_iter().find(|snapshot| snapshot.name == name)
}

fn creation(text: &str) -> CallError {
    CallError::new(ExceptionKind::SnapshotCreation, text)
}

fn missing(name: &str) -> CallError {
    CallError::new(ExceptionKind::SnapshotDoesNotExist, name)
}
