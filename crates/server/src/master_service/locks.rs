//! `LockService`: locks that clients take on namespaces, tables and regions (HBase:
//! `LockProcedure`, `EntityLock`).
//!
//! A client requests a lock, receives an id, and sends heartbeats. The first heartbeat that finds
//! the lock free acquires it. The lock is lost when no heartbeat arrives for [`TIMEOUT`]. Locks are
//! advisory: they exclude only other locks, and table changes do not wait for them.

use std::collections::BTreeMap;

use halite_wire::convert::region::from_proto;
use halite_wire::convert::schema::table_name_from_proto;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use pb::LockType;
use pb::lock_heartbeat_response::LockStatus;

use super::lookup::{check_exists, check_namespace};
use super::request_context::{RequestContext, nonce};
use super::state::client_locks::{Lock, LockResource, TIMEOUT, remove_expired, try_take};
use crate::base::call::CallError;
use crate::outside::Instant;

/// Maximum number of regions of one lock.
const MAX_REGIONS_PER_LOCK: usize = 1_000;
/// Maximum number of locks, held or waiting.
const MAX_LOCKS: usize = 1_000;

/// Handles `RequestLock`.
pub(super) fn request(
    request_context: &RequestContext<'_>,
    request: &pb::LockRequest,
) -> Result<pb::LockResponse, CallError> {
    if request.description().is_empty() {
        return Err(CallError::do_not_retry(
            "java.lang.IllegalArgumentException: Empty description",
        ));
    }
    let subject = lock_resource(request_context, request)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let mut locks = request_context.state.locks.lock();
    remove_expired(&mut locks, Instant::now());
    if let Some((id, _)) = locks.iter().find(|(_, lock)| nonce.number != 0 && lock.nonce == nonce) {
        return Ok(pb::LockResponse { proc_id: *id });
    }
    if locks.len() >= MAX_LOCKS {
        return Err(CallError::new(
            ExceptionKind::CallQueueTooBig,
            format!("{MAX_LOCKS} locks are held or waited for already; try again later"),
        ));
    }
    let id = request_context.state.procedures.take_id();
    let exclusive = request.lock_type() == LockType::Exclusive;
    locks.insert(
        id,
        Lock { resource: subject, exclusive, held: false, nonce, last_heartbeat: Instant::now() },
    );
    try_take(&mut locks, id);
    Ok(pb::LockResponse { proc_id: id })
}

fn lock_resource(
    request_context: &RequestContext<'_>,
    request: &pb::LockRequest,
) -> Result<LockResource, CallError> {
    if let Some(first) = request.region_info.first() {
        if request.region_info.len() > MAX_REGIONS_PER_LOCK {
            let text = format!(
                "a lock on {} regions; {MAX_REGIONS_PER_LOCK} are the most, lock the table instead",
                request.region_info.len()
            );
            return Err(CallError::do_not_retry(text));
        }
        let table = table_name_from_proto(&first.table_name)?;
        check_exists(request_context.engine(), &table)?;
        let regions = request.region_info.iter().map(|region| Ok(from_proto(region)?.encoded_name));
        return Ok(LockResource::Regions(table, regions.collect::<Result<_, CallError>>()?));
    }
    if let Some(table) = &request.table_name {
        let table = table_name_from_proto(table)?;
        check_exists(request_context.engine(), &table)?;
        return Ok(LockResource::Table(table));
    }
    if let Some(namespace) = &request.namespace {
        check_namespace(request_context.engine(), namespace)?;
        return Ok(LockResource::Namespace(namespace.clone()));
    }
    Err(CallError::do_not_retry(
        "java.lang.IllegalArgumentException: one of table/namespace/region should be specified",
    ))
}

/// Handles `LockHeartbeat`: keeps a lock or its position in the queue, or releases it.
pub(super) fn heartbeat(
    request_context: &RequestContext<'_>,
    request: &pb::LockHeartbeatRequest,
) -> Result<pb::LockHeartbeatResponse, CallError> {
    let mut locks = request_context.state.locks.lock();
    remove_expired(&mut locks, Instant::now());
    let id = request.proc_id;
    if !request.keep_alive() {
        locks.remove(&id);
    }
    if let Some(lock) = locks.get_mut(&id) {
        lock.last_heartbeat = Instant::now();
    }
    if try_take(&mut locks, id) {
        let timeout_ms = Some(u32::try_from(TIMEOUT.as_millis()).unwrap_or(u32::MAX));
        return Ok(pb::LockHeartbeatResponse {
            lock_status: LockStatus::Locked.into(),
            timeout_ms,
        });
    }
    Ok(pb::LockHeartbeatResponse { lock_status: LockStatus::Unlocked.into(), timeout_ms: None })
}

/// Handles `GetLocks`: returns the locks of clients. Procedures hold no visible lock.
pub(super) fn list(
    request_context: &RequestContext<'_>,
    _: &pb::GetLocksRequest,
) -> Result<pb::GetLocksResponse, CallError> {
    let mut locks = request_context.state.locks.lock();
    remove_expired(&mut locks, Instant::now());
    let mut resources = BTreeMap::new();
    for lock in locks.values().filter(|lock| lock.held) {
        for (kind, name) in lock.resource.resources() {
            let lock_type = if lock.exclusive { LockType::Exclusive } else { LockType::Shared };
            let resource = pb::LockedResource {
                resource_type: kind.into(),
                resource_name: Some(name.clone()),
                ..Default::default()
            };
            let resource = resources.entry((kind as i32, name)).or_insert(resource);
            resource.lock_type = lock_type.into();
            resource.shared_lock_count =
                Some(resource.shared_lock_count() + i32::from(!lock.exclusive));
        }
    }
    Ok(pb::GetLocksResponse { lock: resources.into_values().collect() })
}
