//! Figures about regions and the whole store, exact from the first request on.

use crate::schema::RegionInfo;

/// What a region holds and has served since it was opened. All sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionLoad {
    /// Which region.
    pub region: RegionInfo,
    /// Gets, and rows returned by scans (HBase's read requests).
    pub read_requests: u64,
    /// Mutations applied (HBase's write requests).
    pub write_requests: u64,
    /// Rows looked at by reads, returned or not.
    pub rows_examined: u64,
    /// Rows returned by reads.
    pub rows_returned: u64,
    /// Cells looked at by reads, returned or not.
    pub cells_examined: u64,
    /// Cells returned by reads.
    pub cells_returned: u64,
    /// Bytes of the cells returned by reads.
    pub bytes_returned: u64,
    /// Bytes of the cells written.
    pub bytes_written: u64,
    /// Number of store files.
    pub store_files: u64,
    /// Size of the store files on disk.
    pub store_file_bytes: u64,
    /// Memory held by cells that are not in a store file yet.
    pub memstore_bytes: u64,
    /// Cells in the store files.
    pub store_file_cells: u64,
    /// Flushes finished.
    pub flushes: u64,
    /// Compactions finished.
    pub compactions: u64,
}

/// Figures of a whole store or cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterStatus {
    /// Every region of every table, by table and start key.
    pub regions: Vec<RegionLoad>,
    /// Bytes of blocks in the cache.
    pub block_cache_bytes: u64,
    /// Block look-ups the cache answered.
    pub block_cache_hits: u64,
    /// Block look-ups that went to the disk.
    pub block_cache_misses: u64,
    /// Bytes written to the log.
    pub wal_bytes: u64,
    /// Bytes written by flushes.
    pub flushed_bytes: u64,
    /// Bytes written by compactions.
    pub compacted_bytes: u64,
}
