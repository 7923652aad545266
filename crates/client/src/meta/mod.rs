//! Where regions are: what is known, and asking `hbase:meta` for the rest.
//!
//! `cache.rs` keeps what is known, sorted by start key for each table. `lookup.rs` asks: one caller at a time for a table,
//! while the others wait for what he learns. What turns out to be wrong is forgotten region by region.

mod cache;
mod lookup;

pub(crate) use cache::{At, Location, Locations, TableRegions};
pub(crate) use lookup::{locate, region_location};
