//! Session: a text becomes an answer.
//!
//! `context.rs` runs statements, `planner.rs` plans queries with DataFusion, `relations.rs` checks
//! what follows the tables of FROM (`history.rs`: versions and times), `literals.rs` reads text that
//! is compared with UUIDs and addresses, `answer.rs` is the result. `prepared.rs` keeps statements
//! with parameters, whose types and values are in `parameters.rs`; `access.rs` says who may run what,
//! and `interrupt.rs` ends statements.

mod access;
mod answer;
mod context;
mod history;
pub(crate) mod interrupt;
mod literals;
mod parameters;
mod planner;
mod prepared;
mod relations;
pub(crate) mod settings;
pub(crate) mod statement;

pub use access::Access;
pub use answer::Answer;
pub use context::SqlContext;
pub use planner::Rewrite;
pub use prepared::Prepared;
pub use settings::Settings;
