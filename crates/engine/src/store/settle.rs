//! What becomes of store files that a region does not name any more: the manifest decides.
//!
//! A file that nobody names goes. One that only links and snapshots need moves to the archive, as in HBase, whose tools
//! take every file of a region's own directories for live. Readers and links look in both places, and a file moves from
//! its home to the archive only. Whatever is cut short here is done by the next opening, which asks the same question.

use std::collections::{BTreeSet, HashSet};
use std::io;

use halite_types::TableName;

use crate::catalog::{Catalog, Home, Need, layout};
use crate::env::Env;
use crate::heal::Healed;
use crate::shared::Shared;

/// What whoever moves files knows. The lock around it makes the last one see the newest manifest.
#[derive(Debug, Default)]
pub(crate) struct Placing {
    /// Directories of the archive whose names are durable.
    durable: HashSet<String>,
}

impl Shared {
    /// Puts the files where the manifest, as it is now, wants them: away if nobody needs them, into the archive if only
    /// links and snapshots do. Directories of regions that are gone go with their last file. To be called after the
    /// change of the manifest that lets go of the files, or after one that did not come about. Whether all that moved is
    /// certain to have arrived.
    pub(crate) fn settle(&self, homes: impl IntoIterator<Item = Home>) -> bool {
        let homes: BTreeSet<Home> = homes.into_iter().collect();
        // Either of two manifests may be the one that the next opening finds: what both may name stays.
        if self.manifest.fate().check().is_err() {
            return false;
        }
        if homes.is_empty() {
            return true;
        }
        if self.lock.check().is_err() {
            return false;
        }
        let mut placing = self.placing.lock().healed();
        let catalog = self.manifest.current();
        let names: HashSet<&str> = homes.iter().map(|home| home.name.as_str()).collect();
        let needs = catalog.needs(|name| names.contains(name));
        let mut archived = BTreeSet::new();
        for home in &homes {
            match needs.get(home) {
                Some(Need::Home) => {}
                Some(Need::Anywhere) => drop(placing.archive(&self.env, home).map(|()| archived.insert(home.archive_directory()))),
                None => placing.remove(&self.env, home),
            }
        }
        // A directory may go only when it is certain that what moved out of it has arrived.
        let arrived = archived.iter().all(|directory| self.env.fs.sync_dir(directory).is_ok());
        if arrived {
            let regions: BTreeSet<_> = homes.iter().map(|home| (&home.table, &home.region)).collect();
            regions.into_iter().for_each(|(table, region)| remove_region_directory(&self.env, &catalog, table, region));
        }
        arrived
    }
}

impl Placing {
    /// Moves a file to the archive; the caller syncs the directory it is in then.
    fn archive(&mut self, env: &Env, home: &Home) -> io::Result<()> {
        self.make_durable(env, &home.archive_directory())?;
        match env.fs.rename(&home.path(), &home.archive_path()) {
            // It has been there before.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Makes a directory whose name a crash does not take away with the files in it.
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

    /// Takes a file away, from its home or from the archive.
    fn remove(&mut self, env: &Env, home: &Home) {
        if env.fs.remove_file(&home.path()).is_ok() || env.fs.remove_file(&home.archive_path()).is_err() {
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

/// Takes away the directory of a region that is gone, unless files that are needed there lie in it still.
pub(crate) fn remove_region_directory(env: &Env, catalog: &Catalog, table: &TableName, encoded_name: &str) {
    let directory = layout::region_directory(table, encoded_name);
    let entries = match env.fs.list(&directory) {
        Ok(entries) if !catalog.has_region(table, encoded_name) => entries,
        _ => return,
    };
    let families = entries.iter().filter(|entry| entry.is_dir && entry.name != ".tmp");
    if families.map(|family| env.fs.remove_dir(&format!("{directory}/{}", family.name))).any(|removed| removed.is_err()) {
        return;
    }
    let _ = env.fs.remove_dir(&format!("{directory}/.tmp"));
    let _ = env.fs.remove_file(&format!("{directory}/.regioninfo"));
    let _ = env.fs.remove_dir(&directory);
}
