//! Compactions of a region: which files are compacted, in which order, and how fast. `merge` does
//! the work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use halite_types::{Bytes, CompactionKind, CompactionState, Error, ErrorKind, Result};

use super::claims::Claim;
use super::facts::{file_stats, oldest_first};
use super::pace::Backlog;
use super::{CompactionPlan, CompactionPolicy, CompactionRequest};
use crate::region::{Family, Region, RegionSnapshot};
use crate::scheduler::closing;
use crate::store::StoreFile;

/// Longest wait of a compaction before it checks again whether it may continue.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Speed of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// Within the rate limit of automatic compactions.
    Limited,
    /// As fast as possible, because a caller may wait for it.
    Unlimited,
}

/// Selected files of a store. Until the compaction has ended, the table is not altered, so that the
/// index of the store stays valid.
pub(super) struct StoreCompaction {
    pub(super) snapshot: Arc<RegionSnapshot>,
    pub(super) index: usize,
    /// All files of the store at the selection, oldest first.
    pub(super) files: Vec<Arc<StoreFile>>,
    pub(super) plan: CompactionPlan,
}

impl StoreCompaction {
    pub(super) fn family(&self) -> &Family {
        &self.snapshot.families[self.index]
    }

    /// Returns the files at some indexes.
    pub(super) fn pick(&self, places: &[usize]) -> Vec<Arc<StoreFile>> {
        debug_assert!(places.is_sorted_by(|a, b| a < b), "a plan names each file once, in order");
        debug_assert!(
            places.iter().all(|place| *place < self.files.len()),
            "a plan names known files"
        );
        places.iter().filter_map(|&place| self.files.get(place).cloned()).collect()
    }
}

impl Region {
    /// Compacts every store, or that of one family. A minor compaction merges the files that the
    /// policy selects, except those that are being compacted; a major one waits for these.
    ///
    /// # Errors
    /// `NoSuchRegion`, also if the region is removed concurrently; `NoSuchFamily`, a full disk, a
    /// failed read or write; nothing is lost.
    pub fn compact(&self, family: Option<&[u8]>, kind: CompactionKind) -> Result<()> {
        self.compact_all(family, kind, Haste::Unlimited)?;
        // Meanwhile the region was not split.
        if self.shared.scheduler.has_threads() && self.should_split() {
            self.shared.scheduler.request_check(self);
        }
        Ok(())
    }

    /// As [`Region::compact`], within the rate limit of automatic compactions.
    pub(crate) fn compact_at_pace(
        &self,
        family: Option<&[u8]>,
        kind: CompactionKind,
    ) -> Result<()> {
        self.compact_all(family, kind, Haste::Limited)
    }

    fn compact_all(&self, family: Option<&[u8]>, kind: CompactionKind, haste: Haste) -> Result<()> {
        let mut finished = BTreeSet::new();
        loop {
            match self.compact_rest(family, kind, haste, &mut finished) {
                // A change of the region had precedence; the next claim waits for its end.
                Err(error) if error.kind() == ErrorKind::Busy => {}
                done => return done,
            }
        }
    }

    /// Compacts the families that are not in `finished`, and adds them to it.
    fn compact_rest(
        &self,
        family: Option<&[u8]>,
        kind: CompactionKind,
        haste: Haste,
        finished: &mut BTreeSet<Bytes>,
    ) -> Result<()> {
        self.check_open()?;
        let snapshot = self.snapshot();
        let indexes = match family {
            Some(family) => vec![snapshot.family_index(family)?],
            None => (0..snapshot.families.len()).collect(),
        };
        // The stores without damaged files first.
        let (mut indexes, damaged): (Vec<_>, Vec<_>) =
            indexes.into_iter().partition(|index| snapshot.stores[*index].check_files().is_ok());
        indexes.extend(damaged.into_iter().filter(|_| kind == CompactionKind::Major));
        for index in indexes {
            let name = snapshot.families[index].name.clone();
            if finished.contains(&name) {
                continue;
            }
            snapshot.stores[index].check_files()?;
            if let Some((work, claim)) = self.claim(&name, kind) {
                // The region's files may belong to successors now.
                self.check_open()?;
                if haste == Haste::Limited {
                    self.request_parallel_compaction();
                }
                self.run_compaction(&work, haste)?;
                drop(claim);
            }
            finished.insert(name);
        }
        Ok(())
    }

