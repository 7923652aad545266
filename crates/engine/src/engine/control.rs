//! What an operator may ask of a store that runs: to split or compact nothing by itself, to begin a new piece of the log,
//! to forget cached blocks, to name its files.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::Result;

use super::Engine;
use crate::cache::Evicted;
use crate::catalog::layout;
use crate::region::Region;

impl Engine {
    /// Whether regions that have grown too large may split by themselves, until the store is closed; they may at the
    /// beginning. Gives what was said before. Splits that somebody asks for are done in any case.
    pub fn allow_splits(&self, allowed: bool) -> bool {
        self.shared.background.permits.allow_splits(allowed)
    }

    /// Whether files are compacted, until the store is closed; they are at the beginning. Gives what was said before. What
    /// is asked for meanwhile is not done; what runs comes to its end.
    pub fn allow_compactions(&self, allowed: bool) -> bool {
        self.shared.background.permits.allow_compactions(allowed)
    }

    /// Begins a new segment of the log with the next write.
    ///
    /// # Errors
    /// A failed write; the store stops then.
    pub fn roll_log(&self) -> Result<()> {
        self.shared.wal.roll()
    }

    /// The paths of a region's store files, of all families or of those named.
    ///
    /// # Errors
    /// `NoSuchRegion`, `NoSuchFamily`.
    pub fn store_files(&self, encoded_name: &str, families: &[Bytes]) -> Result<Vec<String>> {
        let region = self.region(encoded_name)?;
        let snapshot = region.snapshot();
        let wanted = families.iter().map(|family| snapshot.family_index(family)).collect::<Result<Vec<_>>>()?;
        let (root, info) = (self.shared.env.fs.root(), region.info());
        let mut paths = Vec::new();
        for (index, (family, store)) in snapshot.families.iter().zip(&snapshot.stores).enumerate() {
            if families.is_empty() || wanted.contains(&index) {
                let directory = layout::family_directory(&info.table, &info.encoded_name, &family.name);
                paths.extend(store.files.iter().map(|file| format!("{root}/{directory}/{}", file.entry.name)));
            }
        }
        Ok(paths)
    }

    /// Takes the blocks of an open region's files out of the block cache.
    ///
    /// # Errors
    /// `NoSuchRegion`.
    pub fn forget_blocks(&self, encoded_name: &str) -> Result<Evicted> {
        Ok(self.forget_blocks_of(&[self.region(encoded_name)?]))
    }

    /// The same for several regions at once: the whole cache is gone through once.
    pub fn forget_blocks_of(&self, regions: &[Arc<Region>]) -> Evicted {
        let mut files = HashSet::new();
        for snapshot in regions.iter().map(|region| region.snapshot()) {
            files.extend(snapshot.stores.iter().flat_map(|store| &store.files).map(|file| file.physical.id));
        }
        self.shared.cache.forget(|file| files.contains(&file))
    }

    /// Bytes of blocks that are kept in memory at most.
    pub fn block_cache_bytes_max(&self) -> u64 {
        self.shared.options.block_cache_bytes
    }

    /// Forgets the compactions that were asked for and have not begun.
    pub fn forget_compactions(&self) {
        self.shared.background.forget_compactions();
    }
}
