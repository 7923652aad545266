//! Work that nobody waits for: flushes, compactions, splits. A list of what to do, and whoever does it.
//!
//! In production two threads take from the list, one for flushes and one for the rest, so that a long compaction never
//! holds up the flush that writers wait for. In a simulation there are no threads: the owner calls
//! [`crate::Engine::step`], and a writer that finds no room flushes by itself.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Duration;

use halite_types::{Error, ErrorKind, Result};

use crate::compaction::Requested;
use crate::heal::Healed;
use crate::region::Region;

/// One piece of work.
pub(crate) enum Job {
    Flush(Arc<Region>),
    /// Memstores that are mostly overwritten, to be written anew.
    Condense(Arc<Region>),
    /// A look at the region's files, to compact what is worth it.
    Compact(Arc<Region>),
    /// What somebody has asked for.
    CompactAsAsked(Requested),
    /// A directory of the quarantine whose time is over, to be removed.
    Remove(String),
}

/// What may be done without anybody having asked for it. Everything may, until somebody says otherwise.
#[derive(Default)]
pub(crate) struct Permits {
    no_splits: AtomicBool,
    no_compactions: AtomicBool,
}

impl Permits {
    pub(crate) fn splits(&self) -> bool {
        !self.no_splits.load(Ordering::Acquire)
    }

    pub(crate) fn compactions(&self) -> bool {
        !self.no_compactions.load(Ordering::Acquire)
    }

    pub(crate) fn allow_splits(&self, allowed: bool) -> bool {
        !self.no_splits.swap(!allowed, Ordering::AcqRel)
    }

    pub(crate) fn allow_compactions(&self, allowed: bool) -> bool {
        !self.no_compactions.swap(!allowed, Ordering::AcqRel)
    }
}

/// The list, and who waits for it.
#[derive(Default)]
pub(crate) struct Background {
    pub(crate) permits: Permits,
    list: Mutex<List>,
    /// Something was added, or the engine closes.
    added: Condvar,
    /// A flush has ended, well or badly.
    flushed: Condvar,
    /// Memory of all memstores.
    memstore_bytes: AtomicU64,
    /// Whether threads take from the list.
    threads: AtomicBool,
    /// Pieces of work and changes of regions that ended in a panic.
    panics: AtomicU64,
}

#[derive(Default)]
struct List {
    flushes: VecDeque<Arc<Region>>,
    condensations: VecDeque<Arc<Region>>,
    compactions: VecDeque<Arc<Region>>,
    /// Those that were asked for go first: somebody may be waiting for them.
    requested: VecDeque<Requested>,
    /// Directories of the quarantine, which can wait for everything else.
    removals: Vec<String>,
    /// Numbers of the regions in `compactions`.
    compacting: HashSet<u64>,
    /// Every open region, to find the one with the largest memstores.
    regions: Vec<Weak<Region>>,
    /// Flushes that have been taken from the list and not ended.
    flushing: usize,
    /// Flushes that ended, and the error of the last if it failed.
    flushes_ended: u64,
    failure: Option<Error>,
    /// Why the last compaction failed, if it did.
    compaction_failure: Option<Error>,
    /// What panicked last.
    panic: Option<Error>,
    closing: bool,
}

