//! Carrying a compaction out: merge, write, name in the manifest, swap.

use std::sync::Arc;

use halite_types::{CompactionKind, CompactionState, Result, RewriteRow};

use super::rewrite::RowGate;
use super::{FileFacts, Plan, Policy, Requested, select};
use crate::cache::ReadBlocks;
use crate::region::{Region, RegionSnapshot};
use crate::scan::{Matcher, Merge, Source, StoreLimits, StoreScanner};
use crate::store::{NewFile, StoreFile, StoreSnapshot, write_file};
use crate::upkeep::Compacted;

impl Region {
    /// Compacts every store, or that of one family, as asked. Minor does what the policy finds worth doing.
    ///
    /// # Errors
    /// `NoSuchRegion`, `NoSuchFamily`, a full disk, a failed read or write; nothing is lost.
    pub fn compact(&self, family: Option<&[u8]>, kind: CompactionKind) -> Result<()> {
        let _compaction = self.lock_compaction();
        // Its files are others' now.
        self.check_open()?;
        self.compact_locked(family, kind)
    }

    /// Asks for a compaction and returns at once; it is done in the background, after those asked for before. Nothing is
    /// asked for where there is nothing to do: no file for a major one, none worth merging for a minor one; nor while
    /// compactions are forbidden. Whether one was asked for.
    ///
    /// # Errors
    /// `NoSuchRegion`, `NoSuchFamily`. A failure of the work itself shows in nothing but the region's figures.
    pub fn request_compaction(self: &Arc<Self>, family: Option<&[u8]>, kind: CompactionKind) -> Result<bool> {
        self.check_open()?;
        let snapshot = self.snapshot();
        let wanted = |index: usize| match kind {
            CompactionKind::Major => !snapshot.stores[index].files.is_empty(),
            CompactionKind::Minor => self.compaction_plan(index).is_some(),
        };
        let is_wanted = match family {
            Some(family) => wanted(snapshot.family_index(family)?),
            None => (0..snapshot.stores.len()).any(wanted),
        };
        let is_asked_for = is_wanted && self.shared.background.permits.compactions();
        if is_asked_for {
            self.shared.background.request(Requested::new(self, family, kind));
        }
        Ok(is_asked_for)
    }

    /// Which compactions are asked for or running.
    pub fn compaction_state(&self) -> CompactionState {
        self.compactions.state()
    }

