//! Rules of the physical plan that the order of the keys permits.
//!
//! `aggregates.rs` reads as many rows as an aggregate needs: the first or last one of a range, the
//! first of each group, or those that have a cell.

mod aggregates;
mod ends;

pub(crate) use aggregates::KeyAggregates;
