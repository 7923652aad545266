//! Turns of callers that wait for the log: one of them writes for all, the others sleep until their
//! position is reached or it is their turn.
//!
//! A lock would do the same, but slowly with many callers: each of them would acquire it only to
//! find its position reached, and wake the next one, while nothing is written. Here the turn is
//! passed on first, and then all callers whose position is reached are woken.

use std::sync::Arc;

use crate::atomics::{AtomicBool, AtomicU8, Mutex, Ordering, Thread, current_thread, park};
use crate::heal::Healed;

/// Turns of callers.
#[derive(Default)]
pub(super) struct Turns {
    /// `true` while a caller has the turn, or is woken for it.
    is_taken: AtomicBool,
    /// Callers that sleep, in the order of their arrival; none while no caller has the turn.
    sleepers: Mutex<Vec<Arc<Sleeper>>>,
}

/// Caller that sleeps.
struct Sleeper {
    position: u64,
    fsync: bool,
    state: AtomicU8,
    thread: Thread,
}

/// States of a sleeper.
const ASLEEP: u8 = 0;
const REACHED: u8 = 1;
const TURN: u8 = 2;

impl Sleeper {
    fn wake(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        self.thread.unpark();
    }

    /// Sleeps until it is woken, and returns its new state.
    fn sleep(&self) -> u8 {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state != ASLEEP {
                return state;
            }
            park();
        }
    }
}

/// Turn of a caller, which passes it on when it drops this, also by a panic. `R` tells for a
/// position, and whether it must be synced, that its caller need not wait any more.
pub(super) struct Turn<'a, R: Fn(u64, bool) -> bool> {
    turns: &'a Turns,
    is_reached: R,
}

impl Turns {
    /// Waits for the turn, or for a position. Returns `None` if the position is reached.
    pub(super) fn wait<R: Fn(u64, bool) -> bool>(
        &self,
        position: u64,
        fsync: bool,
        is_reached: R,
    ) -> Option<Turn<'_, R>> {
        if self.is_taken.swap(true, Ordering::AcqRel) {
            let mut sleepers = self.sleepers.lock().healed();
            // Under the lock, as the one who has the turn asks: no caller sleeps whom it overlooks.
            if is_reached(position, fsync) {
                return None;
            }
            if self.is_taken.swap(true, Ordering::AcqRel) {
                let (state, thread) = (AtomicU8::new(ASLEEP), current_thread());
                let sleeper = Arc::new(Sleeper { position, fsync, state, thread });
                sleepers.push(Arc::clone(&sleeper));
                drop(sleepers);
                if sleeper.sleep() == REACHED {
                    return None;
                }
            }
        }
        Some(Turn { turns: self, is_reached })
    }
}

impl<R: Fn(u64, bool) -> bool> Drop for Turn<'_, R> {
    fn drop(&mut self) {
        let mut sleepers = self.turns.sleepers.lock().healed();
        let (reached, mut waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut *sleepers)
            .into_iter()
            .partition(|sleeper| (self.is_reached)(sleeper.position, sleeper.fsync));
        let next = (!waiting.is_empty()).then(|| waiting.remove(0));
        *sleepers = waiting;
        if next.is_none() {
            // A swap comes after the attempts that it ends, also in the model of memory.
            self.turns.is_taken.swap(false, Ordering::AcqRel);
        }
        drop(sleepers);
        // The next one writes while the others are woken.
        next.iter().for_each(|sleeper| sleeper.wake(TURN));
        reached.iter().for_each(|sleeper| sleeper.wake(REACHED));
    }
}

/// Model of callers that append, and write what all have appended.
#[cfg(test)]
pub(crate) mod model {
    use super::Turns;
    use crate::atomics::{AtomicU64, Ordering};

    #[derive(Default)]
    pub(crate) struct Log {
        turns: Turns,
        appended: AtomicU64,
        written: AtomicU64,
        synced: AtomicU64,
        /// Times that a caller wrote.
        pub(crate) writes: AtomicU64,
    }

    impl Log {
        /// Appends a record and waits for it.
        pub(crate) fn append(&self, fsync: bool) {
            let position = self.appended.fetch_add(1, Ordering::AcqRel) + 1;
            let is_reached = |position, fsync| {
                let mark = if fsync { &self.synced } else { &self.written };
                mark.load(Ordering::Acquire) >= position
            };
            if let Some(_turn) = self.turns.wait(position, fsync, is_reached)
                && !is_reached(position, fsync)
            {
                let end = self.appended.load(Ordering::Acquire);
                self.writes.fetch_add(1, Ordering::Relaxed);
                assert!(self.written.swap(end, Ordering::AcqRel) <= end, "two have the turn");
                if fsync {
                    self.synced.store(end, Ordering::Release);
                }
            }
            assert!(is_reached(position, fsync), "a caller returned too early");
        }
    }
}

#[cfg(all(test, not(halite_loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::Ordering;

    use super::model::Log;
    use super::*;

    #[test]
    fn every_caller_of_many_returns() {
        const THREADS: u64 = 16;
        const APPENDS: u64 = 5_000;
        let log = Log::default();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let log = &log;
                scope.spawn(move || {
                    (0..APPENDS).for_each(|number| log.append((thread + number) % 3 == 0));
                });
            }
        });
        let writes = log.writes.load(Ordering::Relaxed);
        assert!((1..=THREADS * APPENDS).contains(&writes), "{writes}");
    }

    #[test]
    fn turn_is_passed_on_by_a_panic() {
        let turns = Turns::default();
        catch_unwind(AssertUnwindSafe(|| {
            let _turn = turns.wait(1, true, |_, _| false).unwrap();
            panic!("while it writes");
        }))
        .unwrap_err();
        assert!(turns.wait(1, true, |_, _| false).is_some());
    }
}
