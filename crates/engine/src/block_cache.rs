//! Block cache: verified, decompressed blocks by file and offset, shared by all regions.
//!
//! Blocks of `IN_MEMORY` families are in a cache of their own, of a quarter of the capacity, so that
//! no scan of another family evicts them (HBase: the in-memory share of `LruBlockCache`). What they
//! do not take, the other blocks may.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_types::{Error, ErrorKind, ReadTier, Result};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use rustc_hash::FxBuildHasher;

use crate::env::{Clock, FileReader};
use crate::hfile::{
    Block, BlockHandle, BlockKind, BlockOrPart, BlockSource, PartChoice, Reader, Validation,
    read_bytes,
};
use crate::options::PartReads;
use crate::part_failures::{PartFailureLog, PartFailures};
use crate::scan::ReadStats;
use crate::sequential_read::{ReadAhead, StepReader};

/// Memory of an entry in addition to its block.
const ENTRY_BYTES: u64 = 128;

/// Minimum capacity in bytes of a cache that holds part indexes, blocks of 64 KB, beside the parts.
const MIN_PARTS_BYTES: u64 = 1 << 20;

/// Store files whose blocks have more bytes than this many times the capacity are read in parts
/// from the first read on: of reads at random, few would find another cell of a cached block.
const MAX_FILES_PER_CACHE: u64 = 4;

/// Insertions after which the cache determines again whether it is full.
const WEIGHED_INSERTIONS: u64 = 64;

/// Block key: file id, and offset in the file. A part of a block has its own offset, which is after
/// the header of its block.
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

type BlockMap = Cache<Key, Arc<Block>, BlockWeight, FxBuildHasher>;

/// Part of the capacity that blocks of `IN_MEMORY` families may take.
const IN_MEMORY_DIVISOR: u64 = 4;

/// Parts of the capacity in which it is moved between the two caches.
const CAPACITY_STEPS: u64 = 64;

/// Maximum closed files whose blocks wait for their eviction.
const MAX_RETIRED: usize = 64;

