//! Registry of applied nonces: a client that received no response retries an increment with the
//! same nonce, and the operation must not be applied twice.
//!
//! The log contains the nonces too, so that the server can restore them after a crash.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halite_engine::Nonce;

use crate::outside::Instant;

/// Maximum outcomes of one generation; two generations are retained. At nine bytes each that bounds
/// the memory. It covers a client that retries after a minute, at up to about 15,000 increments per
/// second.
const MAX_NONCES_PER_GENERATION: usize = 900_000;

/// Applied operations, by the digest of nonce group and nonce.
pub(crate) struct NonceManager {
    table: Mutex<NonceTable>,
    /// Notified when an operation in progress has ended.
    ended: Condvar,
    /// Randomly keyed, so that a client cannot construct a collision with another client's nonce.
    hasher: RandomState,
    generation: Duration,
}

struct NonceTable {
    in_progress: HashSet<u64>,
    applied: HashSet<u64>,
    /// Outcomes of the previous generation.
    previous: HashSet<u64>,
    since: Instant,
    /// Threads that wait for an operation to end. There are rarely any, and a notification without
    /// waiters costs a system call.
    waiting: usize,
}

/// State of an operation.
pub(crate) enum NonceState<'a> {
    /// Not applied yet; the caller reports the outcome through the guard.
    First(NonceGuard<'a>),
    /// Already applied.
    AlreadyApplied,
}

/// Operation in progress. Dropping it without [`NonceGuard::applied`] counts as not attempted.
pub(crate) struct NonceGuard<'a> {
    manager: &'a NonceManager,
    digest: Option<u64>,
}

impl NonceManager {
    /// Retains outcomes for at least `keep_ms` milliseconds, up to the size limit.
    pub(crate) fn new(keep_ms: u64) -> Self {
        let known = NonceTable {
            in_progress: HashSet::new(),
            applied: HashSet::new(),
            previous: HashSet::new(),
            since: Instant::now(),
            waiting: 0,
        };
        Self {
            table: Mutex::new(known),
            ended: Condvar::new(),
            hasher: RandomState::new(),
            generation: Duration::from_millis(keep_ms),
        }
    }

    /// Counts operations from before the start, newest first, as applied now.
    pub(crate) fn add_replayed(&self, replayed: &[Nonce]) {
        let digests = replayed
            .iter()
            .take(MAX_NONCES_PER_GENERATION)
            .map(|nonce| self.hasher.hash_one(nonce));
        self.lock().applied.extend(digests);
    }

    /// Begins an operation; without a nonce it is always the first. Blocks while the same operation
    /// is in progress, no longer than that operation takes.
    pub(crate) fn begin(&self, nonce: Option<Nonce>) -> NonceState<'_> {
        let Some(nonce) = nonce else {
            return NonceState::First(NonceGuard { manager: self, digest: None });
        };
        let digest = self.hasher.hash_one(nonce);
        let mut known = self.lock();
        while known.in_progress.contains(&digest) {
            known.waiting += 1;
            known = self.ended.wait(known).unwrap_or_else(PoisonError::into_inner);
            known.waiting -= 1;
        }
        self.begin_locked(&mut known, digest)
    }

    /// Begins an operation without blocking. Returns `None` while the same operation is in
    /// progress.
    pub(crate) fn try_begin(&self, nonce: Option<Nonce>) -> Option<NonceState<'_>> {
        let Some(nonce) = nonce else {
            return Some(NonceState::First(NonceGuard { manager: self, digest: None }));
        };
        let digest = self.hasher.hash_one(nonce);
        let mut known = self.lock();
        (!known.in_progress.contains(&digest)).then(|| self.begin_locked(&mut known, digest))
    }

    fn begin_locked(&self, known: &mut NonceTable, digest: u64) -> NonceState<'_> {
        if known.applied.contains(&digest) || known.previous.contains(&digest) {
            return NonceState::AlreadyApplied;
        }
        known.in_progress.insert(digest);
        NonceState::First(NonceGuard { manager: self, digest: Some(digest) })
    }

    fn lock(&self) -> MutexGuard<'_, NonceTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, digest: u64, applied: bool) {
        let mut known = self.lock();
        known.in_progress.remove(&digest);
        if applied {
            if known.applied.len() >= MAX_NONCES_PER_GENERATION
                || known.since.elapsed() >= self.generation
            {
                known.previous = std::mem::take(&mut known.applied);
                known.since = Instant::now();
            }
            known.applied.insert(digest);
        }
        let is_awaited = known.waiting > 0;
        drop(known);
        if is_awaited {
            self.ended.notify_all();
        }
    }
}

/// Returns the nonce of a request; 0 means none.
pub(crate) fn to_nonce(group: u64, number: u64) -> Option<Nonce> {
    (number != 0).then_some(Nonce { group, number })
}

impl NonceGuard<'_> {
    /// Records that the operation has been applied and must not be applied again.
    pub(crate) fn applied(mut self) {
        if let Some(digest) = self.digest.take() {
            self.manager.end(digest, true);
        }
    }
}

impl Drop for NonceGuard<'_> {
    fn drop(&mut self) {
        if let Some(digest) = self.digest.take() {
            self.manager.end(digest, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_first(nonces: &NonceManager, group: u64, number: u64) -> bool {
        match nonces.begin(to_nonce(group, number)) {
            NonceState::First(first) => {
                first.applied();
                true
            }
            NonceState::AlreadyApplied => false,
        }
    }

    #[test]
    fn nonce_applies_once_per_group_and_zero_always() {
        let nonces = NonceManager::new(60_000);
        assert!(is_first(&nonces, 1, 7));
        assert!(!is_first(&nonces, 1, 7));
        assert!(is_first(&nonces, 2, 7));
        assert!(is_first(&nonces, 1, 0) && is_first(&nonces, 1, 0));
    }

    #[test]
    fn nonces_recovered_at_start_count_as_applied() {
        let nonces = NonceManager::new(60_000);
        nonces.add_replayed(&[Nonce { group: 1, number: 7 }]);
        assert!(!is_first(&nonces, 1, 7));
        assert!(is_first(&nonces, 1, 8));
    }

    #[test]
    fn newest_nonces_are_kept_within_bound() {
        let nonces = NonceManager::new(3_600_000);
        let most = MAX_NONCES_PER_GENERATION as u64;
        assert!((1..=2 * most + 1).all(|number| is_first(&nonces, 1, number)));
        assert!((most + 2..=2 * most + 1).all(|number| !is_first(&nonces, 1, number)));
        let known = nonces.lock();
        assert!(known.applied.len() + known.previous.len() <= 2 * MAX_NONCES_PER_GENERATION);
    }

    #[test]
    fn nonce_of_failed_operation_is_reusable() {
        let nonces = NonceManager::new(60_000);
        drop(nonces.begin(to_nonce(1, 7)));
        assert!(is_first(&nonces, 1, 7));
    }

    #[test]
    fn concurrent_retry_waits_for_first_attempt() {
        let nonces = NonceManager::new(60_000);
        let NonceState::First(first) = nonces.begin(to_nonce(1, 7)) else {
            panic!("no other call has begun it")
        };
        std::thread::scope(|scope| {
            let second = scope.spawn(|| is_first(&nonces, 1, 7));
            first.applied();
            assert!(!second.join().unwrap());
        });
    }
}
