//! What lies in the directory tree beside the live files: what a crash left behind goes, what it did not let move moves,
//! what is not ours is named.

use std::collections::{BTreeMap, HashSet};

use halite_types::{Error, Result};

use crate::catalog::{Catalog, Home, Need, layout};
use crate::env::{DirEntry, Env};
use crate::hfile::Reader;
use crate::shared::Shared;
use crate::store::STORE_ID_KEY;

/// Everything the manifest calls for, by path.
struct Live {
    /// Files in their homes.
    files: HashSet<String>,
    /// Files that may lie in their homes but belong in the archive.
    to_archive: BTreeMap<String, Home>,
    /// Files in the archive.
    archived: HashSet<String>,
    directories: HashSet<String>,
}

impl Live {
    fn of(catalog: &Catalog) -> Self {
        let mut live = Self { files: HashSet::new(), to_archive: BTreeMap::new(), archived: HashSet::new(), directories: HashSet::new() };
        for namespace in catalog.namespaces.keys() {
            live.directories.insert(format!("{}/{namespace}", layout::DATA));
        }
        for (name, table) in &catalog.tables {
            live.directories.insert(layout::table_directory(name));
            for region in &table.regions {
                let encoded = &region.info.encoded_name;
                live.directories.insert(layout::region_directory(name, encoded));
                for family in table.descriptor.families() {
                    live.directories.insert(layout::family_directory(name, encoded, family.name()));
                }
            }
        }
        for (home, need) in catalog.needs(|_| true) {
            if need == Need::Anywhere {
                live.archived.insert(home.archive_path());
                live.to_archive.insert(home.path(), home);
            } else {
                live.directories.insert(layout::region_directory(&home.table, &home.region));
                live.directories.insert(layout::family_directory(&home.table, &home.region, &home.family));
                live.files.insert(home.path());
            }
        }
        live
    }
}

/// Removes what unfinished work left, moves what it did not come to move, and says how many files it removed.
///
/// # Errors
/// `Corrupt` for a file that neither the manifest names nor this store wrote; nothing is removed then.
pub(super) fn clean(shared: &Shared, catalog: &Catalog) -> Result<u64> {
    let live = Live::of(catalog);
    let mut found = Found::default();
    walk(shared, &live, layout::DATA, 0, &mut found)?;
    let env = &shared.env;
    if env.fs.exists(layout::ARCHIVE).map_err(|error| Error::io(format!("looking for {}/{}", env.fs.root(), layout::ARCHIVE), error))? {
        walk_archive(shared, &live, layout::ARCHIVE, 0, &mut found)?;
    }
    for path in &found.files {
        env.fs.remove_file(path).map_err(|error| Error::io(format!("removing the leftover {}/{path}", env.fs.root()), error))?;
    }
    // Of what was prepared to be loaded, whoever asked for it is gone; files stay his.
    for entry in env.fs.list(layout::STAGING).unwrap_or_default() {
        let _ = env.fs.remove_dir(&format!("{}/{}", layout::STAGING, entry.name));
    }
    if !shared.settle(found.to_archive) {
        // The directories they lie in must stay; the next opening tries again.
        return Ok(found.files.len() as u64);
    }
    for path in &found.directories {
        // One that holds hidden files stays; it does no harm.
        let _ = env.fs.remove_dir(path);
    }
    Ok(found.files.len() as u64)
}

#[derive(Default)]
struct Found {
    files: Vec<String>,
    to_archive: Vec<Home>,
    /// Deepest first.
    directories: Vec<String>,
}

fn list(env: &Env, path: &str) -> Result<Vec<DirEntry>> {
    env.fs.list(path).map_err(|error| Error::io(format!("listing {}/{path}", env.fs.root()), error))
}

/// Looks at a directory; depth 0 is `data`, 1 a namespace, 2 a table, 3 a region, 4 a family.
fn walk(shared: &Shared, live: &Live, directory: &str, depth: usize, found: &mut Found) -> Result<()> {
    for entry in list(&shared.env, directory)? {
        let path = format!("{directory}/{}", entry.name);
        let is_live = live.directories.contains(&path);
        match (entry.is_dir, entry.name.as_str()) {
            (true, ".tmp") if depth == 3 => take_all(shared, &path, !live.directories.contains(directory), found)?,
            (true, ".tabledesc") if depth == 2 && !live.directories.contains(directory) => take_all(shared, &path, true, found)?,
            (false, ".regioninfo") if depth == 3 && !live.directories.contains(directory) => found.files.push(path),
            // Hidden files are nobody's business: HBase does not look at them either.
            (_, name) if name.starts_with(['.', '_']) => {}
            (true, _) if depth < 4 => {
                walk(shared, live, &path, depth + 1, found)?;
                if !is_live {
                    found.directories.push(path);
                }
            }
            (false, _) if live.files.contains(&path) => {}
            (false, _) if live.to_archive.contains_key(&path) => found.to_archive.extend(live.to_archive.get(&path).cloned()),
            (false, name) if depth == 4 && is_own_leftover(shared, &path, name) => found.files.push(path),
            _ => {
                let text = format!(
                    "{}/{path} is not a file of this store: the manifest does not name it and it was not written here; move it out of {}",
                    shared.env.fs.root(),
                    layout::DATA
                );
                return Err(Error::corrupt(text));
            }
        }
    }
    Ok(())
}

/// Looks at a directory of the archive; depth 0 is `archive`, 5 a family. What is not ours there harms nobody and stays.
fn walk_archive(shared: &Shared, live: &Live, directory: &str, depth: usize, found: &mut Found) -> Result<()> {
    for entry in list(&shared.env, directory)? {
        let path = format!("{directory}/{}", entry.name);
        if entry.is_dir && depth < 5 {
            walk_archive(shared, live, &path, depth + 1, found)?;
            found.directories.push(path);
        } else if depth == 5 && !entry.is_dir && !live.archived.contains(&path) && is_own_leftover(shared, &path, &entry.name) {
            found.files.push(path);
        }
    }
    Ok(())
}

/// All files of a directory, and with `itself` the directory.
fn take_all(shared: &Shared, directory: &str, itself: bool, found: &mut Found) -> Result<()> {
    let entries = list(&shared.env, directory)?;
    found.files.extend(entries.iter().filter(|entry| !entry.is_dir).map(|entry| format!("{directory}/{}", entry.name)));
    if itself {
        found.directories.push(directory.to_owned());
    }
    Ok(())
}

/// Whether a file that the manifest does not name is one this store wrote and did not come to name, or one without cells.
fn is_own_leftover(shared: &Shared, path: &str, name: &str) -> bool {
    // Of a file that did not come to be loaded, whoever wanted that has the original.
    if layout::stands_for_another(name) || layout::is_loaded_name(name) {
        return true;
    }
    let Ok(file) = shared.env.fs.open(path) else { return false };
    let Ok(reader) = Reader::open(file, path) else { return false };
    reader.info().get(STORE_ID_KEY).is_some_and(|id| id == shared.manifest.current().store_id)
}