/// Block cache with a limit in bytes.
pub(crate) struct BlockCache {
    blocks: BlockMap,
    /// Blocks of `IN_MEMORY` families.
    in_memory: BlockMap,
    /// Capacity in bytes that `blocks` has without, because `in_memory` takes it.
    ceded_bytes: Mutex<u64>,
    /// `true` once `in_memory` has had a block.
    has_in_memory: AtomicBool,
    /// Statistics by block kind.
    stats: [CacheStats; BlockKind::ALL.len()],
    /// Damaged parts, in place of which whole blocks were read.
    part_failures: PartFailureLog,
    capacity_bytes: u64,
    insertions: AtomicU64,
    is_full: AtomicBool,
    /// Bytes of the blocks of the open store files.
    file_bytes: AtomicU64,
    /// Closed files that may have blocks.
    retired: Mutex<Vec<u64>>,
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
        Self {
            blocks: block_map(bytes),
            in_memory: block_map(bytes / IN_MEMORY_DIVISOR),
            ceded_bytes: Mutex::new(0),
            has_in_memory: AtomicBool::new(false),
            stats: Default::default(),
            part_failures: PartFailureLog::default(),
            capacity_bytes: bytes,
            insertions: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            file_bytes: AtomicU64::new(0),
            retired: Mutex::default(),
        }
    }

    /// Returns `true` if a read begins with parts of blocks; `fills` is true if it puts what it
    /// reads into the cache, `in_memory` for a family with that attribute.
    pub(crate) fn prefers_parts(&self, reads: PartReads, fills: bool, in_memory: bool) -> bool {
        match reads {
            PartReads::Always => true,
            PartReads::Never => false,
            PartReads::WhenCacheIsScarce => !fills || self.is_scarce(in_memory),
        }
    }

    /// Returns `true` if it is nearly full, or small beside the store files. Blocks of `in_memory`
    /// families are few, and have a share that no other block takes.
    fn is_scarce(&self, in_memory: bool) -> bool {
        let most = self.capacity_bytes.saturating_mul(MAX_FILES_PER_CACHE);
        let is_small = !in_memory && self.file_bytes.load(Ordering::Relaxed) > most;
        self.capacity_bytes >= MIN_PARTS_BYTES && (is_small || self.is_full.load(Ordering::Relaxed))
    }

    /// Returns a block, which is where `in_memory` says unless the attribute has changed.
    fn get(&self, key: &Key, in_memory: bool) -> Option<Arc<Block>> {
        if !self.has_in_memory.load(Ordering::Relaxed) {
            return self.blocks.get(key);
        }
        let (first, second) = if in_memory {
            (&self.in_memory, &self.blocks)
        } else {
            (&self.blocks, &self.in_memory)
        };
        first.get(key).or_else(|| second.get(key))
    }

    fn insert(&self, key: Key, block: &Arc<Block>, in_memory: bool) {
        if in_memory {
            self.has_in_memory.store(true, Ordering::Relaxed);
            self.in_memory.insert(key, Arc::clone(block));
            self.divide_capacity();
        } else {
            self.blocks.insert(key, Arc::clone(block));
        }
        // The weight is the sum over all shards, each behind a lock.
        if self.insertions.fetch_add(1, Ordering::Relaxed).is_multiple_of(WEIGHED_INSERTIONS) {
            let is_full = self.bytes() >= full_bytes(self.capacity_bytes);
            self.is_full.store(is_full, Ordering::Relaxed);
        }
    }

    /// Leaves the capacity that `in_memory` does not take to `blocks`.
    fn divide_capacity(&self) {
        // A thread that finds the lock taken leaves the rest to the next insertion.
        let Ok(mut ceded) = self.ceded_bytes.try_lock() else { return };
        let step = (self.capacity_bytes / CAPACITY_STEPS).max(1);
        let wanted = self.in_memory.weight().div_ceil(step).saturating_mul(step);
        if wanted != *ceded {
            *ceded = wanted;
            self.blocks.set_capacity(self.capacity_bytes.saturating_sub(wanted));
        }
    }

    /// Returns the size of the cached blocks in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.evict_retired();
        self.blocks.weight() + self.in_memory.weight()
    }

    /// Returns `false` if another block would evict one of the same share.
    pub(crate) fn has_room(&self, in_memory: bool) -> bool {
        let share = if in_memory { &self.in_memory } else { &self.blocks };
        share.weight() < full_bytes(share.capacity())
    }

    /// Returns the capacity in bytes for the blocks of one family.
    pub(crate) fn share_bytes(&self, in_memory: bool) -> u64 {
        if in_memory { self.in_memory.capacity() } else { self.blocks.capacity() }
    }

    /// Notes that a store file is open, whose blocks have `bytes` bytes.
    pub(crate) fn add_file(&self, bytes: u64) {
        self.file_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Evicts the blocks, which have `bytes` bytes, of a file that is closed, soon, together with
    /// those of others: each eviction examines all blocks.
    pub(crate) fn retire(&self, file: u64, bytes: u64) {
        self.file_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let mut retired = self.retired();
        retired.push(file);
        if retired.len() >= MAX_RETIRED {
            drop(retired);
            self.evict_retired();
        }
    }

    fn retired(&self) -> MutexGuard<'_, Vec<u64>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn evict_retired(&self) {
        let files = std::mem::take(&mut *self.retired());
        if !files.is_empty() {
            self.evict_files(|file| files.contains(&file));
        }
    }

    /// Evicts the blocks of files selected by file id.
    pub(crate) fn evict_files(&self, goes: impl Fn(u64) -> bool) -> CacheEvictionStats {
        let mut evicted = CacheEvictionStats::default();
        for map in [&self.blocks, &self.in_memory] {
            let (blocks, bytes) = (map.len(), map.weight());
            map.retain(|(file, _), _| !goes(*file));
            evicted.blocks += (blocks as u64).saturating_sub(map.len() as u64);
            evicted.bytes += bytes.saturating_sub(map.weight());
        }
        if self.has_in_memory.load(Ordering::Relaxed) {
            self.divide_capacity();
        }
        evicted
    }

    pub(crate) fn stats(&self, kind: BlockKind) -> &CacheStats {
        &self.stats[kind as usize]
    }

    /// Returns the damaged parts of data blocks that reads have found.
    pub(crate) fn part_failures(&self) -> PartFailures {
        self.part_failures.failures()
    }

    pub(crate) fn hits(&self) -> u64 {
        CacheStats::sum(&self.stats, |lookups| &lookups.hits)
    }

    pub(crate) fn misses(&self) -> u64 {
        CacheStats::sum(&self.stats, |lookups| &lookups.misses)
    }
}

/// Returns the bytes at which a cache is full: each of its shards lacks up to one block.
fn full_bytes(capacity: u64) -> u64 {
    capacity / 16 * 13
}

