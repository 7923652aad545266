//! Store file: opened once and shared by its readers. It is deleted from the disk when the manifest
//! no longer references it (`EngineInner::archive_or_delete`); readers at that time still have it
//! open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use halite_types::{Error, ErrorKind, RegionInfo, Result};

use super::file_label::check_name;
use super::{BlockClasses, DamagedFile, StripeBounds};
use crate::block_cache::{BlockCache, BlockReadOptions};
use crate::catalog::{FileEntry, FileOrigin};
use crate::env::{Env, FileReader};
use crate::hfile::{Reader, info_key};
use crate::ranked_lock::RankedMutex;

/// Rows of a file that belong to a region: from `start` (inclusive) to `end` (exclusive); empty
/// means unbounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clip {
    pub(crate) start: Bytes,
    pub(crate) end: Bytes,
}

impl Clip {
    #[inline]
    pub(crate) fn is_past_end(&self, row: &[u8]) -> bool {
        !self.end.is_empty() && row >= &self.end[..]
    }
}

/// Files of fewer bytes have an index and Bloom filters of a few blocks, which the first gets read.
const MIN_INDEX_PREFETCH_BYTES: u64 = 8 << 20;
/// Part of the cache that index and Bloom filters may fill before a read asks for them, as 1 of
/// this.
const INDEX_PREFETCH_SHARE: u64 = 4;

/// File on disk with its open reader.
pub(crate) struct PhysicalFile {
    /// Distinguishes its blocks in the cache from those of other files.
    pub(crate) id: u64,
    pub(crate) reader: Arc<Reader>,
    cache: Arc<BlockCache>,
    /// `true` once its blocks were read into the cache.
    is_prefetched: AtomicBool,
    /// `true` once its index and Bloom filters were read into the cache, or found no room there.
    is_index_prefetched: AtomicBool,
    /// `true` once a block of its Bloom filters could not be read; they are then ignored.
    is_bloom_faulty: AtomicBool,
    bloom_failures: Arc<RankedMutex<BloomFailures>>,
}

/// A reopened file has another id in the cache, so these blocks are no longer reachable.
impl Drop for PhysicalFile {
    fn drop(&mut self) {
        self.cache.retire(self.id, self.reader.trailer().total_uncompressed_bytes);
    }
}

/// Bloom filters that could not be read since the store was opened.
#[derive(Clone, Debug, Default)]
pub struct BloomFailures {
    /// Files that are read without their filter.
    pub files: u64,
    /// Errors of the first of these files, one each.
    pub first: Vec<Error>,
}

/// Number of errors in [`BloomFailures::first`].
const MAX_BLOOM_ERRORS: usize = 100;

/// Result of opening a file that the manifest names.
pub(crate) enum OpenedFile {
    Sound(Arc<StoreFile>),
    Damaged(Arc<DamagedFile>),
}

/// A region's use of a file: the file itself, or, by a link or reference, one that was created
/// elsewhere.
pub(crate) struct StoreFile {
    pub(crate) entry: FileEntry,
    pub(crate) physical: Arc<PhysicalFile>,
    pub(crate) clip: Option<Clip>,
    /// File in the region's own directory, and the file with the cells.
    origins: [FileOrigin; 2],
    /// Rows of its stripe, once they were requested.
    stripe: OnceLock<Option<StripeBounds>>,
}

impl StoreFile {
    fn new(
        region: &RegionInfo,
        entry: FileEntry,
        physical: Arc<PhysicalFile>,
        origins: [FileOrigin; 2],
    ) -> Arc<Self> {
        let clip =
            entry.is_part().then(|| Clip { start: region.start.clone(), end: region.end.clone() });
        Arc::new(Self { entry, physical, clip, origins, stripe: OnceLock::new() })
    }

