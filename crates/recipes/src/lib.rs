//! Recipes: applications of the tutorials on row keys that run, are checked and are measured.
//!
//! The application of a recipe is an example program in `examples/`, which uses the public API. A
//! [`Recipe`] here adds a generator of its data, its queries with answers, a load for measurements,
//! and a comparison with a model in memory. Everything works on any
//! [`Cluster`](halite::Cluster): an embedded store, a server, an HBase cluster.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod analytics;
mod bench;
mod check;
mod designed;
mod dying_cluster;
mod explain;
pub mod features;
pub mod feed;
pub mod files;
mod generate;
mod hooked_cluster;
pub mod logs;
pub mod messages;
pub mod monitor;
pub mod paging;
mod parts;
mod random;
mod read_while;
mod recipe;
mod schema;
mod source;
pub mod timeseries;
pub mod user_ops;
pub mod wide_user;

pub use bench::{
    BenchConfig, BenchReport, OperationReport, Part, Silence, run_bench, stored_bytes,
};
pub use check::{CheckReport, CheckTarget, InProcessTarget, check, write_items};
pub use designed::{DataFile, DesignedRecipe, NoFile};
pub use dying_cluster::{BatchesLeft, DyingCluster};
pub use explain::{NamedQuery, explain};
pub use generate::{Generated, begin_load, end_load, generate, load_of, prepare, written_items};
pub use hooked_cluster::{Hook, HookedCluster};
pub use random::Random;
pub use recipe::{About, Application, Load, Outcome, Recipe, Site, Verified};
pub use schema::{drop_tables, init, missing_tables, reset};

static RECIPES: &[&dyn Recipe] = &[
    &timeseries::TIMESERIES,
    &messages::MESSAGES,
    &analytics::ANALYTICS,
    &features::FEATURES,
    &feed::FEED,
    &files::FILES,
    &logs::LOGS,
    &monitor::MONITOR,
    &user_ops::USER_OPS,
    &wide_user::WIDE_USER,
];

/// Returns all recipes.
pub fn recipes() -> &'static [&'static dyn Recipe] {
    RECIPES
}

/// Returns a recipe by its name.
pub fn find_recipe(name: &str) -> Option<&'static dyn Recipe> {
    recipes().iter().copied().find(|recipe| recipe.about().name == name)
}
