//! `LockService`: locks that clients take on namespaces, tables and regions (HBase:
//! `LockProcedure`, `EntityLock`).
//!
//! A client requests a lock, receives an id, and sends heartbeats. The first heartbeat that finds
//! the lock free acquires it. The lock is lost when no heartbeat arrives for [`TIMEOUT`]. Locks are
//! advisory: they exclude only other locks, and table changes do not wait for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halite_types::TableName;
use halite_wire::convert::region::from_proto;
use halite_wire::convert::schema::table_name_from_proto;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use pb::lock_heartbeat_response::LockStatus;
use pb::{LockType, LockedResourceType};

use super::procedures::Nonce;
use super::request_context::{RequestContext, check_exists, check_namespace, nonce};
use crate::call::CallError;
use crate::outside::Instant;

/// Time that a lock is held without a heartbeat (`hbase.master.procedure.remote.locks.timeout.ms`).
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of regions of one lock.
const MAX_REGIONS_PER_LOCK: usize = 1_000;
/// Maximum number of locks, held or waiting.
const MAX_LOCKS: usize = 1_000;

/// Resource of a lock. A lock on a namespace or table includes its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LockResource {
    Namespace(String),
    Table(TableName),
    /// By encoded names.
    Regions(TableName, BTreeSet<String>),
}

impl LockResource {
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Namespace(a), other) | (other, Self::Namespace(a)) => *a == other.namespace(),
            (Self::Regions(a, some), Self::Regions(b, others)) => {
                a == b && !some.is_disjoint(others)
            }
            (Self::Table(a), Self::Table(b) | Self::Regions(b, _))
            | (Self::Regions(a, _), Self::Table(b)) => a == b,
        }
    }

    fn resources(&self) -> Vec<(LockedResourceType, String)> {
        match self {
            Self::Namespace(name) => vec![(LockedResourceType::Namespace, name.clone())],
            Self::Table(table) => vec![(LockedResourceType::Table, table.to_string())],
            Self::Regions(_, names) => {
                names.iter().map(|name| (LockedResourceType::Region, name.clone())).collect()
            }
        }
    }

    fn namespace(&self) -> &str {
        match self {
            Self::Namespace(name) => name,
            Self::Table(table) | Self::Regions(table, _) => table.namespace(),
        }
    }
}

#[derive(Debug)]
struct Lock {
    resource: LockResource,
    exclusive: bool,
    held: bool,
    nonce: Nonce,
    /// Time of the last heartbeat of its client.
    last_heartbeat: Instant,
}

impl Lock {
    fn excludes(&self, other: &Self) -> bool {
        (self.exclusive || other.exclusive) && self.resource.meets(&other.resource)
    }
}

/// Locks that are held or waited for, by id. Lower ids were requested earlier and take precedence.
#[derive(Debug, Default)]
pub(crate) struct Locks(Mutex<BTreeMap<u64, Lock>>);

impl Locks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Lock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove_expired(locks: &mut BTreeMap<u64, Lock>, now: Instant) {
    locks.retain(|_, lock| now.duration_since(lock.last_heartbeat) < TIMEOUT);
}

/// Acquires the lock unless an earlier one, held or waiting, excludes it. Returns `true` if it is
/// held.
fn try_take(locks: &mut BTreeMap<u64, Lock>, id: u64) -> bool {
    let Some(wanted) = locks.get(&id) else { return false };
    let is_free = wanted.held
        || !locks.iter().any(|(other, lock)| {
            *other != id && (lock.held || *other < id) && lock.excludes(wanted)
        });
    if let Some(lock) = locks.get_mut(&id) {
        lock.held = is_free;
    }
    is_free
}

/// Handles `RequestLock`.
pub(super) fn request(
    asked: &RequestContext<'_>,
    request: &pb::LockRequest,
) -> Result<pb::LockResponse, CallError> {
    if request.description().is_empty() {
        return Err(CallError::do_not_retry(
            "java.lang.IllegalArgumentException: Empty description",
        ));
    }
    let subject = lock_resource(asked, request)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let mut locks = asked.context.master.locks.lock();
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
    let id = asked.context.master.procedures.take_id();
    let exclusive = request.lock_type() == LockType::Exclusive;
    locks.insert(
        id,
        Lock { resource: subject, exclusive, held: false, nonce, last_heartbeat: Instant::now() },
    );
    try_take(&mut locks, id);
    Ok(pb::LockResponse { proc_id: id })
}

