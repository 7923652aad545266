//! The file beside a table's regions in which HBase's tools, and a repair, find its descriptor. What counts is the manifest; the file
//! follows it.
//!
//! A change writes the file of the new version, changes the manifest, and takes the older files away: whenever it ends, the one of the
//! manifest is there. One that is newer than the manifest would be taken for what the table is, so a change that fails takes it
//! back, and an opening after a crash does.

use halite_types::{Error, Result, TableDescriptor};

use super::directory::list;
use super::open::write_small;
use crate::catalog::manifest::read_whole;
use crate::catalog::messages::{TableSchema, pbuf};
use crate::catalog::{Catalog, layout};
use crate::env::Env;

fn directory_of(descriptor: &TableDescriptor) -> String {
    format!("{}/.tabledesc", layout::table_directory(descriptor.name()))
}

/// Where the descriptor of a version is, and what is in the file.
pub(crate) fn file_of(descriptor: &TableDescriptor, version: u32) -> (String, Vec<u8>) {
    let bytes = pbuf(&TableSchema::from(descriptor));
    (format!("{}/.tableinfo.{version:010}.{}", directory_of(descriptor), bytes.len()), bytes)
}

/// The version in a name that [`file_of`] has given.
fn own_version_of(name: &str) -> Option<u32> {
    let (version, bytes) = name.strip_prefix(".tableinfo.")?.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (version.len() == 10 && is_number(version) && is_number(bytes)).then(|| version.parse().ok())?
}

/// The version in the name of a file.
pub(crate) fn version_of(name: &str) -> Option<u32> {
    name.strip_prefix(".tableinfo.")?.split('.').next()?.parse().ok()
}

/// Writes the file beside those of other versions, durably; the directory is there.
///
/// # Errors
/// The file system's; nothing is left of it then.
pub(super) fn add(env: &Env, descriptor: &TableDescriptor, version: u32) -> Result<()> {
    let (path, bytes) = file_of(descriptor, version);
    // Written anew it would be gone for a moment, and it may be the only one.
    if is_whole(env, &path, &bytes) {
        return sync(env, descriptor);
    }
    write_small(env, &path, &bytes).and_then(|()| sync(env, descriptor)).inspect_err(|_| take_back(env, descriptor, version))
}

fn is_whole(env: &Env, path: &str, bytes: &[u8]) -> bool {
    env.fs.exists(path).unwrap_or(false) && env.fs.open(path).and_then(|file| read_whole(&*file)).is_ok_and(|known| known == bytes)
}

/// Takes away what [`add`] has written for a change that has not come about.
pub(super) fn take_back(env: &Env, descriptor: &TableDescriptor, version: u32) {
    let _ = env.fs.remove_file(&file_of(descriptor, version).0);
}

/// Takes the files of other versions away, as far as it can: HBase takes the highest number, so an older one that stays does no harm.
/// A crash leaves one of the next version at most: newer ones are from a time that the manifest does not know of, and `halite check`
/// tells of them.
pub(super) fn remove_others(env: &Env, descriptor: &TableDescriptor, version: u32) {
    let (directory, (kept, _)) = (directory_of(descriptor), file_of(descriptor, version));
    let goes = |name: &str| own_version_of(name).is_some_and(|of| of <= version.saturating_add(1));
    let files = list(env, &directory).unwrap_or_default().into_iter().filter(|entry| !entry.is_dir && entry.odd.is_none() && goes(&entry.name));
    let others: Vec<String> = files.map(|entry| format!("{directory}/{}", entry.name)).filter(|path| *path != kept).collect();
    if !others.is_empty() {
        others.iter().for_each(|path| drop(env.fs.remove_file(path)));
        let _ = sync(env, descriptor);
    }
}

/// Brings the files to what the manifest says, as far as it can: a crash may have left one of a change that did not come about, or none.
pub(super) fn follow(env: &Env, catalog: &Catalog) {
    for table in catalog.tables.values() {
        let (path, bytes) = file_of(&table.descriptor, table.version);
        if is_whole(env, &path, &bytes) || add(env, &table.descriptor, table.version).is_ok() {
            remove_others(env, &table.descriptor, table.version);
        }
    }
}

fn sync(env: &Env, descriptor: &TableDescriptor) -> Result<()> {
    let directory = directory_of(descriptor);
    env.fs.sync_dir(&directory).map_err(|error| Error::io(format!("syncing directory {}/{directory}", env.fs.root()), error))
}
