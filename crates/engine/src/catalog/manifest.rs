//! Manifest: the authoritative list of live tables, regions, store files and snapshots.
//! `docs/formats/manifest.md` describes its format.
//!
//! Every change writes the whole catalog to a new file, syncs it and renames it over the old one. A
//! change is therefore atomic, one checksum covers the whole catalog, and there is no tail that
//! could be torn. A catalog of a thousand regions has a few hundred kilobytes, and changes
//! (flushes, compactions, table changes) are rare.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use halite_types::{Error, ErrorKind, Result};

use super::Catalog;
use super::encoding::{decode, encode};
use super::history::{self, History};
use super::layout::{HALITE, MANIFEST, MANIFEST_TEMPORARY};
use crate::env::{Env, FileReader};
use crate::ranked_lock::{LockRank, RankedGuard, RankedMutex};
use crate::store_lock::StoreLock;

/// Manifest file and its content.
pub(crate) struct Manifest {
    env: Env,
    lock: Arc<StoreLock>,
    catalog: ArcSwap<Catalog>,
    /// Lock held while the next manifest is written; readers of the catalog do not wait for the
    /// disk.
    history: RankedMutex<History>,
    sync_state: SyncState,
}

/// Knowledge of which manifest the next opening will find. If a sync of the new name fails, it may
/// be the old one or the new one. If the lock is lost, another process may write any manifest. In
/// both cases no further change is made, and no file is removed.
pub(crate) struct SyncState {
    failed_sync: OnceLock<Error>,
    lock: Arc<StoreLock>,
}

impl SyncState {
    /// Checks that the manifest on the disk is known; otherwise returns the failure.
    pub(crate) fn check(&self) -> Result<()> {
        self.failed_sync.get().map_or_else(|| self.lock.failure(), |error| Err(error.clone()))
    }
}

