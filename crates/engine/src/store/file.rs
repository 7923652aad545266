//! A store file: opened once, shared by whoever reads it, removed when nobody does and no manifest names it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use halite_types::{Error, Result, TableName};

use crate::catalog::{Fate, FileEntry, layout};
use crate::env::Env;
use crate::hfile::Reader;

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
    env: Env,
    fate: Arc<Fate>,
    path: String,
    /// Tells its blocks in the cache from those of other files.
    pub(crate) id: u64,
    pub(crate) reader: Arc<Reader>,
    /// Entries of the manifest that name it. At 0 the last reader removes it.
    entries: AtomicU64,
}

impl Drop for PhysicalFile {
    fn drop(&mut self) {
        if self.entries.load(Ordering::Acquire) == 0 && self.fate.is_known() {
            // What stays by mistake is found and removed at the next opening.
            let _ = self.env.fs.remove_file(&self.path);
        }
    }
}

/// A region's use of a file: the file itself, or by a reference the part of another region's.
pub(crate) struct StoreFile {
    pub(crate) entry: FileEntry,
    pub(crate) physical: Arc<PhysicalFile>,
    pub(crate) clip: Option<Clip>,
    /// The reference file on disk.
    reference: Option<(Env, String)>,
    retired: AtomicBool,
}

impl StoreFile {
    pub(crate) fn reader(&self) -> &Arc<Reader> {
        &self.physical.reader
    }

    /// The newest sequence id in it.
    pub(crate) fn max_sequence(&self) -> u64 {
        self.reader().max_sequence_id().unwrap_or(0)
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

    pub(crate) fn is_reference(&self) -> bool {
        self.entry.target.is_some()
    }

    /// The manifest names it no more: it goes with its last reader.
    pub(crate) fn retire(&self) {
        if !self.retired.swap(true, Ordering::AcqRel) {
            self.physical.entries.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        if let Some((env, path)) = &self.reference
            && self.retired.load(Ordering::Acquire)
            && self.physical.fate.is_known()
        {
            let _ = env.fs.remove_file(path);
        }
    }
}

/// All open files of a store, so that a file and the references to it share one reader.
pub(crate) struct StoreFiles {
    env: Env,
    fate: Arc<Fate>,
    next_id: AtomicU64,
    open: Mutex<OpenFiles>,
}

#[derive(Default)]
struct OpenFiles {
    by_path: HashMap<String, Weak<PhysicalFile>>,
    /// The number of entries at which those of closed files are looked for.
    prune_at: usize,
}

impl OpenFiles {
    fn insert(&mut self, path: String, file: &Arc<PhysicalFile>) {
        if self.by_path.len() >= self.prune_at {
            self.by_path.retain(|_, file| file.strong_count() > 0);
            self.prune_at = self.by_path.len().max(32) * 2;
        }
        self.by_path.insert(path, Arc::downgrade(file));
    }
}

impl StoreFiles {
    /// None are open; removed is what the manifest names no more, while its `fate` is known.
    pub(crate) fn new(env: Env, fate: Arc<Fate>) -> Self {
        Self { env, fate, next_id: AtomicU64::new(1), open: Mutex::default() }
    }

    /// Opens the file of an entry that is, or is about to be, in the manifest.
    ///
    /// # Errors
    /// `Corrupt`, `NewerFormat`, or the file system's; the text names the file.
    pub(crate) fn open(&self, table: &TableName, region: &str, family: &[u8], entry: FileEntry, clip: Option<Clip>) -> Result<Arc<StoreFile>> {
        let own_path = format!("{}/{}", layout::family_directory(table, region, family), entry.name);
        let path = match &entry.target {
            None => own_path.clone(),
            Some((region, name)) => format!("{}/{name}", layout::family_directory(table, region, family)),
        };
        let physical = self.open_physical(path)?;
        physical.entries.fetch_add(1, Ordering::AcqRel);
        let reference = entry.target.is_some().then(|| (self.env.clone(), own_path));
        Ok(Arc::new(StoreFile { entry, physical, clip, reference, retired: AtomicBool::new(false) }))
    }

    fn open_physical(&self, path: String) -> Result<Arc<PhysicalFile>> {
        let mut open = self.open.lock().expect("nothing panics while it opens a store file");
        if let Some(file) = open.by_path.get(&path).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let name = format!("{}/{path}", self.env.fs.root());
        let file = self.env.fs.open(&path).map_err(|error| {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let error = Error::io(format!("opening store file {name}"), error);
            if missing { Error::corrupt(format!("{}; the manifest names it: restore it from a copy", error.message())) } else { error }
        })?;
        let reader = Arc::new(Reader::open(file, &name)?);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let file = Arc::new(PhysicalFile {
            env: self.env.clone(),
            fate: Arc::clone(&self.fate),
            path: path.clone(),
            id,
            reader,
            entries: AtomicU64::new(0),
        });
        open.insert(path, &file);
        Ok(file)
    }
}
