//! Files of this store that the manifest does not name: they are set aside, and removed when a later checkpoint is complete.
//!
//! ```text
//! halite/quarantine/<generation, 16 digits>/<path below the root>
//! ```
//! Most of them are what a crash left of a flush or compaction, and nobody misses them. But if the manifest were an older one,
//! which somebody put back, they would be the newest data. So an opening moves them to a directory named after a generation of
//! the manifest of its own. A clean end of the store after that - everything flushed, the log empty - is the checkpoint: it
//! writes its generation into the manifest, and the next opening removes what was set aside before it, in the background.
//!
//! Files with cells that are nowhere else go to a directory of their own, whose name ends with `-unlogged`. No checkpoint removes
//! it: a repair puts its files back, or a person removes it.

use std::collections::BTreeSet;

use halite_types::{Error, Result};

use super::directory::{list, list_if_there, remove_tree};
use crate::catalog::Catalog;
use crate::env::{Env, Fs};
use crate::shared::Shared;

/// Where files are set aside.
pub(crate) const QUARANTINE: &str = "halite/quarantine";

/// How the name of a directory ends whose files have cells that are nowhere else.
const UNLOGGED: &str = "-unlogged";

/// A file that the manifest does not name, or a directory that holds nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unnamed {
    pub(crate) path: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Moves files to a new directory of the quarantine; returns its path, and how many of them were moved before one could not be. Those
/// stay where they are, for the next opening.
pub(super) fn set_aside(shared: &Shared, unnamed: &[Unnamed], is_nowhere_else: bool) -> Option<(String, usize)> {
    // Its number is above that of the last checkpoint, and no other opening has it.
    let generation = shared.manifest.change(|catalog| Ok(catalog.generation)).ok()?;
    let directory = format!("{QUARANTINE}/{generation:016}{}", if is_nowhere_else { UNLOGGED } else { "" });
    let fs = &*shared.env.fs;
    let mut made = BTreeSet::new();
    let mut set_aside = |piece: &&Unnamed| {
        let to = format!("{directory}/{}", piece.path);
        let parent = to.rsplit_once('/').map_or("", |(parent, _)| parent);
        make_durable(fs, parent, &mut made).and_then(|()| fs.rename(&piece.path, &to)).is_ok()
    };
    let moved = unnamed.iter().take_while(&mut set_aside).count();
    (moved > 0).then_some((directory, moved))
}

/// Where a file is kept that nothing but a person or a repair may remove.
pub(crate) fn kept_path(generation: u64, path: &str) -> String {
    format!("{QUARANTINE}/{generation:016}{UNLOGGED}/{path}")
}

/// Whether a path in the quarantine is, or is below, a directory that is kept because its files have cells that are nowhere else.
pub(crate) fn is_unlogged(path: &str) -> bool {
    let name = path.strip_prefix(QUARANTINE).and_then(|rest| rest.strip_prefix('/')?.split('/').next());
    name.is_some_and(|name| name.ends_with(UNLOGGED))
}

/// Makes a directory that a crash does not take away with what is moved there.
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

/// The directories of the quarantine: those that a checkpoint has made superfluous, and the others.
///
/// # Errors
/// The file system's.
pub(crate) fn batches(env: &Env, catalog: &Catalog) -> Result<(Vec<String>, Vec<String>)> {
    let entries = list_if_there(env, QUARANTINE)?;
    let is_over = |name: &str| name.parse::<u64>().is_ok_and(|generation| generation <= catalog.checkpoint);
    let (mut over, mut kept) = (Vec::new(), Vec::new());
    for name in entries.into_iter().filter(|entry| entry.is_dir).map(|entry| entry.name) {
        let path = format!("{QUARANTINE}/{name}");
        // Of one whose files have been put back only directories are left.
        let is_over = if is_unlogged(&path) { total(env, &path)?.0 == 0 } else { is_over(&name) };
        if is_over { over.push(path) } else { kept.push(path) }
    }
    Ok((over, kept))
}

/// Files below a directory, and their bytes.
///
/// # Errors
/// The file system's.
pub(crate) fn total(env: &Env, directory: &str) -> Result<(u64, u64)> {
    let mut sum = (0, 0);
    for entry in list(env, directory)? {
        let (files, bytes) = if entry.is_dir { total(env, &format!("{directory}/{}", entry.name))? } else { (1, entry.bytes) };
        sum = (sum.0 + files, sum.1 + bytes);
    }
    Ok(sum)
}

/// Removes a directory of the quarantine, unless the store is being closed meanwhile: then the next opening goes on with it.
///
/// # Errors
/// The file system's.
pub(super) fn remove(shared: &Shared, directory: &str) -> Result<()> {
    let failed = |error| Error::io(format!("removing {}/{directory}", shared.env.fs.root()), error);
    shared.lock.check()?;
    let is_over = || shared.background.is_closing() || shared.lock.check_if_due().is_err();
    remove_tree(&*shared.env.fs, directory, &is_over).map_err(failed)?;
    shared.lock.check()?;
    // The last one takes the quarantine along; others stay in it.
    let _ = shared.env.fs.remove_dir(QUARANTINE);
    Ok(())
}
