//! Metadata of an object storage: a tree of directories, their files, and the files of each user.
//!
//! A node is a row of its own, which alone decides where the node is; the tables of entries and of
//! owners are indexes that follow it. `key.rs` contains the tables, [`Files`] creates and removes,
//! `moves.rs` moves, and `queries.rs` reads. The code uses the public API only.
#![forbid(unsafe_code)]

mod files;
mod key;
mod moves;
mod node;
mod queries;

pub use files::Files;
pub use key::{EntryKey, MoveKey, NodeKey, OwnerKey, TABLES};
pub use node::{Kind, Node, ROOT};
pub use queries::{Entry, Walk};
