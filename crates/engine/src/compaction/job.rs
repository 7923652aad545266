//! Execution of a compaction: merge, write, record in the manifest, swap.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use halite_types::{
    Bytes, CellRef, CompactionFilter, CompactionKind, CompactionState, Error, ErrorKind, Result,
};

use super::pace::Backlog;
use super::row_filter::RowBuffer;
use super::{CompactionPlan, CompactionPolicy, CompactionRequest, FileStats};
use crate::block_cache::BlockReadOptions;
use crate::maintenance_stats::CompactionResult;
use crate::region::{Region, RegionSnapshot};
use crate::scan::{CellSource, Matcher, MergingIterator, StoreLimits, StoreScanner};
use crate::scheduler::closing;
use crate::store::{NewFile, StoreFile, StoreSnapshot, write_files};

/// Longest wait of a compaction before it checks again whether it may continue.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Speed of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    /// Within the rate limit of automatic compactions.
    Limited,
    /// As fast as possible, because a caller may wait for it.
    Unlimited,
}

impl Region {
    /// Compacts every store, or that of one family. A minor compaction merges the files that the
    /// policy selects.
    ///
    /// # Errors
    /// `NoSuchRegion`, also if the region is removed concurrently; `NoSuchFamily`, a full disk, a
    /// failed read or write; nothing is lost.
    pub fn compact(&self, family: Option<&[u8]>, kind: CompactionKind) -> Result<()> {
        self.compact_all(family, kind, Haste::Unlimited)
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
            let _compaction = self.lock_compaction();
            // The region's files may belong to successors now.
            self.check_open()?;
            match self.compact_rest(family, kind, haste, &mut finished) {
                // A change of the region had precedence; the loop waits for it and retries.
                Err(error) if error.kind() == ErrorKind::Busy => {}
                done => return done,
            }
        }
    }

    /// Requests a compaction and returns immediately; it runs in the background, after earlier
    /// requests. Nothing is requested if there is nothing to do, or while compactions are disabled.
    /// A major compaction has nothing to do without files, a minor one without files worth merging.
    /// Returns `true` if a compaction was requested.
    ///
    /// # Errors
    /// `NoSuchRegion`, `NoSuchFamily`; `Corrupt` if a damaged file prevents it. A failure of the compaction itself is visible only in the
    /// region's statistics.
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
        let is_wanted = if let Some(family) = family {
            let index = snapshot.family_index(family)?;
            snapshot.stores[index].check_files()?;
            wanted(index)
        } else if (0..snapshot.stores.len()).filter(is_sound).any(wanted) {
            true
        } else {
            self.check_files()?;
            false
        };
        let is_asked_for = is_wanted && self.shared.scheduler.switches.compactions_enabled();
        if is_asked_for {
            self.shared.scheduler.request(CompactionRequest::new(self, family, kind));
        }
        Ok(is_asked_for)
    }

    /// Returns the kinds of requested and running compactions.
    pub fn compaction_state(&self) -> CompactionState {
        self.compactions.state()
    }

    /// Compacts as [`Region::compact`]; the caller holds the compaction lock.
    pub(crate) fn compact_locked(&self, family: Option<&[u8]>, kind: CompactionKind) -> Result<()> {
        self.compact_rest(family, kind, Haste::Unlimited, &mut BTreeSet::new())
    }

    /// Compacts the families that are not in `finished`, and adds them to it.
    fn compact_rest(
        &self,
        family: Option<&[u8]>,
        kind: CompactionKind,
        haste: Haste,
        finished: &mut BTreeSet<Bytes>,
    ) -> Result<()> {
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
            let name = &snapshot.families[index].name;
            if finished.contains(name) {
                continue;
            }
            match kind {
                CompactionKind::Major => {
                    self.compact_store(index, &CompactionPlan::Major, haste)?;
                }
                CompactionKind::Minor => {
                    if let Some(plan) = self.compaction_plan(index) {
                        self.compact_store(index, &plan, haste)?;
                    }
                }
            }
            finished.insert(name.clone());
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
        let _compaction = self.lock_compaction();
        self.check_open()?;
        for index in 0..self.snapshot().families.len() {
            if let Some(expired @ CompactionPlan::Drop(_)) = self.compaction_plan(index) {
                self.compact_store(index, &expired, Haste::Unlimited)?;
            }
            let files = self.snapshot().stores[index].files.len();
            if files > 1 {
                let all = CompactionPlan::Minor((0..files).collect());
                self.compact_store(index, &all, Haste::Unlimited)?;
            }
        }
        Ok(())
    }

    /// Checks that a compaction may continue: closing the store, or changing the region, must not
    /// wait for hours.
    fn check_compaction(&self) -> Result<()> {
        if self.shared.scheduler.is_closing() {
            return Err(closing());
        }
        if self.compaction_gives_way() {
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
    fn continue_compaction(&self, index: usize, bytes: u64, haste: Haste) -> Result<()> {
        self.check_compaction()?;
        // Without threads, waiting would stop everything.
        if haste == Haste::Unlimited || !self.shared.scheduler.has_threads() {
            return Ok(());
        }
        let backlog = Backlog {
            files: self.snapshot_ref().stores[index].files.len(),
            min_files: self.shared.options.min_compaction_files,
            queued: self.shared.scheduler.queue_lengths().1,
        };
        let now = self.shared.env.clock.monotonic_ns();
        let mut wait = self.shared.compaction_pace.pay(bytes, now, &self.shared.options, backlog);
        // A caller that waits for this compaction is more important than the rate.
        while !wait.is_zero() && !self.is_compaction_awaited() {
            let step = wait.min(MAX_WAIT);
            self.shared.scheduler.pause(step);
            self.check_compaction()?;
            wait -= step;
        }
        Ok(())
    }

    /// Returns the plan of the policy for a store at this time.
    pub(crate) fn compaction_plan(&self, index: usize) -> Option<CompactionPlan> {
        let snapshot = self.snapshot();
        // Nothing may take the place of a file that is not merged.
        snapshot.stores[index].check_files().ok()?;
        let family = &snapshot.families[index];
        let policy = CompactionPolicy::new(
            &self.shared.options,
            family.compaction,
            family.ttl_ms,
            family.min_versions,
            self.shared.env.clock.now_ms(),
            self.is_idle(),
        );
        let facts: Vec<FileStats> =
            oldest_first(&snapshot.stores[index]).iter().map(|file| file_stats(file)).collect();
        family.store_policy.select(&facts, &policy)
    }

    fn compact_store(&self, index: usize, plan: &CompactionPlan, haste: Haste) -> Result<()> {
        let snapshot = self.snapshot();
        snapshot.stores[index].check_files()?;
        let files = oldest_first(&snapshot.stores[index]);
        let (inputs, keep_deletes): (Vec<Arc<StoreFile>>, bool) = match plan {
            CompactionPlan::Drop(places) => {
                return self.replace_files(index, &pick(&files, places), &[]);
            }
            CompactionPlan::Minor(places) => {
                // Of two equal cells that of the newer file counts.
                assert!(
                    places.windows(2).all(|pair| pair[0] + 1 == pair[1]),
                    "a merge takes adjacent files, and its result takes their place"
                );
                (pick(&files, places), true)
            }
            CompactionPlan::Major => (files, false),
        };
        if inputs.is_empty() {
            return Ok(());
        }
        let sizes: (u64, u64) = (inputs.len() as u64, inputs.iter().map(|file| file.bytes()).sum());
        let _room = self
            .shared
            .disk
            .claim(sizes.1, || format!("compacting region {}", self.info().display_name()))?;
        let family = &snapshot.families[index];
        let retention = family.retention(self.shared.env.clock.now_ms());
        let earliest_put = inputs.iter().map(|file| file.earliest_put()).min().unwrap_or(i64::MAX);
        let matcher = if keep_deletes {
            Matcher::for_minor_compaction(retention)
        } else {
            Matcher::for_major_compaction(retention, earliest_put)
        };
        let began = self.shared.env.clock.monotonic_ns();
        let blocks = BlockReadOptions::for_maintenance(&self.shared.cache);
        let sources =
            inputs.iter().rev().map(|file| CellSource::file(file, &blocks, u64::MAX)).collect();
        let mut scanner = StoreScanner::new(
            MergingIterator::new(sources),
            matcher,
            StoreLimits::default(),
            false,
        );
        scanner.seek(&halite_types::cell::first_on_row(b""))?;
        let new = NewFile {
            region: self.info(),
            number: self.number,
            family,
            tags: inputs.iter().any(|file| file.reader().has_tags()),
            max_sequence: inputs.iter().map(|file| file.max_sequence()).max().unwrap_or(0),
            major: !keep_deletes,
            compacted_from: inputs.iter().map(|file| file.entry.name.clone()).collect(),
        };
        let kind = if keep_deletes { CompactionKind::Minor } else { CompactionKind::Major };
        let held = inputs.iter().map(|file| file.reader().entry_count()).sum();
        let mut running = self.compactions.start(kind, held);
        let mut gate = if keep_deletes {
            None
        } else {
            self.compaction_filter(&snapshot, index).map(RowBuffer::new)
        };
        let stats: Vec<FileStats> = inputs.iter().map(|file| file_stats(file)).collect();
        let bounds = family.store_policy.output_bounds(
            &stats,
            !keep_deletes,
            self.shared.env.clock.now_ms(),
        );
        let outputs = write_files(&self.shared, &new, &bounds, |each| {
            let take = |cell: CellRef<'_>| {
                running.add_cell();
                match &mut gate {
                    Some(gate) => gate.take(cell, each),
                    None => each(cell),
                }
            };
            let may_go_on = |bytes| self.continue_compaction(index, bytes, haste);
            scanner.compact_while(may_go_on, take)?;
            gate.as_mut().map_or(Ok(()), |gate| gate.finish(each))
        })?;
        drop(scanner);
        self.record_displaced(
            held,
            outputs.iter().map(|file| file.reader().entry_count()).sum(),
            new.max_sequence,
        );
        let written = (outputs.len() as u64, outputs.iter().map(|file| file.bytes()).sum());
        self.replace_files(index, &inputs, &outputs)?;
        let took_ns = self.shared.env.clock.monotonic_ns().saturating_sub(began);
        self.shared.maintenance_stats.add_compaction(&CompactionResult {
            is_major: !keep_deletes,
            took_ns,
            input: sizes,
            output: written,
        });
        Ok(())
    }

    /// Returns the filter that rewrites the rows of a store, if there is one.
    fn compaction_filter(
        &self,
        snapshot: &RegionSnapshot,
        index: usize,
    ) -> Option<Box<dyn CompactionFilter>> {
        let family = snapshot.descriptor.find_family(&snapshot.families[index].name)?;
        self.shared
            .options
            .compaction_filter_factory
            .as_ref()?
            .for_family(&snapshot.descriptor, family)
    }

    /// Replaces `inputs` with `outputs`, first in the manifest, then for readers.
    fn replace_files(
        &self,
        index: usize,
        inputs: &[Arc<StoreFile>],
        outputs: &[Arc<StoreFile>],
    ) -> Result<()> {
        let family = self.snapshot().families[index].name.clone();
        let changed = self.shared.manifest.change(|catalog| {
            let files = catalog
                .region_mut(&self.info().table, self.number)?
                .families
                .entry(family)
                .or_default();
            let before = files.len();
            files.retain(|entry| !inputs.iter().any(|input| input.entry == *entry));
            assert!(before - files.len() >= inputs.len(), "a compaction replaces live files");
            files.extend(outputs.iter().map(|file| file.entry.clone()));
            Ok(())
        });
        if let Err(error) = changed {
            self.shared.archive_or_delete(outputs.iter().flat_map(|file| file.origins()));
            return Err(error);
        }
        self.shared.add_compacted(outputs.iter().map(|file| file.bytes()).sum());
        self.swap(|current| {
            let mut stores = current.stores.clone();
            let files = &mut stores[index].files;
            files.retain(|file| !inputs.iter().any(|input| Arc::ptr_eq(input, file)));
            files.extend(outputs.iter().cloned());
            StoreSnapshot::sort_files(files);
            current.with_stores(stores)
        });
        self.counters.add_compaction();
        self.shared.archive_or_delete(inputs.iter().flat_map(|file| file.origins()));
        Ok(())
    }
}

