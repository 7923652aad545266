//! Creating, altering, disabling, truncating and dropping tables; namespaces.
//!
//! Every operation is one change of the manifest. Directories are created and synced before it, and
//! removed after it: a crash in between leaves directories that the next opening removes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use halite_types::key::to_string_binary;
use halite_types::schema::{
    DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, check_namespace, family_attribute,
};
use halite_types::{
    Attributes, Error, ErrorKind, FamilyDescriptor, RegionInfo, Result, TableDescriptor, TableName,
};
use prost::Message as _;

use super::small_file::write_small;
use super::{Engine, Table, table_info};
use crate::catalog::messages::{TableSchema, region_info_file};
use crate::catalog::{Catalog, FileOrigin, NamespaceEntry, RegionEntry, TableEntry, layout, meta};
use crate::env::sync_directory;
use crate::hfile::{CodecSettings, Compression};
use crate::region::Region;
use crate::store::remove_region_directory;

/// Maximum bytes of a table's descriptor, and of a namespace's settings. The manifest contains all
/// of them and is rewritten at every change.
const MAX_DESCRIPTOR_BYTES: usize = 1 << 20;
const MAX_NAMESPACE_SETTINGS_BYTES: usize = 64 << 10;

impl Engine {
    /// Creates a table whose regions start at the empty key and at each split key. Split keys may
    /// be in any order.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest` (descriptor, empty or repeated split
    /// key), `DiskFull`.
    pub fn create_table(&self, descriptor: TableDescriptor, splits: Vec<Bytes>) -> Result<()> {
        descriptor.check()?;
        check_descriptor_bytes(&descriptor)?;
        self.shared.options.check_table(&descriptor)?;
        let name = descriptor.name().clone();
        check_family_directories(&descriptor)?;
        check_promises(&descriptor, None)?;
        self.check_region_count(&name, splits.len() + 1)?;
        let starts = region_starts(&name, splits)?;
        let _ddl = self.lock_ddl()?;
        check_is_new(&self.shared.manifest.current(), &name)?;
        check_served_families(&descriptor)?;
        self.shared.disk.admit()?;
        let descriptor = Arc::new(descriptor);
        self.install_table(&descriptor, starts, 1)
    }

    fn check_region_count(&self, name: &TableName, count: usize) -> Result<()> {
        let most = self.shared.options.max_regions_per_table;
        if most > 0 && count > most {
            return Err(Error::invalid(format!(
                "table {name}: {count} regions at once are over the limit of {most}; give fewer \
                 split keys, or raise max_regions_per_table"
            )));
        }
        Ok(())
    }

    /// Creates the directories of a table with regions that start at these keys. Then records the
    /// table in the manifest, replacing an entry with the same name, and opens it.
    fn install_table(
        &self,
        descriptor: &Arc<TableDescriptor>,
        starts: Vec<Bytes>,
        version: u32,
    ) -> Result<()> {
        let name = descriptor.name();
        let region_id = self.new_region_id(name);
        let ends: Vec<Bytes> = starts.iter().skip(1).cloned().chain([Bytes::new()]).collect();
        let infos: Vec<RegionInfo> = starts
            .into_iter()
            .zip(ends)
            .map(|(start, end)| layout::new_region(name, start, end, region_id))
            .collect();
        let made = self.make_directories(descriptor, version, &infos).and_then(|()| {
            self.shared.manifest.change(|catalog| {
                let regions: Vec<RegionEntry> = infos
                    .iter()
                    .map(|info| new_region_entry(catalog.allocate_region_number(), info.clone()))
                    .collect();
                let descriptor = Arc::clone(descriptor);
                let entry = TableEntry {
                    descriptor,
                    enabled: true,
                    disabled_for: String::new(),
                    version,
                    regions: regions.clone(),
                };
                catalog.tables.insert(name.clone(), entry);
                Ok(regions)
            })
        });
        let regions = made.inspect_err(|_| {
            self.abort_replacement(&infos);
            self.abort_table_creation(name);
        })?;
        // Descriptor files of an earlier table with the same name.
        table_info::remove_others(&self.shared.env, descriptor, version);
        self.open_table(descriptor, true, &regions)
    }

