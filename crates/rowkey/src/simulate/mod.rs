//! What a row key does under load before there is a table: where writes go, at which moment, and how evenly.
//!
//! `skew.rs` counts keys by region, as a whole and in windows.

mod figures;
mod skew;

pub use skew::{Skew, SkewCounter};
