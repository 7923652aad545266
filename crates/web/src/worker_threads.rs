//! Threads for the work of requests, which leave the processor to those of the store.
//!
//! A page that is open asks every ten seconds, and an answer may take tens of milliseconds of
//! processor time. On threads like all others that would delay a client's calls on a machine whose
//! processors are all busy.

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// Nice value: with all processors busy, a tenth of the time of a thread with the value 0.
const NICE: i32 = 10;

/// Time for which a thread without work is kept.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// Threads that may block. They are created when they are needed.
#[derive(Debug)]
pub(crate) struct WorkerThreads {
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl WorkerThreads {
    /// Returns at most `most` threads.
    ///
    /// # Panics
    /// If the operating system has no file descriptor left.
    pub(crate) fn new(most: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(most)
            .thread_keep_alive(KEEP_ALIVE)
            .thread_name("halite-web")
            .on_thread_start(give_way)
            .build()
            .expect("a runtime without drivers needs nothing of the system");
        Self { runtime: Some(runtime) }
    }

    /// Runs work on one of the threads, in the caller's runtime if it has one: a client of a
    /// cluster elsewhere needs its timers and sockets.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let runtime = self.runtime.as_ref().expect("it is there until it is dropped");
        let callers = Handle::try_current().ok();
        runtime.spawn_blocking(move || {
            let _entered = callers.as_ref().map(Handle::enter);
            work()
        })
    }
}

impl Drop for WorkerThreads {
    /// Does not wait for work: the last owner may be a task of another runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of this thread. Linux has one for each thread; elsewhere it would be that of
/// the process, which includes the store.
fn give_way() {
    if cfg!(target_os = "linux")
        && let Err(error) = rustix::process::setpriority_process(None, NICE)
    {
        tracing::debug!(%error, "lowering the priority of a thread of the web page");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_has_the_timers_of_the_caller() {
        let sleep = || Handle::current().block_on(tokio::time::sleep(Duration::from_millis(1)));
        WorkerThreads::new(1).run(sleep).await.unwrap();
    }

    #[tokio::test]
    async fn work_runs_at_low_priority_and_other_threads_do_not() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let threads = WorkerThreads::new(2);
        let there = threads.run(priority).await.unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(there, before.max(NICE));
        }
        assert_eq!(priority(), before);
        assert_eq!(tokio::task::spawn_blocking(priority).await.unwrap(), before);
        drop(threads);
    }
}
