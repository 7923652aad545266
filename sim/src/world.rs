//! One simulated machine with one store on it, the model beside it, and what each step does to both.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use halite_engine::env::Clock as _;
use halite_engine::env::sim::SimEnv;
use halite_engine::{CommitTicket, Options, WalSync};
use halite_types::{CompactionKind, Error, ErrorKind, OpResult, Result, RowOp, Scan, TableDescriptor, TableName};

use crate::check::{Checked, Found, Mismatch, check_row, check_scan, print, seen_cells};
use crate::copies::Copies;
use crate::generate::Step;
use crate::log::{After, Entry, Promise, Unsafe, way_of};
use crate::model::{Effect, Model, Refusal, note_batch};
use crate::show::show_op;
use crate::store::{Rewrites, Store, is_refusal};
use crate::trouble::Health;

/// What a run has done, so that its report can show that it did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Acknowledged writes.
    pub writes: u64,
    /// Reads by kind of answer.
    pub checked: Checked,
    /// Ends of a process that were not clean.
    pub crashes: u64,
    /// Writes that were under way when a process ended.
    pub in_flight: u64,
    /// Of those, writes that were there afterwards.
    pub in_flight_kept: u64,
    /// Flushes, counted when a process ended.
    pub flushes: u64,
    /// Memstores written anew in memory.
    pub condensations: u64,
    /// Compactions, counted when a process ended.
    pub compactions: u64,
    /// Splits and merges done.
    pub region_changes: u64,
    /// Rows loaded from files.
    pub loads: u64,
    /// Snapshots taken, looked into or restored, and clones made.
    pub copies: u64,
    /// Failed calls after which the process went on.
    pub failures_outlived: u64,
    /// Bits flipped in files, and reads and starts that were refused for it.
    pub flips: u64,
    /// See there.
    pub flips_refused: u64,
}

impl Tally {
    /// What two runs have done together.
    pub fn add(&mut self, other: &Self) {
        self.writes += other.writes;
        self.checked.certain += other.checked.certain;
        self.checked.doubtful += other.checked.doubtful;
        self.checked.unknown += other.checked.unknown;
        self.crashes += other.crashes;
        self.in_flight += other.in_flight;
        self.in_flight_kept += other.in_flight_kept;
        self.flushes += other.flushes;
        self.condensations += other.condensations;
        self.compactions += other.compactions;
        self.region_changes += other.region_changes;
        self.loads += other.loads;
        self.copies += other.copies;
        self.failures_outlived += other.failures_outlived;
        self.flips += other.flips;
        self.flips_refused += other.flips_refused;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Checked { certain, doubtful, unknown } = self.checked;
        write!(f, "{} writes; answers checked: {certain} with one right answer, {doubtful} with several, {unknown} not; ", self.writes)?;
        write!(f, "{} crashes, {} of {} writes under way kept; ", self.crashes, self.in_flight_kept, self.in_flight)?;
        write!(f, "{} flushes, {} memstores condensed, {} compactions, ", self.flushes, self.condensations, self.compactions)?;
        write!(f, "{} splits and merges, {} of snapshots, {} loads; ", self.region_changes, self.copies, self.loads)?;
        write!(f, "{} failed calls outlived; {} bits flipped, {} reads refused for it", self.failures_outlived, self.flips, self.flips_refused)
    }
}

/// Why a step did not end as usual.
pub(crate) enum Stop {
    /// The engine did something wrong.
    Wrong(Mismatch),
    /// A call failed; what was under way may have happened or not.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Mismatch> for Stop {
    fn from(mismatch: Mismatch) -> Self {
        Self::Wrong(mismatch)
    }
}

pub(crate) type Outcome<T = ()> = std::result::Result<T, Stop>;

/// Writes that were applied, and who waits for them.
pub(crate) struct Submitted {
    /// Where they stand in the log.
    pub(crate) entries: Range<usize>,
    pub(crate) ticket: CommitTicket,
}

/// The machine, the store and the model.
pub struct World {
    /// The machine.
    pub sim: SimEnv,
    pub(crate) store: Option<Store>,
    pub(crate) options: Options,
    /// What ordinary writes survive; the store should be told the same.
    pub(crate) promised: WalSync,
    pub(crate) table: TableDescriptor,
    /// Everything that readers see.
    pub(crate) model: Model,
    /// What of it a crash may take back; `None` if nothing.
    pub(crate) log: Option<Unsafe>,
    /// Numbers of writes that are safe, and when they were given.
    pub(crate) nonces: Vec<(u64, i64)>,
    /// Those that the open store knew of.
    pub(crate) replayed: BTreeSet<u64>,
    pub(crate) copies: Copies,
    /// Files that were being loaded when a call failed.
    pub(crate) loading: Vec<String>,
    /// What was done so far.
    pub tally: Tally,
    /// What is left on the disk when the process dies by itself; `None` for all that was written.
    pub(crate) power_loss: Option<u64>,
    /// Calls were made to fail: then an error of the engine is no finding, and the process ends after it.
    pub(crate) may_fail: bool,
    /// Calls that had failed before the store was opened. Later ones may leave files for the next opening to set aside.
    pub(crate) failures_before: u64,
    /// What went wrong in a random run.
    pub(crate) health: Health,
    rewrites: Rewrites,
}

