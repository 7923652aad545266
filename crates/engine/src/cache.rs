//! The block cache: verified, decompressed blocks by file and offset, shared by all regions.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use halite_types::{Error, ErrorKind, Result, Tier};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use crate::env::Clock;
use crate::hfile::{Block, BlockKind, BlockPointer, BlockSource, Reader};
use crate::scan::ReadTrace;
use crate::store::StoreFile;

/// Memory an entry takes beside its block.
const ENTRY_BYTES: u64 = 128;

/// Which block: file id and offset.
type Key = (u64, u64);

/// What was taken out of the block cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Blocks.
    pub blocks: u64,
    /// Their memory in bytes.
    pub bytes: u64,
}

/// How often blocks of each kind were found in the block cache, and how often not.
#[derive(Debug, Default)]
pub struct BlockLookups {
    /// In the cache.
    pub hits: AtomicU64,
    /// Read from the disk.
    pub misses: AtomicU64,
}

impl BlockLookups {
    fn of(all: &[Self], which: fn(&Self) -> &AtomicU64) -> u64 {
        all.iter().map(|lookups| which(lookups).load(Ordering::Relaxed)).sum()
    }
}

/// A cache of blocks with a limit in bytes.
pub(crate) struct BlockCache {
    blocks: Cache<Key, Arc<Block>, BlockWeight, KeyHash>,
    /// By the kind of block.
    lookups: [BlockLookups; BlockKind::ALL.len()],
}

#[derive(Clone)]
struct BlockWeight;

impl Weighter<Key, Arc<Block>> for BlockWeight {
    fn weight(&self, _: &Key, block: &Arc<Block>) -> u64 {
        block.memory_bytes() as u64 + ENTRY_BYTES
    }
}

/// A fixed hash: the keys are our own, so nobody can choose them to collide, and nothing random enters the engine.
#[derive(Clone, Copy, Default)]
struct KeyHash;

struct KeyHasher(u64);

impl BuildHasher for KeyHash {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher(0)
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
}

impl BlockCache {
    /// A cache that holds up to `bytes` bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        // The number of items is only a hint for the size of tables.
        let items = usize::try_from(bytes / 65_536).unwrap_or(usize::MAX).max(16);
        let options = OptionsBuilder::new().estimated_items_capacity(items).weight_capacity(bytes).build().expect("both capacities are set");
        Self { blocks: Cache::with_options(options, BlockWeight, KeyHash, DefaultLifecycle::default()), lookups: Default::default() }
    }

    /// Bytes of the blocks in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks.weight()
    }

    /// Takes the blocks of files out, by their ids.
    pub(crate) fn forget(&self, goes: impl Fn(u64) -> bool) -> Evicted {
        let (blocks, bytes) = (self.blocks.len(), self.blocks.weight());
        self.blocks.retain(|(file, _), _| !goes(*file));
        let less = |before: u64, now: u64| before.saturating_sub(now);
        Evicted { blocks: less(blocks as u64, self.blocks.len() as u64), bytes: less(bytes, self.blocks.weight()) }
    }

    pub(crate) fn lookups(&self, kind: BlockKind) -> &BlockLookups {
        &self.lookups[kind as usize]
    }

    pub(crate) fn hits(&self) -> u64 {
        BlockLookups::of(&self.lookups, |lookups| &lookups.hits)
    }

    pub(crate) fn misses(&self) -> u64 {
        BlockLookups::of(&self.lookups, |lookups| &lookups.misses)
    }
}

/// How one read may get at blocks.
pub(crate) struct ReadBlocks {
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) tier: ReadTier,
    /// Whether data blocks read from the disk go into the cache.
    pub(crate) fill: bool,
    pub(crate) trace: Arc<ReadTrace>,
    /// `None` for reads of which nobody asks how long the disk took.
    pub(crate) timer: Option<ReadTimer>,
}

/// Measures how long blocks take to be read, while somebody wants to know.
pub(crate) struct ReadTimer {
    clock: Arc<dyn Clock>,
    is_on: AtomicBool,
}

impl ReadTimer {
    /// One that does not measure yet.
    pub(crate) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), is_on: AtomicBool::new(false) }
    }

    pub(crate) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// The clock, if it is to be looked at.
    fn clock(&self) -> Option<&dyn Clock> {
        self.is_on.load(Ordering::Relaxed).then_some(&*self.clock)
    }
}

/// Where a read may look. A scan may be allowed more or less from call to call.
pub(crate) struct ReadTier(AtomicBool);

impl ReadTier {
    pub(crate) fn new(tier: Tier) -> Self {
        Self(AtomicBool::new(tier == Tier::Memory))
    }

    pub(crate) fn set(&self, tier: Tier) {
        self.0.store(tier == Tier::Memory, Ordering::Relaxed);
    }

    fn is_memory(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl ReadBlocks {
    /// For flushes, compactions and splits, which read everything once.
    pub(crate) fn for_maintenance(cache: &Arc<BlockCache>) -> Arc<Self> {
        Arc::new(Self { cache: Arc::clone(cache), tier: ReadTier::new(Tier::Disk), fill: false, trace: Arc::new(ReadTrace::default()), timer: None })
    }

    /// The blocks of one file.
    pub(crate) fn of(self: &Arc<Self>, file: &StoreFile) -> FileBlocks {
        FileBlocks { read: Arc::clone(self), file: file.physical.id }
    }
}

/// The blocks of one file as a read may get at them.
#[derive(Clone)]
pub(crate) struct FileBlocks {
    read: Arc<ReadBlocks>,
    file: u64,
}

impl BlockSource for FileBlocks {
    fn block(&self, reader: &Reader, pointer: BlockPointer, kind: BlockKind) -> Result<Arc<Block>> {
        let ReadBlocks { cache, tier, fill, trace, timer } = &*self.read;
        let key = (self.file, pointer.offset);
        if let Some(block) = cache.blocks.get(&key) {
            // A damaged index may lead to a block of its own file that is another kind.
            if block.kind() != kind {
                let (path, is, wanted, at) = (reader.path(), block.kind().name(), kind.name(), pointer.offset);
                return Err(Error::corrupt(format!("store file {path}: its index leads to the {is} at {at} as to a {wanted}")));
            }
            cache.lookups(kind).hits.fetch_add(1, Ordering::Relaxed);
            trace.add_blocks_cached(1);
            trace.add_block_bytes_cached(u64::from(pointer.on_disk_bytes));
            trace.add_data_block(&block, kind);
            return Ok(block);
        }
        if tier.is_memory() {
            return Err(Error::new(ErrorKind::NeedsIo, "the block is not in the cache; read with the disk allowed"));
        }
        cache.lookups(kind).misses.fetch_add(1, Ordering::Relaxed);
        trace.add_blocks_read(1);
        trace.add_block_bytes_read(u64::from(pointer.on_disk_bytes));
        let clock = timer.as_ref().and_then(ReadTimer::clock);
        let began_ns = clock.map(Clock::monotonic_ns);
        let is_read = || {
            if let (Some(clock), Some(began_ns)) = (clock, began_ns) {
                trace.add_block_read_ns(clock.monotonic_ns().saturating_sub(began_ns));
            }
        };
        let block = Arc::new(reader.read_block_noting(pointer, kind, is_read)?);
        trace.add_data_block(&block, kind);
        // Index and bloom blocks serve every read of their file: they are kept even when the data is not.
        if *fill || kind != BlockKind::Data {
            cache.blocks.insert(key, Arc::clone(&block));
        }
        Ok(block)
    }
}
