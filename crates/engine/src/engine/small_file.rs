//! Small files of the directory that are written as a whole.

use halite_types::{Error, Result};

use crate::env::Env;

/// Writes a small file as a whole and syncs it; the caller syncs the directory.
pub(crate) fn write_small(env: &Env, path: &str, bytes: &[u8]) -> Result<()> {
    let failed = |error| Error::io(format!("writing {}/{path}", env.fs.root()), error);
    // A dangling link is in the way, too.
    if env.fs.kind(path).map_err(failed)?.is_some() {
        env.fs.remove_file(path).map_err(failed)?;
    }
    let mut file = env.fs.create(path).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync()).map_err(failed)
}