/// Returns an empty cache with a capacity of `bytes` bytes.
fn block_map(bytes: u64) -> BlockMap {
    // The number of items is only a hint for the table size: between whole blocks and parts.
    let items = usize::try_from(bytes / 16_384).unwrap_or(usize::MAX).max(16);
    let options = OptionsBuilder::new()
        .estimated_items_capacity(items)
        .weight_capacity(bytes)
        .build()
        .expect("both capacities are set");
    // A fixed hash function: the engine assigns the keys, so no client can make them collide, and
    // the engine uses no randomness.
    Cache::with_options(options, BlockWeight, FxBuildHasher, DefaultLifecycle::default())
}

/// Block access options of one read.
#[expect(clippy::struct_excessive_bools, reason = "options that say nothing of one another")]
pub(crate) struct BlockReadOptions {
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) tier: AtomicReadTier,
    /// True if data blocks read from the disk are inserted into the cache.
    pub(crate) fill_cache: bool,
    /// True for an `IN_MEMORY` family.
    pub(crate) in_memory: bool,
    /// True if hits and misses are counted.
    pub(crate) is_counted: bool,
    /// True if a part of a data block is read where its file has a part index.
    pub(crate) reads_parts: bool,
    /// True if every block is read once, so that it is not kept in the system's page cache.
    pub(crate) reads_once: bool,
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
            in_memory: false,
            is_counted: true,
            reads_parts: false,
            reads_once: true,
            stats: Arc::new(ReadStats::default()),
            timer: None,
        })
    }

    /// Returns options for reading blocks into the cache before they are needed, which are no hits
    /// and misses. `data` is `true` if all blocks of the file are read, in the order of the file.
    pub(crate) fn for_filling(cache: &Arc<BlockCache>, in_memory: bool, data: bool) -> Arc<Self> {
        Arc::new(Self {
            cache: Arc::clone(cache),
            tier: AtomicReadTier::new(ReadTier::Disk),
            fill_cache: true,
            in_memory,
            is_counted: false,
            reads_parts: false,
            reads_once: data,
            stats: Arc::new(ReadStats::default()),
            timer: None,
        })
    }

    /// Returns the blocks of the file with this id in the cache.
    pub(crate) fn for_file(self: &Arc<Self>, file_id: u64) -> CachedBlockSource {
        let sequence = if self.reads_once {
            Sequence::Steps(Box::default())
        } else {
            Sequence::Scan(ReadAhead::default())
        };
        CachedBlockSource { options: Arc::clone(self), file: file_id, sequence }
    }
}

/// Blocks of one file, with the access options of a read.
pub(crate) struct CachedBlockSource {
    options: Arc<BlockReadOptions>,
    file: u64,
    sequence: Sequence,
}

/// Reading of blocks that follow one another.
enum Sequence {
    /// Scan, which may end at any block: the system reads ahead.
    Scan(ReadAhead),
    /// Compaction, which reads all blocks once.
    Steps(Box<StepReader>),
}

impl BlockSource for CachedBlockSource {
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
        match self.cached_block(reader, pointer, kind)? {
            Some(block) => Ok(block),
            None => self.read_block(reader, pointer, kind),
        }
    }

    fn block_or_part(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        choice: PartChoice<'_>,
    ) -> Result<BlockOrPart> {
        if let Some(block) = self.cached_block(reader, pointer, BlockKind::Data)? {
            return Ok(BlockOrPart::whole(block));
        }
        // The whole block has what a damaged part index or part lacks, and checksums of its own.
        if self.options.reads_parts
            && let Some(found) = self.unless_damaged(self.find_part(reader, pointer, choice))?
        {
            return Ok(found);
        }
        self.read_block(reader, pointer, BlockKind::Data).map(BlockOrPart::whole)
    }
}

impl CachedBlockSource {
    /// Returns the result, or `None` in place of damage, which is recorded.
    fn unless_damaged<T>(&self, result: Result<Option<T>>) -> Result<Option<T>> {
        match result {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.options.cache.part_failures.add(error);
                Ok(None)
            }
            other => other,
        }
    }

    /// Returns the chosen part of the data block at `pointer`; `None` if the file has no parts.
    fn find_part(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        choice: PartChoice<'_>,
    ) -> Result<Option<BlockOrPart>> {
        let Some(found) = reader.find_part(self, pointer, choice)? else { return Ok(None) };
        let part = found.part;
        let (bytes, key) = (part.stored_bytes, self.key(part.offset));
        let read = DiskRead { kind: BlockKind::Data, bytes, key };
        let cells = match self.options.cache.get(&read.key, self.options.in_memory) {
            // A damaged index may lead to a block of another kind or length.
            Some(cells) if !cells.is_part(&part) => {
                return Err(Error::corrupt(format!(
                    "store file {}: its part index leads to the {} at {} as to a part of a data \
                     block of {bytes} bytes",
                    reader.path(),
                    cells.kind().name(),
                    part.offset
                )));
            }
            Some(cells) => {
                self.count_hit(&cells, read.kind, part.stored_bytes);
                cells
            }
            None => self.read(&read, |read| reader.read_part_by(&found, read))?,
        };
        Ok(Some(BlockOrPart::part(cells, part)))
    }
}

