//! Files of this store that the manifest does not reference: they are quarantined, and removed once
//! a later checkpoint is complete.
//!
//! ```text
//! halite/quarantine/<generation, 16 digits>/<path below the root>
//! ```
//! Most of them are remains of a flush or compaction after a crash and are not needed. But if an
//! operator restored an older manifest, they contain the newest data. An opening therefore moves
//! them to a directory named after a new manifest generation. The next clean close of the store -
//! everything flushed, the log empty - is the checkpoint: it records its generation in the
//! manifest. The opening after that removes the files quarantined before it, in the background.
//!
//! Files with cells that are nowhere else are moved to a separate directory, whose name ends with
//! `-unlogged`. No checkpoint removes it: a repair restores its files, or an operator removes it.

use std::collections::BTreeSet;

use halite_types::{Error, Result};

use super::directory::remove_tree;
use crate::catalog::Catalog;
use crate::env::{Env, Fs, list, list_if_exists};
use crate::shared::EngineInner;

/// Path of the quarantine.
pub(crate) const QUARANTINE: &str = "halite/quarantine";

/// Suffix of the name of a directory whose files have cells that are nowhere else.
const UNLOGGED: &str = "-unlogged";

/// File that the manifest does not reference, or a directory that contains only such files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnreferencedFile {
    pub(crate) path: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Moves files to a new quarantine directory. Returns its path, and the number of files moved
/// before the first failure. The remaining files stay in place for the next opening.
pub(super) fn set_aside(
    shared: &EngineInner,
    unnamed: &[UnreferencedFile],
    is_nowhere_else: bool,
) -> Option<(String, usize)> {
    // The number is above that of the last checkpoint, and unique to this opening.
    let generation = shared.manifest.change(|catalog| Ok(catalog.generation)).ok()?;
    let directory =
        format!("{QUARANTINE}/{generation:016}{}", if is_nowhere_else { UNLOGGED } else { "" });
    let fs = &*shared.env.fs;
    let mut made = BTreeSet::new();
    let mut set_aside = |piece: &&UnreferencedFile| {
        let to = format!("{directory}/{}", piece.path);
        let parent = to.rsplit_once('/').map_or("", |(parent, _)| parent);
        make_durable(fs, parent, &mut made).and_then(|()| fs.rename(&piece.path, &to)).is_ok()
    };
    let moved = unnamed.iter().take_while(&mut set_aside).count();
    (moved > 0).then_some((directory, moved))
}

/// Returns the path for a file that only an operator or a repair may remove.
pub(crate) fn kept_path(generation: u64, path: &str) -> String {
    format!("{QUARANTINE}/{generation:016}{UNLOGGED}/{path}")
}

/// Returns `true` if a quarantine path is, or is below, a directory that is retained because its
/// files have cells that are nowhere else.
pub(crate) fn is_unlogged(path: &str) -> bool {
    let name =
        path.strip_prefix(QUARANTINE).and_then(|rest| rest.strip_prefix('/')?.split('/').next());
    name.is_some_and(|name| name.ends_with(UNLOGGED))
}

/// Creates a directory durably, so that files moved there survive a crash.
fn make_durable(fs: &dyn Fs, directory: &str, made: &mut BTreeSet<String>) -> std::io::Result<()> {
    if made.contains(directory) {
        return Ok(());
    }
    fs.create_dir_all(directory)?;
    let ends = directory.match_indices('/').map(|(at, _)| at).chain([directory.len()]);
    let mut parent = "";
    for path in ends.map(|end| &directory[..end]) {
        if made.insert(path.to_owned()) {
            fs.sync_dir(parent)?;
        }
        parent = path;
    }
    Ok(())
}

/// Returns the quarantine directories: those made obsolete by a checkpoint, and the others.
///
/// # Errors
/// The file system's error.
pub(crate) fn batches(env: &Env, catalog: &Catalog) -> Result<(Vec<String>, Vec<String>)> {
    let entries = list_if_exists(env, QUARANTINE)?;
    let is_over =
        |name: &str| name.parse::<u64>().is_ok_and(|generation| generation <= catalog.checkpoint);
    let (mut over, mut kept) = (Vec::new(), Vec::new());
    for name in entries.into_iter().filter(|entry| entry.is_dir).map(|entry| entry.name) {
        let path = format!("{QUARANTINE}/{name}");
        // A directory whose files have been restored contains only directories.
        let is_over = if is_unlogged(&path) { total(env, &path)?.0 == 0 } else { is_over(&name) };
        if is_over { over.push(path) } else { kept.push(path) }
    }
    Ok((over, kept))
}

/// Returns the number and the total bytes of the files below a directory.
///
/// # Errors
/// The file system's error.
pub(crate) fn total(env: &Env, directory: &str) -> Result<(u64, u64)> {
    let mut sum = (0, 0);
    for entry in list(env, directory)? {
        let (files, bytes) = if entry.is_dir {
            total(env, &format!("{directory}/{}", entry.name))?
        } else {
            (1, entry.bytes)
        };
        sum = (sum.0 + files, sum.1 + bytes);
    }
    Ok(sum)
}

/// Removes a quarantine directory, unless the store is closed concurrently: the next opening then
/// continues.
///
/// # Errors
/// The file system's error.
pub(super) fn remove(shared: &EngineInner, directory: &str) -> Result<()> {
    let failed = |error| Error::io(format!("removing {}/{directory}", shared.env.fs.root()), error);
    shared.lock.check()?;
    let is_over = || shared.scheduler.is_closing() || shared.lock.check_if_due().is_err();
    remove_tree(&*shared.env.fs, directory, &is_over).map_err(failed)?;
    shared.lock.check()?;
    // Removes the quarantine itself if it is empty.
    let _ = shared.env.fs.remove_dir(QUARANTINE);
    Ok(())
}
