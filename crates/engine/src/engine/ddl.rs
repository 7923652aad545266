//! Creating, altering, disabling, truncating and dropping tables; namespaces.
//!
//! Every change is one change of the manifest. Directories are made and synced before it, and removed after it: a crash
//! in between leaves directories that the next opening removes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use halite_types::key::print_bytes;
use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, check_namespace};
use halite_types::{Attributes, Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};
use prost::Message as _;

use super::open::write_small;
use super::{Engine, Table, table_info};
use crate::catalog::messages::{TableSchema, region_info_file};
use crate::catalog::{Catalog, Home, NamespaceEntry, RegionEntry, TableEntry, layout, meta};
use crate::region::Region;
use crate::store::remove_region_directory;

/// Bytes of a table's descriptor, and of a namespace's settings. The manifest holds them all, and is written whole at every change.
const DESCRIPTOR_BYTES_MAX: usize = 1 << 20;
const NAMESPACE_SETTINGS_BYTES_MAX: usize = 64 << 10;

impl Engine {
    /// Creates a table whose regions begin at the empty key and at each split key. Split keys may come in any order.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest` (descriptor, empty or repeated split key), `DiskFull`.
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
        let most = self.shared.options.table_regions_max;
        if most > 0 && count > most {
            return Err(Error::invalid(format!(
                "table {name}: {count} regions at once are over the limit of {most}; give fewer split keys, or raise table_regions_max"
            )));
        }
        Ok(())
    }

    /// Makes the directories of a table with regions from these start keys, names it in the manifest, in place of what
    /// had its name, and opens it.
    fn install_table(&self, descriptor: &Arc<TableDescriptor>, starts: Vec<Bytes>, version: u32) -> Result<()> {
        let name = descriptor.name();
        let region_id = self.new_region_id(name);
        let ends: Vec<Bytes> = starts.iter().skip(1).cloned().chain([Bytes::new()]).collect();
        let infos: Vec<RegionInfo> = starts.into_iter().zip(ends).map(|(start, end)| layout::new_region(name, start, end, region_id)).collect();
        let made = self.make_directories(descriptor, version, &infos).and_then(|()| {
            self.shared.manifest.change(|catalog| {
                let regions: Vec<RegionEntry> = infos.iter().map(|info| new_region_entry(catalog.take_region_number(), info.clone())).collect();
                let descriptor = Arc::clone(descriptor);
                let entry = TableEntry { descriptor, enabled: true, disabled_for: String::new(), version, regions: regions.clone() };
                catalog.tables.insert(name.clone(), entry);
                Ok(regions)
            })
        });
        let regions = made.inspect_err(|_| {
            self.give_up_regions(&infos);
            self.give_up_table(name);
        })?;
        // Those of a table that had the name before.
        table_info::remove_others(&self.shared.env, descriptor, version);
        self.open_table(descriptor, true, &regions)
    }

    /// The directories of a table with new regions, all durable when this returns. The manifest does not name them yet.
    fn make_directories(&self, descriptor: &TableDescriptor, version: u32, regions: &[RegionInfo]) -> Result<()> {
        self.make_table_directory(descriptor, version)?;
        for (number, info) in (self.next_region_number()..).zip(regions) {
            self.make_region_directory(info, number, descriptor)?;
        }
        self.sync_directory(&layout::table_directory(descriptor.name()))
    }

    /// Takes the directory of a table away that has not come to be, unless the manifest of the next opening may name it.
    pub(super) fn give_up_table(&self, name: &TableName) {
        let manifest = &self.shared.manifest;
        if manifest.fate().check().is_ok() && !manifest.current().tables.contains_key(name) {
            self.remove_table_directory(name);
        }
    }

    pub(super) fn open_table(&self, descriptor: &Arc<TableDescriptor>, enabled: bool, entries: &[RegionEntry]) -> Result<()> {
        let regions = self.open_all(descriptor, entries)?;
        self.serve_table(descriptor, enabled, regions);
        Ok(())
    }

    fn open_all(&self, descriptor: &Arc<TableDescriptor>, entries: &[RegionEntry]) -> Result<Vec<Arc<Region>>> {
        entries.iter().map(|entry| Region::open(&self.shared, Arc::clone(descriptor), entry)).collect()
    }

    fn serve_table(&self, descriptor: &Arc<TableDescriptor>, enabled: bool, regions: Vec<Arc<Region>>) {
        regions.iter().for_each(|region| self.shared.background.add_region(region));
        // Whoever holds the table from before it was disabled goes on with it.
        if let Ok(table) = self.find_table(descriptor.name()) {
            table.set_descriptor(Arc::clone(descriptor));
            table.replace_regions(&table.regions(), regions);
            table.set_enabled(enabled);
            return;
        }
        self.regions.replace(&[], &regions);
        let table = Arc::new(Table::new(Arc::clone(&self.shared), Arc::clone(&self.regions), Arc::clone(descriptor), enabled, regions));
        self.swap_tables(|tables| {
            tables.insert(descriptor.name().clone(), table);
        });
    }

    fn swap_tables(&self, change: impl FnOnce(&mut BTreeMap<TableName, Arc<Table>>)) {
        let mut tables = BTreeMap::clone(&self.tables.load());
        change(&mut tables);
        self.tables.store(Arc::new(tables));
    }

    /// Milliseconds of now, later than any region of the table has.
    pub(super) fn new_region_id(&self, table: &TableName) -> u64 {
        let now = u64::try_from(self.shared.env.clock.now_ms()).unwrap_or(0).max(1);
        let catalog = self.shared.manifest.current();
        let newest = catalog.tables.get(table).and_then(|entry| entry.regions.iter().map(|region| region.info.region_id).max());
        newest.map_or(now, |newest| now.max(newest.saturating_add(1)))
    }

    pub(super) fn sync_directory(&self, path: &str) -> Result<()> {
        self.shared.env.fs.sync_dir(path).map_err(|error| Error::io(format!("syncing directory {}/{path}", self.shared.env.fs.root()), error))
    }

    pub(super) fn make_directory(&self, path: &str) -> Result<()> {
        self.shared.lock.check()?;
        self.shared.env.fs.create_dir_all(path).map_err(|error| Error::io(format!("making directory {}/{path}", self.shared.env.fs.root()), error))
    }

    /// The table's directory with its descriptor in HBase's file.
    pub(super) fn make_table_directory(&self, descriptor: &TableDescriptor, version: u32) -> Result<()> {
        let directory = layout::table_directory(descriptor.name());
        self.make_directory(&format!("{directory}/.tabledesc"))?;
        table_info::add(&self.shared.env, descriptor, version)?;
        self.sync_directory(&format!("{}/{}", layout::DATA, descriptor.name().namespace()))
    }

    /// The number that the next region gets from the manifest. The caller holds the lock without which nobody gets one.
    pub(super) fn next_region_number(&self) -> u64 {
        self.shared.manifest.current().next_region + 1
    }

    /// A region's directories and its `.regioninfo`, synced; the caller syncs the table's directory.
    pub(super) fn make_region_directory(&self, info: &RegionInfo, number: u64, descriptor: &TableDescriptor) -> Result<()> {
        let directory = layout::region_directory(&info.table, &info.encoded_name);
        self.make_directory(&layout::temporary_directory(&info.table, &info.encoded_name))?;
        for family in descriptor.families() {
            self.make_directory(&layout::family_directory(&info.table, &info.encoded_name, family.name()))?;
        }
        write_small(&self.shared.env, &format!("{directory}/.regioninfo"), &region_info_file(info, number))?;
        self.sync_directory(&directory)
    }

    /// Replaces a table's descriptor, at once for all its regions. Families that are gone lose their data.
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
            let infos: Vec<Arc<RegionInfo>> = entry.regions.iter().map(|region| Arc::clone(&region.info)).collect();
            (Arc::clone(&entry.descriptor), entry.version + 1, infos)
        };
        check_promises(&descriptor, Some(&old))?;
        let new_directories: Vec<String> = infos
            .iter()
            .flat_map(|info| {
                let new = descriptor.families().filter(|family| old.find_family(family.name()).is_none());
                new.map(|family| layout::family_directory(&name, &info.encoded_name, family.name()))
            })
            .collect();
        let give_up = |_: &Error| {
            // A repair would take the descriptor for what the table is, unless the manifest of the next opening may say the same.
            if self.shared.manifest.fate().check().is_ok() {
                table_info::take_back(&self.shared.env, &descriptor, version);
                new_directories.iter().for_each(|directory| drop(self.shared.env.fs.remove_dir(directory)));
            }
        };
        let made = new_directories.iter().try_for_each(|directory| self.make_directory(directory)).and_then(|()| {
            infos.iter().try_for_each(|info| self.sync_directory(&layout::region_directory(&name, &info.encoded_name)))?;
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
        self.shared.settle(before.iter().flat_map(RegionEntry::homes).filter(|home| descriptor.find_family(&home.family).is_none()));
        for info in &infos {
            for family in old.families().filter(|family| descriptor.find_family(family.name()).is_none()) {
                let _ = self.shared.env.fs.remove_dir(&layout::family_directory(&name, &info.encoded_name, family.name()));
            }
        }
        Ok(())
    }

    /// Takes a table out of service.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, a full disk.
    pub fn disable_table(&self, name: &TableName) -> Result<()> {
        self.disable_table_for(name, "")
    }

    /// The same on behalf of somebody who is to find it again ([`Engine::tables_disabled_for`]): over restarts, until the table is enabled,
    /// by whomever.
    ///
    /// # Errors
    /// As [`Engine::disable_table`].
    pub fn disable_table_for(&self, name: &TableName, holder: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        let table = self.find_table(name)?;
        if !table.is_enabled() {
            return Err(Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled already")));
        }
        let regions = table.regions();
        Self::without_writers(&table, &regions, || {
            self.shared.manifest.change(|catalog| {
                let entry = catalog.table_mut(name)?;
                (entry.enabled, entry.disabled_for) = (false, holder.to_owned());
                Ok(())
            })?;
            table.set_enabled(false);
            regions.iter().for_each(|region| region.leave());
            Ok(())
        })?;
        regions.iter().for_each(|region| self.shared.background.note_memstore(region));
        table.replace_regions(&regions, Vec::new());
        Ok(())
    }

    /// Does `work` while nobody writes to a table's regions, none is compacted, and all their cells are in files: so the
    /// log can bring nothing back that `work` takes away. Reads go on. When something fails the regions take writes again.
    fn without_writers<T>(table: &Table, regions: &[Arc<Region>], work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _locks: Vec<_> = regions.iter().map(|region| (region.stop_compaction(), region.lock_maintenance())).collect();
        // Most of it while writers still go on.
        for region in regions {
            region.flush_maintained()?;
        }
        let _changing = table.lock_changing();
        regions.iter().for_each(|region| region.close());
        let done = regions.iter().try_for_each(|region| region.flush_maintained().map(|_| ())).and_then(|()| work());
        if done.is_err() {
            regions.iter().for_each(|region| region.reopen());
        }
        done
    }

    /// Puts a table back into service.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`, damage to its files.
    pub fn enable_table(&self, name: &TableName) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        if self.find_table(name)?.is_enabled() {
            return Err(Error::new(ErrorKind::TableEnabled, format!("table {name} is enabled already")));
        }
        let catalog = self.shared.manifest.current();
        let entry = catalog.table(name)?;
        // A file that cannot be opened must not keep the next opening from the whole store.
        let regions = self.open_all(&entry.descriptor, &entry.regions)?;
        self.shared.manifest.change(|catalog| {
            let entry = catalog.table_mut(name)?;
            (entry.enabled, entry.disabled_for) = (true, String::new());
            Ok(())
        })?;
        self.serve_table(&entry.descriptor, true, regions);
        Ok(())
    }

    /// Takes a disabled table and its data away.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn drop_table(&self, name: &TableName) -> Result<()> {
        let gone_ms = self.drop_locked(name)?;
        // The table is gone, whatever becomes of what clients have noted of it. Another may have its name by now.
        let _ = self.forget_additions(gone_ms, |row| row.split(|byte| *byte == b',').next() == Some(name.to_string().as_bytes()));
        Ok(())
    }

    /// When it was gone.
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

    /// A table that may be dropped, truncated or restored.
    pub(super) fn disabled_entry(&self, name: &TableName) -> Result<TableEntry> {
        if self.find_table(name)?.is_enabled() {
            return Err(Error::new(ErrorKind::TableEnabled, format!("table {name} is enabled; disable it first")));
        }
        Ok(self.shared.manifest.current().table(name)?.clone())
    }

    /// Lets go of regions that the manifest does not name any more, with all that nobody else needs, as far as it can;
    /// what stays goes at the next opening.
    pub(super) fn remove_regions(&self, regions: &[RegionEntry]) {
        for region in regions {
            self.shared.wal.release(region.number, u64::MAX);
        }
        self.retire_regions(regions.iter().map(|region| &*region.info), regions.iter().flat_map(RegionEntry::homes));
    }

    /// Takes away what regions that are gone have left on the disk: files that nobody else needs, and their directories.
    /// Whether it could try.
    pub(super) fn retire_regions<'a>(&self, regions: impl Iterator<Item = &'a RegionInfo>, homes: impl Iterator<Item = Home>) -> bool {
        let settled = self.shared.settle(homes);
        if settled {
            // Those that held no file.
            let catalog = self.shared.manifest.current();
            regions.for_each(|region| remove_region_directory(&self.shared.env, &catalog, &region.table, &region.encoded_name));
        }
        settled
    }

    /// Removes the directory of a table whose regions are gone.
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

    /// Takes all rows of a disabled table away and enables it again, with one region or with those it had.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn truncate_table(&self, name: &TableName, keep_splits: bool) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        let entry = self.disabled_entry(name)?;
        let starts = if keep_splits { entry.regions.iter().map(|region| region.info.start.clone()).collect() } else { vec![Bytes::new()] };
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
        if name.len() > layout::NAMESPACE_BYTES_MAX {
            let (bytes, most) = (name.len(), layout::NAMESPACE_BYTES_MAX);
            return Err(Error::invalid(format!("namespace {name}: its name has {bytes} bytes; at most {most} are allowed, choose a shorter one")));
        }
        check_settings_bytes(name, &settings)?;
        let _ddl = self.lock_ddl()?;
        if self.shared.manifest.current().namespaces.contains_key(name) {
            return Err(Error::new(ErrorKind::NamespaceExists, format!("namespace {name} exists already")));
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
    /// `NoSuchNamespace`, `InvalidRequest` for more than the manifest takes.
    pub fn alter_namespace(&self, name: &str, settings: Attributes) -> Result<()> {
        check_settings_bytes(name, &settings)?;
        let _ddl = self.lock_ddl()?;
        self.shared.manifest.change(|catalog| {
            check_exists(&catalog.namespaces, name)?;
            catalog.namespaces.insert(name.to_owned(), NamespaceEntry { settings });
            Ok(())
        })
    }

    /// Takes an empty namespace away.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `NamespaceNotEmpty`, `InvalidRequest` for HBase's own two.
    pub fn drop_namespace(&self, name: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        if name == DEFAULT_NAMESPACE || name == SYSTEM_NAMESPACE {
            return Err(Error::invalid(format!("namespace {name} is reserved and cannot be dropped")));
        }
        self.shared.manifest.change(|catalog| {
            check_exists(&catalog.namespaces, name)?;
            if let Some(table) = catalog.tables.keys().find(|table| table.namespace() == name) {
                return Err(Error::new(ErrorKind::NamespaceNotEmpty, format!("namespace {name} still holds table {table}; drop its tables first")));
            }
            catalog.namespaces.remove(name);
            Ok(())
        })?;
        let _ = self.shared.env.fs.remove_dir(&format!("{}/{name}", layout::DATA));
        Ok(())
    }
}