    /// As [`Region::compact`]; the caller holds the compaction lock.
    pub(crate) fn compact_locked(&self, family: Option<&[u8]>, kind: CompactionKind) -> Result<()> {
        let snapshot = self.snapshot();
        let indexes = match family {
            Some(family) => vec![snapshot.family_index(family)?],
            None => (0..snapshot.families.len()).collect(),
        };
        for index in indexes {
            match kind {
                CompactionKind::Major => self.compact_store(index, &Plan::Major)?,
                CompactionKind::Minor => {
                    if let Some(plan) = self.compaction_plan(index) {
                        self.compact_store(index, &plan)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Merges all files of every store that has two or more as a minor compaction does, once those whose cells have all
    /// expired are gone: delete markers stay. For tests that compare with HBase, where such a compaction is always one of
    /// some files.
    ///
    /// # Errors
    /// As [`Region::compact`].
    pub fn compact_retaining_deletes(&self) -> Result<()> {
        let _compaction = self.lock_compaction();
        self.check_open()?;
        for index in 0..self.snapshot().families.len() {
            if let Some(expired @ Plan::Drop(_)) = self.compaction_plan(index) {
                self.compact_store(index, &expired)?;
            }
            let files = self.snapshot().stores[index].files.len();
            if files > 1 {
                self.compact_store(index, &Plan::Minor((0..files).collect()))?;
            }
        }
        Ok(())
    }

    /// What the policy would do with a store now.
    pub(crate) fn compaction_plan(&self, index: usize) -> Option<Plan> {
        let snapshot = self.snapshot();
        let family = &snapshot.families[index];
        let policy = Policy::new(&self.shared.options, family, self.shared.env.clock.now_ms());
        let facts: Vec<FileFacts> = oldest_first(&snapshot.stores[index]).iter().map(|file| facts(file)).collect();
        select(&facts, &policy)
    }

    fn compact_store(&self, index: usize, plan: &Plan) -> Result<()> {
        let snapshot = self.snapshot();
        let files = oldest_first(&snapshot.stores[index]);
        let (inputs, keep_deletes): (Vec<Arc<StoreFile>>, bool) = match plan {
            Plan::Drop(places) => return self.replace_files(index, &pick(&files, places), None),
            Plan::Minor(places) => (pick(&files, places), true),
            Plan::Major => (files, false),
        };
        if inputs.is_empty() {
            return Ok(());
        }
        let sizes: (u64, u64) = (inputs.len() as u64, inputs.iter().map(|file| file.bytes()).sum());
        let _room = self.shared.disk.claim(sizes.1, || format!("compacting region {}", self.info().display_name()))?;
        let family = &snapshot.families[index];
        let retention = family.retention(self.shared.env.clock.now_ms());
        let earliest_put = inputs.iter().map(|file| file.earliest_put()).min().unwrap_or(i64::MAX);
        let matcher = if keep_deletes { Matcher::for_minor_compaction(retention) } else { Matcher::for_major_compaction(retention, earliest_put) };
        let began = self.shared.env.clock.monotonic_ns();
        let blocks = ReadBlocks::for_maintenance(&self.shared.cache);
        let sources = inputs.iter().rev().map(|file| Source::file(file, &blocks, u64::MAX)).collect();
        let mut scanner = StoreScanner::new(Merge::new(sources), matcher, StoreLimits::default(), false);
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
        let mut gate = if keep_deletes { None } else { self.rewrite_of(&snapshot, index).map(RowGate::new) };
        let output = write_file(&self.shared, &new, |each| {
            scanner.compact(|cell| {
                running.add_cell();
                match &mut gate {
                    Some(gate) => gate.take(cell, each),
                    None => each(cell),
                }
            })?;
            gate.as_mut().map_or(Ok(()), |gate| gate.finish(each))
        })?;
        drop(scanner);
        self.note_displaced(held, output.as_ref().map_or(0, |file| file.reader().entry_count()), new.max_sequence);
        let written = (u64::from(output.is_some()), output.as_ref().map_or(0, |file| file.bytes()));
        self.replace_files(index, &inputs, output)?;
        let took_ns = self.shared.env.clock.monotonic_ns().saturating_sub(began);
        self.shared.upkeep.add_compaction(&Compacted { is_major: !keep_deletes, took_ns, input: sizes, output: written });
        Ok(())
    }

    /// What writes the rows of a store in another form, if something does.
    fn rewrite_of(&self, snapshot: &RegionSnapshot, index: usize) -> Option<Box<dyn RewriteRow>> {
        let family = snapshot.descriptor.find_family(&snapshot.families[index].name)?;
        self.shared.options.rewrite.as_ref()?.of_family(&snapshot.descriptor, family)
    }

    /// Puts `output` in the place of `inputs`, first in the manifest, then for readers.
    fn replace_files(&self, index: usize, inputs: &[Arc<StoreFile>], output: Option<Arc<StoreFile>>) -> Result<()> {
        let family = self.snapshot().families[index].name.clone();
        let changed = self.shared.manifest.change(|catalog| {
            let files = catalog.region_mut(&self.info().table, self.number)?.families.entry(family).or_default();
            files.retain(|entry| !inputs.iter().any(|input| input.entry == *entry));
            files.extend(output.as_ref().map(|file| file.entry.clone()));
            Ok(())
        });
        if let Err(error) = changed {
            self.shared.settle(output.iter().flat_map(|file| file.homes()));
            return Err(error);
        }
        self.shared.add_compacted(output.as_ref().map_or(0, |file| file.bytes()));
        self.swap(|current| {
            let mut stores = current.stores.clone();
            let files = &mut stores[index].files;
            files.retain(|file| !inputs.iter().any(|input| Arc::ptr_eq(input, file)));
            files.extend(output);
            StoreSnapshot::sort_files(files);
            current.with_stores(stores)
        });
        self.counters.add_compaction();
        self.shared.settle(inputs.iter().flat_map(|file| file.homes()));
        Ok(())
    }
}

fn oldest_first(store: &StoreSnapshot) -> Vec<Arc<StoreFile>> {
    store.files.iter().rev().cloned().collect()
}

fn pick(files: &[Arc<StoreFile>], places: &[usize]) -> Vec<Arc<StoreFile>> {
    places.iter().filter_map(|&place| files.get(place).cloned()).collect()
}

fn facts(file: &StoreFile) -> FileFacts {
    let reader = file.reader();
    FileFacts {
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
