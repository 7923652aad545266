//! Around bulk loading: directories for files that are to be loaded, and the way to the region they belong to.

use halite_types::{Error, Result, TableName};

use super::Engine;
use crate::catalog::layout;
use crate::env::Fs;
use crate::region::BulkLoad;

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

    /// Loads files into the region of the table in which their rows lie, all of them in one.
    ///
    /// # Errors
    /// As [`crate::Region::bulk_load`], `NoSuchTable`, `TableDisabled`, `InvalidRequest` if there is no file.
    pub fn bulk_load(&self, table: &TableName, load: &BulkLoad) -> Result<()> {
        let table = self.table(table)?;
        let Some((_, path)) = load.files.first() else { return Err(Error::invalid("no file is to be loaded; name one")) };
        table.region_of(&crate::region::first_row(&self.shared, path)?)?.bulk_load(load)
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
