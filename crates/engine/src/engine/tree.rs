//! What lies in the directory tree beside the live files. [`survey`] looks and changes nothing; [`clear`] sets aside what a crash
//! left behind, and moves what it did not let move. What is not ours is named, and nothing is touched then.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use halite_types::{Error, Result};

use super::directory::{list, list_if_there};
use super::open::OpenReport;
use super::quarantine::{self, Unnamed};
use crate::catalog::{Catalog, Home, Manifest, Need, layout};
use crate::env::Env;
use crate::hfile::{Cursor, DirectBlocks, Reader};
use crate::shared::Shared;
use crate::store::{STORE_ID_KEY, generation_of, region_number_of};

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
        for (home, need) in catalog.needs(|_| true) {
            if need == Need::Anywhere {
                live.archived.insert(home.archive_path());
                live.to_archive.insert(home.path(), home);
            } else {
                live.directories.insert(layout::table_directory(&home.table));
                live.directories.insert(layout::region_directory(&home.table, &home.region));
                live.directories.insert(layout::family_directory(&home.table, &home.region, &home.family));
                live.files.insert(home.path());
            }
        }
        live
    }
}

/// What a survey has found.
#[derive(Default)]
pub(crate) struct Leftovers {
    /// Files of this store that the manifest does not name.
    pub(crate) unnamed: Vec<Unnamed>,
    /// Files below `data` that this store did not write.
    pub(crate) foreign: Vec<String>,
    /// Files that were being written in `.tmp`: no manifest has ever named them.
    pub(crate) temporary: Vec<String>,
    to_archive: Vec<Home>,
    /// Directories that nothing calls for, deepest first.
    directories: Vec<String>,
    /// The newest generation under which an unnamed file was written, and its path.
    pub(crate) newest: Option<(u64, String)>,
    cells: Vec<UnnamedCells>,
}

/// An unnamed file with cells.
#[derive(Clone, Debug)]
struct UnnamedCells {
    path: String,
    /// The encoded name of the region in whose directory it lies.
    region: String,
    /// The number that the region it was written in has in the log, if it says so.
    number: Option<u64>,
    /// The newest sequence id of a cell in it.
    newest: u64,
}

/// What files and the log have of the cells of a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered {
    /// Files have everything up to this sequence id.
    pub(crate) flushed: u64,
    /// The first sequence id after that in the log, and the newest; `None` if it has none.
    pub(crate) logged: Option<(u64, u64)>,
}

impl Covered {
    /// Takes note of a write in the log.
    pub(crate) fn note(&mut self, sequence: u64) {
        if sequence > self.flushed {
            let (first, newest) = self.logged.unwrap_or((sequence, sequence));
            self.logged = Some((first.min(sequence), newest.max(sequence)));
        }
    }

    /// Whether a file whose newest cell has this sequence id has cells that the others do not. A log that was let go of up to a
    /// point begins behind what a file of that time holds.
    pub(crate) fn lacks(&self, env: &Env, path: &str, newest: u64) -> bool {
        let Some((first, last)) = self.logged.filter(|_| newest > self.flushed) else { return newest > self.flushed };
        newest > last || (first > self.flushed + 1 && oldest_after(env, path, self.flushed).is_none_or(|oldest| oldest < first))
    }
}

/// The oldest sequence id after one that a cell of a file has; `None` if it cannot be read.
fn oldest_after(env: &Env, path: &str, flushed: u64) -> Option<u64> {
    if let Some(sequence) = layout::loaded_sequence_of(path.rsplit('/').next().unwrap_or(path)) {
        return Some(sequence);
    }
    let mut cursor = Cursor::new(Arc::new(Reader::open(env.fs.open(path).ok()?, path).ok()?), DirectBlocks);
    cursor.seek_to_first().ok()?;
    let mut oldest = None;
    while let Some(sequence) = cursor.peek().map(|cell| cell.sequence()) {
        oldest = oldest.into_iter().chain((sequence > flushed).then_some(sequence)).min();
        cursor.advance().ok()?;
    }
    oldest
}

/// Looks at everything below `data` and `archive`.
///
/// # Errors
/// The file system's.
pub(crate) fn survey(env: &Env, catalog: &Catalog) -> Result<Leftovers> {
    let live = Live::of(catalog);
    let mut walk = Walk { env, live: &live, store_id: catalog.store_id, found: Leftovers::default() };
    let data = walk.directory(layout::DATA, 0)?;
    walk.archive(layout::ARCHIVE, 0)?;
    let mut found = walk.found;
    found.unnamed.extend(data.unnamed);
    found.temporary = data.temporary;
    found.to_archive = data.to_archive;
    // Those of the archive hold nothing that those of `data` need.
    found.directories.extend(data.directories);
    Ok(found)
}