    /// Creates the directories of a table with new regions, all durable on return. The manifest
    /// does not reference them yet.
    fn make_directories(
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

    /// Removes the directory of a table whose creation failed, unless the manifest of the next
    /// opening may reference it.
    pub(super) fn abort_table_creation(&self, name: &TableName) {
        let manifest = &self.shared.manifest;
        if manifest.sync_state().check().is_ok() && !manifest.current().tables.contains_key(name) {
            self.remove_table_directory(name);
        }
    }

    pub(super) fn open_table(
        &self,
        descriptor: &Arc<TableDescriptor>,
        enabled: bool,
        entries: &[RegionEntry],
    ) -> Result<()> {
        let regions = self.open_all(descriptor, entries)?;
        self.serve_table(descriptor, enabled, regions);
        Ok(())
    }

    fn open_all(
        &self,
        descriptor: &Arc<TableDescriptor>,
        entries: &[RegionEntry],
    ) -> Result<Vec<Arc<Region>>> {
        entries
            .iter()
            .map(|entry| Region::open(&self.shared, Arc::clone(descriptor), entry))
            .collect()
    }

    fn serve_table(
        &self,
        descriptor: &Arc<TableDescriptor>,
        enabled: bool,
        regions: Vec<Arc<Region>>,
    ) {
        regions.iter().for_each(|region| self.shared.scheduler.add_region(region));
        // Callers that hold the table from before it was disabled continue to use it.
        if let Ok(table) = self.find_table(descriptor.name()) {
            table.set_descriptor(Arc::clone(descriptor));
            table.replace_regions(&table.regions(), regions);
            table.set_enabled(enabled);
            return;
        }
        self.regions.replace(&[], &regions);
        let table = Arc::new(Table::new(
            Arc::clone(&self.shared),
            Arc::clone(&self.regions),
            Arc::clone(descriptor),
            enabled,
            regions,
        ));
        self.swap_tables(|tables| {
            tables.insert(descriptor.name().clone(), table);
        });
    }

    fn swap_tables(&self, change: impl FnOnce(&mut BTreeMap<TableName, Arc<Table>>)) {
        let mut tables = BTreeMap::clone(&self.tables.load());
        change(&mut tables);
        self.tables.store(Arc::new(tables));
    }

    /// Returns the current time in milliseconds, or a later value that exceeds every region id of
    /// the table.
    pub(super) fn new_region_id(&self, table: &TableName) -> u64 {
        let now = u64::try_from(self.shared.env.clock.now_ms()).unwrap_or(0).max(1);
        let catalog = self.shared.manifest.current();
        let newest = catalog
            .tables
            .get(table)
            .and_then(|entry| entry.regions.iter().map(|region| region.info.region_id).max());
        newest.map_or(now, |newest| now.max(newest.saturating_add(1)))
    }

    pub(super) fn sync_directory(&self, path: &str) -> Result<()> {
        sync_directory(&self.shared.env, path)
    }

    pub(super) fn make_directory(&self, path: &str) -> Result<()> {
        self.shared.lock.check()?;
        self.shared.env.fs.create_dir_all(path).map_err(|error| {
            Error::io(format!("making directory {}/{path}", self.shared.env.fs.root()), error)
        })
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

    /// Returns the number of the next region that the manifest allocates. The caller holds the lock
    /// required for allocation.
    pub(super) fn next_region_number(&self) -> u64 {
        self.shared.manifest.current().next_region + 1
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

    /// Replaces a table's descriptor, atomically for all its regions. Removed families lose their
    /// data.
    ///
    /// # Errors
    /// `NoSuchTable`, `InvalidRequest`.
    pub fn alter_table(&self, descriptor: TableDescriptor) -> Result<()> {
        descriptor.check()?;
        check_descriptor_bytes(&descriptor)?;
        self.shared.options.check_table(&descriptor)?;
        check_family_directories(&descriptor)?;
        let _ddl = self.lock_ddl()?;
        let name = descriptor.name().clone();
        let descriptor = Arc::new(descriptor);
        let table = self.find_table(&name)?;
        let (old, version, infos) = {
            let catalog = self.shared.manifest.current();
            let entry = catalog.table(&name)?;
            let infos: Vec<Arc<RegionInfo>> =
                entry.regions.iter().map(|region| Arc::clone(&region.info)).collect();
            (Arc::clone(&entry.descriptor), entry.version + 1, infos)
        };
        check_promises(&descriptor, Some(&old))?;
        let new_directories: Vec<String> = infos
            .iter()
            .flat_map(|info| {
                let new =
                    descriptor.families().filter(|family| old.find_family(family.name()).is_none());
                new.map(|family| layout::family_directory(&name, &info.encoded_name, family.name()))
            })
            .collect();
        let give_up = |_: &Error| {
            // A repair would take this file for the table's current descriptor. It stays if the
            // manifest of the next opening may agree with it.
            if self.shared.manifest.sync_state().check().is_ok() {
                table_info::revert(&self.shared.env, &descriptor, version);
                new_directories
                    .iter()
                    .for_each(|directory| drop(self.shared.env.fs.remove_dir(directory)));
            }
        };
        let made = new_directories
            .iter()
            .try_for_each(|directory| self.make_directory(directory))
            .and_then(|()| {
                infos.iter().try_for_each(|info| {
                    self.sync_directory(&layout::region_directory(&name, &info.encoded_name))
                })?;
                table_info::add(&self.shared.env, &descriptor, version)
            });
        made.inspect_err(give_up)?;
        let regions = table.regions();
        let altered = Self::without_writers(&table, &regions, || {
            let before = self.shared.manifest.change(|catalog| {
                let entry = catalog.table_mut(&name)?;
                let before = entry.regions.clone();
                entry.descriptor = Arc::clone(&descriptor);
                entry.version = version;
                for region in &mut entry.regions {
                    region.families.retain(|family, _| descriptor.find_family(family).is_some());
                }
                Ok(before)
            })?;
            regions.iter().for_each(|region| region.alter(&descriptor));
            table.set_descriptor(Arc::clone(&descriptor));
            regions.iter().for_each(|region| region.reopen());
            Ok(before)
        });
        let before = altered.inspect_err(give_up)?;
        table_info::remove_others(&self.shared.env, &descriptor, version);
        self.shared.archive_or_delete(
            before
                .iter()
                .flat_map(RegionEntry::origins)
                .filter(|home| descriptor.find_family(&home.family).is_none()),
        );
        for info in &infos {
            for family in
                old.families().filter(|family| descriptor.find_family(family.name()).is_none())
            {
                let _ = self.shared.env.fs.remove_dir(&layout::family_directory(
                    &name,
                    &info.encoded_name,
                    family.name(),
                ));
            }
        }
        Ok(())
    }

    /// Disables a table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, a full disk.
    pub fn disable_table(&self, name: &TableName) -> Result<()> {
        self.disable_table_for(name, "")
    }

    /// Disables a table on behalf of a holder that can find it again
    /// ([`Engine::tables_disabled_for`]). The record survives restarts until a caller enables the
    /// table.
    ///
    /// # Errors
    /// As [`Engine::disable_table`].
    pub fn disable_table_for(&self, name: &TableName, holder: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        let table = self.find_table(name)?;
        if !table.is_enabled() {
            return Err(Error::new(
                ErrorKind::TableDisabled,
                format!("table {name} is disabled already"),
            ));
        }
        let regions = table.regions();
        Self::without_writers(&table, &regions, || {
            self.shared.manifest.change(|catalog| {
                let entry = catalog.table_mut(name)?;
                (entry.enabled, entry.disabled_for) = (false, holder.to_owned());
                Ok(())
            })?;
            table.set_enabled(false);
            regions.iter().for_each(|region| region.stop_serving());
            Ok(())
        })?;
        regions.iter().for_each(|region| self.shared.scheduler.record_memstore_bytes(region));
        table.replace_regions(&regions, Vec::new());
        Ok(())
    }

    /// Runs `work` while a table's regions accept no writes, no compaction runs, and all their
    /// cells are in files. Log replay therefore cannot restore anything that `work` removes. Reads
    /// continue. After a failure the regions accept writes again.
    fn without_writers<T>(
        table: &Table,
        regions: &[Arc<Region>],
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let _locks: Vec<_> = regions
            .iter()
            .map(|region| (region.stop_compaction(), region.lock_maintenance()))
            .collect();
        // Flushes most cells while writers continue.
        for region in regions {
            region.flush_maintained()?;
        }
        let _changing = table.lock_regions();
        regions.iter().for_each(|region| region.close());
        let done = regions
            .iter()
            .try_for_each(|region| region.flush_maintained().map(|_| ()))
            .and_then(|()| work());
        if done.is_err() {
            regions.iter().for_each(|region| region.reopen());
        }
        done
    }

    /// Enables a table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`, damage to its files.
    pub fn enable_table(&self, name: &TableName) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        if self.find_table(name)?.is_enabled() {
            return Err(Error::new(
                ErrorKind::TableEnabled,
                format!("table {name} is enabled already"),
            ));
        }
        let catalog = self.shared.manifest.current();
        let entry = catalog.table(name)?;
        // Opened before the change: a file that cannot be opened must not prevent the next opening
        // of the whole store.
        let regions = self.open_all(&entry.descriptor, &entry.regions)?;
        self.shared.manifest.change(|catalog| {
            let entry = catalog.table_mut(name)?;
            (entry.enabled, entry.disabled_for) = (true, String::new());
            Ok(())
        })?;
        self.serve_table(&entry.descriptor, true, regions);
        Ok(())
    }

    /// Drops a disabled table and its data.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn drop_table(&self, name: &TableName) -> Result<()> {
        let gone_ms = self.drop_locked(name)?;
        // The table is dropped even if the rows that clients wrote about it remain. Another table
        // may have its name by now.
        let _ = self.remove_from_meta_overlay(gone_ms, |row| {
            row.split(|byte| *byte == b',').next() == Some(name.to_string().as_bytes())
        });
        Ok(())
    }

    /// Drops the table and returns the time after the drop.
    fn drop_locked(&self, name: &TableName) -> Result<i64> {
        let _ddl = self.lock_ddl()?;
        let entry = self.disabled_entry(name)?;
        self.shared.manifest.change(|catalog| {
            catalog.tables.remove(name);
            Ok(())
        })?;
        self.swap_tables(|tables| {
            tables.remove(name);
        });
        self.remove_regions(&entry.regions);
        self.remove_table_directory(name);
        Ok(self.shared.env.clock.now_ms())
    }

    /// Returns the entry of a table that may be dropped, truncated or restored.
    pub(super) fn disabled_entry(&self, name: &TableName) -> Result<TableEntry> {
        if self.find_table(name)?.is_enabled() {
            return Err(Error::new(
                ErrorKind::TableEnabled,
                format!("table {name} is enabled; disable it first"),
            ));
        }
        Ok(self.shared.manifest.current().table(name)?.clone())
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

    /// Deletes all rows of a disabled table and enables it again, with one region or with its
    /// previous regions.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn truncate_table(&self, name: &TableName, keep_splits: bool) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        let entry = self.disabled_entry(name)?;
        let starts = if keep_splits {
            entry.regions.iter().map(|region| region.info.start.clone()).collect()
        } else {
            vec![Bytes::new()]
        };
        self.install_table(&entry.descriptor, starts, entry.version)?;
        self.remove_regions(&entry.regions);
        Ok(())
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// `NamespaceExists`, `InvalidRequest`, `DiskFull`.
    pub fn create_namespace(&self, name: &str, settings: Attributes) -> Result<()> {
        check_namespace(name)?;
        if name.len() > layout::MAX_NAMESPACE_NAME_BYTES {
            let (bytes, most) = (name.len(), layout::MAX_NAMESPACE_NAME_BYTES);
            return Err(Error::invalid(format!(
                "namespace {name}: its name has {bytes} bytes; at most {most} are allowed, choose \
                 a shorter one"
            )));
        }
        check_settings_bytes(name, &settings)?;
        let _ddl = self.lock_ddl()?;
        if self.shared.manifest.current().namespaces.contains_key(name) {
            return Err(Error::new(
                ErrorKind::NamespaceExists,
                format!("namespace {name} exists already"),
            ));
        }
        self.shared.disk.admit()?;
        self.make_directory(&format!("{}/{name}", layout::DATA))?;
        self.sync_directory(layout::DATA)?;
        self.shared.manifest.change(|catalog| {
            catalog.namespaces.insert(name.to_owned(), NamespaceEntry { settings });
            Ok(())
        })
    }

    /// Replaces a namespace's settings.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `InvalidRequest` if the settings are larger than the manifest allows.
    pub fn alter_namespace(&self, name: &str, settings: Attributes) -> Result<()> {
        check_settings_bytes(name, &settings)?;
        let _ddl = self.lock_ddl()?;
        self.shared.manifest.change(|catalog| {
            check_exists(&catalog.namespaces, name)?;
            catalog.namespaces.insert(name.to_owned(), NamespaceEntry { settings });
            Ok(())
        })
    }

    /// Drops an empty namespace.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `NamespaceNotEmpty`, `InvalidRequest` for HBase's two built-in
    /// namespaces.
    pub fn drop_namespace(&self, name: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        if name == DEFAULT_NAMESPACE || name == SYSTEM_NAMESPACE {
            return Err(Error::invalid(format!(
                "namespace {name} is reserved and cannot be dropped"
            )));
        }
        self.shared.manifest.change(|catalog| {
            check_exists(&catalog.namespaces, name)?;
            if let Some(table) = catalog.tables.keys().find(|table| table.namespace() == name) {
                return Err(Error::new(
                    ErrorKind::NamespaceNotEmpty,
                    format!("namespace {name} still holds table {table}; drop its tables first"),
                ));
            }
            catalog.namespaces.remove(name);
            Ok(())
        })?;
        let _ = self.shared.env.fs.remove_dir(&format!("{}/{name}", layout::DATA));
        Ok(())
    }
}

/// Checks that a table with this name can be created.
pub(super) fn check_is_new(catalog: &Catalog, name: &TableName) -> Result<()> {
    if catalog.tables.contains_key(name) || *name == meta::table_name() {
        return Err(Error::new(
            ErrorKind::TableExists,
            format!("table {name} exists already; choose another name or drop it first"),
        ));
    }
    check_exists(&catalog.namespaces, name.namespace())?;
    check_name_bytes(name)
}

/// Tables that a server maintains for HBase clients, and their families. The server cannot store
/// its rows in other families.
const SERVED: [(&str, &[&[u8]]); 2] = [("namespace", &[b"info"]), ("quota", &[b"q", b"u"])];

/// Checks that a table has the families that a server needs in a table with this name.
pub(super) fn check_served_families(table: &TableDescriptor) -> Result<()> {
    let name = table.name();
    let served = SERVED
        .iter()
        .find(|(served, _)| name.namespace() == SYSTEM_NAMESPACE && name.qualifier() == *served);
    let Some((_, families)) = served
        .filter(|(_, families)| families.iter().any(|family| table.find_family(family).is_none()))
    else {
        return Ok(());
    };
    let families: Vec<_> = families.iter().map(|family| to_string_binary(family)).collect();
    Err(Error::invalid(format!(
        "table {name}: a server keeps its own rows in a table of this name, in {}; choose another \
         name, or leave it to the server to make it",
        families.join(" and ")
    )))
}

/// Checks the length of a table name. A name that is too long for link names would work until a
/// snapshot of the table is cloned.
fn check_name_bytes(name: &TableName) -> Result<()> {
    let namespace =
        if name.namespace() == DEFAULT_NAMESPACE { 0 } else { name.namespace().len() + 1 };
    let (bytes, most) = (namespace + name.qualifier().len(), layout::MAX_TABLE_NAME_BYTES);
    if bytes <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "table {name}: its name, with its namespace, has {bytes} bytes; at most {most} are \
         allowed, so that the names of links to its files fit on the disk; choose a shorter one"
    )))
}

