//! An engine: the tables, regions and log of one directory. `open.rs` brings it up, `ddl.rs` changes tables,
//! `split.rs` splits and merges regions, `snapshot.rs` takes snapshots and `copy.rs` makes tables of them, `table.rs` reads
//! and writes across the regions of a table.

mod additions;
mod control;
mod copy;
mod ddl;
pub(crate) mod directory;
mod jobs;
mod meta;
pub(crate) mod open;
pub(crate) mod quarantine;
mod region_index;
mod settings;
mod snapshot;
mod split;
mod staging;
mod table;
pub(crate) mod table_info;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use halite_types::{Attributes, Bytes, ClusterStatus, CompactionKind, Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};

use crate::background::closing;
use crate::cache::BlockLookups;
use crate::catalog::layout::{self, primary_of};
use crate::catalog::{FileEntry, TableEntry, no_table};
use crate::env::{Clock, JoinHandle};
use crate::heal::Healed;
use crate::health::Health;
use crate::hfile::BlockKind;
use crate::options::Options;
use crate::region::Region;
use crate::shared::Shared;
use crate::upkeep::UpkeepFigures;
use crate::wal::{LogFigures, Nonce};

pub use meta::MetaView;
pub use open::OpenReport;
use region_index::RegionIndex;
pub use table::{Table, TableScanner};

/// The store of one directory. Dropping it without [`Engine::close`] is like the death of the process: the next
/// opening reads the log.
pub struct Engine {
    shared: Arc<Shared>,
    /// All tables by name; swapped whole.
    tables: ArcSwap<BTreeMap<TableName, Arc<Table>>>,
    /// The open regions of all tables by encoded name.
    regions: Arc<RegionIndex>,
    meta: meta::Meta,
    /// Held by whoever changes what tables or regions there are.
    ddl: Mutex<()>,
    threads: Mutex<Vec<Box<dyn JoinHandle>>>,
    report: OpenReport,
    /// Until somebody asks for them.
    replayed_nonces: Mutex<Vec<Nonce>>,
}

