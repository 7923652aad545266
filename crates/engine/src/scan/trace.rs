//! What a read touched on its way: the figures behind `explain` and the region's counters.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::hfile::{Block, BlockKind};

macro_rules! trace {
    ($($(#[doc = $doc:literal])* $name:ident: $add:ident),* $(,)?) => {
        /// Counts of what one read did. Shared by its cursors, hence atomic; nothing else reads it meanwhile.
        #[derive(Debug, Default)]
        pub struct ReadTrace {
            $($(#[doc = $doc])* $name: AtomicU64,)*
        }

        impl ReadTrace {
            /// What it says now.
            pub(crate) fn copy(&self) -> Self {
                Self { $($name: AtomicU64::new(self.$name()),)* }
            }

            /// Says again what it said then.
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
    /// Rows looked at, returned or not.
    rows_examined: add_rows_examined,
    /// Rows returned.
    rows_returned: add_rows_returned,
    /// Rows that a filter left out, by their key or by their cells.
    rows_filtered: add_rows_filtered,
    /// Cells looked at, returned or not.
    cells_examined: add_cells_examined,
    /// Cells returned.
    cells_returned: add_cells_returned,
    /// Bytes of the cells returned.
    bytes_returned: add_bytes_returned,
    /// Memstores read.
    memstores_read: add_memstores_read,
    /// Store files read.
    files_read: add_files_read,
    /// Store files left out because their rows or timestamps lie elsewhere.
    files_out_of_range: add_files_out_of_range,
    /// Store files left out by their bloom filter.
    files_without_key: add_files_without_key,
    /// Store files that were not looked at, since what is newer had all that was wanted.
    files_not_reached: add_files_not_reached,
    /// Blocks found in the cache.
    blocks_cached: add_blocks_cached,
    /// Blocks read from the disk.
    blocks_read: add_blocks_read,
    /// Bytes of the blocks read from the disk, as they lie there.
    block_bytes_read: add_block_bytes_read,
    /// How long those took to come from the disk, in nanoseconds; of scans that were told to measure it.
    block_read_ns: add_block_read_ns,
    /// Bytes of the blocks found in the cache, as they lie on the disk.
    block_bytes_cached: add_block_bytes_cached,
    /// Bytes of the data blocks that were read in, from wherever, decompressed.
    data_block_bytes: add_data_block_bytes,
    /// Bytes of cells that a filter was shown by a read of memory alone, as often as it costs to compare them.
    filter_work: add_filter_work,
    /// Bytes of the encoded cells that were passed in memstores.
    memstore_bytes_read: add_memstore_bytes_read,
}

impl ReadTrace {
    pub(crate) fn add_data_block(&self, block: &Block, kind: BlockKind) {
        if kind == BlockKind::Data {
            self.add_data_block_bytes(block.payload().len() as u64);
        }
    }
}
