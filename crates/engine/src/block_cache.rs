//! Block cache: verified, decompressed blocks by file and offset, shared by all regions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use halite_types::{Error, ErrorKind, ReadTier, Result};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use rustc_hash::FxBuildHasher;

use crate::env::Clock;
use crate::hfile::{Block, BlockHandle, BlockKind, BlockSource, Reader};
use crate::scan::ReadStats;

/// Memory of an entry in addition to its block.
const ENTRY_BYTES: u64 = 128;

/// Block key: file id and offset.
type Key = (u64, u64);

/// Blocks evicted from the block cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheEvictionStats {
    /// Number of blocks.
    pub blocks: u64,
    /// Memory of the blocks in bytes.
    pub bytes: u64,
}

/// Block cache hits and misses.
#[derive(Debug, Default)]
pub struct CacheStats {
    /// Blocks found in the cache.
    pub hits: AtomicU64,
    /// Blocks read from the disk.
    pub misses: AtomicU64,
}

impl CacheStats {
    fn sum(all: &[Self], which: fn(&Self) -> &AtomicU64) -> u64 {
        all.iter().map(|lookups| which(lookups).load(Ordering::Relaxed)).sum()
    }
}

/// Block cache with a limit in bytes.
pub(crate) struct BlockCache {
    blocks: Cache<Key, Arc<Block>, BlockWeight, FxBuildHasher>,
    /// Statistics by block kind.
    stats: [CacheStats; BlockKind::ALL.len()],
}

#[derive(Clone)]
struct BlockWeight;

impl Weighter<Key, Arc<Block>> for BlockWeight {
    fn weight(&self, _: &Key, block: &Arc<Block>) -> u64 {
        block.memory_bytes() as u64 + ENTRY_BYTES
    }
}

impl BlockCache {
    /// Creates a cache with a capacity of `bytes` bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        // The number of items is only a hint for the table size.
        let items = usize::try_from(bytes / 65_536).unwrap_or(usize::MAX).max(16);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(items)
            .weight_capacity(bytes)
            .build()
            .expect("both capacities are set");
        // A fixed hash function: the engine assigns the keys, so no client can make them collide,
        // and the engine uses no randomness.
        Self {
            blocks: Cache::with_options(
                options,
                BlockWeight,
                FxBuildHasher,
                DefaultLifecycle::default(),
            ),
            stats: Default::default(),
        }
    }

    /// Returns the size of the cached blocks in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks.weight()
    }

    /// Evicts the blocks of files selected by file id.
    pub(crate) fn evict_files(&self, goes: impl Fn(u64) -> bool) -> CacheEvictionStats {
        let (blocks, bytes) = (self.blocks.len(), self.blocks.weight());
        self.blocks.retain(|(file, _), _| !goes(*file));
        let less = |before: u64, now: u64| before.saturating_sub(now);
        CacheEvictionStats {
            blocks: less(blocks as u64, self.blocks.len() as u64),
            bytes: less(bytes, self.blocks.weight()),
        }
    }

    pub(crate) fn stats(&self, kind: BlockKind) -> &CacheStats {
        &self.stats[kind as usize]
    }

    pub(crate) fn hits(&self) -> u64 {
        CacheStats::sum(&self.stats, |lookups| &lookups.hits)
    }

    pub(crate) fn misses(&self) -> u64 {
        CacheStats::sum(&self.stats, |lookups| &lookups.misses)
    }
}

/// Block access options of one read.
pub(crate) struct BlockReadOptions {
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) tier: AtomicReadTier,
    /// True if data blocks read from the disk are inserted into the cache.
    pub(crate) fill_cache: bool,
    pub(crate) stats: Arc<ReadStats>,
    /// `None` for reads without disk time measurement.
    pub(crate) timer: Option<ReadTimer>,
}

/// Disk time measurement of block reads, while enabled.
pub(crate) struct ReadTimer {
    clock: Arc<dyn Clock>,
    is_on: AtomicBool,
}

impl ReadTimer {
    /// Creates a disabled timer.
    pub(crate) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), is_on: AtomicBool::new(false) }
    }

    pub(crate) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Returns the clock if the timer is enabled.
    fn clock(&self) -> Option<&dyn Clock> {
        self.is_on.load(Ordering::Relaxed).then_some(&*self.clock)
    }
}

/// Storage tier that a read may access. A scan may change it between calls.
pub(crate) struct AtomicReadTier(AtomicBool);

impl AtomicReadTier {
    pub(crate) fn new(tier: ReadTier) -> Self {
        Self(AtomicBool::new(tier == ReadTier::Memory))
    }

    pub(crate) fn set(&self, tier: ReadTier) {
        self.0.store(tier == ReadTier::Memory, Ordering::Relaxed);
    }

    fn is_memory(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl BlockReadOptions {
    /// Returns options for flushes, compactions and splits, which read everything once.
    pub(crate) fn for_maintenance(cache: &Arc<BlockCache>) -> Arc<Self> {
        Arc::new(Self {
            cache: Arc::clone(cache),
            tier: AtomicReadTier::new(ReadTier::Disk),
            fill_cache: false,
            stats: Arc::new(ReadStats::default()),
            timer: None,
        })
    }

    /// Returns the blocks of the file with this id in the cache.
    pub(crate) fn for_file(self: &Arc<Self>, file_id: u64) -> CachedBlockSource {
        CachedBlockSource { options: Arc::clone(self), file: file_id }
    }
}

/// Blocks of one file, with the access options of a read.
#[derive(Clone)]
pub(crate) struct CachedBlockSource {
    options: Arc<BlockReadOptions>,
    file: u64,
}

impl BlockSource for CachedBlockSource {
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
        let BlockReadOptions { cache, tier, fill_cache: fill, stats: trace, timer } =
            &*self.options;
        let key = (self.file, pointer.offset);
        if let Some(block) = cache.blocks.get(&key) {
            // A damaged index may point to a block of another kind in its own file.
            if block.kind() != kind {
                let (path, is, wanted, at) =
                    (reader.path(), block.kind().name(), kind.name(), pointer.offset);
                return Err(Error::corrupt(format!(
                    "store file {path}: its index leads to the {is} at {at} as to a {wanted}"
                )));
            }
            cache.stats(kind).hits.fetch_add(1, Ordering::Relaxed);
            trace.add_blocks_cached(1);
            trace.add_block_bytes_cached(u64::from(pointer.on_disk_bytes));
            trace.add_data_block(&block, kind);
            return Ok(block);
        }
        if tier.is_memory() {
            return Err(Error::new(
                ErrorKind::WouldBlock,
                "the block is not in the cache; read with the disk allowed",
            ));
        }
        cache.stats(kind).misses.fetch_add(1, Ordering::Relaxed);
        trace.add_blocks_read(1);
        trace.add_block_bytes_read(u64::from(pointer.on_disk_bytes));
        let clock = timer.as_ref().and_then(ReadTimer::clock);
        let began_ns = clock.map(Clock::monotonic_ns);
        let is_read = || {
            if let (Some(clock), Some(began_ns)) = (clock, began_ns) {
                trace.add_block_read_ns(clock.monotonic_ns().saturating_sub(began_ns));
            }
        };
        let block = Arc::new(reader.read_block_with_callback(pointer, kind, is_read)?);
        trace.add_data_block(&block, kind);
        // Index and bloom blocks serve every read of their file, so they are cached even if the
        // data is not.
        if *fill || kind != BlockKind::Data {
            cache.blocks.insert(key, Arc::clone(&block));
        }
        Ok(block)
    }
}