impl Leftovers {
    /// # Errors
    /// `Corrupt` for a file that neither the manifest names nor this store wrote, or that is newer than the manifest.
    pub(super) fn check(&self, env: &Env, manifest: &Manifest) -> Result<()> {
        let root = env.fs.root();
        if let Some((generation, path)) = self.newest.as_ref().filter(|(generation, _)| *generation > manifest.current().generation) {
            return Err(manifest.is_older(&format!("{root}/{path} was written under generation {generation}")));
        }
        let Some(path) = self.foreign.first() else { return Ok(()) };
        Err(Error::corrupt(format!(
            "{root}/{path} is not a file of this store: the manifest does not name it and it was not written here; move it out of {}",
            layout::DATA
        )))
    }

    /// The paths of files with cells that neither their region's other files nor the log hold. `covered` tells what these do, by
    /// encoded name; `catalog` which numbers regions have had.
    pub(super) fn nowhere_else(&self, env: &Env, catalog: &Catalog, covered: &BTreeMap<String, Covered>) -> BTreeSet<String> {
        let live: BTreeSet<u64> = catalog.flushed_sequences().into_keys().collect();
        let is_alone = |cells: &&UnnamedCells| match (covered.get(&cells.region), cells.number) {
            (Some(covered), _) => covered.lacks(env, &cells.path, cells.newest),
            // What was dropped, split or merged has left a number that is known and that no region has any more. A file of a region
            // that is live was moved here by somebody; one of a number that is not known is of a later manifest.
            (None, Some(number)) => live.contains(&number) || number > catalog.next_region,
            (None, None) => false,
        };
        self.cells.iter().filter(is_alone).map(|cells| cells.path.clone()).collect()
    }
}

/// Sets unnamed files aside, removes those that were being written, and moves what belongs in the archive.
///
/// # Errors
/// The file system's; the rest stays for the next opening.
pub(super) fn clear(shared: &Shared, found: Leftovers, nowhere_else: &BTreeSet<String>, report: &mut OpenReport) -> Result<()> {
    let env = &shared.env;
    for path in &found.temporary {
        env.fs.remove_file(path).map_err(|error| Error::io(format!("removing the leftover {}/{path}", env.fs.root()), error))?;
    }
    report.removed_files = found.temporary.len() as u64;
    // Of what was prepared to be loaded, whoever asked for it is gone; files stay his.
    for entry in env.fs.list(layout::STAGING).unwrap_or_default() {
        let _ = env.fs.remove_dir(&format!("{}/{}", layout::STAGING, entry.name));
    }
    let settled = shared.settle(found.to_archive);
    let holds = |piece: &Unnamed, path: &String| path.strip_prefix(&piece.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let (alone, others): (Vec<_>, Vec<_>) = found.unnamed.into_iter().partition(|piece| nowhere_else.iter().any(|path| holds(piece, path)));
    for (pieces, is_nowhere_else) in [(others, false), (alone, true)].into_iter().filter(|(pieces, _)| !pieces.is_empty()) {
        // What cannot be moved, on a full disk for one, does no harm where it is; the next opening tries again.
        if let Some((directory, moved)) = quarantine::set_aside(shared, &pieces, is_nowhere_else) {
            let moved = &pieces[..moved];
            report.quarantined_files += moved.iter().map(|piece| piece.files).sum::<u64>();
            report.quarantined_bytes += moved.iter().map(|piece| piece.bytes).sum::<u64>();
            report.quarantine = Some(directory);
        }
    }
    // If not all that moved is certain to have arrived, the directories it lies in must stay; the next opening tries again.
    for path in found.directories.iter().filter(|_| settled) {
        // One that holds somebody's hidden files stays; it does no harm.
        let _ = env.fs.remove_dir(path);
    }
    Ok(())
}

/// What lies in a directory and below.
#[derive(Default)]
struct Subtree {
    files: u64,
    bytes: u64,
    /// It is live itself, or something in it is, or is somebody's: it cannot be set aside as a whole.
    is_mixed: bool,
    unnamed: Vec<Unnamed>,
    temporary: Vec<String>,
    to_archive: Vec<Home>,
    directories: Vec<String>,
}

impl Subtree {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.is_mixed |= other.is_mixed;
        self.unnamed.extend(other.unnamed);
        self.temporary.extend(other.temporary);
        self.to_archive.extend(other.to_archive);
        self.directories.extend(other.directories);
    }

    fn add_unnamed(&mut self, path: String, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
        self.unnamed.push(Unnamed { path, files: 1, bytes });
    }

    /// The directory itself, which nothing calls for: in one piece, if it can be.
    fn close(&mut self, path: &str) {
        if self.is_mixed || self.files == 0 {
            self.directories.push(path.to_owned());
        } else {
            *self = Self {
                files: self.files,
                bytes: self.bytes,
                unnamed: vec![Unnamed { path: path.to_owned(), files: self.files, bytes: self.bytes }],
                ..Self::default()
            };
        }
    }
}

