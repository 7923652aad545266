//! Writes that a crash may take back, and what is allowed to be left of them.
//!
//! The model knows what is applied. Beside it stands a base, which nothing takes back any more, and in between, in the order of
//! the log, stand the writes that are not safe from everything yet: not acknowledged, acknowledged in a mode that promises less,
//! or not in the log at all. After a crash
//! - logged writes are there up to some place and not behind it: of the whole log, or of each region where the log is not synced,
//!   since a flush saves one region's writes without the others';
//! - that place is not before a write whose promise covers the crash, or one that a reader has seen;
//! - writes that skip the log are there up to the last flush of their region, which nobody told us about: up to some place in
//!   each row;
//! - a load from files is there or not.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bytes::Bytes;
use halite_engine::WalSync;
use halite_types::{Durability, RowOp};

use crate::check::{Found, Mismatch, RowsFound, check_found};
use crate::model::{Effect, Model};
use crate::world::{Outcome, World};

/// Nonces younger than what the store is told by at least this must be known.
const NONCE_MARGIN_MS: u64 = 10_000;

/// How an entry came to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Logged,
    /// Past the log.
    Skipped,
    /// From files.
    Loaded,
    /// Logged, but the log failed: it is there or not, and may come later.
    Failed,
}

/// What its writer has been promised. The order is that of the promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    Nothing,
    /// It survives the process.
    Flush,
    /// It survives the machine.
    Fsync,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) effect: Effect,
    /// The region that had its row.
    pub(crate) region: String,
    pub(crate) way: Way,
    /// What is promised once it is acknowledged.
    level: Promise,
    /// Acknowledged, or seen by a reader.
    pub(crate) visible: bool,
    /// What it has outlived for sure.
    kept: Promise,
    /// Its number, if its writer gave it one, and when.
    nonce: Option<(u64, i64)>,
}

impl Entry {
    pub(crate) fn new(effect: Effect, region: String, (way, level): (Way, Promise), nonce: Option<(u64, i64)>) -> Self {
        Self { effect, region, way, level, visible: false, kept: Promise::Nothing, nonce }
    }
}

/// The writes that are not safe yet, over what is.
#[derive(Clone, Debug)]
pub(crate) struct Unsafe {
    pub(crate) base: Model,
    pub(crate) entries: Vec<Entry>,
    /// When something may have dropped cells since.
    drops: Vec<Drop>,
}

/// A flush or compaction, perhaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Drop {
    /// How many entries there were.
    entries: usize,
    now: i64,
    markers_too: bool,
}

impl Drop {
    fn note(self, model: &mut Model) {
        if self.markers_too { model.note_compaction(self.now) } else { model.note_flush(self.now) }
    }
}

/// What has happened to the store, as far as it decides which writes must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Kill,
    PowerLoss,
    /// The same where the log is not synced, and any of its records may be gone: the store is opened without them if it is asked
    /// to.
    Gaps,
    /// A failed call; the process goes on.
    Failure,
}

