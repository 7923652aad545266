//! Rules of the physical plan that the order of the keys permits.
//!
//! `aggregates.rs` reads as many rows as an aggregate needs: the first or last one of a range, the
//! first of each group, or those that have a cell. `parts.rs` reads several parts of a table at once
//! for aggregates that need no order. `regions.rs` has the regions compute what they can.
//! `join_filters.rs` moves what a join knows to the scan of its other side.
//! `late.rs` reads columns of the first rows of an order alone.
//! `projections.rs` keeps `DataFusion` from choosing other columns than those of the statement.

mod aggregates;
mod ends;
mod inputs;
mod join_filters;
mod late;
mod parts;
mod projections;
mod regions;

pub(crate) use aggregates::KeyAggregates;
pub(crate) use join_filters::JoinFilters;
pub(crate) use late::LateColumnsRule;
pub(crate) use parts::ScanParts;
pub(crate) use projections::WholeFilters;
pub(crate) use regions::AggregatesInRegions;
