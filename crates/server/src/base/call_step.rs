//! Progress of a call, and the task or thread that executes it.

use halite_engine::CommitTicket;
use halite_types::ReadTier;

use crate::base::call::{CallError, Reply};

/// Task or thread pool that executes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executor {
    /// The connection's own task, from memory only.
    Inline,
    /// A handler thread.
    Handler,
    /// An administration thread.
    Admin,
}

/// Progress of a call.
pub(crate) enum CallStep {
    /// The call is finished.
    Done(CallOutcome),
    /// The call continues on a handler thread.
    Deferred(Box<dyn FnOnce() -> CallStep + Send>),
}

/// Outcome of a call.
pub(crate) enum CallOutcome {
    Ready(Result<Reply, CallError>),
    /// The reply may be sent once the ticket is complete.
    AfterCommit(CommitTicket, Reply),
}

impl Executor {
    /// Returns the storage that reads of a call may use there.
    pub(crate) fn read_tier(self) -> ReadTier {
        match self {
            Self::Inline => ReadTier::Memory,
            Self::Handler | Self::Admin => ReadTier::Disk,
        }
    }
}

impl<E: Into<CallError>> From<Result<Reply, E>> for CallStep {
    fn from(result: Result<Reply, E>) -> Self {
        Self::Done(CallOutcome::Ready(result.map_err(Into::into)))
    }
}

impl CallStep {
    /// Defers the rest of the work to another thread. An error of it is the reply.
    pub(crate) fn defer(rest: impl FnOnce() -> Result<Self, CallError> + Send + 'static) -> Self {
        Self::Deferred(Box::new(move || rest().unwrap_or_else(Self::from)))
    }
}

impl From<CallError> for CallStep {
    fn from(fault: CallError) -> Self {
        Self::Done(CallOutcome::Ready(Err(fault)))
    }
}
