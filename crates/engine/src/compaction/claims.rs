//! Store files of a region that are being compacted, and the exclusion of compactions.
//!
//! Several compactions of one region run at the same time, each on files of its own. Flushes and
//! bulk loads do not take part: they only add files, which are newer than those of any running
//! compaction. The rules:
//!
//! 1. A file is claimed by one compaction at a time. The claim is made together with the selection,
//!    under the lock of the claims, and ends when the compaction has replaced its files or failed.
//! 2. Claimed files stay in the region's snapshot until their own compaction replaces them. Only
//!    compactions remove files from a store that is open, and a change of the region or of its
//!    table first excludes them.
//! 3. While compactions are excluded, none has a claim. The holder of the exclusion may compact.
//! 4. In the rows of each file that a compaction writes, its inputs follow each other in the order
//!    of the store's files, and the new file takes the place of the newest of them there
//!    (`merge::check_order`). Files whose rows the inputs do not have may lie in between: so
//!    compactions of different stripes are independent of each other.
//! 5. A compaction of all files of a store runs while no other file of the store is claimed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar};

use bytes::Bytes;
use halite_types::RegionInfo;

use crate::ranked_lock::{HeldLock, LockRank, RankedGuard, RankedMutex};
use crate::store::StoreFile;

/// Claims of one region.
#[derive(Default)]
pub(crate) struct CompactionClaims {
    state: RankedMutex<State>,
    /// Signaled when a claim or an exclusion ends.
    ended: Condvar,
    /// Number of threads that wait for running compactions.
    waiters: AtomicU64,
    /// Number of threads that wait for running compactions to be canceled.
    cancelers: AtomicU64,
}

#[derive(Default)]
struct State {
    claimed: Vec<ClaimedFiles>,
    /// Number of threads that exclude compactions, or wait for it. They precede new claims.
    excluders: usize,
    is_excluded: bool,
    next_id: u64,
}

struct ClaimedFiles {
    id: u64,
    family: Bytes,
    files: Vec<Arc<StoreFile>>,
}

/// Files of one compaction; released on drop.
pub(crate) struct Claim<'a> {
    claims: &'a CompactionClaims,
    id: u64,
    _held: HeldLock,
}

/// Exclusion of all compactions of a region until it is dropped.
pub(crate) struct Exclusion<'a> {
    claims: &'a CompactionClaims,
    _held: HeldLock,
}

impl CompactionClaims {
    /// Claims the files that `choose` returns next to a plan, given the claimed files of the
    /// family. Waits while compactions are excluded, and with `waits_for_family` while files of the
    /// family are claimed. `choose` acquires no lock.
    pub(crate) fn claim<T>(
        &self,
        region: &RegionInfo,
        family: &Bytes,
        waits_for_family: bool,
        choose: impl FnOnce(&[Arc<StoreFile>]) -> Option<(T, Vec<Arc<StoreFile>>)>,
    ) -> Option<(T, Claim<'_>)> {
        let held = HeldLock::acquire(LockRank::Compaction, Some(region));
        let mut state = self.wait_while(self.state.lock(), |state| {
            state.excluders > 0 || waits_for_family && state.has_claim(family)
        });
        let known = state.files_of(family);
        let (plan, files) = choose(&known)?;
        debug_assert!(
            !files.iter().any(|file| known.iter().any(|other| Arc::ptr_eq(file, other))),
            "a file is claimed once"
        );
        let id = state.next_id;
        state.next_id += 1;
        state.claimed.push(ClaimedFiles { id, family: family.clone(), files });
        drop(state);
        Some((plan, Claim { claims: self, id, _held: held }))
    }

    /// Returns the claimed files of a family.
    pub(crate) fn files_of(&self, family: &Bytes) -> Vec<Arc<StoreFile>> {
        self.state.lock().files_of(family)
    }

    /// Returns `true` if a compaction is running.
    pub(crate) fn any(&self) -> bool {
        !self.state.lock().claimed.is_empty()
    }