/// Whether a table of that name can be made.
pub(super) fn check_is_new(catalog: &Catalog, name: &TableName) -> Result<()> {
    if catalog.tables.contains_key(name) || *name == meta::table_name() {
        return Err(Error::new(ErrorKind::TableExists, format!("table {name} exists already; choose another name or drop it first")));
    }
    check_exists(&catalog.namespaces, name.namespace())?;
    check_name_bytes(name)
}

/// Tables that a server keeps for clients of HBase, and the families it keeps them in. Under other families nothing could be kept there.
const SERVED: [(&str, &[&[u8]]); 2] = [("namespace", &[b"info"]), ("quota", &[b"q", b"u"])];

/// Whether a table has the families that a server needs in a table of that name.
pub(super) fn check_served_families(table: &TableDescriptor) -> Result<()> {
    let name = table.name();
    let served = SERVED.iter().find(|(served, _)| name.namespace() == SYSTEM_NAMESPACE && name.qualifier() == *served);
    let Some((_, families)) = served.filter(|(_, families)| families.iter().any(|family| table.find_family(family).is_none())) else { return Ok(()) };
    let families: Vec<_> = families.iter().map(|family| print_bytes(family)).collect();
    Err(Error::invalid(format!(
        "table {name}: a server keeps its own rows in a table of this name, in {}; choose another name, or leave it to the server to make it",
        families.join(" and ")
    )))
}