/// How an operation goes to the store, and what it is promised.
pub(crate) fn way_of(op: &RowOp, sync: WalSync) -> (Way, Promise) {
    let default = if sync == WalSync::Fsync { Promise::Fsync } else { Promise::Flush };
    match durability(op) {
        Durability::SkipWal => (Way::Skipped, Promise::Nothing),
        Durability::AsyncWal => (Way::Logged, Promise::Nothing),
        Durability::FsyncWal => (Way::Logged, Promise::Fsync),
        Durability::UseDefault | Durability::SyncWal => (Way::Logged, default),
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
    /// An operation was applied; it is at the end of the log now.
    pub(crate) fn add_entry(&mut self, entry: Entry) {
        let base = &self.model;
        let log = self.log.get_or_insert_with(|| Unsafe { base: base.clone(), entries: Vec::new(), drops: Vec::new() });
        self.model.apply(&entry.effect);
        log.entries.push(entry);
    }

    /// Entries that there are.
    pub(crate) fn entries(&mut self) -> &mut [Entry] {
        self.log.as_mut().map_or(&mut [], |log| &mut log.entries)
    }

    /// The entry has been acknowledged, or seen by a reader: it is there as its mode promises, and so is what stands before it in
    /// the log.
    pub(crate) fn note_visible(&mut self, at: usize) {
        let entries = self.entries();
        let Some(entry) = entries.get_mut(at) else { return };
        entry.visible = true;
        if entry.way == Way::Loaded {
            entry.kept = Promise::Fsync;
        }
        let level = if entry.way == Way::Logged { entry.level } else { Promise::Nothing };
        for entry in entries[..=at].iter_mut().filter(|entry| entry.way == Way::Logged) {
            entry.kept = entry.kept.max(level);
        }
    }

    /// Forgets entries that nothing takes back any more.
    pub(crate) fn settle_entries(&mut self) {
        let Some(log) = &mut self.log else { return };
        let safe = log.entries.iter().take_while(|entry| entry.kept == Promise::Fsync).count();
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

    /// All that is in the model is in files. What failed, and has not been seen, may still come.
    pub(crate) fn all_is_safe(&mut self) {
        let Some(log) = self.log.take() else { return };
        let (late, safe): (Vec<_>, Vec<_>) = log.entries.into_iter().partition(|entry| entry.way == Way::Failed && !entry.visible);
        self.nonces.extend(safe.iter().filter_map(|entry| entry.nonce));
        if !late.is_empty() {
            self.log = Some(Unsafe { base: self.model.clone(), entries: late, drops: Vec::new() });
        }
    }

    /// Other rows stand where those of the table stood.
    pub(crate) fn replace_all(&mut self, model: Model) {
        self.all_is_safe();
        self.log = None;
        self.model = model;
    }

    /// Whether writes that failed may still come.
    pub(crate) fn has_late_entries(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.entries.iter().any(|entry| entry.way == Way::Failed && !entry.visible))
    }

    /// The store that was just opened knows the nonces of the writes that are there, and of no others.
    fn check_nonces(&self, after: After, entries: &[Entry], there: &[bool]) -> Result<(), Mismatch> {
        if after == After::Failure {
            return Ok(());
        }
        let now = self.now();
        // The clock is set back and forth by less than this; the store goes by when the log let go of a nonce.
        let is_young = |given: i64| u64::try_from(now - given).is_ok_and(|age| age + NONCE_MARGIN_MS < self.options.nonce_ms);
        for (nonce, given) in &self.nonces {
            if is_young(*given) && !self.replayed.contains(nonce) {
                return Err(format!("nonce {nonce} of a write of {given} is forgotten after {} ms of {}", now - given, self.options.nonce_ms));
            }
        }
        for (entry, there) in entries.iter().zip(there) {
            let Some((nonce, given)) = entry.nonce else { continue };
            let is_listed = self.replayed.contains(&nonce);
            if is_listed && !there {
                return Err(format!("nonce {nonce} counts as done, and its write is not there: {}", entry.effect));
            }
            if !is_listed && *there && is_young(given) && Unsafe::must(entry, after) {
                return Err(format!("nonce {nonce} is forgotten, and its write is there: {}", entry.effect));
            }
        }
        Ok(())
    }

    /// Tells the base, too, of what may have dropped cells.
    pub(crate) fn note_drops(&mut self, now: i64, markers_too: bool) {
        let drop = Drop { entries: self.entries().len(), now, markers_too };
        drop.note(&mut self.model);
        if let Some(log) = &mut self.log
            && log.drops.last() != Some(&drop)
        {
            log.drops.push(drop);
        }
    }

    /// Reads everything, finds out which of the entries are there, and makes that the model.
    pub(crate) fn find_entries(&mut self, after: After) -> Outcome {
        let now = self.now();
        if after != After::Failure {
            self.note_drops(now, false);
        }
        let Some(log) = self.log.clone() else {
            let model = self.model.clone();
            self.check_all(&model)?;
            self.check_files_to_load(false)?;
            return Ok(self.check_nonces(after, &[], &[])?);
        };
        let found = self.read_table(self.table.name())?;
        let (all, raw) = (RowsFound::of(&found.all.1)?, RowsFound::of(&found.raw.1)?);
        if after == After::Gaps {
            return self.take_what_is_there(&log, &found, &raw);
        }
        let rows: Vec<RowChoices> = log.rows().iter().map(|row| RowChoices::of(&log, row, after, now, &all, &raw)).collect();
        let by_region = after == After::Failure || (after == After::PowerLoss && self.promised == WalSync::Flush);
        let Chosen { there, certain } = log.choose(&rows, after, by_region)?;
        let mut model = log.base.clone();
        let chosen = || log.entries.iter().zip(&there).filter(|(_, there)| **there).map(|(entry, _)| entry);
        log.apply_to(&mut model, log.entries.len(), |at| there[at].then_some(certain[at]));
        self.tally.in_flight += log.entries.len() as u64;
        self.tally.in_flight_kept += chosen().count() as u64;
        found.check(&model, now, &mut self.tally.checked)?;
        self.model = model;
        self.check_nonces(after, &log.entries, &there)?;
        if after == After::Failure {
            // What is not there now may still come with the next start, and so may what nobody could tell.
            for (entry, certain) in self.entries().iter_mut().zip(&certain) {
                entry.visible |= certain;
                if !entry.visible && entry.way == Way::Logged {
                    entry.way = Way::Failed;
                }
            }
        } else {
            let loaded = chosen().any(|entry| entry.way == Way::Loaded);
            self.check_files_to_load(loaded)?;
            let known = log.entries.iter().zip(&certain).filter(|(_, certain)| **certain);
            self.nonces.extend(known.filter_map(|(entry, _)| entry.nonce));
            self.log = None;
        }
        Ok(())
    }
}

impl World {
    /// Any of the writes may be gone: the model becomes what is there of them.
    fn take_what_is_there(&mut self, log: &Unsafe, found: &Found, raw: &RowsFound) -> Outcome {
        let mut model = log.base.clone();
        log.apply_to(&mut model, log.entries.len(), |_| Some(true));
        for row in log.rows() {
            let seen = raw.seen(&row);
            model.doubt_missing(&row, |cell| seen.contains(cell));
        }
        found.check(&model, self.now(), &mut self.tally.checked)?;
        self.model = model;
        self.check_files_to_load(true)?;
        self.log = None;
        // Those of writes that are gone are forgotten with them.
        self.nonces.clear();
        Ok(())
    }
}

impl Unsafe {
    fn rows(&self) -> Vec<Bytes> {
        let mut rows: Vec<Bytes> = self.entries.iter().map(|entry| entry.effect.row().clone()).collect();
        rows.sort();
        rows.dedup();
        rows
    }

    fn of_row<'a>(&'a self, row: &'a Bytes) -> impl Iterator<Item = (usize, &'a Entry)> {
        self.entries.iter().enumerate().filter(move |(_, entry)| entry.effect.row() == row)
    }

    /// Adds the chosen ones of the first so many entries to a model, for sure or not, and between them what may have dropped cells.
    fn apply_to(&self, model: &mut Model, count: usize, chosen: impl Fn(usize) -> Option<bool>) {
        let mut drops = self.drops.iter().filter(|drop| drop.entries <= count).peekable();
        for at in 0..count {
            while let Some(drop) = drops.next_if(|drop| drop.entries <= at) {
                drop.note(model);
            }
            match chosen(at) {
                Some(true) => model.apply(&self.entries[at].effect),
                Some(false) => model.apply_perhaps(&self.entries[at].effect),
                None => {}
            }
        }
        drops.for_each(|drop| drop.note(model));
    }

    /// Whether the entry must be there.
    fn must(entry: &Entry, after: After) -> bool {
        match after {
            After::Kill => entry.kept >= Promise::Flush,
            After::PowerLoss | After::Gaps => entry.kept == Promise::Fsync,
            After::Failure => entry.visible,
        }
    }

    /// Which entries are there: in every part of the log the most that every row allows.
    fn choose(&self, rows: &[RowChoices], after: After, by_region: bool) -> Result<Chosen, Mismatch> {
        let mut must = vec![false; self.entries.len()];
        let mut there = vec![false; self.entries.len()];
        let of_part: Vec<&str> = self.entries.iter().map(|entry| if by_region { &entry.region[..] } else { "" }).collect();
        let mut parts: Vec<&str> = of_part.clone();
        let mut seen = BTreeSet::new();
        parts.retain(|part| seen.insert(*part));
        // How many of each row's logged entries there are.
        let mut counts: Vec<usize> = vec![0; rows.len()];
        for (number, part) in parts.iter().enumerate() {
            let later: BTreeSet<&Bytes> = (0..self.entries.len())
                .filter(|at| self.entries[*at].way == Way::Logged && parts[number + 1..].contains(&of_part[*at]))
                .map(|at| self.entries[at].effect.row())
                .collect();
            let logged: Vec<usize> = (0..self.entries.len()).filter(|at| of_part[*at] == *part && self.entries[*at].way == Way::Logged).collect();
            let least = logged.iter().rposition(|at| Self::must(&self.entries[*at], after)).map_or(0, |at| at + 1);
            let fits = |end: usize| {
                let mut with = counts.clone();
                for at in &logged[..end] {
                    let row = rows.iter().position(|row| row.row == *self.entries[*at].effect.row()).expect("every entry has its row");
                    with[row] += 1;
                }
                let concerned = |row: &RowChoices| logged.iter().any(|at| self.entries[*at].effect.row() == &row.row);
                // A row has entries of several regions where these changed and the flush behind that failed.
                let goes_on = |row: &RowChoices| later.contains(&row.row);
                let fits = rows.iter().zip(&with).all(|(row, count)| !concerned(row) || row.allows(*count, goes_on(row)));
                fits.then_some(with)
            };
            let Some((end, with)) = (least..=logged.len()).rev().find_map(|end| fits(end).map(|with| (end, with))) else {
                return Err(self.explain(rows, &logged, least));
            };
            counts = with;
            logged[..least].iter().for_each(|at| must[*at] = true);
            logged[..end].iter().for_each(|at| there[*at] = true);
        }
        for (row, count) in rows.iter().zip(&counts) {
            let Some(choice) = row.fitting.iter().rev().find(|choice| choice.logged == *count) else {
                return Err(self.explain(rows, &[], 0));
            };
            choice.others.iter().for_each(|at| there[*at] = true);
        }
        let mut certain = vec![false; self.entries.len()];
        for row in rows {
            let of_row: Vec<usize> = self.of_row(&row.row).map(|(at, _)| at).filter(|at| self.entries[*at].way == Way::Logged).collect();
            let least = of_row.iter().filter(|at| must[**at]).count();
            // What even the least of what fits has.
            if let Some(choice) = row.fitting.iter().find(|choice| choice.logged >= least) {
                of_row[..choice.logged].iter().chain(&choice.others).for_each(|at| certain[*at] = true);
            }
        }
        // Nothing is there without what is before it in its part of the log.
        for part in parts {
            let is_of_part = |at: &usize| of_part[*at] == part && self.entries[*at].way == Way::Logged;
            let last = (0..certain.len()).rev().find(|at| is_of_part(at) && certain[*at]).unwrap_or(0);
            (0..last).filter(is_of_part).for_each(|at| certain[at] = true);
        }
        Ok(Chosen { there, certain })
    }

    fn explain(&self, rows: &[RowChoices], part: &[usize], least: usize) -> Mismatch {
        let mut text = format!("no part of the writes that may be lost fits what is there; {least} of {} must be:", part.len());
        for (at, entry) in self.entries.iter().enumerate() {
            let here = if part.contains(&at) { '*' } else { ' ' };
            let _ = write!(
                text,
                "\n {here}{at}: {:?} visible {} kept {:?} region {}: {}",
                entry.way, entry.visible, entry.kept, entry.region, entry.effect
            );
        }
        for row in rows {
            let fitting: Vec<_> = row.fitting.iter().map(|choice| (choice.logged, &choice.others)).collect();
            let _ = write!(text, "\n  row {}: fits with logged entries and others {fitting:?}", halite_types::key::print_bytes(&row.row));
            if fitting.is_empty() {
                let _ = write!(text, "\n  {}", row.wrong);
            }
        }
        text
    }
}