struct Walk<'a> {
    env: &'a Env,
    live: &'a Live,
    store_id: [u8; 16],
    found: Leftovers,
}

impl Walk<'_> {
    /// Looks at a directory; depth 0 is `data`, 1 a namespace, 2 a table, 3 a region, 4 a family.
    fn directory(&mut self, directory: &str, depth: usize) -> Result<Subtree> {
        let is_live = self.live.directories.contains(directory);
        let mut tree = Subtree { is_mixed: is_live, ..Subtree::default() };
        for entry in list(self.env, directory)? {
            let path = format!("{directory}/{}", entry.name);
            if entry.odd.is_some() && !entry.name.starts_with(['.', '_']) && !self.live.files.contains(&path) {
                tree.is_mixed = true;
                self.found.foreign.push(path);
                continue;
            }
            match (entry.is_dir, entry.name.as_str()) {
                (true, ".tmp") if depth == 3 => self.all_of(&path, is_live, |tree, path, _| tree.temporary.push(path), &mut tree)?,
                (true, ".tabledesc") if depth == 2 && !is_live => self.all_of(&path, false, Subtree::add_unnamed, &mut tree)?,
                (false, ".regioninfo") if depth == 3 && !is_live => tree.add_unnamed(path, entry.bytes),
                // HBase does not look at what is hidden either; but tables and families may begin with a line.
                (_, name) if name.starts_with('.') => tree.is_mixed = true,
                (true, name) if name.starts_with('_') && matches!(depth, 0 | 1 | 3) => self.underlined(&path, depth, &mut tree)?,
                (_, name) if name.starts_with('_') => tree.is_mixed = true,
                (true, _) if depth < 4 => tree.add(self.directory(&path, depth + 1)?),
                (false, _) if self.live.files.contains(&path) => tree.is_mixed = true,
                (false, _) if self.live.to_archive.contains_key(&path) => {
                    tree.is_mixed = true;
                    tree.to_archive.extend(self.live.to_archive.get(&path).cloned());
                }
                (false, name) if depth == 4 && self.is_own(&path, name) => tree.add_unnamed(path, entry.bytes),
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

    /// A directory whose name begins with a line: a namespace, table or family like others if it is live or holds nothing but
    /// what this store makes; hidden otherwise.
    fn underlined(&mut self, path: &str, depth: usize, tree: &mut Subtree) -> Result<()> {
        let (newest, cells, foreign) = (self.found.newest.clone(), self.found.cells.len(), self.found.foreign.len());
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

    /// All files of a directory, which goes as well unless it is live.
    fn all_of(&self, directory: &str, is_live: bool, mut add: impl FnMut(&mut Subtree, String, u64), tree: &mut Subtree) -> Result<()> {
        for entry in list(self.env, directory)? {
            let path = format!("{directory}/{}", entry.name);
            if entry.is_dir || entry.odd.is_some() {
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

    /// Looks at a directory of the archive; depth 0 is `archive`, 5 a family. What is not ours there harms nobody and stays.
    fn archive(&mut self, directory: &str, depth: usize) -> Result<()> {
        for entry in list_if_there(self.env, directory)? {
            let path = format!("{directory}/{}", entry.name);
            if entry.is_dir && depth < 5 {
                self.archive(&path, depth + 1)?;
                self.found.directories.push(path);
            } else if depth == 5 && !entry.is_dir && entry.odd.is_none() && !self.live.archived.contains(&path) && self.is_own(&path, &entry.name) {
                self.found.unnamed.push(Unnamed { path, files: 1, bytes: entry.bytes });
            }
        }
        Ok(())
    }

    /// Whether a file that the manifest does not name is one this store wrote and did not come to name, or one without cells.
    fn is_own(&mut self, path: &str, name: &str) -> bool {
        if layout::stands_for_another(name) {
            return true;
        }
        let region = path.rsplit('/').nth(2).map(str::to_owned);
        // Of a file that did not come to be loaded, whoever wanted that has the original; but its name says whether the manifest is an
        // older one.
        if let Some(sequence) = layout::loaded_sequence_of(name) {
            self.found.cells.extend(region.map(|region| UnnamedCells { path: path.to_owned(), region, number: None, newest: sequence }));
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
            self.found.cells.extend(region.map(|region| UnnamedCells { path: path.to_owned(), region, number, newest }));
        }
        is_own
    }
}
