//! Opening a directory: lock, manifest, store files, what a crash left behind, log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE};
use halite_types::{Error, Result};

use super::directory::{self, Found};
use super::tree::Covered;
use super::{Engine, RegionIndex, Table, quarantine, table_info, tree};
use crate::background::Background;
use crate::cache::BlockCache;
use crate::catalog::{Catalog, Manifest, NamespaceEntry, layout};
use crate::disk_room::DiskRoom;
use crate::env::Env;
use crate::options::{Options, WalSync};
use crate::region::{RecentStamps, Region};
use crate::shared::Shared;
use crate::store::StoreFiles;
use crate::store_lock::StoreLock;
use crate::upkeep::UpkeepFigures;
use crate::wal::{self, LogCut, Nonce, RecoveryOptions, Wal, WalOptions};

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// The directory held no store before.
    pub created: bool,
    /// Writes read back from the log; 0 after a clean close.
    pub replayed_writes: u64,
    /// Bytes of the log that were left out: a torn end, which was never acknowledged, or damage that was to be skipped.
    pub cut_bytes: u64,
    /// Whole writes in them.
    pub cut_writes: u64,
    /// Each place of the log where bytes were left out.
    pub cuts: Vec<LogCut>,
    /// Files that an unfinished flush or compaction was writing, now removed.
    pub removed_files: u64,
    /// Files of the store that the manifest does not name, now in [`Self::quarantine`]: mostly what a crash left behind.
    pub quarantined_files: u64,
    /// Their bytes.
    pub quarantined_bytes: u64,
    /// The directory they were moved to, from the root. It goes at the opening after the next clean end, unless there are
    /// [`Self::unlogged_files`]: then it is the one of these, and stays until they are put back or a person removes it.
    pub quarantine: Option<String>,
    /// Of them, files with cells that neither the log nor another file has. A crash leaves such a file if writes skipped the
    /// log, or were not synced when the power went; otherwise the manifest is an older one.
    pub unlogged_files: u64,
    /// Directories of the store that others than its owner may enter. New ones are made for the owner only; the modes of those
    /// that are there stay as they are.
    pub exposed_directories: Vec<String>,
}

impl Engine {
    /// Opens the store in the directory of `env`, or creates one in an empty directory.
    ///
    /// # Errors
    /// `Locked` if another process holds it, `ReadOnly`, `Corrupt`, `NewerFormat`, `InvalidRequest` for options or a
    /// directory that is something else, or the file system's.
    pub fn open(env: Env, options: Options) -> Result<Arc<Self>> {
        options.check()?;
        let root = env.fs.root();
        // Nothing is created before it is certain that nothing else is here.
        if directory::examine(&env)? == Found::Nothing {
            make_directory(&env, layout::HALITE)?;
        }
        let lock = Arc::new(StoreLock::take(&env)?);
        // Another process may have created a store between the two.
        let created = directory::examine(&env)? == Found::Nothing;
        let mut report = OpenReport { created, exposed_directories: directory::exposed(&env), ..OpenReport::default() };
        let manifest = if created { create_store(&env, &lock)? } else { Manifest::load(&env, Arc::clone(&lock))? };
        let catalog = manifest.current();
        let store_id = catalog.store_id;
        directory::check_identity(&env, store_id)?;
        let disk = Arc::new(DiskRoom::new(&env, options.disk_reserve_bytes));
        let wal_options = WalOptions {
            fsync: options.wal_sync == WalSync::Fsync,
            segment_bytes: options.wal_segment_bytes,
            // A buffer is written to one segment.
            buffer_bytes_max: (disk.segment_bytes(options.wal_segment_bytes).clamp(1 << 20, 16 << 20)) as usize,
            nonce_ms: options.nonce_ms,
        };
        // The log is read after the regions are open, but they hold it: what it found is handed in then.
        let wal = Arc::new(Wal::new(env.clone(), wal_options, store_id, Arc::clone(&lock), Arc::clone(&disk)));
        let cache = Arc::new(BlockCache::new(options.block_cache_bytes));
        let shared = Arc::new(Shared {
            files: StoreFiles::new(env.clone(), store_id, Arc::clone(&cache)),
            cache,
            background: Background::default(),
            stamps: RecentStamps::default(),
            placing: Mutex::default(),
            flushed_bytes: AtomicU64::new(0),
            compacted_bytes: AtomicU64::new(0),
            upkeep: UpkeepFigures::default(),
            disk,
            wal,
            manifest,
            options,
            env,
            lock,
        });
        let regions = Arc::new(RegionIndex::default());
        let tables = open_tables(&shared, &regions, &catalog)?;
        let leftovers = tree::survey(&shared.env, &catalog).map_err(|error| error.at(format!("opening {root}")))?;
        leftovers.check(&shared.env, &shared.manifest).map_err(|error| error.at(format!("opening {root}")))?;
        let (nonces, covered) = replay(&shared, &tables, &mut report)?;
        // Everything has been found in order: from here on things are moved.
        let nowhere_else = leftovers.nowhere_else(&shared.env, &catalog, &covered);
        report.unlogged_files = nowhere_else.len() as u64;
        tree::clear(&shared, leftovers, &nowhere_else, &mut report).map_err(|error| error.at(format!("opening {root}")))?;
        table_info::follow(&shared.env, &shared.manifest.current());
        // Without a copy everything goes on; the next opening makes one.
        let _ = shared.manifest.keep_copy();
        shared.background.request_removals(quarantine::batches(&shared.env, &shared.manifest.current())?.0);
        let engine = Arc::new(Self {
            shared,
            tables: ArcSwap::from_pointee(tables),
            regions,
            meta: super::meta::Meta::default(),
            ddl: Mutex::new(()),
            threads: Mutex::new(Vec::new()),
            report,
            replayed_nonces: Mutex::new(nonces),
        });
        engine.start_threads()?;
        Ok(engine)
    }
}

