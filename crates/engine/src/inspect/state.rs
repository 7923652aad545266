//! Manifest of a store, copies of its generations, and the store id.

use halite_types::{Error, ErrorKind, Result};

use crate::catalog::encoding::decode;
use crate::catalog::history::{self, History};
use crate::catalog::manifest::read_copy;
use crate::catalog::{Catalog, layout};
use crate::engine::directory::{named_store, small_file};
use crate::env::{Env, FileKind};

/// State of the manifest and its copies.
pub(super) struct ManifestState {
    /// Content of `halite/MANIFEST`, or the error of reading it; `None` if it is missing.
    pub(super) manifest: Option<Result<Catalog>>,
    /// Copies by generation, newest first.
    pub(super) copies: Vec<(u64, Result<Catalog>)>,
    /// Error of listing the copies, if their path is a directory.
    pub(super) unlisted: Option<Error>,
    /// Store id in `hbase.id`, if it is in Halite's format.
    pub(super) named_id: Option<[u8; 16]>,
}

impl ManifestState {
    /// Reads the manifest, its copies and the store id.
    ///
    /// # Errors
    /// The file system's error.
    pub(super) fn read(env: &Env) -> Result<Self> {
        let manifest = match small_file(env, layout::MANIFEST) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Some(Err(error)),
            read => read?.map(|bytes| decode(&bytes)),
        };
        let named_id = match named_store(env) {
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            named => named?,
        };
        let (history, unlisted) = match History::list(env) {
            Ok(history) => (history, None),
            Err(error) => {
                let is_directory =
                    matches!(env.fs.kind(layout::MANIFESTS), Ok(Some(FileKind::Directory)));
                (History::default(), is_directory.then_some(error))
            }
        };
        let copies = history
            .generations()
            .rev()
            .map(|generation| Ok((generation, read_copy(env, generation)?)))
            .collect::<Result<_>>()?;
        Ok(Self { manifest, copies, unlisted, named_id })
    }

    /// Checks that everything unreadable is damaged, since only damage can be repaired.
    ///
    /// # Errors
    /// `NewerFormat` for a file of a newer program; the file system's error if the copies cannot be
    /// listed.
    pub(super) fn expect_damage_only(&self) -> Result<()> {
        if let Some(error) = &self.unlisted {
            return Err(error.clone());
        }
        let copies = self.copies.iter().map(|(_, copy)| copy);
        match self
            .manifest
            .iter()
            .chain(copies)
            .find_map(|read| read.as_ref().err().filter(|error| error.kind() != ErrorKind::Corrupt))
        {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Returns the readable generations with their paths: the manifest, then the copies.
    pub(super) fn readable(&self) -> impl Iterator<Item = (String, &Catalog)> {
        let manifest = self
            .manifest
            .iter()
            .filter_map(|manifest| Some((layout::MANIFEST.to_owned(), manifest.as_ref().ok()?)));
        manifest.chain(self.copies.iter().filter_map(|(generation, copy)| {
            Some((history::path(*generation), copy.as_ref().ok()?))
        }))
    }

    /// Returns the newest readable generation of a store; of equal generations, the manifest
    /// itself.
    pub(super) fn newest(&self, store_id: Option<[u8; 16]>) -> Option<(String, &Catalog)> {
        let of_store =
            self.readable().filter(|(_, catalog)| store_id.is_none_or(|id| id == catalog.store_id));
        of_store
            .reduce(|best, next| if next.1.generation > best.1.generation { next } else { best })
    }

    /// Returns the highest generation of a store in its manifest and copies. The name of a copy
    /// counts, too, as for an opening.
    pub(super) fn highest(&self, store_id: [u8; 16]) -> u64 {
        let is_of_store = |copy: &Result<Catalog>| {
            copy.as_ref().map_or(true, |catalog| catalog.store_id == store_id)
        };
        let named = self
            .copies
            .iter()
            .filter(|(_, copy)| is_of_store(copy))
            .map(|(generation, _)| *generation);
        let of_store = self
            .readable()
            .filter(|(_, catalog)| catalog.store_id == store_id)
            .map(|(_, catalog)| catalog.generation);
        named.chain(of_store).max().unwrap_or(0)
    }
}
