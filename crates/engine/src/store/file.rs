//! A store file: opened once, shared by whoever reads it. It goes from the disk when the manifest names it no more
//! ([`super::settle`]); whoever reads it then still has it open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use halite_types::{Error, RegionInfo, Result};

use super::check_name;
use crate::cache::BlockCache;
use crate::catalog::{FileEntry, Home};
use crate::env::{Env, FileReader};
use crate::heal::Healed;
use crate::hfile::{Reader, info_key};

/// The rows of a file that belong to a region: all from `start` to before `end`; empty means unbounded.
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

/// A file on disk with its open reader.
pub(crate) struct PhysicalFile {
    /// Tells its blocks in the cache from those of other files.
    pub(crate) id: u64,
    pub(crate) reader: Arc<Reader>,
    cache: Arc<BlockCache>,
}

/// Whoever opens the file again opens another one to the cache, so nobody finds these blocks any more.
impl Drop for PhysicalFile {
    fn drop(&mut self) {
        self.cache.forget(|file| file == self.id);
    }
}

/// A region's use of a file: the file itself, or by a link or reference one that was made elsewhere.
pub(crate) struct StoreFile {
    pub(crate) entry: FileEntry,
    pub(crate) physical: Arc<PhysicalFile>,
    pub(crate) clip: Option<Clip>,
    /// What lies in the region's own directory, and the file with the cells.
    homes: [Home; 2],
}

impl StoreFile {
    pub(crate) fn reader(&self) -> &Arc<Reader> {
        &self.physical.reader
    }

    /// The newest sequence id in it.
    pub(crate) fn max_sequence(&self) -> u64 {
        self.entry.loaded_sequence.or_else(|| self.reader().max_sequence_id()).unwrap_or(0)
    }

    /// The largest sequence id of a cell.
    pub(crate) fn max_cell_sequence(&self) -> u64 {
        self.entry.loaded_sequence.unwrap_or_else(|| self.reader().max_cell_sequence_id())
    }

    /// No put in it has a timestamp below this one. Files of other writers need not say.
    pub(crate) fn earliest_put(&self) -> i64 {
        let says = self.reader().info().get(info_key::EARLIEST_PUT).is_some();
        if says { self.reader().earliest_put_timestamp().unwrap_or(i64::MAX) } else { i64::MIN }
    }

    /// Size on disk. A reference counts half of its file, as in HBase.
    pub(crate) fn bytes(&self) -> u64 {
        if self.is_reference() { self.reader().bytes() / 2 } else { self.reader().bytes() }
    }

    /// Size before compression, on the same terms.
    pub(crate) fn uncompressed_bytes(&self) -> u64 {
        let bytes = self.reader().trailer().total_uncompressed_bytes;
        if self.is_reference() { bytes / 2 } else { bytes }
    }

    /// Whether only a part of its file belongs to the region.
    pub(crate) fn is_reference(&self) -> bool {
        self.entry.is_part()
    }

    /// What may go from the disk when the region needs it no more.
    pub(crate) fn homes(&self) -> impl Iterator<Item = Home> {
        self.homes.iter().cloned()
    }
}

/// All open files of a store, so that a file and what stands for it share one reader.
pub(crate) struct StoreFiles {
    env: Env,
    store_id: [u8; 16],
    cache: Arc<BlockCache>,
    next_id: AtomicU64,
    open: Mutex<OpenFiles>,
}

#[derive(Default)]
struct OpenFiles {
    by_home: HashMap<Home, Weak<PhysicalFile>>,
    /// The number of entries at which those of closed files are looked for.
    prune_at: usize,
}

impl OpenFiles {
    fn insert(&mut self, home: Home, file: &Arc<PhysicalFile>) {
        if self.by_home.len() >= self.prune_at {
            self.by_home.retain(|_, file| file.strong_count() > 0);
            self.prune_at = self.by_home.len().max(32) * 2;
        }
        self.by_home.insert(home, Arc::downgrade(file));
    }
}

impl StoreFiles {
    /// None are open.
    pub(crate) fn new(env: Env, store_id: [u8; 16], cache: Arc<BlockCache>) -> Self {
        Self { env, store_id, cache, next_id: AtomicU64::new(1), open: Mutex::default() }
    }

    /// Opens the file of an entry that is, or is about to be, in the manifest.
    ///
    /// # Errors
    /// `Corrupt`, `NewerFormat`, or the file system's; the text names the file.
    pub(crate) fn open(&self, region: &RegionInfo, family: &Bytes, entry: FileEntry) -> Result<Arc<StoreFile>> {
        let homes = [entry.place(region, family), entry.home(region, family)];
        let physical = self.open_physical(&homes[1])?;
        let clip = entry.is_part().then(|| Clip { start: region.start.clone(), end: region.end.clone() });
        Ok(Arc::new(StoreFile { entry, physical, clip, homes }))
    }

    fn open_physical(&self, home: &Home) -> Result<Arc<PhysicalFile>> {
        let mut open = self.open.lock().healed();
        if let Some(file) = open.by_home.get(home).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let (file, name) = self.find(home)?;
        let reader = Arc::new(Reader::open(file, &name)?);
        check_name(reader.info(), &self.store_id, &home.name, &name)?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let file = Arc::new(PhysicalFile { id, reader, cache: Arc::clone(&self.cache) });
        open.insert(home.clone(), &file);
        Ok(file)
    }

    /// What [`StoreFile::bytes`] says of the file of an entry, without opening it as one.
    ///
    /// # Errors
    /// `Corrupt` if it is not there, or the file system's.
    pub(crate) fn bytes_of(&self, region: &RegionInfo, family: &Bytes, entry: &FileEntry) -> Result<u64> {
        let (file, name) = self.find(&entry.home(region, family))?;
        let bytes = file.len().map_err(|error| Error::io(format!("reading the length of {name}"), error))?;
        Ok(if entry.is_part() { bytes / 2 } else { bytes })
    }

    /// The file in its home or in the archive, and what to call it. It moves from the one to the other only.
    fn find(&self, home: &Home) -> Result<(Arc<dyn FileReader>, String)> {
        let root = self.env.fs.root();
        let open = |path: String| {
            let name = format!("{root}/{path}");
            let failed = |error| (std::io::Error::kind(&error), Error::io(format!("opening store file {name}"), error));
            self.env.fs.open(&path).map_err(failed).map(|file| (file, name.clone()))
        };
        let missing = std::io::ErrorKind::NotFound;
        match open(home.path()) {
            Err((kind, error)) if kind == missing => open(home.archive_path()).map_err(|(kind, other)| {
                let text = "the manifest names it, and it is not in the archive: restore it from a copy";
                if kind == missing { Error::corrupt(format!("{}; {text}", error.message())) } else { other }
            }),
            found => found.map_err(|(_, error)| error),
        }
    }
}
