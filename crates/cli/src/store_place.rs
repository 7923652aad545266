//! Whether a directory belongs to a store: what other programs read or write is not to be in it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

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

/// Returns a path without links. What does not exist yet has none.
fn real_path(path: &Path) -> anyhow::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let missing = absolute.strip_prefix(existing)?;
    let existing =
        existing.canonicalize().with_context(|| format!("examining {}", existing.display()))?;
    Ok(existing.join(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_a_store_are_found_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("store/halite")).unwrap();
        std::fs::create_dir_all(at("outside/halite")).unwrap();
        std::os::unix::fs::symlink(at("store"), at("link")).unwrap();
        let is_outside = |path: &str| check_is_outside(&at(path), "give another").is_ok();
        assert!(is_outside("store/archive"), "a directory of the name is no store yet");
        std::fs::write(at("store/halite/MANIFEST"), "").unwrap();
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
