//! Commit of one write: sequence id, log, memstore, visibility. It sees the rest of the store
//! through [`CommitEnv`], so it can be tested without one.
//!
//! The commit lock makes its holder the only writer of a region's memstores and keeps the order of
//! sequence ids the order of the log. No step waits for the disk.

use std::sync::Arc;

use halite_types::Result;

use super::mvcc::Mvcc;
use crate::ranked_lock::{LockRank, RankedGuard, RankedMutex};
use crate::wal::SyncLevel;

/// Steps of a commit outside the pipeline, for one write. The pipeline calls them in the order of
/// their declaration, with the commit lock held.
pub(crate) trait CommitEnv {
    /// Appends the write to the log and returns the position after it. The log advances the read
    /// point to `sequence` when the write is as durable as `level` requires.
    ///
    /// # Errors
    /// The log's failure. The log does not contain the write in that case.
    fn append(&self, sequence: u64, level: SyncLevel) -> Result<u64>;

    /// Inserts the cells into the memstores.
    fn insert(&self, sequence: u64);

    /// Makes a write that is not in the log visible after everything appended so far. Returns the
    /// position to wait for.
    fn complete_after_log(&self, sequence: u64) -> u64;
}

/// State of an applied write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    /// Visible; there is nothing to wait for.
    Visible,
    /// Visible once the log has written everything before `position`, and synced it if `fsync`.
    Pending { position: u64, fsync: bool },
}

/// Reason that a region rejects changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The region is closed.
    Closed,
    /// A panic interrupted an earlier change.
    Interrupted,
}

/// Commits of a region, one at a time.
#[derive(Debug)]
pub(crate) struct CommitPipeline {
    state: RankedMutex<CommitState>,
    mvcc: Arc<Mvcc>,
}

/// State that the commit lock protects in addition to the order of commits.
#[derive(Debug, Default)]
struct CommitState {
    /// `true` if writes are rejected.
    closed: bool,
    /// `true` while a change is in progress. If it is set when the lock is acquired, a panic
    /// interrupted a change: its sequence id may be in the log, and some of its cells in the
    /// memstores. No reader sees those cells, since the newest applied id stays before theirs. No
    /// flush writes them, for the same reason. No later write may have the id. The region therefore
    /// rejects writes, and the next open reads the change from the log, whole or not at all.
    changing: bool,
}

/// Commit lock of a region.
pub(crate) struct CommitGuard<'a> {
    state: RankedGuard<'a, CommitState>,
    mvcc: &'a Mvcc,
}

impl CommitPipeline {
    /// Returns the pipeline of a region whose newest sequence id is `last`.
    pub(crate) fn new(last: u64) -> Self {
        Self {
            state: RankedMutex::new(LockRank::Commit, CommitState::default()),
            mvcc: Arc::new(Mvcc::new(last)),
        }
    }

    /// Returns the sequence id marks of the region.
    pub(crate) fn mvcc(&self) -> &Arc<Mvcc> {
        &self.mvcc
    }

    /// Acquires the commit lock.
    pub(crate) fn lock(&self) -> CommitGuard<'_> {
        CommitGuard { state: self.state.lock(), mvcc: &self.mvcc }
    }
}

