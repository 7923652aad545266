//! Whether a directory belongs to a store: what other programs read or write is not to be in it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// Directory of a store with what HBase has not.
const OWN_DIRECTORY: &str = "halite";
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
    /// Returns an error if it cannot be removed, or another process has opened it.
    pub(crate) fn remove(self) -> io::Result<()> {
        // The lock of an open store.
        let directory = fs::File::open(&self.path)?;
        if let Err(fs::TryLockError::WouldBlock) = directory.try_lock() {
            return Err(io::Error::new(ErrorKind::WouldBlock, "another process has it open"));
        }
        let mut entries = fs::read_dir(&self.path)?.collect::<io::Result<Vec<_>>>()?;
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
        let error = check_is_outside(&at("link/a"), "give another").unwrap_err().to_string();
        assert!(error.contains("link/a is inside") && error.ends_with("give another"), "{error}");
    }
}