    /// Selects and claims files of a store. `None` if there is nothing to do.
    fn claim(&self, family: &Bytes, kind: CompactionKind) -> Option<(StoreCompaction, Claim<'_>)> {
        let is_major = kind == CompactionKind::Major;
        self.claims.claim(self.info(), family, is_major, |claimed| {
            let snapshot = self.snapshot();
            let index = snapshot.index_of(family)?;
            // Nothing may take the place of a file that is not merged.
            snapshot.stores[index].check_files().ok()?;
            let files = oldest_first(&snapshot.stores[index]);
            let plan = match kind {
                CompactionKind::Major => CompactionPlan::Major,
                CompactionKind::Minor => self.plan(&snapshot.families[index], &files, claimed)?,
            };
            let work = StoreCompaction { snapshot, index, files, plan };
            let places = work.plan.places(work.files.len());
            let inputs = work.pick(&places);
            Some((work, inputs))
        })
    }

    /// Lets another thread compact other files of the region.
    fn request_parallel_compaction(&self) {
        let scheduler = &self.shared.scheduler;
        if scheduler.has_threads() && self.needs_compaction() {
            scheduler.request_check(self);
        }
    }

    /// Requests a compaction and returns immediately; it runs in the background, after earlier
    /// requests. Nothing is requested if there is nothing to do, or while compactions are disabled.
    /// A major compaction has nothing to do without files, a minor one without files worth merging.
    /// Returns `true` if a compaction was requested.
    ///
    /// # Errors
    /// `NoSuchRegion`, `NoSuchFamily`; `Corrupt` if a damaged file prevents it. A failure of the
    /// compaction itself is visible only in the region's statistics.
    pub fn request_compaction(
        self: &Arc<Self>,
        family: Option<&[u8]>,
        kind: CompactionKind,
    ) -> Result<bool> {
        self.check_open()?;
        let snapshot = self.snapshot();
        let wanted = |index: usize| match kind {
            CompactionKind::Major => !snapshot.stores[index].files.is_empty(),
            CompactionKind::Minor => self.compaction_plan(index).is_some(),
        };
        let is_sound = |index: &usize| snapshot.stores[*index].check_files().is_ok();
        let indexes: Vec<usize> = if let Some(family) = family {
            let index = snapshot.family_index(family)?;
            snapshot.stores[index].check_files()?;
            Some(index).filter(|index| wanted(*index)).into_iter().collect()
        } else {
            (0..snapshot.stores.len()).filter(is_sound).filter(|index| wanted(*index)).collect()
        };
        if indexes.is_empty() {
            self.check_files()?;
        }
        let is_asked_for =
            !indexes.is_empty() && self.shared.scheduler.switches.compactions_enabled();
        // One for each store, as in HBase: stores are compacted at the same time.
        for index in indexes.into_iter().filter(|_| is_asked_for) {
            let name = &snapshot.families[index].name;
            self.shared.scheduler.request(CompactionRequest::new(self, name, kind));
        }
        Ok(is_asked_for)
    }

    /// Returns the kinds of requested and running compactions.
    pub fn compaction_state(&self) -> CompactionState {
        self.compactions.state()
    }

    /// Merges the files of every store as a major compaction; the caller excludes compactions.
    pub(crate) fn compact_excluded(&self) -> Result<()> {
        for index in 0..self.snapshot().families.len() {
            self.run_compaction(&self.work(index, CompactionPlan::Major), Haste::Unlimited)?;
        }
        Ok(())
    }

    /// Merges all files of every store that has two or more as a minor compaction, after removing
    /// files whose cells have all expired: delete markers stay. For tests that compare with HBase,
    /// where such a compaction never includes all files.
    ///
    /// # Errors
    /// As [`Region::compact`].
    pub fn compact_retaining_deletes(&self) -> Result<()> {
        let _exclusion = self.lock_compaction();
        self.check_open()?;
        for index in 0..self.snapshot().families.len() {
            if let Some(expired @ CompactionPlan::Drop(_)) = self.compaction_plan(index) {
                self.run_compaction(&self.work(index, expired), Haste::Unlimited)?;
            }
            let files = self.snapshot().stores[index].files.len();
            if files > 1 {
                let all = CompactionPlan::Minor((0..files).collect());
                self.run_compaction(&self.work(index, all), Haste::Unlimited)?;
            }
        }
        Ok(())
    }

    fn work(&self, index: usize, plan: CompactionPlan) -> StoreCompaction {
        let snapshot = self.snapshot();
        let files = oldest_first(&snapshot.stores[index]);
        StoreCompaction { snapshot, index, files, plan }
    }

