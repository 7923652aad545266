//! Local files that a client may bulk load: those below the store's staging directory and the
//! configured directories.
//!
//! Paths are compared after resolving links and `..`. Every disallowed path returns the same error,
//! so that the error does not reveal the files on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::call::CallError;
use crate::base::context::Context;

/// Returns the resolved path of a file that may be loaded.
///
/// # Errors
/// The same error for a file in another location and for a file that does not exist.
pub(super) fn resolve(context: &Context, path: &str) -> Result<String, CallError> {
    let staging = PathBuf::from(context.engine.staging_directory());
    let listed = context.config.bulkload_dirs.iter().map(PathBuf::as_path);
    let directories = std::iter::once(staging.as_path()).chain(listed);
    resolve_below(directories, path).ok_or_else(|| {
        CallError::do_not_retry(format!(
            "{path} is not there, or lies outside of the directories that bulk load reads: {} and \
             those in the server's option bulkload-dirs; put the files below one of them, or have \
             their directory listed",
            staging.display()
        ))
    })
}

fn resolve_below<'a>(directories: impl Iterator<Item = &'a Path>, path: &str) -> Option<String> {
    let real = fs::canonicalize(path).ok()?;
    let mut real_directories = directories.filter_map(|directory| fs::canonicalize(directory).ok());
    // The path is passed on as text.
    if real_directories.any(|directory| real.starts_with(directory)) {
        real.into_os_string().into_string().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn symlinks_and_parent_components_are_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (inside, outside) = (root.join("in"), root.join("in-other"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(inside.join("one"), "").unwrap();
        fs::write(outside.join("two"), "").unwrap();
        symlink(&outside, inside.join("away")).unwrap();
        symlink(inside.join("one"), outside.join("back")).unwrap();
        symlink(&inside, root.join("linked")).unwrap();
        let at = |path: &str| {
            resolve_below([inside.as_path()].into_iter(), root.join(path).to_str().unwrap())
        };
        let one = Some(inside.join("one").to_str().unwrap().to_owned());
        for path in
            ["in/one", "in/../in/./one", "in-other/back", "linked/one", "in-other/../in/one"]
        {
            assert_eq!(at(path), one, "{path}");
        }
        for path in [
            "in/../in-other/two",
            "in/away/two",
            "in-other/two",
            "in/nothing",
            "nothing",
            "in/away/nothing",
            "",
        ] {
            assert_eq!(at(path), None, "{path}");
        }
        // The list may contain a link, and a directory that does not exist yet.
        let linked = root.join("linked");
        let listed = [root.join("later"), linked.clone()];
        assert_eq!(
            resolve_below(
                listed.iter().map(PathBuf::as_path),
                inside.join("one").to_str().unwrap()
            ),
            one
        );
    }
}
