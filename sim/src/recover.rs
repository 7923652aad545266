//! The end of a process that was not clean, the next start, and what must be there then.

use halite_engine::{WalRecovery, WalSync};
use halite_types::ErrorKind;

use crate::check::Mismatch;
use crate::log::After;
use crate::store::Store;
use crate::trouble::Health;
use crate::world::{Outcome, Stop, World};

/// Crashes during one recovery; the next attempt goes through.
const CRASHES_IN_RECOVERY_MAX: u64 = 3;

impl World {
    /// Ends the process as [`World::power_loss`] says and starts the next. Of the writes that may be lost so much must be there
    /// as `log.rs` says; everything else must be as the model says.
    pub(crate) fn restart(&mut self) -> Result<(), Mismatch> {
        self.note_rewrites(true);
        self.tally.crashes += 1;
        self.end_process();
        self.start(true)
    }

    fn end_process(&mut self) {
        // Whoever starts the next process makes room first, and mends the disk.
        self.sim.fs.set_capacity(None);
        self.sim.fs.clear_faults();
        self.health = Health::default();
        match self.power_loss {
            Some(seed) if seed % 4 == 0 => self.sim.fs.lose_unsynced(),
            Some(seed) => self.sim.fs.crash(seed),
            None => self.sim.fs.kill(),
        }
        // The process has ended before its objects go, so that nothing they do on the way out counts.
        self.store = None;
    }

    /// Opens the store, through some more crashes if they are wanted, and compares everything.
    pub(crate) fn start(&mut self, crash_again: bool) -> Result<(), Mismatch> {
        for attempt in 0.. {
            if let Some(seed) = self.power_loss
                && crash_again
                && attempt < CRASHES_IN_RECOVERY_MAX
                && (seed >> 8).wrapping_add(attempt) % 3 == 0
            {
                self.sim.fs.crash_at_call(self.sim.fs.calls() + (seed >> 16).wrapping_mul(attempt + 1) % 64);
                self.power_loss = Some(seed.rotate_left(7).wrapping_add(1));
            }
            match self.open_and_compare() {
                Ok(()) => break,
                Err(Stop::Wrong(mismatch)) => return Err(format!("after a restart: {mismatch}")),
                Err(Stop::Failed(_)) if self.sim.fs.is_gone() => {
                    self.tally.crashes += 1;
                    self.end_process();
                }
                // The next attempt finds everything in order.
                Err(Stop::Failed(_)) if self.health.troubled || self.sim.fs.failures() > self.failures_before => self.end_process(),
                Err(Stop::Failed(error)) => return Err(format!("the store does not open or cannot be read: {error}")),
            }
        }
        Ok(())
    }

    fn open_and_compare(&mut self) -> Outcome {
        self.failures_before = self.sim.fs.failures();
        let lost_power = self.power_loss.is_some();
        let may_have_gaps = lost_power && self.promised == WalSync::Flush;
        let store = match Store::open(self.sim.env(), self.options.clone(), &self.table) {
            Err(error) if error.kind() == ErrorKind::Corrupt && may_have_gaps && error.message().contains("/wal/") => self.open_without_damage()?,
            opened => opened?,
        };
        self.replayed = store.replayed_nonces();
        store.enable_all()?;
        self.store = Some(store);
        self.find_copies()?;
        self.forget_rewrites();
        let after = match lost_power {
            true if may_have_gaps => After::Gaps,
            true => After::PowerLoss,
            false => After::Kill,
        };
        self.find_entries(after)?;
        self.check_clones()
    }

    /// A log that is not synced may have lost records in front of others. A store that is not told to go on without them is not
    /// opened then, and nothing has been changed.
    fn open_without_damage(&mut self) -> Outcome<Store> {
        let mut options = self.options.clone();
        options.wal_recovery = WalRecovery::SkipDamaged;
        Ok(Store::open(self.sim.env(), options, &self.table)?)
    }
}
