//! Thread pools for calls that wait for the disk or run long: two pools, each with a queue of
//! limited length.
//!
//! A full queue rejects a call, whose client retries; work that takes long returns its rest, which
//! waits after the other calls. The pool of the library (`crates/halite/src/pool.rs`) has neither
//! limit nor rest. The engine's scheduler is no pool: it merges requests for the same region and
//! selects the most urgent job.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use halite_types::{Error, Result};

use crate::config::Limits;
use crate::outside::{Machine, Outside};

/// Unit of work. It may return a continuation, which is appended to the queue so that other work
/// runs first.
pub(crate) type HandlerTask = Box<dyn FnOnce() -> Option<Continuation> + Send>;

/// Rest of a unit of work.
pub(crate) struct Continuation(pub(crate) HandlerTask);

/// Bounded queue with its threads, or with the simulation that runs its work.
pub(crate) struct HandlerPool {
    machine: Machine,
    queue: Arc<CallQueue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct CallQueue {
    name: &'static str,
    max_length: usize,
    tasks: Mutex<QueuedTasks>,
    added: Condvar,
    /// Threads that are running a task.
    active: AtomicUsize,
}

#[derive(Default)]
struct QueuedTasks {
    tasks: VecDeque<HandlerTask>,
    closed: bool,
}

impl HandlerPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// `Io` if the operating system cannot create a thread.
    pub(crate) fn start(
        machine: &Machine,
        name: &'static str,
        threads: usize,
        max_length: usize,
    ) -> Result<Self> {
        let queue = Arc::new(CallQueue {
            name,
            max_length,
            tasks: Mutex::default(),
            added: Condvar::new(),
            active: AtomicUsize::new(0),
        });
        let start = |number| {
            let queue = Arc::clone(&queue);
            let thread = std::thread::Builder::new().name(format!("halite-{name}-{number}"));
            thread.spawn(move || queue.run()).map_err(|error| {
                Error::io(format!("starting thread {number} of the {name} pool"), error)
            })
        };
        let threads = match machine {
            Machine::Os => (0..threads).map(start).collect::<Result<Vec<_>>>()?,
            Machine::Given(_) => Vec::new(),
        };
        Ok(Self { machine: machine.clone(), queue, threads: Mutex::new(threads) })
    }

    /// Appends work to the queue. Returns it if the queue is full or closed.
    pub(crate) fn submit(&self, work: HandlerTask) -> Result<(), HandlerTask> {
        let mut waiting = self.queue.lock();
        if waiting.closed || waiting.tasks.len() >= self.queue.max_length {
            return Err(work);
        }
        waiting.tasks.push_back(work);
        drop(waiting);
        match &self.machine {
            Machine::Os => self.queue.added.notify_one(),
            Machine::Given(outside) => CallQueue::run_next_on(&self.queue, outside),
        }
        Ok(())
    }

    /// Returns the number of waiting tasks.
    pub(crate) fn len(&self) -> usize {
        self.queue.lock().tasks.len()
    }

    /// Returns the number of threads that are running a task.
    pub(crate) fn active_handlers(&self) -> usize {
        self.queue.active.load(Relaxed)
    }

    /// Runs the tasks in the queue, then ends the threads. Blocks until they have ended.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.queue.added.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // The panics of the thread were caught and reported.
            let _ = thread.join();
        }
        if matches!(self.machine, Machine::Given(_)) {
            self.queue.run();
        }
    }
}

impl CallQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedTasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while let Some(work) = self.take() {
            if let Some(Continuation(rest)) = self.run_one(work) {
                self.lock().tasks.push_back(rest);
                self.added.notify_one();
            }
        }
    }

    /// Schedules one task on a machine without threads, and then its continuation.
    fn run_next_on(queue: &Arc<Self>, outside: &Arc<dyn Outside>) {
        let (queue, again) = (Arc::clone(queue), Arc::clone(outside));
        outside.run(Box::new(move || {
            let Some(work) = queue.lock().tasks.pop_front() else { return };
            if let Some(Continuation(rest)) = queue.run_one(work) {
                queue.lock().tasks.push_back(rest);
                Self::run_next_on(&queue, &again);
            }
        }));
    }

    /// Runs a task and returns its continuation. A panic in one call must not end the thread.
    fn run_one(&self, work: HandlerTask) -> Option<Continuation> {
        self.active.fetch_add(1, Relaxed);
        let done = catch_unwind(AssertUnwindSafe(work));
        self.active.fetch_sub(1, Relaxed);
        done.unwrap_or_else(|_| {
            tracing::error!(pool = self.name, "a call panicked; its client gets no answer");
            None
        })
    }

    fn take(&self) -> Option<HandlerTask> {
        let mut waiting = self.lock();
        loop {
            if let Some(work) = waiting.tasks.pop_front() {
                return Some(work);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.added.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Starts the handler pool and the administration pool.
pub(crate) fn start_pools(
    machine: &Machine,
    limits: &Limits,
) -> Result<(HandlerPool, HandlerPool)> {
    let readers = HandlerPool::start(
        machine,
        "reader",
        limits.handler_threads,
        limits.max_call_queue_length,
    )?;
    Ok((
        readers,
        HandlerPool::start(machine, "admin", limits.admin_threads, limits.max_admin_queue_length)?,
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn send_task(sender: &mpsc::Sender<u32>, number: u32) -> HandlerTask {
        let sender = sender.clone();
        Box::new(move || {
            sender.send(number).unwrap();
            None
        })
    }

    #[test]
    fn continuation_waits_after_queued_tasks() {
        let (sender, receiver) = mpsc::channel();
        let pool = HandlerPool::start(&Machine::Os, "test", 1, 10).unwrap();
        let (hold, held) = mpsc::channel::<()>();
        let rest = send_task(&sender, 2);
        let first = Box::new(move || {
            held.recv().unwrap();
            Some(Continuation(rest))
        });
        assert!(pool.submit(first).is_ok());
        assert!(pool.submit(send_task(&sender, 1)).is_ok());
        hold.send(()).unwrap();
        pool.close();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn full_queue_rejects_task_and_panic_keeps_thread() {
        let (sender, receiver) = mpsc::channel();
        let pool = HandlerPool::start(&Machine::Os, "test", 1, 1).unwrap();
        let (started, starts) = mpsc::channel();
        let (hold, held) = mpsc::channel::<()>();
        let first = Box::new(move || {
            started.send(()).unwrap();
            held.recv().unwrap();
            std::panic::resume_unwind(Box::new("expected by this test"));
        });
        assert!(pool.submit(first).is_ok());
        starts.recv().unwrap();
        assert!(pool.submit(send_task(&sender, 1)).is_ok());
        assert!(pool.submit(send_task(&sender, 2)).is_err());
        hold.send(()).unwrap();
        assert_eq!(receiver.recv(), Ok(1));
        pool.close();
        assert!(pool.submit(send_task(&sender, 3)).is_err());
    }
}
