//! Session: a text becomes an answer.
//!
//! `context.rs` runs statements, `planner.rs` plans queries with DataFusion, `relations.rs` checks
//! what follows the tables of FROM (`history.rs`: versions, times, bucket rows), `literals.rs` reads text that
//! is compared with UUIDs and addresses (`decimals.rs`: numbers, with decimals), `write.rs` runs statements that write (`tally.rs` counts their operations), `left.rs` counts the rows of those that are cancelled, `block.rs` is what BEGIN begins. `overflow.rs` and `sum.rs` make
//! sums fail that wrap around, `growth.rs` functions that would make huge values, `in_lists.rs` keeps lists apart whose combination forgets nulls; `answer.rs` is the result. `prepared.rs` keeps statements with parameters, whose
//! types and values are in `parameters.rs`, and `joins.rs` has the settings of joins, `lint_of.rs` is a
//! function about statements, `recent.rs` remembers the last ones; `queries.rs` lists what runs,
//! `progress.rs` tells how far it is; `load.rs` writes the rows of COPY; `local.rs` runs statements
//! about temporary tables and views; `access.rs` says who may run what, and `interrupt.rs`
//! ends statements, `rounds.rs` recursive queries. `resources.rs` is the memory and the disk of statements.

mod access;
mod answer;
mod block;
mod context;
mod correlated;
mod decimals;
pub(crate) mod functions;
pub(crate) mod growth;
mod history;
mod in_lists;
pub(crate) mod interrupt;
pub(crate) mod joins;
pub(crate) mod kept_rows;
pub(crate) mod large_stack;
mod left;
mod lint_of;
pub(crate) mod literals;
mod load;
mod local;
mod memory_pool;
pub(crate) mod overflow;
pub(crate) mod parameters;
pub(crate) mod planner;
mod prepared;
mod progress;
pub(crate) mod queries;
mod query_shape;
pub(crate) mod ranges;
mod recent;
pub(crate) mod relations;
mod resources;
pub(crate) mod rounds;
pub(crate) mod settings;
pub(crate) mod statement;
mod sum;
pub(crate) mod tally;
mod write;

pub use access::Access;
pub use answer::Answer;
pub use context::SqlContext;
pub use load::Loader;
pub use planner::Rewrite;
pub use prepared::Prepared;
pub use progress::Progress;
pub use resources::Resources;
pub use settings::Settings;
