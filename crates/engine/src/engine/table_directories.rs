//! Directories of tables and regions: created and synced before a change of the manifest, removed
//! after it.

use halite_types::{Error, RegionInfo, Result, TableDescriptor, TableName};

use super::small_file::write_small;
use super::{Engine, table_info};
use crate::catalog::messages::region_info_file;
use crate::catalog::{FileOrigin, RegionEntry, layout};
use crate::env::sync_directory;
use crate::store::remove_region_directory;

impl Engine {
    /// Creates the directories of a table with new regions, all durable on return. The manifest
    /// does not reference them yet.
    pub(super) fn make_directories(
        &self,
        descriptor: &TableDescriptor,
        version: u32,
        regions: &[RegionInfo],
    ) -> Result<()> {
        self.make_table_directory(descriptor, version)?;
        for (number, info) in (self.next_region_number()..).zip(regions) {
            self.make_region_directory(info, number, descriptor)?;
        }
        self.sync_directory(&layout::table_directory(descriptor.name()))
    }

    /// Creates the table's directory with its descriptor in HBase's file.
    pub(super) fn make_table_directory(
        &self,
        descriptor: &TableDescriptor,
        version: u32,
    ) -> Result<()> {
        let directory = layout::table_directory(descriptor.name());
        self.make_directory(&format!("{directory}/.tabledesc"))?;
        table_info::add(&self.shared.env, descriptor, version)?;
        self.sync_directory(&format!("{}/{}", layout::DATA, descriptor.name().namespace()))
    }

    /// Creates a region's directories and its `.regioninfo`, synced; the caller syncs the table's
    /// directory.
    pub(super) fn make_region_directory(
        &self,
        info: &RegionInfo,
        number: u64,
        descriptor: &TableDescriptor,
    ) -> Result<()> {
        let directory = layout::region_directory(&info.table, &info.encoded_name);
        for required in layout::required_directories(info, descriptor) {
            self.make_directory(&required)?;
        }
        write_small(
            &self.shared.env,
            &format!("{directory}/.regioninfo"),
            &region_info_file(info, number),
        )?;
        self.sync_directory(&directory)
    }

    pub(super) fn make_directory(&self, path: &str) -> Result<()> {
        self.shared.lock.check()?;
        self.shared.env.fs.create_dir_all(path).map_err(|error| {
            Error::io(format!("making directory {}/{path}", self.shared.env.fs.root()), error)
        })
    }

    pub(super) fn sync_directory(&self, path: &str) -> Result<()> {
        sync_directory(&self.shared.env, path)
    }

    /// Removes the directory of a table whose creation failed, unless the manifest of the next
    /// opening may reference it.
    pub(super) fn abort_table_creation(&self, name: &TableName) {
        let manifest = &self.shared.manifest;
        if manifest.sync_state().check().is_ok() && !manifest.current().tables.contains_key(name) {
            self.remove_table_directory(name);
        }
    }

    /// Releases regions that the manifest no longer references, with all files that have no other
    /// references, as far as possible. The next opening removes the rest.
    pub(super) fn remove_regions(&self, regions: &[RegionEntry]) {
        for region in regions {
            self.shared.wal.mark_flushed(region.number, u64::MAX);
        }
        self.retire_regions(
            regions.iter().map(|region| &*region.info),
            regions.iter().flat_map(RegionEntry::origins),
        );
    }

    /// Removes files and directories of removed regions, except files with other references.
    /// Returns `true` if removal was attempted.
    pub(super) fn retire_regions<'a>(
        &self,
        regions: impl Iterator<Item = &'a RegionInfo>,
        homes: impl Iterator<Item = FileOrigin>,
    ) -> bool {
        let settled = self.shared.archive_or_delete(homes);
        if settled {
            // Directories of regions without files.
            let catalog = self.shared.manifest.current();
            regions.for_each(|region| {
                remove_region_directory(
                    &self.shared.env,
                    &catalog,
                    &region.table,
                    &region.encoded_name,
                );
            });
        }
        settled
    }

    /// Removes the directory of a table whose regions are removed.
    pub(super) fn remove_table_directory(&self, name: &TableName) {
        if self.shared.lock.check().is_err() {
            return;
        }
        let (env, directory) = (&self.shared.env, layout::table_directory(name));
        let descriptor = format!("{directory}/.tabledesc");
        for file in env.fs.list(&descriptor).unwrap_or_default() {
            let _ = env.fs.remove_file(&format!("{descriptor}/{}", file.name));
        }
        let _ = env.fs.remove_dir(&descriptor);
        let _ = env.fs.remove_dir(&directory);
    }
}