    /// Returns the answer of a Bloom filter, or `true`, "maybe", if the filter cannot be read: the
    /// file is then read without it from now on (HBase's
    /// `StoreFileReader.setBloomFilterFaulty`).
    ///
    /// # Errors
    /// `WouldBlock` of a source that may not read the disk.
    pub(crate) fn ask_bloom(&self, answer: impl FnOnce(&Reader) -> Result<bool>) -> Result<bool> {
        let physical = &self.physical;
        if physical.is_bloom_faulty.load(Ordering::Relaxed) {
            return Ok(true);
        }
        match answer(&physical.reader) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                if !physical.is_bloom_faulty.swap(true, Ordering::Relaxed) {
                    let mut failures = physical.bloom_failures.lock();
                    failures.files += 1;
                    if failures.first.len() < MAX_BLOOM_ERRORS {
                        failures.first.push(error);
                    }
                }
                Ok(true)
            }
            answer => answer,
        }
    }

    pub(crate) fn reader(&self) -> &Arc<Reader> {
        &self.physical.reader
    }

    /// Returns the rows of its stripe, if it is in one by its info.
    pub(crate) fn stripe(&self) -> Option<&StripeBounds> {
        self.stripe.get_or_init(|| StripeBounds::of_file(self.reader())).as_ref()
    }

    /// Returns the newest sequence id in it.
    pub(crate) fn max_sequence(&self) -> u64 {
        self.entry.loaded_sequence.or_else(|| self.reader().max_sequence_id()).unwrap_or(0)
    }

    /// Returns the largest sequence id of a cell.
    pub(crate) fn max_cell_sequence(&self) -> u64 {
        self.entry.loaded_sequence.unwrap_or_else(|| self.reader().max_cell_sequence_id())
    }

    /// Returns a lower bound of the timestamps of its puts. Files of other writers need not contain
    /// one.
    pub(crate) fn earliest_put(&self) -> i64 {
        let says = self.reader().info().get(info_key::EARLIEST_PUT).is_some();
        if says { self.reader().earliest_put_timestamp().unwrap_or(i64::MAX) } else { i64::MIN }
    }

    /// Returns the size on disk in bytes. A reference counts half of its file, as in HBase.
    pub(crate) fn bytes(&self) -> u64 {
        if self.is_reference() { self.reader().bytes() / 2 } else { self.reader().bytes() }
    }

    /// Returns the size in bytes before compression; a reference also counts half.
    pub(crate) fn uncompressed_bytes(&self) -> u64 {
        let bytes = self.reader().trailer().total_uncompressed_bytes;
        if self.is_reference() { bytes / 2 } else { bytes }
    }

    /// Returns `true` if only a part of its file belongs to the region.
    pub(crate) fn is_reference(&self) -> bool {
        self.entry.is_part()
    }

    /// Returns `true` if [`StoreFile::prefetch`] was not called for the file.
    pub(crate) fn needs_prefetch(&self) -> bool {
        !self.physical.is_prefetched.load(Ordering::Relaxed)
    }

    /// Reads all blocks into the cache, once, while `go_on` returns `true` and the cache has room.
    pub(crate) fn prefetch(&self, in_memory: bool, go_on: impl Fn() -> bool) {
        self.physical.is_prefetched.store(true, Ordering::Relaxed);
        let cache = &self.physical.cache;
        self.fill_cache(BlockClasses::ALL, in_memory, || cache.has_room(in_memory) && go_on());
    }

    /// Returns `true` if [`StoreFile::prefetch_index`] has not finished for a large file.
    pub(crate) fn needs_index_prefetch(&self) -> bool {
        self.reader().bytes() >= MIN_INDEX_PREFETCH_BYTES
            && !self.physical.is_index_prefetched.load(Ordering::Relaxed)
    }

    /// Reads Bloom filters and index into the cache while `go_on` returns `true` and the cache is
    /// not filled beyond [`INDEX_PREFETCH_SHARE`].
    pub(crate) fn prefetch_index(&self, in_memory: bool, go_on: impl Fn() -> bool) {
        let cache = &self.physical.cache;
        let most = cache.share_bytes(in_memory) / INDEX_PREFETCH_SHARE;
        let classes = BlockClasses { data: false, index: true, bloom: true };
        self.fill_cache(classes, in_memory, || cache.bytes() < most && go_on());
        if go_on() {
            self.physical.is_index_prefetched.store(true, Ordering::Relaxed);
        }
    }

    /// Reads blocks into the cache, as many as have room in it, while `go_on` returns `true`. Damage
    /// is left to the reads that need the block.
    pub(crate) fn fill_cache(
        &self,
        wanted: BlockClasses,
        in_memory: bool,
        go_on: impl Fn() -> bool,
    ) {
        let cache = &self.physical.cache;
        let options = BlockReadOptions::for_filling(cache, in_memory, wanted.data);
        let source = options.for_file(self.physical.id);
        let room = cache.share_bytes(in_memory);
        let go_on = || {
            let stats = &options.stats;
            stats.data_block_bytes() + stats.block_bytes_cached() < room && go_on()
        };
        let reader = self.reader();
        if wanted.data {
            drop(reader.read_data_blocks(&source, go_on));
        } else if wanted.index {
            drop(reader.read_index_blocks(&source, go_on));
        }
        if wanted.bloom {
            drop(reader.read_bloom_blocks(&source, go_on));
        }
    }

    /// Returns the files that may be deleted once the region no longer needs them.
    pub(crate) fn origins(&self) -> impl Iterator<Item = FileOrigin> {
        self.origins.iter().cloned()
    }
}

/// All open files of a store. A file and its links or references share one reader.
pub(crate) struct StoreFiles {
    env: Env,
    store_id: [u8; 16],
    cache: Arc<BlockCache>,
    next_id: AtomicU64,
    open: RankedMutex<OpenFiles>,
    bloom_failures: Arc<RankedMutex<BloomFailures>>,
}

#[derive(Default)]
struct OpenFiles {
    by_origin: HashMap<FileOrigin, Weak<PhysicalFile>>,
    /// Number of entries at which entries of closed files are pruned.
    prune_at: usize,
}

