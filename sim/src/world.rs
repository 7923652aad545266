//! One simulated machine with one store, the corresponding model, and the effect of each step on
//! both.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use halite_engine::env::Clock as _;
use halite_engine::env::sim::SimEnv;
use halite_engine::{CommitTicket, Options, WalSync};
use halite_types::{
    CompactionKind, Error, ErrorKind, OpResult, Result, RowOp, Scan, TableDescriptor, TableName,
};

use crate::check::{
    CheckCounts, Mismatch, TableContents, check_row, check_scan, format_cells, visible_cells,
};
use crate::clones::CloneState;
use crate::display::format_op;
use crate::faults::Health;
use crate::log::{Disruption, Entry, Promise, VolatileWrites, write_path};
use crate::model::{Effect, ExpectedError, Model, merge_batch};
use crate::step::{Step, StepError, StepResult};
use crate::store::{Rewrites, Store, is_refusal};

/// Statistics of a run, so that its report shows that it tested something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Acknowledged writes.
    pub writes: u64,
    /// Reads by kind of result.
    pub checked: CheckCounts,
    /// Unclean ends of a process.
    pub crashes: u64,
    /// Pending writes at the end of a process.
    pub in_flight: u64,
    /// Pending writes that existed afterwards.
    pub in_flight_survived: u64,
    /// Flushes, counted at the end of a process.
    pub flushes: u64,
    /// Requested flushes of some families.
    pub family_flushes: u64,
    /// In-memory compactions of memstores.
    pub in_memory_compactions: u64,
    /// Compactions, counted at the end of a process.
    pub compactions: u64,
    /// Splits and merges.
    pub region_changes: u64,
    /// Rows loaded from files.
    pub loads: u64,
    /// Snapshots taken, checked or restored, and clones created.
    pub snapshot_operations: u64,
    /// Failed calls after which the process continued.
    pub failures_survived: u64,
    /// Bits flipped in files.
    pub flips: u64,
    /// Reads and starts that were rejected because of a flipped bit.
    pub flips_refused: u64,
}

impl RunStats {
    /// Adds the statistics of another run.
    pub fn add(&mut self, other: &Self) {
        self.writes += other.writes;
        self.checked.certain += other.checked.certain;
        self.checked.doubtful += other.checked.doubtful;
        self.checked.unknown += other.checked.unknown;
        self.crashes += other.crashes;
        self.in_flight += other.in_flight;
        self.in_flight_survived += other.in_flight_survived;
        self.flushes += other.flushes;
        self.family_flushes += other.family_flushes;
        self.in_memory_compactions += other.in_memory_compactions;
        self.compactions += other.compactions;
        self.region_changes += other.region_changes;
        self.loads += other.loads;
        self.snapshot_operations += other.snapshot_operations;
        self.failures_survived += other.failures_survived;
        self.flips += other.flips;
        self.flips_refused += other.flips_refused;
    }
}

impl fmt::Display for RunStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckCounts { certain, doubtful, unknown } = self.checked;
        write!(
            f,
            "{} writes; results checked: {certain} with one correct result, {doubtful} with \
             several, {unknown} unchecked; ",
            self.writes
        )?;
        write!(
            f,
            "{} crashes, {} of {} writes in progress survived; ",
            self.crashes, self.in_flight_survived, self.in_flight
        )?;
        write!(
            f,
            "{} flushes, {} requests for some families, {} memstores compacted in memory, {} \
             compactions, ",
            self.flushes, self.family_flushes, self.in_memory_compactions, self.compactions
        )?;
        write!(
            f,
            "{} splits and merges, {} snapshot operations, {} loads; ",
            self.region_changes, self.snapshot_operations, self.loads
        )?;
        write!(
            f,
            "{} failed calls survived; {} bits flipped, {} reads rejected for it",
            self.failures_survived, self.flips, self.flips_refused
        )
    }
}

/// Applied writes and the ticket to wait for.
pub(crate) struct Submitted {
    /// Positions in the log.
    pub(crate) entries: Range<usize>,
    pub(crate) ticket: CommitTicket,
}

