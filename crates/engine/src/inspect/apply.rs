//! Carrying out a repair: what is replaced is kept first, the manifest changes last.
//!
//! A crash in between leaves files that are where the new manifest looks for them, and the old manifest; the same repair made again
//! does the rest.

use halite_types::{Error, ErrorKind, Result};

use super::plan::{Plan, RepairReport};
use crate::catalog::messages::{OneString, TableSchema, pbuf, region_info_file};
use crate::catalog::{Manifest, layout};
use crate::engine::directory::list;
use crate::engine::open::write_small;
use crate::env::{Env, Lock};
use crate::store_lock::StoreLock;
use crate::wal;

/// Does what has been shown, and returns the directory with what was replaced.
pub(super) fn carry_out(env: &Env, held: Option<Box<dyn Lock>>, shown: &RepairReport) -> Result<String> {
    // Now the lock file may be made.
    drop(held);
    make_directory(env, layout::HALITE)?;
    let lock = std::sync::Arc::new(StoreLock::take(env)?);
    // Between the two locks another process may have had the store.
    let plan = Plan::make(env)?;
    if plan.report != *shown {
        let text = format!("{} has changed while it was examined; nothing was repaired; run it again", env.fs.root());
        return Err(Error::new(ErrorKind::Busy, text));
    }
    let kept = format!("{}/repair-{:016}", layout::HALITE, plan.catalog.generation);
    make_directory(env, &kept)?;
    if env.fs.exists(layout::MANIFEST).unwrap_or(false) {
        copy(env, layout::MANIFEST, &format!("{kept}/MANIFEST"))?;
    }
    if plan.keeps_log {
        for entry in list(env, wal::DIRECTORY)?.into_iter().filter(|entry| !entry.is_dir) {
            copy(env, &format!("{}/{}", wal::DIRECTORY, entry.name), &format!("{kept}/wal/{}", entry.name))?;
        }
    }
    for path in &plan.aside {
        shift(env, path, &format!("{kept}/{path}"))?;
    }
    for (from, to) in &plan.moves {
        shift(env, from, to)?;
    }
    make_directories(env, &plan)?;
    sync(env, &kept)?;
    write_small(env, "hbase.id", &pbuf(&OneString { text: layout::uuid_text(&plan.catalog.store_id) }))?;
    write_small(env, "hbase.version", &pbuf(&OneString { text: "8".into() }))?;
    for directory in [wal::DIRECTORY, layout::DATA] {
        make_directory(env, directory)?;
        sync(env, directory)?;
    }
    sync(env, layout::HALITE)?;
    sync(env, "")?;
    Manifest::create(env, lock, plan.catalog)?.keep_copy()?;
    Ok(kept)
}

/// The directories of namespaces, tables, regions and families that are not there.
fn make_directories(env: &Env, plan: &Plan) -> Result<()> {
    for namespace in plan.catalog.namespaces.keys() {
        make_directory(env, &format!("{}/{namespace}", layout::DATA))?;
    }
    sync(env, layout::DATA)?;
    for (name, table) in &plan.catalog.tables {
        let directory = layout::table_directory(name);
        let descriptors = format!("{directory}/.tabledesc");
        make_directory(env, &descriptors)?;
        if list(env, &descriptors)?.is_empty() {
            let bytes = pbuf(&TableSchema::from(&*table.descriptor));
            write_small(env, &format!("{descriptors}/.tableinfo.{:010}.{}", table.version, bytes.len()), &bytes)?;
            sync(env, &descriptors)?;
        }
        for region in &table.regions {
            let info = &region.info;
            let directory = layout::region_directory(name, &info.encoded_name);
            make_directory(env, &layout::temporary_directory(name, &info.encoded_name))?;
            for family in table.descriptor.families() {
                make_directory(env, &layout::family_directory(name, &info.encoded_name, family.name()))?;
            }
            let file = format!("{directory}/.regioninfo");
            if plan.new_regions.contains(info) || !env.fs.exists(&file).unwrap_or(false) {
                write_small(env, &file, &region_info_file(info, region.number))?;
            }
            sync(env, &directory)?;
        }
        sync(env, &directory)?;
        sync(env, &format!("{}/{}", layout::DATA, name.namespace()))?;
    }
    Ok(())
}

fn make_directory(env: &Env, path: &str) -> Result<()> {
    env.fs.create_dir_all(path).map_err(|error| Error::io(format!("making directory {}/{path}", env.fs.root()), error))
}

fn sync(env: &Env, path: &str) -> Result<()> {
    env.fs.sync_dir(path).map_err(|error| Error::io(format!("syncing {}/{path}", env.fs.root()), error))
}

/// Makes the directory of a path with those above it, durably.
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

/// Moves a file; one that an interrupted repair has moved is there.
fn shift(env: &Env, from: &str, to: &str) -> Result<()> {
    let root = env.fs.root();
    make_parents(env, to)?;
    env.fs.rename(from, to).map_err(|error| Error::io(format!("moving {root}/{from} to {to}"), error))?;
    sync(env, to.rsplit_once('/').map_or("", |(parent, _)| parent))
}

fn copy(env: &Env, from: &str, to: &str) -> Result<()> {
    let failed = |error| Error::io(format!("copying {}/{from} to {to}", env.fs.root()), error);
    make_parents(env, to)?;
    let file = env.fs.open(from).map_err(failed)?;
    write_small(env, to, &crate::catalog::manifest::read_whole(&*file).map_err(failed)?)?;
    sync(env, to.rsplit_once('/').map_or("", |(parent, _)| parent))
}
