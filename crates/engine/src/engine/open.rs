//! Opening a directory: lock, manifest, store files, remains of a crash, log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE};
use halite_types::{Error, Result};

use super::coverage::RegionCoverage;
use super::directory::{self, DirectoryContent};
use super::open_report::{OpenReport, unknown_encodings};
use super::region_watch::RegionWatch;
use super::small_file::write_small;
use super::{Engine, RegionIndex, Table, obsolete_files, quarantine, table_info};
use crate::block_cache::BlockCache;
use crate::catalog::{Catalog, Manifest, NamespaceEntry, layout};
use crate::compaction::CompactionPace;
use crate::disk_room::DiskRoom;
use crate::env::Env;
use crate::events::EventLog;
use crate::maintenance_stats::MaintenanceStats;
use crate::operation_log::OperationLog;
use crate::options::{Options, WalSync};
use crate::ranked_lock::{LockRank, RankedMutex};
use crate::region::{RecentStamps, Region};
use crate::scheduler::JobScheduler;
use crate::shared::EngineInner;
use crate::store::{FileArchiver, StoreFiles};
use crate::store_lock::StoreLock;
use crate::wal::{self, Nonce, RecoveryOptions, Wal, WalOptions};

/// Nanoseconds that opening a store takes at most to read indexes and Bloom filters.
const OPENING_PREFETCH_NS: u64 = 100_000_000;

impl Engine {
    /// Opens the store in the directory of `env`, or creates one in an empty directory.
    ///
    /// # Errors
    /// `Locked` if another process holds it; `ReadOnly`, `Corrupt`, `NewerFormat`; `InvalidRequest`
    /// for invalid options or a directory that is something else; or the file system's error.
    pub fn open(env: Env, options: Options) -> Result<Arc<Self>> {
        options.check()?;
        let root = env.fs.root();
        // Nothing is created before the directory is known to be a store or empty.
        if directory::examine(&env)? == DirectoryContent::Nothing {
            make_directory(&env, layout::HALITE)?;
        }
        let lock = Arc::new(StoreLock::take(&env)?);
        // Another process may have created a store between the check and the lock.
        let created = directory::examine(&env)? == DirectoryContent::Nothing;
        let mut report = OpenReport {
            created,
            exposed_directories: directory::exposed(&env),
            ..OpenReport::default()
        };
        let manifest = if created {
            create_store(&env, &lock)?
        } else {
            Manifest::load(&env, Arc::clone(&lock))?
        };
        let catalog = manifest.current();
        report.unknown_encodings = unknown_encodings(&catalog);
        let store_id = catalog.store_id;
        directory::check_identity(&env, store_id)?;
        let disk = Arc::new(DiskRoom::new(&env, options.disk_reserve_bytes));
        let wal_options = WalOptions {
            fsync: options.wal_sync == WalSync::Fsync,
            segment_bytes: options.wal_segment_bytes,
            // A buffer is written to one segment.
            max_buffer_bytes: (disk
                .segment_bytes(options.wal_segment_bytes)
                .clamp(1 << 20, 16 << 20)) as usize,
            nonce_grace_period_ms: options.nonce_grace_period_ms,
        };
        // The log is read after the regions are opened, but regions hold a reference to it: its
        // contents are passed to it then.
        let wal = Arc::new(Wal::new(
            env.clone(),
            wal_options,
            store_id,
            Arc::clone(&lock),
            Arc::clone(&disk),
        ));
        let cache = Arc::new(BlockCache::new(options.block_cache_bytes));
        let shared = Arc::new(EngineInner {
            files: StoreFiles::new(env.clone(), store_id, Arc::clone(&cache)),
            cache,
            scheduler: JobScheduler::default(),
            stamps: RecentStamps::default(),
            archiver: RankedMutex::new(LockRank::Archiver, FileArchiver::default()),
            flushed_bytes: AtomicU64::new(0),
            compacted_bytes: AtomicU64::new(0),
            maintenance_stats: MaintenanceStats::default(),
            events: EventLog::default(),
            compaction_pace: CompactionPace::default(),
            operation_log: Arc::new(OperationLog::new(&options, &env)),
            disk,
            wal,
            manifest,
            options,
            env,
            lock,
        });
        let regions = Arc::new(RegionIndex::default());
        let tables = open_tables(&shared, &regions, &catalog)?;
        let leftovers = obsolete_files::find_obsolete_files(&shared.env, &catalog)
            .map_err(|error| error.at(format!("opening {root}")))?;
        leftovers
            .check(&shared.env, &shared.manifest)
            .map_err(|error| error.at(format!("opening {root}")))?;
        let (nonces, covered) = replay(&shared, &tables, &mut report)?;
        // All checks have passed: files are moved from here on.
        let nowhere_else = leftovers.nowhere_else(&shared.env, &catalog, &covered);
        report.unlogged_files = nowhere_else.len() as u64;
        obsolete_files::remove_obsolete_files(&shared, leftovers, &nowhere_else, &mut report)
            .map_err(|error| error.at(format!("opening {root}")))?;
        table_info::reconcile(&shared.env, &shared.manifest.current());
        // Operation continues without a copy; the next opening creates one.
        let _ = shared.manifest.keep_copy();
        report.damaged_files = tables.values().flat_map(|table| table.damaged_files()).collect();
        // A quarantined file may be one that a damaged file was merged from.
        if report.damaged_files.is_empty() {
            shared
                .scheduler
                .request_removals(quarantine::batches(&shared.env, &shared.manifest.current())?.0);
        }
        let engine = Arc::new(Self {
            shared,
            tables: ArcSwap::from_pointee(tables),
            regions,
            meta: super::meta::Meta::default(),
            ddl: RankedMutex::new(LockRank::Ddl, ()),
            threads: Mutex::new(Vec::new()),
            region_watch: RegionWatch::default(),
            #[cfg(feature = "heat")]
            heat: super::heat::state::HeatState::default(),
            open_report: report,
            replayed_nonces: Mutex::new(nonces),
        });
        engine.record_opening();
        engine.prefetch_indexes();
        engine.start_threads()?;
        Ok(engine)
    }

