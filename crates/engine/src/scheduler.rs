//! Background job scheduler for flushes, compactions and splits.
//!
//! In production several threads take jobs from the queue, one for flushes and the others for the
//! rest. A long compaction therefore never delays a flush that writers wait for, nor the compaction
//! of another region or of other files of its own. In a simulation there are no threads: the owner
//! calls [`crate::Engine::run_one_job`], and a writer that finds no room flushes on its own thread.
//!
//! This is not a pool of threads for callers' work, as `halite` and `halite-server` have: jobs are
//! values, such as the region to flush; equal ones are merged, and the queue selects the next by
//! kind.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Weak};
use std::time::Duration;

use halite_types::{Bytes, Error, ErrorKind, Result};

use crate::compaction::CompactionRequest;
use crate::ranked_lock::{RankedGuard, RankedMutex};
use crate::region::Region;

/// Background job.
pub(crate) enum Job {
    Flush(Arc<Region>),
    /// In-memory compaction of memstores that are mostly overwritten.
    InMemoryCompaction(Arc<Region>),
    /// Check of the region's files, compacting those that qualify.
    Compact(Arc<Region>),
    /// Compaction requested by a caller.
    RequestedCompaction(CompactionRequest),
    /// Removal of an expired quarantine directory.
    Remove(String),
}

/// Compaction job that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningJob {
    /// Number of the region.
    region: u64,
    /// Family of a requested compaction; `None` for any family.
    family: Option<Bytes>,
}

impl RunningJob {
    /// Returns `true` if a requested compaction of the same files would occupy a thread only to
    /// wait for this one.
    fn delays(&self, request: &CompactionRequest) -> bool {
        self.region == request.region.number
            && self.family.as_ref().is_none_or(|family| *family == request.family)
    }
}

impl Job {
    /// Returns what it compacts, if it is a compaction.
    pub(crate) fn compaction(&self) -> Option<RunningJob> {
        match self {
            Self::Compact(region) => Some(RunningJob { region: region.number, family: None }),
            Self::RequestedCompaction(request) => Some(RunningJob {
                region: request.region.number,
                family: Some(request.family.clone()),
            }),
            Self::Flush(_) | Self::InMemoryCompaction(_) | Self::Remove(_) => None,
        }
    }
}

/// Result of a wait for a job.
pub(crate) enum Wake {
    Job(Job),
    /// There was none in time.
    Timeout,
    /// The engine closes.
    Closing,
}

/// Switches for automatic background work. All work is enabled by default.
#[derive(Default)]
pub(crate) struct BackgroundSwitches {
    splits_disabled: AtomicBool,
    compactions_disabled: AtomicBool,
}

impl BackgroundSwitches {
    pub(crate) fn splits_enabled(&self) -> bool {
        !self.splits_disabled.load(Ordering::Acquire)
    }

    pub(crate) fn compactions_enabled(&self) -> bool {
        !self.compactions_disabled.load(Ordering::Acquire)
    }

    pub(crate) fn set_splits_enabled(&self, allowed: bool) -> bool {
        !self.splits_disabled.swap(!allowed, Ordering::AcqRel)
    }

    pub(crate) fn set_compactions_enabled(&self, allowed: bool) -> bool {
        !self.compactions_disabled.swap(!allowed, Ordering::AcqRel)
    }
}

/// Job queue and its waiters.
#[derive(Default)]
pub(crate) struct JobScheduler {
    pub(crate) switches: BackgroundSwitches,
    queue: RankedMutex<JobQueue>,
    /// Condition signaled when a job is added or the engine closes.
    added: Condvar,
    /// Condition signaled when a flush ends, successfully or not.
    flushed: Condvar,
    /// Memory of all memstores, in bytes.
    memstore_bytes: AtomicU64,
    /// True if threads take jobs from the queue.
    threads: AtomicBool,
    /// Number of jobs and region changes that ended in a panic.
    panics: AtomicU64,
}

