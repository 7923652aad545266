//! Limits of concurrent work, its deadline, and the threads on which it may block.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::problem::{Answered, Problem};
use crate::worker_threads::WorkerThreads;

/// Maximum requests that are answered at once.
const MAX_REQUESTS: usize = 64;

/// Maximum requests among them that read rows or many regions.
const MAX_HEAVY_REQUESTS: usize = 4;

/// Maximum requests that wait for those: the pages of several people, opened at once.
const MAX_WAITING_REQUESTS: usize = 16;

/// Work that is not that of a request: the samples of all regions, which take turns.
const OTHER_WORK: usize = 1;

/// Cost of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Light,
    /// Reads rows, or writes all regions of a table.
    Heavy,
}

impl Weight {
    /// Returns the time in which a request must be answered. What reads much has five times that of
    /// the others: where the server is busy, a late page is of more use than an error.
    const fn time_limit(self) -> Duration {
        match self {
            // What the tests ask is answered, however busy the machine.
            _ if cfg!(test) => Duration::from_mins(5),
            Self::Light => Duration::from_secs(2),
            Self::Heavy => Duration::from_secs(10),
        }
    }
}

/// Time at which a request is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    end: Instant,
    limit: Duration,
}

impl Deadline {
    fn of(weight: Weight) -> Self {
        let limit = weight.time_limit();
        Self { end: Instant::now() + limit, limit }
    }

    pub(crate) fn is_over(self) -> bool {
        Instant::now() >= self.end
    }

    /// Returns the time that a request has in all.
    pub(crate) const fn limit(self) -> Duration {
        self.limit
    }

    /// Returns the problem of a request that takes too long, once it has.
    pub(crate) fn check(self) -> Answered<()> {
        if self.is_over() { Err(self.problem()) } else { Ok(()) }
    }

    fn problem(self) -> Problem {
        let text = format!("the answer was not ready after {} s", self.limit.as_secs());
        Problem::retry(text, 2).detail("ask for less, or again when the server has less to do")
    }
}

/// Limits of concurrent requests. A request that ran out of time still counts until its thread has
/// noticed.
#[derive(Debug)]
pub(crate) struct Gate {
    all: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    heavy_or_waiting: Arc<Semaphore>,
    threads: WorkerThreads,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_REQUESTS)),
            heavy: Arc::new(Semaphore::new(MAX_HEAVY_REQUESTS)),
            heavy_or_waiting: Arc::new(Semaphore::new(MAX_HEAVY_REQUESTS + MAX_WAITING_REQUESTS)),
            threads: WorkerThreads::new(MAX_REQUESTS + OTHER_WORK),
        }
    }
}

impl Gate {
    /// Runs work that is not that of a request on a thread like those of the requests.
    pub(crate) fn run_aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.threads.run(work)
    }

    /// Runs work on a thread that may block. What reads much waits for its turn, and counts that as
    /// part of its time; what finds as many waiting is sent away at once.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce(Deadline) -> Answered<T> + Send + 'static,
    ) -> Answered<T> {
        let deadline = Deadline::of(weight);
        let permits = (
            enter(&self.all, "requests")?,
            match weight {
                Weight::Light => None,
                Weight::Heavy => Some(self.turn_to_read_much(deadline).await?),
            },
        );
        let done = self.threads.run(move || {
            let result = work(deadline);
            drop(permits);
            result
        });
        match tokio::time::timeout_at(deadline.end.into(), done).await {
            Ok(Ok(result)) => result,
            Ok(Err(panicked)) => {
                tracing::error!(%panicked, "answering a request of the web page");
                Err(Problem::defect())
            }
            Err(_) => Err(deadline.problem()),
        }
    }

    async fn turn_to_read_much(&self, deadline: Deadline) -> Answered<[OwnedSemaphorePermit; 2]> {
        let place = enter(&self.heavy_or_waiting, TOO_MANY_HEAVY)?;
        let turn = Arc::clone(&self.heavy).acquire_owned();
        let turn = tokio::time::timeout_at(deadline.end.into(), turn);
        match turn.await {
            Ok(Ok(turn)) => Ok([turn, place]),
            Ok(Err(_)) => Err(Problem::defect()), // Nothing closes the semaphore.
            Err(_) => Err(too_many(TOO_MANY_HEAVY)),
        }
    }
}

const TOO_MANY_HEAVY: &str = "requests that read much";

fn too_many(what: &str) -> Problem {
    Problem::retry(format!("too many {what} at once"), 1)
}

fn enter(semaphore: &Arc<Semaphore>, what: &str) -> Answered<OwnedSemaphorePermit> {
    Arc::clone(semaphore).try_acquire_owned().map_err(|_| too_many(what))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::problem::Kind;

    #[tokio::test]
    async fn heavy_requests_wait_and_are_sent_away_when_too_many_wait() {
        let gate = Arc::new(Gate::default());
        let (release, wait) = mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let (entered, mut running) = tokio::sync::mpsc::unbounded_channel();
        let read_much = || {
            let (gate, wait, entered) = (Arc::clone(&gate), Arc::clone(&wait), entered.clone());
            tokio::spawn(async move {
                gate.run(Weight::Heavy, move |_| {
                    entered.send(()).unwrap();
                    wait.lock().unwrap().recv().unwrap();
                    Ok(())
                })
                .await
            })
        };
        let tasks: Vec<_> = (0..MAX_HEAVY_REQUESTS).map(|_| read_much()).collect();
        for _ in 0..MAX_HEAVY_REQUESTS {
            running.recv().await.unwrap();
        }
        let waiting: Vec<_> = (0..MAX_WAITING_REQUESTS).map(|_| read_much()).collect();
        tokio::task::yield_now().await;
        let sent_away = gate.run(Weight::Heavy, |_| Ok(())).await.unwrap_err();
        assert_eq!((sent_away.status, sent_away.kind), (503, Kind::Retry));
        gate.run(Weight::Light, |_| Ok(())).await.unwrap();
        for _ in 0..MAX_HEAVY_REQUESTS + MAX_WAITING_REQUESTS {
            release.send(()).unwrap();
        }
        for task in tasks.into_iter().chain(waiting) {
            task.await.unwrap().unwrap();
        }
        gate.run(Weight::Heavy, |_| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn panic_of_work_is_answered_as_defect() {
        let problem = Gate::default()
            .run(Weight::Light, |_| -> Answered<()> { panic!("planted") })
            .await
            .unwrap_err();
        assert_eq!((problem.status, problem.kind), (500, Kind::Repair));
    }
}