    /// Reads the indexes and Bloom filters of large files for [`OPENING_PREFETCH_NS`] at most. What
    /// remains is read in the background, where gets compete with it for the disk.
    fn prefetch_indexes(&self) {
        let clock = &self.shared.env.clock;
        let end = clock.monotonic_ns().saturating_add(OPENING_PREFETCH_NS);
        for region in self.open_regions() {
            region.prefetch_indexes(|| clock.monotonic_ns() < end);
        }
    }
}

fn make_directory(env: &Env, path: &str) -> Result<()> {
    env.fs
        .create_dir_all(path)
        .map_err(|error| Error::io(format!("making directory {}/{path}", env.fs.root()), error))
}

/// Creates a new store in a directory that contains nothing else.
fn create_store(env: &Env, lock: &Arc<StoreLock>) -> Result<Manifest> {
    let root = env.fs.root();
    let failed = |error| Error::io(format!("creating a store in {root}"), error);
    directory::begin_creation(env)?;
    let store_id = layout::random_uuid(env);
    for namespace in [DEFAULT_NAMESPACE, SYSTEM_NAMESPACE] {
        make_directory(env, &format!("{}/{namespace}", layout::DATA))?;
    }
    write_small(env, layout::ID, &directory::id_file(&store_id))?;
    write_small(env, layout::VERSION, &directory::version_file())?;
    for directory in [layout::DATA, layout::HALITE, ""] {
        env.fs.sync_dir(directory).map_err(failed)?;
    }
    let namespaces = [DEFAULT_NAMESPACE, SYSTEM_NAMESPACE]
        .map(|name| (name.to_owned(), NamespaceEntry::default()));
    Manifest::create(
        env,
        Arc::clone(lock),
        Catalog {
            store_id,
            generation: 1,
            namespaces: BTreeMap::from(namespaces),
            ..Catalog::default()
        },
    )
}