    /// Waits until no compaction is running, and prevents new ones. If it `cancels`, running ones
    /// are to end without a result: they may take hours.
    pub(crate) fn exclude(&self, region: &RegionInfo, cancels: bool) -> Exclusion<'_> {
        let held = HeldLock::acquire(LockRank::Compaction, Some(region));
        let mut state = self.state.lock();
        state.excluders += 1;
        self.cancelers.fetch_add(u64::from(cancels), Ordering::AcqRel);
        let mut state =
            self.wait_while(state, |state| state.is_excluded || !state.claimed.is_empty());
        state.is_excluded = true;
        self.cancelers.fetch_sub(u64::from(cancels), Ordering::AcqRel);
        Exclusion { claims: self, _held: held }
    }

    /// Returns `true` if running compactions are to end without a result.
    pub(crate) fn are_canceled(&self) -> bool {
        self.cancelers.load(Ordering::Acquire) > 0
    }

    /// Returns `true` if a thread waits for the end of a running compaction.
    pub(crate) fn are_awaited(&self) -> bool {
        self.waiters.load(Ordering::Relaxed) > 0
    }

    fn wait_while<'a>(
        &'a self,
        mut state: RankedGuard<'a, State>,
        is_waiting: impl Fn(&State) -> bool,
    ) -> RankedGuard<'a, State> {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        while is_waiting(&state) {
            state = state.wait(&self.ended);
        }
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        state
    }
}

impl State {
    fn has_claim(&self, family: &Bytes) -> bool {
        self.claimed.iter().any(|claimed| claimed.family == *family)
    }

    fn files_of(&self, family: &Bytes) -> Vec<Arc<StoreFile>> {
        let of_family = self.claimed.iter().filter(|claimed| claimed.family == *family);
        of_family.flat_map(|claimed| &claimed.files).cloned().collect()
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.claims.state.lock();
        let before = state.claimed.len();
        state.claimed.retain(|claimed| claimed.id != self.id);
        debug_assert_eq!(state.claimed.len() + 1, before, "a claim ends once");
        drop(state);
        self.claims.ended.notify_all();
    }
}

impl Drop for Exclusion<'_> {
    fn drop(&mut self) {
        let mut state = self.claims.state.lock();
        debug_assert!(state.is_excluded && state.claimed.is_empty(), "an exclusion is alone");
        state.is_excluded = false;
        state.excluders -= 1;
        drop(state);
        self.claims.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn region() -> RegionInfo {
        RegionInfo {
            table: "t".parse().unwrap(),
            start: Bytes::new(),
            end: Bytes::new(),
            region_id: 1,
            encoded_name: String::new(),
        }
    }

    #[test]
    fn claims_of_families_are_independent_and_exclusion_waits() {
        let (claims, region) = (CompactionClaims::default(), region());
        let claim = |family: &'static str, waits| {
            let family = Bytes::from(family);
            claims.claim(&region, &family, waits, |_| Some(((), Vec::new()))).map(|((), it)| it)
        };
        let is_excluded = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let first = claim("a", false).unwrap();
            scope.spawn(|| drop(claim("b", true).unwrap())).join().unwrap();
            assert!(claims.any() && !claims.are_awaited());
            let excluder = scope.spawn(|| {
                let exclusion = claims.exclude(&region, true);
                is_excluded.store(true, Ordering::Release);
                assert!(!claims.are_canceled() && !claims.any());
                drop(exclusion);
            });
            while !claims.are_canceled() {
                std::thread::yield_now();
            }
            assert!(claims.are_awaited() || !is_excluded.load(Ordering::Acquire));
            assert!(!is_excluded.load(Ordering::Acquire));
            drop(first);
            excluder.join().unwrap();
        });
        assert!(is_excluded.load(Ordering::Acquire) && claim("a", true).is_some());
    }

    #[test]
    fn declined_selection_leaves_no_claim() {
        let (claims, region) = (CompactionClaims::default(), region());
        let nothing = claims.claim(&region, &Bytes::from("a"), true, |known| {
            assert!(known.is_empty());
            None::<((), Vec<Arc<StoreFile>>)>
        });
        assert!(nothing.is_none() && !claims.any());
        drop(claims.exclude(&region, false));
    }
}
