//! Engine options. Sizes are in bytes and times in milliseconds; the field names carry the unit.

use std::sync::Arc;

use crate::hfile::DEFAULT_PART_BYTES;
use halite_types::{CompactionFilterFactory, Error, Result, RowCheck, RowChecks, TableDescriptor};

/// Failure that an acknowledged write of default durability survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WalSync {
    /// Power loss: the write is synced to the disk (`fdatasync`), in groups.
    #[default]
    Fsync,
    /// Process crash: the write has been passed to the operating system. HBase guarantees the same
    /// on a local disk.
    Flush,
}

/// Handling of write-ahead log damage during opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WalRecovery {
    /// Refuses to open and changes nothing. A torn end, which was never acknowledged, is not
    /// damage.
    #[default]
    Strict,
    /// Skips the damaged bytes, stores them in files next to the log, and applies every whole write
    /// before and after them. Acknowledged writes may be missing afterwards.
    SkipDamaged,
}

/// Reads that are satisfied with parts of data blocks, where a file has a part index: gets, and the
/// first blocks of forward scans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartReads {
    /// Those that do not fill the block cache, and all once it is nearly full, or if the blocks of
    /// all store files have more than four times its capacity (families with `IN_MEMORY` excepted).
    /// Otherwise a whole block is better, which serves later reads of its other cells.
    #[default]
    WhenCacheIsScarce,
    /// All.
    Always,
    /// None: a read that misses the block cache reads the whole block.
    Never,
}

/// Class of the flush policy: the families of a region that are flushed because it has grown large,
/// or all memstores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushPolicyClass {
    /// The large families, or all if none is large: `FlushAllLargeStoresPolicy`.
    #[default]
    LargeStores,
    /// All families: `FlushAllStoresPolicy`.
    AllStores,
    /// As `LargeStores`, but families with in-memory compaction only if no other one is large:
    /// `FlushNonSloppyStoresFirstPolicy`.
    NonSloppyStoresFirst,
}

/// Maximum of [`Options::compaction_threads`].
const MAX_COMPACTION_THREADS: usize = 64;

/// Details of the load that are recorded for the heat map.
#[cfg(feature = "heat")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeatLevel {
    /// Nothing.
    Off,
    /// Exact load of each region.
    Region,
    /// Also the load of up to 64 parts of a region, frequent rows and sampled keys, and a log of
    /// one operation of [`Options::operation_log_rate`].
    #[default]
    Sub,
    /// As `Sub`, with a log of every operation up to 10,000 per second: for a trace of minutes. Each
    /// operation then copies its row and builds the text of its statement.
    Full,
}

#[cfg(feature = "heat")]
impl HeatLevel {
    /// Returns the name: `off`, `region`, `sub` or `full`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Region => "region",
            Self::Sub => "sub",
            Self::Full => "full",
        }
    }

    /// Returns the level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Off, Self::Region, Self::Sub, Self::Full];
        all.into_iter().find(|level| level.name() == name)
    }
}

