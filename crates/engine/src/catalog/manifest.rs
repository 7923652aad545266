//! The manifest: the one truth about which tables, regions, store files and snapshots are live. Drawn in
//! `docs/formats/manifest.md`.
//!
//! Every change writes the whole catalog to a new file, syncs it and renames it over the old one. So a change is there
//! or it is not, every bit of the catalog is under one checksum, and there is no tail that could be torn. A catalog of
//! a thousand regions has some hundred kilobytes, and changes (flushes, compactions, table changes) are rare events.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use arc_swap::ArcSwap;
use halite_types::{Error, ErrorKind, Result};

use super::Catalog;
use super::encoding::{decode, encode};
use super::history::{self, History};
use super::layout::{HALITE, MANIFEST, MANIFEST_TEMPORARY};
use crate::env::{Env, FileReader};
use crate::heal::Healed;
use crate::store_lock::StoreLock;

/// The manifest file and what it says.
pub(crate) struct Manifest {
    env: Env,
    lock: Arc<StoreLock>,
    catalog: ArcSwap<Catalog>,
    /// Held by whoever writes the next one; who wants to know what is live does not wait for the disk.
    changing: Mutex<History>,
    fate: Fate,
}

/// Whether it is known which manifest the next opening will find. A sync of the new name that failed leaves the old one
/// or the new one, and where the lock is lost another process writes what it likes: from then on nothing changes any more, and no
/// file is removed.
pub(crate) struct Fate {
    failed_sync: OnceLock<Error>,
    lock: Arc<StoreLock>,
}

impl Fate {
    /// The failure that made it unknown, if there was one.
    pub(crate) fn check(&self) -> Result<()> {
        self.failed_sync.get().map_or_else(|| self.lock.failure(), |error| Err(error.clone()))
    }
}

impl Manifest {
    /// Reads the manifest.
    ///
    /// # Errors
    /// `Corrupt`, `NewerFormat`, or the file system's.
    pub(crate) fn load(env: &Env, lock: Arc<StoreLock>) -> Result<Self> {
        let name = format!("{}/{MANIFEST}", env.fs.root());
        let failed = |error| Error::io(format!("reading the manifest {name}"), error);
        let file = env.fs.open(MANIFEST).map_err(failed)?;
        let bytes = read_whole(&*file).map_err(failed)?;
        let catalog = decode(&bytes).map_err(|error| error.at(format!("manifest {name}")))?;
        let manifest = Self::new(env, lock, catalog, History::list(env)?);
        manifest.check_is_newest()?;
        Ok(manifest)
    }

    /// Writes the first manifest of a new or repaired store.
    pub(crate) fn create(env: &Env, lock: Arc<StoreLock>, catalog: Catalog) -> Result<Self> {
        let manifest = Self::new(env, lock, catalog, History::list(env)?);
        let first = manifest.current();
        manifest.write(&first)?;
        Ok(manifest)
    }

    fn new(env: &Env, lock: Arc<StoreLock>, catalog: Catalog, history: History) -> Self {
        let fate = Fate { failed_sync: OnceLock::new(), lock: Arc::clone(&lock) };
        Self { env: env.clone(), lock, catalog: ArcSwap::from_pointee(catalog), changing: Mutex::new(history), fate }
    }

    /// Whether a copy of a newer generation of the same store is kept.
    fn check_is_newest(&self) -> Result<()> {
        let current = self.current();
        let history = self.history();
        for generation in history.generations().rev().take_while(|generation| *generation > current.generation) {
            let path = history::path(generation);
            let copy = read_copy(&self.env, generation)?;
            // Somebody else's says nothing about this store. One that cannot be read was torn when the power went, or damaged;
            // that it is there says enough.
            if copy.is_ok_and(|copy| copy.store_id != current.store_id) {
                continue;
            }
            return Err(self.is_older(&format!("{}/{path} is a copy of generation {generation}", self.env.fs.root())));
        }
        Ok(())
    }

