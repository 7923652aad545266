//! Unclean end of a process, the next start, and what must exist then.

use halite_engine::{WalRecovery, WalSync};
use halite_types::ErrorKind;

use crate::check::Mismatch;
use crate::faults::Health;
use crate::log::Disruption;
use crate::step::{StepError, StepResult};
use crate::store::Store;
use crate::world::World;

/// Maximum crashes during one recovery; the next attempt succeeds.
const MAX_CRASHES_IN_RECOVERY: u64 = 3;

impl World {
    /// Ends the process as [`World::power_loss`] specifies and starts the next. The writes that may
    /// be lost must satisfy the rules of `log.rs`; everything else must match the model.
    pub(crate) fn restart(&mut self) -> Result<(), Mismatch> {
        self.record_rewrites(true);
        self.stats.crashes += 1;
        self.end_process();
        self.start(true)
    }

    fn end_process(&mut self) {
        // The operator frees space and replaces the disk before the next start.
        self.sim.fs.set_capacity(None);
        self.sim.fs.clear_faults();
        self.health = Health::default();
        match self.power_loss {
            Some(seed) if seed % 4 == 0 => self.sim.fs.drop_unsynced(),
            Some(seed) => self.sim.fs.crash(seed),
            None => self.sim.fs.kill(),
        }
        // The process ends before its objects are dropped, so that their destructors have no
        // effect.
        self.store = None;
    }

    /// Opens the store, with further crashes if `crash_again`, and compares everything.
    pub(crate) fn start(&mut self, crash_again: bool) -> Result<(), Mismatch> {
        for attempt in 0.. {
            if let Some(seed) = self.power_loss
                && crash_again
                && attempt < MAX_CRASHES_IN_RECOVERY
                && (seed >> 8).wrapping_add(attempt) % 3 == 0
            {
                self.sim.fs.crash_at_call(
                    self.sim.fs.calls() + (seed >> 16).wrapping_mul(attempt + 1) % 64,
                );
                self.power_loss = Some(seed.rotate_left(7).wrapping_add(1));
            }
            match self.open_and_compare() {
                Ok(()) => break,
                Err(StepError::Wrong(mismatch)) => {
                    return Err(format!("after a restart: {mismatch}"));
                }
                Err(StepError::Failed(_)) if self.sim.fs.is_gone() => {
                    self.stats.crashes += 1;
                    self.end_process();
                }
                // The next attempt runs without faults.
                Err(StepError::Failed(_))
                    if self.health.has_faults || self.sim.fs.failures() > self.failures_before =>
                {
                    self.end_process();
                }
                Err(StepError::Failed(error)) => {
                    return Err(format!("the store cannot be opened or read: {error}"));
                }
            }
        }
        Ok(())
    }

    fn open_and_compare(&mut self) -> StepResult {
        self.failures_before = self.sim.fs.failures();
        let lost_power = self.power_loss.is_some();
        let may_have_gaps = lost_power && self.promised == WalSync::Flush;
        let store = match Store::open(self.sim.env(), self.options.clone(), &self.table) {
            Err(error)
                if error.kind() == ErrorKind::Corrupt
                    && may_have_gaps
                    && error.message().contains("/wal/") =>
            {
                self.open_skipping_damage()?
            }
            opened => opened?,
        };
        self.replayed = store.replayed_nonces();
        store.enable_all()?;
        self.store = Some(store);
        self.recover_clones()?;
        self.clear_rewrites();
        let after = match lost_power {
            true if may_have_gaps => Disruption::Gaps,
            true => Disruption::PowerLoss,
            false => Disruption::Kill,
        };
        self.find_entries(after)?;
        self.check_clones()
    }

    /// Opens the store and skips damage. An unsynced log may have lost records before others. By
    /// default the store then rejects opening without any change.
    fn open_skipping_damage(&mut self) -> StepResult<Store> {
        let mut options = self.options.clone();
        options.wal_recovery = WalRecovery::SkipDamaged;
        Ok(Store::open(self.sim.env(), options, &self.table)?)
    }
}
