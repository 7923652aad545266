//! Synchronous calls to any cluster: the calls of `Cluster`, `Admin` and `Table` under the same
//! names, for callers whose threads may block.
//!
//! An embedded [`Store`](crate::Store) and a remote cluster have the same types here, which only
//! know the traits. A test in this folder compares the methods with those of the traits.

mod cluster;
mod into_table_name;
#[cfg(test)]
mod method_parity;
mod pages;
mod table;

pub use cluster::BlockingCluster;
pub use into_table_name::IntoTableName;
pub use pages::{MergedPages, Pages};
pub use table::{BlockingRows, BlockingTable, QueryRows};
