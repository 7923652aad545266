//! Snapshots: taking, listing and deleting them. `copy.rs` makes tables of them.
//!
//! A snapshot is an entry of the manifest: the table's descriptor, regions and store files as they were. Files never
//! change, so naming them is all there is to it; what only a snapshot names moves to the archive
//! (`store/settle.rs`).

use std::sync::Arc;

use halite_types::schema::table_attribute;
use halite_types::{Error, ErrorKind, Result, SnapshotDescriptor, SnapshotKind, TableDescriptor};

use super::Engine;
use crate::catalog::{Catalog, RegionEntry, SnapshotEntry};

impl Engine {
    /// Takes a snapshot of a table: every write acknowledged before the call is in it, unless it skips the flush. One of
    /// an enabled table holds each region as of some moment of the call, as in HBase. Its time of creation is now, and
    /// the kind that of a disabled table if the table is disabled. Asked for of an enabled table, that kind skips the
    /// flush, as in HBase 2.6.
    ///
    /// # Errors
    /// `SnapshotExists`, `NoSuchTable`, `InvalidRequest` (name, HBase's own table), a full disk or failed write.
    pub fn take_snapshot(&self, snapshot: &SnapshotDescriptor) -> Result<()> {
        snapshot.check()?;
        let _ddl = self.lock_ddl()?;
        check_is_new(&self.shared.manifest.current(), &snapshot.name)?;
        let table = self.find_table(&snapshot.table)?;
        let kind = if table.is_enabled() { snapshot.kind } else { SnapshotKind::Disabled };
        if kind == SnapshotKind::Flush {
            table.regions().iter().try_for_each(|region| region.flush().map(|_| ()))?;
        }
        let descriptor = SnapshotDescriptor { kind, created_ms: self.shared.env.clock.now_ms(), ..snapshot.clone() };
        self.shared.manifest.change(|catalog| {
            check_is_new(catalog, &descriptor.name)?;
            let mut table = catalog.table(&descriptor.table)?.clone();
            table.descriptor = with_file_limit(table.descriptor, descriptor.max_file_bytes);
            catalog.snapshots.insert(descriptor.name.clone(), Arc::new(SnapshotEntry { descriptor, table }));
            Ok(())
        })
    }

    /// All snapshots by name, those included whose time to live is over.
    pub fn snapshots(&self) -> Vec<SnapshotDescriptor> {
        self.shared.manifest.current().snapshots.values().map(|snapshot| snapshot.descriptor.clone()).collect()
    }

    /// Forgets a snapshot, and takes away the files that nobody else needs.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        self.shared.manifest.current().snapshot(name)?;
        self.forget_snapshots(|snapshot| snapshot.name == name).map(|_| ())
    }

    /// How many regions a table made from a snapshot has; `None` if there is no snapshot of this name.
    pub fn snapshot_regions(&self, name: &str) -> Option<usize> {
        self.shared.manifest.current().snapshots.get(name).map(|snapshot| snapshot.table.regions.len())
    }

    /// Deletes the snapshots whose time to live is over, and says which they were. Whoever runs the store calls it now
    /// and then (HBase's snapshot cleaner does so every half hour).
    ///
    /// # Errors
    /// A failed write; nothing is deleted then.
    pub fn remove_expired_snapshots(&self) -> Result<Vec<String>> {
        let _ddl = self.lock_ddl()?;
        let now = self.shared.env.clock.now_ms();
        self.forget_snapshots(|snapshot| snapshot.is_expired(now))
    }

    fn forget_snapshots(&self, which: impl Fn(&SnapshotDescriptor) -> bool) -> Result<Vec<String>> {
        let known = &self.shared.manifest.current().snapshots;
        let gone: Vec<Arc<SnapshotEntry>> = known.values().filter(|snapshot| which(&snapshot.descriptor)).cloned().collect();
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        self.shared.manifest.change(|catalog| {
            gone.iter().for_each(|snapshot| drop(catalog.snapshots.remove(&snapshot.descriptor.name)));
            Ok(())
        })?;
        self.shared.settle(gone.iter().flat_map(|snapshot| &snapshot.table.regions).flat_map(RegionEntry::homes));
        Ok(gone.iter().map(|snapshot| snapshot.descriptor.name.clone()).collect())
    }
}

fn check_is_new(catalog: &Catalog, name: &str) -> Result<()> {
    match catalog.snapshots.get(name) {
        None => Ok(()),
        Some(known) => {
            let text = format!("snapshot {name} exists already, of table {}; choose another name or delete it first", known.descriptor.table);
            Err(Error::new(ErrorKind::SnapshotExists, text))
        }
    }
}

/// As in HBase, the limit of a snapshot stands in the descriptor that it keeps.
fn with_file_limit(table: Arc<TableDescriptor>, bytes: u64) -> Arc<TableDescriptor> {
    if bytes == 0 { table } else { Arc::new(TableDescriptor::clone(&table).set(table_attribute::MAX_FILESIZE, bytes)) }
}
