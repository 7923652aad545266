//! What an engine is told at opening. Sizes are in bytes and times in milliseconds, and so say their names.

use std::sync::Arc;

use halite_types::{Error, Result, Rewrite, RowCheck, RowChecks, TableDescriptor};

/// What an acknowledged write of ordinary durability has survived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WalSync {
    /// Power loss: it has been synced to the disk (`fdatasync`), in groups.
    #[default]
    Fsync,
    /// The death of the process: it has been handed to the operating system. This is what HBase promises on a local disk.
    Flush,
}

/// What opening does with damage in the write-ahead log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WalRecovery {
    /// Refuses to open, and changes nothing. A torn end, which was never acknowledged, is no damage.
    #[default]
    Strict,
    /// Leaves the damaged bytes out, keeps them in files next to the log, and applies every whole write before and after them.
    /// Acknowledged writes may be missing then.
    SkipDamaged,
}

/// Settings of an engine. The defaults are HBase's unless the field says otherwise.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What an acknowledged write has survived; [`WalSync::Fsync`] by default, which is more than HBase promises.
    pub wal_sync: WalSync,
    /// What opening does with damage in the log; [`WalRecovery::Strict`] by default.
    pub wal_recovery: WalRecovery,
    /// How long the nonces of writes are kept after the log no longer needs them, in milliseconds; 30 minutes. They survive
    /// flushes, closing and opening.
    pub nonce_ms: u64,
    /// A log segment of this size is closed; 64 MiB. With a reserve of the disk it is a quarter of that at most: opening writes the
    /// last segment again, and must have room for it.
    pub wal_segment_bytes: u64,
    /// More closed segments than this make the regions that need the oldest flush; 32.
    pub wal_segments_max: usize,
    /// Bytes of the disk that are kept free for flushes and the log; `None`, the default, for a twentieth of the disk and 1 GiB at most,
    /// and of disks below 4 GiB for a quarter and 192 MiB at most.
    /// With less free, writes are refused with `DiskFull`, compactions wait, and everything else goes on; 0 refuses a write only when the
    /// log finds no room for one.
    pub disk_reserve_bytes: Option<u64>,
    /// Bytes in a region's memstores that ask for a flush; 128 MiB. A table may set its own.
    pub memstore_flush_bytes: u64,
    /// Writers wait when a region's memstores are this many times the flush size; 4.
    pub memstore_block_multiplier: u64,
    /// Bytes in all memstores together above which the largest is flushed, and at one and a half times which writers
    /// wait; 1 GiB.
    pub memstore_total_bytes: u64,
    /// A memstore of this size half of whose cells nobody can see any more is written anew without them, in memory; 16 MiB,
    /// 0 for never. As HBase's in-memory compaction `EAGER`, which is not HBase's default; what a family's attribute
    /// `IN_MEMORY_COMPACTION` says makes no difference.
    pub memstore_condense_bytes: usize,
    /// Bytes of blocks kept in memory; 256 MiB.
    pub block_cache_bytes: u64,
    /// Largest cell that is taken; 10 MiB, 0 for no limit.
    pub cell_bytes_max: usize,
    /// Most bytes of a row's cells in one family that a get, or a scan that may not cut rows, puts together; 1 GiB, 0 for no
    /// limit. A table or a family may set its own (`hbase.table.max.rowsize`).
    pub row_bytes_max: u64,
    /// Fewest files a minor compaction merges; 3.
    pub compaction_files_min: usize,
    /// Most files a minor compaction merges; 10.
    pub compaction_files_max: usize,
    /// A file joins a compaction if it is at most this many times as large as the others together; 1.2.
    pub compaction_ratio: f64,
    /// Age at which everything is rewritten by a major compaction; 7 days, 0 for never.
    pub major_compaction_ms: i64,
    /// Whether files whose cells have all expired go without being rewritten; true.
    pub delete_expired_files: bool,
    /// Size of a region's largest store at which it splits by itself; 10 GiB. A table may set its own.
    pub region_file_bytes_max: u64,
    /// Regions a table may be created with; 10,000, 0 for no limit. Each is a directory, a memstore and a row of `hbase:meta`.
    pub table_regions_max: usize,
    /// Largest piece of memory a memstore takes at once; 2 MiB, which is one huge page where the system has them.
    pub memstore_chunk_bytes: usize,
    /// What major compactions write in another form; nothing.
    pub rewrite: Option<Arc<dyn Rewrite>>,
    /// Which rows tables take; every row.
    pub row_checks: Option<Arc<dyn RowChecks>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wal_sync: WalSync::default(),
            wal_recovery: WalRecovery::default(),
            nonce_ms: 30 * 60_000,
            wal_segment_bytes: 64 << 20,
            wal_segments_max: 32,
            disk_reserve_bytes: None,
            memstore_flush_bytes: 128 << 20,
            memstore_block_multiplier: 4,
            memstore_total_bytes: 1 << 30,
            memstore_condense_bytes: 16 << 20,
            block_cache_bytes: 256 << 20,
            cell_bytes_max: 10 << 20,
            row_bytes_max: 1 << 30,
            compaction_files_min: 3,
            compaction_files_max: 10,
            compaction_ratio: 1.2,
            major_compaction_ms: 7 * 24 * 3600 * 1000,
            delete_expired_files: true,
            region_file_bytes_max: 10 << 30,
            table_regions_max: 10_000,
            memstore_chunk_bytes: 2 << 20,
            rewrite: None,
            row_checks: None,
        }
    }
}

/// At 1 byte every write is refused for ever, those of the opening too, and a little above each of them makes a file.
const MEMSTORE_TOTAL_BYTES_MIN: u64 = 64 << 10;

impl Options {
    /// Whether a table's descriptor says clearly which rows it takes.
    pub(crate) fn check_table(&self, table: &TableDescriptor) -> Result<()> {
        self.row_checks.as_ref().map_or(Ok(()), |checks| checks.check_table(table))
    }

    /// What looks at the rows of a table before they are written to.
    pub(crate) fn row_check(&self, table: &TableDescriptor) -> Option<Arc<dyn RowCheck>> {
        self.row_checks.as_ref()?.of_table(table)
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// `InvalidRequest`, naming the setting and what is allowed.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: &str| Err(Error::invalid(text));
        if self.wal_segment_bytes < 4096 {
            return wrong("wal_segment_bytes is below 4096; give at least that");
        }
        if self.memstore_flush_bytes == 0 || self.memstore_block_multiplier == 0 {
            return wrong("memstore_flush_bytes and memstore_block_multiplier must be above 0");
        }
        if self.memstore_total_bytes < MEMSTORE_TOTAL_BYTES_MIN {
            return wrong("memstore_total_bytes is below 65536; give at least that: with less every write waits for a flush of its own");
        }
        if self.compaction_files_min < 2 || self.compaction_files_max < self.compaction_files_min {
            return wrong("compaction_files_min must be at least 2 and compaction_files_max not below it");
        }
        if self.compaction_ratio.is_nan() || self.compaction_ratio <= 0.0 {
            return wrong("compaction_ratio must be above 0");
        }
        if self.memstore_chunk_bytes < 4096 {
            return wrong("memstore_chunk_bytes is below 4096; give at least that");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memstores_that_hold_next_to_nothing_are_refused() {
        let checked = |memstore_total_bytes| Options { memstore_total_bytes, ..Options::default() }.check();
        for bytes in [0, 1, 65_535] {
            let error = checked(bytes).unwrap_err();
            assert!(error.message().contains("memstore_total_bytes is below 65536"), "{error}");
        }
        assert!(checked(65_536).is_ok());
    }
}
