//! Archive and deletion of store files that a region no longer references; the manifest decides.
//!
//! A file without references is deleted. A file that only links and snapshots need moves to the
//! archive, as in HBase, whose tools treat every file in a region's own directories as live.
//! Readers and links look in both locations, and a file moves only from its home to the archive.
//! The next open completes interrupted work, by the same rules.

use std::collections::{BTreeSet, HashSet};
use std::io;

use halite_types::TableName;

use crate::catalog::{Catalog, FileOrigin, RequiredLocation, layout};
use crate::env::Env;

/// State of the thread that moves files. The lock around it ensures that the last thread sees the
/// newest manifest.
#[derive(Debug, Default)]
pub(crate) struct FileArchiver {
    /// Directories of the archive whose names are durable.
    durable: HashSet<String>,
}

impl FileArchiver {
    /// Deletes the files that the catalog does not reference, and archives those that only links
    /// and snapshots need. The directory of a region that no longer exists is deleted with its last
    /// file. Returns `true` if all moves are certain to be durable.
    pub(crate) fn archive_or_delete(
        &mut self,
        env: &Env,
        catalog: &Catalog,
        homes: &BTreeSet<FileOrigin>,
    ) -> bool {
        let names: HashSet<&str> = homes.iter().map(|home| home.name.as_str()).collect();
        let needs = catalog.required_files(|name| names.contains(name));
        let mut archived = BTreeSet::new();
        for home in homes {
            match needs.get(home) {
                Some(RequiredLocation::Origin) => {}
                Some(RequiredLocation::Anywhere) => {
                    if self.archive(env, home).is_ok() {
                        archived.insert(home.archive_directory());
                    }
                }
                None => self.remove(env, home),
            }
        }
        // A directory may be deleted only when the moves out of it are certain to be durable.
        let arrived = archived.iter().all(|directory| env.fs.sync_dir(directory).is_ok());
        if arrived {
            let regions: BTreeSet<_> =
                homes.iter().map(|home| (&home.table, &home.region)).collect();
            regions.into_iter().for_each(|(table, region)| {
                remove_region_directory(env, catalog, table, region);
            });
        }
        arrived
    }

    /// Moves a file to the archive; the caller syncs the archive directory.
    fn archive(&mut self, env: &Env, home: &FileOrigin) -> io::Result<()> {
        self.make_durable(env, &home.archive_directory())?;
        match env.fs.rename(&home.path(), &home.archive_path()) {
            // An earlier call has already archived it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Creates a directory whose name is durable, so that a crash does not remove it with the files
    /// in it.
    fn make_durable(&mut self, env: &Env, directory: &str) -> io::Result<()> {
        if self.durable.contains(directory) {
            return Ok(());
        }
        env.fs.create_dir_all(directory)?;
        let ends = directory.match_indices('/').map(|(at, _)| at).chain([directory.len()]);
        let mut parent = "";
        for path in ends.map(|end| &directory[..end]) {
            if !self.durable.contains(path) {
                env.fs.sync_dir(parent)?;
                self.durable.insert(path.to_owned());
            }
            parent = path;
        }
        Ok(())
    }

    /// Removes a file from its home or from the archive.
    fn remove(&mut self, env: &Env, home: &FileOrigin) {
        if env.fs.remove_file(&home.path()).is_ok()
            || env.fs.remove_file(&home.archive_path()).is_err()
        {
            return;
        }
        let mut directory = home.archive_directory();
        while env.fs.remove_dir(&directory).is_ok() {
            self.durable.remove(&directory);
            let Some((parent, _)) = directory.rsplit_once('/') else { return };
            directory = parent.to_owned();
        }
    }
}

/// Removes the directory of a region that no longer exists, unless it still contains needed files.
pub(crate) fn remove_region_directory(
    env: &Env,
    catalog: &Catalog,
    table: &TableName,
    encoded_name: &str,
) {
    let directory = layout::region_directory(table, encoded_name);
    let entries = match env.fs.list(&directory) {
        Ok(entries) if !catalog.has_region(table, encoded_name) => entries,
        _ => return,
    };
    let families = entries.iter().filter(|entry| entry.is_dir && entry.name != ".tmp");
    if families
        .map(|family| env.fs.remove_dir(&format!("{directory}/{}", family.name)))
        .any(|removed| removed.is_err())
    {
        return;
    }
    let _ = env.fs.remove_dir(&format!("{directory}/.tmp"));
    let _ = env.fs.remove_file(&format!("{directory}/.regioninfo"));
    let _ = env.fs.remove_dir(&directory);
}
