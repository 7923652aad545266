//! Snapshot administration: taking, restoring and cloning.

use std::time::Duration;

use halite_types::{Error, ErrorKind, Result, SnapshotDescriptor, TableName};
use halite_wire::convert::snapshot;
use halite_wire::proto as pb;
use halite_wire::service as call;

use super::procedure::{self, PollInterval, Poller};
use super::{master, tables};
use crate::error::no_such_table;
use crate::shared::ClientInner;

/// Poll interval of snapshots.
const POLL_DELAY: Duration = Duration::from_millis(50);
const POLL_INTERVAL: PollInterval = PollInterval { first: POLL_DELAY, max: POLL_DELAY };

pub(super) async fn create(shared: &ClientInner, descriptor: &SnapshotDescriptor) -> Result<()> {
    descriptor.check()?;
    let (nonce_group, nonce) = procedure::nonces(shared);
    let snapshot = snapshot::to_proto(descriptor);
    let request = pb::SnapshotRequest { snapshot: snapshot.clone(), nonce_group, nonce };
    let response = match master::call::<call::MasterSnapshot>(shared, &request).await {
        // For a missing table HBase reports only that the snapshot could not be created.
        Err(error)
            if error.kind() == ErrorKind::InvalidRequest
                && !exists(shared, &descriptor.table).await? =>
        {
            return Err(no_such_table(&descriptor.table));
        }
        response => response?,
    };
    let operation = format!("taking snapshot {} of table {}", descriptor.name, descriptor.table);
    match response.proc_id.and_then(|id| u64::try_from(id).ok()) {
        Some(id) => procedure::finish(shared, Some(id), &operation).await,
        None => wait_until_done(shared, snapshot, &operation).await,
    }
}

/// Waits for a snapshot of a master before 2.6, which has no procedure for it.
async fn wait_until_done(
    shared: &ClientInner,
    snapshot: pb::SnapshotDescription,
    operation: &str,
) -> Result<()> {
    let mut waiting = Poller::new(shared.deadline(), POLL_INTERVAL);
    let request = pb::IsSnapshotDoneRequest { snapshot: Some(snapshot) };
    while !master::call::<call::MasterIsSnapshotDone>(shared, &request).await?.done() {
        waiting
            .pause(|ms| {
                format!("{operation}: not done after {ms} ms; look at list_snapshots later")
            })
            .await?;
    }
    Ok(())
}

pub(super) async fn list(shared: &ClientInner) -> Result<Vec<SnapshotDescriptor>> {
    let response = master::call::<call::MasterGetCompletedSnapshots>(
        shared,
        &pb::GetCompletedSnapshotsRequest {},
    )
    .await?;
    let mut snapshots =
        response.snapshots.iter().map(snapshot::from_proto).collect::<Result<Vec<_>>>()?;
    snapshots.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(snapshots)
}

async fn find(shared: &ClientInner, name: &str) -> Result<SnapshotDescriptor> {
    let found = list(shared).await?.into_iter().find(|snapshot| snapshot.name == name);
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::NoSuchSnapshot,
            format!("there is no snapshot {name}; look at list_snapshots"),
        )
    })
}

/// Clones a snapshot. A master restores an existing table instead of cloning, so the client first
/// checks that the table does not exist, as HBase's client does.
pub(super) async fn clone(shared: &ClientInner, name: &str, table: &TableName) -> Result<()> {
    let taken = find(shared, name).await?;
    if exists(shared, table).await? {
        return Err(Error::new(
            ErrorKind::TableExists,
            format!(
                "table {table} exists already; clone the snapshot under another name, or restore it"
            ),
        ));
    }
    make(
        shared,
        SnapshotDescriptor { table: table.clone(), ..taken },
        &format!("making table {table} of snapshot {name}"),
    )
    .await
}

pub(super) async fn restore(shared: &ClientInner, name: &str) -> Result<()> {
    let taken = find(shared, name).await?;
    let table = taken.table.clone();
    if exists(shared, &table).await? && tables::is_enabled(shared, &table).await? {
        return Err(Error::new(
            ErrorKind::TableEnabled,
            format!("table {table} is enabled; disable it before a snapshot is restored"),
        ));
    }
    make(shared, taken, &format!("restoring snapshot {name} of table {table}")).await
}

async fn exists(shared: &ClientInner, table: &TableName) -> Result<bool> {
    match tables::descriptor(shared, table).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NoSuchTable => Ok(false),
        Err(error) => Err(error),
    }
}

async fn make(shared: &ClientInner, taken: SnapshotDescriptor, operation: &str) -> Result<()> {
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::RestoreSnapshotRequest {
        snapshot: snapshot::to_proto(&taken),
        nonce_group,
        nonce,
        ..pb::RestoreSnapshotRequest::default()
    };
    let response = master::call::<call::MasterRestoreSnapshot>(shared, &request).await?;
    procedure::finish(shared, Some(response.proc_id), operation).await
}

pub(super) async fn delete(shared: &ClientInner, name: &str) -> Result<()> {
    let snapshot =
        pb::SnapshotDescription { name: name.to_owned(), ..pb::SnapshotDescription::default() };
    master::call::<call::MasterDeleteSnapshot>(shared, &pb::DeleteSnapshotRequest { snapshot })
        .await
        .map(drop)
}
