//! Metadata of an object storage: a tree of directories, their files, and the files of each user.
//!
//! A node is a row of its own, which alone decides where the node is; the tables of entries and of
//! owners follow it. `key.rs` contains the tables, [`Files`] creates and removes, `moves.rs` moves,
//! `queries.rs` reads, and `repair.rs` completes what a stopped writer left. The code uses the
//! public API only.
#![forbid(unsafe_code)]

mod files;
mod key;
mod moves;
mod node;
mod queries;
mod repair;

pub use files::Files;
pub use key::{EntryKey, MoveKey, NodeKey, OwnerKey, TABLES};
pub use node::{Kind, Node, ROOT};
pub use queries::{Entry, Found};
