//! Engine: the tables, regions and log of one directory.
//!
//! `open.rs` opens it, `ddl.rs` changes tables, and `namespaces.rs` changes namespaces. `split.rs`
//! splits and merges regions. `snapshot.rs` creates snapshots, and `clone.rs` creates tables from
//! them. `import.rs` creates tables from files of HBase. `table.rs` reads and writes across the
//! regions of a table.

mod bulk_load;
mod clone;
pub(crate) mod coverage;
mod ddl;
pub(crate) mod directory;
mod events;
mod export;
mod health;
#[cfg(feature = "heat")]
mod heat;
mod import;
mod jobs;
mod meta;
mod meta_overlay;
mod namespaces;
pub(crate) mod obsolete_files;
pub(crate) mod open;
mod open_report;
mod operator;
mod properties;
pub(crate) mod quarantine;
mod region_index;
mod region_watch;
pub(crate) mod small_file;
mod snapshot;
mod split;
mod table;
mod table_checks;
mod table_directories;
pub(crate) mod table_info;
mod threads;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use halite_types::{
    Attributes, Bytes, ClusterStatus, CompactionKind, Error, ErrorKind, RegionInfo, Result,
    TableDescriptor, TableName,
};

use crate::block_cache::CacheStats;
use crate::catalog::layout::{self, primary_of};
use crate::catalog::{FileEntry, TableEntry, table_not_found};
use crate::env::{Clock, JoinHandle};
use crate::heal::Healed;
use crate::hfile::BlockKind;
use crate::maintenance_stats::MaintenanceStats;
use crate::options::Options;
use crate::ranked_lock::{RankedGuard, RankedMutex};
use crate::region::Region;
use crate::scheduler::closing;
use crate::shared::EngineInner;
use crate::wal::{Nonce, WalStats};

pub use export::{ExportFile, SnapshotExport};
pub use import::{ImportFile, ImportRegion, ImportReport};
pub use meta::MetaView;
pub use open_report::OpenReport;
use region_index::RegionIndex;
pub use table::{Table, TableScanner};

/// Store of one directory. Dropping it without [`Engine::close`] is equivalent to a process crash:
/// the next opening replays the log.
pub struct Engine {
    shared: Arc<EngineInner>,
    /// All tables by name; swapped as a whole.
    tables: ArcSwap<BTreeMap<TableName, Arc<Table>>>,
    /// Open regions of all tables by encoded name.
    regions: Arc<RegionIndex>,
    meta: meta::Meta,
    /// Lock held while the set of tables or regions changes.
    ddl: RankedMutex<()>,
    threads: Mutex<Vec<Box<dyn JoinHandle>>>,
    region_watch: region_watch::RegionWatch,
    #[cfg(feature = "heat")]
    heat: heat::state::HeatState,
    open_report: OpenReport,
    /// Nonces replayed from the log, until a caller takes them.
    replayed_nonces: Mutex<Vec<Nonce>>,
}