/// Read of a block or part that is not in the cache.
struct DiskRead {
    kind: BlockKind,
    bytes: u32,
    key: Key,
}

impl CachedBlockSource {
    fn key(&self, offset: u64) -> Key {
        (self.file, offset)
    }

    fn cached_block(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        kind: BlockKind,
    ) -> Result<Option<Arc<Block>>> {
        let key = self.key(pointer.offset);
        let Some(block) = self.options.cache.get(&key, self.options.in_memory) else {
            return Ok(None);
        };
        // A damaged index may point to a block of another kind in its own file.
        if block.kind() != kind {
            let (path, is, wanted, at) =
                (reader.path(), block.kind().name(), kind.name(), pointer.offset);
            return Err(Error::corrupt(format!(
                "store file {path}: its index leads to the {is} at {at} as to a {wanted}"
            )));
        }
        self.count_hit(&block, kind, pointer.on_disk_bytes);
        Ok(Some(block))
    }

    /// Reads a whole block that is not in the cache.
    fn read_block(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        kind: BlockKind,
    ) -> Result<Arc<Block>> {
        let read = DiskRead { kind, bytes: pointer.on_disk_bytes, key: self.key(pointer.offset) };
        if let (Sequence::Scan(ahead), BlockKind::Data) = (&self.sequence, kind) {
            ahead.before_block(reader, pointer);
        }
        // A block that is not kept is mostly passed once.
        let validation =
            if self.options.fill_cache { Validation::Whole } else { Validation::AsRead };
        self.read(&read, |read| reader.read_block_by(pointer, kind, validation, read))
    }

    fn count_hit(&self, block: &Block, kind: BlockKind, bytes: u32) {
        let BlockReadOptions { cache, stats, is_counted, .. } = &*self.options;
        cache.stats(kind).hits.fetch_add(u64::from(*is_counted), Ordering::Relaxed);
        stats.add_blocks_cached(1);
        stats.add_block_bytes_cached(u64::from(bytes));
        stats.add_data_block(block, kind);
    }

    /// Reads a block or part by `load`, which obtains its bytes by its argument.
    fn read(
        &self,
        read: &DiskRead,
        load: impl FnOnce(&dyn Fn(&dyn FileReader, u64, usize) -> Result<Vec<u8>>) -> Result<Block>,
    ) -> Result<Arc<Block>> {
        let BlockReadOptions {
            cache, tier, fill_cache, in_memory, is_counted, stats, timer, ..
        } = &*self.options;
        if tier.is_memory() {
            return Err(Error::new(
                ErrorKind::WouldBlock,
                "the block is not in the cache; read with the disk allowed",
            ));
        }
        cache.stats(read.kind).misses.fetch_add(u64::from(*is_counted), Ordering::Relaxed);
        stats.add_blocks_read(1);
        stats.add_block_bytes_read(u64::from(read.bytes));
        let clock = timer.as_ref().and_then(ReadTimer::clock);
        let read_bytes = |file: &dyn FileReader, offset: u64, bytes: usize| {
            let began_ns = clock.map(Clock::monotonic_ns);
            let result = match &self.sequence {
                Sequence::Steps(steps) => steps.read(file, offset, bytes),
                Sequence::Scan(_) => read_bytes(file, offset, bytes),
            };
            if let (Some(clock), Some(began_ns)) = (clock, began_ns) {
                stats.add_block_read_ns(clock.monotonic_ns().saturating_sub(began_ns));
            }
            result
        };
        let block = Arc::new(load(&read_bytes)?);
        stats.add_data_block(&block, read.kind);
        // Index and bloom blocks serve every read of their file, so they are cached even if the
        // data is not.
        if *fill_cache || read.kind != BlockKind::Data {
            cache.insert(read.key, &block, *in_memory);
        }
        Ok(block)
    }
}
