//! Writes that a crash may undo, and the states that are allowed after it.
//!
//! The model contains the applied writes. A separate base contains the writes that nothing undoes
//! any longer. Between them, in log order, are the writes that are not safe from every crash yet:
//! not acknowledged, acknowledged in a weaker mode, or not in the log at all. After a crash
//! - logged writes exist up to some position and not after it: of the whole log, or of each region
//!   where the log is not synced, since a flush saves one region's writes without the others';
//! - that position is not before a write whose promise covers the crash, or one that a reader has
//!   seen;
//! - writes that skip the log exist up to the last flush of their region, whose time is unknown: up
//!   to some position in each row;
//! - a load from files exists or not.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bytes::Bytes;
use halite_engine::WalSync;
use halite_types::{Durability, RowOp};

use crate::check::{Mismatch, RowsByKey, TableContents, check_stored_row};
use crate::model::{Effect, Model};
use crate::step::StepResult;
use crate::world::World;

/// Nonces younger than the store's grace period by at least this must be known.
const NONCE_MARGIN_MS: u64 = 10_000;

/// Path of an entry to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritePath {
    Logged,
    /// Skipped the log.
    Skipped,
    /// Loaded from files.
    Loaded,
    /// Logged, but the log failed: it exists or not, and may appear later.
    Failed,
}

/// Promise to the writer, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    Nothing,
    /// Survives the end of the process.
    Flush,
    /// Survives a power loss of the machine.
    Fsync,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) effect: Effect,
    /// Region that contained its row.
    pub(crate) region: String,
    pub(crate) path: WritePath,
    /// Promise that holds once it is acknowledged.
    promise: Promise,
    /// Acknowledged, or seen by a reader.
    pub(crate) visible: bool,
    /// Durability that it has certainly reached.
    durable: Promise,
    /// Nonce and its time, if its writer assigned one.
    nonce: Option<(u64, i64)>,
}

impl Entry {
    pub(crate) fn new(
        effect: Effect,
        region: String,
        (path, promise): (WritePath, Promise),
        nonce: Option<(u64, i64)>,
    ) -> Self {
        Self { effect, region, path, promise, visible: false, durable: Promise::Nothing, nonce }
    }
}

/// Writes that are not safe yet, and the base of those that are.
#[derive(Clone, Debug)]
pub(crate) struct VolatileWrites {
    pub(crate) base: Model,
    pub(crate) entries: Vec<Entry>,
    /// Times at which cells may have been dropped.
    drops: Vec<PossibleDrop>,
}

/// Possible flush or compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PossibleDrop {
    /// Number of entries at that time.
    entries: usize,
    now: i64,
    drops_markers: bool,
}

impl PossibleDrop {
    fn record(self, model: &mut Model) {
        if self.drops_markers {
            model.record_compaction(self.now);
        } else {
            model.record_flush(self.now);
        }
    }
}

/// Event that determines which writes must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disruption {
    Kill,
    PowerLoss,
    /// Power loss without a synced log: any of its records may be missing, and the store is opened
    /// in a mode that skips them.
    Gaps,
    /// A failed call; the process continues.
    Failure,
}

/// Returns the path of an operation to the store, and its promise.
pub(crate) fn write_path(op: &RowOp, sync: WalSync) -> (WritePath, Promise) {
    let default = if sync == WalSync::Fsync { Promise::Fsync } else { Promise::Flush };
    match durability(op) {
        Durability::SkipWal => (WritePath::Skipped, Promise::Nothing),
        Durability::AsyncWal => (WritePath::Logged, Promise::Nothing),
        Durability::FsyncWal => (WritePath::Logged, Promise::Fsync),
        Durability::UseDefault | Durability::SyncWal => (WritePath::Logged, default),
    }
}

fn durability(op: &RowOp) -> Durability {
    match op {
        RowOp::Put(op) => op.mutation().durability,
        RowOp::Delete(op) => op.mutation().durability,
        RowOp::Increment(op) => op.mutation().durability,
        RowOp::Append(op) => op.mutation().durability,
        RowOp::Mutate(op) => op.ops.first().map_or(Durability::UseDefault, durability),
        RowOp::CheckAndMutate(op) => durability(&op.then),
    }
}

