//! Around bulk loading: directories for files that are to be loaded, and the way to the region they belong to.

use std::sync::Arc;

use halite_types::{BulkLoad, Error, ErrorKind, Result, TableName};

use super::{Engine, Table};
use crate::catalog::layout;
use crate::env::Fs;
use crate::region::{Region, first_row};

impl Engine {
    /// Makes a directory below `staging` in which files for a table can be put, and returns its whole path: HBase's bulk
    /// token. Files may be loaded from anywhere else as well.
    ///
    /// # Errors
    /// `NoSuchTable`, a failed write.
    pub fn prepare_bulk_load(&self, table: &TableName, user: &str) -> Result<String> {
        self.find_table(table)?;
        let legal = |letter: char| if letter.is_alphanumeric() || "._-".contains(letter) { letter } else { '_' };
        let user: String = user.chars().map(legal).collect();
        let table = table.to_string().replace(':', "_");
        let directory = format!("{}/{user}__{table}__{}", layout::STAGING, layout::new_file_name(&self.shared.env));
        self.make_directory(&directory)?;
        Ok(format!("{}/{directory}", self.shared.env.fs.root()))
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
        let directory = format!("{}/{name}", layout::STAGING);
        let failed = |error| Error::io(format!("removing {}/{directory}", fs.root()), error);
        if fs.exists(&directory).map_err(failed)? { remove_tree(fs, &directory).map_err(failed) } else { Ok(()) }
    }

    /// Loads files into a table, each into the region that its first row belongs to. All are looked at before the first
    /// is loaded; those of one region show all at once, and the regions follow one another.
    ///
    /// # Errors
    /// As [`Region::bulk_load`], `NoSuchTable`, `TableDisabled`, `InvalidRequest` if there is no file.
    pub fn bulk_load(&self, table: &TableName, load: &BulkLoad) -> Result<()> {
        let table = self.table(table)?;
        if load.files.is_empty() {
            return Err(Error::invalid("no file is to be loaded; name one"));
        }
        let groups = self.by_region(&table, load)?;
        groups.iter().try_for_each(|(region, part)| region.check_load(part))?;
        groups.into_iter().try_for_each(|(region, part)| self.load_group(&table, &region, &part))
    }

    /// A region that was split or merged meanwhile has successors.
    fn load_group(&self, table: &Table, region: &Arc<Region>, load: &BulkLoad) -> Result<()> {
        match region.load_checked(load) {
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => {
                table.wait_for_change()?;
                let successors = self.by_region(table, load)?;
                successors.iter().try_for_each(|(region, part)| region.bulk_load(part))
            }
            done => done,
        }
    }

    /// What is to be loaded into which region, in the order of the files.
    fn by_region(&self, table: &Table, load: &BulkLoad) -> Result<Vec<(Arc<Region>, BulkLoad)>> {
        let mut groups: Vec<(Arc<Region>, BulkLoad)> = Vec::new();
        for file in &load.files {
            let region = table.region_of(&first_row(&self.shared, &file.1)?)?;
            match groups.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &region)) {
                Some((_, part)) => part.files.push(file.clone()),
                None => groups.push((region, BulkLoad { files: vec![file.clone()], ..*load })),
            }
        }
        Ok(groups)
    }
}

fn remove_tree(fs: &dyn Fs, directory: &str) -> std::io::Result<()> {
    for entry in fs.list(directory)? {
        let path = format!("{directory}/{}", entry.name);
        // A link to a directory goes like a file; what it leads to is somebody else's.
        if fs.remove_file(&path).is_err() {
            remove_tree(fs, &path)?;
        }
    }
    fs.remove_dir(directory)
}
