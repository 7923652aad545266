//! Region locations: a cache, and lookups in `hbase:meta`.
//!
//! `cache.rs` contains the known locations, sorted by start key for each table. `lookup.rs` queries
//! the rest: one caller at a time per table, while the others wait for its result. Wrong locations
//! are evicted region by region.

mod cache;
mod lookup;

pub(crate) use cache::{LocateType, Location, MetaCache, TableLocations};
pub(crate) use lookup::{locate, region_location};
