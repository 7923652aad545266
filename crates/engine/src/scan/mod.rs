//! Reading: sources of sorted cells, their merge, and what of it a get, scan or compaction sees.
//!
//! ```text
//! RegionScanner      rows, filters over rows, limits
//!   StoreScanner     one family: Matcher decides cell by cell
//!     Merge          one sorted stream out of many
//!       Source       a memstore or a store file, as of a read point
//! ```

mod columns;
mod deletes;
pub mod filter;
mod matcher;
mod merge;
mod region_scanner;
mod source;
mod store_scanner;
mod trace;

pub(crate) use matcher::{Matcher, Retention, UserQuery};
pub(crate) use merge::Merge;
pub use region_scanner::{RegionScanner, ScanBatch, ScanBudget};
pub(crate) use region_scanner::{ScanPlan, filter_finished_row};
pub(crate) use source::Source;
pub(crate) use store_scanner::{StoreLimits, StoreScanner};
pub use trace::ReadTrace;
