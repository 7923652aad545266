//! The end of a process that was not clean, the next start, and what must be there then.

use crate::check::Mismatch;
use crate::model::{Effect, Model};
use crate::store::Store;
use crate::world::{Stop, World};

/// Crashes during one recovery; the next attempt goes through.
const CRASHES_IN_RECOVERY_MAX: u64 = 3;

impl World {
    /// Ends the process as [`World::power_loss`] says and starts the next. Of the writes that were under way each may
    /// be there or not; everything else must be as the model says.
    pub(crate) fn restart(&mut self, in_flight: &[Effect]) -> Result<(), Mismatch> {
        self.note_rewrites(true);
        self.tally.crashes += 1;
        self.tally.in_flight += in_flight.len() as u64;
        self.end_process();
        self.start(in_flight, true)
    }

    fn end_process(&mut self) {
        // Whoever starts the next process makes room first, and mends the disk.
        self.sim.fs.set_capacity(None);
        self.sim.fs.clear_faults();
        match self.power_loss {
            Some(seed) if seed % 4 == 0 => self.sim.fs.lose_unsynced(),
            Some(seed) => self.sim.fs.crash(seed),
            None => self.sim.fs.kill(),
        }
        // The process has ended before its objects go, so that nothing they do on the way out counts.
        self.store = None;
    }

    /// Opens the store, through some more crashes if they are wanted, and compares everything.
    pub(crate) fn start(&mut self, in_flight: &[Effect], crash_again: bool) -> Result<(), Mismatch> {
        for attempt in 0.. {
            if let Some(seed) = self.power_loss
                && crash_again
                && attempt < CRASHES_IN_RECOVERY_MAX
                && (seed >> 8).wrapping_add(attempt) % 3 == 0
            {
                self.sim.fs.crash_at_call(self.sim.fs.calls() + (seed >> 16).wrapping_mul(attempt + 1) % 64);
                self.power_loss = Some(seed.rotate_left(7).wrapping_add(1));
            }
            match self.open_and_compare(in_flight) {
                Ok(()) => break,
                Err(Stop::Wrong(mismatch)) => return Err(format!("after a restart: {mismatch}")),
                Err(Stop::Failed(_, _)) if self.sim.fs.is_gone() => {
                    self.tally.crashes += 1;
                    self.end_process();
                }
                Err(Stop::Failed(error, _)) => return Err(format!("the store does not open or cannot be read: {error}")),
            }
        }
        Ok(())
    }

    fn open_and_compare(&mut self, in_flight: &[Effect]) -> Result<(), Stop> {
        let now = self.now();
        let failures = self.sim.fs.failures();
        let store = Store::open(self.sim.env(), self.options.clone(), &self.table)?;
        self.left_behind = self.sim.fs.failures() > failures;
        store.enable_all()?;
        self.store = Some(store);
        self.find_copies()?;
        self.forget_rewrites();
        self.model.note_flush(now);
        let mut wrong = None;
        // The fullest state that fits is taken: of what cannot be seen either way the model then says that it is in doubt.
        for (kept, mut model) in self.candidates(in_flight) {
            model.note_flush(now);
            match self.check_all(&model) {
                Ok(()) => {
                    self.model = model;
                    self.tally.in_flight_kept += u64::from(kept);
                    self.check_files_to_load(kept > 0)?;
                    return self.check_clones();
                }
                Err(Stop::Wrong(mismatch)) => wrong = Some(mismatch),
                Err(failed) => return Err(failed),
            }
        }
        Err(Stop::Wrong(wrong.unwrap_or_default()))
    }

    /// The model with each choice of the writes under way, the fullest first.
    fn candidates(&self, in_flight: &[Effect]) -> Vec<(u32, Model)> {
        let mut choices: Vec<u32> = (0..1 << in_flight.len()).collect();
        choices.sort_by_key(|choice| std::cmp::Reverse(choice.count_ones()));
        let with = |choice: u32| {
            let mut model = self.model.clone();
            in_flight.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1).for_each(|(_, effect)| model.apply(effect));
            (choice.count_ones(), model)
        };
        choices.into_iter().map(with).collect()
    }
}