fn oldest_first(store: &StoreSnapshot) -> Vec<Arc<StoreFile>> {
    store.files.iter().rev().cloned().collect()
}

fn pick(files: &[Arc<StoreFile>], places: &[usize]) -> Vec<Arc<StoreFile>> {
    debug_assert!(places.is_sorted_by(|a, b| a < b), "a plan names each file once, in order");
    debug_assert!(places.iter().all(|place| *place < files.len()), "a plan names known files");
    places.iter().filter_map(|&place| files.get(place).cloned()).collect()
}

fn file_stats(file: &StoreFile) -> FileStats {
    let reader = file.reader();
    FileStats {
        bytes: file.bytes(),
        is_reference: file.is_reference(),
        is_major: reader.is_major(),
        is_excluded: reader.is_excluded_from_minor_compaction(),
        oldest: reader.time_range().map(|range| *range.start()),
        newest: reader.time_range().map(|range| *range.end()),
        has_deletes: reader.delete_family_count() != Some(0),
        created_ms: reader.created_ms().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use halite_types::{
        Cells, CompactionFilterFactory, Delete, FamilyDescriptor, Get, Put, ReadTier, RowOp,
        TableDescriptor, TableName,
    };

    use super::*;
    use crate::env::sim::SimEnv;
    use crate::{Engine, Options};

    /// Stops every compaction at its first row, signals this, and waits until it may continue.
    #[derive(Debug)]
    struct PausingFilterFactory(Mutex<Option<(Sender<()>, Receiver<()>)>>);

    struct PausingFilter(Option<(Sender<()>, Receiver<()>)>);

    impl CompactionFilterFactory for PausingFilterFactory {
        fn for_family(
            &self,
            _: &TableDescriptor,
            _: &FamilyDescriptor,
        ) -> Option<Box<dyn CompactionFilter>> {
            Some(Box::new(PausingFilter(self.0.lock().unwrap().take())))
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

    /// Returns an engine with a table whose first compaction pauses, the name of the table, the
    /// signal that the compaction has started, and the one that resumes it.
    fn pausing_engine(splits: Vec<Bytes>) -> (Arc<Engine>, TableName, Receiver<()>, Sender<()>) {
        let ((begun, has_begun), (go_on, may_go_on)) = (channel(), channel());
        let filter = PausingFilterFactory(Mutex::new(Some((begun, may_go_on))));
        let options =
            Options { compaction_filter_factory: Some(Arc::new(filter)), ..Options::default() };
        let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
        let name: TableName = "t".parse().unwrap();
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, splits).unwrap();
        (engine, name, has_begun, go_on)
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
            while !region.compaction_gives_way() {
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
            let is_stopped = region.compaction_gives_way();
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
}
