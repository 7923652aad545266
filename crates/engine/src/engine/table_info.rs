//! Table descriptor file next to a table's regions, used by HBase's tools and by repair. The
//! manifest is authoritative; the file follows it.
//!
//! A change writes the file of the new version, changes the manifest, and removes older files: the
//! file of the manifest's version exists at any time. A file newer than the manifest would be taken
//! for the current descriptor. Therefore a failed change removes it, and so does an opening after a
//! crash.

use halite_types::{Result, TableDescriptor};

use super::small_file::write_small;
use crate::catalog::manifest::read_whole;
use crate::catalog::messages::{TableSchema, pbuf};
use crate::catalog::{Catalog, layout};
use crate::env::{Env, list, sync_directory};

fn directory_of(descriptor: &TableDescriptor) -> String {
    format!("{}/.tabledesc", layout::table_directory(descriptor.name()))
}

/// Returns the path of the descriptor file of a version, and its content.
pub(crate) fn file_of(descriptor: &TableDescriptor, version: u32) -> (String, Vec<u8>) {
    let bytes = pbuf(&TableSchema::from(descriptor));
    (format!("{}/.tableinfo.{version:010}.{}", directory_of(descriptor), bytes.len()), bytes)
}

/// Returns the version in a file name created by [`file_of`].
fn own_version_of(name: &str) -> Option<u32> {
    let (version, bytes) = name.strip_prefix(".tableinfo.")?.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (version.len() == 10 && is_number(version) && is_number(bytes)).then(|| version.parse().ok())?
}

/// Returns the version in the name of a descriptor file.
pub(crate) fn version_of(name: &str) -> Option<u32> {
    name.strip_prefix(".tableinfo.")?.split('.').next()?.parse().ok()
}

/// Writes the file next to those of other versions, durably; the directory must exist.
///
/// # Errors
/// The file system's error; no part of the file remains then.
pub(super) fn add(env: &Env, descriptor: &TableDescriptor, version: u32) -> Result<()> {
    let (path, bytes) = file_of(descriptor, version);
    // Rewriting the file would remove it for a moment, and it may be the only one.
    if is_whole(env, &path, &bytes) {
        return sync(env, descriptor);
    }
    write_small(env, &path, &bytes)
        .and_then(|()| sync(env, descriptor))
        .inspect_err(|_| revert(env, descriptor, version))
}

fn is_whole(env: &Env, path: &str, bytes: &[u8]) -> bool {
    env.fs.exists(path).unwrap_or(false)
        && env.fs.open(path).and_then(|file| read_whole(&*file)).is_ok_and(|known| known == bytes)
}

/// Removes the file that [`add`] wrote for a failed change.
pub(super) fn revert(env: &Env, descriptor: &TableDescriptor, version: u32) {
    let _ = env.fs.remove_file(&file_of(descriptor, version).0);
}

/// Removes the files of other versions, as far as possible. HBase uses the highest number, so a
/// remaining older file is harmless. A crash leaves at most a file of the next version. Newer files
/// are unknown to the manifest, and `halite check` reports them.
pub(super) fn remove_others(env: &Env, descriptor: &TableDescriptor, version: u32) {
    let (directory, (kept, _)) = (directory_of(descriptor), file_of(descriptor, version));
    let goes = |name: &str| own_version_of(name).is_some_and(|of| of <= version.saturating_add(1));
    let files = list(env, &directory)
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| !entry.is_dir && entry.unexpected.is_none() && goes(&entry.name));
    let others: Vec<String> = files
        .map(|entry| format!("{directory}/{}", entry.name))
        .filter(|path| *path != kept)
        .collect();
    if !others.is_empty() {
        others.iter().for_each(|path| drop(env.fs.remove_file(path)));
        let _ = sync(env, descriptor);
    }
}

/// Makes the files match the manifest, as far as possible: after a crash there may be a file of a
/// failed change, or none.
pub(super) fn reconcile(env: &Env, catalog: &Catalog) {
    for table in catalog.tables.values() {
        let (path, bytes) = file_of(&table.descriptor, table.version);
        if is_whole(env, &path, &bytes) || add(env, &table.descriptor, table.version).is_ok() {
            remove_others(env, &table.descriptor, table.version);
        }
    }
}

fn sync(env: &Env, descriptor: &TableDescriptor) -> Result<()> {
    sync_directory(env, &directory_of(descriptor))
}
