//! Synchronous calls to any cluster: the calls of `Cluster`, `Admin` and `Table` under the same
//! names, for callers whose threads may block.
//!
//! An embedded [`Store`](crate::Store) and a remote cluster have the same types here, which only
//! know the traits. A test in this folder compares the methods with those of the traits.

mod cluster;
#[cfg(test)]
mod complete;
mod table;

pub use cluster::BlockingCluster;
pub use table::{BlockingRows, BlockingTable};