/// A name that is too long for the names of links could be used until somebody takes a snapshot and clones it.
fn check_name_bytes(name: &TableName) -> Result<()> {
    let namespace = if name.namespace() == DEFAULT_NAMESPACE { 0 } else { name.namespace().len() + 1 };
    let (bytes, most) = (namespace + name.qualifier().len(), layout::TABLE_BYTES_MAX);
    if bytes <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "table {name}: its name, with its namespace, has {bytes} bytes; at most {most} are allowed, so that the names of links to its files fit on the \
         disk; choose a shorter one"
    )))
}

fn check_descriptor_bytes(descriptor: &TableDescriptor) -> Result<()> {
    let bytes = TableSchema::from(descriptor).encoded_len();
    if bytes <= DESCRIPTOR_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "table {}: its descriptor has {bytes} bytes; at most {DESCRIPTOR_BYTES_MAX} are allowed, shorten its attributes",
        descriptor.name()
    )))
}

fn check_settings_bytes(name: &str, settings: &Attributes) -> Result<()> {
    let bytes: usize = settings.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes <= NAMESPACE_SETTINGS_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "namespace {name}: its settings have {bytes} bytes; at most {NAMESPACE_SETTINGS_BYTES_MAX} are allowed, shorten them"
    )))
}

/// The directory of a family is named after it, with bytes that are no text written in three: it must have room for that, and
/// be of one family.
fn check_family_directories(descriptor: &TableDescriptor) -> Result<()> {
    let mut taken = BTreeMap::new();
    for family in descriptor.families() {
        let directory = layout::family_directory_name(family.name());
        let (table, name) = (descriptor.name(), print_bytes(family.name()));
        if directory.len() > layout::ENTRY_BYTES_MAX {
            return Err(Error::invalid(format!(
                "table {table}: the directory of family {name} would have a name over {} bytes; choose a shorter family name, or one that is text",
                layout::ENTRY_BYTES_MAX
            )));
        }
        if let Some(other) = taken.insert(directory, family.name()) {
            return Err(Error::invalid(format!(
                "table {table}: the families {} and {name} would have one directory; choose another name for one of them",
                print_bytes(other)
            )));
        }
    }
    Ok(())
}

