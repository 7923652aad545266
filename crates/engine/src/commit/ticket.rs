//! Tickets for applied writes that become durable and visible.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use halite_types::Result;

use crate::wal::Wal;

/// Ticket of an applied write. Wait for it with [`CommitTicket::wait`] or `.await` before
/// acknowledging the write. A waiting thread performs the write and sync itself, for all writers
/// waiting at that moment. A task leaves this to the log's writer thread. Dropping the ticket does
/// not revert the write.
#[must_use = "a write is not acknowledged before its ticket is fulfilled"]
#[derive(Clone)]
pub struct CommitTicket {
    /// `None` if there is nothing to wait for.
    target: Option<SyncTarget>,
    /// Dropped with the ticket, when the write has been waited for: a list, since a batch may join
    /// very many tickets, and the end of values within values would need a stack as deep.
    held: Vec<Held>,
}

/// Value whose end means that a write is durable.
pub(crate) type Held = Arc<dyn Send + Sync>;

#[derive(Clone)]
struct SyncTarget {
    wal: Arc<Wal>,
    position: u64,
    fsync: bool,
}

impl CommitTicket {
    /// Returns a fulfilled ticket.
    pub fn ready() -> Self {
        Self { target: None, held: Vec::new() }
    }

    pub(crate) fn new(wal: &Arc<Wal>, position: u64, fsync: bool) -> Self {
        let target = Some(SyncTarget { wal: Arc::clone(wal), position, fsync });
        Self { target, ..Self::ready() }
    }

    /// Returns the ticket with a value that is dropped when the write has been waited for.
    pub(crate) fn holding(mut self, held: Option<Held>) -> Self {
        self.held.extend(held);
        self
    }

    /// Returns a ticket that is fulfilled when both are.
    pub fn later(self, other: Self) -> Self {
        let mut held = self.held;
        held.extend(other.held);
        let target = match (self.target, other.target) {
            (Some(a), Some(b)) => {
                let (position, fsync) = (a.position.max(b.position), a.fsync || b.fsync);
                Some(SyncTarget { position, fsync, ..a })
            }
            (pending, None) | (None, pending) => pending,
        };
        Self { target, held }
    }

    /// Returns the result if the write is durable and visible, for tasks that would otherwise wait
    /// for the log's writer thread. If durable only means passed to the operating system, this call
    /// writes the buffer unless another thread is writing. `None` means that the caller must wait.
    /// The call takes no longer than a write to the page cache.
    pub fn try_finish(&self) -> Option<Result<()>> {
        match &self.target {
            None => Some(Ok(())),
            Some(pending) if pending.fsync => {
                pending.wal.is_durable(pending.position, true).then_some(Ok(()))
            }
            Some(pending) => pending.wal.try_write(pending.position),
        }
    }

    /// Blocks until the write is durable and visible.
    ///
    /// # Errors
    /// The log could not be written or synced. The engine has then stopped, and the next opening
    /// determines whether the write survived.
    pub fn wait(&self) -> Result<()> {
        match &self.target {
            None => Ok(()),
            Some(pending) => pending.wal.sync_to(pending.position, pending.fsync),
        }
    }
}

impl Future for CommitTicket {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        match &self.target {
            None => Poll::Ready(Ok(())),
            Some(pending) => {
                pending.wal.poll_sync(pending.position, pending.fsync, context.waker())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn tickets_of_large_batch_end_without_recursion() {
        const COUNT: usize = 300_000;
        let ended = Arc::new(AtomicUsize::new(0));
        let one = || CommitTicket::ready().holding(Some(Arc::new(Counted(Arc::clone(&ended)))));
        let all = (1..COUNT).fold(one(), |all, _| all.later(one()));
        assert_eq!(ended.load(Relaxed), 0);
        let clone = all.clone();
        drop(all);
        assert_eq!(ended.load(Relaxed), 0, "a clone holds them too");
        drop(clone);
        assert_eq!(ended.load(Relaxed), COUNT);
    }
}