/// Engine settings. The defaults are HBase's unless the field states otherwise.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Failure that an acknowledged write survives. Default: [`WalSync::Fsync`], which is stronger
    /// than HBase's guarantee.
    pub wal_sync: WalSync,
    /// Handling of log damage during opening. Default: [`WalRecovery::Strict`].
    pub wal_recovery: WalRecovery,
    /// Time that write nonces are retained after the log no longer needs them, in milliseconds.
    /// Default: 30 minutes. Nonces survive flushes, closing and opening.
    pub nonce_grace_period_ms: u64,
    /// Size at which a log segment is closed. Default: 64 MiB. With a disk reserve the size is at
    /// most a quarter of the reserve: opening rewrites the last segment and needs room for it.
    pub wal_segment_bytes: u64,
    /// Number of closed segments above which the regions that need the oldest segments are flushed.
    /// Default: 32.
    pub max_wal_segments: usize,
    /// Disk bytes kept free for flushes and the log. `None`, the default, is a twentieth of the
    /// disk, at most 1 GiB; for disks below 4 GiB it is a quarter, at most 192 MiB. With less free
    /// space, writes fail with `DiskFull`, compactions wait, and everything else continues. With 0,
    /// a write fails only if the log has no room for it.
    pub disk_reserve_bytes: Option<u64>,
    /// Size of a region's memstores that triggers a flush. Default: 128 MiB. A table may override
    /// it.
    pub memstore_flush_bytes: u64,
    /// Flush policy of tables without `FLUSH_POLICY`. Default: [`FlushPolicyClass::LargeStores`].
    pub flush_policy: FlushPolicyClass,
    /// Size of the memstores of a family up to which it is small for the flush policy, even if that
    /// is more than its share of the flush size. Default: 16 MiB. A table may override it
    /// (`hbase.hregion.percolumnfamilyflush.size.lower.bound.min`).
    pub min_family_flush_bytes: u64,
    /// Multiple of the flush size at which writers to the region wait. Default: 4.
    pub memstore_block_multiplier: u64,
    /// Total size of all memstores above which the largest is flushed. Writers wait at one and a
    /// half times this size. Default: 1 GiB.
    pub global_memstore_bytes: u64,
    /// Memstore size that triggers in-memory compaction once half of its cells are no longer
    /// visible. Default: 16 MiB; 0 means never. It corresponds to HBase's in-memory compaction
    /// policy `ADAPTIVE`, which is not HBase's default. With the family attribute
    /// `IN_MEMORY_COMPACTION` it is never with `NONE` and `BASIC`, and with `EAGER` from an eighth
    /// of this size on.
    pub in_memory_compaction_bytes: usize,
    /// Block cache capacity. Default: 256 MiB.
    pub block_cache_bytes: u64,
    /// Size of the parts of data blocks, which new store files describe in a part index. Default:
    /// 4 KiB; 0 writes no part index, as HBase.
    pub part_bytes: usize,
    /// Reads that are satisfied with a part. Default: [`PartReads::WhenCacheIsScarce`].
    pub part_reads: PartReads,
    /// Maximum cell size. Default: 10 MiB; 0 means no limit.
    pub max_cell_bytes: usize,
    /// Maximum bytes of one row's cells in one family that a get, or a scan without partial rows,
    /// assembles. Default: 1 GiB; 0 means no limit. A table or a family may override it
    /// (`hbase.table.max.rowsize`).
    pub max_row_bytes: u64,
    /// Minimum number of files in a minor compaction. Default: 3.
    pub min_compaction_files: usize,
    /// Maximum number of files in a minor compaction. Default: 10.
    pub max_compaction_files: usize,
    /// Maximum ratio of a file's size to the total size of the other files in its compaction.
    /// Default: 1.2.
    pub compaction_ratio: f64,
    /// Time without writes after which a region is idle, in milliseconds. Its files are then
    /// compacted even if there are only two of them, by `idle_compaction_ratio`, so that a store
    /// that is only read takes less space and its reads are faster. HBase does so in its off-peak
    /// hours. Default: 10 seconds; 0 means never.
    pub idle_compaction_ms: u64,
    /// As `compaction_ratio`, for idle regions (HBase: `hbase.hstore.compaction.ratio.offpeak`).
    /// Default: 5.
    pub idle_compaction_ratio: f64,
    /// Number of threads that compact, each a region, family or stripe of its own. Default: 2, as
    /// HBase's for large and small compactions.
    pub compaction_threads: usize,
    /// Bytes per second that automatic compactions read together while few files wait for one, so
    /// that they leave processor and disk to reads and writes. The more files wait, the nearer the
    /// rate is to `max_compaction_rate`; with very many it is not limited. Default: 50 MB; 0 means
    /// no limit (HBase: `hbase.hstore.compaction.throughput.lower.bound`).
    pub compaction_rate: u64,
    /// See `compaction_rate`. Default: 100 MB; 0 means no limit while files wait (HBase:
    /// `hbase.hstore.compaction.throughput.higher.bound`).
    pub max_compaction_rate: u64,
    /// File age that triggers a major compaction. Default: 7 days; 0 means never.
    pub major_compaction_interval_ms: i64,
    /// Deletion of files whose cells have all expired, without rewriting them. Default: true.
    pub delete_expired_files: bool,
    /// Size of a region's largest store that triggers an automatic split. Default: 10 GiB. A table
    /// may override it.
    pub max_region_file_bytes: u64,
    /// Maximum number of regions at table creation. Default: 10,000; 0 means no limit. Each region
    /// has a directory, a memstore and a row of `hbase:meta`.
    pub max_regions_per_table: usize,
    /// Maximum size of one memstore allocation. Default: 2 MiB, which is one huge page on systems
    /// that have them.
    pub memstore_chunk_bytes: usize,
    /// Factory of filters that rewrite cells in major compactions. Default: none.
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    /// Row checks of tables. Default: none; every row is accepted.
    pub row_checks: Option<Arc<dyn RowChecks>>,
    /// Details of the load that are recorded for the heat map. Default: [`HeatLevel::Sub`].
    #[cfg(feature = "heat")]
    pub heat_level: HeatLevel,
    /// Operations of a region of which one is logged, at [`HeatLevel::Sub`]. Default: 1,000.
    #[cfg(feature = "heat")]
    pub operation_log_rate: u64,
    /// Maximum bytes of the log of operations on disk, of which a sixteenth is deleted at a time;
    /// 0 for no log. Default: 16 MiB.
    #[cfg(feature = "heat")]
    pub operation_log_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wal_sync: WalSync::default(),
            wal_recovery: WalRecovery::default(),
            nonce_grace_period_ms: 30 * 60_000,
            wal_segment_bytes: 64 << 20,
            max_wal_segments: 32,
            disk_reserve_bytes: None,
            memstore_flush_bytes: 128 << 20,
            flush_policy: FlushPolicyClass::default(),
            min_family_flush_bytes: 16 << 20,
            memstore_block_multiplier: 4,
            global_memstore_bytes: 1 << 30,
            in_memory_compaction_bytes: 16 << 20,
            block_cache_bytes: 256 << 20,
            part_bytes: DEFAULT_PART_BYTES,
            part_reads: PartReads::default(),
            max_cell_bytes: 10 << 20,
            max_row_bytes: 1 << 30,
            min_compaction_files: 3,
            max_compaction_files: 10,
            compaction_ratio: 1.2,
            idle_compaction_ms: 10_000,
            idle_compaction_ratio: 5.0,
            compaction_threads: 2,
            compaction_rate: 50 << 20,
            max_compaction_rate: 100 << 20,
            major_compaction_interval_ms: 7 * 24 * 3600 * 1000,
            delete_expired_files: true,
            max_region_file_bytes: 10 << 30,
            max_regions_per_table: 10_000,
            memstore_chunk_bytes: 2 << 20,
            compaction_filter_factory: None,
            row_checks: None,
            #[cfg(feature = "heat")]
            heat_level: HeatLevel::default(),
            #[cfg(feature = "heat")]
            operation_log_rate: 1000,
            #[cfg(feature = "heat")]
            operation_log_bytes: 16 << 20,
        }
    }
}