    /// Checks that a compaction may continue: closing the store, or changing the region, must not
    /// wait for hours.
    fn check_compaction(&self) -> Result<()> {
        if self.shared.scheduler.is_closing() {
            return Err(closing());
        }
        if self.claims.are_canceled() {
            let text = format!(
                "the compaction of region {} gives way to a change of its table",
                self.info().display_name()
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        Ok(())
    }

    /// Checks as [`Region::check_compaction`] that a compaction may continue after it has read
    /// `bytes`, and waits as long as its haste requires.
    pub(super) fn continue_compaction(
        &self,
        work: &StoreCompaction,
        bytes: u64,
        haste: Haste,
    ) -> Result<()> {
        self.check_compaction()?;
        // Without threads, waiting would stop everything.
        if haste == Haste::Unlimited || !self.shared.scheduler.has_threads() {
            return Ok(());
        }
        let snapshot = self.snapshot_ref();
        let store = &snapshot.stores[work.index];
        let stats = || file_stats(&oldest_first(store), &[]);
        let backlog = Backlog {
            files: work.family().store_policy.files_of_row(store.files.len(), stats),
            min_files: self.shared.options.min_compaction_files,
            queued: self.shared.scheduler.queue_lengths().1,
        };
        let now = self.shared.env.clock.monotonic_ns();
        let mut wait = self.shared.compaction_pace.pay(bytes, now, &self.shared.options, backlog);
        // A caller that waits for this compaction is more important than the rate.
        while !wait.is_zero() && !self.claims.are_awaited() {
            let step = wait.min(MAX_WAIT);
            self.shared.scheduler.pause(step);
            self.check_compaction()?;
            wait -= step;
        }
        Ok(())
    }

    /// Returns the plan of the policy for the files of a store that are not being compacted, at
    /// this time.
    pub(crate) fn compaction_plan(&self, index: usize) -> Option<CompactionPlan> {
        let snapshot = self.snapshot();
        // Nothing may take the place of a file that is not merged.
        snapshot.stores[index].check_files().ok()?;
        let family = &snapshot.families[index];
        let claimed = self.claims.files_of(&family.name);
        self.plan(family, &oldest_first(&snapshot.stores[index]), &claimed)
    }

    fn plan(
        &self,
        family: &Family,
        files: &[Arc<StoreFile>],
        claimed: &[Arc<StoreFile>],
    ) -> Option<CompactionPlan> {
        let policy = self.compaction_policy(family);
        family.store_policy.select(&file_stats(files, claimed), &policy)
    }

    /// Returns the settings of a family's policy at this time.
    pub(super) fn compaction_policy(&self, family: &Family) -> CompactionPolicy {
        CompactionPolicy::new(
            &self.shared.options,
            family.compaction,
            family.ttl_ms,
            family.min_versions,
            self.shared.env.clock.now_ms(),
            self.is_idle(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use halite_types::{
        Cells, CompactionFilter, CompactionFilterFactory, Delete, FamilyDescriptor, Get, Put,
        ReadTier, RowOp, TableDescriptor, TableName,
    };

    use super::*;
    use crate::env::sim::{FsCall, InjectedFault, SimEnv};
    use crate::{Engine, Options};

    /// Signal that a compaction has begun, and the wait for permission to continue.
    type Pause = (Sender<()>, Receiver<()>);
    /// The other ends.
    type PauseControl = (Receiver<()>, Sender<()>);

    /// Stops the first compactions at their first rows, signals this, and waits until they may
    /// continue.
    #[derive(Debug)]
    struct PausingFilterFactory(Mutex<VecDeque<Pause>>);

    struct PausingFilter(Option<Pause>);

    impl CompactionFilterFactory for PausingFilterFactory {
        fn for_family(
            &self,
            _: &TableDescriptor,
            _: &FamilyDescriptor,
        ) -> Option<Box<dyn CompactionFilter>> {
            Some(Box::new(PausingFilter(self.0.lock().unwrap().pop_front())))
        }
    }

    impl CompactionFilter for PausingFilter {
        fn filter_row(&mut self, _: &Cells) -> Option<Cells> {
            if let Some((begun, go_on)) = self.0.take() {
                begun.send(()).unwrap();
                go_on.recv().unwrap();
            }
            None
        }
    }

    fn name() -> TableName {
        "t".parse().unwrap()
    }

    /// Returns an engine with a table whose first compactions pause, and for each of these the
    /// signal that it has started and the one that resumes it.
    fn engine_with_pauses(
        table: TableDescriptor,
        splits: Vec<Bytes>,
        pauses: usize,
    ) -> (Arc<Engine>, Vec<PauseControl>) {
        let (mut inner, mut outer) = (VecDeque::new(), Vec::new());
        for _ in 0..pauses {
            let ((begun, has_begun), (go_on, may_go_on)) = (channel(), channel());
            inner.push_back((begun, may_go_on));
            outer.push((has_begun, go_on));
        }
        let filter = PausingFilterFactory(Mutex::new(inner));
        let options =
            Options { compaction_filter_factory: Some(Arc::new(filter)), ..Options::default() };
        let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
        engine.create_table(table, splits).unwrap();
        (engine, outer)
    }

    /// Returns an engine with a table whose first compaction pauses, the name of the table, the
    /// signal that the compaction has started, and the one that resumes it.
    fn pausing_engine(splits: Vec<Bytes>) -> (Arc<Engine>, TableName, Receiver<()>, Sender<()>) {
        let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
        let (engine, mut pauses) = engine_with_pauses(table, splits, 1);
        let (has_begun, go_on) = pauses.remove(0);
        (engine, name(), has_begun, go_on)
    }

    /// Puts cells into a table and flushes it.
    fn put(engine: &Engine, rows: &[&'static str], families: &[&'static str]) {
        let put = |row: &&'static str| {
            let put = families.iter().fold(Put::new(*row), |put, family| put.add(family, "q", "v"));
            RowOp::Put(put)
        };
        engine.table(&name()).unwrap().batch(rows.iter().map(put).collect()).unwrap();
        engine.flush(&name()).unwrap();
    }

    /// Waits for a compaction that begins while others run.
    fn await_begin(has_begun: &Receiver<()>) {
        has_begun.recv_timeout(Duration::from_mins(1)).expect("it begins while others run");
    }

    fn file_counts(region: &Region) -> Vec<usize> {
        region.snapshot().stores.iter().map(|store| store.files.len()).collect()
    }

    /// Starts the compaction of a table of ten megabytes in two files and pauses it. Returns the
    /// results of the compaction, while `change` waits for it, and of the change.
    fn compacted_during(
        change: impl FnOnce(&Engine, &TableName) -> Result<()> + Send,
    ) -> (Arc<Engine>, Result<()>, Result<()>) {
        let (engine, name, has_begun, go_on) = pausing_engine(Vec::new());
        for row in ["a", "b"] {
            let puts = (0..5)
                .map(|at| {
                    RowOp::Put(Put::new(format!("{row}{at}")).add("f", "q", vec![7; 1 << 20]))
                })
                .collect();
            engine.table(&name).unwrap().batch(puts).unwrap();
            engine.flush(&name).unwrap();
        }
        let region = engine.table(&name).unwrap().regions()[0].clone();
        let (compacted, changed) = std::thread::scope(|scope| {
            let compacting = scope.spawn(|| region.compact(None, CompactionKind::Major));
            has_begun.recv().unwrap();
            let changing = scope.spawn(|| change(&engine, &name));
            while !region.claims.are_canceled() {
                std::thread::yield_now();
            }
            go_on.send(()).unwrap();
            (compacting.join().unwrap(), changing.join().unwrap())
        });
        (engine, compacted, changed)
    }

    #[test]
    fn compaction_is_canceled_by_disabled_table() {
        let (engine, compacted, changed) = compacted_during(Engine::disable_table);
        changed.unwrap();
        assert_eq!(compacted.unwrap_err().kind(), ErrorKind::NoSuchRegion);
        let name = "t".parse().unwrap();
        engine.enable_table(&name).unwrap();
        let table = engine.table(&name).unwrap();
        assert_eq!(table.regions()[0].snapshot().stores[0].files.len(), 2, "it was not compacted");
        assert!(!table.get(&Get::new("b4"), ReadTier::Disk).unwrap().is_empty());
    }

    #[test]
    fn compaction_is_canceled_by_split() {
        let (engine, compacted, changed) = compacted_during(|engine, name| {
            let region = engine.regions(name)?[0].encoded_name.clone();
            engine.split_region(&region, Some("b".into()))
        });
        changed.unwrap();
        assert_eq!(compacted.unwrap_err().kind(), ErrorKind::NoSuchRegion);
        let table = engine.table(&"t".parse().unwrap()).unwrap();
        assert_eq!(table.regions().len(), 2);
        assert!(
            table.regions()[1].has_references()
                && !table.get(&Get::new("b4"), ReadTier::Disk).unwrap().is_empty()
        );
    }

    #[test]
    fn compaction_restarts_after_altered_table() {
        let (engine, compacted, changed) = compacted_during(|engine, name| {
            engine.alter_table(
                TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f").versions(7)),
            )
        });
        compacted.unwrap();
        changed.unwrap();
        let table = engine.table(&"t".parse().unwrap()).unwrap();
        assert_eq!(table.regions()[0].snapshot().stores[0].files.len(), 1);
        assert_eq!(table.regions()[0].compaction_state(), CompactionState::None);
    }

    #[test]
    fn rejected_split_does_not_cancel_compaction() {
        let (engine, name, has_begun, go_on) = pausing_engine(vec!["m".into()]);
        for _ in 0..2 {
            engine
                .table(&name)
                .unwrap()
                .batch(vec![Put::new("a").add("f", "q", "v").into()])
                .unwrap();
            engine.flush(&name).unwrap();
        }
        let region = engine.table(&name).unwrap().regions()[0].clone();
        let is_stopped = std::thread::scope(|scope| {
            let compacting = scope.spawn(|| region.compact(None, CompactionKind::Major));
            has_begun.recv().unwrap();
            let refused =
                engine.split_region(&region.info().encoded_name, Some("z".into())).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidRequest);
            let is_stopped = region.claims.are_canceled();
            go_on.send(()).unwrap();
            compacting.join().unwrap().unwrap();
            is_stopped
        });
        assert!(!is_stopped);
    }

    #[test]
    fn compaction_without_remaining_cells_ends_on_close() {
        let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
        let name: TableName = "t".parse().unwrap();
        engine
            .create_table(
                TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")),
                Vec::new(),
            )
            .unwrap();
        let table = engine.table(&name).unwrap();
        let puts = (0..5)
            .map(|at| RowOp::Put(Put::new(format!("{at}")).add("f", "q", vec![7; 1 << 20])))
            .collect();
        table.batch(puts).unwrap();
        engine.flush(&name).unwrap();
        table
            .batch((0..5).map(|at| RowOp::Delete(Delete::new(format!("{at}")))).collect())
            .unwrap();
        engine.flush(&name).unwrap();
        let region = table.regions()[0].clone();
        region.shared.scheduler.close();
        assert_eq!(region.compact(None, CompactionKind::Major).unwrap_err(), closing());
    }

    #[test]
    fn families_are_compacted_and_flushed_at_once() {
        let table = TableDescriptor::new(name())
            .family(FamilyDescriptor::new("f"))
            .family(FamilyDescriptor::new("g"));
        let (engine, pauses) = engine_with_pauses(table, Vec::new(), 2);
        put(&engine, &["a"], &["f", "g"]);
        put(&engine, &["b"], &["f", "g"]);
        let region = engine.table(&name()).unwrap().regions()[0].clone();
        assert!(region.request_compaction(None, CompactionKind::Major).unwrap());
        std::thread::scope(|scope| {
            let jobs = [(); 2].map(|()| scope.spawn(|| engine.run_one_job().unwrap()));
            pauses.iter().for_each(|(has_begun, _)| await_begin(has_begun));
            assert_eq!(region.compaction_state(), CompactionState::Major);
            put(&engine, &["c"], &["f"]);
            assert_eq!(file_counts(&region), [3, 2], "a flush waits for no compaction");
            pauses.iter().for_each(|(_, go_on)| go_on.send(()).unwrap());
            assert!(jobs.into_iter().all(|job| job.join().unwrap()));
        });
        assert_eq!(file_counts(&region), [2, 1]);
        assert!(!region.claims.any() && region.compaction_state() == CompactionState::None);
        let table = engine.table(&name()).unwrap();
        let found = ["a", "b", "c"].map(|row| table.get(&Get::new(row), ReadTier::Disk).unwrap());
        assert_eq!(found.map(|row| row.len()), [2, 2, 1]);
    }

    #[test]
    fn stripes_are_compacted_at_once() {
        let family = FamilyDescriptor::new("f")
            .set(
                "hbase.hstore.engine.class",
                "org.apache.hadoop.hbase.regionserver.StripeStoreEngine",
            )
            .set("hbase.store.stripe.initialStripeCount", 2)
            .set("hbase.store.stripe.compaction.minFiles", 2);
        let table = TableDescriptor::new(name()).family(family);
        let (engine, pauses) = engine_with_pauses(table, Vec::new(), 2);
        for _ in 0..2 {
            put(&engine, &["a", "b", "c", "d"], &["f"]);
        }
        let region = engine.table(&name()).unwrap().regions()[0].clone();
        assert_eq!(file_counts(&region), [4]);
        std::thread::scope(|scope| {
            let compact = || region.compact(None, CompactionKind::Minor).unwrap();
            let running = [(); 2].map(|()| scope.spawn(compact));
            pauses.iter().for_each(|(has_begun, _)| await_begin(has_begun));
            compact();
            assert_eq!(file_counts(&region), [4], "all files are being compacted");
            pauses.iter().for_each(|(_, go_on)| go_on.send(()).unwrap());
            running.into_iter().for_each(|compaction| compaction.join().unwrap());
        });
        assert_eq!(file_counts(&region), [2]);
        let table = engine.table(&name()).unwrap();
        assert!(!table.get(&Get::new("d"), ReadTier::Disk).unwrap().is_empty());
    }

    #[test]
    fn failed_compaction_releases_its_files() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, Vec::new()).unwrap();
        put(&engine, &["a"], &["f"]);
        put(&engine, &["b"], &["f"]);
        let region = engine.table(&name()).unwrap().regions()[0].clone();
        let full = std::io::ErrorKind::StorageFull;
        for (call, path) in [(FsCall::Create, "/.tmp/"), (FsCall::Create, "MANIFEST")] {
            sim.fs.inject(InjectedFault::next(call, path, full));
            assert!(region.compact(None, CompactionKind::Major).is_err());
            assert!(!region.claims.any() && file_counts(&region) == [2]);
        }
        region.compact(None, CompactionKind::Major).unwrap();
        assert_eq!(file_counts(&region), [1]);
    }

    #[test]
    fn threads_compact_families_of_region_without_request() {
        let table = TableDescriptor::new(name())
            .family(FamilyDescriptor::new("f"))
            .family(FamilyDescriptor::new("g"));
        let (engine, pauses) = engine_with_pauses(table, Vec::new(), 2);
        let region = engine.table(&name()).unwrap().regions()[0].clone();
        for row in ["a", "b", "c"] {
            put(&engine, &[row], &["f", "g"]);
        }
        region.shared.scheduler.set_threads();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (has_begun, _) in &pauses {
                threads.push(scope.spawn(|| engine.run_one_job().unwrap()));
                await_begin(has_begun);
            }
            assert_eq!(file_counts(&region), [3, 3]);
            pauses.iter().for_each(|(_, go_on)| go_on.send(()).unwrap());
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert_eq!(file_counts(&region), [1, 1]);
        // Nothing is left to do.
        while engine.run_one_job().unwrap() {}
        assert_eq!(file_counts(&region), [1, 1]);
    }

    #[test]
    fn requested_compaction_does_not_occupy_second_thread() {
        let table = TableDescriptor::new(name())
            .family(FamilyDescriptor::new("f"))
            .family(FamilyDescriptor::new("g"));
        let (engine, _) = engine_with_pauses(table, Vec::new(), 0);
        put(&engine, &["a"], &["f", "g"]);
        let region = engine.table(&name()).unwrap().regions()[0].clone();
        let scheduler = &region.shared.scheduler;
        let request = |family: &[u8]| {
            region.request_compaction(Some(family), CompactionKind::Major).unwrap();
        };
        request(b"f");
        let first = scheduler.take().unwrap();
        request(b"f");
        assert!(scheduler.take().is_none(), "it would wait for the first");
        scheduler.request_compaction(&region);
        assert!(scheduler.take().is_none(), "the request precedes other files of the region");
        request(b"g");
        let of_other_family = scheduler.take().unwrap();
        assert_ne!(first.compaction(), of_other_family.compaction());
        scheduler.compaction_finished(first.compaction().as_ref(), &Ok(()));
        let second = scheduler.take().unwrap();
        assert_eq!(first.compaction(), second.compaction());
        scheduler.compaction_finished(second.compaction().as_ref(), &Ok(()));
        assert!(matches!(scheduler.take(), Some(crate::scheduler::Job::Compact(_))));
        assert!(scheduler.take().is_none());
    }
}