impl Engine {
    /// The right to change what tables and regions there are; refused once the engine is being closed.
    fn lock_ddl(&self) -> Result<MutexGuard<'_, ()>> {
        let ddl = self.ddl.lock().healed();
        if self.shared.background.is_closing() {
            return Err(closing());
        }
        self.shared.lock.check()?;
        Ok(ddl)
    }

    /// What the engine was told at opening.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// What opening found and did.
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The nonces of the writes that the log held when the store was opened, and those kept for [`Options::nonce_ms`] after that;
    /// newest first and a million at most; once. A client that got no answer to such a write sends it again, and it has been
    /// applied.
    pub fn take_replayed_nonces(&self) -> Vec<Nonce> {
        std::mem::take(&mut *self.replayed_nonces.lock().healed())
    }

    /// The id of the store, a UUID made when the directory was (HBase: the cluster's id).
    pub fn id(&self) -> String {
        layout::uuid_text(&self.shared.manifest.current().store_id)
    }

    /// A table to read and write.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`.
    pub fn table(&self, name: &TableName) -> Result<Arc<Table>> {
        let table = self.find_table(name)?;
        if !table.is_enabled() {
            return Err(Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled; enable it first")));
        }
        Ok(table)
    }

    /// The open region of that encoded name, for a request that names its region. Takes the same time however many there
    /// are.
    ///
    /// # Errors
    /// `NoSuchRegion` if there is none, or not any more, or its table is disabled: the region of a row is to be looked up
    /// again.
    pub fn region(&self, encoded_name: &str) -> Result<Arc<Region>> {
        match self.regions.find(encoded_name) {
            Some(region) => region.check_open().map(|()| region),
            None => Err(no_region(encoded_name)),
        }
    }

    /// The open region that a request names by its whole name or that of one of its replicas, which are the same place here.
    ///
    /// # Errors
    /// As [`Engine::region`].
    pub fn region_named(&self, full_name: &[u8]) -> Result<Arc<Region>> {
        let encoded = RegionInfo::encoded_name_in(full_name).unwrap_or_default();
        match self.region(encoded) {
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => primary_of(full_name).map_or(Err(error), |primary| self.region(&primary)),
            found => found,
        }
    }

    fn find_table(&self, name: &TableName) -> Result<Arc<Table>> {
        self.tables.load().get(name).cloned().ok_or_else(|| no_table(name))
    }

    /// The descriptor of a table, enabled or not.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn descriptor(&self, name: &TableName) -> Result<Arc<TableDescriptor>> {
        Ok(Arc::clone(&self.shared.manifest.current().table(name)?.descriptor))
    }

    /// The descriptors of all tables, by name.
    pub fn descriptors(&self) -> Vec<Arc<TableDescriptor>> {
        self.shared.manifest.current().listed().map(|(_, table)| Arc::clone(&table.descriptor)).collect()
    }

    /// Whether a table is enabled.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn is_enabled(&self, name: &TableName) -> Result<bool> {
        Ok(self.shared.manifest.current().table(name)?.enabled)
    }

    /// The tables that are disabled, by name.
    pub fn disabled_tables(&self) -> Vec<TableName> {
        self.disabled(|_| true)
    }

    /// Those of them that were disabled on behalf of `holder` ([`Engine::disable_table_for`]).
    pub fn tables_disabled_for(&self, holder: &str) -> Vec<TableName> {
        self.disabled(|table| table.disabled_for == holder)
    }

    fn disabled(&self, is_wanted: impl Fn(&TableEntry) -> bool) -> Vec<TableName> {
        let catalog = self.shared.manifest.current();
        catalog.listed().filter(|(_, table)| !table.enabled && is_wanted(table)).map(|(name, _)| name.clone()).collect()
    }

    /// Bytes of the store files of a table, counted as in [`Engine::status`], where a disabled one has no place. The disk is asked for
    /// each file.
    ///
    /// # Errors
    /// `NoSuchTable`, or the file system's.
    pub fn store_file_bytes(&self, name: &TableName) -> Result<u64> {
        let catalog = self.shared.manifest.current();
        let files = catalog.table(name)?.regions.iter().flat_map(|region| region.files().map(move |(family, file)| (&region.info, family, file)));
        let bytes = |(region, family, file): (&Arc<RegionInfo>, &Bytes, &FileEntry)| self.shared.files.bytes_of(region, family, file);
        files.map(bytes).sum()
    }

    /// The regions of a table in key order, enabled or not.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn regions(&self, name: &TableName) -> Result<Vec<RegionInfo>> {
        Ok(self.shared.manifest.current().table(name)?.regions.iter().map(|region| (*region.info).clone()).collect())
    }

    /// The region of that encoded name, of an enabled table or a disabled one.
    ///
    /// # Errors
    /// `NoSuchRegion`.
    pub fn region_info(&self, encoded_name: &str) -> Result<RegionInfo> {
        if let Some(region) = self.regions.find(encoded_name).filter(|region| !layout::is_hidden(&region.info().table)) {
            return Ok(RegionInfo::clone(region.info()));
        }
        let catalog = self.shared.manifest.current();
        let mut regions = catalog.listed().flat_map(|(_, table)| &table.regions);
        let found = regions.find(|region| region.info.encoded_name == encoded_name).map(|region| RegionInfo::clone(&region.info));
        found.ok_or_else(|| no_region(encoded_name))
    }

    /// All namespaces with their settings, by name.
    pub fn namespaces(&self) -> Vec<(String, Attributes)> {
        self.shared.manifest.current().namespaces.iter().map(|(name, entry)| (name.clone(), entry.settings.clone())).collect()
    }

    /// The settings of a namespace; `None` if there is none of that name.
    pub fn namespace(&self, name: &str) -> Option<Attributes> {
        self.shared.manifest.current().namespaces.get(name).map(|entry| entry.settings.clone())
    }

    fn open_regions(&self) -> Vec<Arc<Region>> {
        self.tables.load().values().flat_map(|table| table.regions().iter().cloned().collect::<Vec<_>>()).collect()
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

    /// Compacts a table's stores, or those of one family.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `NoSuchFamily`, a full disk or failed write.
    pub fn compact(&self, name: &TableName, family: Option<&Bytes>, kind: CompactionKind) -> Result<()> {
        for region in self.table(name)?.regions().iter() {
            match region.compact(family.map(|family| &family[..]), kind) {
                // It was split or merged meanwhile; its successors are compacted by themselves.
                Err(error) if error.kind() == ErrorKind::NoSuchRegion => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// The figures of every open region and of the whole.
    pub fn status(&self) -> ClusterStatus {
        use std::sync::atomic::Ordering::Relaxed;
        let shared = &self.shared;
        ClusterStatus {
            regions: self.open_regions().iter().filter(|region| !layout::is_hidden(&region.info().table)).map(|region| region.load()).collect(),
            block_cache_bytes: shared.cache.bytes(),
            block_cache_hits: shared.cache.hits(),
            block_cache_misses: shared.cache.misses(),
            wal_bytes: shared.wal.bytes_written(),
            flushed_bytes: shared.flushed_bytes.load(Relaxed),
            compacted_bytes: shared.compacted_bytes.load(Relaxed),
        }
    }

    /// What the log has done, and what there is of it.
    pub fn log_figures(&self) -> LogFigures<'_> {
        self.shared.wal.figures()
    }

    /// How long flushes and compactions took, and how much they read and wrote.
    pub fn upkeep_figures(&self) -> &UpkeepFigures {
        &self.shared.upkeep
    }

    /// How often blocks of a kind were found in the block cache, and how often not.
    pub fn block_lookups(&self, kind: BlockKind) -> &BlockLookups {
        self.shared.cache.lookups(kind)
    }

    /// How many flushes wait to be done, and how many compactions.
    pub fn queue_lengths(&self) -> (u64, u64) {
        self.shared.background.lengths()
    }

    /// Whether the store takes writes. This looks at the disk: a system call.
    pub fn health(&self) -> Health {
        Health::of(&self.shared)
    }

    /// Why the store takes no writes until it is opened again; `None` while it does, or will. Asks the disk nothing.
    pub fn write_failure(&self) -> Option<Error> {
        self.shared.write_failure().err()
    }

    /// Why the last compaction in the background failed; `None` when it did not.
    pub fn compaction_failure(&self) -> Option<Error> {
        self.shared.background.compaction_failure()
    }

    /// Why the last flush in the background failed; `None` when it did not. Writers are told when memory runs full.
    pub fn flush_failure(&self) -> Option<Error> {
        self.shared.background.failure()
    }

    /// Does one piece of background work on this thread; whether there was any. Where the environment has threads they
    /// do this.
    ///
    /// # Errors
    /// What the work met; it stays to be done.
    pub fn step(&self) -> Result<bool> {
        match self.shared.background.take() {
            None => Ok(false),
            Some(job) => jobs::run(&self.shared, self, job).map(|()| true),
        }
    }

    /// Where the environment has no threads: tasks that await a [`crate::CommitTicket`] wait for [`Engine::step_log`] from now
    /// on, as they wait for the log's own thread where there is one. So a simulation has writes that are applied and not durable.
    pub fn hold_log(&self) {
        self.shared.wal.set_threaded();
    }

    /// Does one turn of the work of the log's thread on this one, after [`Engine::hold_log`]; whether there was any.
    pub fn step_log(&self) -> bool {
        self.shared.wal.step()
    }

    /// The time of the clock that stamps cells, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.shared.env.clock.now_ms()).unwrap_or(0)
    }

    /// That clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.env.clock
    }

    /// Flushes everything, takes the log away and lets the directory go. What is left are live files only.
    ///
    /// # Errors
    /// A full disk or failed write. What was acknowledged is in the log then, for the next opening.
    pub fn close(self: Arc<Self>) -> Result<()> {
        self.stop_threads();
        let _ddl = self.ddl.lock().healed();
        for region in self.open_regions() {
            // A compaction that somebody else began comes to its end first.
            let _compaction = region.lock_compaction();
            region.flush()?;
            region.close();
            // What was written between the two.
            region.flush()?;
            region.leave();
        }
        self.shared.wal.close()?;
        self.complete_checkpoint()
    }

    /// Everything is in store files, and the log is empty: what was set aside before is not needed by anything any more.
    fn complete_checkpoint(&self) -> Result<()> {
        if quarantine::batches(&self.shared.env, &self.shared.manifest.current())?.1.iter().all(|path| quarantine::is_unlogged(path)) {
            return Ok(());
        }
        self.shared.manifest.change(|catalog| {
            catalog.checkpoint = catalog.generation;
            Ok(())
        })
    }

    /// Ends the engine's threads after the work they are at. What is in memory stays in the log for the next opening.
    pub fn stop_threads(&self) {
        self.shared.background.close();
        self.shared.wal.stop();
        let threads = std::mem::take(&mut *self.threads.lock().healed());
        threads.into_iter().for_each(JoinHandle::join);
    }

    /// Starts the threads of the engine, where the environment has any.
    fn start_threads(self: &Arc<Self>) -> Result<()> {
        let failed = |error| Error::io("starting a thread of the engine", error);
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| self.shared.env.threads.spawn(name, work).map_err(failed);
        let mut threads = Vec::new();
        let wal = Arc::clone(&self.shared.wal);
        threads.extend(spawn("halite-wal", Box::new(move || wal.run()))?);
        if !threads.is_empty() {
            self.shared.wal.set_threaded();
        }
        for (name, flushes) in [("halite-flush", true), ("halite-compact", false)] {
            // Not the engine itself, or it would never be dropped.
            let (shared, engine) = (Arc::clone(&self.shared), Arc::downgrade(self));
            let work = move || {
                let mut pause = jobs::PAUSE_MIN;
                while let Some(job) = shared.background.wait(flushes) {
                    let Some(engine) = engine.upgrade() else { return };
                    // A failure is noted where those who depend on it find it.
                    let Some(again) = jobs::run_and_keep(&shared, &engine, job) else {
                        pause = jobs::PAUSE_MIN;
                        continue;
                    };
                    // The pause must not keep the engine alive.
                    drop(engine);
                    shared.background.pause(pause);
                    pause = (pause * 2).min(jobs::PAUSE_MAX);
                    again.request(&shared);
                }
            };
            threads.extend(spawn(name, Box::new(work))?);
        }
        if !threads.is_empty() {
            self.shared.background.set_threads();
        }
        *self.threads.lock().healed() = threads;
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The last handle may be a thread's own, which cannot wait for itself; it ends with its next look at the list.
        self.shared.background.close();
        self.shared.wal.stop();
    }
}

/// The error that a region is not here.
#[cold]
fn no_region(name: &str) -> Error {
    Error::new(ErrorKind::NoSuchRegion, format!("there is no open region {name}; list the regions of the table for their names"))
}
