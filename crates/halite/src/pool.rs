//! Threads for the calls of tasks that may block: disk reads, scans, administration.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use halite_types::{Error, ErrorKind, Result};

/// Most threads at once.
const THREADS_MAX: usize = 4;

type Work = Box<dyn FnOnce() + Send>;

/// A few threads, started when there is work, that live as long as the pool.
#[derive(Default)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    added: Condvar,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut queue = self.queue();
        loop {
            if let Some(work) = queue.work.pop_front() {
                drop(queue);
                // Whoever waits is told by the dropped sender; the thread goes on with the rest.
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
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Answer<T> {
        let slot = Arc::new(Mutex::new(Slot { result: None, waker: None }));
        let sender = Sender(Arc::clone(&slot));
        let mut queue = self.shared.queue();
        queue.work.push_back(Box::new(move || sender.send(work())));
        if queue.idle == 0 && queue.threads < THREADS_MAX {
            let shared = Arc::clone(&self.shared);
            // Without a thread the work waits for one that is there, or is dropped and answers with an error.
            if std::thread::Builder::new().name("halite-read".into()).spawn(move || shared.run()).is_ok() {
                queue.threads += 1;
            } else if queue.threads == 0 {
                queue.work.clear();
            }
        }
        drop(queue);
        self.shared.added.notify_one();
        Answer(slot)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.added.notify_all();
    }
}

struct Slot<T> {
    result: Option<Result<T>>,
    waker: Option<Waker>,
}

/// The other end of an [`Answer`]; it answers even when the work was dropped or panicked.
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
        self.fill(Err(Error::new(ErrorKind::Stopped, "the call was dropped before it was answered; the store has been closed")));
    }
}

/// The result of work on the pool, to be awaited.
pub(crate) struct Answer<T>(Arc<Mutex<Slot<T>>>);

impl<T> Future for Answer<T> {
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
    fn work_is_answered_in_any_order_and_after_a_panic() {
        let pool = Pool::default();
        let answers: Vec<_> = (0..20).map(|i| pool.run(move || Ok(i * 2))).collect();
        for (i, answer) in answers.into_iter().enumerate() {
            assert_eq!(halite_types::block_on(answer).unwrap(), i * 2);
        }
        for _ in 0..2 * THREADS_MAX {
            let failed: Result<()> = halite_types::block_on(pool.run(|| panic!("a test's panic")));
            assert_eq!(failed.unwrap_err().kind(), ErrorKind::Stopped);
        }
        assert_eq!(halite_types::block_on(pool.run(|| Ok(7))).unwrap(), 7);
    }
}