fn open_tables(
    shared: &Arc<EngineInner>,
    index: &Arc<RegionIndex>,
    catalog: &Catalog,
) -> Result<BTreeMap<halite_types::TableName, Arc<Table>>> {
    let mut tables = BTreeMap::new();
    let mut all = Vec::new();
    for (name, entry) in &catalog.tables {
        let open = |region| Region::open(shared, Arc::clone(&entry.descriptor), region);
        // A disabled table has all its cells in files, and is opened when it is enabled.
        let entries = if entry.enabled { &entry.regions[..] } else { &[] };
        let regions = entries.iter().map(open).collect::<Result<Vec<_>>>()?;
        regions.iter().for_each(|region| shared.scheduler.add_region(region));
        all.extend(regions.iter().cloned());
        tables.insert(
            name.clone(),
            Arc::new(Table::new(
                Arc::clone(shared),
                Arc::clone(index),
                Arc::clone(&entry.descriptor),
                entry.enabled,
                regions,
            )),
        );
    }
    index.replace(&[], &all);
    Ok(tables)
}

/// Replays the log into the memstores, which use no more memory than before, and requests flushes
/// of large ones. Returns the nonces of the replayed writes, and the coverage of each region by
/// files and the log, by encoded name.
fn replay(
    shared: &Arc<EngineInner>,
    tables: &BTreeMap<halite_types::TableName, Arc<Table>>,
    report: &mut OpenReport,
) -> Result<(Vec<Nonce>, BTreeMap<String, RegionCoverage>)> {
    let regions: BTreeMap<u64, Arc<Region>> = tables
        .values()
        .flat_map(|table| table.regions().iter().cloned().collect::<Vec<_>>())
        .map(|region| (region.number, region))
        .collect();
    // The manifest was read from the operating system's memory. If its name was never synced, a
    // power loss restores the previous one, which needs the log segments that this one releases.
    let root = shared.env.fs.root();
    shared
        .env
        .fs
        .sync_dir(layout::HALITE)
        .map_err(|error| Error::io(format!("syncing {root}/{}", layout::HALITE), error))?;
    let (store_id, options) = (shared.manifest.current().store_id, &shared.options);
    let how = RecoveryOptions {
        store_id,
        mode: options.wal_recovery,
        nonce_grace_period_ms: options.nonce_grace_period_ms,
    };
    let catalog = shared.manifest.current();
    let newest_region = catalog.next_region;
    let flushed = catalog.flushed_sequences();
    let named = || catalog.tables.values().flat_map(|table| &table.regions);
    let mut covered: BTreeMap<u64, RegionCoverage> =
        named().map(|region| (region.number, RegionCoverage::of_files(region))).collect();
    let mut recovered = wal::recover(&shared.env, &how, |write| {
        if write.region > newest_region {
            let what = format!(
                "its newest region has the number {newest_region}, while the log holds writes of \
                 region {}",
                write.region
            );
            return Err(shared.manifest.is_older(&what));
        }
        if let Some(covered) = covered.get_mut(&write.region) {
            covered.record(write.sequence);
        }
        // A removed or disabled region was flushed, split or dropped: its writes are no longer
        // needed.
        match regions.get(&write.region) {
            Some(region) => region.replay(write.sequence, write.cells),
            None => Ok(()),
        }
    })?;
    report.replayed_writes = recovered.writes;
    report.wal_truncations = std::mem::take(&mut recovered.truncations);
    report.truncated_wal_bytes = report.wal_truncations.iter().map(|cut| cut.bytes).sum();
    report.truncated_wal_writes = report.wal_truncations.iter().map(|cut| cut.writes).sum();
    let nonces = std::mem::take(&mut recovered.nonces).into();
    let in_log: BTreeSet<u64> =
        recovered.segments.iter().flat_map(|segment| segment.regions.keys().copied()).collect();
    shared.wal.resume(recovered);
    shared.wal.mark_all_flushed(
        in_log
            .into_iter()
            .map(|number| (number, flushed.get(&number).copied().unwrap_or(u64::MAX))),
    );
    for region in regions.values() {
        region.finish_recovery();
        shared.record_write(region);
    }
    let covered = named()
        .filter_map(|region| {
            Some((region.info.encoded_name.clone(), covered.remove(&region.number)?))
        })
        .collect();
    Ok((nonces, covered))
}
