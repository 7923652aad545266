//! Reading: sources of sorted cells, their merge, and what of it a get, scan or compaction sees.
//!
//! ```text
//! RegionScanner      filters over rows, limits
//!   Rows             from row to row
//!   StoreScanner     one family: Matcher decides cell by cell
//!     Merge          one sorted stream out of many
//!       Source       a memstore or a store file, as of a read point
//! ```

mod budget;
mod columns;
mod deletes;
pub mod filter;
mod matcher;
mod merge;
mod new_version;
mod region_scanner;
mod rows;
mod source;
mod store_scanner;
mod trace;

pub use budget::{MEMORY_BYTES_MAX, MEMORY_CELLS_MAX, ScanBatch, ScanBudget, StopReason};
pub(crate) use matcher::{Matcher, Retention, UserQuery};
pub(crate) use merge::Merge;
pub use region_scanner::RegionScanner;
pub(crate) use region_scanner::{ScanPlan, filter_finished_row};
pub(crate) use rows::{Rows, StoredRows};
pub(crate) use source::{Source, WantedFrom};
pub use store_scanner::counted_bytes;
pub(crate) use store_scanner::{CellCount, CellSink, RowProgress, RowStop, StoreLimits, StoreScanner};
pub use trace::ReadTrace;

/// Up to which write a scan sees the cells of its region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAt {
    /// Every write that is durable when the scan begins (HBase's `READ_COMMITTED`).
    #[default]
    Committed,
    /// Every write that is applied when the scan begins, durable or not (HBase's `READ_UNCOMMITTED`). Each write is seen as
    /// a whole all the same.
    Applied,
    /// Up to this sequence id, where a scan that was cut off had begun; at most what [`ReadAt::Committed`] gives. Newer
    /// cells are left out. Where files were written since without what newer writes have displaced, or the region was opened
    /// anew, it is [`ReadAt::Committed`]: HBase then shows rows with holes, which never were.
    Point(u64),
}