impl CommitGuard<'_> {
    /// Returns the reason that changes are rejected, if they are.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match (self.state.closed, self.state.changing) {
            (true, _) => Some(Refusal::Closed),
            (false, true) => Some(Refusal::Interrupted),
            (false, false) => None,
        }
    }

    /// Returns `true` if a panic interrupted an earlier change, whether or not the region is closed.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.state.changing
    }

    /// Rejects changes from now on, or accepts them again.
    pub(crate) fn set_closed(&mut self, closed: bool) {
        self.state.closed = closed;
    }

    /// Applies a write: a reader sees all of its cells or none. `level` is the progress that the
    /// log must make before it is visible; `None` if it is not logged.
    ///
    /// # Errors
    /// The log's failure. Nothing has been applied in that case.
    ///
    /// # Panics
    /// If the region rejects changes; the caller checks [`CommitGuard::refusal`].
    pub(crate) fn commit(
        &mut self,
        env: &impl CommitEnv,
        level: Option<SyncLevel>,
    ) -> Result<Committed> {
        assert_eq!(self.refusal(), None, "a write reached a region that rejects changes");
        self.state.changing = true;
        let committed = self.log_and_apply(env, level);
        self.state.changing = false;
        committed
    }

    fn log_and_apply(&self, env: &impl CommitEnv, level: Option<SyncLevel>) -> Result<Committed> {
        let was_caught_up = self.mvcc.is_caught_up();
        let sequence = self.mvcc.next();
        let position = level.map(|level| env.append(sequence, level)).transpose()?;
        env.insert(sequence);
        debug_assert_eq!(sequence, self.mvcc.next(), "another write was applied in between");
        self.mvcc.apply(sequence);
        Ok(match (position, level) {
            // Does not wait for the log, and neither does an earlier write: visible at once.
            (_, None | Some(SyncLevel::Async)) if was_caught_up => {
                self.mvcc.advance(sequence);
                debug_assert!(self.mvcc.read_point() >= sequence, "the write is visible");
                Committed::Visible
            }
            // Does not wait for the log itself, but for earlier writes.
            (position, None | Some(SyncLevel::Async)) => {
                let position = position.unwrap_or_else(|| env.complete_after_log(sequence));
                Committed::Pending { position, fsync: false }
            }
            (position, Some(level)) => Committed::Pending {
                position: position.expect("logged writes have a position"),
                fsync: level == SyncLevel::Fsync,
            },
        })
    }

    /// Assigns a sequence id that no cell of a memstore has. It is visible as soon as all earlier
    /// ones are; `complete_after_log` is called with it if they are not yet.
    pub(crate) fn allocate(&mut self, complete_after_log: impl FnOnce(u64)) -> u64 {
        let was_caught_up = self.mvcc.is_caught_up();
        let sequence = self.mvcc.next();
        self.mvcc.apply(sequence);
        if was_caught_up {
            self.mvcc.advance(sequence);
        } else {
            complete_after_log(sequence);
        }
        sequence
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use halite_types::Error;

    use super::*;
    use crate::heal::Healed;

    /// Call of a step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Step {
        Append(u64, SyncLevel),
        Insert(u64),
        CompleteAfterLog(u64),
    }

    /// Log and memstore that record their calls. The position after a write is ten times its
    /// sequence id.
    struct Recorder<'a> {
        pipeline: &'a CommitPipeline,
        steps: Mutex<Vec<Step>>,
        log_fails: AtomicBool,
        insertion_panics: AtomicBool,
    }

    impl<'a> Recorder<'a> {
        fn new(pipeline: &'a CommitPipeline) -> Self {
            Self {
                pipeline,
                steps: Mutex::default(),
                log_fails: AtomicBool::new(false),
                insertion_panics: AtomicBool::new(false),
            }
        }

        fn record(&self, step: Step) {
            self.steps.lock().healed().push(step);
        }

        fn take_steps(&self) -> Vec<Step> {
            std::mem::take(&mut *self.steps.lock().healed())
        }

        fn commit(&self, level: Option<SyncLevel>) -> Result<Committed> {
            self.pipeline.lock().commit(self, level)
        }
    }

    impl CommitEnv for Recorder<'_> {
        fn append(&self, sequence: u64, level: SyncLevel) -> Result<u64> {
            if self.log_fails.load(Ordering::Relaxed) {
                return Err(Error::invalid("the log is full"));
            }
            self.record(Step::Append(sequence, level));
            Ok(sequence * 10)
        }

        fn insert(&self, sequence: u64) {
            assert!(!self.insertion_panics.load(Ordering::Relaxed), "insertion");
            assert!(self.pipeline.mvcc().applied() < sequence, "applied before it is inserted");
            self.record(Step::Insert(sequence));
        }

        fn complete_after_log(&self, sequence: u64) -> u64 {
            self.record(Step::CompleteAfterLog(sequence));
            sequence * 10 + 1
        }
    }

    fn pending(position: u64, fsync: bool) -> Committed {
        Committed::Pending { position, fsync }
    }

    #[test]
    fn write_is_logged_then_inserted_then_applied() {
        let pipeline = CommitPipeline::new(6);
        let env = Recorder::new(&pipeline);
        for (sequence, level) in [(7, SyncLevel::Fsync), (8, SyncLevel::Flush)] {
            let committed = env.commit(Some(level)).unwrap();
            assert_eq!(committed, pending(sequence * 10, level == SyncLevel::Fsync));
            assert_eq!(env.take_steps(), [Step::Append(sequence, level), Step::Insert(sequence)]);
            assert_eq!((pipeline.mvcc().applied(), pipeline.mvcc().read_point()), (sequence, 6));
        }
        pipeline.mvcc().advance(8);
        assert_eq!(pipeline.mvcc().read_point(), 8);
    }

    #[test]
    fn unlogged_write_is_visible_unless_earlier_writes_are_pending() {
        let pipeline = CommitPipeline::new(0);
        let env = Recorder::new(&pipeline);
        assert_eq!(env.commit(None).unwrap(), Committed::Visible);
        assert_eq!(env.take_steps(), [Step::Insert(1)]);
        assert_eq!(env.commit(Some(SyncLevel::Async)).unwrap(), Committed::Visible);
        assert_eq!(pipeline.mvcc().read_point(), 2);

        env.commit(Some(SyncLevel::Fsync)).unwrap();
        env.take_steps();
        assert_eq!(env.commit(None).unwrap(), pending(41, false));
        assert_eq!(env.take_steps(), [Step::Insert(4), Step::CompleteAfterLog(4)]);
        assert_eq!(env.commit(Some(SyncLevel::Async)).unwrap(), pending(50, false));
        assert_eq!(env.take_steps(), [Step::Append(5, SyncLevel::Async), Step::Insert(5)]);
        assert_eq!((pipeline.mvcc().applied(), pipeline.mvcc().read_point()), (5, 2));
    }

    #[test]
    fn allocated_id_waits_for_earlier_writes() {
        let pipeline = CommitPipeline::new(0);
        let env = Recorder::new(&pipeline);
        let complete = |sequence| env.record(Step::CompleteAfterLog(sequence));
        assert_eq!(pipeline.lock().allocate(complete), 1);
        assert_eq!((env.take_steps(), pipeline.mvcc().read_point()), (vec![], 1));
        env.commit(Some(SyncLevel::Flush)).unwrap();
        env.take_steps();
        assert_eq!(pipeline.lock().allocate(complete), 3);
        assert_eq!(env.take_steps(), [Step::CompleteAfterLog(3)]);
        assert_eq!((pipeline.mvcc().applied(), pipeline.mvcc().read_point()), (3, 1));
    }

    #[test]
    fn failed_append_applies_nothing() {
        let pipeline = CommitPipeline::new(0);
        let env = Recorder::new(&pipeline);
        env.log_fails.store(true, Ordering::Relaxed);
        env.commit(Some(SyncLevel::Flush)).unwrap_err();
        assert_eq!((env.take_steps(), pipeline.mvcc().applied()), (vec![], 0));
        env.log_fails.store(false, Ordering::Relaxed);
        env.commit(Some(SyncLevel::Flush)).unwrap();
        assert_eq!(env.take_steps(), [Step::Append(1, SyncLevel::Flush), Step::Insert(1)]);
    }

    #[test]
    fn interrupted_write_is_invisible_and_stops_pipeline() {
        let pipeline = CommitPipeline::new(0);
        let env = Recorder::new(&pipeline);
        env.insertion_panics.store(true, Ordering::Relaxed);
        catch_unwind(AssertUnwindSafe(|| env.commit(Some(SyncLevel::Flush)))).unwrap_err();
        env.insertion_panics.store(false, Ordering::Relaxed);
        assert_eq!(pipeline.lock().refusal(), Some(Refusal::Interrupted));
        // The log may complete it: it stays invisible.
        pipeline.mvcc().advance(1);
        assert_eq!((pipeline.mvcc().applied(), pipeline.mvcc().read_point()), (0, 0));
        catch_unwind(AssertUnwindSafe(|| env.commit(None))).unwrap_err();
        assert_eq!(pipeline.mvcc().applied(), 0);
    }

    #[test]
    fn closed_pipeline_rejects_writes_until_reopened() {
        let pipeline = CommitPipeline::new(0);
        let env = Recorder::new(&pipeline);
        pipeline.lock().set_closed(true);
        assert_eq!(pipeline.lock().refusal(), Some(Refusal::Closed));
        catch_unwind(AssertUnwindSafe(|| env.commit(None))).unwrap_err();
        assert_eq!(env.take_steps(), []);
        pipeline.lock().set_closed(false);
        assert_eq!(env.commit(None).unwrap(), Committed::Visible);
    }

    #[test]
    fn concurrent_commits_are_in_sequence_order_without_gaps() {
        const THREADS: u64 = 4;
        const COMMITS: u64 = 200;
        let pipeline = CommitPipeline::new(0);
        let env = Recorder::new(&pipeline);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..COMMITS {
                        env.commit(Some(SyncLevel::Flush)).unwrap();
                    }
                });
            }
        });
        let expected = (1..=THREADS * COMMITS).flat_map(|sequence| {
            [Step::Append(sequence, SyncLevel::Flush), Step::Insert(sequence)]
        });
        assert!(env.take_steps().into_iter().eq(expected));
        assert_eq!(pipeline.mvcc().applied(), THREADS * COMMITS);
    }
}
