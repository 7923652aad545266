//! Threads for calls of tasks that may block: disk reads, scans, administration.
//!
//! A program that embeds a store has few callers and may need no threads at all, so threads start
//! on demand, the queue has no limit, and each job has a future of its result. The handler pools of
//! `halite-server` are the opposite: fixed threads, a queue that rejects calls at its limit, and
//! work that returns its rest so that other calls run first.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use halite_types::{Error, ErrorKind, Result};

/// Maximum number of threads.
const MAX_THREADS: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// Small thread pool. Threads start on demand and live as long as the pool.
#[derive(Default)]
pub(crate) struct Pool {
    inner: Arc<PoolInner>,
}

#[derive(Default)]
struct PoolInner {
    queue: Mutex<Queue>,
    added: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl PoolInner {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut queue = self.queue();
        loop {
            if let Some(work) = queue.jobs.pop_front() {
                drop(queue);
                // Dropping the sender reports the panic to the waiting task; the thread continues.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                queue = self.queue();
            } else if queue.closed {
                return;
            } else {
                queue.idle += 1;
                queue = self.added.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}

impl Pool {
    /// Runs `work` on one of the threads.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> JobFuture<T> {
        let slot = Arc::new(Mutex::new(Slot { result: None, waker: None }));
        let sender = Sender(Arc::clone(&slot));
        let mut queue = self.inner.queue();
        queue.jobs.push_back(Box::new(move || sender.send(work())));
        if queue.idle == 0 && queue.threads < MAX_THREADS {
            let shared = Arc::clone(&self.inner);
            // If no thread starts, the job waits for an existing one, or is dropped and returns an
            // error.
            if std::thread::Builder::new()
                .name("halite-read".into())
                .spawn(move || shared.run())
                .is_ok()
            {
                queue.threads += 1;
            } else if queue.threads == 0 {
                queue.jobs.clear();
            }
        }
        drop(queue);
        self.inner.added.notify_one();
        JobFuture(slot)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.inner.queue().closed = true;
        self.inner.added.notify_all();
    }
}

struct Slot<T> {
    result: Option<Result<T>>,
    waker: Option<Waker>,
}

/// Sending end of a [`JobFuture`]. It sends a result even if the job was dropped or panicked.
struct Sender<T>(Arc<Mutex<Slot<T>>>);

impl<T> Sender<T> {
    fn send(self, result: Result<T>) {
        self.fill(result);
    }

    fn fill(&self, result: Result<T>) {
        let Ok(mut slot) = self.0.lock() else { return };
        if slot.result.is_none() {
            slot.result = Some(result);
        }
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.fill(Err(Error::new(
            ErrorKind::Stopped,
            "the call was dropped before it was answered; the store has been closed",
        )));
    }
}

/// Future of the result of a job on the pool.
pub(crate) struct JobFuture<T>(Arc<Mutex<Slot<T>>>);

impl<T> Future for JobFuture<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = slot.result.take() {
            Poll::Ready(result)
        } else {
            slot.waker = Some(context.waker().clone());
            Poll::Pending
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_runs_tasks_concurrently_and_after_panics() {
        let pool = Pool::default();
        let answers: Vec<_> = (0..20).map(|i| pool.run(move || Ok(i * 2))).collect();
        for (i, answer) in answers.into_iter().enumerate() {
            assert_eq!(halite_types::block_on(answer).unwrap(), i * 2);
        }
        for _ in 0..2 * MAX_THREADS {
            let failed: Result<()> = halite_types::block_on(pool.run(|| panic!("a test's panic")));
            assert_eq!(failed.unwrap_err().kind(), ErrorKind::Stopped);
        }
        assert_eq!(halite_types::block_on(pool.run(|| Ok(7))).unwrap(), 7);
    }
}
