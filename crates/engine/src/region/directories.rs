//! Directories of a region. Programs that copy a store often leave out empty ones, so its opening
//! creates those that are missing.

use halite_types::{Error, RegionInfo, Result, TableDescriptor};

use crate::catalog::layout;
use crate::env::{Env, sync_directory};
use crate::store_lock::StoreLock;

/// Creates the missing directories of a region. Their names become durable with the first file in
/// them ([`sync_names`]).
pub(super) fn restore(
    env: &Env,
    lock: &StoreLock,
    info: &RegionInfo,
    descriptor: &TableDescriptor,
) -> Result<()> {
    for path in layout::required_directories(info, descriptor) {
        let kind = env.fs.kind(&path);
        let kind =
            kind.map_err(|error| Error::io(format!("examining {}/{path}", env.fs.root()), error))?;
        if kind.is_none() {
            lock.check()?;
            env.fs
                .create_dir_all(&path)
                .map_err(|error| Error::io(format!("creating {}/{path}", env.fs.root()), error))?;
        }
    }
    Ok(())
}

/// Makes the names of a region's directories durable. Must be called before the manifest names the
/// first file of a family: an earlier process may have created its directory in [`restore`], and a
/// name that is not durable is lost with what is in it.
pub(super) fn sync_names(env: &Env, info: &RegionInfo) -> Result<()> {
    let region = layout::region_directory(&info.table, &info.encoded_name);
    let mut parents = std::iter::successors(Some(&region[..]), |path| {
        path.rsplit_once('/').map(|(parent, _)| parent)
    });
    parents.try_for_each(|path| sync_directory(env, path))
}
