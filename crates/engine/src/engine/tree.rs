//! What lies in the directory tree beside the live files: what a crash left behind goes, what is not ours is named.

use std::collections::{BTreeSet, HashSet};

use halite_types::{Error, Result, TableName};

use super::Engine;
use crate::catalog::{Catalog, layout};
use crate::env::{DirEntry, Env};
use crate::hfile::Reader;
use crate::shared::Shared;
use crate::store::STORE_ID_KEY;

/// Everything the manifest calls for.
struct Live {
    files: HashSet<String>,
    directories: HashSet<String>,
}

impl Live {
    fn of(catalog: &Catalog) -> Self {
        let mut live = Self { files: HashSet::new(), directories: HashSet::new() };
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
                for (family, files) in &region.families {
                    for file in files {
                        live.add_file(&layout::family_directory(name, encoded, family), &file.name);
                        if let Some((target, file)) = &file.target {
                            live.directories.insert(layout::region_directory(name, target));
                            live.add_file(&layout::family_directory(name, target, family), file);
                        }
                    }
                }
            }
        }
        live
    }

    fn add_file(&mut self, directory: &str, name: &str) {
        self.directories.insert(directory.to_owned());
        self.files.insert(format!("{directory}/{name}"));
    }
}

/// Removes what unfinished work left and says how many files that were.
///
/// # Errors
/// `Corrupt` for a file that neither the manifest names nor this store wrote; nothing is removed then.
pub(super) fn clean(shared: &Shared, catalog: &Catalog) -> Result<u64> {
    let live = Live::of(catalog);
    let mut found = Found::default();
    walk(shared, &live, layout::DATA, 0, &mut found)?;
    let env = &shared.env;
    for path in &found.files {
        env.fs.remove_file(path).map_err(|error| Error::io(format!("removing the leftover {}/{path}", env.fs.root()), error))?;
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

/// All files of a directory, and with `itself` the directory.
fn take_all(shared: &Shared, directory: &str, itself: bool, found: &mut Found) -> Result<()> {
    let entries = list(&shared.env, directory)?;
    found.files.extend(entries.iter().filter(|entry| !entry.is_dir).map(|entry| format!("{directory}/{}", entry.name)));
    if itself {
        found.directories.push(directory.to_owned());
    }
    Ok(())
}

/// Whether a file that the manifest does not name is one this store wrote and did not come to name, or a reference.
fn is_own_leftover(shared: &Shared, path: &str, name: &str) -> bool {
    if name.contains('.') {
        // A reference is made of names of ours and holds no cells.
        let is_hex = |part: &str| part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        return name.split_once('.').is_some_and(|(file, region)| is_hex(file) && is_hex(region));
    }
    let Ok(file) = shared.env.fs.open(path) else { return false };
    let Ok(reader) = Reader::open(file, path) else { return false };
    reader.info().get(STORE_ID_KEY).is_some_and(|id| id == shared.manifest.current().store_id)
}

/// The regions that are there only because references need their files: table, directory, family directories.
pub(super) fn referred_regions(catalog: &Catalog) -> Vec<(TableName, String, Vec<String>)> {
    let mut referred = BTreeSet::new();
    for (name, table) in &catalog.tables {
        let families: Vec<String> = table.descriptor.families().map(|family| layout::family_directory_name(family.name())).collect();
        for target in table.regions.iter().flat_map(|region| region.families.values().flatten()).filter_map(|file| file.target.as_ref()) {
            referred.insert((name.clone(), target.0.clone(), families.clone()));
        }
    }
    referred.into_iter().collect()
}

impl Engine {
    /// Takes away directories of regions that are gone and that no reference needs any more.
    pub(super) fn remove_unused_directories(&self) {
        let pending = std::mem::take(&mut *self.shared.retired_regions.lock().expect("nothing panics while it holds the list"));
        if pending.is_empty() {
            return;
        }
        let live = Live::of(&self.shared.manifest.current());
        let mut still = Vec::new();
        for (table, encoded, families) in pending {
            let directory = layout::region_directory(&table, &encoded);
            if live.directories.contains(&directory) || !remove_region_directory(&self.shared.env, &directory, &families) {
                still.push((table, encoded, families));
            }
        }
        self.shared.retired_regions.lock().expect("nothing panics while it holds the list").append(&mut still);
    }
}

/// Takes away the directory of a region whose store files are gone; false if a reader still holds one.
pub(super) fn remove_region_directory(env: &Env, directory: &str, families: &[String]) -> bool {
    let is_gone = |path: &str| env.fs.remove_dir(path).is_ok() || matches!(env.fs.exists(path), Ok(false));
    if !families.iter().all(|family| is_gone(&format!("{directory}/{family}"))) {
        return false;
    }
    let _ = env.fs.remove_dir(&format!("{directory}/.tmp"));
    let _ = env.fs.remove_file(&format!("{directory}/.regioninfo"));
    is_gone(directory)
}
