//! Tables created from snapshots: clones under a new name, and restoring a table to its earlier
//! state.
//!
//! No cell is copied. Each region of the snapshot gets a new region. Its files are links, or
//! references made through a link's name, to the files of the snapshot. The new region is an
//! ordinary region afterwards: its compactions replace the links with its own files.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::key_row;
use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};

use super::small_file::write_small;
use super::split::{BOTTOM, TOP, reference};
use super::table_checks::{check_is_new, check_served_families};
use super::{Engine, table_info};
use crate::catalog::{FileEntry, RegionEntry, SnapshotEntry, TableEntry, layout};
use crate::store::StoreFile;

impl Engine {
    /// Creates an enabled table from a snapshot, with the snapshot's families, regions and cells.
    /// The two share files until compactions rewrite them.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableExists`, `NoSuchNamespace`, `DiskFull`, damage to
    /// the snapshot's files.
    pub fn clone_snapshot(&self, name: &str, table: &TableName) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        let snapshot = self.usable_snapshot(name)?;
        self.clone_to(&snapshot, table)
    }

    /// Restores a disabled table to its state at the time of the snapshot: families, regions and
    /// cells. Later changes are lost, unless other snapshots contain them. The table stays
    /// disabled. A table that no longer exists is created again and enabled, as by HBase's client.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableEnabled`, `NoSuchNamespace`, `DiskFull`, damage
    /// to the snapshot's files.
    pub fn restore_snapshot(&self, name: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        let snapshot = self.usable_snapshot(name)?;
        let table = snapshot.descriptor.table.clone();
        if !self.shared.manifest.current().tables.contains_key(&table) {
            return self.clone_to(&snapshot, &table);
        }
        let version = self.disabled_entry(&table)?.version + 1;
        let descriptor = Arc::clone(&snapshot.table.descriptor);
        self.shared.disk.admit()?;
        let copies = self.clone_regions(&snapshot, &descriptor)?;
        let replaced = table_info::add(&self.shared.env, &descriptor, version).and_then(|()| {
            self.shared.manifest.change(|catalog| {
                let regions = copies
                    .iter()
                    .map(|copy| copy.entry(catalog.allocate_region_number()))
                    .collect();
                let entry = catalog.table_mut(&table)?;
                entry.descriptor = Arc::clone(&descriptor);
                entry.version = version;
                Ok(std::mem::replace(&mut entry.regions, regions))
            })
        });
        let old = replaced.inspect_err(|_| {
            self.abort_clone(&table, &copies);
            // A repair would take this file for the table's current descriptor. It stays if the
            // manifest of the next opening may agree with it.
            if self.shared.manifest.sync_state().check().is_ok() {
                table_info::revert(&self.shared.env, &descriptor, version);
            }
        })?;
        table_info::remove_others(&self.shared.env, &descriptor, version);
        self.find_table(&table)?.set_descriptor(descriptor);
        self.remove_regions(&old);
        self.record_schema(
            &table,
            format!("table restored from snapshot {}", snapshot.descriptor.name),
        );
        Ok(())
    }

    /// Returns a snapshot that tables can be created from.
    fn usable_snapshot(&self, name: &str) -> Result<Arc<SnapshotEntry>> {
        let snapshot = Arc::clone(self.shared.manifest.current().snapshot(name)?);
        if snapshot.descriptor.is_expired(self.shared.env.clock.now_ms()) {
            let text = format!(
                "snapshot {name} was to be kept for {} seconds, and they are over; take a new one",
                snapshot.descriptor.ttl_seconds
            );
            return Err(Error::new(ErrorKind::SnapshotExpired, text));
        }
        Ok(snapshot)
    }

    fn clone_to(&self, snapshot: &SnapshotEntry, name: &TableName) -> Result<()> {
        check_is_new(&self.shared.manifest.current(), name)?;
        let descriptor =
            Arc::new(TableDescriptor::clone(&snapshot.table.descriptor).renamed(name.clone()));
        check_served_families(&descriptor)?;
        self.shared.disk.admit()?;
        self.make_table_directory(&descriptor, 1)
            .inspect_err(|_| self.abort_table_creation(name))?;
        let copies = self.clone_regions(snapshot, &descriptor)?;
        let added = self.shared.manifest.change(|catalog| {
            let regions: Vec<RegionEntry> =
                copies.iter().map(|copy| copy.entry(catalog.allocate_region_number())).collect();
            let entry = TableEntry {
                descriptor: Arc::clone(&descriptor),
                enabled: true,
                disabled_for: String::new(),
                version: 1,
                regions,
            };
            catalog.tables.insert(name.clone(), entry.clone());
            Ok(entry.regions)
        });
        let regions = added.inspect_err(|_| self.abort_clone(name, &copies))?;
        table_info::remove_others(&self.shared.env, &descriptor, 1);
        self.open_table(&descriptor, true, &regions)?;
        self.record_schema(
            name,
            format!("table created from snapshot {}", snapshot.descriptor.name),
        );
        Ok(())
    }

    /// Creates the directories of the new regions with their links, all durable on return. The
    /// manifest does not reference them yet.
    fn clone_regions(
        &self,
        snapshot: &SnapshotEntry,
        descriptor: &TableDescriptor,
    ) -> Result<Vec<ClonedRegion>> {
        let name = descriptor.name();
        let region_id = self.new_region_id(name);
        let mut copies = Vec::new();
        for (number, of) in (self.next_region_number()..).zip(&snapshot.table.regions) {
            let info =
                layout::new_region(name, of.info.start.clone(), of.info.end.clone(), region_id);
            copies.push(ClonedRegion {
                info: Arc::new(info),
                flushed_sequence: of.newest_flushed_sequence(),
                families: BTreeMap::new(),
                open_files: Vec::new(),
            });
            let done = match copies.last_mut() {
                Some(copy) => self.clone_region(of, number, descriptor, copy),
                None => Ok(()),
            };
            done.inspect_err(|_| self.abort_clone(name, &copies))?;
        }
        self.sync_directory(&layout::table_directory(name))
            .inspect_err(|_| self.abort_clone(name, &copies))?;
        Ok(copies)
    }

    fn clone_region(
        &self,
        of: &RegionEntry,
        number: u64,
        descriptor: &TableDescriptor,
        copy: &mut ClonedRegion,
    ) -> Result<()> {
        self.make_region_directory(&copy.info, number, descriptor)?;
        for (family, files) in &of.families {
            let directory =
                layout::family_directory(&copy.info.table, &copy.info.encoded_name, family);
            for file in files {
                // Any defect of the file must be detected before the table exists.
                let open = self.shared.files.open(&of.info, family, file.clone())?;
                let (entry, content) = link(of, file, &open);
                write_small(&self.shared.env, &format!("{directory}/{}", entry.name), &content)?;
                copy.families.entry(family.clone()).or_default().push(entry);
                copy.open_files.push(open);
            }
            self.sync_directory(&directory)?;
        }
        Ok(())
    }

    /// Removes the files created by cloning so far, and the table's directory if the table does not
    /// exist. Nothing is removed if the manifest of the next opening may reference the files. After
    /// a crash that opening removes them.
    fn abort_clone(&self, table: &TableName, copies: &[ClonedRegion]) {
        let entries: Vec<RegionEntry> = copies.iter().map(|copy| copy.entry(0)).collect();
        let settled = self.retire_regions(
            copies.iter().map(|copy| &*copy.info),
            entries.iter().flat_map(RegionEntry::origins),
        );
        if settled {
            self.abort_table_creation(table);
        }
    }
}

