//! Execution of a compaction: merge, write, record in the manifest, swap.

use std::sync::Arc;

use halite_types::cell::{first_on_row, key_row};
use halite_types::{CellRef, CompactionFilter, CompactionKind, Result};

use super::CompactionPlan;
use super::facts::file_stats;
use super::job::{Haste, StoreCompaction};
use super::row_filter::RowBuffer;
use crate::block_cache::BlockReadOptions;
use crate::events::{EventKind, NewEvent};
use crate::maintenance_stats::CompactionResult;
use crate::region::Region;
use crate::scan::{CellSource, CellStream, Matcher, Retention, StoreLimits, StoreScanner};
use crate::store::{Division, NewFile, StoreFile, StoreSnapshot, StripeBounds, write_files};

/// Files to merge into others.
struct Merge {
    /// Input files, oldest first.
    inputs: Vec<Arc<StoreFile>>,
    /// `true` if these are all files of the store.
    is_major: bool,
    /// Rows all of whose files are merged, so that delete markers are dropped.
    complete_rows: Option<StripeBounds>,
    division: Division,
}

/// Rows that are merged in one way: from `start` (inclusive) to `end` (exclusive).
struct MergedRows {
    rows: StripeBounds,
    drops_deletes: bool,
}

impl Region {
    /// Executes a compaction whose files the caller has claimed, or whose caller excludes others.
    pub(super) fn run_compaction(&self, work: &StoreCompaction, haste: Haste) -> Result<()> {
        work.snapshot.stores[work.index].check_files()?;
        let places = work.plan.places(work.files.len());
        let inputs = work.pick(&places);
        let policy = self.compaction_policy(work.family());
        let division = |is_major| {
            let stats = file_stats(&inputs, &[]);
            work.family().store_policy.division(&stats, is_major, &policy)
        };
        let (is_major, complete_rows, division) = match &work.plan {
            CompactionPlan::Drop(_) => return self.replace_files(work, &inputs, &[]),
            CompactionPlan::Minor(_) => (false, None, division(false)),
            CompactionPlan::Major => (true, Some(StripeBounds::default()), division(true)),
            CompactionPlan::Stripes(merge) => {
                (false, merge.complete_rows.clone(), merge.division.clone())
            }
        };
        if inputs.is_empty() {
            return Ok(());
        }
        check_order(&work.files, &places, &division);
        self.merge(work, haste, &Merge { inputs, is_major, complete_rows, division })
    }

    fn merge(&self, work: &StoreCompaction, haste: Haste, merge: &Merge) -> Result<()> {
        let inputs = &merge.inputs;
        let sizes: (u64, u64) = (inputs.len() as u64, inputs.iter().map(|file| file.bytes()).sum());
        let _room = self
            .shared
            .disk
            .claim(sizes.1, || format!("compacting region {}", self.info().display_name()))?;
        let began = self.shared.env.clock.monotonic_ns();
        let new = NewFile {
            region: self.info(),
            number: self.number,
            family: work.family(),
            tags: inputs.iter().any(|file| file.reader().has_tags()),
            max_sequence: inputs.iter().map(|file| file.max_sequence()).max().unwrap_or(0),
            major: merge.is_major,
            compacted_from: inputs.iter().map(|file| file.entry.name.clone()).collect(),
            compacted_bytes: inputs.iter().map(|file| file.reader().bytes()).sum(),
        };
        let drops_deletes = merge.complete_rows.is_some();
        let kind = if merge.is_major { CompactionKind::Major } else { CompactionKind::Minor };
        let held = inputs.iter().map(|file| file.reader().entry_count()).sum();
        let mut running = self.compactions.start(kind, held);
        let retention = work.family().retention(self.shared.env.clock.now_ms());
        let mut outputs = write_files(&self.shared, &new, &merge.division, |each| {
            for part in parts(merge.complete_rows.as_ref()) {
                let mut gate = part.drops_deletes.then(|| self.compaction_filter(work)).flatten();
                let mut gate = gate.take().map(RowBuffer::new);
                let take = |cell: CellRef<'_>| {
                    running.add_cell();
                    match &mut gate {
                        Some(gate) => gate.take(cell, each),
                        None => each(cell),
                    }
                };
                let may_go_on = |bytes| self.continue_compaction(work, bytes, haste);
                self.merged_cells(inputs, retention, &part)?.compact_while(
                    &part.rows.end,
                    may_go_on,
                    take,
                )?;
                gate.as_mut().map_or(Ok(()), |gate| gate.finish(each))?;
            }
            Ok(())
        })?;
        // Files without cells record the bounds of stripes, which a store without rows has not.
        if merge.is_major && outputs.iter().all(|file| file.reader().is_empty()) {
            let empty = std::mem::take(&mut outputs);
            self.shared.archive_or_delete(empty.iter().flat_map(|file| file.origins()));
        }
        debug_assert!(
            drops_deletes || merge.division != Division::Whole || outputs.len() <= 1,
            "an undivided compaction writes one file"
        );
        self.record_displaced(
            held,
            outputs.iter().map(|file| file.reader().entry_count()).sum(),
            new.max_sequence,
        );
        let written = (outputs.len() as u64, outputs.iter().map(|file| file.bytes()).sum());
        self.replace_files(work, inputs, &outputs)?;
        let took_ns = self.shared.env.clock.monotonic_ns().saturating_sub(began);
        self.shared.maintenance_stats.add_compaction(&CompactionResult {
            is_major: merge.is_major,
            took_ns,
            input: sizes,
            output: written,
        });
        let text = format!(
            "{} compaction of region {}: {} files to {}",
            if merge.is_major { "major" } else { "minor" },
            self.info().encoded_name,
            sizes.0,
            written.0
        );
        let event = NewEvent::of_region(EventKind::Compaction, self.info(), text);
        self.shared.record(event.took(took_ns).wrote(written.1));
        Ok(())
    }

    /// Returns a scanner over the cells of some rows that the versions and times of the family
    /// retain.
    fn merged_cells(
        &self,
        inputs: &[Arc<StoreFile>],
        retention: Retention,
        part: &MergedRows,
    ) -> Result<StoreScanner> {
        let earliest_put = inputs.iter().map(|file| file.earliest_put()).min().unwrap_or(i64::MAX);
        let matcher = if part.drops_deletes {
            Matcher::for_major_compaction(retention, earliest_put)
        } else {
            Matcher::for_minor_compaction(retention)
        };
        let blocks = BlockReadOptions::for_maintenance(&self.shared.cache);
        let sources =
            inputs.iter().rev().map(|file| CellSource::file(file, &blocks, u64::MAX)).collect();
        let merged = CellStream::new(sources, retention.merge_rule());
        let mut scanner = StoreScanner::new(merged, matcher, StoreLimits::default(), false);
        scanner.seek(&first_on_row(&part.rows.start))?;
        Ok(scanner)
    }

    /// Returns the filter that rewrites the rows of a store, if there is one.
    fn compaction_filter(&self, work: &StoreCompaction) -> Option<Box<dyn CompactionFilter>> {
        let descriptor = &work.snapshot.descriptor;
        let family = descriptor.find_family(&work.family().name)?;
        self.shared.options.compaction_filter_factory.as_ref()?.for_family(descriptor, family)
    }

    /// Replaces `inputs` with `outputs`, first in the manifest, then for readers.
    fn replace_files(
        &self,
        work: &StoreCompaction,
        inputs: &[Arc<StoreFile>],
        outputs: &[Arc<StoreFile>],
    ) -> Result<()> {
        let changed = self.shared.manifest.change(|catalog| {
            let files = catalog
                .region_mut(&self.info().table, self.number)?
                .families
                .entry(work.family().name.clone())
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
            debug_assert!(
                current.families[work.index].name == work.family().name,
                "a table is not altered during its compactions"
            );
            let mut stores = current.stores.clone();
            let files = &mut stores[work.index].files;
            let before = files.len();
            files.retain(|file| !inputs.iter().any(|input| Arc::ptr_eq(input, file)));
            debug_assert_eq!(before - files.len(), inputs.len(), "claimed files stay");
            files.extend(outputs.iter().cloned());
            StoreSnapshot::sort_files(files);
            current.with_stores(stores)
        });
        self.counters.add_compaction();
        self.shared.archive_or_delete(inputs.iter().flat_map(|file| file.origins()));
        Ok(())
    }
}

