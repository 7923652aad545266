//! Tables made of snapshots: clones under a name of their own, and restoring a table to what it was.
//!
//! No cell is copied. Each region of the snapshot gets a new one whose files are links, or references made through a
//! link's name, to the files of the snapshot. From then on it is a region like any other: a compaction writes files of its
//! own in their place.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::key_row;
use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};

use super::ddl::{check_is_new, check_served_families};
use super::open::write_small;
use super::split::{BOTTOM, TOP, reference};
use super::{Engine, table_info};
use crate::catalog::{FileEntry, RegionEntry, SnapshotEntry, TableEntry, layout};
use crate::store::StoreFile;

impl Engine {
    /// Makes a table of a snapshot, enabled, with the snapshot's families, regions and cells. The two share files until
    /// compactions write others.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableExists`, `NoSuchNamespace`, `DiskFull`, damage to the snapshot's files.
    pub fn clone_snapshot(&self, name: &str, table: &TableName) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        let snapshot = self.usable_snapshot(name)?;
        self.clone_to(&snapshot, table)
    }

    /// Puts a disabled table back to what it was when the snapshot was taken: families, regions and cells. What came
    /// after is gone, unless other snapshots hold it. The table stays disabled. A table that does not exist any more is
    /// made again and is enabled, as by HBase's client.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableEnabled`, `NoSuchNamespace`, `DiskFull`, damage to the snapshot's files.
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
        let copies = self.copy_regions(&snapshot, &descriptor)?;
        let replaced = table_info::add(&self.shared.env, &descriptor, version).and_then(|()| {
            self.shared.manifest.change(|catalog| {
                let regions = copies.iter().map(|copy| copy.entry(catalog.take_region_number())).collect();
                let entry = catalog.table_mut(&table)?;
                entry.descriptor = Arc::clone(&descriptor);
                entry.version = version;
                Ok(std::mem::replace(&mut entry.regions, regions))
            })
        });
        let old = replaced.inspect_err(|_| {
            self.give_up_copies(&table, &copies);
            // A repair would take it for what the table is, unless the manifest of the next opening may say the same.
            if self.shared.manifest.fate().check().is_ok() {
                table_info::take_back(&self.shared.env, &descriptor, version);
            }
        })?;
        table_info::remove_others(&self.shared.env, &descriptor, version);
        self.find_table(&table)?.set_descriptor(descriptor);
        self.remove_regions(&old);
        Ok(())
    }

    /// A snapshot that tables may be made of.
    fn usable_snapshot(&self, name: &str) -> Result<Arc<SnapshotEntry>> {
        let snapshot = Arc::clone(self.shared.manifest.current().snapshot(name)?);
        if snapshot.descriptor.is_expired(self.shared.env.clock.now_ms()) {
            let text = format!("snapshot {name} was to be kept for {} seconds, and they are over; take a new one", snapshot.descriptor.ttl_seconds);
            return Err(Error::new(ErrorKind::SnapshotExpired, text));
        }
        Ok(snapshot)
    }

    fn clone_to(&self, snapshot: &SnapshotEntry, name: &TableName) -> Result<()> {
        check_is_new(&self.shared.manifest.current(), name)?;
        let descriptor = Arc::new(TableDescriptor::clone(&snapshot.table.descriptor).renamed(name.clone()));
        check_served_families(&descriptor)?;
        self.shared.disk.admit()?;
        self.make_table_directory(&descriptor, 1).inspect_err(|_| self.give_up_table(name))?;
        let copies = self.copy_regions(snapshot, &descriptor)?;
        let added = self.shared.manifest.change(|catalog| {
            let regions: Vec<RegionEntry> = copies.iter().map(|copy| copy.entry(catalog.take_region_number())).collect();
            let entry = TableEntry { descriptor: Arc::clone(&descriptor), enabled: true, disabled_for: String::new(), version: 1, regions };
            catalog.tables.insert(name.clone(), entry.clone());
            Ok(entry.regions)
        });
        let regions = added.inspect_err(|_| self.give_up_copies(name, &copies))?;
        table_info::remove_others(&self.shared.env, &descriptor, 1);
        self.open_table(&descriptor, true, &regions)
    }

    /// Makes the directories of the new regions with their links, all durable when this returns. The manifest does not
    /// name them yet.
    fn copy_regions(&self, snapshot: &SnapshotEntry, descriptor: &TableDescriptor) -> Result<Vec<RegionCopy>> {
        let name = descriptor.name();
        let region_id = self.new_region_id(name);
        let mut copies = Vec::new();
        for (number, of) in (self.next_region_number()..).zip(&snapshot.table.regions) {
            let info = layout::new_region(name, of.info.start.clone(), of.info.end.clone(), region_id);
            copies.push(RegionCopy { info: Arc::new(info), flushed_sequence: of.flushed_sequence, families: BTreeMap::new(), open: Vec::new() });
            let done = match copies.last_mut() {
                Some(copy) => self.copy_region(of, number, descriptor, copy),
                None => Ok(()),
            };
            done.inspect_err(|_| self.give_up_copies(name, &copies))?;
        }
        self.sync_directory(&layout::table_directory(name)).inspect_err(|_| self.give_up_copies(name, &copies))?;
        Ok(copies)
    }

    fn copy_region(&self, of: &RegionEntry, number: u64, descriptor: &TableDescriptor, copy: &mut RegionCopy) -> Result<()> {
        self.make_region_directory(&copy.info, number, descriptor)?;
        for (family, files) in &of.families {
            let directory = layout::family_directory(&copy.info.table, &copy.info.encoded_name, family);
            for file in files {
                // Whatever is wrong with the file is to be known before there is a table.
                let open = self.shared.files.open(&of.info, family, file.clone())?;
                let (entry, content) = link(of, file, &open);
                write_small(&self.shared.env, &format!("{directory}/{}", entry.name), &content)?;
                copy.families.entry(family.clone()).or_default().push(entry);
                copy.open.push(open);
            }
            self.sync_directory(&directory)?;
        }
        Ok(())
    }

    /// Takes away what copying has made so far, and the table's directory if there is no such table, unless the manifest
    /// of the next opening may name it. A crash leaves it to that opening.
    fn give_up_copies(&self, table: &TableName, copies: &[RegionCopy]) {
        let entries: Vec<RegionEntry> = copies.iter().map(|copy| copy.entry(0)).collect();
        let settled = self.retire_regions(copies.iter().map(|copy| &*copy.info), entries.iter().flat_map(RegionEntry::homes));
        if settled {
            self.give_up_table(table);
        }
    }
}

