//! The manifest of a store, the copies of its generations, and the store's id.

use halite_types::{Error, ErrorKind, Result};

use crate::catalog::encoding::decode;
use crate::catalog::history::{self, History};
use crate::catalog::manifest::read_copy;
use crate::catalog::{Catalog, layout};
use crate::engine::directory::{named_store, small_file};
use crate::env::{Env, Kind};

/// What there is of manifests.
pub(super) struct State {
    /// What `halite/MANIFEST` says, or why it cannot be read; `None` if it is missing.
    pub(super) manifest: Option<Result<Catalog>>,
    /// Copies by generation, the newest first.
    pub(super) copies: Vec<(u64, Result<Catalog>)>,
    /// Why the copies cannot be listed, although there is nothing else in the place of their directory.
    pub(super) unlisted: Option<Error>,
    /// The id in `hbase.id`, if it is one of ours.
    pub(super) named_id: Option<[u8; 16]>,
}

impl State {
    /// # Errors
    /// The file system's.
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
                let is_directory = matches!(env.fs.kind(layout::MANIFESTS), Ok(Some(Kind::Directory)));
                (History::default(), is_directory.then_some(error))
            }
        };
        let copies = history.generations().rev().map(|generation| Ok((generation, read_copy(env, generation)?))).collect::<Result<_>>()?;
        Ok(Self { manifest, copies, unlisted, named_id })
    }

    /// Whether what cannot be read is damaged, which is all that a repair can make anew.
    ///
    /// # Errors
    /// `NewerFormat` where a newer program has written; the file system's where the copies cannot be listed.
    pub(super) fn expect_damage_only(&self) -> Result<()> {
        if let Some(error) = &self.unlisted {
            return Err(error.clone());
        }
        let copies = self.copies.iter().map(|(_, copy)| copy);
        match self.manifest.iter().chain(copies).find_map(|read| read.as_ref().err().filter(|error| error.kind() != ErrorKind::Corrupt)) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The readable generations with where they are: the manifest, then the copies.
    pub(super) fn readable(&self) -> impl Iterator<Item = (String, &Catalog)> {
        let manifest = self.manifest.iter().filter_map(|manifest| Some((layout::MANIFEST.to_owned(), manifest.as_ref().ok()?)));
        manifest.chain(self.copies.iter().filter_map(|(generation, copy)| Some((history::path(*generation), copy.as_ref().ok()?))))
    }

    /// The newest readable generation of a store; of one with the same number the manifest itself.
    pub(super) fn newest(&self, store_id: Option<[u8; 16]>) -> Option<(String, &Catalog)> {
        let of_store = self.readable().filter(|(_, catalog)| store_id.is_none_or(|id| id == catalog.store_id));
        of_store.reduce(|best, next| if next.1.generation > best.1.generation { next } else { best })
    }

    /// The highest generation of a store that its manifest and copies tell of. A copy counts by its name as well, as for an opening.
    pub(super) fn highest(&self, store_id: [u8; 16]) -> u64 {
        let is_of_store = |copy: &Result<Catalog>| copy.as_ref().map_or(true, |catalog| catalog.store_id == store_id);
        let named = self.copies.iter().filter(|(_, copy)| is_of_store(copy)).map(|(generation, _)| *generation);
        let of_store = self.readable().filter(|(_, catalog)| catalog.store_id == store_id).map(|(_, catalog)| catalog.generation);
        named.chain(of_store).max().unwrap_or(0)
    }
}
