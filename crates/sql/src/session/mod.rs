//! Session: a text becomes an answer.
//!
//! `context.rs` runs statements, `planner.rs` plans queries with DataFusion, `relations.rs` checks
//! what follows the tables of FROM (`history.rs`: versions and times), `literals.rs` reads text that
//! is compared with UUIDs and addresses, `answer.rs` is the result.

mod answer;
mod context;
mod history;
mod literals;
mod planner;
mod relations;
pub(crate) mod settings;
pub(crate) mod statement;

pub use answer::Answer;
pub use context::SqlContext;
pub use settings::Settings;
