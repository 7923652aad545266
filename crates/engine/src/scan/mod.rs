//! Reads: sources of sorted cells, their merge, and the result of a get, scan or compaction.
//!
//! ```text
//! RegionScanner         filters over rows, limits
//!   RowCursor           from row to row
//!   StoreScanner        one family: Matcher decides cell by cell
//!     CellStream        the puts of a merged column as one
//!       MergingIterator one sorted stream from several sources
//!         CellSource    a memstore or a store file, as of a read point
//! ```

mod columns;
mod deletes;
pub mod filter;
mod joined_stores;
mod limits;
mod matcher;
mod merge;
mod merged_columns;
mod new_version_behavior;
mod region_scanner;
mod rows;
mod source;
mod stats;
mod store_scanner;

pub use limits::{MAX_MEMORY_BYTES, MAX_MEMORY_CELLS, ScanBatch, ScanLimits, StopReason};
pub(crate) use matcher::{Matcher, Retention, UserQuery};
pub(crate) use merged_columns::{CellStream, MergeRule};
pub use region_scanner::RegionScanner;
pub(crate) use region_scanner::{ScanPlan, filter_finished_row};
pub(crate) use rows::{RowCursor, StoreRowCursor};
pub(crate) use source::{CellSource, LazySeek};
pub use stats::ReadStats;
pub use store_scanner::counted_bytes;
pub(crate) use store_scanner::{
    CellCount, CellSink, RowProgress, RowStop, StoreLimits, StoreScanner,
};

/// Write up to which a scan sees the cells of its region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAt {
    /// Every write that is durable when the scan begins (HBase's `READ_COMMITTED`).
    #[default]
    Committed,
    /// Every write that is applied when the scan begins, durable or not (HBase's
    /// `READ_UNCOMMITTED`). Each write is still seen as a whole.
    Applied,
    /// Up to this sequence id, the read point of an interrupted scan; at most that of
    /// [`ReadAt::Committed`]. Newer cells are excluded. If files were written since without the
    /// cells that newer writes have displaced, or the region was reopened, it is
    /// [`ReadAt::Committed`]. HBase returns rows with missing cells in that case, which never
    /// existed.
    Point(u64),
}