/// Minimum of `global_memstore_bytes`. With 1 byte every write is rejected indefinitely, including
/// those of the opening; with slightly more, each write creates a file.
const MIN_GLOBAL_MEMSTORE_BYTES: u64 = 64 << 10;

/// Minimum of `operation_log_bytes`: a call with the longest row must fit into a segment.
#[cfg(feature = "heat")]
const MIN_OPERATION_LOG_BYTES: u64 = 1 << 20;

impl Options {
    /// Checks that a table's descriptor specifies its row check clearly.
    pub(crate) fn check_table(&self, table: &TableDescriptor) -> Result<()> {
        self.row_checks.as_ref().map_or(Ok(()), |checks| checks.check_table(table))
    }

    /// Returns the row check that a table's writes must pass.
    pub(crate) fn row_check(&self, table: &TableDescriptor) -> Option<Arc<dyn RowCheck>> {
        self.row_checks.as_ref()?.for_table(table)
    }

    #[cfg(feature = "heat")]
    fn check_operation_log(&self) -> Result<()> {
        if self.operation_log_rate == 0 {
            return Err(Error::invalid(
                "operation_log_rate is 0; give the operations of which one is logged, or 0 for \
                 operation_log_bytes for no log",
            ));
        }
        if (1..MIN_OPERATION_LOG_BYTES).contains(&self.operation_log_bytes) {
            return Err(Error::invalid(
                "operation_log_bytes is below 1048576; give at least that, or 0 for no log",
            ));
        }
        Ok(())
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// `InvalidRequest`, naming the setting and its valid values.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: &str| Err(Error::invalid(text));
        if self.wal_segment_bytes < 4096 {
            return wrong("wal_segment_bytes is below 4096; give at least that");
        }
        if self.memstore_flush_bytes == 0 || self.memstore_block_multiplier == 0 {
            return wrong("memstore_flush_bytes and memstore_block_multiplier must be above 0");
        }
        if self.global_memstore_bytes < MIN_GLOBAL_MEMSTORE_BYTES {
            return wrong(
                "global_memstore_bytes is below 65536; give at least that, or every write waits \
                 for its own flush",
            );
        }
        if self.min_compaction_files < 2 || self.max_compaction_files < self.min_compaction_files {
            return wrong(
                "min_compaction_files must be at least 2 and max_compaction_files not below it",
            );
        }
        for (name, ratio) in [
            ("compaction_ratio", self.compaction_ratio),
            ("idle_compaction_ratio", self.idle_compaction_ratio),
        ] {
            if !ratio.is_finite() || ratio <= 0.0 {
                return wrong(&format!("{name} is {ratio}; give a number above 0, as in 1.2"));
            }
        }
        if !(1..=MAX_COMPACTION_THREADS).contains(&self.compaction_threads) {
            return wrong("compaction_threads must be from 1 to 64");
        }
        if (1..self.compaction_rate).contains(&self.max_compaction_rate) {
            let (most, rate) = (self.max_compaction_rate, self.compaction_rate);
            return wrong(&format!(
                "max_compaction_rate is {most} bytes per second, below compaction_rate, which is \
                 {rate}; give at least that, or 0 for no limit while files wait"
            ));
        }
        if self.memstore_chunk_bytes < 4096 {
            return wrong("memstore_chunk_bytes is below 4096; give at least that");
        }
        #[cfg(feature = "heat")]
        self.check_operation_log()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_global_memstore_size_is_rejected() {
        let checked =
            |global_memstore_bytes| Options { global_memstore_bytes, ..Options::default() }.check();
        for bytes in [0, 1, 65_535] {
            let error = checked(bytes).unwrap_err();
            assert!(error.message().contains("global_memstore_bytes is below 65536"), "{error}");
        }
        assert!(checked(65_536).is_ok());
    }
}
