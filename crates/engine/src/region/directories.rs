//! Directories of a region. Programs that copy a store often leave out empty ones, so its opening
//! creates those that are missing.

use halite_types::{Error, FamilyDescriptor, RegionInfo, Result, TableDescriptor};

use crate::catalog::layout;
use crate::env::Env;
use crate::store_lock::StoreLock;

/// Creates the missing directories of a region, synced.
pub(super) fn restore(
    env: &Env,
    lock: &StoreLock,
    info: &RegionInfo,
    descriptor: &TableDescriptor,
) -> Result<()> {
    let fs = &env.fs;
    let families = descriptor.families().map(FamilyDescriptor::name);
    let families =
        families.map(|family| layout::family_directory(&info.table, &info.encoded_name, family));
    let temporary = layout::temporary_directory(&info.table, &info.encoded_name);
    let mut is_complete = true;
    for path in std::iter::once(temporary).chain(families) {
        let failed = |error| Error::io(format!("creating {}/{path}", fs.root()), error);
        if fs.kind(&path).map_err(failed)?.is_none() {
            lock.check()?;
            fs.create_dir_all(&path).map_err(failed)?;
            is_complete = false;
        }
    }
    if is_complete {
        return Ok(());
    }
    let region = layout::region_directory(&info.table, &info.encoded_name);
    [region, layout::table_directory(&info.table)].iter().try_for_each(|path| {
        let failed = |error| Error::io(format!("syncing directory {}/{path}", fs.root()), error);
        fs.sync_dir(path).map_err(failed)
    })
}
