//! The manifest: the one truth about which tables, regions, store files and snapshots are live. Drawn in
//! `docs/formats/manifest.md`.
//!
//! Every change writes the whole catalog to a new file, syncs it and renames it over the old one. So a change is there
//! or it is not, every bit of the catalog is under one checksum, and there is no tail that could be torn. A catalog of
//! a thousand regions has some hundred kilobytes, and changes (flushes, compactions, table changes) are rare events.

use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwap;
use halite_types::{Error, ErrorKind, Result};

use super::Catalog;
use super::encoding::{decode, encode};
use super::layout::{HALITE, MANIFEST, MANIFEST_TEMPORARY};
use crate::env::Env;
use crate::heal::Healed;
use crate::store_lock::StoreLock;

/// The manifest file and what it says.
pub(crate) struct Manifest {
    env: Env,
    lock: Arc<StoreLock>,
    catalog: ArcSwap<Catalog>,
    /// Held by whoever writes the next one; who wants to know what is live does not wait for the disk.
    changing: Mutex<()>,
    fate: Fate,
}

/// Whether it is known which manifest the next opening will find. A sync of the new name that failed leaves the old one
/// or the new one: from then on nothing changes any more, and no file that either of them names is removed.
#[derive(Debug, Default)]
pub(crate) struct Fate(OnceLock<Error>);

impl Fate {
    /// The failure that made it unknown, if there was one.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.get().map_or(Ok(()), |error| Err(error.clone()))
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
        let length = usize::try_from(file.len().map_err(failed)?).map_err(|_| Error::corrupt(format!("manifest {name} is larger than memory")))?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        let catalog = decode(&bytes).map_err(|error| error.at(format!("manifest {name}")))?;
        Ok(Self::new(env, lock, catalog))
    }

    /// Writes the first manifest of a new store.
    pub(crate) fn create(env: &Env, lock: Arc<StoreLock>, catalog: Catalog) -> Result<Self> {
        let manifest = Self::new(env, lock, catalog);
        let first = manifest.current();
        manifest.write(&first)?;
        Ok(manifest)
    }

    fn new(env: &Env, lock: Arc<StoreLock>, catalog: Catalog) -> Self {
        Self { env: env.clone(), lock, catalog: ArcSwap::from_pointee(catalog), changing: Mutex::new(()), fate: Fate::default() }
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
        let _changing = self.changing.lock().healed();
        self.fate.check()?;
        let mut next = Catalog::clone(&self.catalog.load());
        let answer = change(&mut next)?;
        self.write(&next)?;
        self.catalog.store(Arc::new(next));
        Ok(answer)
    }

    fn write(&self, catalog: &Catalog) -> Result<()> {
        self.lock.check()?;
        let fs = &self.env.fs;
        let failed = |error| Error::io(format!("writing the manifest {}/{MANIFEST}", fs.root()), error);
        if fs.exists(MANIFEST_TEMPORARY).map_err(failed)? {
            fs.remove_file(MANIFEST_TEMPORARY).map_err(failed)?;
        }
        let mut file = fs.create(MANIFEST_TEMPORARY).map_err(failed)?;
        file.write_all(&encode(catalog)).map_err(failed)?;
        file.sync().map_err(failed)?;
        drop(file);
        fs.rename(MANIFEST_TEMPORARY, MANIFEST).map_err(failed)?;
        fs.sync_dir(HALITE).map_err(|error| {
            let error = failed(error);
            let text =
                format!("{}; it is not known whether the change is durable: close the store, mend the cause and open it again", error.message());
            let error = Error::new(ErrorKind::Stopped, text).with_source(error);
            self.fate.0.get_or_init(|| error).clone()
        })
    }
}