impl World {
    /// Adds an applied operation at the end of the log.
    pub(crate) fn add_entry(&mut self, entry: Entry) {
        let base = &self.model;
        let log = self.log.get_or_insert_with(|| VolatileWrites {
            base: base.clone(),
            entries: Vec::new(),
            drops: Vec::new(),
        });
        self.model.apply(&entry.effect);
        log.entries.push(entry);
    }

    /// Returns the entries.
    pub(crate) fn entries(&mut self) -> &mut [Entry] {
        self.log.as_mut().map_or(&mut [], |log| &mut log.entries)
    }

    /// Records that the entry was acknowledged or seen by a reader: it exists as its mode promises,
    /// and so do the entries before it in the log.
    pub(crate) fn record_visible(&mut self, index: usize) {
        let entries = self.entries();
        let Some(entry) = entries.get_mut(index) else { return };
        entry.visible = true;
        if entry.path == WritePath::Loaded {
            entry.durable = Promise::Fsync;
        }
        let level = if entry.path == WritePath::Logged { entry.promise } else { Promise::Nothing };
        for entry in entries[..=index].iter_mut().filter(|entry| entry.path == WritePath::Logged) {
            entry.durable = entry.durable.max(level);
        }
    }

    /// Removes entries that nothing undoes any longer.
    pub(crate) fn remove_safe_entries(&mut self) {
        let Some(log) = &mut self.log else { return };
        let safe = log.entries.iter().take_while(|entry| entry.durable == Promise::Fsync).count();
        if safe == 0 && !log.entries.is_empty() {
            return;
        }
        self.nonces.extend(log.entries[..safe].iter().filter_map(|entry| entry.nonce));
        if safe == log.entries.len() {
            self.log = None;
            return;
        }
        let mut base = log.base.clone();
        log.apply_to(&mut base, safe, |_| Some(true));
        log.base = base;
        log.entries.drain(..safe);
        log.drops.retain_mut(|drop| {
            let is_later = drop.entries > safe;
            drop.entries = drop.entries.saturating_sub(safe);
            is_later
        });
    }

    /// Records that the whole model is in files. A failed write that was not seen may still appear.
    pub(crate) fn mark_all_safe(&mut self) {
        let Some(log) = self.log.take() else { return };
        let (late, safe): (Vec<_>, Vec<_>) = log
            .entries
            .into_iter()
            .partition(|entry| entry.path == WritePath::Failed && !entry.visible);
        self.nonces.extend(safe.iter().filter_map(|entry| entry.nonce));
        if !late.is_empty() {
            self.log =
                Some(VolatileWrites { base: self.model.clone(), entries: late, drops: Vec::new() });
        }
    }

    /// Replaces the rows of the table.
    pub(crate) fn replace_all(&mut self, model: Model) {
        self.mark_all_safe();
        self.log = None;
        self.model = model;
    }

    /// Returns `true` if failed writes may still appear.
    pub(crate) fn has_late_entries(&self) -> bool {
        self.log.as_ref().is_some_and(|log| {
            log.entries.iter().any(|entry| entry.path == WritePath::Failed && !entry.visible)
        })
    }

    /// Checks that the newly opened store contains the nonces of the existing writes, and no
    /// others.
    fn check_nonces(
        &self,
        after: Disruption,
        entries: &[Entry],
        there: &[bool],
    ) -> Result<(), Mismatch> {
        if after == Disruption::Failure {
            return Ok(());
        }
        let now = self.now();
        // The clock is set back and forth by less than this; the store uses the time at which the
        // log released a nonce.
        let is_young = |given: i64| {
            u64::try_from(now - given)
                .is_ok_and(|age| age + NONCE_MARGIN_MS < self.options.nonce_grace_period_ms)
        };
        for (nonce, given) in &self.nonces {
            if is_young(*given) && !self.replayed.contains(nonce) {
                return Err(format!(
                    "nonce {nonce} of a write of {given} was evicted after {} ms of {}",
                    now - given,
                    self.options.nonce_grace_period_ms
                ));
            }
        }
        for (entry, there) in entries.iter().zip(there) {
            let Some((nonce, given)) = entry.nonce else { continue };
            let is_listed = self.replayed.contains(&nonce);
            if is_listed && !there {
                return Err(format!(
                    "nonce {nonce} is recorded, but its write is missing: {}",
                    entry.effect
                ));
            }
            if !is_listed && *there && is_young(given) && VolatileWrites::must_exist(entry, after) {
                return Err(format!(
                    "nonce {nonce} is not recorded, but its write exists: {}",
                    entry.effect
                ));
            }
        }
        Ok(())
    }

