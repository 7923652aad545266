//! Listing and syncing of directories, with errors that name them.

use std::io;

use halite_types::{Error, Result};

use super::{DirEntry, Env};

/// Returns the entries of a directory.
pub(crate) fn list(env: &Env, path: &str) -> Result<Vec<DirEntry>> {
    env.fs.list(path).map_err(|error| Error::io(format!("listing {}/{path}", env.fs.root()), error))
}

/// Returns the entries of a directory; none if it does not exist or is not a directory.
pub(crate) fn list_if_exists(env: &Env, path: &str) -> Result<Vec<DirEntry>> {
    match env.fs.list(path) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        listed => {
            listed.map_err(|error| Error::io(format!("listing {}/{path}", env.fs.root()), error))
        }
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(env: &Env, path: &str) -> Result<()> {
    env.fs
        .sync_dir(path)
        .map_err(|error| Error::io(format!("syncing directory {}/{path}", env.fs.root()), error))
}
