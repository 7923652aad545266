//! Operations that must not be applied twice: a client that got no answer sends an increment again with the same nonce.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

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
pub(crate) enum Nonce<'a> {
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
    /// Remembers outcomes for at least `keep_ms` milliseconds, as far as there is room.
    pub(crate) fn new(keep_ms: u64) -> Self {
        let known = Known { under_way: HashSet::new(), applied: HashSet::new(), before: HashSet::new(), since: Instant::now(), waiting: 0 };
        Self { known: Mutex::new(known), ended: Condvar::new(), hasher: RandomState::new(), generation: Duration::from_millis(keep_ms) }
    }

    /// Begins an operation. The nonce 0 says that the client does not mind. Blocks while the same operation is under
    /// way, which takes no longer than the operation.
    pub(crate) fn begin(&self, group: u64, nonce: u64) -> Nonce<'_> {
        if nonce == 0 {
            return Nonce::First(FirstTime { nonces: self, digest: None });
        }
        let digest = self.digest(group, nonce);
        let mut known = self.lock();
        while known.under_way.contains(&digest) {
            known.waiting += 1;
            known = self.ended.wait(known).expect("nothing panics while it holds the nonces");
            known.waiting -= 1;
        }
        self.begin_locked(&mut known, digest)
    }

    /// The same without blocking; `None` while the same operation is under way.
    pub(crate) fn try_begin(&self, group: u64, nonce: u64) -> Option<Nonce<'_>> {
        if nonce == 0 {
            return Some(Nonce::First(FirstTime { nonces: self, digest: None }));
        }
        let digest = self.digest(group, nonce);
        let mut known = self.lock();
        (!known.under_way.contains(&digest)).then(|| self.begin_locked(&mut known, digest))
    }

    fn digest(&self, group: u64, nonce: u64) -> u64 {
        self.hasher.hash_one((group, nonce))
    }

    fn begin_locked(&self, known: &mut Known, digest: u64) -> Nonce<'_> {
        if known.applied.contains(&digest) || known.before.contains(&digest) {
            return Nonce::Again;
        }
        known.under_way.insert(digest);
        Nonce::First(FirstTime { nonces: self, digest: Some(digest) })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("nothing panics while it holds the nonces")
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

    fn is_first(nonces: &Nonces, group: u64, nonce: u64) -> bool {
        match nonces.begin(group, nonce) {
            Nonce::First(first) => {
                first.applied();
                true
            }
            Nonce::Again => false,
        }
    }

    #[test]
    fn a_nonce_counts_once_in_its_group_and_zero_counts_always() {
        let nonces = Nonces::new(60_000);
        assert!(is_first(&nonces, 1, 7));
        assert!(!is_first(&nonces, 1, 7));
        assert!(is_first(&nonces, 2, 7));
        assert!(is_first(&nonces, 1, 0) && is_first(&nonces, 1, 0));
    }

    #[test]
    fn what_failed_may_be_tried_again() {
        let nonces = Nonces::new(60_000);
        drop(nonces.begin(1, 7));
        assert!(is_first(&nonces, 1, 7));
    }

    #[test]
    fn whoever_comes_while_it_is_under_way_waits_for_its_end() {
        let nonces = Nonces::new(60_000);
        let Nonce::First(first) = nonces.begin(1, 7) else { panic!("nobody else has begun it") };
        std::thread::scope(|scope| {
            let second = scope.spawn(|| is_first(&nonces, 1, 7));
            first.applied();
            assert!(!second.join().unwrap());
        });
    }
}