fn lock_resource(
    asked: &RequestContext<'_>,
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
        check_exists(asked.engine(), &table)?;
        let regions = request.region_info.iter().map(|region| Ok(from_proto(region)?.encoded_name));
        return Ok(LockResource::Regions(table, regions.collect::<Result<_, CallError>>()?));
    }
    if let Some(table) = &request.table_name {
        let table = table_name_from_proto(table)?;
        check_exists(asked.engine(), &table)?;
        return Ok(LockResource::Table(table));
    }
    if let Some(namespace) = &request.namespace {
        check_namespace(asked.engine(), namespace)?;
        return Ok(LockResource::Namespace(namespace.clone()));
    }
    Err(CallError::do_not_retry(
        "java.lang.IllegalArgumentException: one of table/namespace/region should be specified",
    ))
}

/// Handles `LockHeartbeat`: keeps a lock or its position in the queue, or releases it.
pub(super) fn heartbeat(
    asked: &RequestContext<'_>,
    request: &pb::LockHeartbeatRequest,
) -> Result<pb::LockHeartbeatResponse, CallError> {
    let mut locks = asked.context.master.locks.lock();
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
    asked: &RequestContext<'_>,
    _: &pb::GetLocksRequest,
) -> Result<pb::GetLocksResponse, CallError> {
    let mut locks = asked.context.master.locks.lock();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(subject: LockResource, exclusive: bool, heard: Instant) -> Lock {
        Lock {
            resource: subject,
            exclusive,
            held: false,
            nonce: Nonce::default(),
            last_heartbeat: heard,
        }
    }

    fn table(name: &str) -> LockResource {
        LockResource::Table(name.parse().unwrap())
    }

    #[test]
    fn a_lock_is_on_what_is_in_its_namespace_or_table_too() {
        let regions = |table: &str, names: &[&str]| {
            LockResource::Regions(
                table.parse().unwrap(),
                names.iter().map(|name| (*name).to_owned()).collect(),
            )
        };
        let namespace = |name: &str| LockResource::Namespace(name.to_owned());
        assert!(
            namespace("ns").meets(&table("ns:t"))
                && table("ns:t").meets(&namespace("ns"))
                && !namespace("ns").meets(&table("t"))
        );
        assert!(
            table("t").meets(&regions("t", &["a"]))
                && !table("t").meets(&regions("u", &["a"]))
                && !table("t").meets(&table("u"))
        );
        assert!(
            regions("t", &["a", "b"]).meets(&regions("t", &["b"]))
                && !regions("t", &["a"]).meets(&regions("t", &["b"]))
        );
        assert!(
            regions("ns:t", &["a"]).meets(&namespace("ns"))
                && namespace("ns").meets(&namespace("ns"))
        );
    }

    #[test]
    fn whoever_asked_first_is_first_and_the_silent_lose_theirs() {
        let start = Instant::now();
        let late = start + TIMEOUT / 2;
        let mut locks = BTreeMap::from([
            (1, lock(table("t"), true, start)),
            (2, lock(table("t"), false, late)),
            (3, lock(table("t"), true, late)),
            (4, lock(table("t"), false, late)),
            (5, lock(table("u"), true, late)),
        ]);
        assert!(try_take(&mut locks, 1) && try_take(&mut locks, 1) && try_take(&mut locks, 5));
        assert!(!try_take(&mut locks, 2) && !try_take(&mut locks, 9));
        remove_expired(&mut locks, start + TIMEOUT);
        assert!(!locks.contains_key(&1) && try_take(&mut locks, 2));
        assert!(!try_take(&mut locks, 3), "it is shared");
        assert!(!try_take(&mut locks, 4), "one that excludes it waits before it");
        locks.remove(&3);
        assert!(try_take(&mut locks, 4), "it is shared with the other");
    }
}
