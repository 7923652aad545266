//! Connections that have not logged in. They are no sessions yet, and take none of their places, so
//! that a request to cancel and an admin come through when these are taken. There is a limit to
//! them as well, at which the one that has taken longest yields to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// Connections that have not logged in.
pub(super) struct Entrants {
    waiting: Arc<Mutex<Waiting>>,
    max: usize,
    /// Time that a login may take when others wait for its place.
    grace: Duration,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// Those that wait, in the order in which they came.
    since: BTreeMap<u64, (Instant, oneshot::Sender<()>)>,
}

/// A connection that has not logged in. Dropping it gives its place back.
pub(super) struct Entrant {
    number: u64,
    displaced: oneshot::Receiver<()>,
    waiting: Arc<Mutex<Waiting>>,
}

impl Entrants {
    pub(super) fn new(max: usize, grace: Duration) -> Self {
        Self { waiting: Arc::default(), max, grace }
    }

    /// Adds a connection; `None` if there are as many as may be, none of which takes long.
    pub(super) fn enter(&self) -> Option<Entrant> {
        let mut waiting = lock(&self.waiting);
        if waiting.since.len() >= self.max {
            let first = waiting.since.first_entry()?;
            if first.get().0.elapsed() < self.grace {
                return None;
            }
            // Dropping what it waits for tells it.
            drop(first.remove());
        }
        let number = waiting.next;
        waiting.next += 1;
        let (sender, displaced) = oneshot::channel();
        waiting.since.insert(number, (Instant::now(), sender));
        drop(waiting);
        Some(Entrant { number, displaced, waiting: Arc::clone(&self.waiting) })
    }
}

impl Entrant {
    /// Waits until the place is another's.
    pub(super) async fn displaced(&mut self) {
        let _ = (&mut self.displaced).await;
    }
}

impl Drop for Entrant {
    fn drop(&mut self) {
        lock(&self.waiting).since.remove(&self.number);
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_displaced(entrant: &mut Entrant) -> bool {
        entrant.displaced.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn place_is_given_back() {
        let entrants = Entrants::new(2, Duration::from_hours(1));
        let (one, _two) = (entrants.enter().unwrap(), entrants.enter().unwrap());
        assert!(entrants.enter().is_none());
        drop(one);
        assert!(entrants.enter().is_some());
        assert!(Entrants::new(0, Duration::ZERO).enter().is_none());
    }

    #[test]
    fn the_one_that_took_longest_yields() {
        let entrants = Entrants::new(2, Duration::ZERO);
        let (mut one, mut two) = (entrants.enter().unwrap(), entrants.enter().unwrap());
        let mut three = entrants.enter().unwrap();
        assert!(is_displaced(&mut one));
        assert!(!is_displaced(&mut two) && !is_displaced(&mut three));
        // It has no place any more to give back.
        drop(one);
        let _four = entrants.enter().unwrap();
        assert!(is_displaced(&mut two) && !is_displaced(&mut three));
    }
}
