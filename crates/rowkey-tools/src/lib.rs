//! Tools around declared row keys: the cost of a declaration, the schema of existing keys, the load
//! on a key before its table exists, and splits from a sample of keys.
//!
//! A program that stores and queries declared rows needs `halite-rowkey` alone; these tools are for
//! those who design its keys.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod advise;
pub mod cell_cost;
pub mod fit;
pub mod infer;
pub mod lint;
pub mod picture;
pub mod replay;
pub mod simulate;
mod split_sample;

pub use fit::KeyFit;
pub use split_sample::split_sample;
