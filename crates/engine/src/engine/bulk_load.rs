//! Preparation of bulk loads: staging directories for files to be loaded, and assignment of files
//! to regions.

use std::sync::Arc;

use halite_types::{BulkLoad, Bytes, Error, ErrorKind, RegionInfo, Result, TableName};

use super::directory::remove_tree;
use super::{Engine, Table};
use crate::catalog::layout;
use crate::disk_room::Claim;
use crate::region::{BulkLoadFile, Region, claim_room, verify};

/// Maximum number of prepared directories; opening removes empty ones.
const MAX_TOKENS: usize = 10_000;

/// Maximum bytes of a user name and of a table name in the name of a staging directory.
const MAX_TOKEN_NAME_BYTES: usize = 100;

impl Engine {
    /// Creates a directory below `staging` for the files of a table and returns its absolute path:
    /// HBase's bulk token. The engine also loads files from any other location; the server decides
    /// which locations clients may name.
    ///
    /// # Errors
    /// `NoSuchTable`, a failed write.
    pub fn prepare_bulk_load(&self, table: &TableName, user: &str) -> Result<String> {
        self.find_table(table)?;
        let legal = |letter: char| {
            if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' }
        };
        // User and table are for operators who list the directory; the unique suffix distinguishes
        // it from others.
        let shown =
            |name: &str| name.chars().map(legal).take(MAX_TOKEN_NAME_BYTES).collect::<String>();
        let (user, table) = (shown(user), shown(&table.to_string()));
        let directory = format!(
            "{}/{user}__{table}__{}",
            layout::STAGING,
            layout::new_file_name(&self.shared.env)
        );
        self.shared.disk.admit()?;
        let fs = &self.shared.env.fs;
        let failed = |error| Error::io(format!("listing {}/{}", fs.root(), layout::STAGING), error);
        let others = if fs.exists(layout::STAGING).map_err(failed)? {
            fs.list(layout::STAGING).map_err(failed)?.len()
        } else {
            0
        };
        if others >= MAX_TOKENS {
            let text = format!(
                "{}/{} has {others} directories of bulk loads; finish or clean up some, or start \
                 the store again",
                fs.root(),
                layout::STAGING
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        self.make_directory(&directory)?;
        Ok(format!("{}/{directory}", self.shared.env.fs.root()))
    }

    /// Returns the absolute path of the directory in which [`Engine::prepare_bulk_load`] creates
    /// others. It may not exist yet.
    pub fn staging_directory(&self) -> String {
        format!("{}/{}", self.shared.env.fs.root(), layout::STAGING)
    }

    /// Removes the directory of a bulk token with its contents. A missing directory is not an
    /// error.
    ///
    /// # Errors
    /// `InvalidRequest` for anything except a token of this store, or the file system's error.
    pub fn clean_up_bulk_load(&self, token: &str) -> Result<()> {
        let fs = &*self.shared.env.fs;
        let below = token.strip_prefix(&fs.root()).and_then(|path| {
            path.strip_prefix('/')?.strip_prefix(layout::STAGING)?.strip_prefix('/')
        });
        // Exactly one path component, so that nothing else is ever removed.
        let name = below
            .map(|name| name.trim_end_matches('/'))
            .filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('/'));
        let Some(name) = name else {
            return Err(Error::invalid(format!(
                "{token} is no bulk token of this store; give what the preparation returned"
            )));
        };
        self.shared.lock.check()?;
        let directory = format!("{}/{name}", layout::STAGING);
        let failed = |error| Error::io(format!("removing {}/{directory}", fs.root()), error);
        if fs.exists(&directory).map_err(failed)? {
            remove_tree(fs, &directory, &|| false).map_err(failed)
        } else {
            Ok(())
        }
    }

    /// Loads files into a table, each into the region that contains its rows. A file that spans
    /// several regions is rewritten so that each region gets its rows (HBase's `BulkLoadHFilesTool`
    /// splits such files). All files are checked before the first is loaded. The files of one
    /// region become visible atomically; the regions follow one another.
    ///
    /// # Errors
    /// As [`Region::bulk_load`]; `NoSuchTable`, `TableDisabled`; `InvalidRequest` if there is no
    /// file. If the message names a number of regions, the files are loaded into these, and loading
    /// them again does no harm; otherwise nothing has changed.
    pub fn bulk_load(&self, table: &TableName, load: &BulkLoad) -> Result<()> {
        let table = self.table(table)?;
        let groups = self.groups(&table, load)?;
        // A copied file is also verified after copying. That is sufficient if no other group is
        // loaded before it.
        let verifies_originals = load.verify && (!load.copy || groups.len() > 1);
        groups
            .iter()
            .try_for_each(|(region, parts)| region.check_load(parts, verifies_originals))?;
        let cut = cut_files(&groups, load);
        if load.verify {
            cut.iter().try_for_each(|path| verify(&self.shared, path))?;
        }
        let mut room = self.claim_room(&cut, load)?;
        let regions = groups.len();
        for (loaded, (region, parts)) in groups.into_iter().enumerate() {
            self.load_group(&table, &region, &parts, load, &mut room).map_err(|error| {
                if loaded == 0 {
                    return error;
                }
                error.at(format_args!(
                    "the files are loaded into {loaded} of {regions} regions; load those that are \
                     left again"
                ))
            })?;
        }
        if !load.copy {
            // A failed removal is ignored: the file has been loaded.
            cut.iter().for_each(|path| drop(self.shared.env.fs.remove_external(path)));
        }
        Ok(())
    }

    /// Makes the checks of [`Engine::bulk_load`] without verifying every byte, and changes nothing.
    ///
    /// # Errors
    /// As [`Engine::bulk_load`].
    pub fn check_bulk_load(&self, table: &TableName, load: &BulkLoad) -> Result<()> {
        let table = self.table(table)?;
        let groups = self.groups(&table, load)?;
        groups.iter().try_for_each(|(region, parts)| region.check_load(parts, false))?;
        self.claim_room(&cut_files(&groups, load), load).map(drop)
    }

    /// Claims the space of all files if a load copies them, else of those that it cuts. Which files
    /// can only be moved by copying them to another disk is not known yet.
    fn claim_room(&self, cut: &[String], load: &BulkLoad) -> Result<Claim<'_>> {
        let copied = load.files.iter().map(|(_, path)| path).filter(|_| load.copy);
        claim_room(&self.shared, copied.chain(cut).map(|path| &path[..]))
    }

