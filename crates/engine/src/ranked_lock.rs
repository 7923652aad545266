//! Locks with ranks. Builds with debug assertions verify that each thread acquires its locks in the
//! order of their ranks, which excludes deadlocks among them. Other builds, and those with loom,
//! verify nothing and do not record which locks a thread holds.
//!
//! The holder of `ddl` may exclude the compactions of several regions and hold their maintenance
//! locks: those of one rank in the order of the regions, and those of one region in the order of
//! their ranks. All others hold one lock of a rank.
//!
//! A lock that is tried instead of waited for may be acquired in any order; it counts for the locks
//! that are acquired after it. A thread that waits for a condition keeps the rank of the lock that
//! it waits with, since it acquires no other in the meantime.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use halite_types::RegionInfo;

use crate::heal::{Healed, healed_try};

/// Ranks of locks, in the order in which a thread acquires them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LockRank {
    /// Changes of the set of tables and regions.
    Ddl,
    /// Claims of files to compact in a region, or the exclusion of its compactions.
    Compaction,
    /// Flush, split or alteration of a region.
    Maintenance,
    /// Replacement of a table's regions.
    TableRegions,
    /// Moves and deletions of store files.
    Archiver,
    /// Rows of a region.
    Rows,
    /// Commits of a region.
    Commit,
    /// Nonce files of the log.
    StoredNonces,
    /// Segments of the log.
    SegmentWriter,
    /// Buffer of the log.
    WalBuffer,
    /// Locks whose holders acquire no other.
    Leaf,
}

/// Mutex with a rank. It remains usable after a panic, as described in [`crate::heal`].
#[derive(Debug)]
pub(crate) struct RankedMutex<T> {
    rank: LockRank,
    mutex: Mutex<T>,
}

/// Guard of a [`RankedMutex`].
pub(crate) struct RankedGuard<'a, T> {
    // Released before its rank.
    guard: MutexGuard<'a, T>,
    held: HeldLock,
}

impl<T: Default> Default for RankedMutex<T> {
    /// Returns a leaf lock.
    fn default() -> Self {
        Self::new(LockRank::Leaf, T::default())
    }
}

impl<T> RankedMutex<T> {
    pub(crate) fn new(rank: LockRank, value: T) -> Self {
        Self { rank, mutex: Mutex::new(value) }
    }

    /// Acquires the lock.
    ///
    /// # Panics
    /// With debug assertions, if the thread holds a lock that must be acquired after this one.
    #[inline]
    pub(crate) fn lock(&self) -> RankedGuard<'_, T> {
        let held = HeldLock::acquire(self.rank, None);
        RankedGuard { guard: self.mutex.lock().healed(), held }
    }

    /// As [`RankedMutex::lock`], for a lock that every region has.
    #[inline]
    pub(crate) fn lock_of(&self, region: &RegionInfo) -> RankedGuard<'_, T> {
        let held = HeldLock::acquire(self.rank, Some(region));
        RankedGuard { guard: self.mutex.lock().healed(), held }
    }

    /// Acquires the lock unless another thread has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<RankedGuard<'_, T>> {
        let guard = healed_try(self.mutex.try_lock())?;
        Some(RankedGuard { guard, held: HeldLock::acquired(self.rank, None) })
    }
}

impl<T> RankedGuard<'_, T> {
    /// Waits for a condition with the lock released.
    pub(crate) fn wait(self, condition: &Condvar) -> Self {
        let Self { guard, held } = self;
        Self { guard: condition.wait(guard).healed(), held }
    }

    /// Waits while `is_waiting` returns `true`, no longer than `timeout`.
    pub(crate) fn wait_timeout_while(
        self,
        condition: &Condvar,
        timeout: Duration,
        mut is_waiting: impl FnMut(&T) -> bool,
    ) -> Self {
        let Self { guard, held } = self;
        let waited = condition.wait_timeout_while(guard, timeout, |value| is_waiting(value));
        Self { guard: waited.healed().0, held }
    }

    /// As [`RankedGuard::wait`], no longer than `timeout`. Also returns `true` if that has passed.
    pub(crate) fn wait_timeout(self, condition: &Condvar, timeout: Duration) -> (Self, bool) {
        let Self { guard, held } = self;
        let (guard, waited) = condition.wait_timeout(guard, timeout).healed();
        (Self { guard, held }, waited.timed_out())
    }
}

