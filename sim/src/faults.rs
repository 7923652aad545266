//! Failing calls, a temporarily full disk, flipped bits in files at rest, and the process after
//! them.
//!
//! After a failed call the process ends or continues. If it continues, reads continue, too, and
//! return the same as before: acknowledged writes, and no unacknowledged write until it is durable.
//! Writes are rejected or applied, depending on the store. After a flipped bit a read returns an
//! error or the correct result.

use halite_engine::env::rng::SeededRng;
use halite_engine::env::sim::InjectedFault;
use halite_types::{Error, ErrorKind, Get, RowOp};

use crate::check::{CheckCounts, Mismatch, check_row};
use crate::log::{Disruption, WritePath};
use crate::step::{DiskFault, Step, StepError, StepResult};
use crate::store::Store;
use crate::world::World;

/// Maximum time until a store with writes detects free disk space.
const MAX_SPACE_CHECK_NS: u64 = 100_000_000;

/// Faults that affect the running process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Health {
    /// Calls may fail from now on.
    pub(crate) has_faults: bool,
    /// A call has failed since the store was opened.
    pub(crate) has_failed: bool,
    /// Time in nanoseconds before which the store may not have detected free disk space.
    pub(crate) space_visible_ns: u64,
}

impl World {
    pub(crate) fn inject_fault(&mut self, trouble: DiskFault) -> StepResult {
        match trouble {
            DiskFault::FailCalls(call, skip, times) => {
                self.health.has_faults = true;
                self.sim.fs.inject(InjectedFault {
                    times,
                    ..InjectedFault::next(call, "", std::io::ErrorKind::Other).after(skip)
                });
                Ok(())
            }
            DiskFault::FullDisk(free_bytes) => {
                self.health.has_faults = true;
                self.sim.fs.set_capacity(Some(self.sim.fs.used_bytes() + free_bytes));
                Ok(())
            }
            DiskFault::Cleared => {
                self.clear_faults();
                Ok(())
            }
            DiskFault::FlipBit(seed) => self.flip_bit(seed),
        }
    }

    fn clear_faults(&mut self) {
        self.health.has_faults = false;
        self.health.space_visible_ns = self.sim.env().clock.monotonic_ns() + MAX_SPACE_CHECK_NS;
        self.sim.fs.clear_faults();
        self.sim.fs.set_capacity(None);
    }

    /// Returns `true` if the store may reject requests: a call may fail or has failed, or the disk
    /// was full recently.
    pub(crate) fn may_refuse(&self) -> bool {
        self.health.has_faults
            || self.health.has_failed
            || self.sim.env().clock.monotonic_ns() < self.health.space_visible_ns
    }

    /// Handles a failed step of a running process, which ends, or continues with the state that
    /// readers see.
    pub(crate) fn after_failure(&mut self, step: &Step, error: &Error) -> Result<(), Mismatch> {
        self.health.has_failed = true;
        // The next start determines the outcome of a change with several parts.
        let is_open =
            self.store.is_some() && !self.clone_state.is_changing() && self.loading.is_empty();
        if !is_open || self.sim.fs.calls().is_multiple_of(3) {
            return self.restart();
        }
        self.stats.failures_survived += 1;
        // A full disk stays full; pending call failures are cleared.
        self.sim.fs.clear_faults();
        self.record_rewrites(true);
        match self.find_entries(Disruption::Failure) {
            Ok(()) => Ok(()),
            Err(StepError::Wrong(mismatch)) => {
                Err(format!("after {step} failed ({error}): {mismatch}"))
            }
            Err(StepError::Failed(_)) if self.sim.fs.is_gone() => self.restart(),
            Err(StepError::Failed(second)) => {
                Err(format!("reads fail after {step} failed ({error}): {second}"))
            }
        }
    }

    /// Runs before a step: failed writes may have become durable since, if the store recovered.
    /// Steps that would read them are skipped until their outcome is known.
    pub(crate) fn recheck_failed_writes(&mut self, step: &Step) -> Result<bool, StepError> {
        if !self.health.has_failed || !self.has_late_entries() {
            return Ok(true);
        }
        self.find_entries(Disruption::Failure)?;
        let is_certain =
            self.entries().iter().all(|entry| entry.path != WritePath::Failed || entry.visible);
        let reads_first = match step {
            Step::Write(op) | Step::WriteOnce(op, _) => !matches!(op, RowOp::Put(_)),
            Step::Batch(_) | Step::Burst(..) | Step::Load(_) => true,
            _ => false,
        };
        Ok(is_certain || !reads_first)
    }

    /// Flips a bit of a file, reads everything in this process and in the next, and flips it back.
    fn flip_bit(&mut self, seed: u64) -> StepResult {
        let rng = SeededRng::new(seed);
        let is_chosen = |path: &str| {
            path == "halite/MANIFEST"
                || ((path.starts_with("data/") || path.starts_with("archive/"))
                    && !path.contains("/."))
        };
        let files: Vec<(String, usize)> = self
            .sim
            .fs
            .files()
            .into_iter()
            .filter(|(path, bytes)| is_chosen(path) && !bytes.is_empty())
            .map(|(path, bytes)| (path, bytes.len()))
            .collect();
        if files.is_empty() || self.may_refuse() {
            return Ok(());
        }
        let (path, length) = &files[rng.up_to(files.len() - 1)];
        let (offset, mask) = (rng.up_to(length - 1), 1 << rng.below(8));
        let turn = |world: &Self| drop(world.sim.fs.corrupt(path, offset, mask));
        let about = |mismatch: Mismatch| {
            StepError::Wrong(format!("with a bit of {path} flipped, at {offset}: {mismatch}"))
        };
        turn(self);
        self.stats.flips += 1;
        let store = self.store()?.with_table(self.table.name());
        self.read_damaged(&store).map_err(about)?;
        drop(store);
        if self.log.is_none() && !self.sim.fs.is_gone() {
            self.record_rewrites(true);
            self.sim.fs.kill();
            self.store = None;
            match Store::open(self.sim.env(), self.options.clone(), &self.table) {
                Ok(store) => self.read_damaged(&store).map_err(about)?,
                Err(error) if is_damage_error(&error) => self.stats.flips_refused += 1,
                Err(error) => {
                    return Err(about(format!(
                        "the store failed to open without a damage error: {:?} {error}",
                        error.kind()
                    )));
                }
            }
        }
        turn(self);
        self.power_loss = None;
        Ok(self.restart()?)
    }

    /// Reads every row in two ways. Each result must be correct, or an error that reports damage.
    fn read_damaged(&mut self, store: &Store) -> Result<(), Mismatch> {
        let now = self.now();
        self.model.record_compaction(now);
        let rows: Vec<_> = self.model.rows().cloned().collect();
        for row in rows {
            let get = Get::new(row.clone()).all_versions();
            match store.get(&get) {
                Ok(found) => check_row(
                    &self.model,
                    &row,
                    &get.selection,
                    now,
                    &found,
                    &mut CheckCounts::default(),
                )?,
                Err(_) if self.sim.fs.is_gone() => return Ok(()),
                Err(error) if is_damage_error(&error) => self.stats.flips_refused += 1,
                Err(error) => {
                    return Err(format!("not a damage error: {:?} {error}", error.kind()));
                }
            }
        }
        Ok(())
    }
}

/// Returns `true` if an error reports damaged bytes.
fn is_damage_error(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NewerFormat | ErrorKind::Unsupported)
}