#[derive(Default)]
struct JobQueue {
    flushes: VecDeque<Arc<Region>>,
    in_memory_compactions: VecDeque<Arc<Region>>,
    compactions: VecDeque<Arc<Region>>,
    /// Requested compactions, taken first because callers may wait for them.
    requested: VecDeque<CompactionRequest>,
    /// Quarantine directories to remove, at the lowest priority.
    removals: Vec<String>,
    /// Numbers of the regions in `compactions`.
    compacting: HashSet<u64>,
    /// Compactions that were taken and have not ended.
    running: Vec<RunningJob>,
    /// All open regions, to find the one with the largest memstores.
    regions: Vec<Weak<Region>>,
    /// Number of flushes taken from the queue and not finished.
    flushing: usize,
    /// Number of finished flushes, and the error of the last one if it failed.
    flushes_finished: u64,
    flush_failure: Option<Error>,
    /// Error of the last compaction, if it failed.
    compaction_failure: Option<Error>,
    /// Error of the last panic.
    panic: Option<Error>,
    closing: bool,
}

impl JobScheduler {
    fn queue(&self) -> RankedGuard<'_, JobQueue> {
        self.queue.lock()
    }

    /// Records that threads take jobs from the queue.
    pub(crate) fn set_threads(&self) {
        self.threads.store(true, Ordering::Release);
    }

    /// Returns `true` if threads take jobs from the queue.
    pub(crate) fn has_threads(&self) -> bool {
        self.threads.load(Ordering::Acquire)
    }

    /// Returns the numbers of queued flushes and compactions.
    pub(crate) fn queue_lengths(&self) -> (u64, u64) {
        let list = self.queue();
        (list.flushes.len() as u64, (list.compactions.len() + list.requested.len()) as u64)
    }

    /// Returns the memory of all memstores, as last recorded.
    pub(crate) fn total_memstore_bytes(&self) -> u64 {
        // A decrease may be counted before the increase that it follows.
        let bytes = self.memstore_bytes.load(Ordering::Relaxed).cast_signed();
        u64::try_from(bytes).unwrap_or(0)
    }

    /// Records an opened region.
    pub(crate) fn add_region(&self, region: &Arc<Region>) {
        let mut list = self.queue();
        list.regions.retain(|known| known.strong_count() > 0);
        list.regions.push(Arc::downgrade(region));
        drop(list);
        if region.needs_prefetch() {
            self.request_compaction(region);
        }
    }

    /// Records the current size of a region's memstores.
    pub(crate) fn record_memstore_bytes(&self, region: &Region) {
        loop {
            let bytes = region.memstore_bytes() as u64;
            let before = region.recorded_memstore_bytes.swap(bytes, Ordering::SeqCst);
            if bytes >= before {
                self.memstore_bytes.fetch_add(bytes - before, Ordering::Relaxed);
            } else {
                self.memstore_bytes.fetch_sub(before - bytes, Ordering::Relaxed);
            }
            // A flush may have ended between reading and recording the size; the outdated value
            // would never be corrected.
            if region.memstore_bytes() as u64 == bytes {
                return;
            }
        }
    }

    /// Requests a flush of this region.
    pub(crate) fn request_flush(&self, region: &Region) {
        if region.flush_requested.load(Ordering::Acquire) {
            return;
        }
        let mut list = self.queue();
        if let Some(region) = list.find(region) {
            list.add_flush(region);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Requests an in-memory compaction of this region's memstores.
    pub(crate) fn request_in_memory_compaction(&self, region: &Region) {
        if region.in_memory_compaction_requested.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut list = self.queue();
        if let Some(region) = list.find(region) {
            list.in_memory_compactions.push_back(region);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Requests flushes of the open regions with these numbers, at least of the cells up to the
    /// sequence id of each.
    pub(crate) fn request_flushes_of(&self, sequences: &HashMap<u64, u64>) {
        let mut list = self.queue();
        let regions: Vec<_> = list
            .regions
            .iter()
            .filter_map(Weak::upgrade)
            .filter_map(|region| Some((*sequences.get(&region.number)?, region)))
            .collect();
        for (sequence, region) in regions {
            region.awaited_flush_sequence.fetch_max(sequence, Ordering::AcqRel);
            list.add_flush(region);
        }
        drop(list);
        self.added.notify_all();
    }

    /// Requests a flush of the region with the largest memstores, unless a flush is queued or in
    /// progress.
    pub(crate) fn request_largest_flush(&self) {
        let mut list = self.queue();
        if list.flushing > 0 || !list.flushes.is_empty() {
            return;
        }
        if let Some(region) = list.largest() {
            list.add_flush(region);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Requests a check of the region's files.
    pub(crate) fn request_compaction(&self, region: &Arc<Region>) {
        let mut list = self.queue();
        if !list.closing && list.compacting.insert(region.number) {
            list.compactions.push_back(Arc::clone(region));
            drop(list);
            self.added.notify_all();
        }
    }

    /// As [`JobScheduler::request_compaction`], for a region given by reference.
    pub(crate) fn request_check(&self, region: &Region) {
        let region = self.queue().find(region);
        region.iter().for_each(|region| self.request_compaction(region));
    }

    /// Requests removal of quarantine directories.
    pub(crate) fn request_removals(&self, directories: Vec<String>) {
        self.queue().removals.extend(directories);
        self.added.notify_all();
    }

    /// Requests a compaction, unless an equal one is already queued.
    pub(crate) fn request(&self, compaction: CompactionRequest) {
        let mut list = self.queue();
        if !list.closing && !list.requested.iter().any(|other| other.is_same(&compaction)) {
            list.requested.push_back(compaction);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Clears the queue of requested compactions that have not started.
    pub(crate) fn clear_compaction_queue(&self) {
        let forgotten = std::mem::take(&mut self.queue().requested);
        // Dropped outside of the lock: each request notifies its region.
        drop(forgotten);
    }

    /// Waits until neither the region nor the total memory is full. Without threads, performs the
    /// flush.
    pub(crate) fn wait_for_memory(
        &self,
        region: &Region,
        is_region_full: impl Fn() -> bool,
        is_all_full: impl Fn() -> bool,
    ) -> Result<()> {
        if !self.threads.load(Ordering::Acquire) {
            let list = self.queue();
            let fullest = if is_region_full() { list.find(region) } else { list.largest() };
            drop(list);
            return fullest.map_or(Ok(()), |region| region.flush_by_policy());
        }
        let is_full = || is_region_full() || is_all_full();
        let mut seen = self.queue().flushes_finished;
        while is_full() {
            // The region may hold almost none of the excess total memory.
            if is_region_full() {
                self.request_flush(region);
            } else {
                self.request_largest_flush();
            }
            let mut list = self.queue();
            while list.flushes_finished == seen && !list.closing {
                list = list.wait(&self.flushed);
            }
            seen = list.flushes_finished;
            if list.closing {
                return Err(closing());
            }
            if let Some(error) = &list.flush_failure
                && is_full()
            {
                let text = format!(
                    "region {} is too busy: its memstores are full and flushing them failed: \
                     {error}",
                    region.info().display_name()
                );
                return Err(Error::new(ErrorKind::Busy, text).with_source(error.clone()));
            }
        }
        Ok(())
    }

    /// Records the end of a flush.
    pub(crate) fn flush_finished(&self, result: &Result<()>) {
        let mut list = self.queue();
        list.flushing = list.flushing.saturating_sub(1);
        list.flushes_finished += 1;
        list.flush_failure = result.as_ref().err().cloned();
        drop(list);
        self.flushed.notify_all();
    }

    /// Returns the error of the last flush, if it failed.
    pub(crate) fn flush_failure(&self) -> Option<Error> {
        self.queue().flush_failure.clone()
    }

    /// Records the end of a compaction.
    pub(crate) fn compaction_finished(&self, job: Option<&RunningJob>, result: &Result<()>) {
        let mut list = self.queue();
        list.compaction_failure = result.as_ref().err().cloned();
        if let Some(at) = list.running.iter().position(|running| Some(running) == job) {
            list.running.swap_remove(at);
        }
        let is_waited_for = !list.compactions.is_empty() || !list.requested.is_empty();
        drop(list);
        if is_waited_for {
            self.added.notify_all();
        }
    }

    /// Returns the error of the last compaction, if it failed.
    pub(crate) fn compaction_failure(&self) -> Option<Error> {
        self.queue().compaction_failure.clone()
    }

    /// Records a job or a region change that ended in a panic.
    pub(crate) fn add_panic(&self, error: Error) {
        self.record_panic(error, true);
    }

    /// Records a panic that may have been counted before: `is_new` is false in that case.
    pub(crate) fn record_panic(&self, error: Error, is_new: bool) {
        self.panics.fetch_add(u64::from(is_new), Ordering::Relaxed);
        self.queue().panic = Some(error);
    }

    /// Returns the number of panics and the error of the last one.
    pub(crate) fn panics(&self) -> (u64, Option<Error>) {
        let list = self.queue();
        (self.panics.load(Ordering::Relaxed), list.panic.clone())
    }

    /// Waits before failed work is retried, at most until the engine closes.
    pub(crate) fn pause(&self, pause: Duration) {
        drop(self.queue().wait_timeout_while(&self.added, pause, |list| !list.closing));
    }

    /// Takes the next job, flushes first; `None` if the queue is empty.
    pub(crate) fn take(&self) -> Option<Job> {
        let mut list = self.queue();
        list.take_memstore_job().or_else(|| list.take_compaction_job())
    }

    /// Waits for the next flush, or for the next job of another kind, about `at_most` if there is a
    /// limit.
    pub(crate) fn wait(&self, flushes: bool, at_most: Option<Duration>) -> Wake {
        let mut list = self.queue();
        loop {
            if list.closing {
                return Wake::Closing;
            }
            let job = if flushes { list.take_memstore_job() } else { list.take_compaction_job() };
            if let Some(job) = job {
                return Wake::Job(job);
            }
            list = match at_most {
                None => list.wait(&self.added),
                Some(at_most) => match list.wait_timeout(&self.added, at_most) {
                    (_, true) => return Wake::Timeout,
                    (list, false) => list,
                },
            };
        }
    }

    /// Returns the open regions.
    pub(crate) fn regions(&self) -> Vec<Arc<Region>> {
        self.queue().regions.iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns `true` if the engine is closing or closed.
    pub(crate) fn is_closing(&self) -> bool {
        self.queue().closing
    }

    /// Ends the threads and clears the queue.
    pub(crate) fn close(&self) {
        let mut list = self.queue();
        list.closing = true;
        list.flushes.clear();
        list.in_memory_compactions.clear();
        list.compactions.clear();
        list.requested.clear();
        list.removals.clear();
        drop(list);
        self.added.notify_all();
        self.flushed.notify_all();
    }
}

impl JobQueue {
    /// Returns the region with the largest memstores, including regions whose flush has failed.
    fn largest(&self) -> Option<Arc<Region>> {
        self.regions.iter().filter_map(Weak::upgrade).max_by_key(|region| region.memstore_bytes())
    }

    fn add_flush(&mut self, region: Arc<Region>) {
        if !region.flush_requested.swap(true, Ordering::AcqRel) {
            self.flushes.push_back(region);
        }
    }

    /// Returns the shared handle of a region given by reference.
    fn find(&self, region: &Region) -> Option<Arc<Region>> {
        self.regions
            .iter()
            .filter_map(Weak::upgrade)
            .find(|other| std::ptr::eq(&raw const **other, region))
    }

    fn take_memstore_job(&mut self) -> Option<Job> {
        if let Some(region) = self.flushes.pop_front() {
            self.flushing += 1;
            region.flush_requested.store(false, Ordering::Release);
            return Some(Job::Flush(region));
        }
        let region = self.in_memory_compactions.pop_front()?;
        region.in_memory_compaction_requested.store(false, Ordering::Release);
        Some(Job::InMemoryCompaction(region))
    }

    /// Takes a requested compaction whose store no other job compacts, or else the check of a
    /// region that has no such request: several threads may compact one region.
    fn take_compaction_job(&mut self) -> Option<Job> {
        let is_free =
            |request: &CompactionRequest| !self.running.iter().any(|job| job.delays(request));
        let job = if let Some(at) = self.requested.iter().position(is_free) {
            Job::RequestedCompaction(self.requested.remove(at)?)
        } else {
            let has_request =
                |number| self.requested.iter().any(|request| request.region.number == number);
            let next = self.compactions.iter().position(|region| !has_request(region.number));
            let Some(at) = next else {
                return self.removals.pop().map(Job::Remove);
            };
            let region = self.compactions.remove(at)?;
            let was_listed = self.compacting.remove(&region.number);
            debug_assert!(was_listed, "a queued region is listed");
            Job::Compact(region)
        };
        self.running.extend(job.compaction());
        Some(job)
    }
}

/// Returns the error of calls made after the engine was closed.
pub(crate) fn closing() -> Error {
    Error::new(ErrorKind::Stopped, "the store has been closed; open it again")
}