impl<T> Deref for RankedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for RankedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

pub(crate) use checker::HeldLock;

/// Loom runs its threads on one thread of the operating system, whose locks would be mixed up.
#[cfg(all(debug_assertions, not(halite_loom)))]
mod checker {
    use std::cell::{Cell, RefCell};
    use std::fmt;

    use bytes::Bytes;
    use halite_types::RegionInfo;

    use super::LockRank;

    thread_local! {
        static HELD: RefCell<Vec<(u64, HeldRank)>> = const { RefCell::new(Vec::new()) };
        static NEXT_ID: Cell<u64> = const { Cell::new(0) };
    }

    /// Rank of a lock that a thread holds, and the position of its region among all regions.
    #[derive(Clone, PartialEq, Eq)]
    struct HeldRank {
        rank: LockRank,
        region: Option<(String, Bytes, u64)>,
    }

    impl fmt::Display for HeldRank {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match &self.region {
                Some((table, start, id)) => write!(
                    f,
                    "{:?} of region {table},{},{id}",
                    self.rank,
                    halite_types::key::to_string_binary(start)
                ),
                None => write!(f, "{:?}", self.rank),
            }
        }
    }

    impl HeldRank {
        fn new(rank: LockRank, region: Option<&RegionInfo>) -> Self {
            let region = region
                .map(|region| (region.table.to_string(), region.start.clone(), region.region_id));
            Self { rank, region }
        }

        /// Returns `true` if a thread that holds this lock may acquire `next`. The holder of `ddl`
        /// may have the compaction and maintenance locks of several regions: those of one rank in
        /// the order of the regions, and those of one region in the order of their ranks.
        fn may_precede(&self, next: &Self, holds_ddl: bool) -> bool {
            match (&self.region, &next.region) {
                (Some(held), Some(wanted)) if held != wanted => {
                    holds_ddl && (self.rank != next.rank || held < wanted)
                }
                _ => self.rank < next.rank,
            }
        }
    }

    /// Rank that the thread holds until it is dropped.
    #[derive(Debug)]
    pub(crate) struct HeldLock {
        id: u64,
    }

    impl HeldLock {
        /// Registers a lock that the thread is about to wait for.
        ///
        /// # Panics
        /// If the thread holds a lock that must be acquired after this one.
        pub(crate) fn acquire(rank: LockRank, region: Option<&RegionInfo>) -> Self {
            let next = HeldRank::new(rank, region);
            let conflict = HELD.with_borrow(|held| {
                let holds_ddl = held.iter().any(|(_, held)| held.rank == LockRank::Ddl);
                let conflict = held.iter().find(|(_, held)| !held.may_precede(&next, holds_ddl));
                conflict.map(|(_, held)| held.to_string())
            });
            // A panic during a panic would end the process.
            if let Some(held) = conflict.filter(|_| !std::thread::panicking()) {
                panic!("lock order: {next} is acquired by a thread that holds {held}");
            }
            Self::acquired(rank, region)
        }

        /// Registers a lock that the thread has acquired without waiting.
        pub(crate) fn acquired(rank: LockRank, region: Option<&RegionInfo>) -> Self {
            let id = NEXT_ID.get();
            NEXT_ID.set(id + 1);
            HELD.with_borrow_mut(|held| held.push((id, HeldRank::new(rank, region))));
            Self { id }
        }
    }

    impl Drop for HeldLock {
        fn drop(&mut self) {
            // The list may no longer exist while the thread ends.
            let _ = HELD.try_with(|held| held.borrow_mut().retain(|(id, _)| *id != self.id));
        }
    }
}