    /// Records a possible drop of cells in the base, too.
    pub(crate) fn record_drops(&mut self, now: i64, markers_too: bool) {
        let drop = PossibleDrop { entries: self.entries().len(), now, drops_markers: markers_too };
        drop.record(&mut self.model);
        if let Some(log) = &mut self.log
            && log.drops.last() != Some(&drop)
        {
            log.drops.push(drop);
        }
    }

    /// Reads everything, determines which of the entries exist, and updates the model accordingly.
    pub(crate) fn find_entries(&mut self, after: Disruption) -> StepResult {
        let now = self.now();
        if after != Disruption::Failure {
            self.record_drops(now, false);
        }
        let Some(log) = self.log.clone() else {
            let model = self.model.clone();
            self.check_all(&model)?;
            self.check_files_to_load(false)?;
            return Ok(self.check_nonces(after, &[], &[])?);
        };
        let found = self.read_table(self.table.name())?;
        let (all, raw) = (RowsByKey::from_rows(&found.all.1)?, RowsByKey::from_rows(&found.raw.1)?);
        if after == Disruption::Gaps {
            return self.adopt_stored_writes(&log, &found, &raw);
        }
        let rows: Vec<RowChoices> = log
            .rows()
            .iter()
            .map(|row| RowChoices::for_row(&log, row, after, now, &all, &raw))
            .collect();
        let by_region = after == Disruption::Failure
            || (after == Disruption::PowerLoss && self.promised == WalSync::Flush);
        let ChosenEntries { present: there, certain } = log.choose(&rows, after, by_region)?;
        let mut model = log.base.clone();
        let chosen =
            || log.entries.iter().zip(&there).filter(|(_, there)| **there).map(|(entry, _)| entry);
        log.apply_to(&mut model, log.entries.len(), |index| there[index].then_some(certain[index]));
        self.stats.in_flight += log.entries.len() as u64;
        self.stats.in_flight_survived += chosen().count() as u64;
        found.check(&model, now, &mut self.stats.checked)?;
        self.model = model;
        self.check_nonces(after, &log.entries, &there)?;
        if after == Disruption::Failure {
            // A missing entry, or one of unknown state, may still appear with the next start.
            for (entry, certain) in self.entries().iter_mut().zip(&certain) {
                entry.visible |= certain;
                if !entry.visible && entry.path == WritePath::Logged {
                    entry.path = WritePath::Failed;
                }
            }
        } else {
            let loaded = chosen().any(|entry| entry.path == WritePath::Loaded);
            self.check_files_to_load(loaded)?;
            let known = log.entries.iter().zip(&certain).filter(|(_, certain)| **certain);
            self.nonces.extend(known.filter_map(|(entry, _)| entry.nonce));
            self.log = None;
        }
        Ok(())
    }
}

impl World {
    /// Replaces the model by the writes that are stored; any of them may be missing.
    fn adopt_stored_writes(
        &mut self,
        log: &VolatileWrites,
        found: &TableContents,
        raw: &RowsByKey,
    ) -> StepResult {
        let mut model = log.base.clone();
        log.apply_to(&mut model, log.entries.len(), |_| Some(true));
        for row in log.rows() {
            let seen = raw.visible_cells(&row);
            model.doubt_missing(&row, |cell| seen.contains(cell));
        }
        found.check(&model, self.now(), &mut self.stats.checked)?;
        self.model = model;
        self.check_files_to_load(true)?;
        self.log = None;
        // Nonces of missing writes are removed as well.
        self.nonces.clear();
        Ok(())
    }
}

impl VolatileWrites {
    fn rows(&self) -> Vec<Bytes> {
        let mut rows: Vec<Bytes> =
            self.entries.iter().map(|entry| entry.effect.row().clone()).collect();
        rows.sort();
        rows.dedup();
        rows
    }

