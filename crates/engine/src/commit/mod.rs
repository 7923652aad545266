//! Commit: from an applied write to a durable, visible one. Read points, and the tickets that
//! writers wait for.

mod mvcc;
mod ticket;

pub(crate) use mvcc::Mvcc;
pub use ticket::CommitTicket;