impl Background {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().healed()
    }

    /// Says that threads take from the list.
    pub(crate) fn set_threads(&self) {
        self.threads.store(true, Ordering::Release);
    }

    /// Flushes and compactions that wait.
    pub(crate) fn lengths(&self) -> (u64, u64) {
        let list = self.list();
        (list.flushes.len() as u64, (list.compactions.len() + list.requested.len()) as u64)
    }

    /// Memory of all memstores, as last noted.
    pub(crate) fn total_memstore_bytes(&self) -> u64 {
        self.memstore_bytes.load(Ordering::Relaxed)
    }

    /// A region was opened.
    pub(crate) fn add_region(&self, region: &Arc<Region>) {
        let mut list = self.list();
        list.regions.retain(|known| known.strong_count() > 0);
        list.regions.push(Arc::downgrade(region));
    }

    /// Looks how much a region's memstores take now.
    pub(crate) fn note_memstore(&self, region: &Region) {
        loop {
            let bytes = region.memstore_bytes() as u64;
            let before = region.noted_bytes.swap(bytes, Ordering::SeqCst);
            if bytes >= before {
                self.memstore_bytes.fetch_add(bytes - before, Ordering::Relaxed);
            } else {
                self.memstore_bytes.fetch_sub(before - bytes, Ordering::Relaxed);
            }
            // A flush may have ended between the look and the note; an old figure would stay for good.
            if region.memstore_bytes() as u64 == bytes {
                return;
            }
        }
    }

    /// Asks for a flush of this region.
    pub(crate) fn request_flush(&self, region: &Region) {
        if region.flush_requested.load(Ordering::Acquire) {
            return;
        }
        let mut list = self.list();
        if let Some(region) = list.find(region) {
            list.add_flush(region);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Asks for this region's memstores to be written anew.
    pub(crate) fn request_condensing(&self, region: &Region) {
        if region.condense_requested.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut list = self.list();
        if let Some(region) = list.find(region) {
            list.condensations.push_back(region);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Asks for flushes of the open regions of these numbers.
    pub(crate) fn request_flushes_of(&self, numbers: &HashSet<u64>) {
        let mut list = self.list();
        let regions: Vec<_> = list.regions.iter().filter_map(Weak::upgrade).filter(|region| numbers.contains(&region.number)).collect();
        regions.into_iter().for_each(|region| list.add_flush(region));
        drop(list);
        self.added.notify_all();
    }

    /// Asks for a flush of the region with the largest memstores, unless one is under way.
    pub(crate) fn request_largest_flush(&self) {
        let mut list = self.list();
        if list.flushing > 0 || !list.flushes.is_empty() {
            return;
        }
        if let Some(region) = list.largest() {
            list.add_flush(region);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Asks for a look at the region's files.
    pub(crate) fn request_compaction(&self, region: &Arc<Region>) {
        let mut list = self.list();
        if !list.closing && list.compacting.insert(region.number) {
            list.compactions.push_back(Arc::clone(region));
            drop(list);
            self.added.notify_all();
        }
    }

    /// Asks for directories of the quarantine to be removed.
    pub(crate) fn request_removals(&self, directories: Vec<String>) {
        self.list().removals.extend(directories);
        self.added.notify_all();
    }

    /// Asks for a compaction; one that is waiting already is enough.
    pub(crate) fn request(&self, compaction: Requested) {
        let mut list = self.list();
        if !list.closing && !list.requested.iter().any(|other| other.is_same(&compaction)) {
            list.requested.push_back(compaction);
            drop(list);
            self.added.notify_all();
        }
    }

    /// Forgets the compactions that were asked for and have not begun.
    pub(crate) fn forget_compactions(&self) {
        let forgotten = std::mem::take(&mut self.list().requested);
        // Outside of the lock: each tells its region.
        drop(forgotten);
    }

    /// Waits until neither the region nor everything together is full, or does the flush where there are no threads.
    pub(crate) fn wait_for_room(&self, region: &Region, is_region_full: impl Fn() -> bool, is_all_full: impl Fn() -> bool) -> Result<()> {
        if !self.threads.load(Ordering::Acquire) {
            let list = self.list();
            let fullest = if is_region_full() { list.find(region) } else { list.largest() };
            drop(list);
            return fullest.map_or(Ok(()), |region| region.flush().map(|_| ()));
        }
        let is_full = || is_region_full() || is_all_full();
        let mut seen = self.list().flushes_ended;
        while is_full() {
            // The region may hold next to nothing of what is too much in all.
            if is_region_full() {
                self.request_flush(region);
            } else {
                self.request_largest_flush();
            }
            let mut list = self.list();
            while list.flushes_ended == seen && !list.closing {
                list = self.flushed.wait(list).healed();
            }
            seen = list.flushes_ended;
            if list.closing {
                return Err(closing());
            }
            if let Some(error) = &list.failure
                && is_full()
            {
                let text = format!("region {} is too busy: its memstores are full and flushing them failed: {error}", region.info().display_name());
                return Err(Error::new(ErrorKind::Busy, text).with_source(error.clone()));
            }
        }
        Ok(())
    }

    /// A flush has ended.
    pub(crate) fn flush_ended(&self, result: &Result<()>) {
        let mut list = self.list();
        list.flushing = list.flushing.saturating_sub(1);
        list.flushes_ended += 1;
        list.failure = result.as_ref().err().cloned();
        drop(list);
        self.flushed.notify_all();
    }

    /// Why the last flush failed, if it did.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.list().failure.clone()
    }

    /// A compaction has ended.
    pub(crate) fn compaction_ended(&self, result: &Result<()>) {
        self.list().compaction_failure = result.as_ref().err().cloned();
    }

    /// Why the last compaction failed, if it did.
    pub(crate) fn compaction_failure(&self) -> Option<Error> {
        self.list().compaction_failure.clone()
    }

    /// A piece of work, or the change of a region, has ended in a panic.
    pub(crate) fn add_panic(&self, error: Error) {
        self.note_panic(error, true);
    }

    /// As [`Background::add_panic`], of one that may have been counted already.
    pub(crate) fn note_panic(&self, error: Error, is_new: bool) {
        self.panics.fetch_add(u64::from(is_new), Ordering::Relaxed);
        self.list().panic = Some(error);
    }

    /// How often that was, and what the last was.
    pub(crate) fn panics(&self) -> (u64, Option<Error>) {
        let list = self.list();
        (self.panics.load(Ordering::Relaxed), list.panic.clone())
    }

    /// Waits before failed work is tried again; no longer than until the engine closes.
    pub(crate) fn pause(&self, pause: Duration) {
        drop(self.added.wait_timeout_while(self.list(), pause, |list| !list.closing).healed());
    }

    /// Takes the next piece of work, flushes first; `None` if there is none.
    pub(crate) fn take(&self) -> Option<Job> {
        let mut list = self.list();
        list.take_of_memstores().or_else(|| list.take_compaction())
    }

    /// Waits for the next flush, or for the next of the rest; `None` when the engine closes.
    pub(crate) fn wait(&self, flushes: bool) -> Option<Job> {
        let mut list = self.list();
        loop {
            if list.closing {
                return None;
            }
            let job = if flushes { list.take_of_memstores() } else { list.take_compaction() };
            if job.is_some() {
                return job;
            }
            list = self.added.wait(list).healed();
        }
    }

    /// Whether the engine is being closed, or has been.
    pub(crate) fn is_closing(&self) -> bool {
        self.list().closing
    }

    /// Lets the threads end and forgets what was to be done.
    pub(crate) fn close(&self) {
        let mut list = self.list();
        list.closing = true;
        list.flushes.clear();
        list.condensations.clear();
        list.compactions.clear();
        list.requested.clear();
        list.removals.clear();
        drop(list);
        self.added.notify_all();
        self.flushed.notify_all();
    }
}

impl List {
    /// The region with the largest memstores, those included whose flush has failed.
    fn largest(&self) -> Option<Arc<Region>> {
        self.regions.iter().filter_map(Weak::upgrade).max_by_key(|region| region.memstore_bytes())
    }

    fn add_flush(&mut self, region: Arc<Region>) {
        if !region.flush_requested.swap(true, Ordering::AcqRel) {
            self.flushes.push_back(region);
        }
    }

    /// A region of which only a reference is at hand.
    fn find(&self, region: &Region) -> Option<Arc<Region>> {
        self.regions.iter().filter_map(Weak::upgrade).find(|other| std::ptr::eq(&raw const **other, region))
    }

    fn take_of_memstores(&mut self) -> Option<Job> {
        if let Some(region) = self.flushes.pop_front() {
            self.flushing += 1;
            region.flush_requested.store(false, Ordering::Release);
            return Some(Job::Flush(region));
        }
        let region = self.condensations.pop_front()?;
        region.condense_requested.store(false, Ordering::Release);
        Some(Job::Condense(region))
    }

    fn take_compaction(&mut self) -> Option<Job> {
        if let Some(requested) = self.requested.pop_front() {
            return Some(Job::CompactAsAsked(requested));
        }
        let Some(region) = self.compactions.pop_front() else { return self.removals.pop().map(Job::Remove) };
        self.compacting.remove(&region.number);
        Some(Job::Compact(region))
    }
}

/// The error of calls that come after the engine was closed.
pub(crate) fn closing() -> Error {
    Error::new(ErrorKind::Stopped, "the store has been closed; open it again")
}