/// A region that is being made of one of a snapshot.
struct RegionCopy {
    info: Arc<RegionInfo>,
    flushed_sequence: u64,
    families: BTreeMap<Bytes, Vec<FileEntry>>,
    /// Its files, held open until the region itself opens them.
    open: Vec<Arc<StoreFile>>,
}

impl RegionCopy {
    fn entry(&self, number: u64) -> RegionEntry {
        RegionEntry {
            info: Arc::clone(&self.info),
            number,
            flushed_sequence: self.flushed_sequence,
            families: self.families.clone(),
            parents: Vec::new(),
        }
    }
}

/// What stands for a file of a snapshot's region in a copy of the region, and what the file by that name holds.
fn link(of: &RegionEntry, file: &FileEntry, open: &StoreFile) -> (FileEntry, Vec<u8>) {
    let target = file.as_target(&of.info, !file.is_part());
    let link = layout::link_name(&target.table, &target.region, &target.name);
    if target.whole {
        return (file.stand_in(link, target), Vec::new());
    }
    let name = format!("{link}.{}", target.region);
    // The region ends inside the file, or begins inside it, or has all of it.
    let end = &of.info.end;
    let ends_inside = !end.is_empty() && open.reader().last_key().is_some_and(|last| key_row(last) >= &end[..]);
    let content = if ends_inside { reference(end, BOTTOM) } else { reference(&of.info.start, TOP) };
    (file.stand_in(name, target), content)
}