    fn entries_for_row<'a>(&'a self, row: &'a Bytes) -> impl Iterator<Item = (usize, &'a Entry)> {
        self.entries.iter().enumerate().filter(move |(_, entry)| entry.effect.row() == row)
    }

    /// Applies the chosen ones of the first `count` entries to a model, as certain or uncertain,
    /// and between them the possible drops of cells.
    fn apply_to(&self, model: &mut Model, count: usize, chosen: impl Fn(usize) -> Option<bool>) {
        let mut drops = self.drops.iter().filter(|drop| drop.entries <= count).peekable();
        for index in 0..count {
            while let Some(drop) = drops.next_if(|drop| drop.entries <= index) {
                drop.record(model);
            }
            match chosen(index) {
                Some(true) => model.apply(&self.entries[index].effect),
                Some(false) => model.apply_uncertain(&self.entries[index].effect),
                None => {}
            }
        }
        drops.for_each(|drop| drop.record(model));
    }

    /// Returns `true` if the entry must exist.
    fn must_exist(entry: &Entry, after: Disruption) -> bool {
        match after {
            Disruption::Kill => entry.durable >= Promise::Flush,
            Disruption::PowerLoss | Disruption::Gaps => entry.durable == Promise::Fsync,
            Disruption::Failure => entry.visible,
        }
    }

    /// Determines which entries exist: in every part of the log, the most that every row allows.
    fn choose(
        &self,
        rows: &[RowChoices],
        after: Disruption,
        by_region: bool,
    ) -> Result<ChosenEntries, Mismatch> {
        let mut must = vec![false; self.entries.len()];
        let mut there = vec![false; self.entries.len()];
        let of_part: Vec<&str> = self
            .entries
            .iter()
            .map(|entry| if by_region { &entry.region[..] } else { "" })
            .collect();
        let mut parts: Vec<&str> = of_part.clone();
        let mut seen = BTreeSet::new();
        parts.retain(|part| seen.insert(*part));
        // Number of existing logged entries of each row.
        let mut counts: Vec<usize> = vec![0; rows.len()];
        for (number, part) in parts.iter().enumerate() {
            let later: BTreeSet<&Bytes> = (0..self.entries.len())
                .filter(|index| {
                    self.entries[*index].path == WritePath::Logged
                        && parts[number + 1..].contains(&of_part[*index])
                })
                .map(|index| self.entries[index].effect.row())
                .collect();
            let logged: Vec<usize> = (0..self.entries.len())
                .filter(|index| {
                    of_part[*index] == *part && self.entries[*index].path == WritePath::Logged
                })
                .collect();
            let min = logged
                .iter()
                .rposition(|index| Self::must_exist(&self.entries[*index], after))
                .map_or(0, |index| index + 1);
            let fits = |end: usize| {
                let mut with = counts.clone();
                for index in &logged[..end] {
                    let row = rows
                        .iter()
                        .position(|row| row.row == *self.entries[*index].effect.row())
                        .expect("every entry has its row");
                    with[row] += 1;
                }
                let concerned = |row: &RowChoices| {
                    logged.iter().any(|index| self.entries[*index].effect.row() == &row.row)
                };
                // A row has entries of several regions if its region changed and the flush after
                // that failed.
                let goes_on = |row: &RowChoices| later.contains(&row.row);
                let fits = rows
                    .iter()
                    .zip(&with)
                    .all(|(row, count)| !concerned(row) || row.allows(*count, goes_on(row)));
                fits.then_some(with)
            };
            let Some((end, with)) =
                (min..=logged.len()).rev().find_map(|end| fits(end).map(|with| (end, with)))
            else {
                return Err(self.explain(rows, &logged, min));
            };
            counts = with;
            logged[..min].iter().for_each(|index| must[*index] = true);
            logged[..end].iter().for_each(|index| there[*index] = true);
        }
        for (row, count) in rows.iter().zip(&counts) {
            let Some(choice) = row.fitting.iter().rev().find(|choice| choice.logged == *count)
            else {
                return Err(self.explain(rows, &[], 0));
            };
            choice.others.iter().for_each(|index| there[*index] = true);
        }
        let mut certain = vec![false; self.entries.len()];
        for row in rows {
            let of_row: Vec<usize> = self
                .entries_for_row(&row.row)
                .map(|(index, _)| index)
                .filter(|index| self.entries[*index].path == WritePath::Logged)
                .collect();
            let min = of_row.iter().filter(|index| must[**index]).count();
            // Entries that even the smallest fitting choice contains.
            if let Some(choice) = row.fitting.iter().find(|choice| choice.logged >= min) {
                of_row[..choice.logged]
                    .iter()
                    .chain(&choice.others)
                    .for_each(|index| certain[*index] = true);
            }
        }
        // No entry exists without those before it in its part of the log.
        for part in parts {
            let is_of_part = |index: &usize| {
                of_part[*index] == part && self.entries[*index].path == WritePath::Logged
            };
            let last = (0..certain.len())
                .rev()
                .find(|index| is_of_part(index) && certain[*index])
                .unwrap_or(0);
            (0..last).filter(is_of_part).for_each(|index| certain[index] = true);
        }
        Ok(ChosenEntries { present: there, certain })
    }

    fn explain(&self, rows: &[RowChoices], part: &[usize], min: usize) -> Mismatch {
        let mut text = format!(
            "no subset of the writes that may be lost explains the stored cells; {min} of {} \
             must exist:",
            part.len()
        );
        for (index, entry) in self.entries.iter().enumerate() {
            let here = if part.contains(&index) { '*' } else { ' ' };
            let _ = write!(
                text,
                "\n {here}{index}: {:?} visible {} kept {:?} region {}: {}",
                entry.path, entry.visible, entry.durable, entry.region, entry.effect
            );
        }
        for row in rows {
            let fitting: Vec<_> =
                row.fitting.iter().map(|choice| (choice.logged, &choice.others)).collect();
            let _ = write!(
                text,
                "\n  row {}: explained by logged entries and others {fitting:?}",
                halite_types::key::to_string_binary(&row.row)
            );
            if fitting.is_empty() {
                let _ = write!(text, "\n  {}", row.mismatch);
            }
        }
        text
    }
}