/// Divides all rows by whether delete markers are dropped: only in the `complete` ones.
fn parts(complete: Option<&StripeBounds>) -> Vec<MergedRows> {
    let Some(complete) = complete else {
        return vec![MergedRows { rows: StripeBounds::default(), drops_deletes: false }];
    };
    let mut parts = Vec::new();
    if !complete.start.is_empty() {
        let rows = StripeBounds { end: complete.start.clone(), ..StripeBounds::default() };
        parts.push(MergedRows { rows, drops_deletes: false });
    }
    parts.push(MergedRows { rows: complete.clone(), drops_deletes: true });
    if !complete.end.is_empty() {
        let rows = StripeBounds { start: complete.end.clone(), ..StripeBounds::default() };
        parts.push(MergedRows { rows, drops_deletes: false });
    }
    parts
}

/// Verifies that the files written can take the place of the newest file merged in each of their
/// ranges of rows: of two equal cells that of the newer file counts.
///
/// # Panics
/// If a file with rows of such a range lies between the inputs.
fn check_order(files: &[Arc<StoreFile>], inputs: &[usize], division: &Division) {
    for range in division.ranges() {
        let has_rows = |at: &usize| files.get(*at).is_some_and(|file| may_have_rows(file, &range));
        let mut of_range = inputs.iter().copied().filter(has_rows);
        let Some(first) = of_range.next() else { continue };
        let last = of_range.last().unwrap_or(first);
        let between = (first..last).find(|at| inputs.binary_search(at).is_err() && has_rows(at));
        assert!(
            between.is_none(),
            "a merge takes files that follow each other, and its result takes their place"
        );
    }
}

fn may_have_rows(file: &StoreFile, rows: &StripeBounds) -> bool {
    let reader = file.reader();
    let (first, last) = (reader.first_key().map(key_row), reader.last_key().map(key_row));
    !reader.is_empty()
        && first.is_none_or(|first| !rows.is_before(first))
        && last.is_none_or(|last| last >= &rows.start[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletes_are_dropped_in_complete_rows_only() {
        let named = |complete: Option<StripeBounds>| -> Vec<(Vec<u8>, Vec<u8>, bool)> {
            parts(complete.as_ref())
                .into_iter()
                .map(|part| (part.rows.start.to_vec(), part.rows.end.to_vec(), part.drops_deletes))
                .collect()
        };
        let of = |start: &'static str, end: &'static str| {
            Some(StripeBounds { start: start.into(), end: end.into() })
        };
        let row = |row: &str| row.as_bytes().to_vec();
        assert_eq!(named(None), [(row(""), row(""), false)]);
        assert_eq!(named(of("", "")), [(row(""), row(""), true)]);
        assert_eq!(named(of("", "m")), [(row(""), row("m"), true), (row("m"), row(""), false)]);
        assert_eq!(
            named(of("g", "m")),
            [(row(""), row("g"), false), (row("g"), row("m"), true), (row("m"), row(""), false)]
        );
    }
}
