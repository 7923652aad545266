//! From an applied write to a durable, visible one: read points and the tickets that writers wait on.

mod mvcc;
mod ticket;

pub(crate) use mvcc::Mvcc;
pub use ticket::CommitTicket;
