//! Locks that clients hold or wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halite_types::TableName;
use halite_wire::proto::LockedResourceType;

use super::procedures::Nonce;
use crate::outside::Instant;

/// Time that a lock is held without a heartbeat (`hbase.master.procedure.remote.locks.timeout.ms`).
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Resource of a lock. A lock on a namespace or table includes its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LockResource {
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

    /// Returns the names of its resources, as lists of locks contain them.
    pub(crate) fn resources(&self) -> Vec<(LockedResourceType, String)> {
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

/// Lock that a client holds or waits for.
#[derive(Debug)]
pub(crate) struct Lock {
    pub(crate) resource: LockResource,
    pub(crate) exclusive: bool,
    pub(crate) held: bool,
    pub(crate) nonce: Nonce,
    /// Time of the last heartbeat of its client.
    pub(crate) last_heartbeat: Instant,
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
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Lock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the locks whose clients have sent no heartbeat for [`TIMEOUT`].
pub(crate) fn remove_expired(locks: &mut BTreeMap<u64, Lock>, now: Instant) {
    locks.retain(|_, lock| now.duration_since(lock.last_heartbeat) < TIMEOUT);
}

/// Acquires the lock unless an earlier one, held or waiting, excludes it. Returns `true` if it is
/// held.
pub(crate) fn try_take(locks: &mut BTreeMap<u64, Lock>, id: u64) -> bool {
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
    fn lock_conflicts_with_locks_on_contained_resources() {
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
    fn locks_are_granted_in_order_and_expire() {
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