impl World {
    /// A machine with a store that holds one empty table. If the process dies meanwhile, `power_loss` says what is left
    /// on the disk, and it goes on.
    ///
    /// # Errors
    /// If the store cannot be made.
    pub fn new(sim: SimEnv, options: Options, table: TableDescriptor, power_loss: Option<u64>) -> std::result::Result<Self, Mismatch> {
        let model = Model::new(&table);
        let (store, tally, rewrites) = (None, Tally::default(), Rewrites::default());
        let (copies, loading) = (Copies::default(), Vec::new());
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
            copies,
            loading,
            tally,
            power_loss,
            may_fail: false,
            failures_before: 0,
            health: Health::default(),
            rewrites,
        };
        world.start(false)?;
        Ok(world)
    }

    /// The time.
    pub fn now(&self) -> i64 {
        self.sim.clock.now_ms()
    }

    /// Does one step and everything that follows from it.
    ///
    /// # Errors
    /// What the engine did wrong.
    pub fn step(&mut self, step: &Step) -> std::result::Result<(), Mismatch> {
        let outcome = self.look_again(step).and_then(|go_on| if go_on { self.try_step(step) } else { Ok(()) }).and_then(|()| self.background());
        match outcome {
            Err(Stop::Wrong(mismatch)) => Err(mismatch),
            Err(Stop::Failed(error)) if !self.sim.fs.is_gone() && self.may_refuse() => self.after_failure(step, &error),
            Err(Stop::Failed(error)) if !self.sim.fs.is_gone() && !self.may_fail => Err(format!("{step} failed: {error}")),
            Err(Stop::Failed(error)) => {
                if error.kind() == ErrorKind::DiskFull {
                    self.check_reads()?;
                }
                self.restart()
            }
            Ok(()) if self.sim.fs.is_gone() => self.restart(),
            Ok(()) => Ok(()),
        }
    }

    fn try_step(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Write(op) => self.write(std::slice::from_ref(op)),
            Step::Batch(ops) => self.write(ops),
            Step::Get(get) => {
                let row = self.store()?.get(get)?;
                Ok(check_row(&self.model, get.row(), &get.selection, self.now(), &row, &mut self.tally.checked)?)
            }
            Step::Scan(scan) => {
                let rows = self.store()?.scan(scan)?;
                Ok(check_scan(&self.model, scan, self.now(), &rows, &mut self.tally.checked)?)
            }
            Step::Trouble(trouble) => self.trouble(*trouble),
            Step::Burst(acts, end) => self.burst(acts, *end),
            Step::WriteOnce(op, nonce) => self.write_once(op, *nonce),
            Step::Flush => self.flush(),
            Step::CompactMinor => Ok(self.store()?.compact(CompactionKind::Minor)?),
            Step::CompactMajor => self.compact_all(),
            Step::Split(row) => self.change_regions(|store| if store.regions()?.len() < 6 { store.split(row) } else { Ok(()) }),
            Step::Merge(at) => self.change_regions(|store| store.merge(*at)),
            Step::Load(put) => self.load(put),
            Step::Snapshot(number) => self.take_or_delete(*number),
            Step::Clone(number) => self.clone_or_drop(*number),
            Step::WriteClone(number, op) => self.write_clone(*number, op),
            Step::CompactClone(number) => self.change_clone(*number, |store| store.flush().and_then(|()| store.compact(CompactionKind::Major))),
            Step::SplitClone(number, row) => self.change_clone(*number, |store| store.split(row)),
            Step::Restore(number) => self.restore(*number),
            Step::Setting(number) => self.change_setting(*number),
            Step::CheckSnapshots => self.check_snapshots(),
            Step::ForgetAll => self.forget_all(),
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
        self.store.as_ref().ok_or_else(|| Error::new(ErrorKind::Stopped, "there is no open store"))
    }

    /// Applies writes in one call, waits for them, and compares what each answers with what the model says.
    fn write(&mut self, ops: &[RowOp]) -> Outcome {
        let before = self.model.clone();
        let Some(submitted) = self.submit(ops, None)? else { return Ok(()) };
        // Of writes that nobody is told of, readers see nothing.
        self.wait_for(&submitted).inspect_err(|_| self.model = before)
    }

    /// As [`World::write`], with a number that the log keeps.
    fn write_once(&mut self, op: &RowOp, nonce: u64) -> Outcome {
        let before = self.model.clone();
        let Some(submitted) = self.submit(std::slice::from_ref(op), Some(nonce))? else { return Ok(()) };
        self.wait_for(&submitted).inspect_err(|_| self.model = before)
    }

    /// Applies writes in one call, and compares what they answer with what the model says. `None` if they were left out.
    pub(crate) fn submit(&mut self, ops: &[RowOp], nonce: Option<u64>) -> Outcome<Option<Submitted>> {
        let now = self.now();
        let mut after = self.model.clone();
        let mut effects = Vec::new();
        for op in ops {
            let effect = after.effect(op, now);
            if let Ok(effect) = &effect {
                // What a doubtful read leads to is doubtful for ever; such a write is left out.
                if !effect.certain {
                    return Ok(None);
                }
                after.apply(effect);
            }
            effects.push(effect);
        }
        let regions = ops.iter().map(|op| self.store()?.region_name(op.row())).collect::<Result<Vec<_>>>()?;
        let (results, ticket) = match (nonce, ops) {
            (Some(nonce), [op]) => self.store()?.submit_once(op.clone(), nonce)?,
            _ => self.store()?.submit(ops.to_vec()),
        };
        let mut failed = None;
        let (mut done, mut of_done) = (Vec::new(), Vec::new());
        for (at, ((op, effect), result)) in ops.iter().zip(effects).zip(results).enumerate() {
            match (effect, result) {
                (Ok(effect), Ok(result)) => {
                    compare_answer(op, &effect, &result)?;
                    done.push(effect);
                    of_done.push(at);
                }
                (Err(Refusal(kind)), Err(error)) if error.kind() == kind => {}
                (_, Err(error)) => failed = Some(error),
                (Err(refusal), Ok(result)) => return Err(Stop::Wrong(format!("{} must give {refusal:?} and gave {result:?}", show_op(op)))),
            }
        }
        note_batch(&mut done);
        let mut done: Vec<_> = of_done.into_iter().zip(done).collect();
        // They are logged region by region, in the order in which each first comes.
        done.sort_by_key(|(at, _)| regions.iter().position(|region| *region == regions[*at]));
        let first = self.entries().len();
        for (at, effect) in done {
            let (way, level) = way_of(&ops[at], self.promised);
            // What changes nothing is not in the log, and says nothing about what is.
            let (level, nonce) = if effect.is_empty() { (Promise::Nothing, None) } else { (level, nonce.map(|nonce| (nonce, now))) };
            self.add_entry(Entry::new(effect, regions[at].clone(), (way, level), nonce));
        }
        match failed {
            Some(error) => Err(Stop::Failed(error)),
            None => Ok(Some(Submitted { entries: first..self.entries().len(), ticket })),
        }
    }

    /// Waits for submitted writes, which are acknowledged then.
    pub(crate) fn wait_for(&mut self, submitted: &Submitted) -> Outcome {
        submitted.ticket.wait()?;
        self.acknowledge(submitted);
        self.settle_entries();
        Ok(())
    }

    /// Their writer has been told that they are done.
    pub(crate) fn acknowledge(&mut self, submitted: &Submitted) {
        self.tally.writes += submitted.entries.len() as u64;
        submitted.entries.clone().for_each(|at| self.note_visible(at));
    }

    pub(crate) fn flush(&mut self) -> Outcome {
        self.store()?.flush()?;
        if self.has_late_entries() {
            // A flush waits for the log, and brings with it what nobody waited for.
            self.note_rewrites(true);
            self.find_entries(After::Failure)?;
        }
        self.all_is_safe();
        Ok(())
    }

    fn compact_all(&mut self) -> Outcome {
        self.flush()?;
        self.store()?.compact(CompactionKind::Major)?;
        self.rewrites = self.store()?.rewrites();
        self.model.note_major_compaction(self.now());
        Ok(())
    }

    fn change_regions(&mut self, change: impl FnOnce(&Store) -> Result<()>) -> Outcome {
        let before = self.store()?.regions()?.len();
        match change(self.store()?) {
            Err(error) if is_refusal(&error) => {}
            other => other?,
        }
        // The new regions count their flushes from zero.
        self.note_rewrites(true);
        if self.store()?.regions()?.len() == before {
            return Ok(());
        }
        self.tally.region_changes += 1;
        // What was in regions that are gone is in files; of the others nobody wants to know the names.
        if self.log.is_some() { self.flush() } else { Ok(()) }
    }

    /// A clean end, after which the power may go, and a new start without a log.
    fn reopen(&mut self) -> Outcome {
        // What could not be removed is still there.
        let may_find = self.sim.fs.failures() > self.failures_before || self.may_refuse();
        let failures = self.sim.fs.failures();
        self.note_rewrites(true);
        if let Some(store) = self.store.take() {
            store.close()?;
        }
        self.all_is_safe();
        let crashes = self.tally.crashes;
        let planned = self.sim.fs.planned_crash();
        let power_lost = self.now() % 2 == 0;
        if power_lost {
            self.sim.fs.lose_unsynced();
        } else {
            self.sim.fs.kill();
        }
        if let Some(call) = planned {
            self.sim.fs.crash_at_call(call);
        }
        self.health.wounded = false;
        self.start(false)?;
        // So is what closing could not remove, and what an opening left that was tried again.
        let may_find = may_find || self.sim.fs.failures() > failures;
        let store = self.store()?;
        match (store.replayed_writes(), store.removed_files()) {
            _ if self.tally.crashes > crashes => Ok(()),
            (0, 0) => Ok(()),
            _ if may_find => Ok(()),
            // That a file was removed need not be durable.
            (0, _) if power_lost => Ok(()),
            (0, files) => Err(Stop::Wrong(format!("{files} files were left that nobody needed after a clean close"))),
            (writes, _) => Err(Stop::Wrong(format!("{writes} writes came from the log after a clean close"))),
        }
    }

    /// Lets the engine do what it wants to do in the background.
    fn background(&mut self) -> Outcome {
        self.note_rewrites(false);
        while self.store()?.step()? {
            self.note_rewrites(false);
        }
        Ok(())
    }

    /// Tells the model of what may have dropped cells since the last time. Whether anything has.
    pub(crate) fn note_rewrites(&mut self, for_sure: bool) -> bool {
        let Some(store) = &self.store else { return false };
        let rewrites = store.rewrites();
        let now = self.now();
        if for_sure || rewrites.compactions != self.rewrites.compactions {
            self.note_drops(now, true);
        } else if rewrites != self.rewrites {
            self.note_drops(now, false);
        }
        self.tally.flushes += rewrites.flushes.saturating_sub(self.rewrites.flushes);
        self.tally.condensations += rewrites.condensations.saturating_sub(self.rewrites.condensations);
        self.tally.compactions += rewrites.compactions.saturating_sub(self.rewrites.compactions);
        std::mem::replace(&mut self.rewrites, rewrites) != rewrites
    }

    pub(crate) fn forget_rewrites(&mut self) {
        self.rewrites = Rewrites::default();
    }

    /// After a failed write reads go on, and do not see what was not acknowledged. A table that was taken out of service to be
    /// restored stays out of it when there is no room for the rest, and refuses them all.
    fn check_reads(&mut self) -> std::result::Result<(), Mismatch> {
        self.note_rewrites(true);
        let model = self.model.clone();
        let out_of_service = self.copies.is_restoring() && self.store.as_ref().is_some_and(|store| store.is_enabled().is_ok_and(|enabled| !enabled));
        match self.check_all(&model) {
            Err(Stop::Failed(error)) if out_of_service && error.kind() == ErrorKind::TableDisabled => Ok(()),
            _ if out_of_service => Err("a disabled table was read after a failed write".into()),
            Err(Stop::Wrong(mismatch)) => Err(format!("after a failed write: {mismatch}")),
            Err(Stop::Failed(error)) if !self.sim.fs.is_gone() => Err(format!("reads failed after a failed write: {error}")),
            _ => Ok(()),
        }
    }

    /// Reads everything in every way that does not depend on the step and compares it with the model.
    pub(crate) fn check_all(&mut self, model: &Model) -> Outcome {
        let table = self.table.name().clone();
        self.check_table(&table, model)
    }

    pub(crate) fn check_table(&mut self, table: &TableName, model: &Model) -> Outcome {
        let found = self.read_table(table)?;
        Ok(found.check(model, self.now(), &mut self.tally.checked)?)
    }

    pub(crate) fn read_table(&self, table: &TableName) -> Result<Found> {
        let store = self.store()?.on(table);
        let read = |scan: Scan| store.scan(&scan).map(|rows| (scan, rows));
        Ok(Found {
            all: read(Scan::all().all_versions())?,
            raw: read(Scan::all().raw(true).all_versions())?,
            backwards: if self.sim.fs.calls().is_multiple_of(4) { Some(read(Scan::all().reverse(true))?) } else { None },
        })
    }
}

pub(crate) fn compare_answer(op: &RowOp, effect: &Effect, result: &OpResult) -> std::result::Result<(), Mismatch> {
    let key: &Bytes = op.row();
    let seen = seen_cells(key, &result.row)?;
    if seen == effect.answer && result.processed == effect.processed {
        return Ok(());
    }
    Err(format!("{}\n  answered {}, {}\n  right is {}, {}", show_op(op), result.processed, print(&seen), effect.processed, print(&effect.answer)))
}
