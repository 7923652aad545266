//! The promise that an applied write becomes durable and visible.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use halite_types::Result;

use crate::wal::Wal;

/// Wait for it, by [`CommitTicket::wait`] or `.await`, before telling anybody that the write is done. A thread that
/// waits does the writing and syncing itself, for everybody who waits at that moment; a task leaves that to the log's
/// own thread. Dropping the ticket does not take the write back.
#[must_use = "a write is not acknowledged before its ticket is fulfilled"]
#[derive(Clone)]
pub struct CommitTicket {
    /// `None` when there is nothing to wait for.
    pending: Option<Pending>,
}

#[derive(Clone)]
struct Pending {
    wal: Arc<Wal>,
    position: u64,
    fsync: bool,
}

impl CommitTicket {
    /// A ticket that is fulfilled already.
    pub fn ready() -> Self {
        Self { pending: None }
    }

    pub(crate) fn new(wal: &Arc<Wal>, position: u64, fsync: bool) -> Self {
        Self { pending: Some(Pending { wal: Arc::clone(wal), position, fsync }) }
    }

    /// Whichever of the two is fulfilled later.
    pub fn later(self, other: Self) -> Self {
        match (self.pending, other.pending) {
            (Some(a), Some(b)) => {
                let (position, fsync) = (a.position.max(b.position), a.fsync || b.fsync);
                Self { pending: Some(Pending { position, fsync, ..a }) }
            }
            (pending, None) | (None, pending) => Self { pending },
        }
    }

    /// Whether the write is durable and visible, for tasks that would otherwise wait for the log's thread. Where durable
    /// means no more than that the operating system has it, this hands it over if nobody else is at it. `None` means to
    /// wait. It takes no longer than a write to a file's cache.
    pub fn try_finish(&self) -> Option<Result<()>> {
        match &self.pending {
            None => Some(Ok(())),
            Some(pending) if pending.fsync => pending.wal.is_reached(pending.position, true).then_some(Ok(())),
            Some(pending) => pending.wal.try_write(pending.position),
        }
    }

    /// Blocks until the write is durable and visible.
    ///
    /// # Errors
    /// The log could not be written or synced. The engine has stopped then, and whether the write survived shows at
    /// the next opening.
    pub fn wait(&self) -> Result<()> {
        match &self.pending {
            None => Ok(()),
            Some(pending) => pending.wal.sync_to(pending.position, pending.fsync),
        }
    }
}

impl Future for CommitTicket {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        match &self.pending {
            None => Poll::Ready(Ok(())),
            Some(pending) => pending.wal.poll_sync(pending.position, pending.fsync, context.waker()),
        }
    }
}