fn check_descriptor_bytes(descriptor: &TableDescriptor) -> Result<()> {
    let bytes = TableSchema::from(descriptor).encoded_len();
    if bytes <= MAX_DESCRIPTOR_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "table {}: its descriptor has {bytes} bytes; at most {MAX_DESCRIPTOR_BYTES} are allowed, \
         shorten its attributes",
        descriptor.name()
    )))
}

fn check_settings_bytes(name: &str, settings: &Attributes) -> Result<()> {
    let bytes: usize = settings.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes <= MAX_NAMESPACE_SETTINGS_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "namespace {name}: its settings have {bytes} bytes; at most {MAX_NAMESPACE_SETTINGS_BYTES} \
         are allowed, shorten them"
    )))
}

/// Checks that the directory names of the families fit and are unique. A directory is named after
/// its family. If the name is not UTF-8, each byte except ASCII letters and digits takes three
/// characters.
fn check_family_directories(descriptor: &TableDescriptor) -> Result<()> {
    let mut taken = BTreeMap::new();
    for family in descriptor.families() {
        let directory = layout::family_directory_name(family.name());
        let (table, name) = (descriptor.name(), to_string_binary(family.name()));
        if directory.len() > layout::MAX_FILE_NAME_BYTES {
            return Err(Error::invalid(format!(
                "table {table}: the directory of family {name} would have a name over {} bytes; \
                 choose a shorter family name, or one that is text",
                layout::MAX_FILE_NAME_BYTES
            )));
        }
        if let Some(other) = taken.insert(directory, family.name()) {
            return Err(Error::invalid(format!(
                "table {table}: the families {} and {name} would have one directory; choose \
                 another name for one of them",
                to_string_binary(other)
            )));
        }
    }
    Ok(())
}

