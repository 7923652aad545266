//! Obsolete files and directories: everything in the directory tree other than live files.
//! [`find_obsolete_files`] examines the tree without changing it. [`remove_obsolete_files`]
//! quarantines the remains of a crash and finishes interrupted archive moves. Foreign files are
//! reported, and then nothing is changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use halite_types::{Error, Result};

use super::coverage::RegionCoverage;
use super::open_report::OpenReport;
use super::quarantine::{self, UnreferencedFile};
use crate::catalog::{Catalog, FileOrigin, Manifest, RequiredLocation, layout};
use crate::env::{Env, list, list_if_exists};
use crate::hfile::Reader;
use crate::shared::EngineInner;
use crate::store::{STORE_ID_KEY, generation_of, region_number_of};

/// Files and directories referenced by the manifest, by path.
struct LiveFiles {
    /// Files in their original directories.
    files: HashSet<String>,
    /// Files that may be in their original directories but belong in the archive.
    to_archive: BTreeMap<String, FileOrigin>,
    /// Files in the archive.
    archived: HashSet<String>,
    directories: HashSet<String>,
}

impl LiveFiles {
    fn from_catalog(catalog: &Catalog) -> Self {
        let mut live = Self {
            files: HashSet::new(),
            to_archive: BTreeMap::new(),
            archived: HashSet::new(),
            directories: HashSet::new(),
        };
        live.directories.insert(layout::DATA.to_owned());
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
        for (home, need) in catalog.required_files(|_| true) {
            if need == RequiredLocation::Anywhere {
                live.archived.insert(home.archive_path());
                live.to_archive.insert(home.path(), home);
            } else {
                live.directories.insert(layout::table_directory(&home.table));
                live.directories.insert(layout::region_directory(&home.table, &home.region));
                live.directories.insert(layout::family_directory(
                    &home.table,
                    &home.region,
                    &home.family,
                ));
                live.files.insert(home.path());
            }
        }
        live
    }
}

/// Result of examining the directory tree.
#[derive(Default)]
pub(crate) struct ObsoleteFiles {
    /// Files of this store that the manifest does not reference.
    pub(crate) unreferenced: Vec<UnreferencedFile>,
    /// Files below `data` that this store did not write.
    pub(crate) foreign: Vec<String>,
    /// Incomplete files in `.tmp`, which no manifest has ever referenced.
    pub(crate) temporary: Vec<String>,
    to_archive: Vec<FileOrigin>,
    /// Unreferenced directories, deepest first.
    directories: Vec<String>,
    /// Newest generation recorded in an unreferenced file, and its path.
    pub(crate) newest: Option<(u64, String)>,
    cells: Vec<UnreferencedCells>,
}

/// Unreferenced file with cells.
#[derive(Clone, Debug)]
struct UnreferencedCells {
    path: String,
    /// Encoded name of the region whose directory contains the file.
    region: String,
    /// Number, in the log, of the region that the file was written in, if the file records it.
    number: Option<u64>,
    /// Newest sequence id of a cell in the file.
    newest: u64,
}

/// Examines everything below `data` and `archive`.
///
/// # Errors
/// The file system's error.
pub(crate) fn find_obsolete_files(env: &Env, catalog: &Catalog) -> Result<ObsoleteFiles> {
    let live = LiveFiles::from_catalog(catalog);
    let mut walk =
        TreeWalk { env, live: &live, store_id: catalog.store_id, found: ObsoleteFiles::default() };
    let data = walk.directory(layout::DATA, 0)?;
    walk.archive(layout::ARCHIVE, 0)?;
    let mut found = walk.found;
    found.unreferenced.extend(data.unreferenced);
    found.temporary = data.temporary;
    found.to_archive = data.to_archive;
    // Directories of the archive contain nothing that those of `data` need.
    found.directories.extend(data.directories);
    Ok(found)
}

