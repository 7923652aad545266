//! Embedded store as a system under test.

use std::sync::Arc;

use halite::{
    BlockingTable, Bytes, CompactionKind, Error, ErrorKind, FamilyDescriptor, Get, OpResult,
    Options, RegionLoad, Result, Row, RowOp, Scan, Store, TableDescriptor,
};
use halite_conformance::cluster::change_table;
use halite_conformance::runner::{MergeKind, SystemUnderTest};
use halite_conformance::script::TableChange;
use halite_engine::Engine;
use halite_engine::env::Clock;
use halite_engine::env::sim::SimEnv;

/// Table of every case.
pub(crate) const TABLE: &str = "t";

/// Store on a simulated disk without faults, whose clock the script moves.
pub(crate) struct Embedded {
    sim: SimEnv,
    store: Store,
    table: Option<BlockingTable>,
}

impl Embedded {
    /// Creates an empty store.
    pub(crate) fn new() -> Self {
        let sim = SimEnv::new(1);
        let store = halite::Builder::new()
            .options(options())
            .open_with_env(sim.env())
            .expect("an empty simulated disk");
        Self { sim, store, table: None }
    }

    /// Returns the engine, for a server on it.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.store.engine()
    }

    /// Opens a table that another system created.
    pub(crate) fn open_table(&mut self) -> Result<()> {
        self.table = Some(self.store.table(TABLE)?);
        Ok(())
    }

    fn table(&self) -> Result<&BlockingTable> {
        self.table
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the case creates no table"))
    }

    fn load(&self) -> Result<RegionLoad> {
        let of_table = |load: &RegionLoad| load.region.table.qualifier() == TABLE;
        self.store
            .cluster_status()
            .expect("an open store has a status")
            .regions
            .into_iter()
            .find(of_table)
            .ok_or_else(|| Error::new(ErrorKind::NoSuchRegion, "the table has no region"))
    }
}

/// Returns options that match the oracle's settings: two files are enough to merge, sizes are
/// ignored, and there is no automatic major compaction.
fn options() -> Options {
    let mut options = Options::default();
    options.min_compaction_files = 2;
    options.max_compaction_files = 1000;
    options.major_compaction_interval_ms = 0;
    options
}

impl SystemUnderTest for Embedded {
    fn set_clock(&mut self, now_ms: i64) {
        self.sim.clock.jump_ms(now_ms - self.sim.clock.now_ms());
    }

    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()> {
        if self.table.take().is_some() {
            self.store.disable_table(TABLE)?;
            self.store.drop_table(TABLE)?;
        }
        let descriptor = families
            .into_iter()
            .fold(TableDescriptor::new(TABLE.parse()?), TableDescriptor::family);
        let splits: Vec<&[u8]> = splits.iter().map(AsRef::as_ref).collect();
        self.store.create_table(descriptor, &splits)?;
        self.open_table()
    }

    fn change(&mut self, change: &TableChange) -> Result<()> {
        change_table(&**self.store.cluster(), &TABLE.parse()?, change)?;
        self.open_table()
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        self.table()?.batch(ops)
    }

    fn get(&mut self, get: Get) -> Result<Row> {
        self.table()?.get(get)
    }

    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>> {
        self.table()?.scan(scan).collect()
    }

    fn flush(&mut self) -> Result<()> {
        self.store.flush(TABLE)
    }

    fn merge(&mut self, how: MergeKind) -> Result<()> {
        let name = TABLE.parse()?;
        match how {
            MergeKind::Automatic => self.store.compact(&name, None, CompactionKind::Minor),
            MergeKind::Major => self.store.compact(&name, None, CompactionKind::Major),
            MergeKind::Minor => {
                for region in self.store.engine().table(&name)?.regions().iter() {
                    region.compact_retaining_deletes()?;
                }
                Ok(())
            }
        }
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        let region = format!("/{}/", self.load()?.region.encoded_name);
        let paths = self.sim.fs.files();
        let of = |family: &str| {
            let folder = format!("{region}{family}/");
            paths.keys().filter(|path| path.contains(&folder)).count()
        };
        let descriptor = self.table()?.descriptor()?;
        let names =
            descriptor.families().map(|family| String::from_utf8_lossy(family.name()).into_owned());
        Ok(names.map(|family| (family.clone(), of(&family))).collect())
    }
}