/// Machine, store and model.
pub struct World {
    /// Simulated machine.
    pub sim: SimEnv,
    pub(crate) store: Option<Store>,
    pub(crate) options: Options,
    /// Durability of ordinary writes; the store should have the same setting.
    pub(crate) promised: WalSync,
    pub(crate) table: TableDescriptor,
    /// State that readers see.
    pub(crate) model: Model,
    /// Part of the state that a crash may undo; `None` if there is none.
    pub(crate) log: Option<VolatileWrites>,
    /// Nonces of safe writes, and their times.
    pub(crate) nonces: Vec<(u64, i64)>,
    /// Nonces that the open store recovered.
    pub(crate) replayed: BTreeSet<u64>,
    pub(crate) clone_state: CloneState,
    /// Files that were being loaded when a call failed.
    pub(crate) loading: Vec<String>,
    /// Statistics so far.
    pub stats: RunStats,
    /// Seed for the remaining data when the process dies at a call; `None` retains everything
    /// written.
    pub(crate) power_loss: Option<u64>,
    /// Set if calls may fail: then an error of the engine is not a finding, and the process ends
    /// after it.
    pub(crate) may_fail: bool,
    /// Number of calls that had failed before the store was opened. Later failures may leave files
    /// for the next opening to quarantine.
    pub(crate) failures_before: u64,
    /// Faults in a random run.
    pub(crate) health: Health,
    rewrites: Rewrites,
}

impl World {
    /// Creates a machine with a store that contains one empty table. If the process dies during
    /// that, `power_loss` determines the remaining data, and it continues.
    ///
    /// # Errors
    /// Returns an error if the store cannot be created.
    pub fn new(
        sim: SimEnv,
        options: Options,
        table: TableDescriptor,
        power_loss: Option<u64>,
    ) -> std::result::Result<Self, Mismatch> {
        let model = Model::new(&table);
        let (store, tally, rewrites) = (None, RunStats::default(), Rewrites::default());
        let (copies, loading) = (CloneState::default(), Vec::new());
        let mut world = Self {
            sim,
            store,
            promised: options.wal_sync,
            options,
            table,
            model,
            log: None,
            nonces: Vec::new(),
            replayed: BTreeSet::new(),
            clone_state: copies,
            loading,
            stats: tally,
            power_loss,
            may_fail: false,
            failures_before: 0,
            health: Health::default(),
            rewrites,
        };
        world.start(false)?;
        Ok(world)
    }

    /// Returns the current time.
    pub fn now(&self) -> i64 {
        self.sim.clock.now_ms()
    }

    /// Executes one step and its consequences.
    ///
    /// # Errors
    /// Returns the engine's incorrect behavior.
    pub fn step(&mut self, step: &Step) -> std::result::Result<(), Mismatch> {
        let outcome = self
            .recheck_failed_writes(step)
            .and_then(|go_on| if go_on { self.try_step(step) } else { Ok(()) })
            .and_then(|()| self.background());
        match outcome {
            Err(StepError::Wrong(mismatch)) => Err(mismatch),
            Err(StepError::Failed(error)) if !self.sim.fs.is_gone() && self.may_refuse() => {
                self.after_failure(step, &error)
            }
            Err(StepError::Failed(error)) if !self.sim.fs.is_gone() && !self.may_fail => {
                Err(format!("{step} failed: {error}"))
            }
            Err(StepError::Failed(error)) => {
                if error.kind() == ErrorKind::DiskFull {
                    self.check_reads()?;
                }
                self.restart()
            }
            Ok(()) if self.sim.fs.is_gone() => self.restart(),
            Ok(()) => Ok(()),
        }
    }

