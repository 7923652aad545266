//! `halite bulkload`: store files become part of a table of any cluster.
//!
//! `files.rs` reads and checks the files, `plan.rs` assigns them to regions, `staged.rs` puts them
//! where the servers read them and cuts those that span regions, `remote.rs` loads them region by
//! region. An embedded store does all of that itself.

mod files;
mod plan;
mod remote;
mod staged;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use halite::{BulkLoad, TableName};
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use self::plan::RegionLoad;

use self::files::LoadFile;
use crate::backend::Backend;
use crate::store_place::{STAGING, check_is_outside, real_path};

/// Files in the root directory of an HBase.
const HBASE_ROOT: [&str; 2] = ["hbase.id", "hbase.version"];
/// Interval at which a spinner turns while a store loads files.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// Files to load, and how.
pub(crate) struct LoadJob {
    /// Directory with one directory of files per family.
    pub(crate) directory: PathBuf,
    pub(crate) table: TableName,
    /// `true` if every byte is verified first.
    pub(crate) verify: bool,
    /// `true` if the files are moved and not copied.
    pub(crate) moves: bool,
    /// Path or URI under which the servers read the directory.
    pub(crate) server_path: Option<String>,
}

/// Report of a load.
pub(crate) struct LoadReport {
    pub(crate) files: u64,
    /// Files that were cut because they span regions.
    pub(crate) cut_files: u64,
    pub(crate) bytes: u64,
    pub(crate) cells: u64,
    pub(crate) regions: u64,
    /// Times that regions were read again because they changed.
    pub(crate) retries: u64,
    /// Files with cells that HBase hides from some users.
    pub(crate) protected_files: u64,
}

impl LoadJob {
    /// Returns the regions with the files that would be loaded into them, in key order.
    ///
    /// # Errors
    /// As [`Self::run`], for errors in the files.
    pub(crate) fn plan(&self, backend: &Backend) -> anyhow::Result<Vec<RegionLoad>> {
        let files = self.read(backend, self.verify)?;
        if let Some(store) = backend.store() {
            store.engine().check_bulk_load(&self.table, &self.load_of(&files)?)?;
        }
        Ok(plan::assign(&files, &backend.regions(&self.table)?))
    }

    /// Loads the files. All are checked before the first is loaded. The files of one region become
    /// visible together, the regions one after the other.
    ///
    /// # Errors
    /// Returns an error for a family that the table has not, a file that is none, is damaged,
    /// encrypted or empty, or an error of the cluster. The source is unchanged then, unless it is
    /// moved. The table is unchanged unless the error names the regions that are loaded.
    pub(crate) fn run(&self, backend: &Backend) -> anyhow::Result<LoadReport> {
        if backend.store().is_some() {
            return self.load_embedded(backend);
        }
        remote::load(self, backend, self.read(backend, self.verify)?)
    }

    fn read(&self, backend: &Backend, verify: bool) -> anyhow::Result<Vec<LoadFile>> {
        if self.moves {
            self.check_movable()?;
        }
        let descriptor = backend.descriptor(&self.table)?;
        let bar = progress("checking");
        let is_store = backend.store().is_some();
        let files = files::read(&self.directory, &descriptor, verify, is_store, &bar)?;
        bar.finish_and_clear();
        if self.moves {
            self.check_no_links(&files)?;
        }
        Ok(files)
    }

    /// Refuses to move files that a store or an HBase has in use.
    fn check_movable(&self) -> anyhow::Result<()> {
        const FIX: &str = "leave --move out, and the files are copied";
        check_is_outside(&self.directory, FIX)?;
        let shown = self.directory.display();
        if self.directory.join(".regioninfo").exists() {
            bail!("{shown} is a region of HBase, whose files are its own; {FIX}");
        }
        let real = real_path(&self.directory)?;
        let is_root = |path: &&Path| HBASE_ROOT.iter().any(|name| path.join(name).is_file());
        let root = real.ancestors().find(is_root);
        let is_staged = |root: &&Path| real.starts_with(root.join(STAGING));
        if let Some(root) = root.filter(|root| !is_staged(root)) {
            bail!(
                "{shown} is inside {}, the root directory of an HBase, whose files are its own; \
                 {FIX}",
                root.display()
            );
        }
        Ok(())
    }

    /// Refuses to move a file that a link leads to, or a link to its directory: it belongs
    /// elsewhere.
    fn check_no_links(&self, files: &[LoadFile]) -> anyhow::Result<()> {
        let directory = real_path(&self.directory)?;
        for file in files {
            let real = real_path(&file.path)?;
            if real.strip_prefix(&directory).ok() != file.path.strip_prefix(&self.directory).ok() {
                bail!(
                    "{} leads to {} by a symbolic link, and --move would remove the file there; \
                     leave --move out, and the files are copied",
                    file.path.display(),
                    real.display()
                );
            }
        }
        Ok(())
    }

    fn load_embedded(&self, backend: &Backend) -> anyhow::Result<LoadReport> {
        if self.server_path.is_some() {
            bail!("--server-path is for a cluster; this store reads the files itself");
        }
        // The store verifies what it copies.
        let files = self.read(backend, false)?;
        let plan = plan::assign(&files, &backend.regions(&self.table)?);
        let load = self.load_of(&files)?;
        let bar = ProgressBar::new_spinner().with_message("loading");
        bar.enable_steady_tick(SPINNER_INTERVAL);
        let loaded = backend.bulk_load(&self.table, load);
        bar.finish_and_clear();
        loaded?;
        Ok(LoadReport::new(&files, &plan))
    }

    /// Returns the load of a store.
    fn load_of(&self, files: &[LoadFile]) -> anyhow::Result<BulkLoad> {
        let mut load = BulkLoad { copy: !self.moves, verify: self.verify, ..BulkLoad::new() };
        for file in files {
            let path = file.path.canonicalize().with_context(|| file.path.display().to_string())?;
            let path = path
                .into_os_string()
                .into_string()
                .map_err(|path| anyhow::anyhow!("the path {} is not UTF-8", path.display()))?;
            load = load.file(file.family.clone(), path);
        }
        Ok(load)
    }
}

impl LoadReport {
    fn new(files: &[LoadFile], plan: &[RegionLoad]) -> Self {
        Self {
            files: files.len() as u64,
            cut_files: plan::cut_files(plan),
            bytes: files.iter().map(|file| file.bytes).sum(),
            cells: files.iter().map(|file| file.cells).sum(),
            regions: plan.len() as u64,
            retries: 0,
            protected_files: files.iter().filter(|file| file.is_protected).count() as u64,
        }
    }
}

/// Creates a progress bar in bytes. It draws nothing if standard error is not a terminal.
fn progress(message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style).with_message(message)
}

#[cfg(test)]
mod tests;
