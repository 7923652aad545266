//! The threads on which calls wait for the disk or take their time: two pools, each with a queue of limited length.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use halite_types::{Error, Result};

use crate::outside::{Machine, Outside};

/// A piece of work; it may hand back more of itself, which goes to the end of the queue so that others get their turn.
pub(crate) type Work = Box<dyn FnOnce() -> Option<Next> + Send>;

/// The rest of a piece of work.
pub(crate) struct Next(pub(crate) Work);

/// A bounded queue with its threads, or with what a simulation has in their place.
pub(crate) struct Pool {
    machine: Machine,
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Queue {
    name: &'static str,
    length_max: usize,
    waiting: Mutex<Waiting>,
    added: Condvar,
    /// Threads that are at work.
    busy: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    work: VecDeque<Work>,
    closed: bool,
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// `Io` if the operating system gives no thread.
    pub(crate) fn start(machine: &Machine, name: &'static str, threads: usize, length_max: usize) -> Result<Self> {
        let queue = Arc::new(Queue { name, length_max, waiting: Mutex::default(), added: Condvar::new(), busy: AtomicUsize::new(0) });
        let start = |number| {
            let queue = Arc::clone(&queue);
            let thread = std::thread::Builder::new().name(format!("halite-{name}-{number}"));
            thread.spawn(move || queue.run()).map_err(|error| Error::io(format!("starting thread {number} of the {name} lane"), error))
        };
        let threads = match machine {
            Machine::Os => (0..threads).map(start).collect::<Result<Vec<_>>>()?,
            Machine::Given(_) => Vec::new(),
        };
        Ok(Self { machine: machine.clone(), queue, threads: Mutex::new(threads) })
    }

    /// Puts work into the queue; gives it back if the queue is full or closed.
    pub(crate) fn submit(&self, work: Work) -> Result<(), Work> {
        let mut waiting = self.queue.lock();
        if waiting.closed || waiting.work.len() >= self.queue.length_max {
            return Err(work);
        }
        waiting.work.push_back(work);
        drop(waiting);
        match &self.machine {
            Machine::Os => self.queue.added.notify_one(),
            Machine::Given(outside) => Queue::run_next_on(&self.queue, outside),
        }
        Ok(())
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.queue.lock().work.len()
    }

    /// How many threads are at work.
    pub(crate) fn busy(&self) -> usize {
        self.queue.busy.load(Relaxed)
    }

    /// Does what is in the queue, and ends the threads. Blocks until they have ended.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.queue.added.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // Its panics were caught and reported where they happened.
            let _ = thread.join();
        }
        if matches!(self.machine, Machine::Given(_)) {
            self.queue.run();
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while let Some(work) = self.take() {
            if let Some(Next(rest)) = self.run_one(work) {
                self.lock().work.push_back(rest);
                self.added.notify_one();
            }
        }
    }

    /// Has one piece of work done by a machine without threads, and then the rest of it.
    fn run_next_on(queue: &Arc<Self>, outside: &Arc<dyn Outside>) {
        let (queue, again) = (Arc::clone(queue), Arc::clone(outside));
        outside.run(Box::new(move || {
            let Some(work) = queue.lock().work.pop_front() else { return };
            if let Some(Next(rest)) = queue.run_one(work) {
                queue.lock().work.push_back(rest);
                Self::run_next_on(&queue, &again);
            }
        }));
    }

    /// Does a piece of work and gives the rest of it. A defect in one call must not take the thread from all others.
    fn run_one(&self, work: Work) -> Option<Next> {
        self.busy.fetch_add(1, Relaxed);
        let done = catch_unwind(AssertUnwindSafe(work));
        self.busy.fetch_sub(1, Relaxed);
        done.unwrap_or_else(|_| {
            tracing::error!(lane = self.name, "a call panicked; its client gets no answer");
            None
        })
    }

    fn take(&self) -> Option<Work> {
        let mut waiting = self.lock();
        loop {
            if let Some(work) = waiting.work.pop_front() {
                return Some(work);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.added.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn say(sender: &mpsc::Sender<u32>, number: u32) -> Work {
        let sender = sender.clone();
        Box::new(move || {
            sender.send(number).unwrap();
            None
        })
    }

    #[test]
    fn the_rest_of_a_work_waits_behind_the_others() {
        let (sender, receiver) = mpsc::channel();
        let pool = Pool::start(&Machine::Os, "test", 1, 10).unwrap();
        let (hold, held) = mpsc::channel::<()>();
        let rest = say(&sender, 2);
        let first = Box::new(move || {
            held.recv().unwrap();
            Some(Next(rest))
        });
        assert!(pool.submit(first).is_ok());
        assert!(pool.submit(say(&sender, 1)).is_ok());
        hold.send(()).unwrap();
        pool.close();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_full_queue_gives_the_work_back_and_a_panic_costs_no_thread() {
        let (sender, receiver) = mpsc::channel();
        let pool = Pool::start(&Machine::Os, "test", 1, 1).unwrap();
        let (started, starts) = mpsc::channel();
        let (hold, held) = mpsc::channel::<()>();
        let first = Box::new(move || {
            started.send(()).unwrap();
            held.recv().unwrap();
            std::panic::resume_unwind(Box::new("expected by this test"));
        });
        assert!(pool.submit(first).is_ok());
        starts.recv().unwrap();
        assert!(pool.submit(say(&sender, 1)).is_ok());
        assert!(pool.submit(say(&sender, 2)).is_err());
        hold.send(()).unwrap();
        assert_eq!(receiver.recv(), Ok(1));
        pool.close();
        assert!(pool.submit(say(&sender, 3)).is_err());
    }
}