    fn try_step(&mut self, step: &Step) -> StepResult {
        match step {
            Step::Write(op) => self.write(std::slice::from_ref(op)),
            Step::Batch(ops) => self.write(ops),
            Step::Get(get) => {
                let row = self.store()?.get(get)?;
                Ok(check_row(
                    &self.model,
                    get.row(),
                    &get.selection,
                    self.now(),
                    &row,
                    &mut self.stats.checked,
                )?)
            }
            Step::Scan(scan) => {
                let rows = self.store()?.scan(scan)?;
                Ok(check_scan(&self.model, scan, self.now(), &rows, &mut self.stats.checked)?)
            }
            Step::Fault(trouble) => self.inject_fault(*trouble),
            Step::Burst(acts, end) => self.burst(acts, *end),
            Step::WriteOnce(op, nonce) => self.write_once(op, *nonce),
            Step::Flush => self.flush(),
            Step::FlushFamilies(chosen) => self.flush_families(*chosen),
            Step::CompactMinor => Ok(self.store()?.compact(CompactionKind::Minor)?),
            Step::CompactMajor => self.compact_all(),
            Step::Split(row) => self.change_regions(|store| {
                if store.regions()?.len() < 6 { store.split(row) } else { Ok(()) }
            }),
            Step::Merge(index) => self.change_regions(|store| store.merge(*index)),
            Step::Load(put) => self.load(put),
            Step::Snapshot(number) => self.take_or_delete_snapshot(*number),
            Step::Clone(number) => self.clone_or_drop(*number),
            Step::WriteClone(number, op) => self.write_clone(*number, op),
            Step::CompactClone(number) => self.change_clone(*number, |store| {
                store.flush().and_then(|()| store.compact(CompactionKind::Major))
            }),
            Step::SplitClone(number, row) => self.change_clone(*number, |store| store.split(row)),
            Step::Restore(number) => self.restore(*number),
            Step::Property(number) => self.change_property(*number),
            Step::CheckSnapshots => self.check_snapshots(),
            Step::RemoveAll => self.remove_all(),
            Step::Reopen => self.reopen(),
            Step::Kill => {
                self.power_loss = None;
                Ok(self.restart()?)
            }
            Step::PowerLoss(seed) => {
                self.power_loss = Some(*seed);
                Ok(self.restart()?)
            }
            Step::CrashSoon(calls, seed) => {
                self.power_loss = (seed % 3 > 0).then_some(*seed);
                self.sim.fs.crash_at_call(self.sim.fs.calls() + calls);
                Ok(())
            }
            Step::Advance(milliseconds) => {
                self.sim.clock.advance_ms(*milliseconds);
                Ok(())
            }
            Step::Jump(milliseconds) => {
                self.sim.clock.jump_ms(*milliseconds);
                Ok(())
            }
        }
    }

    pub(crate) fn store(&self) -> Result<&Store> {
        self.store.as_ref().ok_or_else(|| Error::new(ErrorKind::Stopped, "no store is open"))
    }

    /// Applies writes in one call, waits for them, and compares each result with the model.
    fn write(&mut self, ops: &[RowOp]) -> StepResult {
        let before = self.model.clone();
        let Some(submitted) = self.submit(ops, None)? else { return Ok(()) };
        // Readers do not see unacknowledged writes.
        self.wait_for(&submitted).inspect_err(|_| self.model = before)
    }

    /// As [`World::write`], with a nonce that the log stores.
    fn write_once(&mut self, op: &RowOp, nonce: u64) -> StepResult {
        let before = self.model.clone();
        let Some(submitted) = self.submit(std::slice::from_ref(op), Some(nonce))? else {
            return Ok(());
        };
        self.wait_for(&submitted).inspect_err(|_| self.model = before)
    }

    /// Applies writes in one call, and compares their results with the model. Returns `None` if
    /// they were skipped.
    pub(crate) fn submit(
        &mut self,
        ops: &[RowOp],
        nonce: Option<u64>,
    ) -> StepResult<Option<Submitted>> {
        let now = self.now();
        let mut after = self.model.clone();
        let mut effects = Vec::new();
        for op in ops {
            let effect = after.effect(op, now);
            if let Ok(effect) = &effect {
                // A write that depends on a doubtful read would be doubtful indefinitely, so it is
                // skipped.
                if !effect.certain {
                    return Ok(None);
                }
                after.apply(effect);
            }
            effects.push(effect);
        }
        let regions =
            ops.iter().map(|op| self.store()?.region_name(op.row())).collect::<Result<Vec<_>>>()?;
        let (results, ticket) = match (nonce, ops) {
            (Some(nonce), [op]) => self.store()?.submit_once(op.clone(), nonce)?,
            _ => self.store()?.submit(ops.to_vec()),
        };
        let mut failed = None;
        let (mut done, mut of_done) = (Vec::new(), Vec::new());
        for (index, ((op, effect), result)) in ops.iter().zip(effects).zip(results).enumerate() {
            match (effect, result) {
                (Ok(effect), Ok(result)) => {
                    compare_result(op, &effect, &result)?;
                    done.push(effect);
                    of_done.push(index);
                }
                (Err(ExpectedError(kind)), Err(error)) if error.kind() == kind => {}
                (_, Err(error)) => failed = Some(error),
                (Err(refusal), Ok(result)) => {
                    return Err(StepError::Wrong(format!(
                        "{} must return {refusal:?} but returned {result:?}",
                        format_op(op)
                    )));
                }
            }
        }
        merge_batch(&mut done);
        let mut done: Vec<_> = of_done.into_iter().zip(done).collect();
        // They are logged by region, in the order of each region's first operation.
        done.sort_by_key(|(index, _)| regions.iter().position(|region| *region == regions[*index]));
        let first = self.entries().len();
        for (index, effect) in done {
            let (way, level) = write_path(&ops[index], self.promised);
            // A write without changes is not in the log, and implies nothing about the log.
            let (level, nonce) = if effect.is_empty() {
                (Promise::Nothing, None)
            } else {
                (level, nonce.map(|nonce| (nonce, now)))
            };
            self.add_entry(Entry::new(effect, regions[index].clone(), (way, level), nonce));
        }
        match failed {
            Some(error) => Err(StepError::Failed(error)),
            None => Ok(Some(Submitted { entries: first..self.entries().len(), ticket })),
        }
    }

