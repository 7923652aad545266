//! Threads of an engine: the log's writer, one for flushes, those for compactions, which also look
//! at the regions from time to time, and one that records the load.

use std::sync::Arc;

use halite_types::{Error, Result};

use super::{Engine, jobs, region_watch};
use crate::env::JoinHandle;
use crate::heal::Healed;
use crate::scheduler::Wake;

impl Engine {
    /// Ends the engine's threads after their current jobs. Memory contents stay in the log for the
    /// next opening.
    pub fn stop_threads(&self) {
        self.shared.scheduler.close();
        self.shared.wal.stop();
        let threads = std::mem::take(&mut *self.threads.lock().healed());
        threads.into_iter().for_each(JoinHandle::join);
    }

    /// Starts the threads of the engine, if the environment has any.
    pub(super) fn start_threads(self: &Arc<Self>) -> Result<()> {
        let failed = |error| Error::io("starting a thread of the engine", error);
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            self.shared.env.threads.spawn(name, work).map_err(failed)
        };
        let mut threads = Vec::new();
        let wal = Arc::clone(&self.shared.wal);
        threads.extend(spawn("halite-wal", Box::new(move || wal.run()))?);
        if !threads.is_empty() {
            self.shared.wal.set_threaded();
        }
        let compactions = self.shared.options.compaction_threads;
        let compactions = std::iter::repeat_n(("halite-compact", false), compactions);
        for (name, flushes) in std::iter::once(("halite-flush", true)).chain(compactions) {
            // Not a strong reference to the engine, which would never be dropped.
            let (shared, engine) = (Arc::clone(&self.shared), Arc::downgrade(self));
            let work = move || {
                let mut pause = jobs::MIN_RETRY_PAUSE;
                let wait = (!flushes).then_some(region_watch::PERIOD);
                loop {
                    if !flushes && let Some(engine) = engine.upgrade() {
                        jobs::watch_regions(&shared, &engine);
                    }
                    let wake = shared.scheduler.wait(flushes, wait);
                    let Some(engine) = engine.upgrade() else { return };
                    let job = match wake {
                        Wake::Job(job) => job,
                        Wake::Timeout => continue,
                        Wake::Closing => return,
                    };
                    // A failure is recorded where its dependents find it.
                    let Some(again) = jobs::run_for_retry(&shared, &engine, job) else {
                        pause = jobs::MIN_RETRY_PAUSE;
                        continue;
                    };
                    // The pause must not keep the engine alive.
                    drop(engine);
                    shared.scheduler.pause(pause);
                    pause = (pause * 2).min(jobs::MAX_RETRY_PAUSE);
                    again.request(&shared);
                }
            };
            threads.extend(spawn(name, Box::new(work))?);
        }
        #[cfg(feature = "heat")]
        if self.shared.options.heat_level != crate::options::HeatLevel::Off {
            let (shared, engine) = (Arc::clone(&self.shared), Arc::downgrade(self));
            let work = move || {
                while let Some(engine) = engine.upgrade().filter(|_| !shared.scheduler.is_closing())
                {
                    let pause = jobs::record_heat(&shared, &engine);
                    // The pause must not keep the engine alive.
                    drop(engine);
                    shared.scheduler.pause(pause);
                }
            };
            threads.extend(spawn("halite-heat", Box::new(work))?);
        }
        if !threads.is_empty() {
            self.shared.scheduler.set_threads();
        }
        *self.threads.lock().healed() = threads;
        Ok(())
    }

    /// Runs one background job on this thread; returns `true` if there was one. If the environment
    /// has threads, they run the jobs.
    ///
    /// # Errors
    /// The error of the job, which remains to be done.
    pub fn run_one_job(&self) -> Result<bool> {
        match self.shared.scheduler.take() {
            None => Ok(false),
            Some(job) => jobs::run(&self.shared, self, job).map(|()| true),
        }
    }
}
