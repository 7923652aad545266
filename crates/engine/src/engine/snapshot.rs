//! Snapshots: taking, listing and deleting them. `clone.rs` creates tables from them.
//!
//! A snapshot is a manifest entry: the table's descriptor, regions and store files at that time.
//! Files never change, so references to them are sufficient. Files that only a snapshot references
//! move to the archive (`store/archiver.rs`).

use std::sync::Arc;

use halite_types::schema::table_attribute;
use halite_types::{Error, ErrorKind, Result, SnapshotDescriptor, SnapshotType, TableDescriptor};

use super::Engine;
use crate::catalog::{Catalog, RegionEntry, SnapshotEntry};

impl Engine {
    /// Creates a snapshot of a table. It contains every write acknowledged before the call, unless
    /// its type skips the flush. A snapshot of an enabled table contains each region at some moment
    /// during the call, as in HBase. Its creation time is now. Its type is `Disabled` if the table
    /// is disabled. If that type is requested for an enabled table, the flush is skipped, as in
    /// HBase 2.6.
    ///
    /// # Errors
    /// `SnapshotExists`, `NoSuchTable`, `InvalidRequest` (name, HBase's own table), a full disk or
    /// failed write.
    pub fn create_snapshot(&self, snapshot: &SnapshotDescriptor) -> Result<()> {
        snapshot.check()?;
        let _ddl = self.lock_ddl()?;
        check_is_new(&self.shared.manifest.current(), &snapshot.name)?;
        let table = self.find_table(&snapshot.table)?;
        let kind = if table.is_enabled() { snapshot.kind } else { SnapshotType::Disabled };
        let regions = table.regions();
        if kind == SnapshotType::Flush {
            regions.iter().try_for_each(|region| region.flush().map(|_| ()))?;
        }
        // No family is flushed without the others until the snapshot is taken: it has whole writes.
        let waits = || regions.iter().filter(|_| kind == SnapshotType::Flush);
        let _maintenance: Vec<_> = waits().map(|region| region.lock_maintenance()).collect();
        for region in waits().filter(|region| region.is_partly_flushed()) {
            region.flush_maintained()?;
        }
        let descriptor = SnapshotDescriptor {
            kind,
            created_ms: self.shared.env.clock.now_ms(),
            ..snapshot.clone()
        };
        self.shared.manifest.change(|catalog| {
            check_is_new(catalog, &descriptor.name)?;
            let mut table = catalog.table(&descriptor.table)?.clone();
            table.descriptor = with_file_limit(table.descriptor, descriptor.max_file_bytes);
            catalog
                .snapshots
                .insert(descriptor.name.clone(), Arc::new(SnapshotEntry { descriptor, table }));
            Ok(())
        })
    }

    /// Returns all snapshots by name, including expired ones.
    pub fn snapshots(&self) -> Vec<SnapshotDescriptor> {
        self.shared
            .manifest
            .current()
            .snapshots
            .values()
            .map(|snapshot| snapshot.descriptor.clone())
            .collect()
    }

    /// Deletes a snapshot, and the files that have no other references.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        self.shared.manifest.current().snapshot(name)?;
        self.remove_snapshots(|snapshot| snapshot.name == name).map(|_| ())
    }

    /// Returns the number of regions of a table created from a snapshot; `None` if the snapshot
    /// does not exist.
    pub fn snapshot_regions(&self, name: &str) -> Option<usize> {
        self.shared
            .manifest
            .current()
            .snapshots
            .get(name)
            .map(|snapshot| snapshot.table.regions.len())
    }

    /// Deletes the expired snapshots and returns their names. The owner of the engine calls it
    /// periodically (HBase's snapshot cleaner runs every half hour).
    ///
    /// # Errors
    /// A failed write; nothing is deleted then.
    pub fn delete_expired_snapshots(&self) -> Result<Vec<String>> {
        let _ddl = self.lock_ddl()?;
        let now = self.shared.env.clock.now_ms();
        self.remove_snapshots(|snapshot| snapshot.is_expired(now))
    }

    fn remove_snapshots(&self, which: impl Fn(&SnapshotDescriptor) -> bool) -> Result<Vec<String>> {
        let known = &self.shared.manifest.current().snapshots;
        let gone: Vec<Arc<SnapshotEntry>> =
            known.values().filter(|snapshot| which(&snapshot.descriptor)).cloned().collect();
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        self.shared.manifest.change(|catalog| {
            gone.iter()
                .for_each(|snapshot| drop(catalog.snapshots.remove(&snapshot.descriptor.name)));
            Ok(())
        })?;
        self.shared.archive_or_delete(
            gone.iter().flat_map(|snapshot| &snapshot.table.regions).flat_map(RegionEntry::origins),
        );
        Ok(gone.iter().map(|snapshot| snapshot.descriptor.name.clone()).collect())
    }
}

fn check_is_new(catalog: &Catalog, name: &str) -> Result<()> {
    match catalog.snapshots.get(name) {
        None => Ok(()),
        Some(known) => {
            let text = format!(
                "snapshot {name} exists already, of table {}; choose another name or delete it \
                 first",
                known.descriptor.table
            );
            Err(Error::new(ErrorKind::SnapshotExists, text))
        }
    }
}

/// Stores the file size limit of a snapshot in its table descriptor, as in HBase.
fn with_file_limit(table: Arc<TableDescriptor>, bytes: u64) -> Arc<TableDescriptor> {
    if bytes == 0 {
        table
    } else {
        Arc::new(TableDescriptor::clone(&table).set(table_attribute::MAX_FILESIZE, bytes))
    }
}