    /// Returns the files to load by region.
    fn groups(
        &self,
        table: &Table,
        load: &BulkLoad,
    ) -> Result<Vec<(Arc<Region>, Vec<BulkLoadFile>)>> {
        if load.files.is_empty() {
            return Err(Error::invalid("no file is to be loaded; name one"));
        }
        let parts: Vec<BulkLoadFile> = load.files.iter().map(BulkLoadFile::whole).collect();
        self.by_region(table, &parts)
    }

    /// Loads the files of one region. A region that was split or merged concurrently has
    /// successors.
    fn load_group(
        &self,
        table: &Table,
        region: &Arc<Region>,
        parts: &[BulkLoadFile],
        load: &BulkLoad,
        room: &mut Claim<'_>,
    ) -> Result<()> {
        match region.load_checked(parts, load, room) {
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => {
                table.wait_for_change()?;
                let successors = self.by_region(table, parts)?;
                successors.iter().try_for_each(|(region, parts)| {
                    region.check_load(parts, false)?;
                    region.load_checked(parts, load, room)
                })?;
                // A whole file may have been split only now.
                let cut = parts.iter().filter(|part| {
                    !load.copy && part.rows.is_none() && spans_regions(&successors, &part.path)
                });
                cut.for_each(|part| drop(self.shared.env.fs.remove_external(&part.path)));
                Ok(())
            }
            done => done,
        }
    }

    /// Returns the files to load by region, in the order of the files and their rows.
    fn by_region(
        &self,
        table: &Table,
        parts: &[BulkLoadFile],
    ) -> Result<Vec<(Arc<Region>, Vec<BulkLoadFile>)>> {
        let mut groups: Vec<(Arc<Region>, Vec<BulkLoadFile>)> = Vec::new();
        for part in parts {
            let Some((first, last)) = part.ends(&self.shared)? else { continue };
            let mut row = first;
            let is_whole =
                part.rows.is_none() && table.region_for_row(&row)?.info().contains(&last);
            loop {
                let region = table.region_for_row(&row)?;
                let info = region.info();
                let ends_here = info.contains(&last);
                let rows = (!is_whole).then(|| within(part.rows.as_ref(), info));
                let next = info.end.to_vec();
                let part = BulkLoadFile { rows, ..part.clone() };
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

/// Returns the paths of the files that are loaded into several regions.
fn cut_files(groups: &[(Arc<Region>, Vec<BulkLoadFile>)], load: &BulkLoad) -> Vec<String> {
    let paths = load.files.iter().map(|(_, path)| path);
    paths.filter(|path| spans_regions(groups, path)).cloned().collect()
}

/// Returns `true` if a file is loaded into several regions.
fn spans_regions(groups: &[(Arc<Region>, Vec<BulkLoadFile>)], path: &str) -> bool {
    groups.iter().flat_map(|(_, parts)| parts).any(|part| part.path == path && part.rows.is_some())
}

/// Returns the intersection of a region's rows with a row range.
fn within(rows: Option<&(Bytes, Bytes)>, region: &RegionInfo) -> (Bytes, Bytes) {
    let Some((start, end)) = rows else { return (region.start.clone(), region.end.clone()) };
    let end = match (end.is_empty(), region.end.is_empty()) {
        (true, _) => &region.end,
        (_, true) => end,
        _ => end.min(&region.end),
    };
    (start.max(&region.start).clone(), end.clone())
}