/// Entries that exist.
struct ChosenEntries {
    /// The most entries that fit what was read.
    present: Vec<bool>,
    /// The entries of those without which the reads would not fit. The others are unknown, because
    /// no reader saw them.
    certain: Vec<bool>,
}

/// Possible subsets of a row's entries, given the cells found in it.
pub(crate) struct RowChoices {
    row: Bytes,
    fitting: Vec<Choice>,
    /// Reason why the last choice did not fit.
    mismatch: Mismatch,
}

struct Choice {
    /// Number of existing logged entries, counted from the first.
    logged: usize,
    /// Existing entries of the others.
    others: Vec<usize>,
}

impl RowChoices {
    fn for_row(
        log: &VolatileWrites,
        row: &Bytes,
        after: Disruption,
        now: i64,
        all: &RowsByKey,
        raw: &RowsByKey,
    ) -> Self {
        let entries: Vec<(usize, &Entry)> = log.entries_for_row(row).collect();
        let logged = entries.iter().filter(|(_, entry)| entry.path == WritePath::Logged).count();
        let of_way = |is_wanted: fn(WritePath) -> bool| -> Vec<usize> {
            entries
                .iter()
                .filter(|(_, entry)| is_wanted(entry.path))
                .map(|(index, _)| *index)
                .collect()
        };
        let min = |places: &[usize]| {
            places
                .iter()
                .rposition(|index| VolatileWrites::must_exist(&log.entries[*index], after))
                .map_or(0, |index| index + 1)
        };
        // A failed log write may exist although nothing was flushed.
        let (others, failed) = (
            of_way(|way| matches!(way, WritePath::Skipped | WritePath::Loaded)),
            of_way(|way| way == WritePath::Failed),
        );
        let mut out = Self { row: row.clone(), fitting: Vec::new(), mismatch: String::new() };
        let choices = (min(&others)..=others.len())
            .flat_map(|end| (min(&failed)..=failed.len()).map(move |late| (end, late)));
        for (end, late) in choices {
            let others: Vec<usize> = others[..end].iter().chain(&failed[..late]).copied().collect();
            for count in 0..=logged {
                let mut model = log.base.only(row);
                let logged: Vec<usize> = entries
                    .iter()
                    .filter(|(_, entry)| entry.path == WritePath::Logged)
                    .map(|(index, _)| *index)
                    .take(count)
                    .collect();
                log.apply_to(&mut model, log.entries.len(), |index| {
                    (logged.contains(&index) || others.contains(&index)).then_some(true)
                });
                match check_stored_row(&model, row, now, all, raw) {
                    Ok(()) => out.fitting.push(Choice { logged: count, others: others.clone() }),
                    Err(mismatch) => out.mismatch = mismatch,
                }
            }
        }
        out
    }

    /// Returns `true` if this number of entries may exist, or of those counted so far.
    fn allows(&self, count: usize, goes_on: bool) -> bool {
        self.fitting
            .iter()
            .any(|choice| choice.logged == count || (goes_on && choice.logged > count))
    }
}