#[cfg(not(all(debug_assertions, not(halite_loom))))]
mod checker {
    use halite_types::RegionInfo;

    use super::LockRank;

    /// Rank that the thread holds; not recorded in this build.
    #[derive(Debug)]
    pub(crate) struct HeldLock;

    impl HeldLock {
        #[inline]
        pub(crate) fn acquire(_: LockRank, _: Option<&RegionInfo>) -> Self {
            Self
        }

        #[inline]
        pub(crate) fn acquired(_: LockRank, _: Option<&RegionInfo>) -> Self {
            Self
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use bytes::Bytes;

    use super::*;

    fn region(start: &'static str) -> RegionInfo {
        RegionInfo {
            table: "t".parse().unwrap(),
            start: start.into(),
            end: Bytes::new(),
            region_id: 1,
            encoded_name: String::new(),
        }
    }

    /// Returns the message of the panic of `work`.
    fn panic_of(work: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    }

    fn mutex(rank: LockRank) -> RankedMutex<()> {
        RankedMutex::new(rank, ())
    }

    #[test]
    fn locks_are_acquired_in_rank_order() {
        let (commit, buffer) = (mutex(LockRank::Commit), mutex(LockRank::WalBuffer));
        let leaf = mutex(LockRank::Leaf);
        let (first, second) = (commit.lock(), buffer.lock());
        drop(leaf.lock());
        // The order of releases is free.
        drop(first);
        drop(second);
        let held = buffer.lock();
        let message = panic_of(|| drop(commit.lock()));
        assert_eq!(message, "lock order: Commit is acquired by a thread that holds WalBuffer");
        // A refused lock is not registered.
        drop(held);
        drop(commit.lock());
    }

    #[test]
    fn leaf_lock_is_last() {
        let (leaf, other) = (mutex(LockRank::Leaf), mutex(LockRank::Leaf));
        let _held = leaf.lock();
        assert!(panic_of(|| drop(other.lock())).contains("Leaf"));
    }

    #[test]
    fn try_lock_may_be_out_of_order_and_counts() {
        let (writer, buffer) = (mutex(LockRank::SegmentWriter), mutex(LockRank::WalBuffer));
        let held = buffer.lock();
        let tried = writer.try_lock().unwrap();
        drop(held);
        assert!(panic_of(|| drop(mutex(LockRank::Commit).lock())).contains("SegmentWriter"));
        drop(tried);
    }

    #[test]
    fn regions_are_locked_in_key_order_under_ddl() {
        let [a, b] = ["a", "b"].map(region);
        let [first, second] = [(); 2].map(|()| mutex(LockRank::Compaction));
        let maintenance = mutex(LockRank::Maintenance);
        let held = first.lock_of(&a);
        drop(maintenance.lock_of(&a));
        let message = panic_of(|| drop(second.lock_of(&b)));
        assert!(message.contains("Compaction of region t,b,1"), "{message}");
        assert!(message.ends_with("Compaction of region t,a,1"), "{message}");
        drop(held);

        let ddl = mutex(LockRank::Ddl);
        let _ddl = ddl.lock();
        let held = first.lock_of(&a);
        let other = maintenance.lock_of(&a);
        drop(second.lock_of(&b));
        drop((held, other));
        let _held = first.lock_of(&b);
        panic_of(|| drop(second.lock_of(&a)));
    }

    #[test]
    fn rank_is_held_during_wait() {
        let (buffer, condition) = (mutex(LockRank::WalBuffer), Condvar::new());
        let (guard, timed_out) = buffer.lock().wait_timeout(&condition, Duration::from_millis(1));
        assert!(timed_out && panic_of(|| drop(mutex(LockRank::Rows).lock())).contains("WalBuffer"));
        drop(guard);
        drop(mutex(LockRank::Rows).lock());
    }
}