/// Refuses what would be believed to hold and does not: codecs that are not built in, encryption, coprocessors. Where it
/// stands already it may stay, since the store may be from before.
fn check_promises(new: &TableDescriptor, old: Option<&TableDescriptor>) -> Result<()> {
    const NO_CODECS: [&str; 4] = ["LZO", "BZIP2", "LZMA", "BROTLI"];
    let refuse = |what: String| Err(Error::new(ErrorKind::Unsupported, format!("table {}: {what}", new.name())));
    for family in new.families() {
        let before = old.and_then(|table| table.find_family(family.name()));
        let (name, codec) = (print_bytes(family.name()), family.compression());
        if NO_CODECS.contains(&&codec[..]) && before.is_none_or(|before| before.compression() != codec) {
            return refuse(format!("family {name} asks for COMPRESSION {codec}, which is not built in; set it to NONE or GZ"));
        }
        let cipher = family.attributes.get("ENCRYPTION").filter(|cipher| !cipher.is_empty());
        if cipher.is_some() && cipher != before.and_then(|before| before.attributes.get("ENCRYPTION")) {
            return refuse(format!(
                "family {name} asks for ENCRYPTION, and files are not encrypted; leave it out, and put the store on an encrypted disk"
            ));
        }
    }
    let is_new = |(name, class): &(&String, &String)| old.is_none_or(|table| table.attributes.get(*name) != Some(*class));
    match new.attributes.iter().filter(is_new).find(|(name, class)| is_foreign_coprocessor(name, class)) {
        Some((name, class)) => refuse(format!("{name} names {class:?}, and no class of Java's can be loaded; leave it out")),
        None => Ok(()),
    }
}