/// Region being created from a region of a snapshot.
struct ClonedRegion {
    info: Arc<RegionInfo>,
    flushed_sequence: u64,
    families: BTreeMap<Bytes, Vec<FileEntry>>,
    /// Files of the region, held open until the region opens them.
    open_files: Vec<Arc<StoreFile>>,
}

impl ClonedRegion {
    fn entry(&self, number: u64) -> RegionEntry {
        RegionEntry {
            flushed_sequence: self.flushed_sequence,
            families: self.families.clone(),
            ..RegionEntry::new(Arc::clone(&self.info), number)
        }
    }
}

/// Returns the entry that represents a file of a snapshot's region in the cloned region, and the
/// content of the file with that name.
fn link(of: &RegionEntry, file: &FileEntry, open: &StoreFile) -> (FileEntry, Vec<u8>) {
    let target = file.as_target(&of.info, !file.is_part());
    let link = layout::link_name(&target.table, &target.region, &target.name);
    if target.whole {
        return (file.linked(link, target), Vec::new());
    }
    let name = format!("{link}.{}", target.region);
    // The region ends inside the file, starts inside it, or contains all of it.
    let end = &of.info.end;
    let ends_inside =
        !end.is_empty() && open.reader().last_key().is_some_and(|last| key_row(last) >= &end[..]);
    let content = if ends_inside { reference(end, BOTTOM) } else { reference(&of.info.start, TOP) };
    (file.linked(name, target), content)
}
