//! Whether a directory belongs to a store: what other programs read or write is not to be in it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

/// Directory of a store with what HBase has not.
const OWN_DIRECTORY: &str = "halite";
/// Directory of a store, and of HBase, in which other programs put files that are to be loaded.
pub(crate) const STAGING: &str = "staging";
/// Directory of a store for files of snapshots.
const ARCHIVE: &str = "archive";
/// What a store without tables has.
const OF_NEW_STORE: [&str; 7] =
    [OWN_DIRECTORY, STAGING, ARCHIVE, "data", "manifests", "hbase.id", "hbase.version"];
/// File that makes a directory a store.
const MANIFEST: &str = "halite/MANIFEST";

/// Checks that a directory, which may not exist yet, is not inside a store of Halite, nor one.
///
/// # Errors
/// Returns an error with the store, or if the directory cannot be examined.
pub(crate) fn check_is_outside(directory: &Path, fix: &str) -> anyhow::Result<()> {
    let real = real_path(directory)?;
    let Some(store) = real.ancestors().find(|path| path.join(MANIFEST).is_file()) else {
        return Ok(());
    };
    if store == real {
        bail!("{} is a store of Halite; {fix}", directory.display());
    }
    bail!(
        "{} is inside {}, which is a store of Halite: all files there are its own; {fix}",
        directory.display(),
        store.display()
    )
}

/// Directory in which a store is created, and may be removed again.
pub(crate) struct NewStore {
    path: PathBuf,
    /// Directories that did not exist, the innermost first.
    missing: Vec<PathBuf>,
}

impl NewStore {
    /// Returns the directory of a store that does not exist yet; `None` if something is there.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be examined.
    pub(crate) fn plan(path: &Path) -> anyhow::Result<Option<Self>> {
        let path = real_path(path)?;
        let is_empty = match fs::read_dir(&path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        let missing = path.ancestors().take_while(|path| !path.exists());
        let missing = missing.map(Path::to_owned).collect();
        Ok(is_empty.then_some(Self { path, missing }))
    }

    /// Removes the store, which this process has created and closed, and which has no table.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed, another process may have it open, or it has what a
    /// new store has not.
    pub(crate) fn remove(self) -> io::Result<()> {
        // The lock of an open store.
        let directory = fs::File::open(&self.path)?;
        directory.try_lock()?;
        let mut entries = fs::read_dir(&self.path)?.collect::<io::Result<Vec<_>>>()?;
        let is_used = |directory: &str| {
            fs::read_dir(self.path.join(directory)).is_ok_and(|mut it| it.next().is_some())
        };
        let is_own = |entry: &fs::DirEntry| {
            entry.file_name().to_str().is_some_and(|name| OF_NEW_STORE.contains(&name))
        };
        if !entries.iter().all(is_own) || is_used(STAGING) || is_used(ARCHIVE) {
            return Err(io::Error::other("other files are in it"));
        }
        // Without its own directory the rest would be taken for a directory of HBase.
        entries.sort_by_key(|entry| entry.file_name() == OWN_DIRECTORY);
        for entry in entries {
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        drop(directory);
        self.missing.iter().try_for_each(fs::remove_dir)
    }
}

/// Returns a path without links. What does not exist yet has none.
///
/// # Errors
/// Returns an error if the path cannot be examined.
pub(crate) fn real_path(path: &Path) -> anyhow::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let missing = absolute.strip_prefix(existing)?;
    let existing =
        existing.canonicalize().with_context(|| format!("examining {}", existing.display()))?;
    if missing.components().any(|part| part == Component::ParentDir) {
        bail!(
            "{} goes up from a directory that does not exist; give the path without it",
            path.display()
        );
    }
    // An empty part would add a slash.
    Ok(existing.components().chain(missing.components()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_a_store_are_found_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("store/halite")).unwrap();
        fs::create_dir_all(at("outside/halite")).unwrap();
        std::os::unix::fs::symlink(at("store"), at("link")).unwrap();
        let is_outside = |path: &str| check_is_outside(&at(path), "give another").is_ok();
        assert!(is_outside("store/archive"), "a directory of the name is no store yet");
        fs::write(at("store/halite/MANIFEST"), "").unwrap();
        for path in ["store", "store/", "store/archive", "store/new/a", "link", "link/staging/../x"]
        {
            assert!(!is_outside(path), "{path}");
        }
        for path in ["", "outside", "outside/new", "stored", "store/../new"] {
            assert!(is_outside(path), "{path}");
        }
        let error = check_is_outside(&at("new/../store"), "give another").unwrap_err();
        assert!(error.to_string().contains("goes up from"), "{error}");
        let error = check_is_outside(&at("link/a"), "give another").unwrap_err().to_string();
        assert!(error.contains("link/a is inside") && error.ends_with("give another"), "{error}");
    }

    #[test]
    fn new_store_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let make = |path: &str| {
            let planned = NewStore::plan(&at(path)).unwrap();
            halite::open(at(path)).unwrap().close().unwrap();
            planned
        };
        make("new/of/two").unwrap().remove().unwrap();
        assert!(!at("new").exists());
        fs::create_dir(at("empty")).unwrap();
        make("empty").unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(at("empty")).unwrap().count(), 0);
        // What other programs put there stays, and so does the store.
        for other in ["store1/notes", "store2/staging/job/f/file"] {
            let store = other.split('/').next().unwrap();
            let planned = make(store).unwrap();
            fs::create_dir_all(at(other).parent().unwrap()).unwrap();
            fs::write(at(other), "").unwrap();
            assert!(planned.remove().is_err(), "{other}");
            assert!(at(other).exists() && at(store).join(MANIFEST).exists());
            assert!(NewStore::plan(&at(store)).unwrap().is_none(), "it is not new any more");
        }
        let planned = make("open").unwrap();
        let open = halite::open(at("open")).unwrap();
        assert!(planned.remove().is_err());
        open.close().unwrap();
    }
}