fn make_directory(env: &Env, path: &str) -> Result<()> {
    env.fs.create_dir_all(path).map_err(|error| Error::io(format!("making directory {}/{path}", env.fs.root()), error))
}

/// Lays out a new store in a directory that holds nothing else.
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
    let namespaces = [DEFAULT_NAMESPACE, SYSTEM_NAMESPACE].map(|name| (name.to_owned(), NamespaceEntry::default()));
    Manifest::create(env, Arc::clone(lock), Catalog { store_id, generation: 1, namespaces: BTreeMap::from(namespaces), ..Catalog::default() })
}

/// Writes a small file as a whole and syncs it; the caller syncs the directory.
pub(crate) fn write_small(env: &Env, path: &str, bytes: &[u8]) -> Result<()> {
    let failed = |error| Error::io(format!("writing {}/{path}", env.fs.root()), error);
    // A link that leads nowhere is in the way as well.
    if env.fs.kind(path).map_err(failed)?.is_some() {
        env.fs.remove_file(path).map_err(failed)?;
    }
    let mut file = env.fs.create(path).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync()).map_err(failed)
}

fn open_tables(shared: &Arc<Shared>, index: &Arc<RegionIndex>, catalog: &Catalog) -> Result<BTreeMap<halite_types::TableName, Arc<Table>>> {
    let mut tables = BTreeMap::new();
    let mut all = Vec::new();
    for (name, entry) in &catalog.tables {
        let open = |region| Region::open(shared, Arc::clone(&entry.descriptor), region);
        // A disabled table has all its cells in files, and is opened when it is enabled.
        let entries = if entry.enabled { &entry.regions[..] } else { &[] };
        let regions = entries.iter().map(open).collect::<Result<Vec<_>>>()?;
        regions.iter().for_each(|region| shared.background.add_region(region));
        all.extend(regions.iter().cloned());
        tables
            .insert(name.clone(), Arc::new(Table::new(Arc::clone(shared), Arc::clone(index), Arc::clone(&entry.descriptor), entry.enabled, regions)));
    }
    index.replace(&[], &all);
    Ok(tables)
}

/// Reads the log back into the memstores, which take no more than they did before, and asks for flushes where they are
/// large. Gives back the nonces of what it read, and what
/// files and the log have of the cells of each region, by encoded name.
fn replay(
    shared: &Arc<Shared>,
    tables: &BTreeMap<halite_types::TableName, Arc<Table>>,
    report: &mut OpenReport,
) -> Result<(Vec<Nonce>, BTreeMap<String, Covered>)> {
    let regions: BTreeMap<u64, Arc<Region>> =
        tables.values().flat_map(|table| table.regions().iter().cloned().collect::<Vec<_>>()).map(|region| (region.number, region)).collect();
    // The manifest came from the memory of the operating system. If its name was never synced a power loss brings back the one before, which
    // needs the log that this one lets go of.
    let root = shared.env.fs.root();
    shared.env.fs.sync_dir(layout::HALITE).map_err(|error| Error::io(format!("syncing {root}/{}", layout::HALITE), error))?;
    let (store_id, options) = (shared.manifest.current().store_id, &shared.options);
    let how = RecoveryOptions { store_id, mode: options.wal_recovery, nonce_ms: options.nonce_ms };
    let catalog = shared.manifest.current();
    let newest_region = catalog.next_region;
    let flushed = catalog.flushed_sequences();
    let mut covered: BTreeMap<u64, Covered> =
        flushed.iter().map(|(number, flushed)| (*number, Covered { flushed: *flushed, logged: None })).collect();
    let mut recovered = wal::recover(&shared.env, &how, |write| {
        if write.region > newest_region {
            let what = format!("its newest region has the number {newest_region}, while the log holds writes of region {}", write.region);
            return Err(shared.manifest.is_older(&what));
        }
        if let Some(covered) = covered.get_mut(&write.region) {
            covered.note(write.sequence);
        }
        // A region that is gone or disabled was flushed, split or dropped: its writes have no place any more.
        match regions.get(&write.region) {
            Some(region) => region.replay(write.sequence, write.cells),
            None => Ok(()),
        }
    })?;
    report.replayed_writes = recovered.writes;
    report.cuts = std::mem::take(&mut recovered.cuts);
    report.cut_bytes = report.cuts.iter().map(|cut| cut.bytes).sum();
    report.cut_writes = report.cuts.iter().map(|cut| cut.writes).sum();
    let nonces = std::mem::take(&mut recovered.nonces).into();
    let in_log: BTreeSet<u64> = recovered.segments.iter().flat_map(|segment| segment.regions.keys().copied()).collect();
    shared.wal.resume(recovered);
    shared.wal.release_all(in_log.into_iter().map(|number| (number, flushed.get(&number).copied().unwrap_or(u64::MAX))));
    for region in regions.values() {
        region.replayed();
        shared.note_write(region);
    }
    let named = catalog.tables.values().flat_map(|table| &table.regions);
    Ok((nonces, named.filter_map(|region| Some((region.info.encoded_name.clone(), *covered.get(&region.number)?))).collect()))
}
