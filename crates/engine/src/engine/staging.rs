//! Around bulk loading: directories for files that are to be loaded, and the way to the region they belong to.

use std::sync::Arc;

use halite_types::{BulkLoad, Bytes, Error, ErrorKind, RegionInfo, Result, TableName};

use super::directory::remove_tree;
use super::{Engine, Table};
use crate::catalog::layout;
use crate::region::{Part, Region, verify};

/// Directories that are prepared at once; an opening removes those that are empty.
const TOKENS_MAX: usize = 10_000;

/// Bytes of a user's and of a table's name in the name of a staging directory.
const SHOWN_BYTES_MAX: usize = 100;

impl Engine {
    /// Makes a directory below `staging` in which files for a table can be put, and returns its whole path: HBase's bulk
    /// token. The engine loads files from anywhere else as well; which of them clients may name is the server's affair.
    ///
    /// # Errors
    /// `NoSuchTable`, a failed write.
    pub fn prepare_bulk_load(&self, table: &TableName, user: &str) -> Result<String> {
        self.find_table(table)?;
        let legal = |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' };
        // User and table are for people, who look at the directory; what tells it from others comes behind.
        let shown = |name: &str| name.chars().map(legal).take(SHOWN_BYTES_MAX).collect::<String>();
        let (user, table) = (shown(user), shown(&table.to_string()));
        let directory = format!("{}/{user}__{table}__{}", layout::STAGING, layout::new_file_name(&self.shared.env));
        self.shared.disk.admit()?;
        let fs = &self.shared.env.fs;
        let failed = |error| Error::io(format!("listing {}/{}", fs.root(), layout::STAGING), error);
        let others = if fs.exists(layout::STAGING).map_err(failed)? { fs.list(layout::STAGING).map_err(failed)?.len() } else { 0 };
        if others >= TOKENS_MAX {
            let text = format!(
                "{}/{} has {others} directories of bulk loads; finish or clean up some, or start the store again",
                fs.root(),
                layout::STAGING
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        self.make_directory(&directory)?;
        Ok(format!("{}/{directory}", self.shared.env.fs.root()))
    }

    /// The whole path of the directory in which [`Engine::prepare_bulk_load`] makes others; it need not be there yet.
    pub fn staging_directory(&self) -> String {
        format!("{}/{}", self.shared.env.fs.root(), layout::STAGING)
    }

    /// Takes the directory of a bulk token away with all that is still in it; one that is gone is no error.
    ///
    /// # Errors
    /// `InvalidRequest` for anything but a token of this store, or the file system's.
    pub fn clean_up_bulk_load(&self, token: &str) -> Result<()> {
        let fs = &*self.shared.env.fs;
        let below = token.strip_prefix(&fs.root()).and_then(|path| path.strip_prefix('/')?.strip_prefix(layout::STAGING)?.strip_prefix('/'));
        // Exactly one name, so that nothing else is ever taken away.
        let name = below.map(|name| name.trim_end_matches('/')).filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('/'));
        let Some(name) = name else {
            return Err(Error::invalid(format!("{token} is no bulk token of this store; give what the preparation returned")));
        };
        self.shared.lock.check()?;
        let directory = format!("{}/{name}", layout::STAGING);
        let failed = |error| Error::io(format!("removing {}/{directory}", fs.root()), error);
        if fs.exists(&directory).map_err(failed)? { remove_tree(fs, &directory, &|| false).map_err(failed) } else { Ok(()) }
    }

    /// Loads files into a table, each into the region that its rows belong to; of one that lies across several regions
    /// each gets its rows, written anew (HBase's tool cuts such files, `BulkLoadHFilesTool`). All are looked at before the
    /// first is loaded; those of one region show all at once, and the regions follow one another.
    ///
    /// # Errors
    /// As [`Region::bulk_load`], `NoSuchTable`, `TableDisabled`, `InvalidRequest` if there is no file.
    pub fn bulk_load(&self, table: &TableName, load: &BulkLoad) -> Result<()> {
        let table = self.table(table)?;
        if load.files.is_empty() {
            return Err(Error::invalid("no file is to be loaded; name one"));
        }
        let parts: Vec<Part> = load.files.iter().map(Part::whole).collect();
        let groups = self.by_region(&table, &parts)?;
        // What is copied is verified as a copy, too; where nothing else is loaded before that is enough.
        let verifies_originals = load.verify && (!load.copy || groups.len() > 1);
        groups.iter().try_for_each(|(region, parts)| region.check_load(parts, verifies_originals))?;
        let cut: Vec<String> = load.files.iter().map(|(_, path)| path.clone()).filter(|path| is_cut(&groups, path)).collect();
        if load.verify {
            cut.iter().try_for_each(|path| verify(&self.shared, path))?;
        }
        groups.into_iter().try_for_each(|(region, parts)| self.load_group(&table, &region, &parts, load))?;
        if !load.copy {
            // One that stays is loaded all the same.
            cut.iter().for_each(|path| drop(self.shared.env.fs.remove_outside(path)));
        }
        Ok(())
    }

    /// A region that was split or merged meanwhile has successors.
    fn load_group(&self, table: &Table, region: &Arc<Region>, parts: &[Part], load: &BulkLoad) -> Result<()> {
        match region.load_checked(parts, load) {
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => {
                table.wait_for_change()?;
                let successors = self.by_region(table, parts)?;
                successors.iter().try_for_each(|(region, parts)| {
                    region.check_load(parts, false)?;
                    region.load_checked(parts, load)
                })?;
                // A whole file may have been cut only now.
                let cut = parts.iter().filter(|part| !load.copy && part.rows.is_none() && is_cut(&successors, &part.path));
                cut.for_each(|part| drop(self.shared.env.fs.remove_outside(&part.path)));
                Ok(())
            }
            done => done,
        }
    }

    /// What is to be loaded into which region, in the order of the files and their rows.
    fn by_region(&self, table: &Table, parts: &[Part]) -> Result<Vec<(Arc<Region>, Vec<Part>)>> {
        let mut groups: Vec<(Arc<Region>, Vec<Part>)> = Vec::new();
        for part in parts {
            let Some((first, last)) = part.ends(&self.shared)? else { continue };
            let mut row = first;
            let is_whole = part.rows.is_none() && table.region_of(&row)?.info().contains(&last);
            loop {
                let region = table.region_of(&row)?;
                let info = region.info();
                let ends_here = info.contains(&last);
                let rows = (!is_whole).then(|| within(part.rows.as_ref(), info));
                let next = info.end.to_vec();
                let part = Part { rows, ..part.clone() };
                match groups.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &region)) {
                    Some((_, parts)) => parts.push(part),
                    None => groups.push((region, vec![part])),
                }
                if ends_here || next.is_empty() {
                    break;
                }
                row = next;
            }
        }
        Ok(groups)
    }
}

/// Whether a file goes to several regions.
fn is_cut(groups: &[(Arc<Region>, Vec<Part>)], path: &str) -> bool {
    groups.iter().flat_map(|(_, parts)| parts).any(|part| part.path == path && part.rows.is_some())
}

/// The rows of a region that lie in a range.
fn within(rows: Option<&(Bytes, Bytes)>, region: &RegionInfo) -> (Bytes, Bytes) {
    let Some((start, end)) = rows else { return (region.start.clone(), region.end.clone()) };
    let end = match (end.is_empty(), region.end.is_empty()) {
        (true, _) => &region.end,
        (_, true) => end,
        _ => end.min(&region.end),
    };
    (start.max(&region.start).clone(), end.clone())
}