impl OpenFiles {
    fn insert(&mut self, home: FileOrigin, file: &Arc<PhysicalFile>) {
        if self.by_origin.len() >= self.prune_at {
            self.by_origin.retain(|_, file| file.strong_count() > 0);
            self.prune_at = self.by_origin.len().max(32) * 2;
        }
        self.by_origin.insert(home, Arc::downgrade(file));
    }
}

impl StoreFiles {
    /// Returns a registry without open files.
    pub(crate) fn new(env: Env, store_id: [u8; 16], cache: Arc<BlockCache>) -> Self {
        Self {
            env,
            store_id,
            cache,
            next_id: AtomicU64::new(1),
            open: RankedMutex::default(),
            bloom_failures: Arc::default(),
        }
    }

    /// Opens the file of an entry that is, or is about to be, in the manifest.
    ///
    /// # Errors
    /// `Corrupt`, `NewerFormat`, or the file system's; the text names the file.
    pub(crate) fn open(
        &self,
        region: &RegionInfo,
        family: &Bytes,
        entry: FileEntry,
    ) -> Result<Arc<StoreFile>> {
        let homes = [entry.local_origin(region, family), entry.origin(region, family)];
        let physical = self.open_physical(&homes[1])??;
        Ok(StoreFile::new(region, entry, physical, homes))
    }

    /// As [`StoreFiles::open`], but the damage of a file that exists is a result.
    ///
    /// # Errors
    /// `Corrupt` for a missing file or one with the name of another, `NewerFormat`, or the file
    /// system's; the text names the file.
    pub(crate) fn open_if_sound(
        &self,
        region: &RegionInfo,
        family: &Bytes,
        entry: FileEntry,
    ) -> Result<OpenedFile> {
        let homes = [entry.local_origin(region, family), entry.origin(region, family)];
        Ok(match self.open_physical(&homes[1])? {
            Ok(physical) => OpenedFile::Sound(StoreFile::new(region, entry, physical, homes)),
            Err(damage) => {
                OpenedFile::Damaged(Arc::new(DamagedFile::new(entry, region, homes, &damage)))
            }
        })
    }

    /// The inner error is that of a damaged file, the outer one any other.
    fn open_physical(&self, home: &FileOrigin) -> Result<Result<Arc<PhysicalFile>>> {
        let mut open = self.open.lock();
        if let Some(file) = open.by_origin.get(home).and_then(Weak::upgrade) {
            return Ok(Ok(file));
        }
        let (file, name) = self.find(home)?;
        let reader = match Reader::open(file, &name) {
            // The trailer has no checksum: damage of a name in it is an unsupported one. A newer
            // format is that of the whole store.
            Err(damage) if matches!(damage.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
                return Ok(Err(damage));
            }
            opened => Arc::new(opened?),
        };
        reader.expect_random_reads();
        check_name(reader.info(), &self.store_id, &home.name, &name)?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.cache.add_file(reader.trailer().total_uncompressed_bytes);
        let file = Arc::new(PhysicalFile {
            id,
            reader,
            cache: Arc::clone(&self.cache),
            is_prefetched: AtomicBool::new(false),
            is_index_prefetched: AtomicBool::new(false),
            is_bloom_faulty: AtomicBool::new(false),
            bloom_failures: Arc::clone(&self.bloom_failures),
        });
        open.insert(home.clone(), &file);
        Ok(Ok(file))
    }

    /// Returns the Bloom filters that could not be read since the store was opened.
    pub(crate) fn bloom_failures(&self) -> BloomFailures {
        self.bloom_failures.lock().clone()
    }

    /// Returns [`StoreFile::bytes`] for the file of an entry, without registering it as open.
    ///
    /// # Errors
    /// `Corrupt` if it does not exist, or the file system's.
    pub(crate) fn bytes_of(
        &self,
        region: &RegionInfo,
        family: &Bytes,
        entry: &FileEntry,
    ) -> Result<u64> {
        let (file, name) = self.find(&entry.origin(region, family))?;
        let bytes = file
            .len()
            .map_err(|error| Error::io(format!("reading the length of {name}"), error))?;
        Ok(if entry.is_part() { bytes / 2 } else { bytes })
    }

    /// Returns the file in its home or in the archive, and its name for messages. It moves only
    /// from its home to the archive.
    fn find(&self, home: &FileOrigin) -> Result<(Arc<dyn FileReader>, String)> {
        let root = self.env.fs.root();
        let open = |path: String| {
            let name = format!("{root}/{path}");
            let failed = |error| {
                (
                    std::io::Error::kind(&error),
                    Error::io(format!("opening store file {name}"), error),
                )
            };
            self.env.fs.open(&path).map_err(failed).map(|file| (file, name.clone()))
        };
        let missing = std::io::ErrorKind::NotFound;
        match open(home.path()) {
            Err((kind, error)) if kind == missing => open(home.archive_path()).map_err(|(kind, other)| {
                let text = "the manifest names it, and it is not in the archive: restore it from a \
                            copy";
                if kind == missing { Error::corrupt(format!("{}; {text}", error.message())) } else { other }
            }),
            found => found.map_err(|(_, error)| error),
        }
    }
}