    /// Waits for submitted writes, which are then acknowledged.
    pub(crate) fn wait_for(&mut self, submitted: &Submitted) -> StepResult {
        submitted.ticket.wait()?;
        self.acknowledge(submitted);
        self.remove_safe_entries();
        Ok(())
    }

    /// Records that submitted writes were acknowledged.
    pub(crate) fn acknowledge(&mut self, submitted: &Submitted) {
        self.stats.writes += submitted.entries.len() as u64;
        submitted.entries.clone().for_each(|index| self.record_visible(index));
    }

    pub(crate) fn flush(&mut self) -> StepResult {
        self.store()?.flush()?;
        if self.has_late_entries() {
            // A flush waits for the log, and completes writes that no caller waited for.
            self.record_rewrites(true);
            self.find_entries(Disruption::Failure)?;
        }
        self.mark_all_safe();
        Ok(())
    }

    /// Flushes some families. That makes nothing safe that was not before: the others still need
    /// the log.
    fn flush_families(&mut self, chosen: u64) -> StepResult {
        let families = self.table.families().enumerate();
        let families: Vec<Bytes> = families
            .filter(|(index, _)| chosen >> index & 1 == 1)
            .map(|(_, family)| family.name().clone())
            .collect();
        self.store()?.flush_families(&families)?;
        self.stats.family_flushes += 1;
        if self.has_late_entries() {
            // As in [`World::flush`].
            self.record_rewrites(true);
            self.find_entries(Disruption::Failure)?;
        }
        Ok(())
    }

    fn compact_all(&mut self) -> StepResult {
        self.flush()?;
        self.store()?.compact(CompactionKind::Major)?;
        self.rewrites = self.store()?.rewrites();
        self.model.record_major_compaction(self.now());
        Ok(())
    }

    fn change_regions(&mut self, change: impl FnOnce(&Store) -> Result<()>) -> StepResult {
        let before = self.store()?.regions()?.len();
        match change(self.store()?) {
            Err(error) if is_refusal(&error) => {}
            other => other?,
        }
        // The new regions count their flushes from zero.
        self.record_rewrites(true);
        if self.store()?.regions()?.len() == before {
            return Ok(());
        }
        self.stats.region_changes += 1;
        // The data of replaced regions is in files; a flush covers the others, so that region names
        // no longer matter.
        if self.log.is_some() { self.flush() } else { Ok(()) }
    }

    /// Closes the store, optionally fails the power, and opens the store without a log.
    fn reopen(&mut self) -> StepResult {
        // Files that could not be removed still exist.
        let may_find = self.sim.fs.failures() > self.failures_before || self.may_refuse();
        let failures = self.sim.fs.failures();
        self.record_rewrites(true);
        if let Some(store) = self.store.take() {
            store.close()?;
        }
        self.mark_all_safe();
        let crashes = self.stats.crashes;
        let planned = self.sim.fs.planned_crash();
        let power_lost = self.now() % 2 == 0;
        if power_lost {
            self.sim.fs.drop_unsynced();
        } else {
            self.sim.fs.kill();
        }
        if let Some(call) = planned {
            self.sim.fs.crash_at_call(call);
        }
        self.health.has_failed = false;
        self.start(false)?;
        // So do files that closing could not remove, and those of an opening that was retried.
        let may_find = may_find || self.sim.fs.failures() > failures;
        let store = self.store()?;
        match (store.replayed_writes(), store.removed_files()) {
            _ if self.stats.crashes > crashes => Ok(()),
            (0, 0) => Ok(()),
            _ if may_find => Ok(()),
            // The removal of a file is not necessarily durable.
            (0, _) if power_lost => Ok(()),
            (0, files) => Err(StepError::Wrong(format!(
                "{files} unreferenced files remained after a clean close"
            ))),
            (writes, _) => Err(StepError::Wrong(format!(
                "{writes} writes were replayed from the log after a clean close"
            ))),
        }
    }

