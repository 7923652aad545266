//! Statistics of a read, for `explain` and the region's counters.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::hfile::{Block, BlockKind};

macro_rules! trace {
    ($($(#[doc = $doc:literal])* $name:ident: $add:ident),* $(,)?) => {
        /// Statistics of one read. Shared by its cursors and therefore atomic; no other code reads
        /// them concurrently.
        #[derive(Debug, Default)]
        pub struct ReadStats {
            $($(#[doc = $doc])* $name: AtomicU64,)*
        }

        impl ReadStats {
            /// Returns a copy of the current values.
            pub(crate) fn copy(&self) -> Self {
                Self { $($name: AtomicU64::new(self.$name()),)* }
            }

            /// Returns what was added since an earlier copy.
            pub(crate) fn since(&self, before: &Self) -> Self {
                Self { $($name: AtomicU64::new(self.$name().saturating_sub(before.$name())),)* }
            }

            /// Restores the values of an earlier copy.
            pub(crate) fn go_back(&self, before: &Self) {
                $(self.$name.store(before.$name(), Ordering::Relaxed);)*
            }

            $(
                $(#[doc = $doc])*
                pub fn $name(&self) -> u64 {
                    self.$name.load(Ordering::Relaxed)
                }

                #[inline]
                pub(crate) fn $add(&self, count: u64) {
                    // One thread writes: a load and a store are cheaper than a locked addition.
                    self.$name.store(self.$name.load(Ordering::Relaxed) + count, Ordering::Relaxed);
                }
            )*
        }
    };
}

trace! {
    /// Rows examined, whether or not they were returned.
    rows_examined: add_rows_examined,
    /// Rows returned.
    rows_returned: add_rows_returned,
    /// Rows that a filter excluded, by their key or by their cells.
    rows_filtered: add_rows_filtered,
    /// Cells examined, whether or not they were returned.
    cells_examined: add_cells_examined,
    /// Cells returned.
    cells_returned: add_cells_returned,
    /// Bytes of the cells returned.
    bytes_returned: add_bytes_returned,
    /// Memstores read.
    memstores_read: add_memstores_read,
    /// Store files read.
    files_read: add_files_read,
    /// Store files skipped because their rows or timestamps are outside the read's range.
    files_out_of_range: add_files_out_of_range,
    /// Store files skipped because of their bloom filter.
    files_without_key: add_files_without_key,
    /// Store files that were not read, since newer sources had all requested cells.
    files_not_reached: add_files_not_reached,
    /// Blocks found in the cache.
    blocks_cached: add_blocks_cached,
    /// Blocks read from the disk.
    blocks_read: add_blocks_read,
    /// Bytes of the blocks read from the disk, as stored there.
    block_bytes_read: add_block_bytes_read,
    /// Time to read those blocks from the disk, in nanoseconds, for scans with the measurement
    /// enabled.
    block_read_ns: add_block_read_ns,
    /// Bytes of the blocks found in the cache, as stored on the disk.
    block_bytes_cached: add_block_bytes_cached,
    /// Bytes of the data blocks that were read from cache or disk, decompressed.
    data_block_bytes: add_data_block_bytes,
    /// Bytes of cells that a memory-only read passed to a filter, multiplied by the cost of
    /// comparing them.
    filter_work: add_filter_work,
    /// Bytes of the encoded cells that were passed in memstores.
    memstore_bytes_read: add_memstore_bytes_read,
}

impl ReadStats {
    pub(crate) fn add_data_block(&self, block: &Block, kind: BlockKind) {
        if kind == BlockKind::Data {
            self.add_data_block_bytes(block.plain_bytes() as u64);
        }
    }
}
