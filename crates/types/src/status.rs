//! Statistics of regions and of the whole store, exact from the first request on.

use std::sync::Arc;

use bytes::Bytes;

use crate::ServerName;
use crate::latency::Latencies;
use crate::schema::RegionInfo;

/// Requested and running compactions of a region (HBase's `CompactionState`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionState {
    /// None.
    #[default]
    None,
    /// Minor compactions.
    Minor,
    /// Major compactions.
    Major,
    /// Both.
    MajorAndMinor,
}

/// Contents of a region and requests served since it was opened. All sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionLoad {
    /// Region.
    pub region: RegionInfo,
    /// Server of the region; `None` in an embedded store.
    pub server: Option<Arc<ServerName>>,
    /// Part of its bytes on the disks of that server, 0 to 1; `None` if it is not reported.
    pub locality: Option<f32>,
    /// Gets, and rows returned by scans (HBase's read requests).
    pub read_requests: u64,
    /// Mutations applied (HBase's write requests).
    pub write_requests: u64,
    /// Rows examined by reads, whether or not they were returned.
    pub rows_examined: u64,
    /// Rows returned by reads.
    pub rows_returned: u64,
    /// Cells examined by reads, whether or not they were returned.
    pub cells_examined: u64,
    /// Cells returned by reads.
    pub cells_returned: u64,
    /// Bytes of the cells returned by reads.
    pub bytes_returned: u64,
    /// Bytes of the cells written.
    pub bytes_written: u64,
    /// Number of store files.
    pub store_files: u64,
    /// Size of the store files on disk. A reference to a part of another region's file counts half
    /// of that file.
    pub store_file_bytes: u64,
    /// Size of the store files before compression, as their trailers specify it; half of it for
    /// references.
    pub store_file_uncompressed_bytes: u64,
    /// Store files that reference parts of another region's files.
    pub reference_files: u64,
    /// Number of stores, one per family.
    pub stores: u64,
    /// Memory of the index roots and bloom filter indexes of open store files (HBase's root index
    /// size).
    pub root_index_bytes: u64,
    /// Size of all index blocks of the store files before compression (HBase's static index size).
    pub static_index_bytes: u64,
    /// Size of the bloom filters of the store files (HBase's static bloom size).
    pub static_bloom_bytes: u64,
    /// Memory of cells that are not in a store file yet, including their index.
    pub memstore_bytes: u64,
    /// Bytes of keys, values and tags of those cells.
    pub memstore_data_bytes: u64,
    /// Cells in the store files.
    pub store_file_cells: u64,
    /// Estimate of the rows: those of the family with most of them. A row that is in several files,
    /// or deleted in one of them, counts in each; where a file does not tell its rows, they are
    /// estimated from its cells. `None` if it is not reported.
    pub rows: Option<u64>,
    /// Durations of reads of the last minute, a sample of them in a busy region; empty if none is
    /// reported.
    pub read_latencies: Latencies,
    /// Durations of writes until they are durable, as those of reads.
    pub write_latencies: Latencies,
    /// Flushes finished.
    pub flushes: u64,
    /// In-memory compactions of memstores, which remove cells that are no longer visible.
    pub in_memory_compactions: u64,
    /// Compactions finished.
    pub compactions: u64,
    /// Rows excluded by a filter (HBase's filtered read requests).
    pub filtered_read_requests: u64,
    /// Writes rejected because the table does not accept their rows.
    pub refused_rows: u64,
    /// Requested and running compactions.
    pub compaction_state: CompactionState,
    /// Input cells of running compactions; 0 if none is running.
    pub compacting_cells: u64,
    /// Cells that those compactions have written so far.
    pub compacted_cells: u64,
    /// Newest sequence id flushed to store files; `None` before the first flush (HBase's complete
    /// sequence id, which is then -1).
    pub flushed_sequence: Option<u64>,
    /// Sequence id at which the region was opened (HBase's `seqnumDuringOpen`).
    pub open_sequence: u64,
    /// Creation time of the oldest store file, in milliseconds; 0 without files.
    pub oldest_file_ms: i64,
    /// Creation time of the oldest file written by a major compaction, in milliseconds; 0 if there
    /// is none (HBase's last major compaction timestamp).
    pub last_major_compaction_ms: i64,
}

impl RegionLoad {
    /// Creates statistics of an empty region without requests.
    pub fn new(region: RegionInfo) -> Self {
        Self {
            region,
            server: None,
            locality: None,
            read_requests: 0,
            write_requests: 0,
            rows_examined: 0,
            rows_returned: 0,
            cells_examined: 0,
            cells_returned: 0,
            bytes_returned: 0,
            bytes_written: 0,
            store_files: 0,
            store_file_bytes: 0,
            store_file_uncompressed_bytes: 0,
            reference_files: 0,
            stores: 0,
            root_index_bytes: 0,
            static_index_bytes: 0,
            static_bloom_bytes: 0,
            memstore_bytes: 0,
            memstore_data_bytes: 0,
            store_file_cells: 0,
            rows: None,
            read_latencies: Latencies::default(),
            write_latencies: Latencies::default(),
            flushes: 0,
            in_memory_compactions: 0,
            compactions: 0,
            filtered_read_requests: 0,
            refused_rows: 0,
            compaction_state: CompactionState::None,
            compacting_cells: 0,
            compacted_cells: 0,
            flushed_sequence: None,
            open_sequence: 0,
            oldest_file_ms: 0,
            last_major_compaction_ms: 0,
        }
    }
}

/// Row that many operations were on, with their number in a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequentRow {
    /// Row, or its first 1,024 bytes.
    pub row: Bytes,
    /// Upper bound of the number of operations.
    pub count: u64,
    /// The number is at least `count - error`.
    pub error: u64,
}

/// Live region server of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// Name.
    pub name: Arc<ServerName>,
    /// Number of its regions, those of system tables too.
    pub regions: usize,
}

/// Servers of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterServers {
    /// Version of HBase, such as `2.6.4`; empty if the master does not say.
    pub version: String,
    /// Active master.
    pub master: Option<ServerName>,
    /// Masters that wait to become the active one.
    pub backup_masters: Vec<ServerName>,
    /// Live region servers, those without regions too.
    pub live: Vec<ServerStatus>,
    /// Region servers that went away without an end.
    pub dead: Vec<ServerName>,
}

/// Statistics of a whole store or cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterStatus {
    /// Its servers; `None` for an embedded store, which is one process.
    pub servers: Option<ClusterServers>,
    /// Every region of every table, by table and start key.
    pub regions: Vec<RegionLoad>,
    /// Bytes of blocks in the cache.
    pub block_cache_bytes: u64,
    /// Block lookups served by the cache.
    pub block_cache_hits: u64,
    /// Block lookups that read the disk.
    pub block_cache_misses: u64,
    /// Bytes written to the log.
    pub wal_bytes: u64,
    /// Bytes written by flushes.
    pub flushed_bytes: u64,
    /// Bytes written by compactions.
    pub compacted_bytes: u64,
}