/// Whether an attribute names a coprocessor other than those that are built into the server: `path|class|priority|arguments`.
fn is_foreign_coprocessor(attribute: &str, value: &str) -> bool {
    const BUILT_IN: [&str; 2] = ["AggregateImplementation", "MultiRowMutationEndpoint"];
    let class = value.split('|').nth(1).unwrap_or(value).trim();
    let name = class.strip_prefix("org.apache.hadoop.hbase.coprocessor.");
    attribute.to_ascii_lowercase().starts_with("coprocessor$") && name.is_none_or(|name| !BUILT_IN.contains(&name))
}

fn check_exists(namespaces: &BTreeMap<String, NamespaceEntry>, name: &str) -> Result<()> {
    if namespaces.contains_key(name) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NoSuchNamespace, format!("namespace {name} does not exist; create it first")))
}

fn new_region_entry(number: u64, info: RegionInfo) -> RegionEntry {
    RegionEntry { info: Arc::new(info), number, flushed_sequence: 0, families: BTreeMap::new(), parents: Vec::new() }
}

/// Where the regions begin: the empty key and the split keys, in order.
fn region_starts(table: &TableName, splits: Vec<Bytes>) -> Result<Vec<Bytes>> {
    let mut starts = BTreeSet::from([Bytes::new()]);
    for split in splits {
        if split.is_empty() {
            return Err(Error::invalid(format!("table {table}: a split key is empty; the first region begins there anyway, leave it out")));
        }
        layout::check_region_start(table, &split)?;
        if !starts.insert(split.clone()) {
            return Err(Error::invalid(format!("table {table}: split key {} is given twice", print_bytes(&split))));
        }
    }
    Ok(starts.into_iter().collect())
}