impl ObsoleteFiles {
    /// Checks that no file is foreign or newer than the manifest.
    ///
    /// # Errors
    /// `Corrupt` for a file that the manifest does not reference and this store did not write, or
    /// that is newer than the manifest.
    pub(super) fn check(&self, env: &Env, manifest: &Manifest) -> Result<()> {
        let root = env.fs.root();
        if let Some((generation, path)) = self
            .newest
            .as_ref()
            .filter(|(generation, _)| *generation > manifest.current().generation)
        {
            return Err(manifest
                .is_older(&format!("{root}/{path} was written under generation {generation}")));
        }
        let Some(path) = self.foreign.first() else { return Ok(()) };
        Err(Error::corrupt(format!(
            "{root}/{path} is not a file of this store: the manifest does not name it and it was \
             not written here; move it out of {}",
            layout::DATA
        )))
    }

    /// Returns the paths of files with cells that are neither in their region's other files nor in
    /// the log. `covered` contains the coverage of these, by encoded name; `catalog` contains the
    /// region numbers allocated so far.
    pub(super) fn nowhere_else(
        &self,
        env: &Env,
        catalog: &Catalog,
        covered: &BTreeMap<String, RegionCoverage>,
    ) -> BTreeSet<String> {
        let live = catalog.flushed_sequences();
        let is_alone = |cells: &&UnreferencedCells| match (covered.get(&cells.region), cells.number)
        {
            (Some(covered), _) => covered.lacks(env, &cells.path, cells.newest),
            // A dropped, split or merged region leaves an allocated number that no region has. A
            // file of a live region was moved here by an operator. A file with an unallocated
            // number belongs to a later manifest.
            (None, Some(number)) => live.contains_key(&number) || number > catalog.next_region,
            (None, None) => false,
        };
        self.cells.iter().filter(is_alone).map(|cells| cells.path.clone()).collect()
    }
}

/// Quarantines unreferenced files, removes incomplete files, and moves files that belong in the
/// archive.
///
/// # Errors
/// The file system's error; the rest stays for the next opening.
pub(super) fn remove_obsolete_files(
    shared: &EngineInner,
    found: ObsoleteFiles,
    nowhere_else: &BTreeSet<String>,
    report: &mut OpenReport,
) -> Result<()> {
    let env = &shared.env;
    for path in &found.temporary {
        env.fs.remove_file(path).map_err(|error| {
            Error::io(format!("removing the leftover {}/{path}", env.fs.root()), error)
        })?;
    }
    report.removed_files = found.temporary.len() as u64;
    // The clients that prepared bulk loads no longer exist. Empty staging directories are removed;
    // files still belong to the clients.
    for entry in env.fs.list(layout::STAGING).unwrap_or_default() {
        let _ = env.fs.remove_dir(&format!("{}/{}", layout::STAGING, entry.name));
    }
    let settled = shared.archive_or_delete(found.to_archive);
    let holds = |piece: &UnreferencedFile, path: &String| {
        path.strip_prefix(&piece.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let (alone, others): (Vec<_>, Vec<_>) = found
        .unreferenced
        .into_iter()
        // The archive may have taken the last file of a region, whose directory went with it.
        .filter(|piece| env.fs.exists(&piece.path).unwrap_or(true))
        .partition(|piece| nowhere_else.iter().any(|path| holds(piece, path)));
    for (pieces, is_nowhere_else) in
        [(others, false), (alone, true)].into_iter().filter(|(pieces, _)| !pieces.is_empty())
    {
        // A file that cannot be moved, for example on a full disk, is harmless in its place; the
        // next opening retries.
        if let Some((directory, moved)) = quarantine::set_aside(shared, &pieces, is_nowhere_else) {
            let moved = &pieces[..moved];
            report.quarantined_files += moved.iter().map(|piece| piece.files).sum::<u64>();
            report.quarantined_bytes += moved.iter().map(|piece| piece.bytes).sum::<u64>();
            report.quarantine = Some(directory);
        }
    }
    // If any move may be incomplete, the directories of the files must stay; the next opening
    // retries.
    for path in found.directories.iter().filter(|_| settled) {
        // A directory with foreign hidden files stays; it is harmless.
        let _ = env.fs.remove_dir(path);
    }
    Ok(())
}

/// Contents of a directory, recursively.
#[derive(Default)]
struct Subtree {
    files: u64,
    bytes: u64,
    /// True if the directory is live, or contains anything live or foreign: it cannot be
    /// quarantined as a whole.
    is_mixed: bool,
    unreferenced: Vec<UnreferencedFile>,
    temporary: Vec<String>,
    to_archive: Vec<FileOrigin>,
    directories: Vec<String>,
}

impl Subtree {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.is_mixed |= other.is_mixed;
        self.unreferenced.extend(other.unreferenced);
        self.temporary.extend(other.temporary);
        self.to_archive.extend(other.to_archive);
        self.directories.extend(other.directories);
    }

    fn add_unreferenced(&mut self, path: String, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
        self.unreferenced.push(UnreferencedFile { path, files: 1, bytes });
    }

    /// Adds the directory itself, which is unreferenced: as a whole, if possible.
    fn close(&mut self, path: &str) {
        if self.is_mixed || self.files == 0 {
            self.directories.push(path.to_owned());
        } else {
            *self = Self {
                files: self.files,
                bytes: self.bytes,
                unreferenced: vec![UnreferencedFile {
                    path: path.to_owned(),
                    files: self.files,
                    bytes: self.bytes,
                }],
                ..Self::default()
            };
        }
    }
}

struct TreeWalk<'a> {
    env: &'a Env,
    live: &'a LiveFiles,
    store_id: [u8; 16],
    found: ObsoleteFiles,
}