    /// Runs the engine's background jobs.
    fn background(&mut self) -> StepResult {
        self.record_rewrites(false);
        while self.store()?.run_one_job()? {
            self.record_rewrites(false);
        }
        Ok(())
    }

    /// Records events that may have dropped cells since the last call. Returns `true` if there were
    /// any.
    pub(crate) fn record_rewrites(&mut self, for_sure: bool) -> bool {
        let Some(store) = &self.store else { return false };
        let rewrites = store.rewrites();
        let now = self.now();
        if for_sure || rewrites.compactions != self.rewrites.compactions {
            self.record_drops(now, true);
        } else if rewrites != self.rewrites {
            self.record_drops(now, false);
        }
        self.stats.flushes += rewrites.flushes.saturating_sub(self.rewrites.flushes);
        self.stats.in_memory_compactions +=
            rewrites.in_memory_compactions.saturating_sub(self.rewrites.in_memory_compactions);
        self.stats.compactions += rewrites.compactions.saturating_sub(self.rewrites.compactions);
        std::mem::replace(&mut self.rewrites, rewrites) != rewrites
    }

    pub(crate) fn clear_rewrites(&mut self) {
        self.rewrites = Rewrites::default();
    }

    /// Checks that reads continue after a failed write, and do not return unacknowledged writes. A
    /// table that was disabled to be restored stays disabled without free space for the rest, and
    /// rejects all reads.
    fn check_reads(&mut self) -> std::result::Result<(), Mismatch> {
        self.record_rewrites(true);
        let model = self.model.clone();
        let out_of_service = self.clone_state.is_restoring()
            && self
                .store
                .as_ref()
                .is_some_and(|store| store.is_enabled().is_ok_and(|enabled| !enabled));
        match self.check_all(&model) {
            Err(StepError::Failed(error))
                if out_of_service && error.kind() == ErrorKind::TableDisabled =>
            {
                Ok(())
            }
            _ if out_of_service => Err("a disabled table was read after a failed write".into()),
            Err(StepError::Wrong(mismatch)) => Err(format!("after a failed write: {mismatch}")),
            Err(StepError::Failed(error)) if !self.sim.fs.is_gone() => {
                Err(format!("reads failed after a failed write: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Reads everything in every way that does not depend on the step and compares it with the
    /// model.
    pub(crate) fn check_all(&mut self, model: &Model) -> StepResult {
        let table = self.table.name().clone();
        self.check_table(&table, model)
    }

    pub(crate) fn check_table(&mut self, table: &TableName, model: &Model) -> StepResult {
        let found = self.read_table(table)?;
        Ok(found.check(model, self.now(), &mut self.stats.checked)?)
    }

    pub(crate) fn read_table(&self, table: &TableName) -> Result<TableContents> {
        let store = self.store()?.with_table(table);
        let read = |scan: Scan| store.scan(&scan).map(|rows| (scan, rows));
        Ok(TableContents {
            all: read(Scan::all().all_versions())?,
            raw: read(Scan::all().raw(true).all_versions())?,
            reversed: if self.sim.fs.calls().is_multiple_of(4) {
                Some(read(Scan::all().reverse(true))?)
            } else {
                None
            },
        })
    }
}

pub(crate) fn compare_result(
    op: &RowOp,
    effect: &Effect,
    result: &OpResult,
) -> std::result::Result<(), Mismatch> {
    let key: &Bytes = op.row();
    let seen = visible_cells(key, &result.row)?;
    if seen == effect.result && result.processed == effect.processed {
        return Ok(());
    }
    Err(format!(
        "{}\n  answered {}, {}\n  right is {}, {}",
        format_op(op),
        result.processed,
        format_cells(&seen),
        effect.processed,
        format_cells(&effect.result)
    ))
}