/// Rejects attributes that would appear to be in effect and are not: codecs that are not written,
/// encryption, coprocessors. An unchanged attribute is accepted, since the store may be from an
/// earlier version.
fn check_promises(new: &TableDescriptor, old: Option<&TableDescriptor>) -> Result<()> {
    let refuse = |what: String| {
        Err(Error::new(ErrorKind::Unsupported, format!("table {}: {what}", new.name())))
    };
    for family in new.families() {
        let before = old.and_then(|table| table.find_family(family.name()));
        let name = to_string_binary(family.name());
        check_codecs(family, before)
            .and_then(|()| check_codec_settings(new, family, old.zip(before)))
            .map_err(|error| error.at(format_args!("table {}: family {name}", new.name())))?;
        let cipher = family.attributes.get("ENCRYPTION").filter(|cipher| !cipher.is_empty());
        if cipher.is_some()
            && cipher != before.and_then(|before| before.attributes.get("ENCRYPTION"))
        {
            return refuse(format!(
                "family {name} asks for ENCRYPTION, and files are not encrypted; leave it out, and \
                 put the store on an encrypted disk"
            ));
        }
    }
    let is_new = |(name, class): &(&String, &String)| {
        old.is_none_or(|table| table.attributes.get(*name) != Some(*class))
    };
    match new
        .attributes
        .iter()
        .filter(is_new)
        .find(|(name, class)| is_foreign_coprocessor(name, class))
    {
        Some((name, class)) => refuse(format!(
            "{name} names {class:?}, and no class of Java's can be loaded; leave it out"
        )),
        None => Ok(()),
    }
}

