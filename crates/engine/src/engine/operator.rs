//! Operator functions on a running store: disable automatic splits and compactions, roll the log,
//! evict cached blocks, list store files.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::Result;

use super::Engine;
use crate::block_cache::CacheEvictionStats;
use crate::catalog::layout;
use crate::region::Region;

impl Engine {
    /// Enables or disables automatic splits of large regions until the store is closed. Default:
    /// enabled. Returns the previous setting. Requested splits are not affected.
    pub fn set_splits_enabled(&self, allowed: bool) -> bool {
        self.shared.scheduler.switches.set_splits_enabled(allowed)
    }

    /// Enables or disables compactions until the store is closed. Default: enabled. Returns the
    /// previous setting. While disabled, requests are ignored; running compactions finish.
    pub fn set_compactions_enabled(&self, allowed: bool) -> bool {
        self.shared.scheduler.switches.set_compactions_enabled(allowed)
    }

    /// Starts a new log segment with the next write.
    ///
    /// # Errors
    /// A failed write; the store then rejects writes.
    pub fn roll_wal(&self) -> Result<()> {
        self.shared.wal.roll()
    }

    /// Returns the paths of a region's store files, of all families or of the given ones.
    ///
    /// # Errors
    /// `NoSuchRegion`, `NoSuchFamily`.
    pub fn store_files(&self, encoded_name: &str, families: &[Bytes]) -> Result<Vec<String>> {
        let region = self.region(encoded_name)?;
        let snapshot = region.snapshot();
        let wanted = families
            .iter()
            .map(|family| snapshot.family_index(family))
            .collect::<Result<Vec<_>>>()?;
        let (root, info) = (self.shared.env.fs.root(), region.info());
        let mut paths = Vec::new();
        for (index, (family, store)) in snapshot.families.iter().zip(&snapshot.stores).enumerate() {
            if families.is_empty() || wanted.contains(&index) {
                let directory =
                    layout::family_directory(&info.table, &info.encoded_name, &family.name);
                paths.extend(
                    store
                        .files
                        .iter()
                        .map(|file| format!("{root}/{directory}/{}", file.entry.name)),
                );
            }
        }
        Ok(paths)
    }

    /// Evicts the blocks of an open region's files from the block cache.
    ///
    /// # Errors
    /// `NoSuchRegion`.
    pub fn evict_blocks(&self, encoded_name: &str) -> Result<CacheEvictionStats> {
        Ok(self.evict_blocks_of(&[self.region(encoded_name)?]))
    }

    /// Evicts the blocks of several regions in one pass over the cache.
    pub fn evict_blocks_of(&self, regions: &[Arc<Region>]) -> CacheEvictionStats {
        let mut files = HashSet::new();
        for snapshot in regions.iter().map(|region| region.snapshot()) {
            files.extend(
                snapshot.stores.iter().flat_map(|store| &store.files).map(|file| file.physical.id),
            );
        }
        self.shared.cache.evict_files(|file| files.contains(&file))
    }

    /// Returns the block cache capacity in bytes.
    pub fn block_cache_capacity_bytes(&self) -> u64 {
        self.shared.options.block_cache_bytes
    }

    /// Clears the queue of requested compactions that have not started.
    pub fn clear_compaction_queue(&self) {
        self.shared.scheduler.clear_compaction_queue();
    }
}