impl Engine {
    /// Acquires the right to change the set of tables and regions; fails if the engine is closing.
    fn lock_ddl(&self) -> Result<RankedGuard<'_, ()>> {
        let ddl = self.ddl.lock();
        self.check_ddl()?;
        Ok(ddl)
    }

    /// As [`Engine::lock_ddl`], or `None` if another thread has the right.
    #[cfg(feature = "heat")]
    fn try_lock_ddl(&self) -> Result<Option<RankedGuard<'_, ()>>> {
        let ddl = self.ddl.try_lock();
        self.check_ddl()?;
        Ok(ddl)
    }

    fn check_ddl(&self) -> Result<()> {
        if self.shared.scheduler.is_closing() {
            return Err(closing());
        }
        self.shared.lock.check()
    }

    /// Returns the options that the engine was opened with.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Returns the report of the opening.
    pub fn open_report(&self) -> &OpenReport {
        &self.open_report
    }

    /// Returns the nonces of the writes that the log contained at opening, and those retained for
    /// [`Options::nonce_grace_period_ms`] after that: newest first, at most a million, only once. A
    /// client that received no reply to such a write retries it, although it has been applied.
    pub fn take_replayed_nonces(&self) -> Vec<Nonce> {
        std::mem::take(&mut *self.replayed_nonces.lock().healed())
    }

    /// Returns the id of the store, a UUID created with the directory (HBase: the cluster id).
    pub fn id(&self) -> String {
        layout::uuid_text(&self.shared.manifest.current().store_id)
    }

    /// Returns a table for reads and writes.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`.
    pub fn table(&self, name: &TableName) -> Result<Arc<Table>> {
        if layout::is_hidden(name) {
            return Err(table_not_found(name));
        }
        let table = self.find_table(name).or_else(|error| self.await_table(name, error))?;
        if !table.is_enabled() {
            return Err(Error::new(
                ErrorKind::TableDisabled,
                format!("table {name} is disabled; enable it first"),
            ));
        }
        Ok(table)
    }

    /// Returns the open region with this encoded name, for a request that names its region. The
    /// time does not depend on the number of regions.
    ///
    /// # Errors
    /// `NoSuchRegion` if the region does not exist, no longer exists, or its table is disabled: the
    /// caller must look up the region of the row again.
    pub fn region(&self, encoded_name: &str) -> Result<Arc<Region>> {
        match self.regions.find(encoded_name) {
            Some(region) => region.check_open().map(|()| region),
            None => Err(region_not_found(encoded_name)),
        }
    }

    /// Returns the open region that a request names by its full name or by the name of a replica.
    /// Replicas are served by the same region here.
    ///
    /// # Errors
    /// As [`Engine::region`].
    pub fn region_by_name(&self, full_name: &[u8]) -> Result<Arc<Region>> {
        let encoded = RegionInfo::encoded_name_in(full_name).unwrap_or_default();
        match self.region(encoded) {
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => {
                primary_of(full_name).map_or(Err(error), |primary| self.region(&primary))
            }
            found => found,
        }
    }

    fn find_table(&self, name: &TableName) -> Result<Arc<Table>> {
        self.tables.load().get(name).cloned().ok_or_else(|| table_not_found(name))
    }

    /// Returns a table that is being created: the manifest, and so [`Self::descriptor`], has it
    /// before its regions are open. `error` is that of a table that does not exist.
    fn await_table(&self, name: &TableName, error: Error) -> Result<Arc<Table>> {
        if !self.shared.manifest.current().tables.contains_key(name) {
            return Err(error);
        }
        drop(self.lock_ddl()?);
        self.find_table(name)
    }

    /// Returns the descriptor of a table, enabled or not.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn descriptor(&self, name: &TableName) -> Result<Arc<TableDescriptor>> {
        Ok(Arc::clone(&self.shared.manifest.current().table(name)?.descriptor))
    }

    /// Returns the descriptors of all tables, by name.
    pub fn descriptors(&self) -> Vec<Arc<TableDescriptor>> {
        self.shared
            .manifest
            .current()
            .visible_tables()
            .map(|(_, table)| Arc::clone(&table.descriptor))
            .collect()
    }

    /// Returns `true` if a table is enabled.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn is_enabled(&self, name: &TableName) -> Result<bool> {
        Ok(self.shared.manifest.current().table(name)?.enabled)
    }

    /// Returns the names of the disabled tables.
    pub fn disabled_tables(&self) -> Vec<TableName> {
        self.disabled(|_| true)
    }

    /// Returns the disabled tables that were disabled on behalf of `holder`
    /// ([`Engine::disable_table_for`]).
    pub fn tables_disabled_for(&self, holder: &str) -> Vec<TableName> {
        self.disabled(|table| table.disabled_for == holder)
    }

    fn disabled(&self, is_wanted: impl Fn(&TableEntry) -> bool) -> Vec<TableName> {
        let catalog = self.shared.manifest.current();
        catalog
            .visible_tables()
            .filter(|(_, table)| !table.enabled && is_wanted(table))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Returns the bytes of the store files of a table, counted as in [`Engine::status`], which
    /// omits disabled tables. Reads the size of each file from the disk.
    ///
    /// # Errors
    /// `NoSuchTable`, or the file system's error.
    pub fn store_file_bytes(&self, name: &TableName) -> Result<u64> {
        let catalog = self.shared.manifest.current();
        let files = catalog.table(name)?.regions.iter().flat_map(|region| {
            region.files().map(move |(family, file)| (&region.info, family, file))
        });
        let bytes = |(region, family, file): (&Arc<RegionInfo>, &Bytes, &FileEntry)| {
            self.shared.files.bytes_of(region, family, file)
        };
        files.map(bytes).sum()
    }

    /// Returns the regions of a table in key order, enabled or not.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn regions(&self, name: &TableName) -> Result<Vec<RegionInfo>> {
        Ok(self
            .shared
            .manifest
            .current()
            .table(name)?
            .regions
            .iter()
            .map(|region| (*region.info).clone())
            .collect())
    }

    /// Returns the region with this encoded name, of an enabled or disabled table.
    ///
    /// # Errors
    /// `NoSuchRegion`.
    pub fn region_info(&self, encoded_name: &str) -> Result<RegionInfo> {
        if let Some(region) = self
            .regions
            .find(encoded_name)
            .filter(|region| !layout::is_hidden(&region.info().table))
        {
            return Ok(RegionInfo::clone(region.info()));
        }
        let catalog = self.shared.manifest.current();
        let mut regions = catalog.visible_tables().flat_map(|(_, table)| &table.regions);
        let found = regions
            .find(|region| region.info.encoded_name == encoded_name)
            .map(|region| RegionInfo::clone(&region.info));
        found.ok_or_else(|| region_not_found(encoded_name))
    }

    /// Returns all namespaces with their settings, by name.
    pub fn namespaces(&self) -> Vec<(String, Attributes)> {
        self.shared
            .manifest
            .current()
            .namespaces
            .iter()
            .map(|(name, entry)| (name.clone(), entry.settings.clone()))
            .collect()
    }

    /// Returns the settings of a namespace; `None` if it does not exist.
    pub fn namespace(&self, name: &str) -> Option<Attributes> {
        self.shared.manifest.current().namespaces.get(name).map(|entry| entry.settings.clone())
    }

    fn open_regions(&self) -> Vec<Arc<Region>> {
        self.tables
            .load()
            .values()
            .flat_map(|table| table.regions().iter().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Writes the memstores of a table's regions to files.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, a full disk or failed write.
    pub fn flush(&self, name: &TableName) -> Result<()> {
        for region in self.table(name)?.regions().iter() {
            region.flush()?;
        }
        Ok(())
    }

    /// As [`Engine::flush`], for these families only; for all if there are none.
    ///
    /// # Errors
    /// `NoSuchFamily`; as [`Engine::flush`].
    pub fn flush_families(&self, name: &TableName, families: &[Bytes]) -> Result<()> {
        if families.is_empty() {
            return self.flush(name);
        }
        for region in self.table(name)?.regions().iter() {
            region.flush_families(families)?;
        }
        Ok(())
    }

    /// Compacts a table's stores, or those of one family.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `NoSuchFamily`, a full disk or failed write.
    pub fn compact(
        &self,
        name: &TableName,
        family: Option<&Bytes>,
        kind: CompactionKind,
    ) -> Result<()> {
        for region in self.table(name)?.regions().iter() {
            match region.compact(family.map(|family| &family[..]), kind) {
                // The region was split or merged concurrently; its successors are compacted
                // automatically.
                Err(error) if error.kind() == ErrorKind::NoSuchRegion => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Returns the statistics of every open region and of the engine.
    pub fn status(&self) -> ClusterStatus {
        use std::sync::atomic::Ordering::Relaxed;
        let shared = &self.shared;
        ClusterStatus {
            servers: None,
            regions: self
                .open_regions()
                .iter()
                .filter(|region| !layout::is_hidden(&region.info().table))
                .map(|region| region.load())
                .collect(),
            block_cache_bytes: shared.cache.bytes(),
            block_cache_hits: shared.cache.hits(),
            block_cache_misses: shared.cache.misses(),
            wal_bytes: shared.wal.bytes_written(),
            flushed_bytes: shared.flushed_bytes.load(Relaxed),
            compacted_bytes: shared.compacted_bytes.load(Relaxed),
        }
    }

    /// Returns the counters and the size of the log.
    pub fn wal_stats(&self) -> WalStats<'_> {
        self.shared.wal.stats()
    }

    /// Returns durations and sizes of flushes and compactions.
    pub fn maintenance_stats(&self) -> &MaintenanceStats {
        &self.shared.maintenance_stats
    }

    /// Returns the block cache hits and misses of a block kind.
    pub fn block_cache_stats(&self, kind: BlockKind) -> &CacheStats {
        self.shared.cache.stats(kind)
    }

    /// Returns the numbers of queued flushes and compactions.
    pub fn queue_lengths(&self) -> (u64, u64) {
        self.shared.scheduler.queue_lengths()
    }

    /// Returns the reason that the store rejects writes until it is reopened; `None` if it accepts
    /// writes or will recover. Does not access the disk.
    pub fn write_failure(&self) -> Option<Error> {
        self.shared.write_failure().err()
    }

    /// Returns the error of the last background compaction; `None` if it succeeded.
    pub fn compaction_failure(&self) -> Option<Error> {
        self.shared.scheduler.compaction_failure()
    }

    /// Returns the error of the last background flush; `None` if it succeeded. Writers receive the
    /// error when memory runs full.
    pub fn flush_failure(&self) -> Option<Error> {
        self.shared.scheduler.flush_failure()
    }

    /// Makes tasks that await a [`crate::CommitTicket`] wait for [`Engine::step_wal`] from now on,
    /// as they wait for the writer thread where there is one. For environments without threads: a
    /// simulation thereby has writes that are applied and not durable.
    pub fn hold_wal(&self) {
        self.shared.wal.set_threaded();
    }

    /// Runs one step of the log's writer thread on this thread, after [`Engine::hold_wal`]; returns
    /// `true` if there was work.
    pub fn step_wal(&self) -> bool {
        self.shared.wal.step()
    }

    /// Returns the time of the clock that stamps cells, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.shared.env.clock.now_ms()).unwrap_or(0)
    }

    /// Returns the clock that stamps cells.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.env.clock
    }

    /// Flushes everything, removes the log and releases the directory. Only live files remain.
    ///
    /// # Errors
    /// A full disk or failed write. Acknowledged writes are then in the log for the next opening.
    pub fn close(self: Arc<Self>) -> Result<()> {
        self.stop_threads();
        #[cfg(feature = "heat")]
        self.store_open_heat();
        let _ddl = self.ddl.lock();
        for region in self.open_regions() {
            // A compaction started by another thread finishes first.
            let _compaction = region.lock_compaction();
            region.flush()?;
            region.close();
            // Flushes the writes made between the two calls.
            region.flush()?;
            region.stop_serving();
        }
        self.shared.wal.close()?;
        self.complete_checkpoint()
    }

    /// Records the checkpoint. Everything is in store files and the log is empty, so files set
    /// aside earlier are no longer needed.
    fn complete_checkpoint(&self) -> Result<()> {
        if quarantine::batches(&self.shared.env, &self.shared.manifest.current())?
            .1
            .iter()
            .all(|path| quarantine::is_unlogged(path))
        {
            return Ok(());
        }
        self.shared.manifest.change(|catalog| {
            catalog.checkpoint = catalog.generation;
            Ok(())
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The last handle may be held by one of the threads, which cannot join itself. It ends at
        // its next check of the queue.
        self.shared.scheduler.close();
        self.shared.wal.stop();
    }
}

/// Returns the error for a region that is not open here.
#[cold]
fn region_not_found(name: &str) -> Error {
    Error::new(
        ErrorKind::NoSuchRegion,
        format!("there is no open region {name}; list the regions of the table for their names"),
    )
}