/// Checks the codecs of a family. `before` is the family until now.
fn check_codecs(family: &FamilyDescriptor, before: Option<&FamilyDescriptor>) -> Result<()> {
    for attribute in family_attribute::CODECS {
        let codec = family.attributes.get(attribute);
        if codec == before.and_then(|before| before.attributes.get(attribute)) {
            continue;
        }
        if let Some(codec) = codec.and_then(|name| Compression::from_name(name)) {
            codec.check_written(attribute)?;
        }
    }
    Ok(())
}

/// Checks the settings of the codecs of a family. Those of `before` may be invalid too.
fn check_codec_settings(
    table: &TableDescriptor,
    family: &FamilyDescriptor,
    before: Option<(&TableDescriptor, &FamilyDescriptor)>,
) -> Result<()> {
    match before.map(|(table, family)| CodecSettings::new(table, family)) {
        Some(Err(_)) => Ok(()),
        Some(Ok(_)) | None => CodecSettings::new(table, family).map(drop),
    }
}

/// Returns `true` if an attribute names a coprocessor that is not built into the server:
/// `path|class|priority|arguments`.
fn is_foreign_coprocessor(attribute: &str, value: &str) -> bool {
    const BUILT_IN: [&str; 2] = ["AggregateImplementation", "MultiRowMutationEndpoint"];
    let class = value.split('|').nth(1).unwrap_or(value).trim();
    let name = class.strip_prefix("org.apache.hadoop.hbase.coprocessor.");
    attribute.to_ascii_lowercase().starts_with("coprocessor$")
        && name.is_none_or(|name| !BUILT_IN.contains(&name))
}

fn check_exists(namespaces: &BTreeMap<String, NamespaceEntry>, name: &str) -> Result<()> {
    if namespaces.contains_key(name) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::NoSuchNamespace,
        format!("namespace {name} does not exist; create it first"),
    ))
}

fn new_region_entry(number: u64, info: RegionInfo) -> RegionEntry {
    RegionEntry {
        info: Arc::new(info),
        number,
        flushed_sequence: 0,
        families: BTreeMap::new(),
        parents: Vec::new(),
    }
}

/// Returns the start keys of the regions: the empty key and the split keys, in order.
fn region_starts(table: &TableName, splits: Vec<Bytes>) -> Result<Vec<Bytes>> {
    let mut starts = BTreeSet::from([Bytes::new()]);
    for split in splits {
        if split.is_empty() {
            return Err(Error::invalid(format!(
                "table {table}: a split key is empty; the first region begins there anyway, leave \
                 it out"
            )));
        }
        layout::check_region_start(table, &split)?;
        if !starts.insert(split.clone()) {
            return Err(Error::invalid(format!(
                "table {table}: split key {} is given twice",
                to_string_binary(&split)
            )));
        }
    }
    Ok(starts.into_iter().collect())
}