/// Which entries are there.
struct Chosen {
    /// As many as fit what was read.
    there: Vec<bool>,
    /// Of those, the ones without which it would not fit. Of the others nobody could tell, for a reader did not see them.
    certain: Vec<bool>,
}

/// How much of a row's entries may be there, given what is found in it.
pub(crate) struct RowChoices {
    row: Bytes,
    fitting: Vec<Choice>,
    /// Why the last choice did not fit.
    wrong: Mismatch,
}

struct Choice {
    /// The first so many of those in the log.
    logged: usize,
    /// These of the others.
    others: Vec<usize>,
}

impl RowChoices {
    fn of(log: &Unsafe, row: &Bytes, after: After, now: i64, all: &RowsFound, raw: &RowsFound) -> Self {
        let entries: Vec<(usize, &Entry)> = log.of_row(row).collect();
        let logged = entries.iter().filter(|(_, entry)| entry.way == Way::Logged).count();
        let of_way =
            |is_wanted: fn(Way) -> bool| -> Vec<usize> { entries.iter().filter(|(_, entry)| is_wanted(entry.way)).map(|(at, _)| *at).collect() };
        let least = |places: &[usize]| places.iter().rposition(|at| Unsafe::must(&log.entries[*at], after)).map_or(0, |at| at + 1);
        // What failed to be logged may be there although nothing was flushed.
        let (others, failed) = (of_way(|way| matches!(way, Way::Skipped | Way::Loaded)), of_way(|way| way == Way::Failed));
        let mut out = Self { row: row.clone(), fitting: Vec::new(), wrong: String::new() };
        let choices = (least(&others)..=others.len()).flat_map(|end| (least(&failed)..=failed.len()).map(move |late| (end, late)));
        for (end, late) in choices {
            let others: Vec<usize> = others[..end].iter().chain(&failed[..late]).copied().collect();
            for count in 0..=logged {
                let mut model = log.base.only(row);
                let logged: Vec<usize> = entries.iter().filter(|(_, entry)| entry.way == Way::Logged).map(|(at, _)| *at).take(count).collect();
                log.apply_to(&mut model, log.entries.len(), |at| (logged.contains(&at) || others.contains(&at)).then_some(true));
                match check_found(&model, row, now, all, raw) {
                    Ok(()) => out.fitting.push(Choice { logged: count, others: others.clone() }),
                    Err(mismatch) => out.wrong = mismatch,
                }
            }
        }
        out
    }

    /// Whether so many may be there, or so many of those that have been counted so far.
    fn allows(&self, count: usize, goes_on: bool) -> bool {
        self.fitting.iter().any(|choice| choice.logged == count || (goes_on && choice.logged > count))
    }
}