    /// The error that this manifest is older than something else in the directory.
    pub(crate) fn is_older(&self, what: &str) -> Error {
        let (root, generation) = (self.env.fs.root(), self.current().generation);
        Error::corrupt(format!(
            "manifest {root}/{MANIFEST} is older than the store: it is of generation {generation}, and {what}; nothing has been changed; put the newest \
             manifest back, or run \"halite repair {root}\""
        ))
    }

    /// Sees to it that there is a durable copy of this generation, after everything else was found in order.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn keep_copy(&self) -> Result<()> {
        let mut history = self.history();
        let catalog = self.current();
        let is_kept = history.generations().any(|generation| generation == catalog.generation);
        if is_kept && read_copy(&self.env, catalog.generation)?.is_ok_and(|copy| copy == *catalog) {
            return Ok(());
        }
        let kept = history.keep(&*self.env.fs, catalog.generation, &encode(&catalog), true);
        kept.map_err(|error| Error::io(format!("writing {}/{}", self.env.fs.root(), history::path(catalog.generation)), error))
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.changing.lock().healed()
    }

    /// The catalog as it is now.
    pub(crate) fn current(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Whether the manifest on the disk is known.
    pub(crate) fn fate(&self) -> &Fate {
        &self.fate
    }

    /// Changes the catalog: when this returns, the change is durable; when it fails, nothing has changed, or [`Fate`] is
    /// unknown and everything stops.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        let mut history = self.history();
        self.fate.check()?;
        let mut next = Catalog::clone(&self.catalog.load());
        next.generation += 1;
        let answer = change(&mut next)?;
        let bytes = self.write(&next)?;
        // Without a copy everything goes on; the next opening makes one.
        let _ = history.keep(&*self.env.fs, next.generation, &bytes, false);
        self.catalog.store(Arc::new(next));
        Ok(answer)
    }

    /// Makes a catalog the manifest, durably, and returns its bytes.
    fn write(&self, catalog: &Catalog) -> Result<Vec<u8>> {
        self.lock.check()?;
        let fs = &self.env.fs;
        let failed = |error| Error::io(format!("writing the manifest {}/{MANIFEST}", fs.root()), error);
        if fs.kind(MANIFEST_TEMPORARY).map_err(failed)?.is_some() {
            fs.remove_file(MANIFEST_TEMPORARY).map_err(failed)?;
        }
        let mut file = fs.create(MANIFEST_TEMPORARY).map_err(failed)?;
        let bytes = encode(catalog);
        file.write_all(&bytes).map_err(failed)?;
        file.sync().map_err(failed)?;
        drop(file);
        fs.rename(MANIFEST_TEMPORARY, MANIFEST).map_err(failed)?;
        fs.sync_dir(HALITE).map(|()| bytes).map_err(|error| {
            let error = failed(error);
            let text = format!(
                "{}; it is not known whether the change is durable; writing has stopped, reads go on; close the store, mend the cause and open it again",
                error.message()
            );
            let error = Error::new(ErrorKind::Stopped, text).with_source(error);
            self.fate.failed_sync.get_or_init(|| error).clone()
        })
    }
}

/// The bytes of a file that has to fit into memory.
pub(crate) fn read_whole(file: &dyn FileReader) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(file.len()?).map_err(std::io::Error::other)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(std::io::Error::other)?;
    bytes.resize(length, 0);
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// A copy of a generation: what it says, or why it cannot be read as a manifest.
///
/// # Errors
/// The file system's.
pub(crate) fn read_copy(env: &Env, generation: u64) -> Result<Result<Catalog>> {
    let path = history::path(generation);
    let bytes = env.fs.open(&path).and_then(|file| read_whole(&*file));
    Ok(decode(&bytes.map_err(|error| Error::io(format!("reading {}/{path}", env.fs.root()), error))?))
}