impl Manifest {
    /// Reads the manifest.
    ///
    /// # Errors
    /// `Corrupt`, `NewerFormat`, or the file system's error.
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
        let sync_state = SyncState { failed_sync: OnceLock::new(), lock: Arc::clone(&lock) };
        Self {
            env: env.clone(),
            lock,
            catalog: ArcSwap::from_pointee(catalog),
            history: RankedMutex::new(LockRank::Leaf, history),
            sync_state,
        }
    }

    /// Checks that there is no copy of a newer generation of the same store.
    fn check_is_newest(&self) -> Result<()> {
        let current = self.current();
        let history = self.history();
        for generation in
            history.generations().rev().take_while(|generation| *generation > current.generation)
        {
            let path = history::path(generation);
            let copy = read_copy(&self.env, generation)?;
            // A copy of another store is irrelevant. A copy that cannot be read was torn by a power
            // loss, or is damaged; its existence is sufficient evidence.
            if copy.is_ok_and(|copy| copy.store_id != current.store_id) {
                continue;
            }
            return Err(self.is_older(&format!(
                "{}/{path} is a copy of generation {generation}",
                self.env.fs.root()
            )));
        }
        Ok(())
    }

    /// Returns the error that this manifest is older than something else in the directory.
    pub(crate) fn is_older(&self, what: &str) -> Error {
        let (root, generation) = (self.env.fs.root(), self.current().generation);
        Error::corrupt(format!(
            "manifest {root}/{MANIFEST} is older than the store: it is of generation {generation}, \
             and {what}; nothing has been changed; put the newest manifest back, or run \"halite \
             repair {root}\""
        ))
    }

    /// Ensures that there is a durable copy of this generation, after all checks have passed.
    ///
    /// # Errors
    /// The file system's error.
    pub(crate) fn keep_copy(&self) -> Result<()> {
        let mut history = self.history();
        let catalog = self.current();
        let is_kept = history.generations().any(|generation| generation == catalog.generation);
        if is_kept && read_copy(&self.env, catalog.generation)?.is_ok_and(|copy| copy == *catalog) {
            return Ok(());
        }
        let kept = history.keep(&*self.env.fs, catalog.generation, &encode(&catalog), true);
        kept.map_err(|error| {
            Error::io(
                format!("writing {}/{}", self.env.fs.root(), history::path(catalog.generation)),
                error,
            )
        })
    }

    fn history(&self) -> RankedGuard<'_, History> {
        self.history.lock()
    }

    /// Returns the current catalog.
    pub(crate) fn current(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Returns the state of the manifest on the disk.
    pub(crate) fn sync_state(&self) -> &SyncState {
        &self.sync_state
    }

    /// Changes the catalog. On return, the change is durable. On failure, nothing has changed, or
    /// [`SyncState`] is unknown and the store stops.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        let mut history = self.history();
        self.sync_state.check()?;
        let mut next = Catalog::clone(&self.catalog.load());
        next.generation = next.generation.checked_add(1).ok_or_else(|| {
            Error::corrupt(format!(
                "the generation of manifest {}/{} is {}, which no store reaches; restore the \
                 manifest from a copy",
                self.env.fs.root(),
                MANIFEST,
                u64::MAX
            ))
        })?;
        let answer = change(&mut next)?;
        assert_eq!(next.generation, self.current().generation + 1, "generations rise by one");
        assert_eq!(next.store_id, self.current().store_id, "a store keeps its id");
        assert!(
            next.next_region >= self.current().next_region,
            "the number of a region is never used again"
        );
        assert!(
            next.checkpoint == self.current().checkpoint || next.checkpoint <= next.generation,
            "a checkpoint is of a generation so far"
        );
        debug_assert!(
            next.is_in_order() || !self.current().is_in_order(),
            "a change keeps the regions of a table in order"
        );
        debug_assert!(
            next.names_each_once() || !self.current().names_each_once(),
            "a change gives each region a number, and adds each file once"
        );
        debug_assert!(
            next.is_flushed_like(&self.current()),
            "cells that were in files stay in files"
        );
        let bytes = self.write(&next)?;
        // Operation continues without a copy; the next opening creates one.
        let _ = history.keep(&*self.env.fs, next.generation, &bytes, false);
        self.catalog.store(Arc::new(next));
        Ok(answer)
    }

    /// Writes a catalog as the manifest, durably, and returns its bytes.
    fn write(&self, catalog: &Catalog) -> Result<Vec<u8>> {
        self.lock.check()?;
        let fs = &self.env.fs;
        let failed =
            |error| Error::io(format!("writing the manifest {}/{MANIFEST}", fs.root()), error);
        if fs.kind(MANIFEST_TEMPORARY).map_err(failed)?.is_some() {
            fs.remove_file(MANIFEST_TEMPORARY).map_err(failed)?;
        }
        let mut file = fs.create(MANIFEST_TEMPORARY).map_err(failed)?;
        let bytes = encode(catalog);
        debug_assert!(
            decode(&bytes).is_ok_and(|written| written.generation == catalog.generation),
            "a manifest can be read back"
        );
        file.write_all(&bytes).map_err(failed)?;
        file.sync().map_err(failed)?;
        drop(file);
        fs.rename(MANIFEST_TEMPORARY, MANIFEST).map_err(failed)?;
        fs.sync_dir(HALITE).map(|()| bytes).map_err(|error| {
            let error = failed(error);
            let text = format!(
                "{}; whether the change is durable is unknown; writes have stopped and reads \
                 continue: close the store, fix the cause and open it again",
                error.message()
            );
            let error = Error::new(ErrorKind::Stopped, text).with_source(error);
            self.sync_state.failed_sync.get_or_init(|| error).clone()
        })
    }
}

/// Returns the bytes of a file that must fit into memory.
pub(crate) fn read_whole(file: &dyn FileReader) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(file.len()?).map_err(std::io::Error::other)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(std::io::Error::other)?;
    bytes.resize(length, 0);
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Returns the catalog in the copy of a generation, or the reason that it is not a valid manifest.
///
/// # Errors
/// The file system's error.
pub(crate) fn read_copy(env: &Env, generation: u64) -> Result<Result<Catalog>> {
    let path = history::path(generation);
    let bytes = env.fs.open(&path).and_then(|file| read_whole(&*file));
    Ok(decode(
        &bytes.map_err(|error| Error::io(format!("reading {}/{path}", env.fs.root()), error))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::SimEnv;

    #[test]
    fn last_generation_is_an_error_and_changes_nothing() {
        let env = SimEnv::new(1).env();
        env.fs.create_dir_all(HALITE).unwrap();
        let lock = Arc::new(StoreLock::take(&env).unwrap());
        let last = Catalog { generation: u64::MAX, ..Catalog::default() };
        let manifest = Manifest::create(&env, lock, last).unwrap();
        let error = manifest.change(|_| Ok(())).unwrap_err();
        assert!(error.message().contains("which no store reaches"), "{error}");
        assert_eq!(manifest.current().generation, u64::MAX);
    }
}
