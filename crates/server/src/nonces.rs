//! Operations that must not be applied twice: a client that got no answer sends an increment again with the same nonce.
//!
//! The log has the nonces too, so that a server that died knows what it had applied.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halite_engine::Nonce;

use crate::outside::Instant;

/// Outcomes of one generation; two are kept. At nine bytes each that bounds the memory, and a client that waits a
/// minute before it asks again is served up to some fifteen thousand increments a second.
const GENERATION_MAX: usize = 900_000;

/// What has been applied, by the digest of group and nonce.
pub(crate) struct Nonces {
    known: Mutex<Known>,
    /// Something under way has ended.
    ended: Condvar,
    /// Keyed by chance, so that no client can aim at another's nonce.
    hasher: RandomState,
    generation: Duration,
}

struct Known {
    under_way: HashSet<u64>,
    applied: HashSet<u64>,
    /// The generation before.
    before: HashSet<u64>,
    since: Instant,
    /// Threads that wait for an operation to end. There is hardly ever one, and to tell nobody takes a system call.
    waiting: usize,
}

/// Whether an operation is to be applied.
pub(crate) enum Attempt<'a> {
    /// It is; the outcome is to be told.
    First(FirstTime<'a>),
    /// It has been applied already.
    Again,
}

/// An operation that is under way; dropped without [`FirstTime::applied`] it counts as never tried.
pub(crate) struct FirstTime<'a> {
    nonces: &'a Nonces,
    digest: Option<u64>,
}

impl Nonces {
    /// Remembers outcomes for at least `keep_ms` milliseconds, as far as there is room; of what has been `applied` before the
    /// start, newest first, as if it had been applied just now.
    pub(crate) fn new(keep_ms: u64, applied: &[Nonce]) -> Self {
        let hasher = RandomState::new();
        let applied = applied.iter().take(GENERATION_MAX).map(|nonce| hasher.hash_one(nonce)).collect();
        let known = Known { under_way: HashSet::new(), applied, before: HashSet::new(), since: Instant::now(), waiting: 0 };
        Self { known: Mutex::new(known), ended: Condvar::new(), hasher, generation: Duration::from_millis(keep_ms) }
    }

    /// Begins an operation; without a nonce the client does not mind. Blocks while the same operation is under way, which takes
    /// no longer than the operation.
    pub(crate) fn begin(&self, nonce: Option<Nonce>) -> Attempt<'_> {
        let Some(nonce) = nonce else {
            return Attempt::First(FirstTime { nonces: self, digest: None });
        };
        let digest = self.hasher.hash_one(nonce);
        let mut known = self.lock();
        while known.under_way.contains(&digest) {
            known.waiting += 1;
            known = self.ended.wait(known).unwrap_or_else(PoisonError::into_inner);
            known.waiting -= 1;
        }
        self.begin_locked(&mut known, digest)
    }

    /// The same without blocking; `None` while the same operation is under way.
    pub(crate) fn try_begin(&self, nonce: Option<Nonce>) -> Option<Attempt<'_>> {
        let Some(nonce) = nonce else {
            return Some(Attempt::First(FirstTime { nonces: self, digest: None }));
        };
        let digest = self.hasher.hash_one(nonce);
        let mut known = self.lock();
        (!known.under_way.contains(&digest)).then(|| self.begin_locked(&mut known, digest))
    }

    fn begin_locked(&self, known: &mut Known, digest: u64) -> Attempt<'_> {
        if known.applied.contains(&digest) || known.before.contains(&digest) {
            return Attempt::Again;
        }
        known.under_way.insert(digest);
        Attempt::First(FirstTime { nonces: self, digest: Some(digest) })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, digest: u64, applied: bool) {
        let mut known = self.lock();
        known.under_way.remove(&digest);
        if applied {
            if known.applied.len() >= GENERATION_MAX || known.since.elapsed() >= self.generation {
                known.before = std::mem::take(&mut known.applied);
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

/// The nonce of a request, where 0 is none.
pub(crate) fn nonce_of(group: u64, number: u64) -> Option<Nonce> {
    (number != 0).then_some(Nonce { group, number })
}

impl FirstTime<'_> {
    /// The operation has been applied: it must not be applied again.
    pub(crate) fn applied(mut self) {
        if let Some(digest) = self.digest.take() {
            self.nonces.end(digest, true);
        }
    }
}

impl Drop for FirstTime<'_> {
    fn drop(&mut self) {
        if let Some(digest) = self.digest.take() {
            self.nonces.end(digest, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_first(nonces: &Nonces, group: u64, number: u64) -> bool {
        match nonces.begin(nonce_of(group, number)) {
            Attempt::First(first) => {
                first.applied();
                true
            }
            Attempt::Again => false,
        }
    }

    #[test]
    fn a_nonce_counts_once_in_its_group_and_zero_counts_always() {
        let nonces = Nonces::new(60_000, &[]);
        assert!(is_first(&nonces, 1, 7));
        assert!(!is_first(&nonces, 1, 7));
        assert!(is_first(&nonces, 2, 7));
        assert!(is_first(&nonces, 1, 0) && is_first(&nonces, 1, 0));
    }

    #[test]
    fn what_was_applied_before_the_start_counts() {
        let nonces = Nonces::new(60_000, &[Nonce { group: 1, number: 7 }]);
        assert!(!is_first(&nonces, 1, 7));
        assert!(is_first(&nonces, 1, 8));
    }

    #[test]
    fn the_newest_are_kept_however_many_there_are_and_memory_stays_bounded() {
        let nonces = Nonces::new(3_600_000, &[]);
        let most = GENERATION_MAX as u64;
        assert!((1..=2 * most + 1).all(|number| is_first(&nonces, 1, number)));
        assert!((most + 2..=2 * most + 1).all(|number| !is_first(&nonces, 1, number)));
        let known = nonces.lock();
        assert!(known.applied.len() + known.before.len() <= 2 * GENERATION_MAX);
    }

    #[test]
    fn what_failed_may_be_tried_again() {
        let nonces = Nonces::new(60_000, &[]);
        drop(nonces.begin(nonce_of(1, 7)));
        assert!(is_first(&nonces, 1, 7));
    }

    #[test]
    fn whoever_comes_while_it_is_under_way_waits_for_its_end() {
        let nonces = Nonces::new(60_000, &[]);
        let Attempt::First(first) = nonces.begin(nonce_of(1, 7)) else { panic!("nobody else has begun it") };
        std::thread::scope(|scope| {
            let second = scope.spawn(|| is_first(&nonces, 1, 7));
            first.applied();
            assert!(!second.join().unwrap());
        });
    }
}
