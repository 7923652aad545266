//! Commit: from an applied write to a durable, visible one. Read points, and the tickets that
//! writers wait for.

mod mvcc;
mod pipeline;
mod ticket;

pub(crate) use mvcc::Mvcc;
pub(crate) use pipeline::{CommitEnv, CommitGuard, CommitPipeline, Committed, Refusal};
pub use ticket::CommitTicket;
pub(crate) use ticket::Held;
