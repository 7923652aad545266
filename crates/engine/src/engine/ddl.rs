//! Creating, altering, disabling, truncating and dropping tables.
//!
//! Every operation is one change of the manifest. Directories are created and synced before it, and
//! removed after it: a crash in between leaves directories that the next opening removes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};

use super::table_checks::{
    check_descriptor_bytes, check_family_directories, check_is_new, check_promises,
    check_region_count, check_served_families, region_starts,
};
use super::{Engine, Table, table_info};
use crate::catalog::{RegionEntry, TableEntry, layout};
use crate::events::{EventKind, NewEvent};
use crate::region::Region;

/// Table to be created, whose descriptor and splits have been checked.
struct CheckedTable {
    descriptor: Arc<TableDescriptor>,
    /// First rows of its regions.
    starts: Vec<Bytes>,
}

impl Engine {
    /// Creates a table whose regions start at the empty key and at each split key. Split keys may
    /// be in any order.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest` (descriptor, empty or repeated split
    /// key), `DiskFull`.
    pub fn create_table(&self, descriptor: TableDescriptor, splits: Vec<Bytes>) -> Result<()> {
        let table = self.check_new_table(descriptor, splits)?;
        let _ddl = self.lock_ddl()?;
        self.create_checked(table)
    }

    /// As [`Engine::create_table`] without splits, but returns `false` at once while tables are
    /// changed: the creation of a table with thousands of regions takes seconds.
    #[cfg(feature = "heat")]
    pub(super) fn try_create_table(&self, descriptor: TableDescriptor) -> Result<bool> {
        let table = self.check_new_table(descriptor, Vec::new())?;
        let Some(_ddl) = self.try_lock_ddl()? else { return Ok(false) };
        self.create_checked(table).map(|()| true)
    }

    /// Checks what needs no lock.
    fn check_new_table(
        &self,
        descriptor: TableDescriptor,
        splits: Vec<Bytes>,
    ) -> Result<CheckedTable> {
        descriptor.check()?;
        check_descriptor_bytes(&descriptor)?;
        self.shared.options.check_table(&descriptor)?;
        check_family_directories(&descriptor)?;
        check_promises(&descriptor, None)?;
        check_region_count(&self.shared.options, descriptor.name(), splits.len() + 1)?;
        let starts = region_starts(descriptor.name(), splits)?;
        Ok(CheckedTable { descriptor: Arc::new(descriptor), starts })
    }

    /// Creates a table; the caller has the right to change tables.
    fn create_checked(&self, table: CheckedTable) -> Result<()> {
        let CheckedTable { descriptor, starts } = table;
        let name = descriptor.name();
        check_is_new(&self.shared.manifest.current(), name)?;
        check_served_families(&descriptor)?;
        self.shared.disk.admit()?;
        let regions = starts.len();
        self.install_table(&descriptor, starts, 1)?;
        let plural = if regions == 1 { "" } else { "s" };
        self.record_schema(name, format!("table created with {regions} region{plural}"));
        Ok(())
    }

    /// Records a change of a table.
    pub(super) fn record_schema(&self, table: &TableName, text: impl Into<String>) {
        self.shared.record(NewEvent::of_table(EventKind::Schema, table, text));
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
                    .map(|info| {
                        RegionEntry::new(Arc::new(info.clone()), catalog.allocate_region_number())
                    })
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

    /// Returns the number of the next region that the manifest allocates. The caller holds the lock
    /// required for allocation.
    pub(super) fn next_region_number(&self) -> u64 {
        self.shared.manifest.current().next_region + 1
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
                assert_eq!(entry.version + 1, version, "the version of a table rises by one");
                let before = entry.regions.clone();
                entry.descriptor = Arc::clone(&descriptor);
                entry.version = version;
                for region in &mut entry.regions {
                    let stays = |family: &Bytes| descriptor.find_family(family).is_some();
                    region.families.retain(|family, _| stays(family));
                    region.family_flushed.retain(|family, _| stays(family));
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
        self.record_schema(&name, "table altered");
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
        #[cfg(feature = "heat")]
        self.keep_closed_heat(&regions);
        table.replace_regions(&regions, Vec::new());
        self.record_schema(name, "table disabled");
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
            .and_then(|()| {
                assert!(
                    regions.iter().all(|region| region.is_in_files()),
                    "the log has no cells that only it contains"
                );
                work()
            });
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
        self.record_schema(name, "table enabled");
        Ok(())
    }

    /// Drops a disabled table and its data.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn drop_table(&self, name: &TableName) -> Result<()> {
        #[cfg(feature = "heat")]
        if self.disabled_entry(name).is_ok() {
            self.delete_stored_heat(name);
        }
        let gone_ms = self.drop_locked(name)?;
        // The table is dropped even if the rows that clients wrote about it remain. Another table
        // may have its name by now.
        let _ = self.remove_from_meta_overlay(gone_ms, |row| {
            row.split(|byte| *byte == b',').next() == Some(name.to_string().as_bytes())
        });
        Ok(())
    }

    /// Drops the table and returns the time after the drop.
    pub(super) fn drop_locked(&self, name: &TableName) -> Result<i64> {
        let _ddl = self.lock_ddl()?;
        let entry = self.disabled_entry(name)?;
        self.shared.manifest.change(|catalog| {
            catalog.tables.remove(name);
            Ok(())
        })?;
        self.swap_tables(|tables| {
            tables.remove(name);
        });
        #[cfg(feature = "heat")]
        self.forget_heat(name);
        self.remove_regions(&entry.regions);
        self.remove_table_directory(name);
        self.record_schema(name, "table dropped");
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
        self.record_schema(name, "table truncated");
        Ok(())
    }
}
