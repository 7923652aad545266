//! Features of a recommender: what a model needs to rank some hundred items for a user.
//!
//! Vectors of users and items are computed in batches and change all at once, by a version; clicks
//! and behavior change while they happen. `key.rs` contains the tables, [`Features`] writes,
//! `queries.rs` reads, and `repair.rs` compares the clicks with the events. The code uses the
//! public API only.
#![forbid(unsafe_code)]

mod features;
mod key;
mod queries;
mod repair;
mod vector;

pub use features::{Behavior, Features};
pub use key::{EventKey, ItemKey, ModelKey, TABLES, UserKey};
pub use queries::{ItemFeatures, Ranking};
pub use vector::{Entity, Vector};
