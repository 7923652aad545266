//! Execution of a repair: replaced files are copied first, the manifest changes last.
//!
//! A crash in between leaves the old manifest, and files where the new manifest expects them.
//! Running the same repair again completes it.

use halite_types::{Error, ErrorKind, Result};

use super::metadata_files::{directories_of, kind};
use super::plan::RepairPlan;
use crate::catalog::{Manifest, layout};
use crate::engine::quarantine;
use crate::engine::small_file::write_small;
use crate::env::{Env, FileKind, Lock, list};
use crate::store_lock::StoreLock;
use crate::wal;

/// Executes the reported plan, and returns the directory with the replaced files.
pub(super) fn apply_plan(
    env: &Env,
    held: Option<Box<dyn Lock>>,
    shown: &RepairPlan,
    moves_lock: bool,
) -> Result<String> {
    if let Some(kind @ (FileKind::File | FileKind::Other(_))) = kind(env, layout::HALITE)? {
        return Err(Error::invalid(format!(
            "{}/{} is {kind}, expected a directory; move it away",
            env.fs.root(),
            layout::HALITE
        )));
    }
    make_directory(env, layout::HALITE)?;
    let kept = format!("{}/repair-{:016}", layout::HALITE, shown.catalog.generation);
    if kind(env, &kept)?.is_some_and(|kind| kind != FileKind::Directory) {
        return Err(Error::invalid(format!(
            "{}/{kept} already exists, and the repair needs this name; move it away",
            env.fs.root()
        )));
    }
    if moves_lock {
        shift(env, layout::LOCK, &format!("{kept}/{}", layout::LOCK))?;
    }
    // Now the lock file may be created.
    drop(held);
    let lock = std::sync::Arc::new(StoreLock::take(env)?);
    // Another process may have opened the store between the two locks.
    let plan = RepairPlan::make(env)?;
    if plan.report != shown.report {
        let text = format!(
            "{} changed during the examination; nothing was repaired; run the command again",
            env.fs.root()
        );
        return Err(Error::new(ErrorKind::Busy, text));
    }
    make_directory(env, &kept)?;
    if kind(env, layout::MANIFEST)?.is_some()
        && !plan.aside.iter().any(|path| path == layout::MANIFEST)
    {
        copy(env, layout::MANIFEST, &format!("{kept}/MANIFEST"))?;
    }
    if plan.keeps_wal {
        for entry in list(env, wal::DIRECTORY)?
            .into_iter()
            .filter(|entry| !entry.is_dir && entry.unexpected.is_none())
        {
            copy(
                env,
                &format!("{}/{}", wal::DIRECTORY, entry.name),
                &format!("{kept}/wal/{}", entry.name),
            )?;
        }
    }
    assert!(
        plan.moves.iter().all(|(from, to)| from != to && !plan.aside.contains(from)),
        "a repair moves each file to one place"
    );
    for path in &plan.aside {
        shift(env, path, &format!("{kept}/{path}"))?;
    }
    // A file in the way of another is moved out before the other arrives, to a path where a
    // repeated repair finds it.
    let is_in_the_way = |from: &str| plan.moves.iter().any(|(_, to)| to == from);
    let by_way = |to: &str| quarantine::kept_path(plan.catalog.generation, to);
    for (from, to) in plan.moves.iter().filter(|(from, _)| is_in_the_way(from)) {
        shift(env, from, &by_way(to))?;
    }
    for (from, to) in &plan.moves {
        let by_way = is_in_the_way(from).then(|| by_way(to));
        shift(env, by_way.as_ref().unwrap_or(from), to)?;
    }
    make_directories(env, &plan)?;
    sync(env, &kept)?;
    for directory in [wal::DIRECTORY, layout::DATA] {
        make_directory(env, directory)?;
        sync(env, directory)?;
    }
    sync(env, layout::HALITE)?;
    sync(env, "")?;
    Manifest::create(env, lock, plan.catalog)?.keep_copy()?;
    Ok(kept)
}

/// Creates the missing directories of namespaces, tables, regions and families, and the small files
/// to be rewritten.
fn make_directories(env: &Env, plan: &RepairPlan) -> Result<()> {
    let directories = directories_of(&plan.catalog);
    for directory in &directories {
        make_directory(env, directory)?;
    }
    for small in &plan.small {
        write_small(env, &small.path, &small.bytes)?;
    }
    for directory in directories.iter().rev().map(String::as_str).chain([layout::DATA]) {
        sync(env, directory)?;
    }
    Ok(())
}

fn make_directory(env: &Env, path: &str) -> Result<()> {
    env.fs
        .create_dir_all(path)
        .map_err(|error| Error::io(format!("creating directory {}/{path}", env.fs.root()), error))
}

fn sync(env: &Env, path: &str) -> Result<()> {
    env.fs
        .sync_dir(path)
        .map_err(|error| Error::io(format!("syncing {}/{path}", env.fs.root()), error))
}

/// Creates the parent directories of a path, durably.
fn make_parents(env: &Env, path: &str) -> Result<()> {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    make_directory(env, parent)?;
    let mut above = "";
    for end in parent.match_indices('/').map(|(at, _)| at).chain([parent.len()]) {
        sync(env, above)?;
        above = &parent[..end];
    }
    Ok(())
}

/// Moves a file durably.
fn shift(env: &Env, from: &str, to: &str) -> Result<()> {
    let root = env.fs.root();
    make_parents(env, to)?;
    env.fs
        .rename(from, to)
        .map_err(|error| Error::io(format!("moving {root}/{from} to {to}"), error))?;
    sync(env, to.rsplit_once('/').map_or("", |(parent, _)| parent))
}

fn copy(env: &Env, from: &str, to: &str) -> Result<()> {
    let failed = |error| Error::io(format!("copying {}/{from} to {to}", env.fs.root()), error);
    make_parents(env, to)?;
    let file = env.fs.open(from).map_err(failed)?;
    write_small(env, to, &crate::catalog::manifest::read_whole(&*file).map_err(failed)?)?;
    sync(env, to.rsplit_once('/').map_or("", |(parent, _)| parent))
}