impl TreeWalk<'_> {
    /// Examines a directory; depth 0 is `data`, 1 a namespace, 2 a table, 3 a region, 4 a family.
    fn directory(&mut self, directory: &str, depth: usize) -> Result<Subtree> {
        let is_live = self.live.directories.contains(directory);
        let mut tree = Subtree { is_mixed: is_live, ..Subtree::default() };
        for entry in list(self.env, directory)? {
            let path = format!("{directory}/{}", entry.name);
            if entry.unexpected.is_some()
                && !entry.name.starts_with(['.', '_'])
                && !self.live.files.contains(&path)
            {
                tree.is_mixed = true;
                self.found.foreign.push(path);
                continue;
            }
            match (entry.is_dir, entry.name.as_str()) {
                (true, ".tmp") if depth == 3 => self.all_of(
                    &path,
                    is_live,
                    |tree, path, _| tree.temporary.push(path),
                    &mut tree,
                )?,
                (true, ".tabledesc") if depth == 2 && !is_live => {
                    self.all_of(&path, false, Subtree::add_unreferenced, &mut tree)?;
                }
                (false, ".regioninfo") if depth == 3 && !is_live => {
                    tree.add_unreferenced(path, entry.bytes);
                }
                // HBase ignores hidden files, too; but names of tables and families may start with
                // an underscore.
                (_, name) if name.starts_with('.') => tree.is_mixed = true,
                (true, name) if name.starts_with('_') && matches!(depth, 0 | 1 | 3) => {
                    self.underlined(&path, depth, &mut tree)?;
                }
                (_, name) if name.starts_with('_') => tree.is_mixed = true,
                (true, _) if depth < 4 => tree.add(self.directory(&path, depth + 1)?),
                (false, _) if self.live.files.contains(&path) => tree.is_mixed = true,
                (false, _) if self.live.to_archive.contains_key(&path) => {
                    tree.is_mixed = true;
                    tree.to_archive.extend(self.live.to_archive.get(&path).cloned());
                }
                (false, name) if depth == 4 && self.is_own(&path, name) => {
                    tree.add_unreferenced(path, entry.bytes);
                }
                _ => {
                    tree.is_mixed = true;
                    self.found.foreign.push(path);
                }
            }
        }
        if !is_live {
            tree.close(directory);
        }
        Ok(tree)
    }

    /// Examines a directory whose name starts with an underscore. It is an ordinary namespace,
    /// table or family if it is live or contains only files that this store creates; otherwise it
    /// is hidden.
    fn underlined(&mut self, path: &str, depth: usize, tree: &mut Subtree) -> Result<()> {
        let (newest, cells, foreign) =
            (self.found.newest.clone(), self.found.cells.len(), self.found.foreign.len());
        let found = self.directory(path, depth + 1)?;
        if self.found.foreign.len() == foreign || self.live.directories.contains(path) {
            tree.add(found);
            return Ok(());
        }
        self.found.newest = newest;
        self.found.cells.truncate(cells);
        self.found.foreign.truncate(foreign);
        tree.is_mixed = true;
        Ok(())
    }

    /// Adds all files of a directory, and the directory itself unless it is live.
    fn all_of(
        &self,
        directory: &str,
        is_live: bool,
        mut add: impl FnMut(&mut Subtree, String, u64),
        tree: &mut Subtree,
    ) -> Result<()> {
        for entry in list(self.env, directory)? {
            let path = format!("{directory}/{}", entry.name);
            if entry.is_dir || entry.unexpected.is_some() {
                tree.is_mixed = true;
            } else {
                add(tree, path, entry.bytes);
            }
        }
        if !is_live {
            tree.directories.push(directory.to_owned());
        }
        Ok(())
    }

    /// Examines a directory of the archive; depth 0 is `archive`, 5 a family. Foreign files there
    /// are harmless and stay.
    fn archive(&mut self, directory: &str, depth: usize) -> Result<()> {
        for entry in list_if_exists(self.env, directory)? {
            let path = format!("{directory}/{}", entry.name);
            if entry.is_dir && depth < 5 {
                self.archive(&path, depth + 1)?;
                self.found.directories.push(path);
            } else if depth == 5
                && !entry.is_dir
                && entry.unexpected.is_none()
                && !self.live.archived.contains(&path)
                && self.is_own(&path, &entry.name)
            {
                self.found.unreferenced.push(UnreferencedFile {
                    path,
                    files: 1,
                    bytes: entry.bytes,
                });
            }
        }
        Ok(())
    }

    /// Returns `true` if an unreferenced file was written by this store but never recorded in the
    /// manifest, or has no cells.
    fn is_own(&mut self, path: &str, name: &str) -> bool {
        if layout::is_link_or_reference(name) {
            return true;
        }
        let region = path.rsplit('/').nth(2).map(str::to_owned);
        // The client has the original of a file whose bulk load did not complete. The name still
        // shows if the manifest is an older one.
        if let Some(sequence) = layout::loaded_sequence_of(name) {
            self.found.cells.extend(region.map(|region| UnreferencedCells {
                path: path.to_owned(),
                region,
                number: None,
                newest: sequence,
            }));
            return true;
        }
        let Ok(file) = self.env.fs.open(path) else { return false };
        let Ok(reader) = Reader::open(file, path) else { return false };
        let is_own = reader.info().get(STORE_ID_KEY).is_some_and(|id| id == self.store_id);
        if is_own {
            let generation = generation_of(reader.info());
            if self.found.newest.as_ref().is_none_or(|(newest, _)| *newest < generation) {
                self.found.newest = Some((generation, path.to_owned()));
            }
            // data/<namespace>/<table>/<region>/<family>/<file>
            let (number, newest) = (region_number_of(reader.info()), reader.max_cell_sequence_id());
            self.found.cells.extend(region.map(|region| UnreferencedCells {
                path: path.to_owned(),
                region,
                number,
                newest,
            }));
        }
        is_own
    }
}
